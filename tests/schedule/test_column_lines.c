/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs whose columns lie side by side, of inputs whose rows do, on the software GPU against the CPU reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const packed_case cases[] = {
    /* In registers, in shared memory, in clusters, read again; the row's last line is whole or is not. */
    {"y = softmax(x)", "1", "f16[136,60]{1,136} f16[136,60]",
     "columns 8, registers, outer, vector 8 x 8, 64 rows per block, transposed by 4", NULL, false},
    {"y = softmax(x)", "1", "f16[72,600]{1,72} f16[72,600]",
     "columns 64, shared, outer, vector 8 x 16, 32 rows per block, transposed by 8",
     "threads 64, shared, vector 8, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = layer_norm(x)", "1", "f32[44,3002]{1,44} f32[44,3002]",
     "cluster 8, block 256, shared, outer, vector 4 x 12, 32 rows per block, transposed by 2", NULL, false},
    {"y = softmax(x)", "1", "f32[40,9010]{1,40} f16[40,9010]",
     "columns 32, stream, outer, vector 4 x 16, 32 rows per block, batch 8, splits 18, transposed by 2, online",
     "threads 32, stream, vector 4, rows 32, cluster 1, splits 18, online, runs", false},
    {"y = var(x) + x", "1", "e4m3[64,10000]{1,64} u8[64,10000]",
     "columns 16, stream, outer, vector 8 x 16, 64 rows per block, splits 40, transposed by 16, online", NULL, false},
    {"y = softmax(x)", "1", "f16[136,61]{1,136} f16[136,61]",
     "columns 8, registers, outer, vector 8 x 8, 256 rows per block",
     "threads 8, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "2", "f16[3,50,72]{3600,1,50} f32[3,50,72]",
     "columns 16, shared, outer, vector 8 x 8, 128 rows per block, runs of 2, transposed by 4",
     "threads 16, shared, vector 8, rows 128, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "2", "f16[3,51,72]{3672,1,51} f16[3,51,72]",
     "columns 16, registers, outer, vector 1 x 8, 32 rows per block, transposed by 8",
     "threads 16, registers, vector 1, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x); z = x * 2", "1", "f16[48,90]{1,48} f16[48,90] f16[48,90]{1,48}",
     "columns 16, registers, outer, vector 4 x 6, 64 rows per block, transposed by 2",
     "threads 16, registers, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x + m)", "1", "f16[48,96]{1,48} f16[48,96] f16[48,96]",
     "columns 16, shared, outer, vector 4 x 8, 64 rows per block, transposed by 8",
     "threads 16, shared, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "1", "f16[48,96]{1,48} f16[48,96]@2",
     "columns 16, registers, outer, vector 4 x 6, 64 rows per block",
     "threads 16, registers, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "1", "f64[48,96]{1,48} f64[48,96]",
     "columns 16, registers, outer, vector 1 x 6, 16 rows per block, transposed by 2",
     "threads 16, registers, vector 1, rows 16, cluster 1, splits 1, phased, runs", false},
    {"y = x * w + sum(x)", "1", "f32[33,500]{1,40} f32[500] bool[33,500]", "transposed by 4",
     "threads 8, stream, batch 3", false},
    {"y = x / max(x)", "1,2", "f16[40,7,20]{1,800,40} f16[40,7,20]",
     "columns 32, registers, outer, vector 4 x 8, 64 rows per block, transposed by 4",
     "threads 32, registers, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
};

static void lines_give_what_the_reference_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) run_packed_case(&cases[i], NULL);
}

/* Any extents, pitches and types. A failure names the program, the tensors and the pins. */
static void any_extents_may_have_lines(void **state) {
    static const char *const programs[] = {
        "y = softmax(x)",     "y = rms_norm(x)", "y = x / max(x)", "y = x * 2 + sum(x)", "y = x + mean(x) + index(2)",
        "y = l2_normalize(x)"};
    static const char *const types[] = {"f16", "f32", "f64", "bf16", "u8"};
    static const char *const all_pins[] = {
        NULL, NULL, NULL, "stream", "threads 4", "vector 1", "cluster 2, threads 8", "batch 3, stream"};
    uint32_t random = 20261124;
    int seen = 0;
    (void)state;
    for (int i = 0; i < 120; i++) {
        char tensors[160];
        packed_result result = {.output = NULL};
        int draw[10];
        packed_draw(&random, COUNT(draw), draw);
        const int runs = 1 + draw[0] % 3, rows = 2 + draw[1] % 150, columns = 2 + draw[2] % (i % 4 ? 150 : 1500);
        const int in = rows + (draw[3] % 2 ? 0 : 8 - rows % 8), out = columns + (draw[4] % 2 ? 0 : 8 - columns % 8);
        snprintf(tensors, sizeof tensors, "%s[%d,%d,%d]{%d,1,%d} %s[%d,%d,%d]{%d,%d,1}@%d", types[draw[5] % 5], runs,
                 rows, columns, in * columns, in, types[draw[6] % 3], runs, rows, columns, out * rows, out,
                 8 + 8 * (draw[7] % 2));
        run_packed_case(
            &(packed_case){programs[draw[8] % 6], "2", tensors, NULL, all_pins[draw[9] % (i % 4 ? 8 : 4)], false},
            &result);
        seen += strstr(result.schedule, "transposed by") != NULL;
    }
    assert_true(seen > 40);
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_give_what_the_reference_gives),
                                       cmocka_unit_test(any_extents_may_have_lines)};
    return cmocka_run_group_tests_name("lines of columns", tests, open_packed_device, close_packed_device);
}
