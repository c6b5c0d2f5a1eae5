/* SPDX-License-Identifier: Apache-2.0 */
/* Digits and what may follow them. */
#include "amount.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;

const char *amount_digits(const char *text, int64_t *out) {
    *out = 0;
    if (*text < '0' || *text > '9') return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (!kiln__mul_i64(*out, 10, out) || !kiln__add_i64(*out, *text - '0', out)) return NULL;
    }
    return text;
}

/* Units end in one without a name. */
static bool read_amount(const char *text, const unit *units, int64_t *out) {
    const char *end = amount_digits(text, out);
    for (; end && units->name; units++) {
        if (strcmp(units->name, end) == 0) return kiln__mul_i64(*out, units->factor, out);
    }
    return false;
}

bool amount_number(const char *text, int64_t *out) {
    static const unit none[] = {{"", 1}, {NULL, 0}};
    return read_amount(text, none, out);
}

bool amount_bytes(const char *text, int64_t *out) {
    static const unit sizes[] = {{"", 1},        {"K", 1 << 10},          {"M", 1 << 20},
                                 {"G", 1 << 30}, {"T", (int64_t)1 << 40}, {NULL, 0}};
    return read_amount(text, sizes, out);
}

bool amount_seconds(const char *text, int64_t *out) {
    static const unit ages[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {NULL, 0}};
    return read_amount(text, ages, out);
}
