/* SPDX-License-Identifier: Apache-2.0 */
/* The prelude's functions in numbers: against formulas of their own, and the gradients against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lang_text.h"
#include "ref/ref.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROWS 3
#define COLS 7

extern const char kiln__source_prelude_kiln[], kiln__source_library_kiln[];

/* Inputs by name: x, w, b, t, g of ROWS x COLS, and r of ROWS x 1. */
typedef struct inputs {
    double values[6][ROWS * COLS];
} inputs;

static int input_index(char name) {
    const char *at = strchr("xwbtgr", name);
    return at == NULL ? -1 : (int)(at - "xwbtgr");
}

static void fill(inputs *in) {
    uint32_t state = 12345;
    for (size_t i = 0; i < COUNT(in->values); i++) {
        for (size_t k = 0; k < ROWS * COLS; k++) {
            state = state * 1664525u + 1013904223u;
            in->values[i][k] = (double)(state >> 8) / (double)(1 << 24) * 4 - 2;
        }
    }
    /* t: probabilities, one of them 0 */
    double *t = in->values[input_index('t')];
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0;
        t[row * COLS] = 0;
        for (size_t k = 0; k < COLS; k++) sum += fabs(t[row * COLS + k]);
        for (size_t k = 0; k < COLS; k++) t[row * COLS + k] = fabs(t[row * COLS + k]) / sum;
    }
}

/* Runs text, whose output is y, in f64; a result of one value a row is repeated along the row. */
static void evaluate(const char *text, inputs *in, double out[ROWS * COLS]) {
    kiln__graph *graph;
    kiln__signature signature;
    kiln__ir *ir;
    if (kiln__graph_parse(text, &graph) != KILN_OK ||
        kiln__signature_resolve(graph, &(kiln__lists){.outputs = "y"}, &signature) != KILN_OK)
        fail_msg("%s: %s", text, kiln_last_error());
    kiln__binding binding = lang_binding(KILN_F64);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    const int64_t full[2] = {ROWS, COLS}, kept[2] = {ROWS, 1};
    for (uint32_t i = 0; i < signature.input_count; i++) {
        char name = graph->names[signature.inputs[i]].text[0];
        binding.input_per_element[i] = name != 'r';
        double *values = in->values[input_index(name)];
        tensors[i] = kiln_tensor_contiguous(values, KILN_F64, 2, name == 'r' ? kept : full);
    }
    assert_int_equal(kiln__ir_build(graph, &signature, &binding, &ir), KILN_OK);
    bool per_element = ir->insts[ir->outputs[0]].per_element;
    tensors[signature.input_count] = kiln_tensor_contiguous(out, KILN_F64, 2, per_element ? full : kept);
    if (kiln__ref_run(ir, tensors, NULL, NULL, 2, full, binding.reduced) != KILN_OK)
        fail_msg("%s: %s", text, kiln_last_error());
    for (size_t i = ROWS * COLS; !per_element && i-- > 0;) out[i] = out[i / COLS];
    kiln__ir_destroy(ir);
    kiln__graph_destroy(graph);
}

static void check_close(const char *what, const double *found, const double *expected, double tolerance) {
    for (int i = 0; i < ROWS * COLS; i++) {
        bool same = isnan(expected[i])   ? isnan(found[i])
                    : isinf(expected[i]) ? found[i] == expected[i]
                                         : fabs(found[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]));
        if (!same) fail_msg("%s: element %d is %.17g, expected %.17g", what, i, found[i], expected[i]);
    }
}

/* Where y is not 0, s x less y, or less its root, is the same all over the row, and at least s x elsewhere. */
static void check_sparse(const double *x, const double *y, double s, bool root) {
    double sum = 0, threshold = -INFINITY;
    for (int i = 0; i < COLS; i++) {
        const double here = s * x[i] - (root ? sqrt(y[i]) : y[i]);
        sum += y[i];
        if (y[i] > 0 && isinf(threshold)) threshold = here;
        if (y[i] > 0 && fabs(here - threshold) > 1e-12) fail_msg("element %d: %g, not %g", i, here, threshold);
        assert_true(y[i] >= 0);
    }
    assert_true(fabs(sum - 1) < 1e-12);
    for (int i = 0; i < COLS; i++) assert_true(y[i] > 0 || s * x[i] <= threshold + 1e-12);
}

static void sparse_softmaxes_meet_their_conditions(void **state) {
    inputs in;
    double y[ROWS * COLS];
    (void)state;
    for (double scale = 0.1; scale < 20; scale *= 3) {
        fill(&in);
        double *x = in.values[input_index('x')];
        for (int i = 0; i < ROWS * COLS; i++) x[i] *= scale;
        x[1] = x[COLS] = -INFINITY; /* masked */
        x[COLS + 2] = x[COLS + 1];  /* equal ones */
        evaluate("y = sparsemax(x)", &in, y);
        for (int row = 0; row < ROWS; row++) check_sparse(x + row * COLS, y + row * COLS, 1, false);
        evaluate("y = entmax15(x)", &in, y);
        for (int row = 0; row < ROWS; row++) check_sparse(x + row * COLS, y + row * COLS, 0.5, true);
    }
}

static void gradients_are_the_slopes(void **state) {
    (void)state;
    /* value: y from what is differentiated; weight: the gradient of y. */
    static const struct {
        const char *value, *gradient;
        char by, weight;
    } cases[] = {
        {"y = relu(x)", "y = relu_grad(x, g)", 'x', 'g'},
        {"y = sigmoid(x)", "y = sigmoid_grad(sigmoid(x), g)", 'x', 'g'},
        {"y = tanh(x)", "y = tanh_grad(tanh(x), g)", 'x', 'g'},
        {"y = silu(x)", "y = silu_grad(x, g)", 'x', 'g'},
        {"y = gelu(x)", "y = gelu_grad(x, g)", 'x', 'g'},
        {"y = gelu_tanh(x)", "y = gelu_tanh_grad(x, g)", 'x', 'g'},
        {"y = softplus(x)", "y = softplus_grad(x, g)", 'x', 'g'},
        {"y = softmax(x)", "y = softmax_grad(softmax(x), g)", 'x', 'g'},
        {"y = log_softmax(x)", "y = log_softmax_grad(log_softmax(x), g)", 'x', 'g'},
        {"y = sparsemax(x)", "y = sparsemax_grad(sparsemax(x), g)", 'x', 'g'},
        {"y = entmax15(x)", "y = entmax15_grad(entmax15(x), g)", 'x', 'g'},
        {"y = logsumexp(x)", "y = logsumexp_grad(x, r)", 'x', 'r'},
        {"y = cross_entropy(x, t)", "y = cross_entropy_grad(x, t, r)", 'x', 'r'},
        {"y = cross_entropy_label(x, 3)", "y = cross_entropy_label_grad(x, 3, r)", 'x', 'r'},
        {"y = layer_norm(x, w, b)", "y = layer_norm_grad(x, w, g)", 'x', 'g'},
        {"y = layer_norm(x, w, b, 0.5)", "y = layer_norm_grad(x, w, g, 0.5)", 'x', 'g'},
        {"y = rms_norm(x, w)", "y = rms_norm_grad(x, w, g)", 'x', 'g'},
        {"y = l2_normalize(x)", "y = l2_normalize_grad(x, g)", 'x', 'g'},
        {"y = l2_normalize(x, 100)", "y = l2_normalize_grad(x, g, 100)", 'x', 'g'},
        {"y = dropout(x, 0.3, 7)", "y = dropout_grad(g, 0.3, 7)", 'x', 'g'},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        inputs in;
        double found[ROWS * COLS], expected[ROWS * COLS], above[ROWS * COLS], below[ROWS * COLS];
        fill(&in);
        evaluate(cases[i].gradient, &in, found);
        double *x = in.values[input_index(cases[i].by)];
        const double *weight = in.values[input_index(cases[i].weight)], step = 1e-6;
        bool per_row = cases[i].weight == 'r';
        for (int k = 0; k < ROWS * COLS; k++) {
            double before = x[k], slope = 0;
            x[k] = before + step;
            evaluate(cases[i].value, &in, above);
            x[k] = before - step;
            evaluate(cases[i].value, &in, below);
            x[k] = before;
            int row = k / COLS;
            if (per_row) slope = weight[row] * (above[row * COLS] - below[row * COLS]);
            for (int j = row * COLS; !per_row && j < (row + 1) * COLS; j++) slope += weight[j] * (above[j] - below[j]);
            expected[k] = slope / (2 * step);
        }
        check_close(cases[i].gradient, found, expected, 1e-7);
    }
}

static double normal_below(double x) { return 0.5 * erfc(-x / sqrt(2)); }

static double positive_exp_linear(double x, double alpha) { return x > 0 ? x : alpha * (exp(x) - 1); }

static double tanh_gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static double elementwise(int which, double x) {
    switch (which) {
    case 0: return x > 0 ? x : 0;
    case 1: return x > 0 ? x : 0.01 * x;
    case 2: return positive_exp_linear(x, 1);
    case 3: return 1.0507009873554805 * positive_exp_linear(x, 1.6732632423543772);
    case 4: return x > 0 ? x : 2 * (exp(x / 2) - 1);
    case 5: return x / (1 + exp(-x));
    case 6: return -log(1 + exp(-x));
    case 7: return fmin(fmax(x + 3, 0), 6) / 6;
    case 8: return x * fmin(fmax(x + 3, 0), 6) / 6;
    case 9: return fmin(fmax(x, -1), 1);
    case 10: return log(1 + exp(x));
    case 11: return x / (1 + fabs(x));
    case 12: return x * tanh(log(1 + exp(x)));
    case 13: return x * normal_below(x);
    case 14: return tanh_gelu(x);
    case 15: return 1 + x * 2;
    case 16: return fmin(fmax(x, 0.5), 1);
    case 17: return fmin(fmax(3 * x, 0), 6);
    default: return log(1 + exp(2 * x)) / 2;
    }
}

static void elementwise_functions_follow_their_formulas(void **state) {
    (void)state;
    static const char *const programs[] = {
        "y = relu(x)",       "y = leaky_relu(x)",    "y = elu(x)",         "y = selu(x)",        "y = celu(x, 2)",
        "y = silu(x)",       "y = logsigmoid(x)",    "y = hardsigmoid(x)", "y = hardswish(x)",   "y = hardtanh(x)",
        "y = softplus(x)",   "y = softsign(x)",      "y = mish(x)",        "y = gelu(x)",        "y = gelu_tanh(x)",
        "y = lerp(1, 3, x)", "y = clamp(x, 0.5, 1)", "y = relu6(3 * x)",   "y = softplus(x, 2)",
    };
    for (size_t i = 0; i < COUNT(programs); i++) {
        inputs in;
        double found[ROWS * COLS], expected[ROWS * COLS];
        fill(&in);
        for (int k = 0; k < ROWS * COLS; k++) {
            in.values[0][k] *= 2; /* to both sides of -3 and 3 */
            expected[k] = elementwise((int)i, in.values[0][k]);
        }
        evaluate(programs[i], &in, found);
        check_close(programs[i], found, expected, 1e-14);
    }
}

/* One row of values, the rest of x and what comes out of it. */
static void special_values_come_out_as_documented(void **state) {
    (void)state;
    static const struct {
        const char *program;
        double x[COLS], expected[COLS]; /* of every row */
    } cases[] = {
        {"y = softmax(x)", {INFINITY, 1, 2, 3, 4, 5, 6}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
        {"y = softmax(x)", {-INFINITY, 0, 0, 0, 0, -INFINITY, -INFINITY}, {0, .25, .25, .25, .25, 0, 0}},
        {"y = safe_softmax(x + (-inf))", {1, 2, 3, 4, 5, 6, 7}, {0, 0, 0, 0, 0, 0, 0}},
        {"y = softmax(x + (-inf))", {1, 2, 3, 4, 5, 6, 7}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
        {"y = logsumexp(x + (-inf))",
         {0},
         {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}},
        {"y = logsumexp(x) * 0 + index(-1)", {1000, 1000, 1000, 1000}, {0, 1, 2, 3, 4, 5, 6}},
        {"y = i32(logsumexp(x) > 1e9)", {-INFINITY, INFINITY}, {1, 1, 1, 1, 1, 1, 1}},
        {"y = nanmax(x)", {NAN, -INFINITY, 3, 4, NAN}, {4, 4, 4, 4, 4, 4, 4}},
        {"y = nanmin(x)", {NAN, 7, 3, 4, NAN, 8, 9}, {3, 3, 3, 3, 3, 3, 3}},
        {"y = nanmax(x * nan)", {1, 2}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
        {"y = nansum(x)", {NAN, 1, 2, 3, NAN}, {6, 6, 6, 6, 6, 6, 6}},
        {"y = nanmean(x)", {NAN, 1, 2, 3, NAN, NAN, NAN}, {2, 2, 2, 2, 2, 2, 2}},
        {"y = max(x)", {1, NAN, 3}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
        {"y = absmax(x)", {1, -5, 3}, {5, 5, 5, 5, 5, 5, 5}},
        {"y = absmin(x)", {1, -5, 3, 2, 2, 2, -0.5}, {.5, .5, .5, .5, .5, .5, .5}},
        {"y = count_nonzero(x)", {0, NAN, 1, -0.0, 2}, {3, 3, 3, 3, 3, 3, 3}},
        {"y = var(x)", {1, 2, 3, 4, 5, 6, 7}, {14 / 3., 14 / 3., 14 / 3., 14 / 3., 14 / 3., 14 / 3., 14 / 3.}},
        {"y = std(x, 0)", {1, 2, 3, 4, 5, 6, 7}, {2, 2, 2, 2, 2, 2, 2}},
        {"y = var(x, ddof = 7)", {1, 2, 3, 4, 5, 6, 7}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
        {"y = norm1(x) + norm2(x) + norm_inf(x)", {3, -4}, {16, 16, 16, 16, 16, 16, 16}},
        {"y = reduce_scale(x)", {1, -4, 2}, {.25, -1, .5, 0, 0, 0, 0}},
        {"y = quantize_i8(x)", {1, -4, 2, 0.01}, {32, -127, 64, 0, 0, 0, 0}},
        {"y = quantize_i8(x * 0)", {1, -4, 2}, {0, 0, 0, 0, 0, 0, 0}},
        {"y = e8m0_down(x)", {3, -4, 0.7, 1e-39}, {2, 4, 0.5, 0x1p-127, 0, 0, 0}},
        {"y = e8m0(e8m0_down(absmax(x)) / 256)", {3, -900}, {2, 2, 2, 2, 2, 2, 2}},
        {"y = e8m0(x)", {3, -4, 0.7, 1e-39}, {4, 4, 1, 0x1p-127, 0, 0, 0}},
        {"y = quantize_e4m3(x)", {1, -4, 2, 3}, {112, -448, 224, 320, 0, 0, 0}},
        {"y = quantize_e5m2(x)", {1, -4, 2}, {14336, -57344, 28672, 0, 0, 0, 0}},
        {"y = cross_entropy(x, x == 0)", {-INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, {0}},
        {"y = gelu(x)", {-40, 0, 40}, {0, 0, 40}},
        {"y = softplus(x)",
         {-1000, 1000},
         {0, 1000, 0.69314718055994531, 0.69314718055994531, 0.69314718055994531, 0.69314718055994531,
          0.69314718055994531}},
        {"y = reduce((a, b) -> maximum(abs(a), abs(b)), x, 0)", {1, -9, 3}, {9, 9, 9, 9, 9, 9, 9}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        inputs in;
        double found[ROWS * COLS], expected[ROWS * COLS];
        for (int k = 0; k < ROWS * COLS; k++) {
            in.values[0][k] = cases[i].x[k % COLS];
            expected[k] = cases[i].expected[k % COLS];
        }
        evaluate(cases[i].program, &in, found);
        check_close(cases[i].program, found, expected, 1e-14);
    }
}

static void dropout_keeps_its_share_and_repeats(void **state) {
    (void)state;
    inputs in;
    double first[ROWS * COLS], again[ROWS * COLS], other[ROWS * COLS];
    for (int k = 0; k < ROWS * COLS; k++) in.values[0][k] = 1;
    evaluate("y = dropout(x, 0.5, 42, 0)", &in, first);
    evaluate("y = dropout(x, 0.5, 42)", &in, again);
    evaluate("y = dropout(x, 0.5, 43)", &in, other);
    int kept = 0;
    for (int k = 0; k < ROWS * COLS; k++) {
        assert_true(first[k] == 0 || first[k] == 2);
        kept += first[k] != 0;
    }
    assert_in_range(kept, 4, 17);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
}

enum { MOST_FUNCTIONS = 500 };
typedef struct function_names {
    char text[MOST_FUNCTIONS][KILN__MAX_NAME + 1];
    int count;
} function_names;

/* Adds those that the text defines, each of which is new, and has a formula on the line above it if it is public. */
static void add_names(function_names *names, const char *text) {
    char before[200] = "";
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        if (length > 120) fail_msg("a line is too long: %.*s", (int)length, at);
        if (strncmp(at, "fn ", 3) == 0) {
            assert_in_range(names->count, 0, MOST_FUNCTIONS - 1);
            char *name = names->text[names->count];
            snprintf(name, sizeof names->text[0], "%.*s", (int)strcspn(at + 3, "("), at + 3);
            assert_int_equal(kiln__op_find(name, strlen(name)), KILN__OP_COUNT_OF);
            for (int i = 0; i < names->count; i++) assert_string_not_equal(names->text[i], name);
            if (name[0] != '_' && before[0] != '#' && strncmp(before, "fn _", 4) != 0)
                fail_msg("%s has no formula above it", name);
            names->count++;
        }
        snprintf(before, sizeof before, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

/* Also those of both files are different ones. */
static void the_prelude_defines_each_name_once_with_a_formula(void **state) {
    (void)state;
    static function_names names;
    add_names(&names, kiln__source_prelude_kiln);
    assert_in_range(names.count, 60, 200);
    add_names(&names, kiln__source_library_kiln);
    assert_in_range(names.count, 200, MOST_FUNCTIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_softmaxes_meet_their_conditions),
        cmocka_unit_test(gradients_are_the_slopes),
        cmocka_unit_test(elementwise_functions_follow_their_formulas),
        cmocka_unit_test(special_values_come_out_as_documented),
        cmocka_unit_test(dropout_keeps_its_share_and_repeats),
        cmocka_unit_test(the_prelude_defines_each_name_once_with_a_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
