/* SPDX-License-Identifier: Apache-2.0 */
/* Expands the lists of --tensor, gives sizes left open so many rows that the case moves --traffic bytes, and shapes the
 * outputs. */
#include "bench_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "request_ir.h"
#include "tensor_spec.h"

/* The tensor that --tensor gives for a name, in case number index of the lists. */
static int parse_tensor(const request *r, const bench_lists *lists, size_t index, const char *name, const char *given,
                        kiln_tensor *out) {
    char *text = NULL;
    if (strchr(given, '@') || strstr(given, "]{")) {
        return tool_usage(r->args, "--tensor %s=%s: strides and alignments are not measured, only contiguous tensors",
                          name, given);
    }
    kiln_status status = bench_lists_expand(lists, index, given, &text);
    if (status) return tool_failed(r->args, status);
    status = tensor_spec_parse(text, out);
    int code = status ? tool_usage(r->args, "--tensor %s=%s: %s", name, text, kiln_last_error()) : TOOL_OK;
    free(text);
    return code;
}

static int parse_tensors(request *r, const bench_lists *lists, size_t index) {
    int code = TOOL_OK;
    for (size_t i = 0; i < r->input_count && !code; i++)
        code =
            parse_tensor(r, lists, index, kiln_program_input_name(r->program, i), request_input(r, i), &r->tensors[i]);
    for (size_t i = 0; i < r->output_count && !code; i++)
        if (request_is_put(r, i))
            code = parse_tensor(r, lists, index, kiln_program_output_name(r->program, i), request_put(r, i),
                                &r->tensors[r->input_count + i]);
    return code;
}

static kiln_status shape_output(request *r, size_t i) {
    kiln_tensor *tensor = &r->tensors[r->input_count + i];
    const char *text = request_output(r, i);
    if (request_is_put(r, i)) return tensor_spec_contiguous(tensor);
    *tensor = (kiln_tensor){0};
    kiln_status status = text ? tensor_spec_type(text, &tensor->type)
                              : kiln_program_output_type(r->program, r->tensors, r->scalars, i, &tensor->type);
    if (!status) status = kiln_program_output_shape(r->program, r->tensors, i, 1, &tensor->rank, tensor->sizes);
    return status ? status : tensor_spec_contiguous(tensor);
}

static kiln_status add_bytes(const kiln_tensor *tensor, int64_t *bytes) {
    int64_t size = (int64_t)kiln_type_size(tensor->type);
    bool fits = true;
    for (int32_t i = 0; i < tensor->rank; i++) fits = fits && kiln__mul_i64(size, tensor->sizes[i], &size);
    if (fits && kiln__add_i64(*bytes, size, bytes)) return KILN_OK;
    return kiln__fail(KILN_E_SIZE, "the bytes of the tensors are more than 64 bits tell");
}

/* What the inputs broadcast to; they are known to go together. */
static void set_space(const request *r, bench_case *c) {
    for (size_t i = 0; i < r->input_count; i++) {
        if (r->tensors[i].rank > c->rank) c->rank = r->tensors[i].rank;
    }
    for (int32_t k = 0; k < c->rank; k++) c->sizes[k] = 1;
    for (size_t i = 0; i < r->input_count; i++) {
        const int32_t skipped = c->rank - r->tensors[i].rank;
        for (int32_t k = skipped; k < c->rank; k++) {
            if (r->tensors[i].sizes[k - skipped] != 1) c->sizes[k] = r->tensors[i].sizes[k - skipped];
        }
    }
}

static kiln_status set_reduced(const request *r, bench_case *c) {
    const char *text = arguments_value(r->args, OPTION_AXES);
    int axes[KILN_MAX_RANK] = {-1}, all = 0;
    size_t count = 1;
    kiln_status status = text ? tensor_spec_axes(text, axes, &count, &all) : KILN_OK;
    for (int32_t k = 0; all && k < c->rank; k++) c->reduced[k] = true;
    for (size_t i = 0; i < count && !all && !status; i++) {
        int axis = axes[i] < 0 ? axes[i] + c->rank : axes[i];
        if (axis >= 0 && axis < c->rank) c->reduced[axis] = true;
    }
    return status;
}

/* Of a put as many rows as the program has: others are not touched. */
static kiln_status add_output_bytes(const request *r, size_t i, int64_t *bytes) {
    kiln_tensor written = r->tensors[r->input_count + i];
    bench_case space = {0};
    kiln_status status = KILN_OK;
    if (request_is_put(r, i) && written.rank > 0) {
        set_space(r, &space);
        status = set_reduced(r, &space);
        written.sizes[0] = 1;
        for (int32_t k = 0; k < space.rank; k++)
            if (!space.reduced[k]) written.sizes[0] *= space.sizes[k];
    }
    return status ? status : add_bytes(&written, bytes);
}

/* Every '*' becomes so many rows. */
static kiln_status set_rows(request *r, const bool *open, int64_t rows, int64_t *bytes) {
    kiln_status status = KILN_OK;
    *bytes = 0;
    for (size_t i = 0; i < r->input_count && !status; i++) {
        if (open[i]) r->tensors[i].sizes[0] = rows;
        status = tensor_spec_contiguous(&r->tensors[i]);
        if (!status) status = add_bytes(&r->tensors[i], bytes);
    }
    for (size_t i = 0; i < r->output_count && !status; i++) {
        if (open[r->input_count + i]) r->tensors[r->input_count + i].sizes[0] = rows;
        status = shape_output(r, i);
        if (!status) status = add_output_bytes(r, i, bytes);
    }
    return status;
}

static kiln_status choose_rows(request *r, int64_t traffic, int64_t *bytes) {
    bool open[KILN_MAX_TENSORS] = {false}, any_open = false;
    int64_t more, rows = 1;
    for (size_t i = 0; i < r->input_count + r->output_count; i++) {
        const bool given = i < r->input_count || request_is_put(r, i - r->input_count);
        open[i] = given && r->tensors[i].rank > 0 && r->tensors[i].sizes[0] < 0;
        any_open = any_open || open[i];
    }
    kiln_status status = set_rows(r, open, 1, bytes);
    if (status || !any_open) return status;
    status = set_rows(r, open, 2, &more);
    if (!status && more > *bytes) rows = (traffic - *bytes + (more - *bytes) / 2) / (more - *bytes) + 1;
    return status ? status : set_rows(r, open, rows > 1 ? rows : 1, bytes);
}

static kiln_status read_program(const request *r, bench_case *c) {
    kiln__ir *ir;
    kiln_status status = request_ir(r, c->reduced, &ir);
    if (status) return status;
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__op op = ir->insts[i].op;
        c->by_position = c->by_position || op == KILN__OP_INDEX || op == KILN__OP_SIZE || op == KILN__OP_UNIFORM;
    }
    if (ir->phase_count == 0) memset(c->reduced, 0, sizeof c->reduced);
    c->by_position = c->by_position || r->graph->offsets; /* which are the rows' own */
    for (size_t i = 0; i < r->output_count; i++) c->by_position = c->by_position || request_is_put(r, i);
    kiln__ir_destroy(ir);
    return KILN_OK;
}

static void add_to_label(kiln__text *label, const char *name, const kiln_tensor *tensor) {
    char text[TENSOR_SPEC_SIZE];
    tensor_spec_format(tensor, text);
    kiln__text_printf(label, "%s%s=%s", label->size ? " " : "", name, text);
}

static kiln_status set_label(const request *r, bench_case *c) {
    kiln__text label = {0};
    for (size_t i = 0; i < r->input_count; i++)
        add_to_label(&label, kiln_program_input_name(r->program, i), &r->tensors[i]);
    for (size_t i = 0; i < r->output_count; i++)
        if (request_is_put(r, i))
            add_to_label(&label, kiln_program_output_name(r->program, i), &r->tensors[r->input_count + i]);
    c->label = kiln__text_take(&label);
    return c->label ? KILN_OK : kiln__out_of_memory();
}

int bench_check_output_types(const request *r) {
    for (size_t i = 0; i < r->output_count; i++) {
        kiln_type type;
        const char *text = request_output(r, i), *name = kiln_program_output_name(r->program, i);
        if (text && request_is_put(r, i))
            return tool_usage(r->args, "--out-type %s is given, which --tensor %s decides", name, name);
        if (text && tensor_spec_type(text, &type)) {
            return tool_usage(r->args, "--out-type %s=%s: %s", name, text, kiln_last_error());
        }
    }
    return TOOL_OK;
}

int bench_case_make(request *r, const bench_lists *lists, size_t index, int64_t traffic, bench_case *out) {
    *out = (bench_case){0};
    int code = parse_tensors(r, lists, index);
    if (code) return code;
    kiln_status status = choose_rows(r, traffic, &out->bytes);
    if (!status) {
        set_space(r, out);
        status = set_reduced(r, out);
    }
    if (!status) status = read_program(r, out);
    if (!status) status = set_label(r, out);
    memcpy(out->tensors, r->tensors, sizeof out->tensors);
    if (!status && out->bytes == 0) {
        return tool_usage(r->args, "%s: there are no bytes to move", out->label);
    }
    return status ? tool_failed(r->args, status) : TOOL_OK;
}

void bench_case_free(bench_case *c) { free(c->label); }
