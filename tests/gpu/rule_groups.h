/* SPDX-License-Identifier: Apache-2.0 */
/* What the language says of single values, as a table: expressions of an input x and what comes out. */
#ifndef KILN_TESTS_RULE_GROUPS_H
#define KILN_TESTS_RULE_GROUPS_H

#include <kiln/kiln.h>

enum { COLUMNS = 6, RULES = 20 };

/* What comes out: one value, or one for each column of the table. */
typedef struct rule {
    const char *expression;
    double expected[COLUMNS];
} rule;

typedef struct group {
    const char *name;
    kiln_type type, output;
    int columns;
    double x[COLUMNS];
    double pad; /* what a longer row goes on with; NAN: the rules hold for the row as it is alone */
    rule rules[RULES];
} group;

extern const group rule_groups[];
extern const size_t rule_group_count;

#endif
