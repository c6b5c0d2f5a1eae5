/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled kernels take of registers, of local memory and of shared memory. Skipped where there is no NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void need_nvrtc(void) {
    const kiln__nvrtc *nvrtc;
    if (kiln__nvrtc_open(NULL, &nvrtc) != KILN_OK) {
        print_message("%s\n", kiln_last_error());
        skip();
    }
}

/* What begins elsewhere than at a multiple of a vector is shifted into place, in registers: PTX declares no array. */
static void shifted_vectors_are_not_in_memory(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const cases[][3] = {
        {"y = rms_norm(x, w); s = absmax(y) / 448; q = y / s", NULL, "f16[512,24442] f16[24442] e4m3[512,24442]"},
        {"q = layer_norm(x, w, b)", NULL, "bf16[512,3001] bf16[3001] bf16[3001] i8[512,3001]"},
        {"y = x * 0.5", "all", "f64[64,3,9248]{27744,1,3} f64[64,3,9248]"},
        {"y = x * 0.5", "all", "u8[64,3,50176]{150528,1,3} f16[64,3,50176]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        size_t size;
        assert_int_equal(bound_create(&b, cases[i][0], cases[i][1], NULL, cases[i][2]), KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 1, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        if (strstr(kiln_kernel_image(kernel, &size), ".local .align"))
            fail_msg("%s of %s has vectors in local memory", cases[i][0], cases[i][2]);
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* The compiler has given a row that is kept and vectors that are passed on the same memory, where another row began in
 * the same function. */
static void kernels_whose_rows_are_passed_on_begin_one(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const cases[][2] = {
        {"y = rms_norm(x * repeat(r, 2), w)", "f32[8,20] f32[8,10] f32[20] f32[8,20]"},
        {"y = softmax(x + m)", "f16[4,25,30] f16[4,1,30] f16[4,25,30]"},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        size_t size;
        int begun = 0;
        setenv("KILN_SCHEDULE", i % 2 ? "tile, loops" : "tile, outlined", 1);
        assert_int_equal(bound_create(&b, cases[i / 2][0], NULL, NULL, cases[i / 2][1]), KILN_OK);
        unsetenv("KILN_SCHEDULE");
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 1, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        const char *at = strstr(kiln_kernel_image(kernel, &size), ".entry"), *end = strstr(at, "\n}\n");
        while ((at = strstr(at, "kiln_begin")) != NULL && at < end) at++, begun++;
        if (begun != 1) fail_msg("%s of %s begins %d rows", cases[i / 2][0], cases[i / 2][1], begun);
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* With what the blocks of a cluster exchange, which is static. */
static void shared_memory_is_no_more_than_there_is(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const cases[][2] = {
        {"y = layer_norm(x)", "f64[8,174048] f64[8,174048]"},
        {"y = layer_norm(x, w, b)", "f64[8,174048]@8 f64[8,174048] f64[8,174048] f64[8,174048]"},
        {"y = layer_norm(x, w, b)", "f64[8,174049] f64[8,174049] f64[8,174049] f64[8,174049]"},
        {"y = softmax(x * w)", "f64[8,174048] f64[8,174048] f64[8,174048]"},
        {"y = softmax(x)", "f32[8,800000] f32[8,800000]"},
        {"y = x - mean(x) + var(x) + max(x) + prod(x)", "f16[8,1500000] f64[8,1500000]"},
        {"y = x - mean(x) + var(x) + max(x) + prod(x)", "f64[2,250000] f32[2,250000]"},
    };
    kiln__device device = kiln__device_typical(90);
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        kiln_plan_info info = KILN_PLAN_INFO_INIT;
        assert_int_equal(bound_create(&b, cases[i][0], NULL, NULL, cases[i][1]), KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        kiln_kernel_get_info(kernel, &info);
        if (info.shared_bytes > device.shared_per_block)
            fail_msg("%s of %s: '%s' takes %lld bytes", cases[i][0], cases[i][1], info.schedule,
                     (long long)info.shared_bytes);
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

static void any_number_of_values_of_all_rows_compiles(void **state) {
    (void)state;
    need_nvrtc();
    bound b;
    kiln_kernel *kernel = NULL;
    kiln__text text = {0};
    kiln__text_puts(&text, "y = x - mean(x); d = sum(x, axes = 0)");
    for (int k = 0; k < 30; k++) kiln__text_printf(&text, " + sum(x * %d, axes = 0)", k + 2);
    char *program = kiln__text_take(&text);
    assert_int_equal(bound_create(&b, program, NULL, NULL, "f64[1000,20] f64[1000,20] f64[1,20]"), KILN_OK);
    if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
        fail_msg("%s", kiln_last_error());
    kiln_kernel_destroy(kernel);
    bound_destroy(&b);
    free(program);
}

/* How many rows lie side by side decides what spills; the columns of a row are combined as they are of any other
 * number. */
static void spills_change_no_rows_bits(void **state) {
    (void)state;
    need_nvrtc();
    static const int rows[] = {1, 2, 5, 7, 8, 33, 64};
    char first[32] = "";
    for (size_t i = 0; i < COUNT(rows); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        kiln_plan_info info = KILN_PLAN_INFO_INIT;
        char tensors[64];
        snprintf(tensors, sizeof tensors, "f64[1023,%d] f64[1023,%d]", rows[i], rows[i]);
        assert_int_equal(bound_create(&b, "y = softmax(x)", "0", NULL, tensors), KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        kiln_kernel_get_info(kernel, &info);
        if (!i) snprintf(first, sizeof first, "%.9s", info.schedule); /* "cluster 8" */
        const bool tile = strstr(info.schedule, "tile");              /* its threads stand for the same blocks' */
        if (!tile && strncmp(info.schedule, first, strlen(first)))
            fail_msg("%s: %s (%d bytes spilled), others %s", tensors, info.schedule, info.spill_bytes, first);
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* A thread has plenty of registers, and leaves a value or two in memory where it calls a function: the first schedule
 * stays. */
static void what_calls_leave_in_memory_is_no_shortage(void **state) {
    (void)state;
    need_nvrtc();
    bound b;
    kiln__prepared prepared;
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    const char *program = "v, i = topk(softmax(x), 8); w = v / sum(v)",
               *tensors = "f32[16384,128] i64[16384,8] f32[16384,8]";
    assert_int_equal(bound_create(&b, program, NULL, NULL, tensors), KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
    if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
        fail_msg("%s", kiln_last_error());
    kiln_kernel_get_info(kernel, &info);
    assert_string_equal(info.schedule, prepared.schedule.text);
    const kiln__device device = kiln__device_typical(90);
    kiln__image image = {.facts = {.registers = 56, .spill_bytes = 4}};
    assert_false(kiln__image_lacks_registers(&image, &prepared, &device));
    image.facts.spill_bytes = 400;
    assert_true(kiln__image_lacks_registers(&image, &prepared, &device));
    image.facts.spill_bytes = 4;
    image.facts.registers = kiln__schedule_allowed_registers(&device, &prepared.schedule) - 1;
    assert_true(kiln__image_lacks_registers(&image, &prepared, &device));
    image.facts.registers = -1; /* not told */
    assert_true(kiln__image_lacks_registers(&image, &prepared, &device));
    image.facts.spill_bytes = 0;
    assert_false(kiln__image_lacks_registers(&image, &prepared, &device));
    kiln_kernel_destroy(kernel);
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

/* Where rows drift each member has a place for its values; those of 4 and of 8 bytes have gaps between them. */
static void values_of_members_fit_static_shared_memory(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const cases[][3] = {
        {"y = x * sum(x) + sum(index(1))", "1", "f16[1000,100,199] f32[1000,100,199]"},
        {"y = x * sum(x) + sum(index(0))", "0", "f16[1000,135] f32[1000,135]"},
        {"y = x * sum(x) + sum(where(x > 0, 1, 0))", "1", "f16[1000,100,199] f32[1000,100,199]"},
        {"s = argmax(x) + max(x)", "1", "f16[100,700,199] f32[100,199]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        assert_int_equal(bound_create(&b, cases[i][0], cases[i][1], NULL, cases[i][2]), KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
            fail_msg("%s of %s: %s", cases[i][0], cases[i][2], kiln_last_error());
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* Blocks whose values CUB combines: in all stagings, of sums, of indices, of phases together. Where CUB's headers are
 * not there a sentence says where they were looked for. */
static void pinned_blocks_may_be_combined_by_cub(void **state) {
    static const char *const cases[][3] = {
        {"cub 256", "y = softmax(x)", "f16[100,4096] f16[100,4096]"},
        {"cub 128, shared", "v = var(x)", "f32[100,5001] f32[100]"},
        {"cub 1024, stream", "i = argmax(x)", "bf16[100,50257] i64[100]"},
    };
    (void)state;
    need_nvrtc();
    setenv("KILN_CUB", "/nowhere", 1);
    for (size_t i = 0; i <= COUNT(cases); i++) { /* the first twice */
        const char *const *of = cases[i ? i - 1 : 0];
        bound b;
        kiln_kernel *kernel = NULL;
        setenv("KILN_SCHEDULE", of[0], 1);
        assert_int_equal(bound_create(&b, of[1], NULL, NULL, of[2]), KILN_OK);
        unsetenv("KILN_SCHEDULE");
        const kiln_status status = kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel);
        bool skips = false;
        if (i == 0) {
            assert_int_equal(status, KILN_E_COMPILE);
            assert_string_equal(kiln_last_error(),
                                "KILN_CUB is '/nowhere', expected a folder that has cub/block/block_reduce.cuh");
            unsetenv("KILN_CUB");
        } else if (status) {
            skips = strstr(kiln_last_error(), "KILN_CUB may name") != NULL;
            if (!skips) fail_msg("%s of %s: %s", of[0], of[1], kiln_last_error());
        }
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
        if (skips) skip();
    }
}

/* Blocks have 48 KB of shared memory that is not asked for at a launch: the compiler refuses more. */
static void kernels_for_any_shape_have_room(void **state) {
    (void)state;
    need_nvrtc();
    static const char *const cases[][2] = {
        {"v = topk(softmax(x), 8); i = argtopk(x, 8); y = sort(x * 2); j = argsort(x)",
         "f32[4,100] f32[4,8] i64[4,8] f32[4,100] i64[4,100]"},
        {"y = sort(x) + kth(x, 3) - cumsum(x)", "f64[4,100] f64[4,100]"},
        {"y = sort(x) + max(x, block = 32) * min(x, block = 7)", "f64[4,500] f64[4,500]"},
        {"y = sort(x) + quantile(x, 0.1) + quantile(x, 0.2) + quantile(x, 0.3) + quantile(x, 0.4) + quantile(x, 0.5) + "
         "quantile(x, 0.6) + quantile(x, 0.7) + quantile(x, 0.8) + quantile(x, 0.9) + quantile(x, 0.15) + "
         "quantile(x, 0.25) + quantile(x, 0.35) + quantile(x, 0.45) + quantile(x, 0.55) + quantile(x, 0.65) + "
         "quantile(x, 0.75) + quantile(x, 0.85) + quantile(x, 0.95) + quantile(x, 0.05)",
         "f64[4,100] f64[4,100]"},
        {"y = x + max(x, block = 1000) * min(x, block = 7) + sum(x, block = 4)", "f64[4,5000] f64[4,5000]"},
        {"n = rms_norm(x, w); m = absmax(n, block = 16); q = n / m; s = m; t = sum(n)",
         "bf16[4,100] bf16[100] e2m1[4,100] e4m3[4,7] f32[4]"},
        {"y = x - max(x); d = sum(x, axes = 0); p = prod(x, axes = 0); s = sum(x, axes = all)",
         "f64[4,100] f64[4,100] f64[100] f64[100] f64[]"},
    };
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = "";
    options.policy = KILN_POLICY_ANY_SHAPE;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        kiln_program *program = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_kernel *kernel = NULL;
        const int arch = i % 2 ? 80 : 90;
        assert_int_equal(kiln_program_create(context, cases[i / 2][0], NULL, &program), KILN_OK);
        const size_t count = bound_tensors(cases[i / 2][1], tensors);
        if (kiln_compile(program, tensors, count, NULL, 0, arch, 0, 1, &kernel))
            fail_msg("%s of sm_%d: %s", cases[i / 2][0], arch, kiln_last_error());
        kiln_kernel_destroy(kernel);
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_blocks_may_be_combined_by_cub),
        cmocka_unit_test(shifted_vectors_are_not_in_memory),
        cmocka_unit_test(kernels_whose_rows_are_passed_on_begin_one),
        cmocka_unit_test(shared_memory_is_no_more_than_there_is),
        cmocka_unit_test(any_number_of_values_of_all_rows_compiles),
        cmocka_unit_test(spills_change_no_rows_bits),
        cmocka_unit_test(what_calls_leave_in_memory_is_no_shortage),
        cmocka_unit_test(values_of_members_fit_static_shared_memory),
        cmocka_unit_test(kernels_for_any_shape_have_room),
    };
    return cmocka_run_group_tests_name("resources of kernels", tests, NULL, NULL);
}
