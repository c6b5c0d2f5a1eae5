/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a kernel that serves any shape finds out at run time: who works on it, on which of its runs, and
 * whether these have vectors. */
#include "codegen/emitter.h"

/* What scans have come to, which part of a row passes on. */
static void emit_keep(const kiln__emitter *e) {
    kiln__write(e, "    KILN_MEMBER void keep(const kiln_row &part) const\n    {\n");
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->ir->insts[i].op == KILN__OP_SCAN && e->element[i]) kiln__write(e, "        s%u = part.s%u;\n", i, i);
    kiln__write(e, "    }\n");
}

void kiln__emit_any_members(const kiln__emitter *e) {
    kiln__write(e, "    bool there; /* it is a row of the launch's */\n"
                   "    kiln_index run; /* of the thread: its first run of columns, or the one that it is at */\n"
                   "    int run_step; /* from one to its next */\n"
                   "    kiln_index runs, rank, ranks; /* of the row; among those that have the same runs */\n"
                   "    kiln_index start, vectors; /* of a run: its first column, its vectors */\n");
    if (e->schedule->passes.scans) emit_keep(e);
}

/* Where the run lies, as if the row had its stride all along. */
static void emit_places(const kiln__emitter *e) {
    for (int o = 0; o < e->operands; o++)
        if (e->problem->operands[o].per_element)
            kiln__write(e, "    row.%s += kiln_place_of_run(args.shape, args.strides_%s, run);\n", e->name[o],
                        e->name[o]);
}

/* Vectors are aligned in the tensor of reference; where others are not they are shifted into place. */
static void emit_vectors(const kiln__emitter *e) {
    const int reference = e->schedule->any.reference;
    kiln__write(e, "    row.head = 0;\n    row.vectors = 0;\n    if (!args.shape.vectors) return;\n");
    if (reference < 0) return;
    kiln__write(e, "    const int head = kiln_head(row.%s + row.start);\n    if (KILN_RUN(row) <= head",
                e->name[reference]);
    kiln__write(e, ") return;\n    row.head = head;\n"
                   "    row.vectors = (KILN_RUN(row) - head) / KILN_VECTOR_WIDTH;\n"
                   "    if (row.vectors == 0) row.head = 0;\n");
}

void kiln__emit_any_run(const kiln__emitter *e) {
    kiln__write(
        e,
        "%s void kiln_enter_run(kiln_row &row, kiln_index run)\n{\n"
        "    const kiln_arguments &args = row.args;\n    row.run = run;\n    row.start = run * args.shape.run;\n",
        kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_DEVICE");
    emit_places(e);
    emit_vectors(e);
    kiln__write(e, "}\n\n");
}
