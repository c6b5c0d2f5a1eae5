/* SPDX-License-Identifier: Apache-2.0 */
/* An application that has expressions of its own, such as a query engine or a model importer, and wants each as one
 * kernel: it writes the graph of operations as program text, one statement for each node, and Kiln fuses them.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples
 * or:     cc examples/fusion.c examples/arrays.c $(pkg-config --cflags --libs kiln) -lm */
#include "arrays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 16, COLS = 100, COUNT = ROWS * COLS, TEXT_SIZE = 1024 };

/* The application's graph. Nodes are in an order in which operands come before their users. */
enum kind { INPUT, CONSTANT, ADD, MULTIPLY, EXP, ROW_MEAN };
struct node {
    enum kind kind;
    int a, b;     /* operands, as indices of nodes */
    double value; /* of a constant */
};

/* y = exp(0.1 x) * (x + mean of the row of x) */
static const struct node graph[] = {
    {INPUT, 0, 0, 0},    {CONSTANT, 0, 0, 0.1}, {MULTIPLY, 0, 1, 0}, {EXP, 2, 0, 0},
    {ROW_MEAN, 0, 0, 0}, {ADD, 0, 4, 0},        {MULTIPLY, 3, 5, 0},
};
enum { NODES = sizeof(graph) / sizeof(graph[0]) };

/* A statement for node number n, as snprintf returns it. Node n is the name v<n>, so that no name of the application
 * can mean something to Kiln; the input is named in the calls, and needs no statement. %.17g loses no bit of a
 * constant. */
static int write_statement(char *text, size_t size, int n) {
    const struct node *node = &graph[n];
    switch (node->kind) {
    case INPUT: return 0;
    case CONSTANT: return snprintf(text, size, "v%d = %.17g\n", n, node->value);
    case ADD: return snprintf(text, size, "v%d = v%d + v%d\n", n, node->a, node->b);
    case MULTIPLY: return snprintf(text, size, "v%d = v%d * v%d\n", n, node->a, node->b);
    case EXP: return snprintf(text, size, "v%d = exp(v%d)\n", n, node->a);
    case ROW_MEAN: return snprintf(text, size, "v%d = mean(v%d)\n", n, node->a);
    }
    return -1;
}

/* The program's text. False where it does not fit: a cut program may still parse, and be another one. */
static bool write_program(char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int n = 0; n < NODES; n++) {
        const int wrote = write_statement(text + used, size - used, n);
        if (wrote < 0 || (size_t)wrote >= size - used) return false;
        used += (size_t)wrote;
    }
    return true;
}

/* What the application did before: each node by itself, over the whole array, in double. */
static void evaluate(const float *x, double values[NODES][COUNT]) {
    for (int n = 0; n < NODES; n++) {
        const struct node *node = &graph[n];
        const double *a = values[node->a], *b = values[node->b];
        for (int i = 0; i < COUNT; i++) {
            double mean = 0;
            switch (node->kind) {
            case INPUT: values[n][i] = (double)x[i]; break;
            case CONSTANT: values[n][i] = node->value; break;
            case ADD: values[n][i] = a[i] + b[i]; break;
            case MULTIPLY: values[n][i] = a[i] * b[i]; break;
            case EXP: values[n][i] = exp(a[i]); break;
            case ROW_MEAN:
                for (int col = 0; col < COLS; col++) mean += a[i / COLS * COLS + col] / COLS;
                values[n][i] = mean;
                break;
            }
        }
    }
}

static kiln_status run(const char *text, const float *x, float *y) {
    const int64_t sizes[] = {ROWS, COLS};
    char result[16];
    snprintf(result, sizeof(result), "v%d", NODES - 1);
    const kiln_binding bindings[] = {{"v0", kiln_tensor_input(x, KILN_F32, 2, sizes)},
                                     {result, kiln_tensor_contiguous(y, KILN_F32, 2, sizes)}};
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.outputs = result; /* otherwise every node that nothing reads would be one */
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_status status = kiln_context_create(NULL, &context);
    if (!status) status = kiln_program_create(context, text, &options, &program);
    if (!status) status = arrays_run(program, bindings, 2, NULL, 0);
    if (status) report("fusion", status);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static int compare(const float *x, const float *y) {
    static double values[NODES][COUNT];
    double largest = 0;
    evaluate(x, values);
    for (int i = 0; i < COUNT; i++) {
        const double wanted = values[NODES - 1][i];
        largest = fmax(largest, fabs((double)y[i] - wanted) / fmax(fabs(wanted), 1));
    }
    printf("%d elements, largest relative error %.1e\n", COUNT, largest);
    return largest > 1e-5;
}

int main(void) {
    char text[TEXT_SIZE];
    float *x = array_create(COUNT * sizeof(*x)), *y = array_create(COUNT * sizeof(*y));
    int result = 1;
    if (!x || !y) {
        fprintf(stderr, "fusion: no memory\n");
    } else if (!write_program(text, sizeof(text))) {
        fprintf(stderr, "fusion: the program needs more than %d bytes\n", TEXT_SIZE);
    } else {
        printf("%s", text);
        for (int i = 0; i < COUNT; i++) x[i] = (float)(i * 37 % 101) / 10 - 5;
        if (!run(text, x, y)) result = compare(x, y);
    }
    array_destroy(y);
    array_destroy(x);
    return result;
}
