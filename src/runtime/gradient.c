/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of programs, as programs. */
#include <stdlib.h>
#include <string.h>

#include "lang/gradient.h"
#include "runtime/context.h"

static kiln_status read_options(const kiln_gradient_options *given, kiln_gradient_options *options) {
    if (!given) return KILN_OK;
    kiln_status status =
        kiln__check_struct_size("kiln_gradient_options", given->struct_size, sizeof(size_t), sizeof *options);
    if (!status) memcpy(options, given, given->struct_size);
    return status;
}

static kiln_status check_inputs(const kiln_program *program, const kiln_tensor *inputs) {
    for (uint32_t i = 0; inputs && i < program->signature.input_count; i++) {
        if (inputs[i].rank < 0 || inputs[i].rank > KILN_MAX_RANK)
            return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, expected 0 to %d", program->names[i],
                              inputs[i].rank, KILN_MAX_RANK);
        if (!kiln__type_valid(inputs[i].type))
            return kiln__fail(KILN_E_TYPE, "tensor '%s' has type number %d, which is no kiln_type", program->names[i],
                              (int)inputs[i].type);
    }
    return KILN_OK;
}

/* The gradient is reduced over the same axes. */
static kiln_status make_program(const kiln_program *program, const kiln__gradient *gradient, kiln_program **out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.inputs = gradient->inputs;
    options.outputs = gradient->outputs;
    options.scalars = gradient->scalars;
    options.all_axes = program->axes.all;
    options.axes = program->axes.last ? NULL : program->axes.list;
    options.axis_count = (size_t)program->axes.count;
    return kiln_program_create(program->context, gradient->text, &options, out);
}

kiln_status kiln_program_gradient(const kiln_program *program, const kiln_tensor *inputs,
                                  const kiln_gradient_options *given, kiln_program **out) {
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_program pointer");
    *out = NULL;
    if (!program) return kiln__fail(KILN_E_ARGUMENT, "program is NULL");
    kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
    kiln_status status = read_options(given, &options);
    if (!status) status = check_inputs(program, inputs);
    if (status) return status;
    const kiln__gradient_request request = {.wrt = options.wrt,
                                            .saved = options.saved,
                                            .inputs = inputs,
                                            .last_axis = program->axes.last,
                                            .all_axes = program->axes.all,
                                            .axes = program->axes.list,
                                            .axis_count = program->axes.count};
    kiln__gradient gradient;
    status = kiln__gradient_make(program->graph, &program->signature, &request, &gradient);
    if (status) return status;
    status = make_program(program, &gradient, out);
    kiln__gradient_free(&gradient);
    return status;
}

const char *kiln_program_text(const kiln_program *program) { return program ? program->graph->text : NULL; }
