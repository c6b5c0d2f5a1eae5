/* SPDX-License-Identifier: Apache-2.0 */
/* CUB as a yardstick: reductions whose order is of no matter have the same bits, combined by CUB's BlockReduce or by
 * Kiln's own blocks. Exit status 77 where there is no GPU, no NVRTC, or no headers of CUB's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "gpu_device.h"
#include "support/fuzz_draw.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = 5, MOST_COLUMNS = 50257, OUTPUT_BYTES = 8 * ROWS };

static const struct {
    const char *text;
    kiln_type in, out;
} programs[] = {
    {"y = max(x)", KILN_F16, KILN_F16},          {"y = min(x)", KILN_F32, KILN_F32},
    {"y = max(abs(x))", KILN_BF16, KILN_F32},    {"y = sum(x)", KILN_I32, KILN_I64},
    {"y = sum(x)", KILN_U8, KILN_I64},           {"y = argmax(x)", KILN_F16, KILN_I64},
    {"y = argmin(x)", KILN_I32, KILN_I64},       {"y = any(x > 9)", KILN_F64, KILN_BOOL},
    {"y = max(x) - min(x)", KILN_I64, KILN_I64},
};
static const char *const pins[] = {"32", "128, shared", "256, phased", "1024, stream"};
static const int64_t columns[] = {1000, 4096, 5001, MOST_COLUMNS};

/* Bits of any value; of floats none that is no number. */
static void fill(unsigned char *bytes, size_t size, kiln_type type, fuzz_random *random) {
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)fuzz_random_below(random, 256);
    const size_t element = kiln_type_size(type);
    const bool floats = type == KILN_F16 || type == KILN_BF16 || type == KILN_F32 || type == KILN_F64;
    for (size_t i = element - 1; floats && i < size; i += element) bytes[i] &= 0xbb; /* of the exponent one bit is 0 */
}

/* KILN_E_COMPILE where CUB's headers are missing, among others. */
static kiln_status run(const kiln__driver *driver, const char *group, const char *pin, size_t program, int64_t cols,
                       kiln__CUdeviceptr memory, unsigned char out[OUTPUT_BYTES]) {
    char schedule[64];
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *made = NULL;
    snprintf(schedule, sizeof schedule, "%s %s", group, pin);
    options.schedule = schedule;
    const kiln__CUdeviceptr results = memory + ROWS * (kiln__CUdeviceptr)MOST_COLUMNS * 8;
    const int64_t sizes[] = {ROWS, cols};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous((void *)(uintptr_t)memory, programs[program].in, 2, sizes),
                                   kiln_tensor_contiguous((void *)(uintptr_t)results, programs[program].out, 1, sizes)};
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, programs[program].text, NULL, &made);
    if (!status) status = kiln_run(made, tensors, 2, NULL, 0, NULL);
    memset(out, 0, OUTPUT_BYTES);
    if (!status &&
        (driver->CtxSynchronize() || driver->MemcpyDtoH(out, results, ROWS * kiln_type_size(programs[program].out))))
        status = KILN_E_LAUNCH;
    kiln_program_destroy(made);
    kiln_context_destroy(context);
    return status;
}

int main(void) {
    const kiln__driver *driver;
    kiln__CUcontext context;
    kiln__CUdeviceptr memory;
    kiln__device device;
    const size_t most = (size_t)ROWS * MOST_COLUMNS * 8;
    fuzz_random random = {20261130};
    int passed = 0, failed = 0;
    if (gpu_device_open(&driver, &context, &device) || gpu_device_reorder(driver)) return 77;
    unsigned char *bytes = malloc(most), by_cub[OUTPUT_BYTES], by_block[OUTPUT_BYTES];
    if (!bytes || driver->MemAlloc(&memory, most + OUTPUT_BYTES)) return 1;
    for (size_t p = 0; p < COUNT(programs); p++) {
        fill(bytes, most, programs[p].in, &random);
        if (driver->MemcpyHtoD(memory, bytes, most)) return 1;
        for (size_t i = 0; i < COUNT(pins); i++) {
            const int64_t cols = columns[(p + i) % COUNT(columns)];
            kiln_status status = run(driver, "cub", pins[i], p, cols, memory, by_cub);
            if (status == KILN_E_COMPILE && strstr(kiln_last_error(), "KILN_CUB may name")) return 77;
            if (!status) status = run(driver, "block", pins[i], p, cols, memory, by_block);
            if (!status && !memcmp(by_cub, by_block, OUTPUT_BYTES)) {
                passed++;
                continue;
            }
            failed++;
            printf("%s of %s, %" PRId64 " columns, %s: %s\n", programs[p].text, kiln_type_name(programs[p].in), cols,
                   pins[i], status ? kiln_last_error() : "other bits");
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    free(bytes);
    return failed != 0;
}
