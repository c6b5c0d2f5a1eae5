/* SPDX-License-Identifier: Apache-2.0 */
/* kiln grad: the gradient of a program, as a program. Needs neither a GPU nor NVRTC. */
#include "json_output.h"
#include "request.h"
#include "tensor_spec.h"

static int read_tensors(request *r) {
    for (size_t i = 0; i < r->input_count && r->inputs.count; i++)
        if (tensor_spec_parse(request_input(r, i), &r->tensors[i]))
            return tool_usage(r->args, "--tensor %s=%s: %s", kiln_program_input_name(r->program, i),
                              request_input(r, i), kiln_last_error());
    return TOOL_OK;
}

static json_t *names_of(const kiln_program *program, const char *(*name)(const kiln_program *, size_t)) {
    json_t *names = json_array();
    for (size_t i = 0; name(program, i); i++) json_array_append_new(names, json_text(name(program, i)));
    return names;
}

static int report(const request *r, const kiln_program *gradient) {
    if (!arguments_has(r->args, OPTION_JSON)) {
        puts(kiln_program_text(gradient)); /* words of the language alone */
        return TOOL_OK;
    }
    return json_print(r->args, json_pack("{s:o, s:o, s:o, s:o, s:o}", "program", json_text(r->text), "gradient",
                                         json_text(kiln_program_text(gradient)), "inputs",
                                         names_of(gradient, kiln_program_input_name), "outputs",
                                         names_of(gradient, kiln_program_output_name), "scalars",
                                         names_of(gradient, kiln_program_scalar_name)));
}

static int grad_command(const arguments *args) {
    request r;
    kiln_program *gradient = NULL;
    kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
    int code = request_open_program(args, &r);
    if (!code) code = read_tensors(&r);
    options.wrt = arguments_value(args, OPTION_WRT);
    options.saved = arguments_value(args, OPTION_SAVED);
    if (!code) {
        kiln_status status = kiln_program_gradient(r.program, r.inputs.count ? r.tensors : NULL, &options, &gradient);
        code = status ? tool_failed(args, status) : report(&r, gradient);
    }
    kiln_program_destroy(gradient);
    request_free(&r);
    return code;
}

static const option_id options[] = {
    OPTION_WRT,       OPTION_TENSOR, OPTION_SCALAR, OPTION_AXES,  OPTION_SAVED, OPTION_PROGRAM,
    OPTION_CACHE_DIR, OPTION_JSON,   OPTION_QUIET,  OPTION_COLOR, OPTION_HELP,  OPTION_COUNT,
};

const command command_grad = {
    .name = "grad",
    .summary = "Prints a program's gradient, which is a program",
    .usage = "PROGRAM [--wrt NAMES] [--tensor NAME=TYPE[DIMS] ...] [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nThe gradient reads the program's inputs, and the gradient of each output y as dy, of y's shape with "
        "reduced\n"
        "axes of size 1; it writes the gradient of each input x as dx. With --tensor for all inputs, gradients are\n"
        "summed over the axes along which their inputs are broadcast; without it all inputs count as having all axes.\n"
        "A scalar is given as its type: --scalar eps=f64. Conventions: docs/language.md, Gradients.\n"
        "\nJSON: program, gradient (its text), inputs, outputs, scalars (its names in order).\n"
        "\nexamples:\n"
        "  kiln grad 'y = softmax(x * scale)' --wrt x\n"
        "  kiln grad 'y = layer_norm(x, w, b)' --tensor 'x=bf16[*,1024]' --tensor 'w=bf16[1024],b=bf16[1024]'\n"
        "\nexit codes: 0 done, 1 the program has no such gradient, 2 the command line is wrong.\n",
    .run = grad_command,
};
