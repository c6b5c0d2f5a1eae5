/* SPDX-License-Identifier: Apache-2.0 */
/* The generated side of the tile where neighbouring rows lie side by side: what is copied, and where a vector of rows
 * is. */
#include "codegen/emitter.h"

void kiln__emit_tile_put(const kiln__emitter *e, int o) {
    const char *name = e->name[o];
    kiln__write(e,
                "#pragma unroll\n        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)\n"
                "            if (span.stores(j)) row.tile_%s[row.tile[j] + col * KILN_KEPT_ROWS] = %s.get(j);\n",
                name, name);
}

/* Where an operand's part of the tile begins, told from where it lies in memory. */
static void emit_beginnings(const kiln__emitter *e, const kiln__operand_list *list) {
    for (int i = 0; i < list->count; i++) {
        const int o = list->at[i];
        kiln__write(e,
                    "        row.tile_%s = kiln_tile_begin<%s>(kiln_shared + %d, kiln_run_%s(row.args, row.first));\n",
                    e->name[o], e->type[o], e->schedule->tensors[o].offset, e->name[o]);
    }
}

void kiln__emit_tile_outer(const kiln__emitter *e) {
    const kiln__operand_list *in = &e->staged, *out = &e->column_outputs;
    kiln__write(e, "    static KILN_MEMBER void fill(kiln_row &row)\n    {\n");
    emit_beginnings(e, in);
    emit_beginnings(e, out);
    for (int i = 0; i < in->count; i++)
        kiln__write(
            e, "        kiln_tile_fill(row.tile_%s, kiln_run_%s(row.args, row.first), row.rows * (int)KILN_COLS);\n",
            e->name[in->at[i]], e->name[in->at[i]]);
    kiln__write(e, "    }\n    KILN_MEMBER void recall(const kiln_row &row, kiln_index col)\n    {\n"
                   "#pragma unroll\n        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {\n");
    for (int i = 0; i < in->count; i++)
        kiln__write(e, "            %s.set(j, row.tile_%s[row.tile[j] + col * KILN_KEPT_ROWS]);\n", e->name[in->at[i]],
                    e->name[in->at[i]]);
    kiln__write(e, "        }\n    }\n    static KILN_MEMBER void drain(const kiln_row &row)\n    {\n");
    for (int i = 0; i < out->count; i++)
        kiln__write(
            e, "        kiln_tile_drain(kiln_run_%s(row.args, row.first), row.tile_%s, row.rows * (int)KILN_COLS);\n",
            e->name[out->at[i]], e->name[out->at[i]]);
    kiln__write(e, "    }\n");
}
