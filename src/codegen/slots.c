/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are reduced in shared memory: the loops over a vector that put down what is reduced. */
#include "codegen/emitter.h"

static void emit_block_loop(kiln__emitter *e, uint32_t i) {
    kiln__need_block(e, i);
    kiln__write(e, "/* What kiln_block%u reduces. */\nstruct kiln_values%u {\n", i, i);
    kiln__emit_sharing(e, false);
    kiln__emit_vector_head(e, "vector");
    kiln__emit_elements(e);
    kiln__write(e, "            if (span.has(j)) kiln_value<kiln_block%u>(col + j) = %s;\n        }\n    }\n};\n\n", i,
                kiln__spell_value(e, e->ir->insts[i].args[0]));
}

void kiln__emit_block_loops(kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__has_slots(e, i)) emit_block_loop(e, i);
}
