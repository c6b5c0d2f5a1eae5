/* SPDX-License-Identifier: Apache-2.0 */
/* What only some schedules do, on the software GPU against the CPU reference: chunks of split rows, runs of what is
 * broadcast, groups that go through many rows, outputs that lie where an input does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "support/bound.h"
#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Few chunks are combined by a warp for each row, more by several warps, which may share their block. */
static void any_number_of_chunks_is_combined(void **state) {
    static const struct {
        const char *program, *axes, *tensors, *layout, *pins;
    } of[] = {
        {"s = sum(x)", "0", "f32[4200,24] f32[24]", "outer", "threads 8, rows 4, stream, batch 1"},
        {"s = sum(x)", "0", "f16[4200,24] f16[24]", "outer", "threads 4, stream, batch 1"},
        {"s = argmax(x)", "1", "i8[3,40000] i64[3]", "inner", "block 32, stream, vector 1, batch 1"},
        /* So much to exchange that fewer threads share it. */
        {"s = max(x) + sum(x * x) + var(x) + argmax(x) + nanmean(x) + min(x) + argmin(x)", "1", "f64[2,20000] f64[2]",
         "inner", "block 32, stream, vector 1, batch 1"},
    };
    static const int counts[] = {2, 32, 33, 64, 65, 129, 256, 513};
    (void)state;
    for (size_t i = 0; i < COUNT(of); i++)
        for (size_t n = 0; n < COUNT(counts); n++) {
            char pins[128], schedule[64];
            const packed_case c = {of[i].program, of[i].axes, of[i].tensors, schedule, pins, false};
            snprintf(pins, sizeof pins, "%s, splits %d", of[i].pins, counts[n]);
            snprintf(schedule, sizeof schedule, "%s, ", of[i].layout);
            run_packed_case(&c, NULL);
        }
}

/* Elementwise packs of 16 bytes that cross the end of a row which is broadcast: in runs of 8, 4 and 2 elements, and one
 * by one. */
static void packs_cross_rows_that_are_broadcast(void **state) {
    static const struct {
        const char *type;
        int columns, run;
        const char *pins;
    } of[] = {{"f16", 12, 4, "vector 8"},   {"f16", 10, 2, "vector 8"}, {"bf16", 9, 1, "vector 8"},
              {"f32", 6, 2, "vector 4"},    {"f32", 7, 1, "vector 4"},  {"f64", 3, 1, "vector 2"},
              {"i8", 24, 8, "vector 16"},   {"u8", 20, 4, "vector 16"}, {"bool", 6, 2, "vector 16"},
              {"e4m3", 40, 8, "vector 16"}, {"f16", 250, 2, "vector 8"}};
    (void)state;
    for (size_t i = 0; i < COUNT(of); i++) {
        char tensors[128];
        bound b;
        kiln__prepared prepared;
        const int n = of[i].columns;
        snprintf(tensors, sizeof tensors, "%s[3,2,5,%d] %s[3,1,1,%d] %s[3,2,5,%d]", of[i].type, n, of[i].type, n,
                 of[i].type, n);
        const packed_case c = {"y = x + 2 * a", "", tensors, "flat", of[i].pins, false};
        assert_int_equal(bound_create(&b, c.program, NULL, NULL, tensors), KILN_OK);
        assert_int_equal(kiln__pins_parse(c.pins, &b.context->pins), KILN_OK);
        if (bound_prepare(&b, 90, &prepared)) fail_msg("%s", kiln_last_error());
        assert_int_equal(prepared.schedule.tensors[1].width, 0);
        assert_int_equal(prepared.schedule.tensors[1].run, of[i].run);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
        run_packed_case(&c, NULL);
    }
}

/* All of a tensor is one row, which no other row's place moves: its largest half is found among loaded ones. */
static void one_row_of_scattered_halves(void **state) {
    const packed_case c = {"y = softmax(x)",
                           "0,1,2,3,4",
                           "bf16[8,8,12,5,5]{10144,1260,0,21,1}@2 f64[8,8,12,5,5]",
                           "cluster 4, block 256, shared, inner, vector 2 x 10, online",
                           "cluster 4, block 256, shared, vector 2, online",
                           false};
    (void)state;
    run_packed_case(&c, NULL);
}

/* More rows than groups run at once: the third of a group's rows exchanges where the first did. And a whole grid of
 * whose row nothing stays on the chip. */
static void groups_go_through_many_rows(void **state) {
    static const struct {
        const char *program, *tensors, *schedule, *pins;
    } of[] = {
        {"y = x / sum(x)", "f64[200,51200] f64[200,51200]", "inner, vector 2 x 400, persistent",
         "cluster 2, threads 32, shared, persistent"},
        {"y = (a + b + c) / sum(abs(a + b + c) / max(abs(a + b + c)))",
         "u8[3,200001] f64[3,200001] f64[3,200001] "
         "f64[3,200001]",
         "inner, vector 2 x 1, persistent, masked", "grid, threads 1024, shared, phased"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(of); i++) {
        const packed_case c = {of[i].program, "1", of[i].tensors, of[i].schedule, of[i].pins, false};
        run_packed_case(&c, NULL);
    }
}

/* z = x * sum(x) + b; y = sum(x) + b, where y is b: no block may store y while another has yet to read b. */
static void run_over_an_input(const char *pins, const char *axes_text, int64_t rows, int64_t cols) {
    const bool first = axes_text[0] == '0';
    const int64_t shape[2] = {rows, cols}, kept[2] = {first ? 1 : rows, first ? cols : 1};
    const size_t count = (size_t)(rows * cols), few = (size_t)(first ? cols : rows);
    float *x = malloc(count * sizeof *x), *b = malloc(few * sizeof *b), *z = malloc(count * sizeof *z);
    float *got = malloc(count * sizeof *got), *y = malloc(few * sizeof *y);
    kiln__CUdeviceptr dx, db, dz;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options of_program = KILN_PROGRAM_OPTIONS_INIT;
    kiln_context *kiln = NULL;
    kiln_program *program = NULL;
    int axis = first ? 0 : 1;
    assert_true(x && b && z && got && y);
    for (size_t i = 0; i < count; i++) x[i] = (float)packed_value(KILN_F32, i) / (float)(first ? rows : cols);
    for (size_t i = 0; i < few; i++) b[i] = (float)packed_value(KILN_F32, 7 * i + 3);
#if defined(KILN_SOFTWARE_DRIVER)
    options.driver_path = KILN_SOFTWARE_DRIVER;
    options.nvrtc_path = KILN_SOFTWARE_NVRTC;
#endif
    options.cache_dir = "";
    options.schedule = pins;
    of_program.axes = &axis;
    of_program.axis_count = 1;
    assert_int_equal(kiln_context_create(&options, &kiln), KILN_OK);
    assert_int_equal(kiln_program_create(kiln, "z = x * sum(x) + b; y = sum(x) + b", &of_program, &program), KILN_OK);
    assert_int_equal(packed_device.driver->MemAlloc(&dx, count * sizeof *x), 0);
    assert_int_equal(packed_device.driver->MemAlloc(&dz, count * sizeof *z), 0);
    assert_int_equal(packed_device.driver->MemAlloc(&db, few * sizeof *b), 0);
    assert_int_equal(packed_device.driver->MemcpyHtoD(dx, x, count * sizeof *x), 0);
    assert_int_equal(packed_device.driver->MemcpyHtoD(db, b, few * sizeof *b), 0);
    kiln_tensor tensors[4] = {kiln_tensor_contiguous((void *)(uintptr_t)dx, KILN_F32, 2, shape),
                              kiln_tensor_contiguous((void *)(uintptr_t)db, KILN_F32, 2, kept),
                              kiln_tensor_contiguous((void *)(uintptr_t)dz, KILN_F32, 2, shape),
                              kiln_tensor_contiguous((void *)(uintptr_t)db, KILN_F32, 2, kept)};
    if (kiln_run(program, tensors, 4, NULL, 0, NULL)) fail_msg("%s", kiln_last_error());
    assert_int_equal(packed_device.driver->CtxSynchronize(), 0);
    assert_int_equal(packed_device.driver->MemcpyDtoH(got, dz, count * sizeof *z), 0);
    assert_int_equal(packed_device.driver->MemcpyDtoH(y, db, few * sizeof *y), 0);
    float *expected = malloc(few * sizeof *expected);
    assert_non_null(expected);
    void *const host[4] = {x, b, z, expected};
    for (int t = 0; t < 4; t++) tensors[t].data = host[t];
    assert_int_equal(kiln_run_cpu(program, tensors, 4, NULL, 0), KILN_OK);
    for (size_t i = 0; i < count; i++)
        if (fabsf(got[i] - z[i]) > 1e-4f * fabsf(z[i]))
            fail_msg("%s: z[%zu] is %g, expected %g", pins, i, (double)got[i], (double)z[i]);
    for (size_t i = 0; i < few; i++)
        if (fabsf(y[i] - expected[i]) > 1e-4f * fabsf(expected[i]))
            fail_msg("%s: y[%zu] is %g, expected %g", pins, i, (double)y[i], (double)expected[i]);
    const kiln__CUdeviceptr all[] = {dx, db, dz};
    for (int i = 0; i < 3; i++) assert_int_equal(packed_device.driver->MemFree(all[i]), 0);
    void *const memory[] = {x, b, z, got, y, expected};
    for (int i = 0; i < 6; i++) free(memory[i]);
    kiln_program_destroy(program);
    kiln_context_destroy(kiln);
}

static void values_of_rows_may_take_an_inputs_place(void **state) {
    (void)state;
    run_over_an_input("", "0", 9000, 8);
    run_over_an_input("stream, splits 3", "0", 50, 40);
    run_over_an_input("", "0", 40, 24);
    run_over_an_input("cluster 2, threads 8, shared", "0", 100, 24);
    run_over_an_input("block 64, stream, splits 4", "1", 3, 4000);
    run_over_an_input("block 64, shared, persistent", "1", 9, 4000);
    run_over_an_input("grid, threads 64, shared", "1", 9, 4000);
    run_over_an_input("tile", "1", 50, 33);
}
int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_chunks_is_combined), cmocka_unit_test(packs_cross_rows_that_are_broadcast),
        cmocka_unit_test(groups_go_through_many_rows), cmocka_unit_test(one_row_of_scattered_halves),
        cmocka_unit_test(values_of_rows_may_take_an_inputs_place)};
    return cmocka_run_group_tests_name("chunks and groups", tests, open_packed_device, close_packed_device);
}
