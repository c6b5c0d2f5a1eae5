/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of rows that lie side by side, on the software GPU against the CPU reference; and that they give the bits that
 * packs of rows give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const packed_case tiles[] = {
    /* Several runs of rows in a tile, one alone, a last tile of fewer; members that are threads, or several of them. */
    {"y = softmax(x)", "1", "f16[5,64,3] f16[5,64,3]", "columns 8, tile, outer, vector 4 x 8, 96 rows per block",
     "threads 8, tile", false},
    {"y = softmax(x)", "1", "f16[70,64,3] f16[70,64,3]", "columns 8, tile, outer, vector 4 x 8, 96 rows per block",
     "threads 8, tile", true},
    {"y = softmax(x)", "1", "f16[9,197,65] f16[9,197,65]", "columns 32, tile, outer, vector 2 x 7, 65 rows", NULL,
     true},
    {"y = layer_norm(x)", "1", "f32[300,7,5] f32[300,7,5]", "columns 1, tile, outer, vector 4 x 7", "threads 1, tile",
     true},
    {"y = layer_norm(x)", "1", "f16[3,700,2] f16[3,700,2]", "columns 128, tile, outer, vector 2 x 6",
     "threads 128, tile", false},
    {"s = sum(x)", "1", "f16[40,200,35] f16[40,35]", "columns 16, tile, outer, vector 1 x 13", "threads 16, tile",
     false},
    {"s = sum(x)", "1", "f16[2,64,255] f16[2,255]", "columns 8, tile", NULL, false},
    {"s = max(x)", "1", "bf16[900,8,3] f32[900,3]", "columns 1, tile", "threads 1, tile", false},
    /* Odd numbers of rows and few columns: a block has many runs all the same, in lanes that begin anywhere in them. */
    {"y = softmax(x)", "1", "bf16[700,3,9] f32[700,3,9]", "columns 1, tile, outer, vector 4 x 3, 1017 rows per block",
     "threads 1, tile", false},
    {"y = softmax(x)", "1", "f16[60,17,21] f16[60,17,21]", "columns 4, tile, outer, vector 2 x 5, 504 rows",
     "threads 4, tile", true},
    {"s = sum(x)", "1", "f16[60,100,9] f16[60,9]", "columns 32, tile", "threads 32, tile", false},
    /* Members of as many groups as a cluster would have blocks. */
    {"y = softmax(x)", "1", "f16[3,1000,3] f16[3,1000,3]", "columns 128, tile, outer, vector 2 x 8", NULL, true},
    {"y = softmax(x)", "1", "f32[2,2100,5] f32[2,2100,5]", "columns 256, tile", NULL, false},
    {"s = sum(x)", "1", "f16[5,1000,11] f16[5,11]", "columns 128, tile", "threads 128, tile", false},
    {"s = sum(x)", "1", "f32[3,1000,3] f32[3,3]", "columns 128, tile", "threads 128, tile", false},
    /* Memory that begins anywhere, an output elsewhere; runs that lie apart, also backwards; outer dimensions. */
    {"y = softmax(x)", "1", "f16[5,64,3]@2 f16[5,64,3]@6", "tile, outer", "threads 8, tile", false},
    {"y = softmax(x)", "1", "f16[5,64,3]@2 f16[5,64,3]@2", "tile, outer", "threads 8, tile", true},
    {"y = softmax(x)", "1", "f32[5,64,3]@4 f16[5,64,3]", "tile, outer", "threads 8, tile", false},
    {"y = softmax(x)", "1", "f16[5,64,3]{193,3,1} f16[5,64,3]",
     "columns 8, tile, outer, vector 4 x 8, 3 rows per block", "threads 8, tile", false},
    {"y = softmax(x)", "1", "f16[5,64,3]{200,3,1} f16[5,64,3]{193,3,1}",
     "columns 8, tile, outer, vector 4 x 8, 3 rows per block", "threads 8, tile", false},
    {"y = softmax(x)", "2", "f32[3,2,40,5]{1000,200,5,1} f32[3,2,40,5]", "tile, outer", "threads 8, tile", false},
    {"y = softmax(x)", "2", "f32[3,2,40,5] f32[3,2,40,5]{200,600,5,1}", "tile, outer", "threads 8, tile", false},
    {"y = softmax(x)", "1,2", "f16[6,5,7,3] f16[6,5,7,3]", "tile, outer", "threads 8, tile", true},
    /* Rows one behind the other, of an odd number of columns: what all share begins a column further on in every other.
     */
    {"y = rms_norm(x, w)", "1", "f16[9,127] f16[127] f16[9,127]", "lanes 16, tile, inner, vector 2 x 4, 64 rows",
     "lanes 16, tile, vector 2, rows 64", false},
    /* No tile of what all rows share: a lane would add thousands of columns. */
    {"s = sum(x)", "0,1", "f32[8,600]{600,0}@12 f32[]", "registers, inner", NULL, false},
    /* Other types, several tensors: of values for each row, for each column, for both but not in the tile's order. */
    {"y = x * g + sum(x * g)", "1", "f16[3,68,45] f32[3,68,45] f32[3,68,45]", "tile", NULL, false},
    {"y = softmax(a + b)", "1", "f16[3,68,45] f16[3,68,45] f16[3,68,45]", "tile", "threads 16, tile", true},
    {"y = (x + b) * w + sum(x)", "1", "f16[3,68,5] f32[3,1,5]{5,5,1} f16[68,1] f16[3,68,5]", "tile", "threads 16, tile",
     false},
    {"y = softmax(x) * w + index(1) * 10 + index(2)", "1", "f16[3,68,45] f16[45] f32[3,68,45]", "tile",
     "threads 16, tile", false},
    {"y = uniform(7, 0) + sum(x)", "1", "f16[3,68,45] f32[3,68,45]", "tile", "threads 16, tile", false},
    {"y = x * sum(x) + sum(index(1))", "1", "f16[10,100,19] f32[10,100,19]", "tile", "threads 16, tile", false},
    {"y = x / max(x)", "1", "e4m3[3,68,45] f16[3,68,45]", "tile", "threads 16, tile", false},
    {"y = x / (1 + max(abs(x)))", "1", "u8[9,128,37] i8[9,128,37]", "tile", NULL, false},
    {"y = x - max(x)", "1", "f64[9,28,3] f64[9,28,3]", "tile", "threads 4, tile", true},
    {"s = any(x)", "1", "bool[9,128,37] bool[9,37]", "tile, outer", NULL, false},
    {"s = argmax(x)", "1", "f16[9,200,3] i64[9,3]", "tile", NULL, false},
    {"y = prod(x); s = var(x) + y", "1", "f64[4,40,3] f64[4,3]", "tile", "threads 8, tile", false},
    {"y = layer_norm(x, w, b)", "1", "bf16[9,100,3] bf16[100,1] bf16[100,1] bf16[9,100,3]", "tile", "threads 16, tile",
     true},
    /* Asked for. */
    {"y = softmax(x)", "0", "f16[64,2] f16[64,2]", "columns 8, tile", "threads 8, tile", true},
    {"y = softmax(x)", "1", "f16[3,64,64] f16[3,64,64]", "columns 8, tile", "threads 8, tile", true},
    {"s = sum(x)", "0", "f32[100,77] f32[77]", "tile", "tile", false},
    /* What a tile is not for: neither rows nor columns side by side, no room, an order of columns. */
    {"y = softmax(x)", "1", "f16[3,64,3]{384,6,1} f16[3,64,3]", "registers",
     "threads 8, registers, vector 1, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "1", "f16[3,64,3] f16[3,64,3]{192,1,64}", "outer", NULL, false},
    {"y = softmax(x)", "1", "f32[2,3000,33] f32[2,3000,33]", "cluster 16",
     "threads 16, shared, vector 4, rows 36, cluster 16, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[2,64,48] f16[2,64,48]", "vector 8 x 8",
     "threads 8, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"y = reduce((a, b) -> where(a != 0, a, b), x, 0)", "1", "i32[3,64,3] i32[3,3]", "ordered", NULL, false},
};

static void tiles_give_what_the_reference_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(tiles); i++) run_packed_case(&tiles[i], NULL);
}

/* Any extents. A failure names the program, the tensors and the pins. */
static void any_extents_may_be_tiles(void **state) {
    static const char *const programs[] = {"y = softmax(x)",     "y = rms_norm(x)", "y = x / sum(x * x)",
                                           "y = x * 2 - max(x)", "s = sum(x)",      "s = var(x) + max(x)"};
    static const char *const types[] = {"f16", "bf16", "f32", "u8", "f64"};
    uint32_t random = 20261123;
    int tiles_seen = 0;
    (void)state;
    for (int i = 0; i < 60; i++) {
        char tensors[128];
        packed_result result = {.output = NULL};
        int draw[7];
        packed_draw(&random, COUNT(draw), draw);
        const char *program = programs[draw[0] % 6], *type = types[draw[1] % 5];
        const int runs = 2 + draw[2] % 30, columns = 2 + draw[3] % (i % 4 ? 100 : 1500),
                  rows = 2 + draw[4] % (i % 3 ? 12 : 70);
        const int shift = draw[5] % 3 ? 0 : 8 + 8 * (draw[6] % 2);
        const bool reduced = program[0] == 's';
        snprintf(tensors, sizeof tensors, "%s[%d,%d,%d]@%d f32[%d,%d,%d]", type, runs, columns, rows, shift, runs,
                 reduced ? 1 : columns, rows);
        const packed_case c = {program, "1", tensors, NULL, i % 5 ? NULL : "tile", false};
        if (i % 5 == 0 && (int64_t)columns * rows > 4000) continue; /* may not fit */
        run_packed_case(&c, &result);
        tiles_seen += strstr(result.schedule, "tile, outer") != NULL;
    }
    assert_true(tiles_seen > 20);
}

/* Of a single run w has no dimension that neighbouring rows lack: what it takes must not decide who shares a row. The
 * first run's elements are the same however many there are. */
static void a_run_has_the_same_bits_among_others(void **state) {
    static const struct {
        const char *program;
        int columns, rows;
    } shapes[] = {{"y = softmax(x) * w", 1500, 12},
                  {"y = softmax(x) * w", 600, 9},
                  {"y = softmax(x) * w", 300, 40},
                  {"y = softmax(x) * w", 2100, 3},
                  {"s = var(x * w)", 9000, 12}};
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const int columns = shapes[i].columns, rows = shapes[i].rows, out = *shapes[i].program == 's' ? 1 : columns;
        char tensors[2][128];
        packed_case pair[2];
        packed_result of[2];
        for (int many = 0; many < 2; many++) {
            const int runs = many ? 3 : 1;
            snprintf(tensors[many], sizeof tensors[many], "f32[%d,%d,%d] f32[%d,%d,1] f32[%d,%d,%d]", runs, columns,
                     rows, runs, columns, runs, out, rows);
            pair[many] = (packed_case){shapes[i].program, "1", tensors[many], NULL, NULL, false};
        }
        expect_same_bits(&pair[0], &pair[1], (size_t)(out * rows) * sizeof(float), of);
    }
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_give_what_the_reference_gives),
                                       cmocka_unit_test(any_extents_may_be_tiles),
                                       cmocka_unit_test(a_run_has_the_same_bits_among_others)};
    return cmocka_run_group_tests_name("tiles of rows", tests, open_packed_device, close_packed_device);
}
