/* SPDX-License-Identifier: Apache-2.0 */
/* Derived gradients in numbers: of every operator, of the prelude's functions, of broadcast inputs, blocks and axes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lang/ops.h"
#include "support/called_ops.h"
#include "support/gradient_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FULL(name) \
    { \
        name, 2, { 3, 6 } \
    }
#define COLUMNS(name) \
    { \
        name, 1, { 6 } \
    }
#define ROWS(name) \
    { \
        name, 2, { 3, 1 } \
    }
#define ONE(name) \
    { \
        name, 0, { 0 } \
    }

static kiln_context *context;

static int create_context(void **state) {
    (void)state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    return kiln_context_create(&options, &context) != KILN_OK;
}

static int destroy_context(void **state) {
    (void)state;
    kiln_context_destroy(context);
    return 0;
}

static int problems;

/* Tells all that is wrong, before a test fails. */
static void check(const gradient_case *c) {
    gradient_case seeded = *c;
    for (seeded.seed = 1; seeded.seed <= 3; seeded.seed++) {
        const char *problem = gradient_check(context, &seeded, NULL);
        if (!problem) continue;
        print_error("%s\n", problem);
        problems++;
        return;
    }
}

static int reset(void **state) {
    (void)state;
    problems = 0;
    return 0;
}

/* Expressions of x and p, and of w or r where they say so. */
static void operators_have_their_slopes(void **state) {
    (void)state;
    static const char *const expressions[] = {
        "x + p",
        "x - p",
        "x * p",
        "x / p",
        "p / x",
        "x * x",
        "x / x",
        "-x",
        "+x",
        "x % 1.7",
        "p % x",
        "fmod(x, p)",
        "fmod(p, x)",
        "remainder(x, p)",
        "div_floor(x, p) + x",
        "div_trunc(x, p) * x",
        "abs(x)",
        "sign(x) * x",
        "fma(x, p, w)",
        "fma(p, w, x)",
        "lerp(x, p, w)",
        "clamp(x, -1, 1)",
        "clamp(x, w, p)",
        "clamp(0.3, w, x)",
        "where(x > 0.2, x, p)",
        "x > 0 ? x * x : 1",
        "minimum(x, p)",
        "maximum(x, w)",
        "fmin(x, w)",
        "fmax(x, w)",
        "floor(x) * x",
        "ceil(x) + x",
        "trunc(x) - x",
        "round(x) * p",
        "exp(x)",
        "exp2(x)",
        "expm1(x)",
        "log(p)",
        "log2(p)",
        "log1p(p)",
        "log10(p)",
        "sqrt(p)",
        "rsqrt(p)",
        "cbrt(p)",
        "cbrt(x)",
        "p ** x",
        "x ** 2",
        "x ** 3",
        "x ** 4",
        "x ** -1",
        "p ** -2",
        "p ** 2.5",
        "p ** p",
        "pow(p, w)",
        "2 ** x",
        "x ** 0 + x",
        "sin(x)",
        "cos(x)",
        "tan(0.5 * x)",
        "asin(0.4 * x)",
        "acos(0.4 * x)",
        "atan(x)",
        "atan2(x, w)",
        "sinh(x)",
        "cosh(x)",
        "tanh(x)",
        "asinh(x)",
        "acosh(1 + p)",
        "atanh(0.4 * x)",
        "erf(x)",
        "erfc(x)",
        "erfinv(0.4 * x)",
        "normcdf(x)",
        "normpdf(x)",
        "sigmoid(x)",
        "relu(x)",
        "relu6(3 * x)",
        "leaky_relu(x)",
        "leaky_relu(x, p)",
        "elu(x)",
        "elu(x, p)",
        "selu(x)",
        "celu(x, 2)",
        "celu(x, p)",
        "silu(x)",
        "logsigmoid(x)",
        "hardsigmoid(2 * x)",
        "hardswish(2 * x)",
        "hardtanh(x)",
        "softplus(x)",
        "softplus(x, 2)",
        "softplus(x, p)",
        "softsign(x)",
        "mish(x)",
        "gelu(x)",
        "gelu_tanh(x)",
        "dropout(x, 0.4, 7)",
        "dropout(x, 0.25 * p, 7)",
        "f32(x)* 0 + f64(x) * p",
        "float(x) * w",
        "index(-1) * x + size(0) * p",
        "uniform(1, 2) * x",
        "isnan(x) * p + x",
        "(x > 0) * p",
        "i32(2 * x) * x",
        "x * (p > 1 && x > 0)",
        "round_to(f32, x, 0.5) * 0 + x",
        "x + expand_as(p, x)",
    };
    for (size_t i = 0; i < COUNT(expressions); i++) {
        char text[200];
        snprintf(text, sizeof text, "y = %s", expressions[i]);
        check(&(gradient_case){.text = text, .inputs = {FULL('x'), FULL('p'), COLUMNS('w')}});
        snprintf(text, sizeof text, "y = (%s) * b + w - r", expressions[i]);
        check(&(gradient_case){.text = text, .inputs = {FULL('x'), COLUMNS('p'), COLUMNS('w'), ONE('b'), ROWS('r')}});
    }
    assert_int_equal(problems, 0);
}

/* Those that may be refused are told in docs/limits.md. */
static void every_operator_has_a_rule_or_a_reason(void **state) {
    (void)state;
    static const char *const without[] = {"gather", "rows", "lgamma", "cumprod", "cummax", "cummin"};
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const kiln__op_info *info = kiln__op_describe((kiln__op)op);
        char text[100];
        if (!op_takes_any_tensors((kiln__op)op) && op != KILN__OP_ROWS) continue;
        snprintf(text, sizeof text, "y = %s(%s)", info->name,
                 info->args == 1   ? "x"
                 : info->args == 2 ? "x, i"
                                   : "x, w, b");
        kiln_program *program = NULL, *gradient = NULL;
        kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
        options.wrt = "x";
        assert_int_equal(kiln_program_create(context, text, NULL, &program), KILN_OK);
        const kiln_status status = kiln_program_gradient(program, NULL, &options, &gradient);
        bool listed = false;
        for (size_t i = 0; i < COUNT(without); i++) listed |= strcmp(without[i], info->name) == 0;
        if (listed != (status == KILN_E_UNSUPPORTED) || (status && !listed && status != KILN_E_NAME))
            fail_msg("%s: %s", text, kiln_last_error());
        kiln_program_destroy(gradient);
        kiln_program_destroy(program);
    }
}

/* As it may be rounded, and then equals no element. */
static void a_saved_maximum_is_found_again(void **state) {
    (void)state;
    kiln_program *program = NULL, *gradient = NULL;
    kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
    options.wrt = "x";
    options.saved = "y,s";
    assert_int_equal(kiln_program_create(context, "y = max(x * 3); s = softmax(x)", NULL, &program), KILN_OK);
    assert_int_equal(kiln_program_gradient(program, NULL, &options, &gradient), KILN_OK);
    const char *text = kiln_program_text(gradient);
    if (!strstr(text, "max(") || strstr(text, "softmax(")) fail_msg("%s", text);
    kiln_program_destroy(gradient);
    kiln_program_destroy(program);
}

/* What constants come to may be no number of 64 bits, nor finite. */
static void constants_may_be_infinite(void **state) {
    (void)state;
    static const char *const programs[] = {"d = x - mean(x); y = d * rsqrt(mean(d * d) * 0 + 0e-5)", "y = x / 0 * 3",
                                           "y = x * 1e300 * 1e300 * 2", "y = 1e19 * x * 3"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        kiln_program *program = NULL, *gradient = NULL;
        assert_int_equal(kiln_program_create(context, programs[i], NULL, &program), KILN_OK);
        assert_int_equal(kiln_program_gradient(program, NULL, NULL, &gradient), KILN_OK);
        kiln_program_destroy(gradient);
        kiln_program_destroy(program);
    }
}

static void programs_with_lengths_are_refused(void **state) {
    (void)state;
    kiln_program *program = NULL, *gradient = NULL;
    assert_int_equal(kiln_program_create(context, "lengths(n); y = softmax(x)", NULL, &program), KILN_OK);
    assert_int_equal(kiln_program_gradient(program, NULL, NULL, &gradient), KILN_E_UNSUPPORTED);
    assert_string_equal(kiln_last_error(),
                        "1:9: programs with lengths or offsets have no gradient here: differentiate the program "
                        "without them");
    kiln_program_destroy(program);
}

static void reductions_have_their_slopes(void **state) {
    (void)state;
    static const char *const expressions[] = {
        "sum(x)",
        "prod(x)",
        "mean(x)",
        "sumsq(x)",
        "norm1(x)",
        "norm2(x)",
        "var(x)",
        "var(x, 0)",
        "std(x)",
        "std(x, ddof = 2)",
        "logsumexp(x)",
        "max(x)",
        "min(x)",
        "absmax(x)",
        "absmin(x)",
        "norm_inf(x)",
        "nansum(x)",
        "nanmean(x)",
        "nanmax(x)",
        "nanmin(x)",
        "argmax(x) * sum(x)",
        "cumsum(x)",
        "sort(x) * w",
        "sort(x * w, descending = true) * x",
        "sort_by(x, w) * exp(w)",
        "sort(x - max(x)) * argsort(w)",
        "cumsum(x * w) * x",
        "max(cumsum(x))",
        "cumsum(softmax(x))",
        "cumsum(w) * x",
        "kth(x, 2)",
        "kth_largest(x, 1) * x",
        "median(x)",
        "nanmedian(x) - w",
        "quantile(x, 0.3) * x",
        "any(x > 1) * sum(x)",
        "count_nonzero(x > 0) * max(x)",
        "softmax(x)",
        "log_softmax(x)",
        "safe_softmax(x)",
        "cross_entropy(x, t)",
        "cross_entropy_label(x, i)",
        "layer_norm(x)",
        "layer_norm(x, w, 2)",
        "layer_norm(x, w, b, 0.1)",
        "rms_norm(x)",
        "rms_norm(x, w, 0.1)",
        "l2_normalize(x)",
        "l2_normalize(x, 100)",
        "reduce_scale(x)",
        "x - mean(x)",
        "x / norm2(x)",
        "exp(x) / (1 + sum(exp(x)))",
        "x * softmax(x * w)",
        "sum(softmax(x) * w)",
        "max(x * w) * x",
        "sum(x * w) / sum(w * w)",
        "take(x, i)",
        "logsumexp(x) - take(x * w, i)",
        "take(x, 2) * x",
        "x * take(w, i) + sum(w)",
        "scale_i8(x) * x",
        "mean(mean(x) * x) + std(x * w)",
        "sum(w) * x",
        "max(w) - x",
        "softmax(w) + x",
        "layer_norm(w) * x",
        "sum(i * x)",
        "mean(i) * x",
        "prod(where(index(-1) == i, 0, x))",
    };
    for (size_t i = 0; i < COUNT(expressions); i++) {
        char text[200];
        snprintf(text, sizeof text, "y = %s", expressions[i]);
        check(&(gradient_case){.text = text, .inputs = {FULL('x'), FULL('t'), COLUMNS('w'), COLUMNS('b'), ROWS('i')}});
        check(&(gradient_case){
            .text = text, .axes = "all", .inputs = {FULL('x'), FULL('t'), FULL('w'), FULL('b'), ONE('i')}});
        if (strstr(expressions[i], " i") || strstr(expressions[i], "(i") || strstr(expressions[i], ", b")) continue;
        snprintf(text, sizeof text, "t1 = x * r; z = t1 * 3; y = (%s) * c", expressions[i]);
        check(&(gradient_case){.text = text, .inputs = {FULL('x'), ROWS('r'), ONE('c'), FULL('t'), COLUMNS('w')}});
    }
    assert_int_equal(problems, 0);
}

static void broadcast_inputs_have_sums(void **state) {
    (void)state;
    static const gradient_case cases[] = {
        {.text = "y = layer_norm(x, w, b)", .inputs = {{'x', 3, {2, 3, 6}}, COLUMNS('w'), COLUMNS('b')}},
        {.text = "y = x * w", .inputs = {{'x', 3, {2, 3, 6}}, {'w', 2, {3, 6}}}},
        {.text = "y = x * w + b",
         .inputs = {{'x', 3, {2, 3, 6}}, {'w', 3, {2, 1, 6}}, {'b', 3, {1, 3, 1}}},
         .wrt = "w"},
        {.text = "y = softmax(x * exp(c) + w)", .inputs = {FULL('x'), ONE('c'), COLUMNS('w')}},
        {.text = "y = sum(r * c)", .inputs = {ROWS('r'), ONE('c'), FULL('x')}},
        {.text = "y = x * sum(r) + w", .inputs = {FULL('x'), ROWS('r'), COLUMNS('w')}},
        {.text = "y = x * w; z = sum(y); s = x + z", .inputs = {FULL('x'), COLUMNS('w')}},
        {.text = "y = x - mean(x, axes = 0)", .inputs = {FULL('x')}},
        {.text = "y = softmax(x, axes = 0) * w", .inputs = {FULL('x'), FULL('w')}},
        {.text = "y = softmax(x); m = mean(x * x, axes = 0); a = sum(x, axes = all)", .inputs = {FULL('x')}},
        {.text = "y = sqrt(sumsq(x, axes = all))", .inputs = {FULL('x')}},
        {.text = "y = sum(x * w, axes = (0, -1))", .inputs = {{'x', 3, {2, 3, 6}}, COLUMNS('w')}},
        {.text = "y = sum(x, axes = (-2, -1)) * w", .inputs = {{'x', 3, {2, 3, 6}}, COLUMNS('w')}, .wrt = "x"},
        {.text = "y = take(w, 2) * x", .inputs = {FULL('x'), COLUMNS('w')}},
        {.text = "y = take(w, 2) * x + mean(x * w)", .inputs = {FULL('x'), COLUMNS('w')}},
        {.text = "y = mean(x)", .inputs = {FULL('x')}, .axes = "0"},
        {.text = "y = softmax(x * w)", .inputs = {FULL('x'), ROWS('w')}, .axes = "0"},
        {.text = "y = x * w", .inputs = {{'x', 2, {1, 6}}, COLUMNS('w')}},
        {.text = "y = x * c", .inputs = {COLUMNS('x'), ONE('c')}},
        {.text = "y = x * c", .inputs = {ONE('x'), ONE('c')}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) check(&cases[i]);
    assert_int_equal(problems, 0);
}

static void blocks_have_sums(void **state) {
    (void)state;
    static const char *const texts[] = {
        "y = absmax(x, block = 3)",       "y = x / absmax(x, block = 3)",
        "y = sum(x, block = 2) * x",      "y = mean(x, block = 4) * x",
        "y = softmax(x, block = 3)",      "y = max(absmax(x, block = 2)) * x",
        "y = layer_norm(x, block = 4)",   "s = sum(x * x, block = 2); y = s * max(x)",
        "y = x * repeat(v, 2)",           "y = mean(x) * repeat(v, 2)",
        "y = sum(x * repeat(v, 4)) + x",  "y = std(x, block = 3)",
        "y = sum(x, block = 2) * r",      "y = max(sum(x, block = 3) * sum(x, block = 2))",
        "y = var(x, block = 4) + sum(x)", "y = repeat(v, 3) * r * r + x",
        "y = mean(x) * repeat(v, 2) * r", "y = sum(x, block = 3) * c; z = sum(x)",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const int64_t run = strstr(texts[i], "(v, 4)") ? 2 : strstr(texts[i], "(v, 3)") ? 2 : 3;
        check(&(gradient_case){.text = texts[i],
                               .wrt = strstr(texts[i], "* c") ? "x" : NULL,
                               .inputs = {FULL('x'), {'v', 2, {3, run}}, ROWS('r'), ONE('c')}});
    }
    assert_int_equal(problems, 0);
}

/* Each of the prelude's, which are told with dy for the gradient of y. */
static void the_preludes_gradients_come_out(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"y = relu(x)", "dx = relu_grad(x, dy)"},
        {"y = sigmoid(x)", "dx = sigmoid_grad(sigmoid(x), dy)"},
        {"y = tanh(x)", "dx = tanh_grad(tanh(x), dy)"},
        {"y = silu(x)", "dx = silu_grad(x, dy)"},
        {"y = x * sigmoid(x)", "dx = silu_grad(x, dy)"},
        {"y = gelu(x)", "dx = gelu_grad(x, dy)"},
        {"y = gelu_tanh(x)", "dx = gelu_tanh_grad(x, dy)"},
        {"y = softplus(x)", "dx = softplus_grad(x, dy)"},
        {"y = softmax(x)", "dx = softmax_grad(softmax(x), dy)"},
        {"e = exp(x - max(x)); y = e / sum(e)", "dx = softmax_grad(softmax(x), dy)"},
        {"y = log_softmax(x)", "dx = log_softmax_grad(log_softmax(x), dy)"},
        {"y = sparsemax(x)", "dx = sparsemax_grad(sparsemax(x), dy)"},
        {"y = entmax15(x)", "dx = entmax15_grad(entmax15(x), dy)"},
        {"y = logsumexp(x)", "dx = logsumexp_grad(x, dy)"},
        {"y = cross_entropy(x, t)", "dx = cross_entropy_grad(x, t, dy)"},
        {"y = cross_entropy_label(x, i)", "dx = cross_entropy_label_grad(x, i, dy)"},
        {"y = logsumexp(x) - take(x, i)", "dx = cross_entropy_label_grad(x, i, dy)"},
        {"y = layer_norm(x, w, b)", "dx = layer_norm_grad(x, w, dy)"},
        {"y = layer_norm(x, w, b, 0.5)", "dx = layer_norm_grad(x, w, dy, 0.5)"},
        {"d = x - mean(x); y = d * rsqrt(mean(d * d) + 1e-5) * w", "dx = layer_norm_grad(x, w, dy)"},
        {"y = rms_norm(x, w)", "dx = rms_norm_grad(x, w, dy)"},
        {"y = l2_normalize(x)", "dx = l2_normalize_grad(x, dy)"},
        {"y = l2_normalize(x, 100)", "dx = l2_normalize_grad(x, dy, 100)"},
        {"y = dropout(x, 0.3, 7)", "dx = dropout_grad(dy, 0.3, 7)"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        const gradient_case c = {.text = pairs[i][0],
                                 .wrt = "x",
                                 .seed = 1,
                                 .inputs = {FULL('x'), FULL('t'), COLUMNS('w'), COLUMNS('b'), ROWS('i')}};
        const char *problem = gradient_compare(context, &c, pairs[i][1]);
        if (problem) print_error("%s\n", problem);
        problems += problem != NULL;
    }
    assert_int_equal(problems, 0);
}

static void saved_outputs_are_read(void **state) {
    (void)state;
    static const char *const texts[] = {"y = softmax(x * w)", "y = exp(x) * w; z = tanh(exp(x) * w)",
                                        "y = log_softmax(x)"};
    for (size_t i = 0; i < COUNT(texts); i++)
        check(&(gradient_case){.text = texts[i], .inputs = {FULL('x'), COLUMNS('w')}, .saved = "y"});
    assert_int_equal(problems, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(operators_have_their_slopes, reset),
        cmocka_unit_test_setup(every_operator_has_a_rule_or_a_reason, reset),
        cmocka_unit_test_setup(a_saved_maximum_is_found_again, reset),
        cmocka_unit_test_setup(constants_may_be_infinite, reset),
        cmocka_unit_test_setup(programs_with_lengths_are_refused, reset),
        cmocka_unit_test_setup(reductions_have_their_slopes, reset),
        cmocka_unit_test_setup(broadcast_inputs_have_sums, reset),
        cmocka_unit_test_setup(blocks_have_sums, reset),
        cmocka_unit_test_setup(saved_outputs_are_read, reset),
        cmocka_unit_test_setup(the_preludes_gradients_come_out, reset),
    };
    return cmocka_run_group_tests(tests, create_context, destroy_context);
}
