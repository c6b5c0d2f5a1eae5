/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of row programs: the table of ops.h, and the search in it by name. */
#include "lang/ops.h"

#include <string.h>

static const kiln__op_info ops[KILN__OP_COUNT_OF] = {
#define KILN__NAMED(e, n, a, r) {n, n, a, KILN__RULE_##r},
#define KILN__NAMELESS(e, n, a, r) {"", n, a, KILN__RULE_##r},
    KILN__OPS(KILN__NAMED, KILN__NAMELESS)
#undef KILN__NAMED
#undef KILN__NAMELESS
};

const kiln__op_info *kiln__op_describe(kiln__op op) { return (unsigned)op < KILN__OP_COUNT_OF ? &ops[op] : NULL; }

kiln__op kiln__op_find(const char *name, size_t length) {
    for (int i = 0; i < KILN__OP_COUNT_OF && length > 0; i++)
        if (ops[i].name[0] == name[0] && strlen(ops[i].name) == length && memcmp(ops[i].name, name, length) == 0)
            return (kiln__op)i;
    return KILN__OP_COUNT_OF;
}
