/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver refuses of a launch, the software GPU refuses, too: sizes of grids and blocks, and the shared memory
 * that the kernel, and not another of its library, was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jit/nvrtc.h"
#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define KB *1024

static software_device device;

static const char source[] = "extern __shared__ unsigned char kiln_shared[];\n"
                             "extern \"C\" __global__ void first() {}\n"
                             "extern \"C\" __global__ void __launch_bounds__(2 * 64, 4) second() {}\n"
                             "extern \"C\" __global__ void third() {\n"
                             "    __shared__ volatile unsigned words[256];\n"
                             "    words[threadIdx.x % 256] = 1;\n"
                             "}\n";

typedef struct kernel_pair {
    kiln__CUlibrary library;
    kiln__CUkernel kernels[2];
} kernel_pair;

static void load(const char *one, const char *other, kernel_pair *out) {
    const char *const names[] = {one, other};
    const kiln__nvrtc *nvrtc = NULL;
    kiln__compile_result result = {0};
    const kiln__compile_request request = {source, "launches.cu", 90, false};
#if defined(KILN_SOFTWARE_NVRTC)
    assert_int_equal(kiln__nvrtc_open(KILN_SOFTWARE_NVRTC, &nvrtc), KILN_OK);
#endif
    if (kiln__nvrtc_compile(nvrtc, &request, &result))
        fail_msg("%s\n%s", kiln_last_error(), result.log ? result.log : "");
    assert_int_equal(device.driver->LibraryLoadData(&out->library, result.image, NULL, NULL, 0, NULL, NULL, 0), 0);
    kiln__compile_result_free(&result);
    for (int k = 0; k < 2; k++)
        assert_int_equal(device.driver->LibraryGetKernel(&out->kernels[k], out->library, names[k]), 0);
}

static kiln__CUresult launch(kiln__CUkernel kernel, const unsigned blocks[3], const unsigned threads[3],
                             unsigned shared) {
    const kiln__driver *driver = device.driver;
    kiln__CUfunction function = NULL;
    assert_int_equal(driver->KernelGetFunction(&function, kernel), 0);
    const kiln__CUlaunchConfig config = {blocks[0],  blocks[1], blocks[2], threads[0], threads[1],
                                         threads[2], shared,    NULL,      NULL,       0};
    const kiln__CUresult result = driver->LaunchKernel(function, blocks[0], blocks[1], blocks[2], threads[0],
                                                       threads[1], threads[2], shared, NULL, NULL, NULL);
    assert_int_equal(driver->LaunchKernelEx(&config, function, NULL, NULL), result);
    return result;
}

static void check_refusal(kiln__CUresult result, const char *words) {
    const char *text = "?";
    assert_int_equal(result, words ? KILN__CUDA_ERROR_INVALID_VALUE : 0);
    device.driver->GetErrorString(result, &text);
    if (words && !strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

static void sizes_are_those_of_a_device(void **unused) {
    (void)unused;
    static const struct {
        unsigned blocks[3], threads[3];
        const char *words;
    } cases[] = {
        {{1, 1, 1}, {1, 1, 1}, NULL},
        {{2, 3, 2}, {8, 4, 2}, NULL},
        {{1, 1, 1}, {1024, 1, 1}, NULL},
        {{1, 1, 1}, {1, 1024, 1}, NULL},
        {{1, 1, 1}, {1, 1, 64}, NULL},
        {{1, 300, 1}, {1, 1, 1}, NULL},
        {{0, 1, 1}, {1, 1, 1}, "a grid of 0 x 1 x 1 blocks"},
        {{1, 0, 1}, {1, 1, 1}, "a grid of 1 x 0 x 1 blocks"},
        {{1, 1, 0}, {1, 1, 1}, "a grid of 1 x 1 x 0 blocks"},
        {{0x80000000u, 1, 1}, {1, 1, 1}, "a grid of 2147483648 x 1 x 1 blocks"},
        {{1, 65536, 1}, {1, 1, 1}, "a grid of 1 x 65536 x 1 blocks"},
        {{1, 1, 65536}, {1, 1, 1}, "a grid of 1 x 1 x 65536 blocks"},
        {{1, 1, 1}, {0, 1, 1}, "blocks of 0 x 1 x 1 threads"},
        {{1, 1, 1}, {1, 0, 1}, "blocks of 1 x 0 x 1 threads"},
        {{1, 1, 1}, {1, 1, 0}, "blocks of 1 x 1 x 0 threads"},
        {{1, 1, 1}, {1025, 1, 1}, "blocks of 1025 x 1 x 1 threads"},
        {{1, 1, 1}, {1, 1025, 1}, "blocks of 1 x 1025 x 1 threads"},
        {{1, 1, 1}, {1, 1, 65}, "blocks of 1 x 1 x 65 threads"},
        {{1, 1, 1}, {64, 4, 8}, "blocks of 64 x 4 x 8 threads"},
    };
    kernel_pair pair;
    load("first", "second", &pair);
    for (size_t i = 0; i < COUNT(cases); i++)
        check_refusal(launch(pair.kernels[0], cases[i].blocks, cases[i].threads, 0), cases[i].words);
    assert_int_equal(device.driver->LibraryUnload(pair.library), 0);
}

static void blocks_are_within_the_launch_bounds(void **unused) {
    (void)unused;
    static const unsigned one[] = {1, 1, 1}, most[] = {32, 2, 2}, more[] = {43, 3, 1};
    kernel_pair pair;
    load("first", "second", &pair);
    check_refusal(launch(pair.kernels[0], one, more, 0), NULL);
    check_refusal(launch(pair.kernels[1], one, most, 0), NULL);
    check_refusal(launch(pair.kernels[1], one, more, 0), "blocks of 129 threads, and launch bounds of 128");
    assert_int_equal(device.driver->LibraryUnload(pair.library), 0);
}

/* Each kernel of a library has the limits that were raised for it, whichever others there are. */
static void shared_memory_is_the_kernels_own(void **unused) {
    (void)unused;
    static const unsigned one[] = {1, 1, 1};
    const kiln__CUfunction_attribute most = KILN__FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    const int fixed = 256 * 4; /* of the third kernel */
    const kiln__driver *driver = device.driver;
    kernel_pair pair;
    int value = 0;
    load("second", "third", &pair);
    check_refusal(launch(pair.kernels[1], one, one, 48 KB - fixed), NULL);
    check_refusal(launch(pair.kernels[1], one, one, 48 KB - fixed + 1), "48129 bytes of dynamic shared memory");
    assert_int_equal(driver->KernelSetAttribute(most, 100 KB, pair.kernels[0], 0), 0);
    assert_int_equal(driver->KernelGetAttribute(&value, most, pair.kernels[0], 0), 0);
    assert_int_equal(value, 100 KB);
    check_refusal(launch(pair.kernels[0], one, one, 100 KB), NULL);
    check_refusal(launch(pair.kernels[0], one, one, 100 KB + 1), "and may have 102400");
    check_refusal(launch(pair.kernels[1], one, one, 100 KB), "and may have 48128");
    assert_int_equal(driver->LibraryGetKernel(&pair.kernels[0], pair.library, "second"), 0); /* asked for again */
    check_refusal(launch(pair.kernels[0], one, one, 100 KB), NULL);
    assert_int_equal(driver->KernelSetAttribute(most, 227 KB, pair.kernels[1], 0), KILN__CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(driver->KernelSetAttribute(most, 226 KB, pair.kernels[1], 0), 0);
    check_refusal(launch(pair.kernels[1], one, one, 226 KB), NULL);
    assert_int_equal(driver->LibraryUnload(pair.library), 0);
}

/* Their first launch has more shared memory than there is unasked, or the second one's is beside too much of it. */
static void values_of_all_rows_are_launched(void **unused) {
    (void)unused;
    static const software_case cases[] = {
        {"d = sum(softmax(x), axes = 0)", KILN_F64, 300, 64, true, 0},
        {"d = sum(x - mean(x), axes = 0) + sumsq(x, axes = all) - max(x, axes = 0)", KILN_F64, 40, 16, true, 0},
        {"d = sum(softmax(x), axes = 0)", KILN_F32, 20, 20000, true, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_status status = KILN_OK;
        const software_result result = software_case_run(&device, &cases[i], &status);
        if (result != SOFTWARE_RIGHT)
            fail_msg("%s: %s", cases[i].program, result == SOFTWARE_WRONG ? "wrong" : kiln_last_error());
    }
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
        cmocka_unit_test(sizes_are_those_of_a_device),
        cmocka_unit_test(blocks_are_within_the_launch_bounds),
        cmocka_unit_test(shared_memory_is_the_kernels_own),
        cmocka_unit_test(values_of_all_rows_are_launched),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
