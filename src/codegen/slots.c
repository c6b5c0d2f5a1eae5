/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are reduced in shared memory, and rows that are sorted there: the loops over a vector that put down what
 * is. */
#include "codegen/emitter.h"

static void emit_block_loop(kiln__emitter *e, uint32_t i) {
    const bool reduces = e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE;
    kiln__need_block(e, i);
    kiln__write(e, "/* What %s. */\nstruct kiln_values%u {\n",
                reduces ? kiln__spell(e, "kiln_block%u reduces", i) : "is sorted", i);
    kiln__emit_vector_head(e, "vector");
    kiln__emit_elements(e);
    if (reduces)
        kiln__write(e, "            if (span.has(j)) kiln_value<kiln_block%u>(col + j) = %s;\n", i,
                    kiln__spell_value(e, e->ir->insts[i].args[0]));
    else
        kiln__emit_put_down(e, i);
    kiln__write(e, "        }\n    }\n};\n\n");
}

void kiln__emit_block_loops(kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__is_put_down(e, i)) emit_block_loop(e, i);
}
