/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a program, as a program: reverse mode over the graph. */
#ifndef KILN_LANG_GRADIENT_H
#define KILN_LANG_GRADIENT_H

#include "lang/ir.h"

typedef struct kiln__gradient_request {
    const char *wrt;           /* inputs and scalars, separated by commas; NULL: all floating inputs that the outputs
                                  depend on */
    const char *saved;         /* outputs that the gradient reads and does not compute again; NULL: none */
    const kiln_tensor *inputs; /* the program's, of which types and sizes count; NULL: all have all axes */
    bool last_axis, all_axes;  /* the axes that a program's reductions run over; else the list */
    const int *axes;
    int axis_count;
} kiln__gradient_request;

/* The gradient's text, and its names in order, separated by commas; all the caller's to free. */
typedef struct kiln__gradient {
    char *text, *inputs, *outputs, *scalars;
} kiln__gradient;

/* docs/language.md has the rules. KILN_E_NAME for names that there are not, KILN_E_TYPE for inputs of integers,
 * KILN_E_UNSUPPORTED for what has no gradient as a program, KILN_E_LIMIT. Nothing is to be freed then. */
kiln_status kiln__gradient_make(const kiln__graph *graph, const kiln__signature *signature,
                                const kiln__gradient_request *request, kiln__gradient *out);
void kiln__gradient_free(kiln__gradient *gradient);

#endif
