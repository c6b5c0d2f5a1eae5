/* SPDX-License-Identifier: Apache-2.0 */
/* Which sums are made in the same pass as what they are centred on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/bound.h"
#include "problem/online.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *program, *tensors;
    int phase;
} rows[] = {
    {"y = softmax(x)", "f16[4,8] f16[4,8]", 0},
    {"y = log_softmax(x * 2)", "f16[4,8] f16[4,8]", 0},
    {"s = logsumexp(x)", "f32[4,8] f32[4,1]", 0},
    {"s = var(x)", "f64[4,8] f64[4,1]", 0},
    {"y = layer_norm(x)", "bf16[4,8] bf16[4,8]", 0},
    {"s = sum(x * exp(x - max(x)))", "f32[4,8] f32[4,1]", 0},
    {"a = sum(exp(x - max(x))); b = sum((x - mean(x)) * (x - mean(x)))", "f32[4,8] f32[4,1] f32[4,1]", 0},
    /* The second pair of phases. */
    {"s = var(x - max(x) * sum(x))", "f32[4,8] f32[4,1]", 1},
    /* Centred on something else, or on nothing. */
    {"s = sum(exp(x - max(2 * x)))", "f32[4,8] f32[4,1]", -1},
    {"s = sum(exp(x - min(x)))", "f32[4,8] f32[4,1]", -1},
    {"s = sum((x - mean(x)) * x)", "f32[4,8] f32[4,1]", -1},
    {"s = sum(max(x) * exp(x - max(x)))", "f32[4,8] f32[4,1]", -1},
    {"s = max(exp(x - max(x)))", "f32[4,8] f32[4,1]", -1},
    {"a = sum(exp(x - max(x))); b = sum(x * max(x))", "f32[4,8] f32[4,1] f32[4,1]", -1},
    {"s = sum(x)", "f32[4,8] f32[4,1]", -1},
    {"y = x * 2", "f32[4,8] f32[4,8]", -1},
    /* A value that a row has one of is no term to correct. */
    {"y = x + softmax(v)", "f32[4,8] f32[4,1] f32[4,8]", -1},
    {"y = x + softmax(v)", "f32[4,8] f32[4,8]{1,0} f32[4,8]", -1},
};

static void sums_are_centred_in_one_pass_where_that_can_be_corrected(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, rows[i].program, NULL, NULL, rows[i].tensors), KILN_OK);
        if (bound_prepare(&b, 90, &prepared)) fail_msg("%s: %s", rows[i].program, kiln_last_error());
        int phase = kiln__online_phase(prepared.ir);
        if (phase != rows[i].phase) fail_msg("%s: %d, expected %d", rows[i].program, phase, rows[i].phase);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_centred_in_one_pass_where_that_can_be_corrected),
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
