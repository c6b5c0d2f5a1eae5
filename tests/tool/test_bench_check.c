/* SPDX-License-Identifier: Apache-2.0 */
/* What kiln bench takes for a right result. The stand-in for the driver has host memory for device memory, so that the
 * test writes the results itself: the reference's, and one of them off by a little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/types.h"
#include "bench_data.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Inputs lie in -2 .. 2: what a row of n of them adds up to is near sqrt(n), and 1 is a term that was forgotten. */
static const struct {
    const char *program, *tensor, *axes;
    double right, wrong; /* differences from the reference */
} cases[] = {
    /* One sum, of which nothing is left: off by what f32 makes of its terms. */
    {"s = sum(x * 3) - 3 * sum(x)", "x=f32[1,5000]", "-1", 1e-4, 0.05},
    {"s = sum(x - mean(x))", "x=f32[5000]", "-1", 1e-4, 0.05},
    {"s = mean(x - mean(x))", "x=f32[5000]", "all", 1e-7, 1e-5},
    {"s = sum(x * 3) - 3 * sum(x)", "x=f32[5000,1]", "0", 1e-4, 0.05},
    {"s = sum(x * 3) - 3 * sum(x)", "x=f16[1,5000]", "-1", 1e-4, 0.05},
    {"s = sum(x * 3) - 3 * sum(x)", "x=f64[1,5000]", "-1", 1e-11, 1e-8},
    {"y = x + (sum(x * 3) - 3 * sum(x))", "x=f32[1,5000]", "-1", 1e-4, 0.05},
    /* Far from 0, or with other rows beside it. */
    {"s = sum(x)", "x=f32[1000,1000]", "-1", 1e-4, 0.05},
    {"s = sum(x * x)", "x=f32[5000]", "-1", 0.01, 1},
    {"y = x / sum(x * x)", "x=f32[5000]", "-1", 1e-9, 1e-7},
    {"y = softmax(x)", "x=f32[5000]", "-1", 1e-9, 1e-7},
    /* Next to a tie between the smallest halves. */
    {"y = x * 0 + 1.4902e-7", "x=f16[50]", "-1", -1e-10, 1e-7},
    /* Without sums. */
    {"y = x * 2", "x=f32[5000]", "-1", 1e-5, 1e-4},
    {"y = max(x) - x", "x=f32[50]", "-1", 1e-5, 1e-4},
    {"s = sum(x)", "x=i32[5000]", "-1", 0, 1},
};

static bool is_right(const bench_data *data, double off) {
    const request *r = data->request;
    for (size_t i = 0; i < r->output_count; i++) {
        const kiln_tensor *tensor = &data->device[r->input_count + i];
        for (int64_t at = 0; at < gpu_tensor_elements(tensor); at++) {
            char *element = (char *)tensor->data + (size_t)at * kiln_type_size(tensor->type);
            const double value = data->wanted[0][i][at] + (at == 0 ? off : 0);
            if (kiln__type_is_float(tensor->type))
                kiln__store_f64(tensor->type, element, value);
            else
                kiln__store_i64(tensor->type, element, (int64_t)value);
        }
    }
    bench_error error;
    assert_int_equal(bench_data_check(data, &error), KILN_OK);
    return error.right;
}

static void check_case(size_t at, const gpu *g, uint64_t seed) {
    char *argv[] = {"bench",  (char *)cases[at].program, "--tensor", (char *)cases[at].tensor,
                    "--axes", (char *)cases[at].axes,    NULL};
    arguments args;
    request r;
    bench_lists lists = {0};
    bench_case c;
    bench_data data;
    assert_int_equal(arguments_parse(&command_bench, (int)COUNT(argv) - 1, argv, &args), TOOL_OK);
    assert_int_equal(request_open(&args, OPTION_TENSOR, OPTION_OUT_TYPE, true, true, &r), TOOL_OK);
    assert_int_equal(bench_lists_add(&lists, request_input(&r, 0)), KILN_OK);
    assert_int_equal(bench_case_make(&r, &lists, 0, 1 << 20, &c), TOOL_OK);
    assert_int_equal(bench_data_create(g, &r, &c, seed, &data), KILN_OK);
    if (!is_right(&data, 0) || !is_right(&data, cases[at].right) || !is_right(&data, -cases[at].right))
        fail_msg("%s of %s, seed %d: off by %g is taken for wrong", cases[at].program, cases[at].tensor, (int)seed,
                 cases[at].right);
    if (is_right(&data, cases[at].wrong) || is_right(&data, -cases[at].wrong))
        fail_msg("%s of %s, seed %d: off by %g is taken for right", cases[at].program, cases[at].tensor, (int)seed,
                 cases[at].wrong);
    bench_data_free(&data);
    bench_case_free(&c);
    bench_lists_free(&lists);
    request_free(&r);
    arguments_free(&args);
}

static void a_result_is_judged_by_what_it_is_made_of(void **state) {
    (void)state;
    gpu g;
    assert_int_equal(gpu_open(KILN_FAKE_DRIVER, 0, &g), KILN_OK);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (uint64_t seed = 1; seed <= 5; seed++) check_case(i, &g, seed);
    gpu_close(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_result_is_judged_by_what_it_is_made_of)};
    return cmocka_run_group_tests_name("bench_check", tests, NULL, NULL);
}
