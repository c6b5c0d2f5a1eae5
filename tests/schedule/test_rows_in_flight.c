/* SPDX-License-Identifier: Apache-2.0 */
/* Several rows in flight, on the software GPU against the CPU reference: programs that read what all rows share, for
 * several rows at once. Pins make few rows be worked on as many are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const packed_case in_flight[] = {
    /* Of one block and of clusters; rows left over, and all of them; packs in some threads' last step alone. */
    {"y = layer_norm(x, w, b)", "1", "bf16[5,2048] bf16[2048] bf16[2048] bf16[5,2048]",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block, prefetch, online",
     "cluster 1, block 64, vector 8, rows 2, online", true},
    {"y = layer_norm(x, w, b)", "1", "f16[4,4104] f16[4104] f16[4104] f16[4,4104]",
     "block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch, online",
     "cluster 1, block 128, vector 8, rows 2, online", false},
    {"y = layer_norm(x, w, b)", "1", "f16[1,8200] f16[8200] f16[8200] f16[1,8200]",
     "cluster 2, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch, online",
     "cluster 2, block 128, vector 8, rows 2, online", false},
    {"y = rms_norm(x, w)", "1", "bf16[3,20000] bf16[20000] bf16[3,20000]",
     "cluster 4, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch", "rows 2", true},
    {"y = layer_norm(x, w, b)", "1", "bf16[7,128256] bf16[128256] bf16[128256] bf16[7,128256]",
     "cluster 16, block 256, shared, inner, vector 8 x 4, 3 rows per block, prefetch, online",
     "cluster 16, block 256, rows 3", false},
    /* Other types, exponentials, several inputs beside what is shared, phases apart, a value for each row. */
    {"y = layer_norm(x, w, b)", "1", "f32[5,4104] f32[4104] f32[4104] f16[5,4104]",
     "cluster 2, block 128, shared, inner, vector 8 x 3, 2 rows per block, prefetch, online",
     "cluster 2, block 128, vector 8, rows 2, online", false},
    {"y = rms_norm(x, w)", "1", "f16[5,8192] f32[8192] f16[5,8192]",
     "cluster 2, block 128, shared, inner, vector 8 x 4, 2 rows per block, prefetch",
     "cluster 2, block 128, vector 8, rows 2, phased", false},
    {"y = softmax(x * w + m)", "1", "f16[5,9000] f16[9000] f16[9000] f16[5,9000]",
     "cluster 2, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch, online",
     "cluster 2, block 128, vector 8, rows 2, online", true},
    {"y = softmax(x * w)", "1", "f16[5,9000] f16[9000] f16[5,9000]",
     "cluster 2, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch",
     "cluster 2, block 128, vector 8, rows 2, phased", false},
    {"y = rms_norm(x + r, w)", "1", "bf16[5,4096] bf16[5,4096] bf16[4096] bf16[5,4096]",
     "cluster 2, block 128, shared, inner, vector 8 x 2, 2 rows per block, prefetch",
     "cluster 2, block 128, vector 8, rows 2, phased", true},
    {"s = sum(x * w); z = x * w - mean(x)", "1", "f32[9,5000] f32[5000] f32[9] f32[9,5000]",
     "cluster 2, block 128, shared, inner, vector 4 x 5, 2 rows per block, prefetch", "cluster 2, block 128, rows 2",
     false},
    {"y = (x - mean(x)) * w / (sum(abs(x - mean(x)) * w) + 1)", "1", "f16[5,3000] f16[3000] f32[5,3000]",
     "block 32, shared, inner, vector 4 x 24, 4 rows per block, prefetch",
     "cluster 1, block 32, vector 4, rows 4, phased", false},
    {"y = x * w / max(x) + index(1)", "1", "i32[5,4096] i32[4096] i32[5,4096]",
     "cluster 2, block 128, shared, inner, vector 4 x 4, 3 rows per block, prefetch", "rows 3, cluster 2, block 128",
     false},
    /* Rows that lie apart, in two dimensions. */
    {"y = layer_norm(x, w, b)", "2", "f16[3,3,2048]{18432,2304,1} f16[2048] f16[2048] f16[3,3,2048]",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block, prefetch, online",
     "cluster 1, block 64, vector 8, rows 2, online", false},
    /* Unaligned rows, those that begin alike together: single elements of one row, of some groups' only one, of rows
     * left over; rows four and two apart, of clusters; weights of another type; rows on after a pitch. */
    {"y = layer_norm(x, w, b)", "1", "bf16[21,2049] bf16[2049] bf16[2049] bf16[21,2049]",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block, prefetch, online, peeled",
     "cluster 1, block 64, vector 8, rows 2, online", true},
    {"y = layer_norm(x, w, b)", "1", "f16[9,2050] f16[2050] f16[2050] f16[9,2050]",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block, prefetch, online, peeled",
     "cluster 1, block 64, vector 8, rows 2, online", true},
    {"y = rms_norm(x, w)", "1", "f16[37,9004] f16[9004] f16[37,9004]",
     "cluster 2, block 128, shared, inner, vector 8 x 5, 3 rows per block, prefetch, peeled", "rows 3", true},
    {"y = layer_norm(x, w, b)", "1", "f16[17,33001] f32[33001] f16[33001] f16[17,33001]",
     "cluster 8, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch, online, peeled",
     "cluster 8, block 128, vector 8, rows 2, online", false},
    {"y = softmax(x * w + m)", "1", "f16[19,9001] f16[9001] f16[9001] f16[19,9001]",
     "cluster 2, block 128, shared, inner, vector 8 x 5, 2 rows per block, prefetch, online, peeled",
     "cluster 2, block 128, vector 8, rows 2, online", true},
    /* Rows that all begin with a vector and do not end with one: single elements of what they share. */
    {"y = rms_norm(x, w)", "1", "bf16[9,21077]{21120,1} bf16[21077] bf16[9,21077]{21120,1}",
     "cluster 8, block 128, shared, inner, vector 8 x 3, 2 rows per block, prefetch, peeled",
     "cluster 8, block 128, vector 8, rows 2, phased", false},
    {"s = sum(x * w); z = x * w - mean(x)", "1", "f32[9,5003] f32[5003] f32[9] f32[9,5003]",
     "cluster 2, block 128, shared, inner, vector 4 x 5, 2 rows per block, prefetch, peeled",
     "cluster 2, block 128, rows 2", false},
    {"y = rms_norm(x + r, w) + index(1)", "1", "bf16[11,4099] bf16[11,4099] bf16[4099] f32[11,4099]",
     "cluster 2, block 128, shared, inner, vector 4 x 4, 2 rows per block, prefetch, peeled",
     "cluster 2, block 128, vector 4, rows 2, phased", false},
    {"y = layer_norm(x, w, b)", "1", "f16[19,2001]{2049,1} f16[2001] f16[2001] f16[19,2001]{2049,1}",
     "block 64, shared, inner, vector 8 x 4, 2 rows per block, prefetch, online, peeled",
     "cluster 1, block 64, vector 8, rows 2, online", false},
    {"y = rms_norm(x, w)", "1", "bf16[3,28001] bf16[28001] bf16[3,28001]",
     "cluster 2, block 256, shared, inner, vector 8 x 7, 2 rows per block, prefetch, peeled",
     "cluster 2, block 256, vector 8, rows 2, phased", false},
    {"y = softmax(x * w)", "1", "f16[3,8193] f16[8193] f16[3,8193]",
     "cluster 2, block 128, shared, inner, vector 8 x 4, 3 rows per block, prefetch, online, peeled",
     "cluster 2, block 128, vector 8, rows 3, online", false},
    /* Where several are the largest, the first of them: of unaligned rows those before the packs would come behind
       them. */
    {"y = x * w; i = argmax(x * w * 0)", "1", "f16[9,4099] f16[4099] f16[9,4099] i64[9]",
     "registers, inner, vector 8 x", "block 256, registers, vector 8, phased", false},
    {"y = x * w; i = argmax(x * w * 0)", "1", "f16[9,4096] f16[4096] f16[9,4096] i64[9]",
     "inner, vector 8 x 4, 2 rows per block, prefetch", "block 128, vector 8, rows 2", false},
    /* Rows alone: shorter unaligned ones, those of two tensors, weights that begin anywhere; short rows; and where a
     * row has a value that another may take the place of. */
    {"y = layer_norm(x, w, b)", "1", "f16[5,2049] f16[2049] f16[2049] f16[5,2049]",
     "block 64, registers, inner, vector 8 x 4, peeled", "block 64, registers, vector 8, phased", false},
    {"y = rms_norm(x + r, w)", "1", "bf16[2,28001] bf16[2,28001] bf16[28001] bf16[2,28001]", "registers, inner", NULL,
     false},
    {"y = rms_norm(x, w)", "1", "f16[2,28001] f16[28001]@2 f16[2,28001]", "registers, inner", NULL, false},
    {"y = layer_norm(x, w, b)", "1", "f16[5,1024] f16[1024] f16[1024] f16[5,1024]",
     "block 64, registers, inner, vector 8 x 2, prefetch", "block 64, registers, vector 8, phased", false},
    {"y = rms_norm(x, w) * s", "1", "f16[5,8192] f16[8192] f16[5,1]{1,1} f16[5,8192]",
     "block 512, shared, inner, vector 8 x 2", "block 512, shared, vector 8, phased", false},
};

static void rows_may_be_worked_on_in_flight(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(in_flight); i++) run_packed_case(&in_flight[i], NULL);
}

#define TEAM "cluster 2, block 128, vector 4"

/* Of two clusters, in outputs that hide no bit of a float. */
static void bits_do_not_depend_on_the_rows_beside(void **state) {
    static const char *const pins[] = {"rows 2, " TEAM, "rows 3, " TEAM, "rows 4, " TEAM};
    static const int columns[] = {4608, 5003,
                                  8192}; /* unaligned ones of two bytes and four only where it is asked for */
    static float alone[8192], beside[2 * 8192];
    (void)state;
    for (size_t c = 0; c < COUNT(columns); c++)
        for (size_t first = (size_t)columns[c] % 2, p = first; p < COUNT(pins); p++)
            for (int rows = 1; rows <= 5; rows += 2) {
                char tensors[96];
                const int cols = columns[c];
                packed_result result = {.output = rows == 1 ? alone : beside, .bytes = (size_t)cols * sizeof *alone};
                snprintf(tensors, sizeof tensors, "f16[%d,%d] f16[%d] f32[%d,%d]", rows, cols, cols, rows, cols);
                run_packed_case(&(packed_case){"y = layer_norm(x / 3, w)", "1", tensors, "shared, inner, vector 4 x",
                                               pins[p], false},
                                &result);
                assert_non_null(strstr(result.schedule, "rows per block, prefetch"));
                if (p == first && rows == 1) memcpy(beside + 8192, alone, result.bytes);
                assert_memory_equal(result.output, beside + 8192, result.bytes);
            }
}

/* Any columns and pitches, where rows begin alike, in turns or anywhere. What cannot have rows in flight has others. A
 * failure names the program, the tensors and the pins. */
static void any_rows_may_be_in_flight(void **state) {
    static const char *const programs[] = {"y = rms_norm(x, w)", "y = softmax(x * w)", "y = x * w - mean(x)"};
    static const char *const types[] = {"f16", "bf16", "f32"};
    static const char *const pins[] = {"block 32, rows 2", "cluster 2, block 32, rows 3",
                                       "cluster 4, block 64, rows 2, phased"};
    uint32_t random = 20261130;
    int in_flight_seen = 0;
    (void)state;
    for (int i = 0; i < 40; i++) {
        char tensors[128];
        packed_result result = {.output = NULL};
        int draw[7];
        packed_draw(&random, COUNT(draw), draw);
        const char *program = programs[draw[0] % 3], *x = types[draw[1] % 3], *w = types[draw[2] % 3];
        const int rows = 1 + draw[3] % 9, cols = 600 + draw[4] % 1400;
        const int pitches[] = {cols, (cols + 7) / 8 * 8, cols + draw[5] % 20}, pitch = pitches[draw[6] % 3];
        snprintf(tensors, sizeof tensors, "%s[%d,%d]{%d,1} %s[%d] %s[%d,%d]{%d,1}", x, rows, cols, pitch, w, cols, x,
                 rows, cols, pitch);
        run_packed_case(&(packed_case){program, "1", tensors, "inner", pins[i % 3], false}, &result);
        in_flight_seen += strstr(result.schedule, "rows per block, prefetch") != NULL;
    }
    assert_true(in_flight_seen > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_may_be_worked_on_in_flight),
                                       cmocka_unit_test(any_rows_may_be_in_flight),
                                       cmocka_unit_test(bits_do_not_depend_on_the_rows_beside)};
    return cmocka_run_group_tests_name("rows in flight", tests, open_packed_device, close_packed_device);
}
