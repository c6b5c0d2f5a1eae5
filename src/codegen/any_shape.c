/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a kernel that serves any shape finds out at run time: who works on it, on which of its runs, and
 * whether these have vectors. */
#include <inttypes.h>
#include <string.h>

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
                   "    kiln_index run_step; /* from one to its next */\n"
                   "    kiln_index runs, rank, ranks; /* of the row; among those that have the same runs */\n"
                   "    kiln_index start, vectors; /* of a run: its first column, its vectors */\n");
    if (e->problem->block_run)
        kiln__write(e,
                    "    kiln_index base, behind; /* of a run of blocks: its first column, and the one behind it */\n"
                    "    kiln_index columns; /* of it, or of the part of it that is worked on */\n");
    if (e->schedule->passes.scans) emit_keep(e);
}

void kiln__emit_any_places(const kiln__emitter *e) {
    kiln__write(e, "    kiln_i64 rest = row.index; /* in the dimensions up to this one */\n"
                   "#pragma unroll 1\n    for (int d = args.shape.row_dims - 1; d >= 0; --d) {\n"
                   "        const kiln_i64 above = d ? kiln_divide_any(rest, args.shape.extents[d]) : 0;\n"
                   "        const kiln_i64 at = rest - above * args.shape.extents[d];\n        rest = above;\n");
    for (int o = 0; o < e->operands; o++)
        kiln__write(e, "        row.%s += at * args.strides_%s.at[d];\n", e->name[o], e->name[o]);
    kiln__write(e, "    }\n");
}

/* Where the run lies, as if the row had its stride all along. */
static void emit_places(const kiln__emitter *e) {
    for (int o = 0; o < e->operands; o++) {
        const kiln__operand *operand = &e->problem->operands[o];
        const char *name = e->name[o], *at = e->problem->block_run ? "row.base" : "run";
        const char *place = operand->run ? "of_any_column" : e->problem->block_run ? "around" : "of_run";
        if (!operand->per_element) continue;
        kiln__write(e, "    row.%s += kiln_place_%s(args.shape, args.strides_%s, %s)", name, place, name, at);
        if (operand->run) kiln__write(e, " + along / %" PRId64 " * args.block_%s", operand->run, name);
        kiln__write(e, ";\n");
    }
}

/* Vectors are aligned in the tensor of reference; where others are not they are shifted into place. */
static void emit_find_vectors(const kiln__emitter *e) {
    const int reference = e->schedule->any.reference;
    kiln__write(e, "KILN_DEVICE void kiln_find_vectors(kiln_row &row)\n{\n"
                   "    row.head = 0;\n    row.vectors = 0;\n");
    if (reference >= 0)
        kiln__write(e,
                    "    if (!row.args.shape.vectors) return;\n"
                    "    const int head = kiln_head(row.%s + row.start);\n    if (KILN_RUN(row) <= head) return;\n"
                    "    row.head = head / KILN_SINGLE * KILN_SINGLE;\n"
                    "    row.vectors = (KILN_RUN(row) - head) / KILN_VECTOR_WIDTH;\n"
                    "    if (row.vectors == 0) row.head = 0;\n",
                    e->name[reference]);
    kiln__write(e, "}\n\n");
}

/* Which columns the run has: the axis' last run may be short. */
static void emit_run_of_blocks(const kiln__emitter *e) {
    kiln__write(e, "    const kiln_index axis = args.shape.axis;\n"
                   "    const kiln_index line = run < args.shape.axis_runs ? 0 : kiln_divide_any(run, "
                   "args.shape.axis_runs);\n"
                   "    const kiln_index along = (run - line * args.shape.axis_runs) * KILN_BLOCK_RUN;\n"
                   "    row.columns = axis - along < KILN_BLOCK_RUN ? axis - along : KILN_BLOCK_RUN;\n"
                   "    row.start = row.base = line * axis + along;\n    row.behind = row.base + row.columns;\n");
}

void kiln__emit_any_run(const kiln__emitter *e) {
    emit_find_vectors(e);
    kiln__write(e,
                "%s void kiln_enter_run(kiln_row &row, kiln_index run)\n{\n"
                "    const kiln_arguments &args = row.args;\n    row.run = run;\n",
                kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_DEVICE");
    if (e->problem->block_run)
        emit_run_of_blocks(e);
    else
        kiln__write(e, "    row.start = run * args.shape.run;\n");
    emit_places(e);
    kiln__write(e, "    kiln_find_vectors(row);\n}\n\n");
}

/* Marks what elements are made of, also what the blocks are that they ask for. */
static void mark_made_of(const kiln__emitter *e, bool *marked) {
    for (uint32_t i = e->ir->count; i-- > 0;) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (!marked[i] || !e->element[i]) continue;
        if (e->folded[i]) inst = &e->ir->insts[inst->args[0]];
        for (int a = 0; a < inst->arg_count; a++) marked[inst->args[a]] = true;
    }
}

void kiln__emit_needed_blocks(const kiln__emitter *e) {
    bool *marked = kiln__arena_alloc(e->arena, e->ir->count, sizeof *marked);
    const char *before = "        kiln_run_barrier(); /* nobody asks for those of another run */\n";
    e->out->failed |= !marked;
    if (!e->problem->block_run || !marked) return;
    memcpy(marked, e->needed, e->ir->count * sizeof *marked);
    mark_made_of(e, marked);
    kiln__write(e, "    static KILN_MEMBER void blocks(const kiln_row &row)\n    {\n");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!marked[i] || e->ir->insts[i].op != KILN__OP_BLOCK_REDUCE) continue;
        kiln__write(e, "%s        kiln_reduce_in_run<kiln_block%u>(row);\n", before, i);
        before = "";
    }
    kiln__write(e, "    }\n");
}
