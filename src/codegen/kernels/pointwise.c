/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel without reductions: threads have vectors of one flat array, or tiles of it whose inputs are transposed. */
#include "codegen/kernels/kernels.h"

void kiln__emit_pointwise_kernel(const kiln__emitter *e) {
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    kiln__write(e, "    kiln_row row(args, 0);\n");
    if (e->schedule->strategy == KILN__TRANSPOSE)
        kiln__write(e, "    kiln_place(row);\n    if (row.down == 0) return;\n");
    kiln__emit_fill(e);
    kiln__emit_last_pass(e, "    ");
    kiln__write(e, "}\n");
}
