/* SPDX-License-Identifier: Apache-2.0 */
/* The software GPU holds what it promises: kernels run on it as the CPU reference says, and faults planted in their
 * text are caught, each under at least one of five orders of threads. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ORDERS 5

/* The first and the last of a row's values that are not 0: associative, and the order matters. */
#define FIRST "y = reduce((a, b) -> where(a != 0, a, b), x, 0)"
#define LAST "y = reduce((a, b) -> where(b != 0, b, a), x, 0)"
#define TWICE "y = x / sum(abs(x) / max(abs(x)))" /* two exchanges */
#define NORM "y = layer_norm(x, w, b)"
/* Of 128 columns the topk of some rows has more equal values than there is room for, of others not. */
#define APART "y = topk(where(x > f32(index(0)) - 4, 1.0, 0.0), 8)"

static software_device device;

/* Kernels stay loaded for the life of a context, planted ones too, and so do its pins. */
static void open_anew(void) {
    assert_int_equal(software_device_close(&device), KILN_OK);
    assert_int_equal(software_device_open(NULL, &device), KILN_OK);
}

/* Counts what five orders of threads came to; message: of the last that was not right. */
static void run_orders(const software_case *test, int *right, int *caught, char *message, size_t size) {
    *right = *caught = 0;
    open_anew();
    for (uint64_t seed = 1; seed <= ORDERS; seed++) {
        kiln_status status = KILN_OK;
        device.gpu.seed(seed);
        software_result result = software_case_run(&device, test, &status);
        if (result == SOFTWARE_RIGHT)
            ++*right;
        else
            ++*caught;
        if (result == SOFTWARE_REFUSED) snprintf(message, size, "%s", kiln_last_error());
        if (result == SOFTWARE_WRONG) snprintf(message, size, "a wrong result");
    }
}

static void run_pinned(const char *schedule, const software_case *test, int *right, int *caught, char *message,
                       size_t size) {
    setenv("KILN_SCHEDULE", schedule, 1);
    run_orders(test, right, caught, message, size);
    unsetenv("KILN_SCHEDULE");
    open_anew();
}

/* ---- planted faults --------------------------------------------------------------------------------------- */

static const struct plant {
    const char *what, *from, *to, *schedule;
    software_case test;
    const char *message; /* part of the message of a refusal; NULL where a wrong result is enough */
} plants[] = {
    {"a dropped barrier",
     "    kiln_block_barrier();\n    return",
     "    return",
     "block 64, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 1024, false, 0},
     "slots', which"},
    {"a barrier for some threads",
     "] = value;\n    kiln_block_barrier();",
     "] = value, kiln_block_barrier();\n    kiln_block_barrier();",
     "block 64, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 1024, false, 0},
     "wait at a barrier"},
    {"an off-by-one tail of a row",
     "(int)(KILN_END - col)",
     "(int)(KILN_END - col) + 1",
     "cluster 8, block 128, registers, vector 8, online",
     {"y = softmax(x)", KILN_F16, 2, 50257, false, 0},
     NULL},
    {"an off-by-one end of a row",
     "           col < KILN_END;",
     "           col <= KILN_END;",
     "block 128, registers, vector 4, phased",
     {"y = softmax(x)", KILN_F32, 3, 1000, false, 0},
     NULL},
    {"an off-by-one tail of an array",
     "(int)(row.args.elements - col)",
     "(int)(row.args.elements - col) + 1",
     "threads 128, vector 8, steps 1",
     {"y = x * x + 1", KILN_F16, 1, 1023, false, 0},
     "an allocation of"},
    {"an array without its end",
     "col + KILN_VECTOR_WIDTH > row.args.elements ?",
     "false ?",
     "threads 128, vector 8, steps 1",
     {"y = x * x + 1", KILN_F16, 1, 1023, false, 0},
     "an allocation of"},
    {"a mask of too many lanes",
     "= KILN_THREADS_PER_ROW == 32 ?",
     "= true ?",
     "lanes 8, tile, vector 4, rows 12",
     {"y = softmax(x)", KILN_F32, 5, 32, false, 0},
     "32 in a shuffle"},
    {"a mask of other lanes",
     "(lane / KILN_THREADS_PER_ROW * KILN_THREADS_PER_ROW)",
     "0",
     "lanes 8, tile, vector 4, rows 12",
     {"y = softmax(x)", KILN_F32, 5, 32, false, 0},
     "is not one of"},
    {"a shuffle's partner too far away",
     "lanes<KILN_THREADS_PER_ROW>",
     "lanes<2 * KILN_THREADS_PER_ROW>",
     "lanes 8, registers, vector 4, phased",
     {"y = softmax(x)", KILN_F32, 5, 32, false, 0},
     "takes the value of lane"},
    {"a step of a reduction too few",
     "lanes<KILN_THREADS_PER_ROW>",
     "lanes<KILN_THREADS_PER_ROW / 2>",
     "lanes 8, registers, vector 4, phased",
     {"y = softmax(x)", KILN_F32, 5, 32, false, 0},
     NULL},
    {"a missing guard of a load",
     "if (kiln_inside(row, col, k)) staged[k].load",
     "staged[k].load",
     "block 128, registers, vector 4, phased",
     {"y = softmax(x)", KILN_F32, 3, 1000, false, 0},
     "an allocation of"},
    {"a missing guard of rows",
     "if (row.index >= args.rows) return;",
     "",
     "lanes 8, registers, vector 4, phased",
     {"y = softmax(x)", KILN_F32, 5, 32, false, 0},
     "an allocation"},
    {"a swapped combine order of lanes",
     "? V::combine(other, value) : V::combine(value, other);",
     "? V::combine(value, other) : V::combine(other, value);",
     "lanes 4, registers, vector 4",
     {FIRST, KILN_I32, 5, 32, true, 0},
     NULL},
    {"neighbours that are none",
     "((kiln_index)(rank)*KILN_ROW_STEPS(row) + (step))",
     "((kiln_index)(step)*KILN_THREADS_PER_ROW + (rank))",
     "block 256, registers, vector 4",
     {LAST, KILN_I32, 5, 1500, true, 0},
     NULL},
    {"no wait for asynchronous copies",
     "kiln_copy_wait_but(KILN_CHUNKS - 1 - chunk);",
     "",
     "cluster 8, block 256, shared, vector 8, online, single",
     {"y = softmax(x)", KILN_F16, 2, 60000, false, 0},
     "has not been waited for"},
    {"a shared slot out of range",
     "if (lane == 0) slots[turn % KILN_TURNS][threadIdx.x / 32]",
     "if (lane == 0) slots[turn % KILN_TURNS][threadIdx.x / 32 + 1]",
     "block 64, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 1024, false, 0},
     "outside of its variables"},
    {"a shared slot that is not written",
     "if (lane == 0) slots",
     "if (lane == 0 && threadIdx.x) slots",
     "block 64, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 1024, false, 0},
     "no thread of the block has written"},
    {"a shared pack beyond the size asked for",
     "kiln_staged::copy(kiln_shared, slot(step),",
     "kiln_staged::copy(kiln_shared, slot(step + 1),",
     "cluster 8, block 256, shared, vector 8, online, single",
     {"y = softmax(x)", KILN_F16, 2, 60000, false, 0},
     "outside of its variables"},
    {"a vector wider than its alignment",
     "return first - row.shift;",
     "return first;",
     "cluster 8, block 128, registers, vector 8, online",
     {"y = softmax(x)", KILN_F16, 2, 50257, false, 0},
     "no multiple of"},
    {"packs that begin with their row",
     "return first + row.head;",
     "return first;",
     "lanes 32, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 2049, false, 0},
     "no multiple of"},
    {"a single element too few",
     "kiln_rank() < KILN_SINGLES;",
     "kiln_rank() < KILN_SINGLES - 1;",
     "lanes 32, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 2049, false, 0},
     NULL},
    {"a pack too many between single elements",
     "kiln_rank(), step) < KILN_VECTORS;",
     "kiln_rank(), step) <= KILN_VECTORS;",
     "lanes 32, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 2049, false, 0},
     NULL},
    {"another's pack, taken for one's own",
     "if (!kiln_inside(row, 0, k)) parts[k].clear();",
     "",
     "lanes 32, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 2049, false, 0},
     NULL},
    {"another's element, taken for one's own",
     "if (!kiln_has_single(row)) parts[KILN_BATCH].clear();",
     "",
     "lanes 32, registers, vector 8, phased",
     {"y = softmax(x)", KILN_F16, 3, 2049, false, 0},
     NULL},
    {"a tile that is read while it arrives",
     "    kiln_block_barrier();\n    kiln_staging",
     "    kiln_staging",
     "lanes 1, tile, vector 2, rows 128",
     {"y = softmax(x)", KILN_F16, 20, 33, false, 0},
     "which"},
    {"a tile that is stored while it is computed",
     "    kiln_block_barrier();\n    kiln_staged::drain",
     "    kiln_staged::drain",
     "lanes 1, tile, vector 2, rows 128",
     {"y = softmax(x)", KILN_F16, 20, 33, false, 0},
     "with no barrier between"},
    {"a pair that overhangs its row, stored whole",
     "kiln_store_part(vector, to, span.low, span.high);",
     "kiln_store_part(vector, to, 0, N);",
     "lanes 1, tile, vector 2, rows 128",
     {"y = softmax(x)", KILN_F16, 20, 63, false, 0},
     "with no barrier between"},
    {"a cluster that does not wait for its blocks",
     "    kiln_exchange_end<V>(turn);\n    return",
     "    return",
     "cluster 8, block 256, shared, vector 4, online, single",
     {"y = softmax(x)", KILN_F32, 2, 40000, false, 0},
     "slots', which"},
    {"a cluster that expects too much",
     "kiln_exchange_begin<V>(turn, all * kiln_slot<V>::bytes);",
     "kiln_exchange_begin<V>(turn, all * kiln_slot<V>::bytes + 4);",
     "cluster 8, block 256, shared, vector 4, single",
     {TWICE, KILN_F32, 2, 40000, false, 0},
     "for what their block is sent"},
    {"a cluster that expects too little",
     "kiln_exchange_begin<V>(turn, all * kiln_slot<V>::bytes);",
     "kiln_exchange_begin<V>(turn, all * kiln_slot<V>::bytes - 4);",
     "cluster 8, block 256, shared, vector 4, single",
     {TWICE, KILN_F32, 2, 40000, false, 0},
     NULL},
    {"arrivals of the other phase",
     "turn / 2 % 2);",
     "1);",
     "cluster 8, block 256, shared, vector 4, single",
     {TWICE, KILN_F32, 2, 40000, false, 0},
     "which"},
};

static void planted_faults_are_caught(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(plants); i++) {
        const struct plant *p = &plants[i];
        int right = 0, caught = 0;
        char message[1024] = "";
        device.gpu.plant(p->from, p->to);
        run_pinned(p->schedule, &p->test, &right, &caught, message, sizeof message);
        device.gpu.plant(NULL, NULL);
        print_message("%-42s %d of %d: %s\n", p->what, caught, ORDERS, message);
        if (strstr(message, "planted text"))
            fail_msg("'%s' is not once in the kernel of '%s'", p->from, p->test.program);
        if (!caught) fail_msg("nobody saw %s", p->what);
        if (p->message && !strstr(message, p->message)) fail_msg("'%s' does not say '%s'", message, p->message);
    }
}

static const struct {
    const char *schedule, *from, *to;
    software_case test;
    const char *message;
} pinned_plants[] = {
    {"rows 2",
     "kiln_copy_wait_but(KILN_ROWS_PER_BLOCK - 1 - r);",
     "kiln_copy_wait_but(KILN_ROWS_PER_BLOCK - r);",
     {NORM, KILN_F16, 3, 4096, false, 0},
     "has not been waited for"},
    {"rows 2, phased",
     "    kiln_block_barrier();\n#pragma unroll 1\n    for (int r = warp;",
     "#pragma unroll 1\n    for (int r = warp;",
     {NORM, KILN_F16, 3, 4096, false, 0},
     "::of', which"},
    {"rows 2, online",
     "    }\n    kiln_block_barrier();\n}\n\n/* Staging: the rows",
     "    }\n}\n\n/* Staging: the rows",
     {NORM, KILN_F16, 3, 4096, false, 0},
     "which"},
    {"rows 2, block 128",
     "return count < KILN_ROWS_PER_BLOCK ? (int)count : KILN_ROWS_PER_BLOCK;",
     "return KILN_ROWS_PER_BLOCK;",
     {NORM, KILN_F16, 3, 4096, false, 0},
     "an allocation of"},
    {"rows 3, block 128",
     "if (r > 0 && r >= count) continue;\n                staged[step].recall(kiln_shared, slot(r, step))",
     "staged[step].recall(kiln_shared, slot(0, step))",
     {NORM, KILN_F16, 3, 4096, false, 0},
     "a wrong result"},
    {"rows 2, cluster 2, block 128",
     "kiln_exchange_begin<V>(0, count * KILN_BLOCKS_PER_ROW",
     "kiln_exchange_begin<V>(0, 2 * KILN_BLOCKS_PER_ROW",
     {NORM, KILN_F16, 3, 8192, false, 0},
     "for what their block is sent"},
    {"rows 2",
     "first + r * KILN_ROW_SPACING);\n            if (r < count)",
     "first + r);\n            if (r < count)",
     {NORM, KILN_F16, 19, 2049, false, 0},
     "a wrong result"},
    {"rows 2", "if (i == r) own = single[i];", "", {NORM, KILN_F16, 19, 2049, false, 0}, "a wrong result"},
    {"lanes 16",
     "start();\n        kiln_row_barrier();",
     "start();\n        kiln_rows_barrier();",
     {APART, KILN_F32, 13, 128, false, 0},
     "of lanes"},
    {"stream, splits 2",
     "    kiln_launch_wait();\n",
     "",
     {"y = softmax(x)", KILN_F32, 3, 5000, false, 0},
     "has not waited for the kernel launched before"},
};

static void faults_between_launches_and_blocks_are_caught(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(pinned_plants); i++) {
        int right = 0, caught = 0;
        char message[1024] = "";
        run_pinned(pinned_plants[i].schedule, &pinned_plants[i].test, &right, &caught, message, sizeof message);
        assert_int_equal(right, ORDERS);
        device.gpu.plant(pinned_plants[i].from, pinned_plants[i].to);
        run_pinned(pinned_plants[i].schedule, &pinned_plants[i].test, &right, &caught, message, sizeof message);
        device.gpu.plant(NULL, NULL);
        print_message("%-32s %d of %d: %s\n", pinned_plants[i].schedule, caught, ORDERS, message);
        if (strstr(message, "planted text")) fail_msg("'%s' is not once in the kernel", pinned_plants[i].from);
        assert_int_equal(caught, ORDERS);
        assert_non_null(strstr(message, pinned_plants[i].message));
    }
}

static void kernels_without_faults_pass_in_every_order(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(plants); i++) {
        int right = 0, caught = 0;
        char message[1024] = "";
        if (i > 0 && !memcmp(&plants[i].test, &plants[i - 1].test, sizeof plants[i].test)) continue;
        run_pinned(plants[i].schedule, &plants[i].test, &right, &caught, message, sizeof message);
        if (caught) fail_msg("%s, %lld columns: %s", plants[i].test.program, (long long)plants[i].test.cols, message);
    }
}

/* Compilers before 12.1 do not know arrivals: blocks of a cluster meet at barriers. */
static void clusters_of_older_compilers_meet_at_barriers(void **unused) {
    static const struct {
        const char *schedule;
        software_case test;
    } cases[] = {
        {"cluster 8, block 256, shared", {"y = softmax(x)", KILN_F32, 2, 40000, false, 0}},
        {"cluster 8, block 256, shared", {TWICE, KILN_F32, 2, 40000, false, 0}},
        {"cluster 8, block 128, registers", {"y = softmax(x)", KILN_F16, 3, 50257, false, 0}},
        {"cluster 4, block 512, registers", {"s = sum(x)", KILN_F32, 3, 16384, true, 0}},
        {"cluster 16, block 256, shared, persistent", {"y = softmax(x)", KILN_F16, 3, 600000, false, 0}},
        {"cluster 2, block 128, rows 2", {NORM, KILN_F16, 3, 8192, false, 0}},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int right = 0, caught = 0;
        char message[1024] = "";
        device.gpu.plant("#if defined KILN_ARRIVALS && KILN_COMPILER >= 1201", "#if 0");
        run_pinned(cases[i].schedule, &cases[i].test, &right, &caught, message, sizeof message);
        device.gpu.plant(NULL, NULL);
        if (caught) fail_msg("%s, %lld columns: %s", cases[i].test.program, (long long)cases[i].test.cols, message);
        assert_int_equal(right, ORDERS);
    }
}

static void nothing_is_left_after_a_failed_launch(void **unused) {
    (void)unused;
    software_gpu_counts before, after, programs;
    device.gpu.driver_counts(&before);
    device.gpu.nvrtc_counts(&programs);
    assert_int_equal(programs.programs, 0);
    assert_int_equal(before.allocations, 0);
    assert_int_equal(before.events, 0);
    const software_case test = {"y = x * x + 1", KILN_F32, 7, 100, false, 0};
    kiln_status status = KILN_OK;
    assert_int_equal(software_case_run(&device, &test, &status), SOFTWARE_RIGHT);
    device.gpu.driver_counts(&after);
    assert_int_equal(after.launches - before.launches, 2);
}

/* ---- the device itself ------------------------------------------------------------------------------------ */

static void memory_is_poisoned_and_checked(void **unused) {
    (void)unused;
    const kiln__driver *driver = device.driver;
    kiln__CUdeviceptr address = 0;
    unsigned char bytes[100] = {0};
    device.gpu.seed(1);
    assert_int_equal(driver->MemAlloc(&address, sizeof bytes), 0);
    assert_int_equal(driver->MemcpyDtoH(bytes, address, sizeof bytes), 0);
    for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0xff);
    assert_int_equal(driver->MemcpyDtoH(bytes, address + 1, sizeof bytes), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->MemcpyHtoD(address - 1, bytes, 1), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->MemsetD8(address + 100, 0, 1), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->MemFree(address + 1), KILN__CUDA_ERROR_INVALID_VALUE);
    *(unsigned char *)(uintptr_t)(address + 100) ^= 1; /* as host code behind the driver's back could */
    assert_int_equal(driver->MemFree(address), 700);
}

static void bytes_that_are_no_image_are_refused(void **unused) {
    (void)unused;
    static const char nonsense[] = "any bytes at all, and enough of them";
    kiln__CUlibrary library = NULL;
    assert_int_equal(device.driver->LibraryLoadData(&library, nonsense, NULL, NULL, 0, NULL, NULL, 0),
                     KILN__CUDA_ERROR_INVALID_IMAGE);
    const software_case test = {"y = x * x + 1", KILN_F32, 7, 100, false, 0};
    const int64_t sizes[2] = {test.rows, test.cols};
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, test.type, 2, sizes),
                              kiln_tensor_contiguous(NULL, test.type, 2, sizes)};
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    assert_int_equal(kiln_program_create(device.kiln, test.program, NULL, &program), KILN_OK);
    assert_int_equal(kiln_compile(program, tensors, 2, NULL, 0, 120, 0, 1, &kernel), KILN_OK);
    size_t size = 0;
    const void *image = kiln_kernel_image(kernel, &size);
    assert_int_equal(device.driver->LibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0),
                     KILN__CUDA_ERROR_NO_BINARY_FOR_GPU);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
}

static void a_source_that_does_not_compile_is_refused_with_a_log(void **unused) {
    (void)unused;
    const software_case test = {"y = x * x + 1", KILN_F64, 7, 100, false, 0};
    kiln_status status = KILN_OK;
    device.gpu.plant("kiln_begin(row);", "kiln_begun(row);");
    assert_int_equal(software_case_run(&device, &test, &status), SOFTWARE_REFUSED);
    device.gpu.plant(NULL, NULL);
    assert_int_equal(status, KILN_E_COMPILE);
    assert_non_null(strstr(kiln_last_error(), "kiln_begun"));
    assert_non_null(strstr(kiln_last_error(), "kiln_kernel.cu"));
}

static int open_device(void **unused) {
    (void)unused;
    return software_device_open(NULL, &device) != KILN_OK;
}

static int close_device(void **unused) {
    (void)unused;
    return software_device_close(&device) != KILN_OK;
}

int main(void) {
#if !defined(KILN_SOFTWARE_DRIVER)
    puts("skipped: the software GPU was not built, for want of a C++ compiler");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_faults_are_caught),
        cmocka_unit_test(faults_between_launches_and_blocks_are_caught),
        cmocka_unit_test(kernels_without_faults_pass_in_every_order),
        cmocka_unit_test(clusters_of_older_compilers_meet_at_barriers),
        cmocka_unit_test(nothing_is_left_after_a_failed_launch),
        cmocka_unit_test(memory_is_poisoned_and_checked),
        cmocka_unit_test(bytes_that_are_no_image_are_refused),
        cmocka_unit_test(a_source_that_does_not_compile_is_refused_with_a_log),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
