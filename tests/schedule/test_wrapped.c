/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that go on from one column into the next, on the software GPU: a row has the same bits as by vectors that do
 * not, of the same ranks, chunks and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
        char tensors[96], pins[2][160];
        packed_case pair[2];
        packed_result of[2];
        const int columns = cases[i].columns, rows = cases[i].rows;
        snprintf(tensors, sizeof tensors, "f32[%d,%d] f32[%d,%d]", columns, rows, columns, rows);
        snprintf(pins[0], sizeof pins[0], "%s, rows 64, runs", cases[i].points);
        snprintf(pins[1], sizeof pins[1], "%s, rows %d, wrapped", cases[i].points, rows);
        for (int k = 0; k < 2; k++) pair[k] = (packed_case){cases[i].program, "0", tensors, NULL, pins[k], false};
        expect_same_bits(&pair[0], &pair[1], (size_t)(columns * rows) * sizeof(float), of);
        assert_null(strstr(of[0].schedule, "wrapped"));
        assert_non_null(strstr(of[1].schedule, "wrapped"));
    }
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_has_the_same_bits_wrapped)};
    return cmocka_run_group_tests_name("wrapped vectors", tests, open_packed_device, close_packed_device);
}
