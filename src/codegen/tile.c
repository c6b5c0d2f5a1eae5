/* SPDX-License-Identifier: Apache-2.0 */
/* The generated side of the tile staging: where each tensor's part of the tile lies in shared memory, how it gets
 * there and back. */
#include "codegen/emitter.h"

/* Whether all rows of the tile read the same columns of it. */
static bool is_invariant(const kiln__emitter *e, int o) {
    return o < e->inputs && !e->problem->operands[o].follows_rows;
}

/* One tensor's copy. */
static void emit_copy(const kiln__emitter *e, int o) {
    bool out = o >= e->inputs;
    const kiln__access *access = &e->schedule->tensors[o];
    const char *count = is_invariant(e, o) ? "KILN_COLS" : "rows * KILN_COLS";
    const char *tile = kiln__spell(e, "kiln_shared + %d", access->offset);
    if (access->copy == KILN__COPY_FLAT) {
        const char *tensor = kiln__spell(e, "args.%s%s", e->name[o], is_invariant(e, o) ? "" : " + first * KILN_COLS");
        kiln__write(e, "        kiln_tile_%s%s<%d>(%s, %s, %s);\n", out ? "drain" : "fill",
                    access->copy_shifted ? "_shifted" : "", access->copy_width, out ? tensor : tile,
                    out ? tile : tensor, count);
        return;
    }
    const char *place = kiln__spell(e, "reinterpret_cast<%s *>(%s)", e->type[o], tile);
    if (access->copy == KILN__COPY_ROWS) {
        const char *row = kiln__spell(e, "row.%s", e->name[o]), *at = kiln__spell(e, "%s + r * KILN_COLS", place);
        kiln__write(e,
                    "        for (int r = (int)threadIdx.x / 32; r < rows; r += KILN_THREADS / 32) {\n"
                    "            kiln_row row(args, first + r);\n            kiln_begin(row);\n"
                    "            kiln_tile_copy(%s, %s);\n        }\n",
                    out ? row : at, out ? at : row);
        return;
    }
    const char *element = kiln__spell(e, "*(%s)", kiln__spell_vector_address(e, o));
    place = kiln__spell(e, "%s[i]", place);
    kiln__write(e,
                "        for (int i = (int)threadIdx.x; i < %s; i += KILN_THREADS) {\n"
                "            kiln_row row(args, first + i / KILN_COLS);\n"
                "            const kiln_index col = i %% KILN_COLS;\n"
                "            kiln_begin(row);\n"
                "            %s = %s;\n"
                "        }\n",
                count, out ? element : place, out ? place : element);
}

/* "fill" or "drain": all inputs that stay with the row, or all outputs that have columns. Functions of their own where
 * rows are passed by their addresses: NVRTC 13.0 puts what the kernel keeps of its row, beside another row of the same
 * function, where it puts the vectors that are passed on. */
static void emit_copies(const kiln__emitter *e, bool outputs) {
    const kiln__operand_list *list = outputs ? &e->column_outputs : &e->staged;
    kiln__write(e, "    static KILN_EXCHANGE void %s(const kiln_arguments &args, kiln_i64 first, int rows)\n    {\n",
                outputs ? "drain" : "fill");
    for (int i = 0; i < list->count; i++) emit_copy(e, list->at[i]);
    kiln__write(e, "    }\n");
}

/* "reinterpret_cast<kiln_f16 *>(kiln_shared + 0) + row.tile + col" */
const char *kiln__spell_tile_place(const kiln__emitter *e, int o) {
    return kiln__spell(e, "reinterpret_cast<%s *>(kiln_shared + %d) + %s", e->type[o], e->schedule->tensors[o].offset,
                       is_invariant(e, o) ? "col" : "row.tile + col");
}

static void emit_recalls(const kiln__emitter *e, const kiln__operand_list *list, const char *how) {
    for (int i = 0; i < list->count; i++)
        kiln__write(e, "        kiln_tile_recall%s(%s, %s, span);\n", how, e->name[list->at[i]],
                    kiln__spell_tile_place(e, list->at[i]));
}

static void emit_recall(const kiln__emitter *e) {
    kiln__write(e, "    KILN_MEMBER void recall(const kiln_row &row, kiln_index col, const kiln_span &span)\n    {\n");
    emit_recalls(e, &e->staged_own, "");
    emit_recalls(e, &e->staged_invariant, e->schedule->edges == KILN__EDGES_MASKED ? "_unaligned" : "");
    kiln__write(e, "    }\n");
}

void kiln__emit_tile_access(const kiln__emitter *e) {
    emit_recall(e);
    emit_copies(e, false);
    emit_copies(e, true);
}
