/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the texts that stand for tensors, scalars, axes and architectures on the command line.
 * All of it is plain text to plain values; no file is touched. */
#include "tensor_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "base/checked.h"
#include "base/scalar.h"
#include "base/types.h"
#include "column_range.h"
#include "problem/range.h"

#define TYPE_NAMES "f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u8 bool u16 u32 u64 e8m0 e2m1"

static kiln_status parse_type(const char *text, size_t length, kiln_type *out) {
    if (kiln__type_parse(text, length, out)) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "'%.*s' is no type; the types are " TYPE_NAMES, (int)length, text);
}

kiln_status tensor_spec_type(const char *text, kiln_type *out) { return parse_type(text, strlen(text), out); }

/* "{2048,1}", if there is one, and "@8": if the tensor is not contiguous, or not aligned to 16 bytes. */
static kiln_status parse_placement(const char *text, const char *at, kiln_tensor *out) {
    if (*at == '{') {
        int32_t rank = 0;
        do {
            const bool negative = *++at == '-';
            int64_t stride;
            const char *end = amount_digits(at + negative, &stride);
            if (!end) return kiln__fail(KILN_E_ARGUMENT, "'%s' has no stride at '%s'; a number was expected", text, at);
            if (rank < out->rank) out->strides[rank] = negative ? -stride : stride;
            rank++;
            at = end;
        } while (*at == ',');
        if (*at != '}' || rank != out->rank) {
            return kiln__fail(KILN_E_ARGUMENT,
                              "'%s' has %" PRId32 " strides up to '%s'; %" PRId32 " and '}' were expected", text, rank,
                              at, out->rank);
        }
        at++;
    }
    if (*at == '@') {
        int64_t alignment;
        const char *end = amount_digits(at + 1, &alignment);
        if (!end || *end || alignment < 1 || alignment > 16 || (alignment & (alignment - 1)) != 0) {
            return kiln__fail(KILN_E_ARGUMENT, "'%s' has the alignment '%s'; 1, 2, 4, 8 or 16 bytes were expected",
                              text, at + 1);
        }
        if (alignment < 16) out->data = (void *)(uintptr_t)alignment; /* read for its alignment alone */
        at = end;
    }
    if (*at) return kiln__fail(KILN_E_ARGUMENT, "'%s' has '%s' where its end was expected", text, at);
    return KILN_OK;
}

/* "..8192" behind the least size; *size: both. */
static kiln_status parse_range(const char *text, const char **at, int64_t *size) {
    column_range range = {*size, 0};
    const char *end = amount_digits(*at + 2, &range.most);
    if (!end || range.least < 1 || range.most < range.least || range.most > KILN__MOST_RANGED_COLUMNS)
        return kiln__fail(KILN_E_ARGUMENT, "'%s' has the sizes '%" PRId64 "%s'; 1..8192 was expected, up to %d", text,
                          range.least, *at, KILN__MOST_RANGED_COLUMNS);
    *size = column_range_size(&range);
    *at = end;
    return KILN_OK;
}

static kiln_status parse_dims(const char *text, const char *at, kiln_tensor *out, const char **end_of_dims) {
    *end_of_dims = at + 1;
    if (*at == ']') return KILN_OK;
    for (;;) {
        if (out->rank == KILN_MAX_RANK) {
            return kiln__fail(KILN_E_ARGUMENT, "'%s' has more than %d dimensions", text, KILN_MAX_RANK);
        }
        int64_t *size = &out->sizes[out->rank++];
        if (*at == '*') {
            *size = -1;
            at++;
        } else {
            const char *end = amount_digits(at, size);
            if (!end) return kiln__fail(KILN_E_ARGUMENT, "'%s' has no size at '%s'; a number was expected", text, at);
            at = end;
        }
        if (at[-1] != '*' && at[0] == '.' && at[1] == '.') {
            kiln_status status = parse_range(text, &at, size);
            if (status) return status;
        }
        *end_of_dims = at + 1;
        if (*at == ']') return KILN_OK;
        if (*at != ',')
            return kiln__fail(KILN_E_ARGUMENT, "'%s' has '%s' where ',' or a last ']' was expected", text, at);
        at++;
    }
}

kiln_status tensor_spec_contiguous(kiln_tensor *tensor) {
    int64_t stride = 1;
    for (int32_t i = tensor->rank; i-- > 0;) {
        tensor->strides[i] = stride;
        if (tensor->sizes[i] > 1 && !kiln__mul_i64(stride, tensor->sizes[i], &stride)) {
            return kiln__fail(KILN_E_SIZE, "the sizes of a tensor multiply to more than 64 bits");
        }
    }
    int64_t bytes;
    if (!kiln__mul_i64(stride, (int64_t)kiln_type_size(tensor->type), &bytes)) {
        return kiln__fail(KILN_E_SIZE, "the bytes of a tensor are more than 64 bits tell");
    }
    return KILN_OK;
}

kiln_status tensor_spec_parse_open(const char *text, kiln_tensor *out) {
    *out = (kiln_tensor){0};
    const char *open = strchr(text, '[');
    kiln_status status = parse_type(text, open ? (size_t)(open - text) : strlen(text), &out->type);
    if (status) return status;
    if (!open) {
        return kiln__fail(KILN_E_ARGUMENT, "'%s' has no dimensions; %s[*,1024] or %s[] was expected", text, text, text);
    }
    const char *placement;
    status = parse_dims(text, open + 1, out, &placement);
    if (!status) status = tensor_spec_contiguous(out);
    for (int32_t i = 0; i < out->rank && !status; i++)
        if (out->sizes[i] < -1 && *placement == '{')
            status = kiln__fail(KILN_E_ARGUMENT, "'%s' has strides beside a range of sizes; none were expected", text);
    return status ? status : parse_placement(text, placement, out);
}

kiln_status tensor_spec_parse(const char *text, kiln_tensor *out) {
    kiln_status status = tensor_spec_parse_open(text, out);
    for (int32_t i = 1; i < out->rank && !status; i++)
        if (out->sizes[i] < 0)
            status = kiln__fail(KILN_E_ARGUMENT, "'%s' leaves dimension %d open; only the first can be", text, i);
    return status;
}

kiln_status tensor_spec_file(char *file, kiln_type *type, int *typed) {
    char *colon = strrchr(file, ':');
    *typed = 0;
    if (!colon || strpbrk(colon, "./")) return KILN_OK;
    kiln_status status = parse_type(colon + 1, strlen(colon + 1), type);
    if (status) return status;
    if (colon == file) return kiln__fail(KILN_E_ARGUMENT, "'%s' has a type and no file", file);
    *colon = '\0';
    *typed = 1;
    return KILN_OK;
}

/* "f32*" of a scalar in device memory. */
static bool is_device_type(const char *text, kiln_type *out) {
    const size_t length = strlen(text);
    if (length < 2 || text[length - 1] != '*' || !kiln__type_parse(text, length - 1, out)) return false;
    *out = (kiln_type)((int)*out | KILN_ON_DEVICE);
    return true;
}

static bool is_type(const char *text) {
    kiln_type unused;
    return is_device_type(text, &unused) || kiln__type_parse(text, strlen(text), &unused);
}

static kiln_status scalar_type(const char *text, kiln_type *out) {
    if (is_device_type(text, out)) {
        if (!kiln__scalar_check_type(text, *out)) return KILN_OK;
        return kiln__fail(KILN_E_ARGUMENT,
                          "'%s' is no type of a scalar in device memory; f64*, f32*, i64* or i32* was expected", text);
    }
    kiln_status status = tensor_spec_type(text, out);
    if (status) return status;
    if (*out == KILN_F64 || *out == KILN_I64 || *out == KILN_I32) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "'%s' is no type of a scalar; f64, i64 or i32 was expected", text);
}

kiln_status tensor_spec_scalar(const char *text, int types, kiln_scalar *out) {
    *out = (kiln_scalar){0};
    if (types && is_type(text)) return scalar_type(text, &out->type);
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char *end;
    errno = 0;
    const long long integer = strtoll(text, &end, 10);
    const int is_integer = length > 0 && end == text + length && *text != ' ';
    if (is_integer && errno == ERANGE) return kiln__fail(KILN_E_ARGUMENT, "'%s' does not fit 64 bits", text);
    const double number = strtod(text, &end);
    if (length == 0 || end != text + length || *text == ' ') {
        return kiln__fail(KILN_E_ARGUMENT, "'%s' is no number; one such as 3 or 1e-5 was expected", text);
    }
    out->type = is_integer ? KILN_I64 : KILN_F64;
    kiln_status status = colon ? scalar_type(colon + 1, &out->type) : KILN_OK;
    if (!status && kiln__scalar_on_device(out->type))
        status = kiln__fail(KILN_E_ARGUMENT, "'%s' has a value, which a scalar in device memory has not", text);
    if (status) return status;
    if (out->type == KILN_F64) {
        out->value.f64 = number;
        return KILN_OK;
    }
    if (!is_integer) return kiln__fail(KILN_E_ARGUMENT, "'%s' has a value that is no integer", text);
    if (out->type == KILN_I32 && (integer < INT32_MIN || integer > INT32_MAX)) {
        return kiln__fail(KILN_E_ARGUMENT, "'%s' does not fit 32 bits", text);
    }
    out->value.i64 = integer;
    return KILN_OK;
}

kiln_status tensor_spec_axes(const char *text, int *axes, size_t *count, int *all) {
    const char *at = text;
    *count = 0;
    *all = strcmp(text, "all") == 0;
    if (*all) return KILN_OK;
    for (;;) {
        int64_t axis;
        const int negative = *at == '-';
        const char *end = amount_digits(at + negative, &axis);
        if (!end || (*end && *end != ',') || axis > KILN_MAX_RANK) {
            return kiln__fail(KILN_E_ARGUMENT, "'%s' has no axis at '%s'; -1 or 0,2 or all was expected", text, at);
        }
        if (*count == KILN_MAX_RANK) {
            return kiln__fail(KILN_E_ARGUMENT, "'%s' has more than %d axes", text, KILN_MAX_RANK);
        }
        axes[(*count)++] = negative ? -(int)axis : (int)axis;
        if (!*end) return KILN_OK;
        at = end + 1;
    }
}

kiln_status tensor_spec_arch(const char *text, int *arch, int *ptx) {
    const char *digits = text;
    int64_t number;
    *ptx = strncmp(text, "compute_", 8) == 0;
    if (*ptx)
        digits += 8;
    else if (strncmp(text, "sm_", 3) == 0)
        digits += 3;
    const char *end = amount_digits(digits, &number);
    if (end && *end == ',') return kiln__fail(KILN_E_ARGUMENT, "'%s' is a list; one architecture was expected", text);
    if (!end || *end || number < 10 || number > 999) {
        return kiln__fail(KILN_E_ARGUMENT, "'%s' is no architecture; sm_90, 90 or compute_90 was expected", text);
    }
    *arch = (int)number;
    return KILN_OK;
}

void tensor_spec_format(const kiln_tensor *tensor, char text[TENSOR_SPEC_SIZE]) {
    size_t used = (size_t)snprintf(text, TENSOR_SPEC_SIZE, "%s[", kiln_type_name(tensor->type));
    for (int32_t i = 0; i < tensor->rank; i++) {
        const char *comma = i ? "," : "";
        const size_t left = TENSOR_SPEC_SIZE - used;
        column_range range;
        if (column_range_read(tensor->sizes[i], &range))
            used += (size_t)snprintf(text + used, left, "%s%" PRId64 "..%" PRId64, comma, range.least, range.most);
        else if (tensor->sizes[i] < 0)
            used += (size_t)snprintf(text + used, left, "%s*", comma);
        else
            used += (size_t)snprintf(text + used, left, "%s%" PRId64, comma, tensor->sizes[i]);
    }
    (void)snprintf(text + used, TENSOR_SPEC_SIZE - used, "]");
}
