/* SPDX-License-Identifier: Apache-2.0 */
/* One case of a bench: tensors of certain types and sizes, rows chosen so that it moves so many bytes. */
#ifndef KILN_TOOL_BENCH_CASE_H
#define KILN_TOOL_BENCH_CASE_H

#include "bench_lists.h"
#include "request.h"

typedef struct bench_case {
    kiln_tensor tensors[KILN_MAX_TENSORS]; /* inputs, then outputs; no data. Reduced outputs keep their axes as 1 */
    int64_t bytes; /* that must move: each input once, each output once, of a put the rows that are written */
    char *label;   /* "x=f16[49152,1024] w=f16[1024]" */
    int32_t rank;  /* of the space that the inputs broadcast to */
    int64_t sizes[KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    bool by_position; /* values depend on an element's position, index(), size(), uniform(), or rows go where a put says
                       */
} bench_case;

/* Whether each --out-type is a type, and not that of a put. Returns an exit code. */
int bench_check_output_types(const request *r);

/* Works out case number index of the lists in --tensor; r->tensors are overwritten. Returns an exit code; *out is freed
 * with bench_case_free in any case. */
int bench_case_make(request *r, const bench_lists *lists, size_t index, int64_t traffic, bench_case *out);
void bench_case_free(bench_case *c);

#endif
