/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that serve a range of columns, on the software GPU against the CPU reference: of any columns, pitches and
 * alignments; and which columns share one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "problem/range.h"
#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void ranges_are_few_and_next_to_each_other(void **state) {
    static const int64_t ends[] = {64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288};
    int64_t columns = 1;
    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++) {
        assert_int_equal(kiln_range_end(columns), ends[i]);
        assert_int_equal(kiln_range_end(ends[i]), ends[i]);
        columns = ends[i] + 1;
    }
    assert_int_equal(kiln_range_end(0), 64);
    assert_int_equal(kiln_range_end(50257), 65536);
    assert_int_equal(kiln_range_end(1 << 30), 1 << 30);
    assert_true(kiln_range_end(INT64_MAX) == INT64_MAX);
}

static const struct {
    packed_case c;
    int64_t most_cols;
} ranged[] = {
    /* Rows that begin with vectors, that begin anywhere, at a pitch; the first row and the last of a range. */
    {{"y = softmax(x)", "1", "f16[7,1024] f16[7,1024]", "inner", NULL, true}, 1024},
    {{"y = softmax(x)", "1", "f16[7,1025] f16[7,1025]", "inner", NULL, true}, 1536},
    {{"y = softmax(x)", "1", "f16[7,1023] f16[7,1023]", "inner", NULL, true}, 1024},
    {{"y = softmax(x)", "1", "f16[9,513] f16[9,513]", "inner", NULL, true}, 768},
    {{"i = argmax(x)", "1", "f16[7,1023] i64[7]", "inner", NULL, false}, 1024},
    {{"i = argmin(x)", "1", "f16[7,513]{515,1}@2 i64[7]", "inner", NULL, false}, 768},
    {{"y = softmax(x)", "1", "f16[7,600]{601,1}@2 f16[7,600]{607,1}@4", "inner", NULL, false}, 768},
    {{"y = softmax(x)", "1", "f16[9,3]{5,1} f16[9,3]", "inner", NULL, false}, 64},
    {{"y = softmax(x)", "1", "f16[9,2] f16[9,2]", "inner", NULL, true}, 64},
    {{"y = layer_norm(x, w, b)", "1", "bf16[5,5001] bf16[5001]@2 f32[5001]@4 bf16[5,5001]", "inner", NULL, true}, 6144},
    {{"y = rms_norm(x + r, w)", "1", "f32[5,131] f16[5,131] f32[131] f16[5,131]", "inner", NULL, false}, 256},
    {{"s = sum(x)", "1", "f32[5,2049] f32[5]", "inner", NULL, false}, 3072},
    {{"v = var(x)", "1", "f16[5,301] f64[5]", "inner", NULL, false}, 512},
    {{"i = argmax(x)", "1", "f16[5,2000] i64[5]", "inner", NULL, false}, 2048},
    {{"y = x / max(abs(x))", "1", "f64[5,77] f64[5,77]", "inner", NULL, true}, 128},
    {{"q = i8(round(x / max(abs(x)) * 100))", "1", "f32[5,1000] i8[5,1000]", "inner", NULL, false}, 1024},
    {{"y = x - mean(x) + index(1) + size(1)", "1", "f32[5,99] f32[5,99]", "inner", NULL, false}, 128},
    {{"y = where(uniform(7, 0) < 0.5, softmax(x), 0)", "1", "f16[5,99] f16[5,99]", "inner", NULL, false}, 128},
    {{"m = median(x)", "1", "f16[7,601] f16[7]", "inner", NULL, false}, 768},
    {{"y = x >= kth_largest(x, 5) ? x : 0", "1", "f32[5,3000]{3001,1} f32[5,3000]", "inner", NULL, false}, 3072},
    {{"q = quantile(x, 0.25) + max(x)", "1", "f32[300,40] f32[300]", "inner", NULL, false}, 64},
    /* Rows in several dimensions, a mask that heads share, one for each column. */
    {{"y = softmax(x * 0.125 + m)", "3", "f16[2,3,9,201] f16[2,1,9,201] f16[2,3,9,201]", "inner", NULL, false}, 256},
    {{"y = softmax(x + m)", "2", "bf16[4,5,300] f32[4,1,300] bf16[4,5,300]", "inner", NULL, true}, 512},
    {{"y = softmax(where(index(3) <= index(2), x, -inf))", "3", "f16[2,3,9,201] f16[2,3,9,201]", "inner", NULL, false},
     256},
    {{"y = softmax(x) * g", "1", "f16[5,700] f16[5,1] f16[5,700]", "inner", NULL, false}, 768},
    /* Of clusters; and programs that have none: they run by a kernel of their own. */
    {{"y = softmax(x)", "1", "f16[3,40001] f16[3,40001]", "inner", NULL, false}, 49152},
    {{"y = softmax(x)", "0", "f16[300,40] f16[300,40]", NULL, NULL, false}, 0},
    {{"y = cumsum(x)", "1", "f32[3,300] f32[3,300]", "inner", NULL, false}, 0},
    {{"y = x * 2", "", "f16[3,300] f16[3,300]", NULL, NULL, false}, 0},
    {{"y = softmax(x)", "1,2", "f16[9,3,40]{400,50,1} f16[9,3,40]", "inner", NULL, false}, 0},
    {{"y = x - take(x, argmax(x))", "1", "f16[9,300] f16[9,300]", "inner", NULL, false}, 0},
    {{"lengths(index(0) * 30); y = softmax(x)", "1", "f16[9,300] f16[9,300]", "inner", NULL, false}, 0},
};

static void a_range_has_one_kernel(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(ranged); i++) {
        packed_result result = {.output = NULL};
        run_packed_case_by(KILN_POLICY_RANGE, &ranged[i].c, &result);
        if (result.most_cols != ranged[i].most_cols)
            fail_msg("%s of %s: up to %" PRId64 " columns, expected %" PRId64, ranged[i].c.program, ranged[i].c.tensors,
                     result.most_cols, ranged[i].most_cols);
    }
}

/* Any rows. A failure names the program and the tensors. */
static void any_rows_are_in_some_range(void **state) {
    static const char *const programs[] = {"y = softmax(x / 16)", "y = rms_norm(x, w)",
                                           "y = 3 + (x - mean(x)) * rsqrt(var(x) + 1)", "y = x * w / (1 + max(abs(x)))",
                                           "y = x * x / (1 + sum(abs(x)))"};
    static const char *const types[] = {"f16", "bf16", "f32", "f64", "u8"};
    uint32_t random = 20261130;
    (void)state;
    for (int i = 0; i < 120; i++) {
        char tensors[160], w[32] = "";
        int draw[9];
        packed_draw(&random, COUNT(draw), draw);
        const char *program = programs[draw[0] % 5], *x = types[draw[1] % 5], *y = types[draw[2] % 3];
        const int rows = 1 + draw[3] % 9, cols = 2 + draw[4] % (i % 3 ? 300 : 5000), size = x[1] == '6' ? 8 : 4;
        const int of_x = cols + draw[5] % (i % 2 ? 1 : 20), of_y = cols + draw[6] % (i % 4 < 2 ? 1 : 20);
        if (strstr(program, "w")) snprintf(w, sizeof w, " f32[%d]@%d", cols, 4 << draw[7] % 3);
        snprintf(tensors, sizeof tensors, "%s[%d,%d]{%d,1}@%d%s %s[%d,%d]{%d,1}", x, rows, cols, of_x,
                 draw[8] % 2 ? 16 : size, w, y, rows, cols, of_y);
        packed_result result = {.output = NULL};
        run_packed_case_by(KILN_POLICY_RANGE, &(packed_case){program, "1", tensors, "inner", NULL, false}, &result);
        if (result.most_cols < cols) fail_msg("%s of %s has no range", program, tensors);
    }
}

/* What is pinned may be nothing for a range: then it is pinned for the columns that there are. */
static void pins_that_suit_no_range_hold_for_the_exact_kernel(void **state) {
    static const char *const pins[] = {"vector 1", "splits 2", "tile, lanes 4"};
    (void)state;
    for (size_t i = 0; i < COUNT(pins); i++) {
        const packed_case c = {"y = softmax(x)", "1", "f16[5,201] f16[5,201]", "inner", pins[i], false};
        packed_result result = {.output = NULL};
        run_packed_case_by(KILN_POLICY_RANGE, &c, &result);
        assert_int_equal(result.most_cols, 0);
        run_packed_case_by(KILN_POLICY_BACKGROUND, &c, &result);
    }
}

/* ---- packs ---- */

#define ROWS 3
#define MOST 700

static kiln_context *open_context(kiln_policy policy, const kiln_pack *pack, const char *record) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
#if defined(KILN_SOFTWARE_DRIVER)
    options.driver_path = KILN_SOFTWARE_DRIVER;
    options.nvrtc_path = pack ? "/nowhere/libnvrtc.so" : KILN_SOFTWARE_NVRTC;
#endif
    options.cache_dir = "";
    options.record_path = record;
    options.policy = policy;
    options.packs = pack;
    options.pack_count = pack != NULL;
    if (kiln_context_create(&options, &context)) fail_msg("%s", kiln_last_error());
    return context;
}

static kiln_tensor rows_of(void *data, int64_t cols) {
    return kiln_tensor_contiguous(data, KILN_F32, 2, (int64_t[]){ROWS, cols});
}

static void expect_row_sums(const kiln_program *program, kiln__CUdeviceptr memory, int64_t cols) {
    static float x[ROWS * MOST], y[ROWS * MOST];
    const kiln_tensor tensors[] = {rows_of((void *)(uintptr_t)memory, cols),
                                   rows_of((void *)(uintptr_t)(memory + sizeof x), cols)};
    const size_t bytes = sizeof(float) * ROWS * (size_t)cols;
    for (int64_t i = 0; i < ROWS * cols; i++) x[i] = (float)(i % 7);
    assert_int_equal(packed_device.driver->MemcpyHtoD(memory, x, bytes), 0);
    if (kiln_run(program, tensors, 2, NULL, 0, NULL)) fail_msg("%s", kiln_last_error());
    assert_int_equal(packed_device.driver->CtxSynchronize(), 0);
    assert_int_equal(packed_device.driver->MemcpyDtoH(y, memory + sizeof x, bytes), 0);
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
        for (int64_t c = 0; c < cols; c++) sum += x[r * cols + c];
        for (int64_t c = 0; c < cols; c++)
            if (y[r * cols + c] != x[r * cols + c] + sum)
                fail_msg("row %d, column %" PRId64 " of %" PRId64, r, c, cols);
    }
}

/* Without a compiler: each length runs by its range's kernel, and none by that for any shape. */
static void a_pack_of_ranges_serves_all_lengths(void **state) {
    kiln_pack_writer *writer = NULL;
    kiln_pack pack = {NULL, NULL, 0};
    kiln_program *program = NULL;
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    kiln__CUdeviceptr memory;
    (void)state;
    kiln_context *context = open_context(KILN_POLICY_RANGE, NULL, "");
    assert_int_equal(kiln_program_create(context, "y = x + sum(x)", NULL, &program), KILN_OK);
    assert_int_equal(kiln_pack_writer_create(&writer), KILN_OK);
    for (int64_t n = 2; n <= MOST; n = kiln_range_end(n) + 1) {
        const kiln_tensor tensors[] = {rows_of(NULL, n), rows_of(NULL, n)};
        if (kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, 90, 0)) fail_msg("%s", kiln_last_error());
    }
    assert_int_equal(kiln_pack_writer_finish(writer, &pack.data, &pack.size), KILN_OK);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(packed_device.driver->MemAlloc(&memory, 2 * sizeof(float) * ROWS * MOST), 0);
    context = open_context(KILN_POLICY_NEVER_COMPILE, &pack, "");
    assert_int_equal(kiln_program_create(context, "y = x + sum(x)", NULL, &program), KILN_OK);
    for (int64_t n = 2; n <= MOST; n += 1 + n / 20) expect_row_sums(program, memory, n);
    assert_int_equal(kiln_context_get_stats(context, &stats), KILN_OK);
    assert_int_equal(stats.any_shape, 0);
    assert_int_equal(stats.compiled, 0);
    assert_int_equal(stats.loads, 5);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    kiln_pack_writer_destroy(writer);
    assert_int_equal(packed_device.driver->MemFree(memory), 0);
}

/* A length that is missing is recorded as the range whose kernel the program would have. */
static void what_is_recorded_is_the_range(void **state) {
    own_folder folder;
    kiln_program *program = NULL;
    kiln__CUdeviceptr memory;
    char path[128], line[512] = "", second[512] = "";
    (void)state;
    assert_true(own_folder_make(&folder));
    snprintf(path, sizeof path, "%s/kernels.jsonl", folder.path);
    assert_int_equal(packed_device.driver->MemAlloc(&memory, 2 * sizeof(float) * ROWS * MOST), 0);
    kiln_context *context = open_context(KILN_POLICY_RANGE, NULL, path);
    assert_int_equal(kiln_program_create(context, "y = x + sum(x)", NULL, &program), KILN_OK);
    for (int64_t n = 100; n < 104; n++) expect_row_sums(program, memory, n);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_null(fgets(second, sizeof second, file));
    fclose(file);
    assert_non_null(strstr(line, "\"tensors\":[\"x=f32[3,65..128]\",\"y=f32[3,65..128]\"]"));
    own_folder_remove(&folder);
    assert_int_equal(packed_device.driver->MemFree(memory), 0);
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_are_few_and_next_to_each_other),
                                       cmocka_unit_test(a_range_has_one_kernel),
                                       cmocka_unit_test(any_rows_are_in_some_range),
                                       cmocka_unit_test(pins_that_suit_no_range_hold_for_the_exact_kernel),
                                       cmocka_unit_test(a_pack_of_ranges_serves_all_lengths),
                                       cmocka_unit_test(what_is_recorded_is_the_range)};
    return cmocka_run_group_tests_name("ranges of columns", tests, open_packed_device, close_packed_device);
}
