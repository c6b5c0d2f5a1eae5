/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that go on from one column into the next, on the software GPU: a row has the same bits as by vectors that do
 * not, of the same ranks, chunks and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void a_row_has_the_same_bits_wrapped(void **state) {
    static const struct {
        const char *program;
        int columns, rows;
        const char *points; /* but for the rows of a block, and where vectors begin */
    } cases[] = {{"y = softmax(x)", 700, 77, "threads 32, stream, vector 4, splits 7, batch 3, online"},
                 {"y = layer_norm(x)", 90, 121, "threads 16, stream, vector 4, splits 1, batch 4, online"},
                 {"y = softmax(x)", 1025, 13, "threads 32, stream, vector 4, splits 4, batch 8, online"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        packed_result of[2];
        for (int wrapped = 0; wrapped < 2; wrapped++) {
            char tensors[96], pins[160];
            const int rows = cases[i].rows;
            snprintf(tensors, sizeof tensors, "f32[%d,%d] f32[%d,%d]", cases[i].columns, rows, cases[i].columns, rows);
            snprintf(pins, sizeof pins, "%s, rows %d, %s", cases[i].points, wrapped ? rows : 64,
                     wrapped ? "wrapped" : "runs");
            of[wrapped].bytes = (size_t)(cases[i].columns * rows) * sizeof(float);
            of[wrapped].output = malloc(of[wrapped].bytes);
            assert_non_null(of[wrapped].output);
            run_packed_case(&(packed_case){cases[i].program, "0", tensors, NULL, pins, false}, &of[wrapped]);
            assert_int_equal(strstr(of[wrapped].schedule, "wrapped") != NULL, wrapped);
        }
        if (memcmp(of[0].output, of[1].output, of[0].bytes))
            fail_msg("%s of %d columns: %s, and %s", cases[i].program, cases[i].columns, of[0].schedule,
                     of[1].schedule);
        for (int wrapped = 0; wrapped < 2; wrapped++) free(of[wrapped].output);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
#if !defined(KILN_SOFTWARE_DRIVER)
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_has_the_same_bits_wrapped)};
    return cmocka_run_group_tests_name("wrapped vectors", tests, open_packed_device, close_packed_device);
}
