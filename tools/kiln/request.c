/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the names that the command line binds against the program, and makes the program of them. */
#define _GNU_SOURCE
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tensor_spec.h"

/* Reads one byte more than a program may have: the parser then says what is too long. */
static int read_program(const arguments *args, const char *path, char **out) {
    const size_t capacity = KILN__MAX_TEXT + 1;
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    char *text = malloc(capacity + 1);
    size_t size = file && text ? fread(text, 1, capacity, file) : 0;
    kiln_status status = KILN_OK;
    if (!text)
        status = kiln__out_of_memory();
    else if (!file || ferror(file))
        status = kiln__fail(KILN_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (memchr(text, '\0', size))
        status = kiln__fail(KILN_E_SYNTAX, "%s: holds a NUL byte, a text was expected", path);
    if (file && !standard) fclose(file);
    if (status) {
        free(text);
        return tool_failed_at(args, status, "program ");
    }
    text[size] = '\0';
    *out = text;
    return TOOL_OK;
}

static int find_text(const arguments *args, char **out) {
    const char *path = arguments_value(args, OPTION_PROGRAM);
    const char *operand = args->operand_count ? args->operands[0] : NULL;
    if (path && operand) return tool_usage(args, "--program and the program '%s' are both given", operand);
    if (!path && !operand) return tool_usage(args, "a program such as 'y = softmax(x)' was expected");
    if (path) return read_program(args, path, out);
    if (strcmp(operand, "-") == 0) return read_program(args, "-", out);
    *out = strdup(operand);
    return *out ? TOOL_OK : tool_failed(args, kiln__out_of_memory());
}

/* "x, w and b": the names the program reads, or those it assigns. */
static void list_names(const kiln__graph *graph, bool assigned, kiln__text *to) {
    size_t count = 0, told = 0;
    for (uint32_t i = 0; i < graph->name_count; i++) count += graph->names[i].assigned == assigned;
    if (count == 0) kiln__text_puts(to, "nothing");
    for (uint32_t i = 0; i < graph->name_count; i++) {
        if (graph->names[i].assigned != assigned) continue;
        kiln__text_printf(to, "%s'%s'", told == 0 ? "" : told + 1 == count ? " and " : ", ", graph->names[i].text);
        told++;
    }
}

static int wrong_name(const request *r, option_id option, const char *name, bool assigned) {
    kiln__text names = {0};
    list_names(r->graph, assigned, &names);
    int index = kiln__graph_find(r->graph, name, strlen(name));
    const char *verb = assigned ? "assigns" : "reads";
    int code;
    if (index >= 0 && assigned) {
        code = tool_usage(r->args, "%s %s: the program reads '%s' and does not assign it; it assigns %s",
                          option_name(option), name, name, names.data ? names.data : "");
    } else if (index >= 0) {
        code = tool_usage(r->args, "%s %s: the program assigns '%s' itself; it reads %s", option_name(option), name,
                          name, names.data ? names.data : "");
    } else {
        code = tool_usage(r->args, "%s %s: the program has no name '%s'; it %s %s", option_name(option), name, name,
                          verb, names.data ? names.data : "");
    }
    kiln__text_free(&names);
    return code;
}

/* An output whose tensor is there before: put(name, i) writes some of its rows. */
static bool is_put(const request *r, const char *name) {
    const int index = kiln__graph_find(r->graph, name, strlen(name));
    return index >= 0 && r->graph->names[index].place;
}

static int check_names(const request *r, option_id option, const assignment_list *list, bool assigned) {
    for (size_t i = 0; i < list->count; i++) {
        int index = kiln__graph_find(r->graph, list->items[i].name, strlen(list->items[i].name));
        if (!assigned && option != OPTION_SCALAR && is_put(r, list->items[i].name)) continue;
        if (index < 0 || r->graph->names[index].assigned != assigned) {
            return wrong_name(r, option, list->items[i].name, assigned);
        }
    }
    return TOOL_OK;
}

static int check_bound(const request *r, option_id inputs) {
    for (uint32_t i = 0; i < r->graph->name_count; i++) {
        const kiln__name *name = &r->graph->names[i];
        if (name->assigned) continue;
        const bool input = assignments_find(&r->inputs, name->text) != NULL;
        const bool scalar = assignments_find(&r->scalar_texts, name->text) != NULL;
        if (input && scalar) {
            return tool_usage(r->args, "'%s' is given to both %s and --scalar", name->text, option_name(inputs));
        }
        if (!input && !scalar) {
            const char *number = kiln__number_advice(name->text);
            return tool_usage(r->args, "the program reads '%s', which neither %s nor --scalar gives%s%s", name->text,
                              option_name(inputs), number ? "; the number is " : "", number ? number : "");
        }
    }
    return TOOL_OK;
}

static int no_outputs(const request *r, option_id outputs) {
    kiln__text names = {0};
    list_names(r->graph, true, &names);
    int code = tool_usage(r->args, "no %s is given; the program assigns %s", option_name(outputs),
                          names.data ? names.data : "");
    kiln__text_free(&names);
    return code;
}

static void add_name(kiln__text *list, const char *name) {
    kiln__text_printf(list, "%s%s", list->size ? "," : "", name);
}

int request_program(const request *r, kiln_context *context, kiln_program **out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    int axes[KILN_MAX_RANK];
    kiln__text outputs = {0}, scalars = {0};
    const char *axes_text = arguments_value(r->args, OPTION_AXES);
    if (axes_text) {
        kiln_status status = tensor_spec_axes(axes_text, axes, &options.axis_count, &options.all_axes);
        if (status) return tool_usage(r->args, "--axes %s", kiln_last_error());
        options.axes = axes;
    }
    for (uint32_t i = 0; i < r->graph->name_count; i++) {
        const kiln__name *name = &r->graph->names[i];
        if (assignments_find(&r->scalar_texts, name->text)) add_name(&scalars, name->text);
        const bool listed = assignments_find(&r->outputs, name->text) || assignments_find(&r->inputs, name->text);
        const bool wanted = name->assigned && (listed || (r->unread_too && !name->read));
        if (wanted) add_name(&outputs, name->text);
    }
    options.outputs = outputs.data;
    options.scalars = scalars.data;
    kiln_status status =
        outputs.failed || scalars.failed ? kiln__out_of_memory() : kiln_program_create(context, r->text, &options, out);
    kiln__text_free(&outputs);
    kiln__text_free(&scalars);
    return status ? tool_failed(r->args, status) : TOOL_OK;
}

static int create_program(request *r) {
    int code = request_program(r, r->context, &r->program);
    if (code) return code;
    r->input_count = kiln_program_input_count(r->program);
    r->output_count = kiln_program_output_count(r->program);
    r->scalar_count = kiln_program_scalar_count(r->program);
    return TOOL_OK;
}

static int read_scalars(request *r, bool values) {
    for (size_t i = 0; i < r->scalar_count; i++) {
        const assignment *given = assignments_find(&r->scalar_texts, kiln_program_scalar_name(r->program, i));
        if (!given) continue;
        if (tensor_spec_scalar(given->value, !values, &r->scalars[i])) {
            return tool_usage(r->args, "--scalar %s=%s: %s", given->name, given->value, kiln_last_error());
        }
    }
    return TOOL_OK;
}

static int open_request(option_id inputs, option_id outputs, bool values, request *out) {
    const arguments *args = out->args;
    out->inputs_option = inputs;
    int code = find_text(args, &out->text);
    if (!code) code = assignments_parse(args, inputs, &out->inputs);
    if (!code) code = assignments_parse(args, outputs, &out->outputs);
    if (!code) code = assignments_parse(args, OPTION_SCALAR, &out->scalar_texts);
    if (code) return code;
    kiln_status status = kiln__graph_parse(out->text, &out->graph);
    if (status) return tool_failed(args, status);
    code = check_names(out, inputs, &out->inputs, false);
    if (!code) code = check_names(out, OPTION_SCALAR, &out->scalar_texts, false);
    if (!code) code = check_names(out, outputs, &out->outputs, true);
    if (!code && (out->inputs.count || !out->may_lack_inputs)) code = check_bound(out, inputs);
    if (!code && !out->unread_too && out->outputs.count == 0) code = no_outputs(out, outputs);
    if (!code) code = tool_context_create(args, &out->context);
    if (!code) code = create_program(out);
    return code ? code : read_scalars(out, values);
}

int request_open(const arguments *args, option_id inputs, option_id outputs, bool values, bool unread_too,
                 request *out) {
    *out = (request){.args = args, .unread_too = unread_too};
    return open_request(inputs, outputs, values, out);
}

int request_open_program(const arguments *args, request *out) {
    *out = (request){.args = args, .unread_too = true, .may_lack_inputs = true};
    return open_request(OPTION_TENSOR, OPTION_OUT_TYPE, false, out);
}

void request_free(request *r) {
    kiln_program_destroy(r->program);
    kiln_context_destroy(r->context);
    kiln__graph_destroy(r->graph);
    assignments_free(&r->inputs);
    assignments_free(&r->outputs);
    assignments_free(&r->scalar_texts);
    free(r->text);
}

static const char *value_of(const assignment_list *list, const char *name) {
    const assignment *found = name ? assignments_find(list, name) : NULL;
    return found ? found->value : NULL;
}

const char *request_input(const request *r, size_t i) {
    return value_of(&r->inputs, kiln_program_input_name(r->program, i));
}
const char *request_put(const request *r, size_t i) {
    return value_of(&r->inputs, kiln_program_output_name(r->program, i));
}
const char *request_output(const request *r, size_t i) {
    return value_of(&r->outputs, kiln_program_output_name(r->program, i));
}

bool request_is_put(const request *r, size_t i) { return is_put(r, kiln_program_output_name(r->program, i)); }

bool request_is_put_index(const request *r, size_t i, size_t output) {
    const char *input = kiln_program_input_name(r->program, i), *name = kiln_program_output_name(r->program, output);
    const uint32_t place = r->graph->names[kiln__graph_find(r->graph, name, strlen(name))].place;
    return place && r->graph->names[kiln__graph_find(r->graph, input, strlen(input))].node == place - 1;
}

bool request_is_offsets(const request *r, size_t i) {
    const char *input = kiln_program_input_name(r->program, i);
    const uint32_t offsets = r->graph->offsets;
    return offsets && r->graph->names[kiln__graph_find(r->graph, input, strlen(input))].node == offsets - 1;
}

/* The shape and type that --tensor gives. */
static int shape_put(request *r, size_t i) {
    const char *name = kiln_program_output_name(r->program, i), *text = request_put(r, i);
    if (!text)
        return tool_usage(r->args, "put(%s, i) writes rows of a tensor that is there before: %s %s=... was expected",
                          name, option_name(r->inputs_option), name);
    if (!tensor_spec_parse(text, &r->tensors[r->input_count + i])) return TOOL_OK;
    return tool_usage(r->args, "%s %s=%s: %s", option_name(r->inputs_option), name, text, kiln_last_error());
}

int request_shape_output(request *r, size_t i, const kiln_type *type) {
    kiln_tensor *tensor = &r->tensors[r->input_count + i];
    const char *name = kiln_program_output_name(r->program, i);
    kiln_status status = KILN_OK;
    if (is_put(r, name)) return shape_put(r, i);
    *tensor = (kiln_tensor){0};
    if (type)
        tensor->type = *type;
    else
        status = kiln_program_output_type(r->program, r->tensors, r->scalars, i, &tensor->type);
    if (!status) {
        status = kiln_program_output_shape(r->program, r->tensors, i, arguments_has(r->args, OPTION_KEEP_DIMS),
                                           &tensor->rank, tensor->sizes);
    }
    if (status) return tool_failed(r->args, status);
    status = tensor_spec_contiguous(tensor);
    return status ? tool_failed_at(r->args, status, "output '%s': ", name) : TOOL_OK;
}
