/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, axes and programs from short texts, so that a test's table shows a whole binding in one line. */
#include "bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"

/* "[4,*]" or "{1,4}": the numbers, "*" as -1. */
static int read_list(const char **at, char end, int64_t values[KILN_MAX_RANK]) {
    int count = 0;
    while (*++*at != end) {
        assert_true(count < KILN_MAX_RANK);
        char *after;
        values[count] = **at == '*' ? -1 : strtoll(*at, &after, 10);
        *at = **at == '*' ? *at + 1 : after;
        count++;
        if (**at == end) break;
        assert_int_equal(**at, ',');
    }
    ++*at;
    return count;
}

static kiln_tensor read_tensor(const char **at, size_t index) {
    kiln_type type = KILN_F32;
    size_t length = strcspn(*at, "[");
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK];
    assert_true(kiln__type_parse(*at, length, &type));
    *at += length;
    int rank = read_list(at, ']', sizes);
    kiln_tensor tensor = kiln_tensor_contiguous(NULL, type, rank, sizes);
    if (**at == '{') {
        assert_int_equal(read_list(at, '}', strides), rank);
        memcpy(tensor.strides, strides, sizeof strides);
    }
    if (**at == '@') {
        char *after;
        tensor.data = (void *)(((uintptr_t)(index + 1) << 40) + strtoull(*at + 1, &after, 10));
        *at = after;
    }
    return tensor;
}

size_t bound_tensors(const char *text, kiln_tensor tensors[KILN_MAX_TENSORS]) {
    size_t count = 0;
    for (const char *at = text; *at;) {
        if (*at == ' ') {
            at++;
            continue;
        }
        assert_true(count < KILN_MAX_TENSORS);
        tensors[count] = read_tensor(&at, count);
        count++;
    }
    return count;
}

kiln_status bound_create(bound *b, const char *text, const char *axes, const char *scalars, const char *tensors) {
    return bound_create_outputs(b, text, NULL, axes, scalars, tensors);
}

kiln_status bound_create_outputs(bound *b, const char *text, const char *outputs, const char *axes, const char *scalars,
                                 const char *tensors) {
    memset(b, 0, sizeof *b);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    assert_int_equal(kiln_context_create(&options, &b->context), KILN_OK);
    kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
    int list[16] = {0};
    how.outputs = outputs;
    how.scalars = scalars;
    how.all_axes = axes && !strcmp(axes, "all");
    if (axes && !how.all_axes) {
        how.axes = list;
        for (const char *at = axes; *at; at += strcspn(at, ","), at += *at == ',') list[how.axis_count++] = atoi(at);
    }
    kiln_status status = kiln_program_create(b->context, text, &how, &b->program);
    if (status) return status;
    b->tensor_count = bound_tensors(tensors, b->tensors);
    b->scalar_count = kiln_program_scalar_count(b->program);
    for (size_t i = 0; i < b->scalar_count; i++) b->scalars[i] = kiln_scalar_f64(1.0);
    return KILN_OK;
}

void bound_destroy(bound *b) {
    kiln_program_destroy(b->program);
    kiln_context_destroy(b->context);
}

kiln_status bound_prepare(const bound *b, int arch, kiln__prepared *out) {
    kiln__device device = kiln__device_typical(arch);
    memset(out, 0, sizeof *out);
    kiln_status status =
        kiln__program_check_counts(b->program, b->tensors, b->tensor_count, b->scalars, b->scalar_count);
    return status ? status : kiln__prepare(b->program, b->tensors, b->scalars, &device, 0, out);
}

void bound_expect_refusals(const bound_refusal *refusals, size_t count) {
    for (const bound_refusal *r = refusals; r < refusals + count; r++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, r->program, r->axes, NULL, r->tensors), KILN_OK);
        const kiln_status status = bound_prepare(&b, 90, &prepared);
        if (status != r->status || strcmp(kiln_last_error(), r->sentence))
            fail_msg("%s of %s: %s: %s\nexpected %s: %s", r->program, r->tensors, kiln_status_name(status),
                     kiln_last_error(), kiln_status_name(r->status), r->sentence);
        assert_null(prepared.source);
        bound_destroy(&b);
    }
}
