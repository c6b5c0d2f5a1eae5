/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that begin anywhere in memory's accesses, and rows some elements apart, on the software GPU against the CPU
 * reference: elementwise programs whose vectors are shifted into place, and tiles that are copied so. */
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
    /* All alike, all elsewhere, the output elsewhere; arrays shorter than a vector; several outputs, of other types. */
    {"y = exp(x)", "", "f16[4001]@2 f16[4001]@2", "flat, vector 8 x 1, shifted", "vector 8, threads 64, steps 1",
     false},
    {"y = exp(x)", "", "f16[4001]@6 f16[4001]@10", "flat, vector 8", "vector 8", false},
    {"y = exp(x)", "", "f32[4001] f32[4001]@12", "shifted", "vector 4, steps 3, threads 64", false},
    {"y = exp(x)", "", "f32[3]@4 f32[3]@8", "shifted", "vector 4", false},
    {"y = a + b", "", "f16[4001]@2 f32[4001]@8 u8[4001]@3", "vector 16", "vector 16", false},
    {"y = a + b", "", "f16[4001]@2 f32[4001]@8 u8[4001]@3", "vector 2 x 1, shifted", "vector 2, steps 1", false},
    {"y = x > 0; z = x * 2; n = -x", "", "f32[999]@4 bool[999]@5 f16[999]@6 f64[999]@8", "shifted", NULL, false},
    {"y = x * 2", "", "f64[999]@8 f64[999]@8", "vector 2", "vector 2", false},
    {"y = x", "", "bf16[70000]@14 bf16[70000]@14", "shifted", NULL, false},
    /* What is broadcast over them: rows, columns, both, single elements; inputs in another order. */
    {"y = x * w + b", "", "f16[70,37]@2 f16[37]@4 f16[70,1]@6 f16[70,37]@8", "shifted", NULL, false},
    {"y = x * w + b", "", "bf16[7,1037]@2 bf16[1037]@4 f32[7,1] bf16[7,1037]@8", "shifted", NULL, false},
    {"y = x * w", "", "f32[6,5,70]@4 f32[5,1]@8 f32[6,5,70]@4", "shifted", NULL, false},
    {"y = x * w + 1", "", "f32[60,70]@4 f32[1] f32[60,70]@4", "shifted", NULL, false},
    {"y = x + t", "", "f16[40,70]@2 f16[40,70]{1,40} f16[40,70]@2", "flat", NULL, false},
    {"y = x", "", "f16[40,700]{701,1}@2 f16[40,700]", "shifted", NULL, false},
    {"y = x", "", "f16[40,700] f16[40,700]{701,1}", "flat", NULL, false},
    /* Two elements to a byte: no less than pairs, wherever the other tensors begin. */
    {"y = x * w", "", "f32[6,1258]{1288,1}@4 f16[1,1258] e2m1[6,1258]{1280,1}@1", "flat", NULL, false},
    {"y = x * w", "", "f32[6,1258]{1289,1}@4 f16[1,1258]@2 e2m1[6,1258]{1280,1}@1", "flat", NULL, false},
    /* Rows some elements apart: few and many, odd and even, with what is broadcast over them, several dimensions. */
    {"y = a + b", "", "f16[70,31]{33,1} f16[70,31]{33,1} f16[70,31]{33,1}", "shifted", NULL, false},
    {"y = a + b", "", "f16[70,31]{33,1}@2 f16[70,31]{33,1}@6 f16[70,31]{33,1}@4", "shifted", NULL, false},
    {"y = a + b", "", "f32[300,27]{28,1} f32[300,27]{28,1} f32[300,27]{28,1}", "shifted", NULL, false},
    {"y = x > 0.5", "", "f32[70,129]{130,1} bool[70,129]{130,1}", "shifted", NULL, false},
    {"y = x * w + b", "", "bf16[30,1000]{1001,1} bf16[1000] bf16[30,1] bf16[30,1000]{1001,1}", "shifted", NULL, false},
    {"y = x * w + b", "", "f16[9,5,301]{1515,303,1} f16[5,301] f32[9,1,301] f16[9,5,301]{1515,303,1}", "shifted", NULL,
     false},
    {"y = x * w", "", "f16[9,5,31]{165,33,1} f16[5,1] f16[9,5,31]{165,33,1}", "shifted", NULL, false},
    {"y = x * w", "", "f16[9,5,31]{165,33,1} f16[5,31]{33,1} f16[9,5,31]{165,33,1}", "shifted", NULL, false},
    {"y = a + 1; z = a * 2", "", "f32[70,31]{33,1} f16[70,31]{33,1}@2 f64[70,31]{33,1}", "shifted", NULL, false},
    {"y = x + index(0) * 100 + index(1) + size(1)", "", "f32[70,31]{33,1}@4 f32[70,31]{33,1}@8", "shifted", NULL,
     false},
    {"y = uniform(7, 1) + x", "", "f32[70,31]{33,1}@4 f32[70,31]{33,1}@8", "shifted", NULL, false},
    {"y = uniform(7, 1) + x", "", "f16[4001]@2 f16[4001]@4", "shifted", NULL, false},
    {"y = uniform(7, 1) + x", "", "f16[4008] f16[4008]", "vector 8 x 2", "vector 8, steps 2", false},
    /* Rows whose accesses are whole lie apart as they are, as do rows far from one another. */
    {"y = x * 2", "", "f16[70,32]{40,1} f16[70,32]{40,1}", "vector 8 x 1", "vector 8, steps 1", false},
    {"y = x * 2", "", "f16[70,31]{99,1} f16[70,31]{99,1}", "flat", NULL, false},
    {"y = x * 2", "", "f16[6,5,31]{199,33,1} f16[6,5,31]{199,33,1}", "flat", NULL, false},
    /* Tiles of rows, copied from anywhere to anywhere; fewer rows than a tile, than an access. */
    {"y = softmax(x)", "1", "f16[301,112]@2 f16[301,112]@6", "tile, inner, vector 8 x 7",
     "lanes 2, tile, rows 32, vector 8", false},
    {"y = softmax(x)", "1", "f16[301,77]@2 f32[301,77]@4", "tile, inner", "lanes 4, tile, rows 16", false},
    {"y = softmax(x)", "1", "f16[301,77]@2 f16[301,77]@2", "tile, inner, vector 2", "lanes 1, tile, rows 32, vector 2",
     false},
    {"q = round(x * 127 / absmax(x))", "1", "bf16[301,48]@2 i8[301,48]@3", "tile, inner", "lanes 2, tile, rows 64",
     false},
    {"y = rms_norm(x, w)", "1", "f16[9,127]@2 f16[127]@4 f16[9,127]@14", "tile, inner", "lanes 16, tile, rows 4",
     false},
    {"y = softmax(x)", "1", "f64[2,3]@8 f64[2,3]@8", "tile, inner", "lanes 1, tile, rows 32", false},
};

static void shifted_vectors_give_what_the_reference_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) run_packed_case(&cases[i], NULL);
}

/* Any types, extents, pitches and places. A failure names the program and the tensors. */
static void any_places_may_be_shifted(void **state) {
    static const char *const types[] = {"f16", "bf16", "f32", "u8", "i16", "f64", "e4m3"};
    static const int sizes[] = {2, 2, 4, 1, 2, 8, 1};
    uint32_t random = 20261128;
    int shifted = 0;
    (void)state;
    for (int i = 0; i < 150; i++) {
        char tensors[160];
        packed_result result = {.output = NULL};
        int draw[8];
        packed_draw(&random, COUNT(draw), draw);
        const int x = draw[0] % 7, y = draw[1] % 7, rows = 1 + draw[2] % 40, columns = 1 + draw[3] % 300;
        const int pitch = columns + (draw[4] % 3 ? 0 : 1 + draw[4] / 3 % 9);
        snprintf(tensors, sizeof tensors, "%s[%d,%d]{%d,1}@%d f32[%s%d] %s[%d,%d]{%d,1}@%d", types[x], rows, columns,
                 pitch, sizes[x] * (1 + draw[5] % 15), draw[7] % 2 ? "" : "1,", columns, types[y], rows, columns, pitch,
                 sizes[y] * (1 + draw[6] % 15));
        run_packed_case(&(packed_case){"y = maximum(abs(x), w)", "", tensors, NULL, NULL, false}, &result);
        shifted += strstr(result.schedule, "shifted") != NULL;
    }
    assert_true(shifted > 75);
}

/* What lies between rows is not gone over where it can be left out: whole vectors of the widest type are enough. */
static void rows_of_whole_vectors_are_not_one_array(void **state) {
    static const char *const tensors[] = {"f16[70,64]{88,1} bool[70,64]{88,1}", "f16[70,32]{40,1} f16[70,32]{40,1}",
                                          "f32[70,36]{44,1} f16[70,36]{44,1}"};
    (void)state;
    for (size_t i = 0; i < COUNT(tensors); i++) {
        packed_result result = {.output = NULL};
        run_packed_case(&(packed_case){"y = x > 0.5", "", tensors[i], NULL, NULL, false}, &result);
        if (strstr(result.schedule, "shifted")) fail_msg("%s: %s", tensors[i], result.schedule);
    }
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(shifted_vectors_give_what_the_reference_gives),
                                       cmocka_unit_test(any_places_may_be_shifted),
                                       cmocka_unit_test(rows_of_whole_vectors_are_not_one_array)};
    return cmocka_run_group_tests_name("shifted vectors", tests, open_packed_device, close_packed_device);
}
