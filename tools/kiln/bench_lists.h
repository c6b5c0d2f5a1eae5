/* SPDX-License-Identifier: Apache-2.0 */
/* Lists on the command line: x=f16[*,{128,1000,2^10..2^17}] stands for many tensors. */
#ifndef KILN_TOOL_BENCH_LISTS_H
#define KILN_TOOL_BENCH_LISTS_H

#include "base/status.h"

#define BENCH_MAX_CASES 10000

/* One list, braces and all. The same text in two tensors is one list: they vary together. */
typedef struct bench_list {
    char *text;
    char **values;
    size_t count;
} bench_list;

typedef struct bench_lists {
    bench_list *items;
    size_t count;
    size_t cases; /* the product of the lists' lengths; 1 without any */
} bench_lists;

/* Adds the lists in the text that are not there yet. Starts with {0}. KILN_E_ARGUMENT quotes what is no list. */
kiln_status bench_lists_add(bench_lists *lists, const char *text);
/* The text with each list's value in a case, in memory that the caller frees; the first list varies slowest. */
kiln_status bench_lists_expand(const bench_lists *lists, size_t index, const char *text, char **out);
void bench_lists_free(bench_lists *lists);

#endif
