/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sizes and types in braces: {128,1000}, {3..17}, {128..1024..128}, {2^7..2^17}, {2^7-1..2^17-1}, {f16,f32}.
 * They are replaced as text, before a tensor is parsed. */
#define _GNU_SOURCE
#include "bench_lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "base/checked.h"
#include "base/text.h"

/* "1000", "2^17", "2^17-1". */
typedef struct number {
    int64_t base, exponent, offset; /* exponent -1: base alone */
    int64_t value;
} number;

static bool set_value(number *n) {
    n->value = n->exponent < 0 ? n->base : 1;
    for (int64_t i = 0; i < n->exponent; i++) {
        if (!kiln__mul_i64(n->value, n->base, &n->value)) return false;
    }
    return kiln__add_i64(n->value, n->offset, &n->value) && n->value >= 0;
}

/* Where the number ends, NULL where there is none. */
static const char *read_number(const char *text, number *out) {
    *out = (number){.exponent = -1};
    text = amount_digits(text, &out->base);
    if (text && *text == '^') text = amount_digits(text + 1, &out->exponent);
    if (text && (*text == '+' || *text == '-')) {
        const bool negative = *text == '-';
        text = amount_digits(text + 1, &out->offset);
        if (negative) out->offset = -out->offset;
    }
    return text && out->exponent <= 62 && set_value(out) ? text : NULL;
}

static kiln_status add_value(bench_list *list, char *value) {
    char **values = value ? realloc(list->values, (list->count + 1) * sizeof *values) : NULL;
    if (!values) {
        free(value);
        return kiln__out_of_memory();
    }
    list->values = values;
    values[list->count++] = value;
    if (list->count <= BENCH_MAX_CASES) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "'%s' has more than %d values", list->text, BENCH_MAX_CASES);
}

static kiln_status add_number(bench_list *list, int64_t value) {
    char *text;
    return add_value(list, asprintf(&text, "%" PRId64, value) < 0 ? NULL : text);
}

static kiln_status add_range(bench_list *list, const char *item, number first, number last, int64_t step) {
    const bool powers = first.exponent >= 0 && last.exponent >= 0;
    const bool large = last.value > INT64_MAX / 2 || step > INT64_MAX / 2;
    if (first.value > last.value || step < 1 || large ||
        (powers && (first.base != last.base || first.offset != last.offset))) {
        return kiln__fail(KILN_E_ARGUMENT,
                          "'%s' is no range; one such as 3..17, 128..1024..128, 2^7..2^17 or "
                          "2^7-1..2^17-1 was expected",
                          item);
    }
    kiln_status status = KILN_OK;
    if (powers) {
        for (; first.exponent <= last.exponent && !status; first.exponent += step) {
            if (set_value(&first)) status = add_number(list, first.value);
        }
        return status;
    }
    for (int64_t value = first.value; value <= last.value && !status; value += step) status = add_number(list, value);
    return status;
}

/* One item between commas. */
static kiln_status add_item(bench_list *list, const char *item) {
    number first, last;
    int64_t step = 1;
    if (!*item) return kiln__fail(KILN_E_ARGUMENT, "'%s' has an empty place", list->text);
    if (*item >= 'a' && *item <= 'z') return add_value(list, strdup(item)); /* a type */
    const char *end = read_number(item, &first);
    if (end && !*end) return add_number(list, first.value);
    if (end && strncmp(end, "..", 2) == 0) {
        end = read_number(end + 2, &last);
        if (end && strncmp(end, "..", 2) == 0) end = amount_digits(end + 2, &step);
        if (end && !*end) return add_range(list, item, first, last, step);
    }
    return kiln__fail(KILN_E_ARGUMENT, "'%s' is neither a type nor a size such as 1000, 2^17, 2^17-1 or 3..17", item);
}

static kiln_status add_list(bench_lists *lists, const char *text, size_t length) {
    for (size_t i = 0; i < lists->count; i++) {
        if (strlen(lists->items[i].text) == length && strncmp(lists->items[i].text, text, length) == 0) return KILN_OK;
    }
    bench_list *items = realloc(lists->items, (lists->count + 1) * sizeof *items);
    if (!items) return kiln__out_of_memory();
    lists->items = items;
    bench_list *list = &items[lists->count++];
    *list = (bench_list){.text = strndup(text, length)};
    char *inside = list->text ? strndup(text + 1, length - 2) : NULL;
    if (!inside) return kiln__out_of_memory();
    kiln_status status = KILN_OK;
    for (char *item = inside, *comma; item && !status; item = comma) {
        comma = strchr(item, ',');
        if (comma) *comma++ = '\0';
        status = add_item(list, item);
    }
    free(inside);
    if (status) return status;
    lists->cases *= list->count;
    if (lists->cases <= BENCH_MAX_CASES) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "the lists make more than %d cases", BENCH_MAX_CASES);
}

kiln_status bench_lists_add(bench_lists *lists, const char *text) {
    if (lists->cases == 0) lists->cases = 1;
    for (const char *open = strchr(text, '{'); open; open = strchr(open, '{')) {
        const char *close = strchr(open, '}');
        if (!close) return kiln__fail(KILN_E_ARGUMENT, "'%s' has a '{' and no '}' behind it", text);
        kiln_status status = add_list(lists, open, (size_t)(close + 1 - open));
        if (status) return status;
        open = close;
    }
    return KILN_OK;
}

static const char *value_in_case(const bench_lists *lists, size_t index, const char *text, size_t length) {
    const char *value = NULL;
    for (size_t i = lists->count; i-- > 0;) {
        const bench_list *list = &lists->items[i];
        if (strlen(list->text) == length && strncmp(list->text, text, length) == 0)
            value = list->values[index % list->count];
        index /= list->count;
    }
    return value;
}

kiln_status bench_lists_expand(const bench_lists *lists, size_t index, const char *text, char **out) {
    kiln__text built = {0};
    while (*text) {
        size_t plain = strcspn(text, "{"), length = 0;
        kiln__text_printf(&built, "%.*s", (int)plain, text);
        text += plain;
        if (*text) {
            length = strcspn(text, "}") + 1;
            kiln__text_puts(&built, value_in_case(lists, index, text, length));
        }
        text += length;
    }
    *out = kiln__text_take(&built);
    return *out ? KILN_OK : kiln__out_of_memory();
}

void bench_lists_free(bench_lists *lists) {
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].count; k++) free(lists->items[i].values[k]);
        free(lists->items[i].values);
        free(lists->items[i].text);
    }
    free(lists->items);
}
