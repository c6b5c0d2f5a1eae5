/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters and cooperative grids on the software GPU: kernels written by hand are right in every order of threads and
 * blocks, and what they can do wrong is caught in every order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "jit/nvrtc.h"
#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ORDERS 5
#define THREADS 32u
#define BLOCK_LIMIT 64u

static software_device device;

/* Each block of a cluster sums its numbers, tells all others, and adds up what it was told: twice, in the same slots.
 */
static const char cluster_sum[] = "extern \"C\" __global__ void __cluster_dims__(C, 1, 1) __launch_bounds__(32)\n"
                                  "sum(const unsigned *x, unsigned *, unsigned *, unsigned *y) {\n"
                                  "    __shared__ unsigned own[32];\n"
                                  "    __shared__ unsigned slots[C];\n"
                                  "    const unsigned rank = kiln_cluster_rank();\n"
                                  "    unsigned total = 0;\n"
                                  "    for (int round = 0; round < 2; round++) {\n"
                                  "        kiln_cluster_barrier(); /* before writing */\n"
                                  "        own[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x] + total;\n"
                                  "        __syncthreads();\n"
                                  "        unsigned sum = total = 0;\n"
                                  "        for (int t = 0; t < 32; t++) sum += own[t];\n"
                                  "        if (threadIdx.x < C) kiln_cluster_write(&slots[rank], threadIdx.x, sum);\n"
                                  "        kiln_cluster_barrier(); /* before reading */\n"
                                  "        for (int block = 0; block < C; block++) total += slots[block];\n"
                                  "    }\n"
                                  "    if (threadIdx.x == 0) y[blockIdx.x] = total;\n"
                                  "}\n";

/* The same for all blocks of a grid, through global memory. */
static const char grid_sum[] = "extern \"C\" __launch_bounds__(32) __global__ void sum(const unsigned *x, unsigned "
                               "*parts, unsigned *counter, unsigned *y) {\n"
                               "    unsigned total = 0;\n"
                               "    for (int round = 0; round < 2; round++) {\n"
                               "        unsigned sum = 0;\n"
                               "        for (int t = 0; t < 32; t++) sum += x[blockIdx.x * 32 + t] + total;\n"
                               "        if (threadIdx.x == 0) parts[blockIdx.x] = sum;\n"
                               "        kiln_grid_barrier(counter); /* before reading */\n"
                               "        total = 0;\n"
                               "        for (int block = 0; block < gridDim.x; block++) total += parts[block];\n"
                               "        if (round == 0) kiln_grid_barrier(counter); /* before writing */\n"
                               "    }\n"
                               "    if (threadIdx.x == 0) y[blockIdx.x] = total;\n"
                               "}\n";

#define AT_WRITING "        kiln_cluster_barrier(); /* before writing */\n"
#define AT_READING "        kiln_cluster_barrier(); /* before reading */\n"

typedef struct hand_kernel {
    kiln__CUlibrary library;
    kiln__CUkernel kernel;
    kiln__CUfunction function;
    kiln__CUdeviceptr x, parts, counter, y;
} hand_kernel;

/* The kernel `sum` of the source, with clusters of so many blocks; text is planted. */
static void load(const char *source, unsigned cluster, const char *from, const char *to, hand_kernel *out) {
    char text[4096];
    unsigned values[BLOCK_LIMIT * THREADS];
    const kiln__nvrtc *nvrtc = NULL;
    kiln__compile_result result = {0};
    const kiln__driver *driver = device.driver;
    snprintf(text, sizeof text, "#define C %u\n%s", cluster, source);
    const kiln__compile_request request = {text, "sum.cu", 90, false};
    device.gpu.plant(from, to);
#if defined(KILN_SOFTWARE_NVRTC)
    assert_int_equal(kiln__nvrtc_open(KILN_SOFTWARE_NVRTC, &nvrtc), KILN_OK);
#endif
    if (kiln__nvrtc_compile(nvrtc, &request, &result))
        fail_msg("%s\n%s", kiln_last_error(), result.log ? result.log : "");
    device.gpu.plant(NULL, NULL);
    assert_int_equal(driver->LibraryLoadData(&out->library, result.image, NULL, NULL, 0, NULL, NULL, 0), 0);
    kiln__compile_result_free(&result);
    assert_int_equal(driver->LibraryGetKernel(&out->kernel, out->library, "sum"), 0);
    assert_int_equal(driver->KernelGetFunction(&out->function, out->kernel), 0);
    for (unsigned i = 0; i < COUNT(values); i++) values[i] = i * 2654435761u >> 20;
    assert_int_equal(driver->MemAlloc(&out->x, sizeof values), 0);
    assert_int_equal(driver->MemcpyHtoD(out->x, values, sizeof values), 0);
    assert_int_equal(driver->MemAlloc(&out->parts, BLOCK_LIMIT * sizeof(unsigned)), 0);
    assert_int_equal(driver->MemAlloc(&out->counter, sizeof(unsigned)), 0);
    assert_int_equal(driver->MemsetD32Async(out->counter, 0, 1, NULL), 0);
    assert_int_equal(driver->MemAlloc(&out->y, BLOCK_LIMIT * sizeof(unsigned)), 0);
}

static void unload(hand_kernel *kernel) {
    const kiln__CUdeviceptr memory[] = {kernel->x, kernel->parts, kernel->counter, kernel->y};
    for (size_t i = 0; i < COUNT(memory); i++) assert_int_equal(device.driver->MemFree(memory[i]), 0);
    assert_int_equal(device.driver->LibraryUnload(kernel->library), 0);
}

static void allow_large_clusters(const hand_kernel *kernel) {
    const kiln__CUfunction_attribute allowed = KILN__FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    assert_int_equal(device.driver->KernelSetAttribute(allowed, 1, kernel->kernel, 0), 0);
}

/* What the driver answers; *right: whether each group of so many blocks has the sum of its own numbers. */
static kiln__CUresult run(const hand_kernel *kernel, bool cooperative, unsigned blocks, unsigned group, bool *right) {
    const kiln__driver *driver = device.driver;
    void *parameters[] = {(void *)(uintptr_t)&kernel->x, (void *)(uintptr_t)&kernel->parts,
                          (void *)(uintptr_t)&kernel->counter, (void *)(uintptr_t)&kernel->y};
    unsigned sums[BLOCK_LIMIT];
    *right = false;
    kiln__CUresult result = driver->MemsetD8(kernel->parts, 0xee, BLOCK_LIMIT * sizeof(unsigned));
    if (!result) result = driver->MemsetD8(kernel->y, 0xee, sizeof sums);
    kiln__CUlaunchAttribute together = {.id = KILN__LAUNCH_ATTRIBUTE_COOPERATIVE, .value.on = 1};
    const kiln__CUlaunchConfig config = {blocks, 1, 1, THREADS, 1, 1, 0, NULL, &together, 1};
    if (!result && cooperative)
        result = driver->LaunchKernelEx(&config, kernel->function, parameters, NULL);
    else if (!result)
        result = driver->LaunchKernel(kernel->function, blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL);
    if (result) return result;
    assert_int_equal(driver->MemcpyDtoH(sums, kernel->y, sizeof sums), 0);
    *right = true;
    for (unsigned block = 0; block < blocks; block++) {
        unsigned expected = 0;
        const unsigned first = block / group * group;
        for (unsigned i = first * THREADS; i < (first + group) * THREADS; i++) expected += i * 2654435761u >> 20;
        expected += expected * group * THREADS;
        *right = *right && sums[block] == expected;
    }
    return 0;
}

static const char *describe(kiln__CUresult result) {
    const char *text = "?";
    device.driver->GetErrorString(result, &text);
    return text;
}

/* ---- what is right ---------------------------------------------------------------------------------------- */

static void clusters_are_right_in_every_order(void **unused) {
    (void)unused;
    static const unsigned sizes[] = {1, 2, 3, 8, 16};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        hand_kernel kernel;
        load(cluster_sum, sizes[i], NULL, NULL, &kernel);
        if (sizes[i] > 8) allow_large_clusters(&kernel);
        for (uint64_t seed = 1; seed <= 20; seed++) {
            bool right = false;
            device.gpu.seed(seed);
            const kiln__CUresult result = run(&kernel, seed % 4 == 0, 3 * sizes[i], sizes[i], &right);
            if (result || !right)
                fail_msg("clusters of %u, seed %d: %s", sizes[i], (int)seed, result ? describe(result) : "wrong");
        }
        unload(&kernel);
    }
}

static void threads_that_exit_count_as_arrived_at_the_barrier_of_a_cluster(void **unused) {
    (void)unused;
    hand_kernel kernel;
    load(cluster_sum, 4, AT_READING, "        if (round && threadIdx.x >= C) return;\n" AT_READING, &kernel);
    for (uint64_t seed = 1; seed <= ORDERS; seed++) {
        bool right = false;
        device.gpu.seed(seed);
        const kiln__CUresult result = run(&kernel, false, 12, 4, &right);
        if (result || !right) fail_msg("seed %d: %s", (int)seed, result ? describe(result) : "wrong");
    }
    unload(&kernel);
}

static void cooperative_grids_are_right_in_every_order(void **unused) {
    (void)unused;
    hand_kernel kernel;
    load(grid_sum, 1, NULL, NULL, &kernel);
    for (uint64_t seed = 1; seed <= 20; seed++) { /* three barriers each: the counter begins with either top bit */
        const unsigned blocks = (unsigned)(seed * 7 % BLOCK_LIMIT) + 1;
        bool right = false;
        device.gpu.seed(seed);
        const kiln__CUresult result = run(&kernel, true, blocks, blocks, &right);
        if (result || !right)
            fail_msg("%u blocks, seed %d: %s", blocks, (int)seed, result ? describe(result) : "wrong");
    }
    unload(&kernel);
}

/* ---- planted faults --------------------------------------------------------------------------------------- */

#define WRITE "if (threadIdx.x < C) kiln_cluster_write(&slots[rank], threadIdx.x, sum);"
#define LAST "    if (threadIdx.x == 0) y[blockIdx.x] = total;\n"

static const struct plant {
    const char *what, *source, *from, *to;
    kiln__CUresult code;
    const char *message;
} plants[] = {
    {"no barrier between a remote write and its reading", cluster_sum, AT_READING, "        __syncthreads();\n", 700,
     "'sum::slots', which"},
    {"no barrier between reading and the next remote write", cluster_sum, AT_WRITING,
     "        if (round == 0) kiln_cluster_barrier();\n", 700, "'sum::slots', which"},
    {"a remote write to a block that may not have begun", cluster_sum, AT_WRITING,
     "        if (round) kiln_cluster_barrier();\n", 700, "to have begun"},
    {"a remote write to a block that may have exited", cluster_sum, LAST,
     LAST "    if (threadIdx.x == 0) kiln_cluster_write(&own[0], rank ^ 1, 0);\n", 0, "exit"},
    {"a remote write beyond the cluster", cluster_sum, WRITE,
     "if (threadIdx.x < C) kiln_cluster_write(&slots[rank], threadIdx.x + 1, sum);", 719,
     "block 4 of its cluster of 4"},
    {"a remote write beyond the variable", cluster_sum, WRITE,
     "if (threadIdx.x < C) kiln_cluster_write(slots + C + rank, threadIdx.x, sum);", 700, "outside of its variables"},
    {"a remote write to global memory", cluster_sum, WRITE,
     "if (threadIdx.x < C) kiln_cluster_write(y, threadIdx.x, sum);", 700, "not in shared memory"},
    {"two remote writers of a word", cluster_sum, WRITE,
     "if (threadIdx.x < C) kiln_cluster_write(&slots[0], threadIdx.x, sum);", 700, "'sum::slots', which"},
    {"a block that skips a cluster's barrier", cluster_sum, AT_READING,
     "        if (rank) kiln_cluster_barrier();\n        else __syncthreads();\n", 700, "'sum::slots', which"},
    {"different barriers", cluster_sum, "        __syncthreads();\n",
     "        if (threadIdx.x) __syncthreads();\n        else kiln_cluster_barrier();\n", 719, "at one of the cluster"},
    {"no barrier of the grid between writing and reading", grid_sum, "kiln_grid_barrier(counter); /* before reading */",
     "__syncthreads();", 700, "with no grid barrier between"},
    {"no barrier of the grid between reading and writing", grid_sum,
     "        if (round == 0) kiln_grid_barrier(counter); /* before writing */\n", "", 700,
     "with no grid barrier between"},
    {"a block that skips the grid's barrier", grid_sum, "    unsigned total = 0;\n",
     "    unsigned total = 0;\n    if (blockIdx.x == 3) return;\n", 719, "at one of the grid"},
    {"threads that skip the grid's barrier", grid_sum, "    unsigned total = 0;\n",
     "    unsigned total = 0;\n    if (threadIdx.x == 3) return;\n", 719, "at one of the grid"},
    {"a counter of each block's own", grid_sum, "kiln_grid_barrier(counter); /* before reading */",
     "parts[8 + blockIdx.x] = 0, kiln_grid_barrier(&parts[8 + blockIdx.x]);", 719, "where other threads have it"},
    {"a counter that is not aligned", grid_sum, "kiln_grid_barrier(counter); /* before reading */",
     "kiln_grid_barrier((unsigned *)((char *)parts + 1));", 716, "no multiple of 4"},
    {"a counter that is not there", grid_sum, "kiln_grid_barrier(counter); /* before reading */",
     "kiln_grid_barrier(counter + 1);", 700, "after the end of an allocation"},
    {"a counter that is not 0", grid_sum, "kiln_grid_barrier(counter); /* before reading */", "kiln_grid_barrier(y);",
     719, "0xeeeeeeee"},
};

static void planted_faults_are_caught_in_every_order(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(plants); i++) {
        const struct plant *p = &plants[i];
        const bool cooperative = p->source == grid_sum;
        hand_kernel kernel;
        load(p->source, 4, p->from, p->to, &kernel);
        for (uint64_t seed = 1; seed <= ORDERS; seed++) {
            bool right = false;
            device.gpu.seed(seed);
            const kiln__CUresult result = run(&kernel, cooperative, 8, cooperative ? 8 : 4, &right);
            if (!result) fail_msg("%s, seed %d: %s", p->what, (int)seed, right ? "right" : "wrong");
            if (seed == 1) print_message("%-52s %s\n", p->what, describe(result));
            if ((p->code && p->code != result) || !strstr(describe(result), p->message))
                fail_msg("%s, seed %d: '%s' (%d) does not say '%s' (%d)", p->what, (int)seed, describe(result), result,
                         p->message, p->code);
        }
        unload(&kernel);
    }
}

/* ---- what the driver refuses ------------------------------------------------------------------------------ */

static void cluster_sizes_are_checked_at_launch(void **unused) {
    (void)unused;
    hand_kernel kernel;
    bool right = false;
    load(cluster_sum, 4, NULL, NULL, &kernel);
    assert_int_equal(run(&kernel, false, 6, 4, &right), 912);
    assert_non_null(strstr(describe(912), "clusters of 4 blocks, in a grid of 6"));
    unload(&kernel);
    load(cluster_sum, 16, NULL, NULL, &kernel);
    assert_int_equal(run(&kernel, false, 16, 16, &right), 912);
    allow_large_clusters(&kernel);
    assert_int_equal(run(&kernel, false, 16, 16, &right), 0);
    assert_true(right);
    unload(&kernel);
    load(cluster_sum, 17, NULL, NULL, &kernel);
    allow_large_clusters(&kernel);
    assert_int_equal(run(&kernel, false, 17, 17, &right), 912);
    unload(&kernel);
}

static void clusters_do_not_compile_for_devices_without_them(void **unused) {
    (void)unused;
    const kiln__nvrtc *nvrtc = NULL;
    kiln__compile_result result = {0};
    char text[4096];
    snprintf(text, sizeof text, "#define C 4\n%s", cluster_sum);
    const kiln__compile_request request = {text, "sum.cu", 80, false};
#if defined(KILN_SOFTWARE_NVRTC)
    assert_int_equal(kiln__nvrtc_open(KILN_SOFTWARE_NVRTC, &nvrtc), KILN_OK);
#endif
    assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_E_COMPILE);
    assert_non_null(strstr(result.log, "cluster"));
    kiln__compile_result_free(&result);
}

static void the_barrier_of_a_grid_needs_a_cooperative_launch(void **unused) {
    (void)unused;
    hand_kernel kernel;
    bool right = false;
    load(grid_sum, 1, NULL, NULL, &kernel);
    for (uint64_t seed = 1; seed <= ORDERS; seed++) {
        device.gpu.seed(seed);
        assert_int_equal(run(&kernel, false, 8, 8, &right), 719);
        assert_non_null(strstr(describe(719), "not cooperative"));
    }
    unload(&kernel);
}

static void cooperative_grids_are_as_large_as_the_device_holds(void **unused) {
    (void)unused;
    const kiln__driver *driver = device.driver;
    hand_kernel kernel;
    int blocks = 0, sms = 0;
    bool right = false;
    load(grid_sum, 1, NULL, NULL, &kernel);
    device.gpu.set_sms(1);
    assert_int_equal(driver->DeviceGetAttribute(&sms, KILN__DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
    assert_int_equal(sms, 1);
    static const struct {
        int threads;
        size_t shared;
        int blocks;
    } table[] = {
        {32, 0, 32},        {33, 0, 32},        {65, 0, 21},        {1024, 0, 2},       {32, 40 << 10, 5},
        {32, 113 << 10, 2}, {32, 114 << 10, 1}, {32, 227 << 10, 1}, {32, 228 << 10, 0}, {1025, 0, 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        assert_int_equal(driver->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, table[i].threads,
                                                                           table[i].shared),
                         0);
        if (blocks != table[i].blocks)
            fail_msg("%d blocks of %d threads and %zu bytes, not %d", blocks, table[i].threads, table[i].shared,
                     table[i].blocks);
    }
    assert_int_equal(driver->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function, 0, 0),
                     KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(run(&kernel, true, 33, 33, &right), 720);
    assert_non_null(strstr(describe(720), "33 blocks, and 1 SMs hold 32 each"));
    assert_int_equal(run(&kernel, true, 32, 32, &right), 0);
    assert_true(right);
    device.gpu.set_sms(0);
    assert_int_equal(run(&kernel, true, 33, 33, &right), 0);
    assert_true(right);
    unload(&kernel);
}

static void memory_is_set_in_words(void **unused) {
    (void)unused;
    const kiln__driver *driver = device.driver;
    kiln__CUdeviceptr address = 0;
    unsigned words[2] = {0, 0};
    assert_int_equal(driver->MemAlloc(&address, sizeof words), 0);
    assert_int_equal(driver->MemsetD32Async(address, 0x12345678, 2, NULL), 0);
    assert_int_equal(driver->MemcpyDtoH(words, address, sizeof words), 0);
    assert_int_equal(words[0], 0x12345678);
    assert_int_equal(words[1], 0x12345678);
    assert_int_equal(driver->MemsetD32Async(address, 0, 3, NULL), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->MemsetD32Async(address + 2, 0, 1, NULL), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->MemFree(address), 0);
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
        cmocka_unit_test(clusters_are_right_in_every_order),
        cmocka_unit_test(threads_that_exit_count_as_arrived_at_the_barrier_of_a_cluster),
        cmocka_unit_test(cooperative_grids_are_right_in_every_order),
        cmocka_unit_test(planted_faults_are_caught_in_every_order),
        cmocka_unit_test(cluster_sizes_are_checked_at_launch),
        cmocka_unit_test(clusters_do_not_compile_for_devices_without_them),
        cmocka_unit_test(the_barrier_of_a_grid_needs_a_cooperative_launch),
        cmocka_unit_test(cooperative_grids_are_as_large_as_the_device_holds),
        cmocka_unit_test(memory_is_set_in_words),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
