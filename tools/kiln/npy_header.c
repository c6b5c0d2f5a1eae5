/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary in a .npy header: a Python literal of three known keys, parsed strictly and within bounds.
 * Every message names the file and what was expected. */
#include <string.h>

#include "base/checked.h"
#include "base/types.h"
#include "npy.h"

typedef struct cursor {
    const char *path;
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(cursor *c, char expected) {
    skip_space(c);
    if (c->at == c->end || *c->at != expected) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static kiln_status expected(const cursor *c, const char *what) {
    char found[24];
    size_t length = 0;
    for (const char *p = c->at; p < c->end && length < sizeof found - 1; p++) {
        found[length++] = *p >= ' ' && *p <= '~' ? *p : '?';
    }
    found[length] = '\0';
    if (length == 0) return kiln__fail(KILN_E_FORMAT, "%s: the .npy header ends where %s was expected", c->path, what);
    return kiln__fail(KILN_E_FORMAT, "%s: the .npy header has '%s' where %s was expected", c->path, found, what);
}

/* A quoted string without escapes, as all strings of a header are. */
static bool take_string(cursor *c, const char **text, size_t *length) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at - 1));
    if (!close || memchr(c->at + 1, '\\', (size_t)(close - c->at - 1))) return false;
    *text = c->at + 1;
    *length = (size_t)(close - *text);
    c->at = close + 1;
    return true;
}

static kiln_status parse_descr(cursor *c, npy_header *out) {
    const char *text;
    size_t length;
    skip_space(c);
    if (c->at < c->end && *c->at == '[') {
        return kiln__fail(KILN_E_FORMAT, "%s: holds structured records; a plain array of numbers was expected",
                          c->path);
    }
    if (!take_string(c, &text, &length)) return expected(c, "a data type such as '<f4'");
    const char *order = length > 0 && strchr("<>=|", *text) ? text++ : NULL;
    if (order) length--;
    out->big_endian = order && *order == '>';
    if (length < 2 || length > 4) {
        return kiln__fail(KILN_E_FORMAT, "%s: the data type has %zu characters; one such as '<f4' was expected",
                          c->path, length + (order ? 1 : 0));
    }
    out->kind = text[0];
    out->width = 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            out->kind = '?';
        else
            out->width = out->width * 10 + (text[i] - '0');
    }
    if (!strchr("fiubcV", out->kind) || out->width == 0) {
        for (size_t i = 0; i < length; i++) {
            if (text[i] < ' ' || text[i] > '~')
                return kiln__fail(KILN_E_FORMAT, "%s: the data type is not ASCII", c->path);
        }
        return kiln__fail(KILN_E_FORMAT, "%s: holds data type '%.*s'; an array of numbers was expected", c->path,
                          (int)length, text);
    }
    return KILN_OK;
}

static kiln_status parse_size(cursor *c, int64_t *out) {
    skip_space(c);
    if (c->at < c->end && *c->at == '-') {
        return kiln__fail(KILN_E_FORMAT, "%s: the shape has a negative size", c->path);
    }
    if (c->at == c->end || *c->at < '0' || *c->at > '9') return expected(c, "a size or ')'");
    int64_t value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (!kiln__mul_i64(value, 10, &value) || !kiln__add_i64(value, *c->at - '0', &value)) {
            return kiln__fail(KILN_E_SIZE, "%s: the shape has a size over 64 bits", c->path);
        }
        c->at++;
    }
    if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 wrote its long integers so */
    *out = value;
    return KILN_OK;
}

static kiln_status parse_shape(cursor *c, npy_header *out) {
    int64_t rank = 0;
    if (!take(c, '(')) return expected(c, "a shape such as (3, 4)");
    while (!take(c, ')')) {
        int64_t size = 0;
        kiln_status status = parse_size(c, &size);
        if (status) return status;
        if (rank < KILN_MAX_RANK) out->sizes[rank] = size;
        rank++;
        bool comma = take(c, ',');
        if (!comma) {
            if (rank == 1 || !take(c, ')')) return expected(c, "',' or ')'");
            break;
        }
    }
    if (rank > KILN_MAX_RANK) {
        return kiln__fail(KILN_E_UNSUPPORTED, "%s: has %lld dimensions; at most %d are supported", c->path,
                          (long long)rank, KILN_MAX_RANK);
    }
    out->rank = (int32_t)rank;
    return KILN_OK;
}

static kiln_status parse_fortran_order(cursor *c, npy_header *out) {
    if (take_word(c, "True"))
        out->fortran_order = true;
    else if (take_word(c, "False"))
        out->fortran_order = false;
    else
        return expected(c, "True or False");
    return KILN_OK;
}

static kiln_status measure(const cursor *c, npy_header *out) {
    int64_t product = 1, bytes;
    bool empty = false, fits = true;
    for (int32_t i = 0; i < out->rank; i++) {
        /* A zero would hide that the other sizes, and so the strides, do not fit. */
        if (out->sizes[i] == 0)
            empty = true;
        else
            fits = fits && kiln__mul_i64(product, out->sizes[i], &product);
    }
    if (!fits || !kiln__mul_i64(product, out->width, &bytes)) {
        return kiln__fail(KILN_E_SIZE, "%s: the shape's sizes multiply to more than 64 bits", c->path);
    }
    out->elements = empty ? 0 : product;
    out->bytes = empty ? 0 : bytes;
    return KILN_OK;
}

kiln_status npy_header_parse(const char *path, const char *text, size_t length, npy_header *out) {
    static const struct key {
        const char *name;
        kiln_status (*parse)(cursor *, npy_header *);
    } keys[] = {{"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
    enum { KEY_COUNT = sizeof keys / sizeof keys[0] };
    cursor c = {path, text, text + length};
    bool seen[KEY_COUNT] = {false};
    memset(out, 0, sizeof *out);
    if (!take(&c, '{')) return expected(&c, "a dictionary");
    while (!take(&c, '}')) {
        const char *name;
        size_t size, k = 0;
        const cursor before = c;
        if (!take_string(&c, &name, &size)) return expected(&c, "'descr', 'fortran_order' or 'shape'");
        while (k < KEY_COUNT && (strlen(keys[k].name) != size || memcmp(keys[k].name, name, size) != 0)) k++;
        if (k == KEY_COUNT) return expected(&before, "'descr', 'fortran_order' or 'shape'");
        if (seen[k]) return kiln__fail(KILN_E_FORMAT, "%s: the .npy header has '%s' twice", path, keys[k].name);
        seen[k] = true;
        if (!take(&c, ':')) return expected(&c, "':'");
        kiln_status status = keys[k].parse(&c, out);
        if (status) return status;
        if (!take(&c, ',')) {
            if (!take(&c, '}')) return expected(&c, "',' or '}'");
            break;
        }
    }
    skip_space(&c);
    if (c.at != c.end) return expected(&c, "the header's end");
    for (size_t k = 0; k < KEY_COUNT; k++) {
        if (!seen[k]) return kiln__fail(KILN_E_FORMAT, "%s: the .npy header lacks '%s'", path, keys[k].name);
    }
    return measure(&c, out);
}

/* Of what NumPy lacks: bytes of the integers that stand in for it; 0 of others. */
static int size_of_integers(kiln_type type) {
    static const unsigned char sizes[KILN_TYPE_COUNT] = {
        [KILN_BF16] = 2, [KILN_E4M3] = 1, [KILN_E5M2] = 1, [KILN_E8M0] = 1, [KILN_E2M1] = 1};
    return sizes[type];
}

static kiln_status read_integers(const char *path, const npy_header *header, kiln_type as, kiln_type *out) {
    const int size = size_of_integers(as);
    const int64_t last = header->rank > 0 ? header->sizes[header->rank - 1] : INT64_MAX;
    if (header->width != size || !strchr(size == 1 ? "iufV" : "iuV", header->kind))
        return kiln__fail(KILN_E_TYPE, "%s: holds '%c%d' elements; %s is read from integers of %d byte%s", path,
                          header->kind, header->width, kiln_type_name(as), size, size == 1 ? "" : "s");
    if (kiln__type_is_packed(as) && last > INT64_MAX / 2)
        return kiln__fail(KILN_E_TYPE, "%s: has no last axis along which bytes are two elements of %s", path,
                          kiln_type_name(as));
    *out = as;
    return KILN_OK;
}

kiln_status npy_header_type(const char *path, const npy_header *header, const kiln_type *as, kiln_type *out) {
    static const struct {
        char kind;
        int width;
        kiln_type type;
    } types[] = {
        {'f', 8, KILN_F64},  {'f', 4, KILN_F32}, {'f', 2, KILN_F16}, {'i', 8, KILN_I64},
        {'i', 4, KILN_I32},  {'i', 2, KILN_I16}, {'i', 1, KILN_I8},  {'u', 1, KILN_U8},
        {'b', 1, KILN_BOOL}, {'u', 2, KILN_U16}, {'u', 4, KILN_U32}, {'u', 8, KILN_U64},
    };
    enum { TYPE_COUNT = sizeof types / sizeof types[0] };
    size_t own = 0;
    while (own < TYPE_COUNT && (types[own].kind != header->kind || types[own].width != header->width)) own++;
    bool known = own < TYPE_COUNT;
    if (known && (!as || *as == types[own].type)) {
        *out = types[own].type;
        return KILN_OK;
    }
    bool two_bytes = header->width == 2 && strchr("iuV", header->kind);
    bool one_byte = header->width == 1 && strchr("iufV", header->kind);
    if (!as) {
        return kiln__fail(KILN_E_TYPE, "%s: holds '%c%d' elements, which Kiln %s%s", path, header->kind, header->width,
                          two_bytes || one_byte ? "reads only when told as what: " : "has no type for",
                          two_bytes  ? ":bf16 after the name"
                          : one_byte ? ":e4m3, :e5m2, :e8m0 or :e2m1 after the name"
                                     : "");
    }
    if (size_of_integers(*as)) return read_integers(path, header, *as, out);
    return kiln__fail(KILN_E_TYPE, "%s: holds %s elements and reading does not convert; write %s(...) in the program",
                      path, known ? kiln_type_name(types[own].type) : "other", kiln_type_name(*as));
}
