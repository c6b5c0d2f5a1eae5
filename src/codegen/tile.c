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
    const bool out = o >= e->inputs, invariant = is_invariant(e, o);
    const kiln__access *access = &e->schedule->tensors[o];
    const char *count = invariant ? "KILN_COLS" : "rows * KILN_COLS";
    const char *tile = kiln__spell(e, "kiln_shared + %d", access->offset);
    const char *tensor = kiln__spell(e, "args.%s%s", e->name[o], invariant ? "" : " + first * KILN_COLS");
    kiln__write(e, "        kiln_tile_%s%s<%d>(%s, %s, %s);\n", out ? "drain" : "fill",
                access->copy_shifted ? "_shifted" : "", access->copy_width, out ? tensor : tile, out ? tile : tensor,
                count);
}

/* "fill" or "drain": all inputs, or all outputs, that the tile has. */
static void emit_copies(const kiln__emitter *e, bool outputs) {
    const kiln__operand_list *list = outputs ? &e->column_outputs : &e->staged;
    kiln__write(e, "    static KILN_MEMBER void %s(const kiln_arguments &args, kiln_i64 first, int rows)\n    {\n",
                outputs ? "drain" : "fill");
    for (int i = 0; i < list->count; i++)
        if (e->schedule->tensors[list->at[i]].copy_width) emit_copy(e, list->at[i]);
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
