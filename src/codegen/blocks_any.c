/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of blocks within the runs of rows of any shape: structs that work on vectors, as those of phases do. */
#include "codegen/emitter.h"

/* So many lanes share a block that each has no more than it may have under way. */
static int lanes_of(const kiln__emitter *e, const kiln__inst *inst) {
    const int at_once = e->schedule->vector_width * e->schedule->batch;
    int lanes = 1;
    if (inst->u.block.op == KILN__OP_REDUCE_USER) return lanes;
    while (lanes < e->schedule->any.blocks.lanes && lanes * at_once < (int64_t)inst->domain) lanes *= 2;
    return lanes;
}

static void emit_block(kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const kiln__inst reduction = kiln__reduction_of_block(inst);
    const bool arg = kiln__op_is_arg(reduction.op);
    const char *value;
    kiln__need_block(e, i);
    kiln__emit_block_head(e, i);
    kiln__write(e,
                "    typedef %s result;\n    static constexpr int columns = %u, lanes = %d;\n"
                "    KILN_MEMBER result get() const { return r%s; }\n"
                "    KILN_MEMBER void clear() { r = %s; }\n",
                kiln__cxx_ctype(inst->type), inst->domain, lanes_of(e, inst), arg ? ".index" : "",
                kiln__spell_identity(e, &reduction));
    kiln__emit_vector_head(e, "vector");
    kiln__emit_elements(e);
    value = kiln__spell_value(e, reduction.args[0]);
    if (arg)
        kiln__write(e, "            r.take_%s(%s, (int)(col + j - row.start));\n",
                    reduction.op == KILN__OP_REDUCE_ARGMAX ? "max" : "min", value);
    else
        kiln__write(e, "            r = %s;\n", kiln__spell_combine(e, &reduction, "r", value));
    kiln__write(e, "        }\n    }\n};\n\n");
}

void kiln__emit_any_blocks(kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE) emit_block(e, i);
}
