/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the language: the operators that are called by name, the conversions, and those of the prelude. */
#ifndef KILN_TOOL_FUNCTION_LIST_H
#define KILN_TOOL_FUNCTION_LIST_H

#include "tool.h"

enum { FUNCTION_TYPES = 3 };
extern const kiln_type function_types[FUNCTION_TYPES]; /* of arguments: a float, an integer and a truth value */

typedef struct function_row {
    const char *group;                   /* "elementwise" */
    char *name;                          /* "leaky_relu" */
    char *signature;                     /* "leaky_relu(x, slope = 0.01)" */
    char *meaning;                       /* in one line */
    char *formula;                       /* in the language; NULL: it is an operator of its own */
    const char *results[FUNCTION_TYPES]; /* the result's type, by the arguments'; NULL: it takes none such */
} function_row;

typedef struct function_list {
    function_row *rows;
    size_t count, capacity;
} function_list;

/* By groups, each by name. KILN_E_MEMORY. The caller frees it. */
kiln_status function_list_make(function_list *out);
/* Fills the results: asks the library for the type of each function's call. KILN_E_MEMORY. */
kiln_status function_list_ask_types(function_list *list);
void function_list_free(function_list *list);

#endif
