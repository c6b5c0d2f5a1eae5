/* SPDX-License-Identifier: Apache-2.0 */
/* Along which axes the values of a graph vary. */
#include "lang/spans.h"

static bool has_blocks_axis(const kiln__spans *extents, kiln__span extent) {
    return extents->block_axis >= 0 && (extent.axes >> extents->block_axis & 1);
}

kiln__span kiln__span_union(const kiln__spans *extents, kiln__span a, kiln__span b) {
    kiln__span both = {.axes = a.axes | b.axes};
    if (!has_blocks_axis(extents, a))
        both.run = b.run;
    else if (!has_blocks_axis(extents, b))
        both.run = a.run;
    else if (a.run && b.run)
        both.run = a.run % b.run == 0 ? b.run : b.run % a.run == 0 ? a.run : 0;
    return both;
}

int kiln__axis_of(const kiln__spans *extents, int axis) {
    const int at = axis < 0 ? axis + extents->rank : axis;
    return at < 0 || at >= extents->rank ? -1 : at;
}

uint32_t kiln__domain_axes(const kiln__spans *extents, uint32_t domain) {
    uint32_t axes = 0;
    if (domain == 0) return extents->program;
    const kiln__domain *said = &extents->graph->domains[domain - 1];
    if (said->all) return extents->all;
    if (said->block) return extents->block_axis < 0 ? 0 : (uint32_t)1 << extents->block_axis;
    for (int i = 0; i < said->count; i++) {
        const int axis = kiln__axis_of(extents, said->axes[i]);
        if (axis >= 0) axes |= (uint32_t)1 << axis;
    }
    return axes;
}

int64_t kiln__domain_block(const kiln__spans *extents, uint32_t domain) {
    return domain ? extents->graph->domains[domain - 1].block : 0;
}

bool kiln__span_is_invariant(const kiln__spans *extents, kiln__span extent, uint32_t domain) {
    const int64_t block = kiln__domain_block(extents, domain);
    const bool in_blocks = block && extent.run && extent.run % block == 0;
    return in_blocks || !(extent.axes & kiln__domain_axes(extents, domain));
}

kiln__span kiln__span_reduced(const kiln__spans *extents, kiln__span extent, uint32_t domain) {
    const int64_t block = kiln__domain_block(extents, domain);
    const uint32_t axes = kiln__domain_axes(extents, domain);
    if (block) return (kiln__span){.axes = extent.axes | axes, .run = block}; /* also of what a row has one of */
    extent.axes &= ~axes;
    if (!has_blocks_axis(extents, extent)) extent.run = 0;
    return extent;
}

/* x of one column, by an index; gather has one for each element. */
static kiln__span of_place(const kiln__spans *extents, const kiln__node *node, const kiln__span *args) {
    kiln__span x = args[0];
    x.axes &= node->op == KILN__OP_ROWS ? UINT32_MAX : ~extents->row;
    if (node->op != KILN__OP_ROWS) x.run = 0;
    return kiln__span_union(extents, x, args[1]);
}

/* The last block may be short. */
static kiln__span of_count(const kiln__spans *extents, const kiln__node *node) {
    const int64_t block = kiln__domain_block(extents, node->domain);
    const bool alike = !block || (extents->columns > 0 && extents->columns % block == 0);
    return alike ? (kiln__span){0} : kiln__span_reduced(extents, (kiln__span){0}, node->domain);
}

kiln__span kiln__span_of(const kiln__spans *extents, const kiln__node *node, const kiln__span *args) {
    kiln__span extent = {0};
    switch ((int)node->op) {
    case KILN__OP_NAME: return extents->names[node->u.name];
    case KILN__OP_IS_WIDE: return extent; /* asks a type */
    case KILN__OP_COUNT: return of_count(extents, node);
    case KILN__OP_UNIFORM: extent.axes = extents->all; return extent;
    case KILN__OP_INDEX: {
        const int axis = kiln__axis_of(extents, node->u.axis);
        extent.axes = axis < 0 ? 0 : (uint32_t)1 << axis;
        return extent;
    }
    case KILN__OP_TAKE:
    case KILN__OP_GATHER:
    case KILN__OP_ROWS: return of_place(extents, node, args);
    default: break;
    }
    for (uint32_t k = 0; k < node->arg_count; k++) extent = k ? kiln__span_union(extents, extent, args[k]) : args[k];
    if (kiln__op_runs_along(node->op) || node->op == KILN__OP_FIRST)
        return (kiln__span){.axes = extent.axes | kiln__domain_axes(extents, node->domain)}; /* each has its own */
    return kiln__op_is_reduction(node->op) ? kiln__span_reduced(extents, extent, node->domain) : extent;
}
