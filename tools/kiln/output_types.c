/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what a program computes by typing it, before its outputs have types.
 * NumPy's users expect a mean of integers to be a float, and a sum of f16 to be f16. */
#include "output_types.h"

#include <string.h>

#include "base/types.h"

static kiln_type widest_float(const request *r) {
    kiln_type widest = KILN_F32;
    bool found = false;
    for (size_t i = 0; i < r->input_count; i++) {
        kiln_type type = r->tensors[i].type;
        if (!kiln__type_is_float(type)) continue;
        if (!found || kiln_type_size(type) > kiln_type_size(widest))
            widest = type;
        else if (type != widest && kiln_type_size(type) == kiln_type_size(widest))
            widest = KILN_F32;
        found = true;
    }
    return widest;
}

static uint32_t find_name(const request *r, const char *name) {
    return (uint32_t)kiln__graph_find(r->graph, name, strlen(name)); /* the program came from the same text */
}

static void bind_types(const request *r, kiln__signature *signature, kiln__binding *binding) {
    for (size_t i = 0; i < r->input_count; i++) {
        signature->inputs[signature->input_count++] = find_name(r, kiln_program_input_name(r->program, i));
        binding->input_types[i] = r->tensors[i].type;
        binding->input_per_element[i] = true;
        if (r->tensors[i].rank > binding->rank) binding->rank = r->tensors[i].rank;
    }
    for (size_t i = 0; i < r->output_count; i++) {
        signature->outputs[signature->output_count++] = find_name(r, kiln_program_output_name(r->program, i));
        binding->output_types[i] = KILN_F64;
    }
    for (size_t i = 0; i < r->scalar_count; i++) {
        signature->scalars[signature->scalar_count++] = find_name(r, kiln_program_scalar_name(r->program, i));
        binding->scalar_types[i] = r->scalars[i].type;
    }
}

static bool varies(const kiln_tensor *tensor, int rank, const bool *reduced) {
    bool any = false;
    for (int k = 0; k < tensor->rank; k++) any = any || (reduced[rank - tensor->rank + k] && tensor->sizes[k] != 1);
    return any;
}

kiln_status request_ir(const request *r, const bool *reduced, kiln__ir **out) {
    kiln__signature signature = {0};
    kiln__binding binding = {0};
    bind_types(r, &signature, &binding);
    for (int k = 0; reduced && k < binding.rank; k++) binding.reduced[k] = reduced[k];
    for (size_t i = 0; reduced && i < r->input_count; i++)
        binding.input_per_element[i] = varies(&r->tensors[i], binding.rank, reduced);
    return kiln__ir_build(r->graph, &signature, &binding, out);
}

kiln_status output_type(const request *r, size_t output, kiln_type *out) {
    kiln__ir *ir;
    kiln_status status = request_ir(r, NULL, &ir);
    if (status) return status;
    switch (ir->insts[ir->outputs[output]].type) {
    case KILN__BOOL: *out = KILN_BOOL; break;
    case KILN__I32: *out = KILN_I32; break;
    case KILN__I64: *out = KILN_I64; break;
    case KILN__F32:
    case KILN__F64: *out = widest_float(r); break;
    }
    kiln__ir_destroy(ir);
    return KILN_OK;
}
