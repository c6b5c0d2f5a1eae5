/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of a kernel that serves any shape finds out at run time: its columns, its vectors, and which tensors'
 * vectors are single accesses. */
#include "codegen/emitter.h"

void kiln__emit_any_members(const kiln__emitter *e) {
    kiln__write(e, "    bool there; /* it is a row of the launch's */\n"
                   "    kiln_index cols, vectors, rank, ranks;\n");
    for (int o = 0; o < e->tensors; o++)
        if (e->problem->operands[o].per_element) kiln__write(e, "    bool wide_%s;\n", e->name[o]);
}

void kiln__emit_any_vectors(const kiln__emitter *e) {
    const int reference = e->schedule->any.reference;
    const char *name = reference < 0 ? "" : e->name[reference];
    if (reference < 0)
        kiln__write(e, "    row.head = 0;\n    row.vectors = 0;\n");
    else
        kiln__write(e, "    kiln_find_vectors(row, row.%s, args.strides_%s);\n", name, name);
    for (int o = 0; o < e->tensors; o++)
        if (e->problem->operands[o].per_element)
            kiln__write(e, "    row.wide_%s = kiln_is_wide<%d>(row, row.%s, args.strides_%s);\n", e->name[o],
                        e->schedule->tensors[o].width, e->name[o], e->name[o]);
}
