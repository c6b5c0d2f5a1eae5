/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of several dimensions, reduced over all of them, whose weights have one value for runs of columns, as those of
 * channels do: on the software GPU against the CPU reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NORM "y = maximum((x - max(x)) * w, b)"

static const packed_case cases[] = {
    /* Vectors that are in one run each, in two, at rows that begin anywhere in a vector, in single elements. */
    {NORM, "1,2", "f16[5,6,64] f16[6,1] f16[6,1] f16[5,6,64]", "registers, inner, vector 8 x", NULL, false},
    {NORM, "1,2", "f16[5,6,20] f16[6,1] f32[6,1] f16[5,6,20]", "registers, inner, vector 8 x", NULL, false},
    {NORM, "1,2", "f16[5,37,19] f16[37,1] f16[37,1] f16[5,37,19]", "registers, inner, vector 8 x 2, peeled", "block 64",
     false},
    {NORM, "1,2", "f16[5,37,9] f16[37,1] f16[37,1] f16[5,37,9]", "shared, inner, vector 8 x 2, masked", "block 32",
     false},
    {NORM, "1,2", "bf16[5,3,51]@2 bf16[3,1] bf16[3,1]@2 bf16[5,3,51]@6",
     "lanes 8, registers, inner, vector 8 x 3, 16 rows per block, masked, shifted", NULL, false},
    {NORM, "1,2", "f32[5,30,17] f32[30,1] f32[30,1] f32[5,30,17]", "shared, inner, vector 2 x", "block 64", false},
    {NORM, "1,2", "f32[5,30,16] f32[30,1] f32[30,1] f32[5,30,16]", "stream, inner, vector 4 x", "block 32", false},
    {NORM, "1,2", "f16[3,60,136] f16[60,1] f16[60,1] f16[3,60,136]", "stream, inner, vector 8 x", "block 64, splits 4",
     false},
    {NORM, "1,2", "f16[300,6,8] f16[6,1] f16[6,1] f16[300,6,8]", "tile, inner, vector 8 x", "lanes 2, rows 32", false},
    {NORM, "1,2", "f16[7,16,128] f16[16,1] f16[16,1] f16[7,16,128]",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block", NULL, false},
    {NORM, "1,2", "f16[7,16,124] f16[16,1] f16[16,1] f16[7,16,124]",
     "block 64, shared, inner, vector 8 x 4, 3 rows per block", NULL, false},
    /* Runs of one vector, of an element more, of fewer elements than a vector. */
    {NORM, "1,2", "f32[5,40,4] f32[40,1] f32[40,1] f32[5,40,4]", "registers, inner, vector 4 x", NULL, false},
    {NORM, "1,2", "f32[5,40,5] f32[40,1] f32[40,1] f32[5,40,5]", "registers, inner, vector 4 x", NULL, false},
    {NORM, "1,2", "f32[5,40,3] f32[40,1] f32[40,1] f32[5,40,3]", "registers, inner, vector 4 x", NULL, false},
    /* Weights of each group, of each row and group; of runs of runs; of columns that are side by side beside them. */
    {NORM, "2,3", "f16[3,4,6,24] f16[4,6,1] f16[4,6,1] f16[3,4,6,24]", "registers, inner, vector 8 x", NULL, false},
    {NORM, "2,3", "f16[3,4,6,24] f16[3,4,6,1] f16[4,6,1] f16[3,4,6,24]", "registers, inner, vector 8 x", NULL, false},
    {NORM, "2,3", "f16[3,4,6,24] f16[3,4,6,1] f16[4,6,1] f16[3,4,6,24]", "shared, inner, vector 8 x", "block 32",
     false},
    {NORM, "1,2,3", "f32[3,4,6,24] f32[4,1,1] f32[4,6,1] f32[3,4,6,24]", "registers, inner, vector 4 x", NULL, false},
    {NORM, "1,2,3", "f32[3,4,6,24] f32[4,1,24] f32[1,6,1] f32[3,4,6,24]", "registers, inner, vector 4 x", NULL, false},
    {"y = where(index(-1) < 5, x, 0) * w / max(x * w)", "1,2", "f32[5,8,12] f32[8,1] f32[5,8,12]", "inner, vector 4 x",
     "registers", false},
};

static void weights_of_channels_are_those_of_the_reference(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) run_packed_case(&cases[i], NULL);
}

/* Any types, extents, pitches and places. A failure names the program and the tensors. */
static void runs_may_have_any_length(void **state) {
    static const char *const types[] = {"f16", "bf16", "f32", "f64"};
    static const int sizes[] = {2, 2, 4, 8};
    uint32_t random = 20261130;
    (void)state;
    for (int i = 0; i < 200; i++) {
        char tensors[200], pins[24];
        int draw[8];
        packed_draw(&random, COUNT(draw), draw);
        const int x = draw[0] % 4, w = draw[1] % 4, channels = 2 + draw[3] % 9, run = 1 + draw[4] % 70;
        const int pitch = channels * run + (draw[5] % 3 ? 0 : 1 + draw[5] / 3 % 9);
        snprintf(pins, sizeof pins, "vector %d", 1 << draw[7] % 4);
        snprintf(tensors, sizeof tensors, "%s[%d,%d,%d]{%d,%d,1}@%d %s[%d,1] f32[%d,1] %s[3,%d,%d]", types[x], 3,
                 channels, run, pitch, run, sizes[x] * (1 << draw[6] % 4), types[w], channels, channels, types[x],
                 channels, run);
        run_packed_case(&(packed_case){NORM, "1,2", tensors, "inner", draw[7] % 2 ? NULL : pins, false}, NULL);
    }
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_of_channels_are_those_of_the_reference),
                                       cmocka_unit_test(runs_may_have_any_length)};
    return cmocka_run_group_tests_name("weights of channels", tests, open_packed_device, close_packed_device);
}
