/* SPDX-License-Identifier: Apache-2.0 */
/* Types a request's program before its outputs have types. */
#include "request_ir.h"

#include <string.h>

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
