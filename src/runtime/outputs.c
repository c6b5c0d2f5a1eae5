/* SPDX-License-Identifier: Apache-2.0 */
/* What a program's outputs are for its inputs, before they have tensors: their shapes and types. */
#include <inttypes.h>

#include "base/types.h"
#include "lang/dependence.h"
#include "lang/domain.h"
#include "runtime/context.h"

static kiln_status check_output(const kiln_program *program, size_t output) {
    if (output < program->signature.output_count) return KILN_OK;
    return kiln__fail(KILN_E_BINDING, "output %zu is asked for, the program has %u", output,
                      program->signature.output_count);
}

/* Whether an output has the reduced axes, and extents other than 1 along them. What it depends on outside of reductions
 * decides: strides never do, extents only as they broadcast. */
static void find_columns(const kiln__space *space, const kiln__ragged *ragged, const kiln_tensor *inputs,
                         const kiln__dependence *depends, bool *has, bool *varies) {
    *has = *varies = depends->positions || (ragged->packed ? ragged->packed & depends->inputs : !depends->reduces);
    for (int t = 0; t < KILN_MAX_TENSORS; t++) {
        if (!(depends->inputs >> t & 1)) continue;
        const int missing = space->rank - inputs[t].rank;
        for (int i = 0; i < inputs[t].rank; i++) {
            if (!space->reduced[missing + i]) continue;
            *has = true;
            *varies |= inputs[t].sizes[i] != 1;
        }
    }
}

/* How large the blocks are that an output without all columns has a value for each of; 0: of rows. Where no reduction
 * runs over more, the largest blocks are the rows. */
static int64_t block_of(const kiln__domains *domains, const kiln__dependence *depends, int64_t columns) {
    int64_t block = 0;
    for (int i = 0; i < KILN__MAX_BLOCKS && depends->blocks[i]; i++)
        block = block ? kiln__common_block(block, depends->blocks[i], columns) : depends->blocks[i];
    if (block || !kiln__domains_are_blocks(domains)) return block;
    return domains->blocks[domains->block_count - 1];
}

/* What is known of an output's shape. */
typedef struct asked {
    const kiln__space *space;
    bool keep_dims, has, varies, across; /* has: the reduced axes; varies: and several elements along them */
    int block_axis;
    int64_t block, first;
    int behind; /* the axis of rows where the output has one behind the other; -1: none */
} asked;

/* Gives the rank. */
static int32_t list_sizes(const asked *a, int64_t sizes[KILN_MAX_RANK]) {
    const kiln__space *space = a->space;
    int32_t rank = 0;
    for (int i = 0; i < space->rank; i++) {
        const bool gone = space->reduced[i] ? !a->has && !a->block : a->across;
        if ((gone && !a->keep_dims) || i == a->behind) continue;
        int64_t size = space->open_rows && i == 0 ? -1 : space->sizes[i];
        if (gone) size = 1;
        if (space->reduced[i] && a->first) size = a->first;
        if (i == a->block_axis && a->block) size = size / a->block + (size % a->block != 0);
        sizes[rank++] = space->reduced[i] && !a->varies && !a->block ? 1 : size;
    }
    return rank;
}

/* First columns are of rows that have as many. */
static kiln_status check_first(const kiln_program *program, const asked *a, size_t output) {
    for (int i = 0; i < a->space->rank; i++)
        if (a->space->reduced[i] && a->first > a->space->sizes[i])
            return kiln__fail(KILN_E_SHAPE, "output '%s' has the first %" PRId64 " columns of rows that have %" PRId64,
                              program->names[program->signature.input_count + output], a->first, a->space->sizes[i]);
    return KILN_OK;
}

/* Of a program with inputs. */
static kiln_status find_shape(const kiln_program *program, const kiln_tensor *inputs, size_t output, bool keep_dims,
                              int32_t *rank, int64_t sizes[KILN_MAX_RANK]) {
    const kiln__signature *s = &program->signature;
    kiln__tensors all = kiln__program_tensors(program, inputs);
    all.output_count = 0;
    kiln__space space;
    kiln__dependence depends;
    kiln__domains domains;
    int block_axis;
    kiln__across across[KILN__MAX_ACROSS] = {KILN__ACROSS_NONE};
    kiln_tensor own[KILN_MAX_TENSORS];
    kiln__indexed_rows tables[KILN_MAX_TENSORS];
    kiln__ragged ragged;
    kiln_status status = kiln__domains_find(program->graph, s, &domains);
    const kiln__tensors given = all;
    if (!status) status = kiln__shaped_view(&domains, &given, own, tables, &ragged, &all);
    if (!status) status = kiln__shaped_space(&domains, &program->axes, &all, false, &space, &block_axis, across);
    const kiln__across_kinds kinds = kiln__shaped_across(program->graph, &domains, across);
    if (!status)
        status =
            kiln__dependence_find(program->graph, s, (uint32_t)output, space.rank, space.reduced, &kinds, &depends);
    if (status) return status;
    bool has, varies;
    find_columns(&space, &ragged, all.at, &depends, &has, &varies);
    const int64_t block = varies ? 0 : block_of(&domains, &depends, block_axis < 0 ? 0 : space.sizes[block_axis]);
    const asked of = {&space, keep_dims,      has,
                      varies, depends.across, block_axis,
                      block,  depends.first,  ragged.packed && varies ? space.rank - 2 : -1};
    status = check_first(program, &of, output);
    if (!status) *rank = list_sizes(&of, sizes);
    return status;
}

kiln_status kiln_program_output_shape(const kiln_program *program, const kiln_tensor *inputs, size_t output,
                                      int keep_dims, int32_t *rank, int64_t sizes[KILN_MAX_RANK]) {
    kiln__clear_error();
    if (!program || !rank || !sizes) return kiln__fail(KILN_E_ARGUMENT, "program, rank or sizes is NULL");
    kiln_status status = check_output(program, output);
    if (status) return status;
    if (!program->signature.input_count)
        return kiln__fail(KILN_E_BINDING,
                          "a program without inputs has no shape of its own: its outputs' tensors give it");
    if (!inputs) return kiln__fail(KILN_E_ARGUMENT, "inputs is NULL");
    const char *name = program->names[program->signature.input_count + output];
    if (program->graph->names[program->signature.outputs[output]].place)
        return kiln__fail(KILN_E_SHAPE,
                          "output '%s' has as many rows as its tensor has: put(%s, i) writes some of them", name, name);
    return find_shape(program, inputs, output, keep_dims != 0, rank, sizes);
}

/* F32 where no input is a float, or where two types of one width meet. A scale counts as F32, too: its type has no
 * sign, and a wide range. */
static kiln_type widest_float(const kiln_tensor *inputs, uint32_t count) {
    kiln_type widest = KILN_F32;
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        const bool few_bits = inputs[i].type == KILN_E8M0 || inputs[i].type == KILN_E2M1;
        kiln_type type = few_bits ? KILN_F32 : inputs[i].type;
        if (!kiln__type_is_float(type)) continue;
        if (!found || kiln_type_size(type) > kiln_type_size(widest))
            widest = type;
        else if (type != widest && kiln_type_size(type) == kiln_type_size(widest))
            widest = KILN_F32;
        found = true;
    }
    return widest;
}

/* Types alone decide: what varies along which axis plays no part, nor do the outputs' own types. */
static kiln_status type_program(const kiln_program *program, const kiln_tensor *inputs, const kiln_scalar *scalars,
                                kiln__ir **out) {
    const kiln__signature *s = &program->signature;
    kiln__binding binding = {0};
    for (uint32_t i = 0; i < s->input_count; i++) {
        if (!kiln__type_valid(inputs[i].type))
            return kiln__fail(KILN_E_TYPE, "tensor '%s' has type number %d, which is no kiln_type", program->names[i],
                              (int)inputs[i].type);
        if (inputs[i].rank < 0 || inputs[i].rank > KILN_MAX_RANK)
            return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, expected 0 to %d", program->names[i],
                              inputs[i].rank, KILN_MAX_RANK);
        binding.input_types[i] = inputs[i].type;
        binding.input_per_element[i] = false;
        if (inputs[i].rank > binding.rank) binding.rank = inputs[i].rank;
    }
    if (program->graph->offsets && binding.rank < KILN_MAX_RANK) binding.rank++; /* rows are an axis more */
    for (uint32_t i = 0; i < s->output_count; i++) binding.output_types[i] = KILN_F64;
    for (uint32_t i = 0; i < s->scalar_count; i++) binding.scalar_types[i] = scalars[i].type;
    return kiln__ir_build(program->graph, s, &binding, out);
}

kiln_status kiln_program_output_type(const kiln_program *program, const kiln_tensor *inputs, const kiln_scalar *scalars,
                                     size_t output, kiln_type *type) {
    kiln__ir *ir = NULL;
    kiln__clear_error();
    if (!program || !type) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", program ? "type" : "program");
    const kiln__signature *s = &program->signature;
    kiln_status status = check_output(program, output);
    if (status) return status;
    if (s->input_count && !inputs) return kiln__fail(KILN_E_ARGUMENT, "inputs is NULL");
    if (s->scalar_count && !scalars) return kiln__fail(KILN_E_ARGUMENT, "scalars is NULL");
    status = type_program(program, inputs, scalars, &ir);
    if (status) return status;
    switch (ir->insts[ir->outputs[output]].type) {
    case KILN__BOOL: *type = KILN_BOOL; break;
    case KILN__I32: *type = KILN_I32; break;
    case KILN__I64: *type = KILN_I64; break;
    case KILN__U32: *type = KILN_U32; break;
    case KILN__U64: *type = KILN_U64; break;
    case KILN__F32:
    case KILN__F64: *type = widest_float(inputs, s->input_count); break;
    }
    kiln__ir_destroy(ir);
    return KILN_OK;
}
