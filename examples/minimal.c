/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a program needs: a context, a program, arrays bound by name, a call, and what to do when one fails.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples   (CMAKE_PREFIX_PATH: where Kiln is)
 * or:     cc examples/minimal.c examples/arrays.c $(pkg-config --cflags --libs kiln)
 * On a GPU: add -DWITH_CUDA and -lcudart, with the toolkit's include and library folders. */
#include "arrays.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 3, COLS = 8 };

/* y = softmax(x * scale + bias) over each row. bias is one row, which broadcasts as in NumPy. */
static kiln_status run(const kiln_program *program, const float *x, const float *bias, float *y) {
    const int64_t matrix[] = {ROWS, COLS}, row[] = {COLS};
    const kiln_binding bindings[] = {
        {"x", kiln_tensor_input(x, KILN_F32, 2, matrix)},
        {"bias", kiln_tensor_input(bias, KILN_F32, 1, row)},
        {"y", kiln_tensor_contiguous(y, KILN_F32, 2, matrix)},
    };
    const kiln_scalar_binding scale = {"scale", kiln_scalar_f64(0.5)};
    return arrays_run(program, bindings, 3, &scale, 1);
}

static int show(const float *y) {
    for (int row = 0; row < ROWS; row++) {
        double total = 0;
        for (int col = 0; col < COLS; col++) {
            const double value = (double)y[row * COLS + col];
            total += value;
            printf("%.4f%c", value, col < COLS - 1 ? ' ' : '\n');
        }
        if (fabs(total - 1) > 1e-5) {
            fprintf(stderr, "row %d adds up to %g, expected 1\n", row, total);
            return 1;
        }
    }
    return 0;
}

int main(void) {
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.scalars = "scale"; /* passed with each call, not compiled in */
    float *x = array_create(ROWS * COLS * sizeof(*x));
    float *bias = array_create(COLS * sizeof(*bias));
    float *y = array_create(ROWS * COLS * sizeof(*y));
    int result = 1;

    kiln_status status = x && bias && y ? kiln_context_create(NULL, &context) : KILN_E_MEMORY;
    if (!status) status = kiln_program_create(context, "y = softmax(x * scale + bias)", &options, &program);
    if (!status) {
        for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)(i % 5);
        for (int col = 0; col < COLS; col++) bias[col] = col < 6 ? 0 : -INFINITY; /* the last two columns are masked */
        status = run(program, x, bias, y);
    }
    result = status ? report("minimal", status) : show(y);
    kiln_program_destroy(program); /* before its context */
    kiln_context_destroy(context);
    array_destroy(y);
    array_destroy(bias);
    array_destroy(x);
    return result;
}
