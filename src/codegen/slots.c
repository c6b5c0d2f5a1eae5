/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are reduced in shared memory, and rows that are sorted there or in the workspace: the loops over a vector
 * that put down what is. */
#include "codegen/emitter.h"

/* Who takes what is put down. */
static void emit_head(const kiln__emitter *e, uint32_t i) {
    const uint32_t order = kiln__sorted_by(e, i);
    const bool reduces = e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE, chooses = kiln__chooses(e, i);
    const char *what = "is sorted";
    if (reduces) what = kiln__spell(e, "kiln_block%u reduces", i);
    if (chooses) what = "the largest are chosen of";
    kiln__write(e, "/* What %s. */\n%sstruct kiln_values%u {\n", what, chooses ? "template <class Consumer> " : "", i);
    if (chooses)
        kiln__write(e, "    Consumer consumer;\n");
    else if (kiln__chooses(e, order))
        kiln__write(e, "    const kiln_choosing<kiln_order%u> &choosing;\n", order);
}

static void emit_block_loop(kiln__emitter *e, uint32_t i) {
    kiln__need_block(e, i);
    emit_head(e, i);
    if (e->problem->any_shape) kiln__emit_needed_blocks(e);
    kiln__emit_vector_head(e, "vector");
    if (kiln__chooses(e, i))
        kiln__write(e, "        %s keys[KILN_VECTOR_WIDTH];\n",
                    kiln__cxx_ctype(e->ir->insts[e->ir->insts[i].args[0]].type));
    kiln__emit_elements(e);
    if (e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE)
        kiln__write(e, "            if (span.has(j)) kiln_value<kiln_block%u>(col + j) = %s;\n", i,
                    kiln__spell_value(e, e->ir->insts[i].args[0]));
    else
        kiln__emit_put_down(e, i);
    kiln__write(e, "        }\n%s    }\n};\n\n",
                kiln__chooses(e, i) ? "        consumer.take(keys, col, span);\n" : "");
}

void kiln__emit_block_loops(kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (kiln__is_put_down(e, i) && !(e->problem->any_shape && e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE))
            emit_block_loop(e, i);
}
