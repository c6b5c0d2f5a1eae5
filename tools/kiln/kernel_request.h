/* SPDX-License-Identifier: Apache-2.0 */
/* What compile and explain share: tensors given as types and shapes, an architecture, and the kernel for them. */
#ifndef KILN_TOOL_KERNEL_REQUEST_H
#define KILN_TOOL_KERNEL_REQUEST_H

#include "column_range.h"
#include "open_shapes.h"
#include "request.h"

typedef struct kernel_request {
    request request;
    int arch, ptx;
    bool any_shape;     /* sizes are left open along other axes than the first: */
    open_shapes open;   /* what stands for them */
    column_range range; /* of columns that are left open; most 0: none are. The kernel is that of the last ones */
    kiln_kernel *kernel;
    kiln_plan_info info;
} kernel_request;

/* Generates the kernel, with compile not 0 also its image. arch_needed: without --arch and without a GPU it is a usage
 * error, else sm_90 is taken. Returns an exit code; *out is freed with kernel_request_free in any case. */
int kernel_request_open(const arguments *args, bool compile, bool arch_needed, kernel_request *out);
void kernel_request_free(kernel_request *k);

#endif
