/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that are planted in kernels with values of all rows and with blocks of columns: without them the kernel is
 * right in every order of threads and blocks, with them it is caught. */
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

#define COLUMNS "d = sum(x, axes = 0) - sum(x, axes = all)"
#define WEIGHTS "d = sum(softmax(x), axes = 0)"
#define BLOCKS "y = x / absmax(x, block = 32) + x / max(abs(x))"
#define SCAN "y = cumsum(x)"
#define LARGEST "y = topk(x, 3)"
#define ALIKE "y = argtopk(where(x > 0, 1, 0), 3)" /* more of one value than there is room for */

static software_device device;

static const struct {
    const char *what, *schedule, *from, *to;
    software_case test;
    const char *message; /* part of a refusal's; NULL: a wrong result */
} plants[] = {
    {"rows with no barrier between them",
     "block 64, stream",
     "    kiln_block_barrier();\n}\n\nextern",
     "}\n\nextern",
     {COLUMNS, KILN_F32, 1200, 67, true, 0},
     "with no barrier between"},
    {"slots that are cleared while rows are added",
     "lanes 8",
     "    kiln_block_barrier();\n    const kiln_i64 together",
     "    const kiln_i64 together",
     {WEIGHTS, KILN_F32, 400, 64, true, 0},
     "with no barrier between"},
    {"slots that are read while rows are added",
     "lanes 8",
     "    kiln_block_barrier();\n    kiln_publish_total",
     "    kiln_publish_total",
     {WEIGHTS, KILN_F32, 400, 64, true, 0},
     "with no barrier between"},
    {"slots that are not cleared",
     "block 64",
     "        for (kiln_i64 i = threadIdx.x; i < Total::count; i += KILN_THREADS)\n            kiln_slot",
     "        for (kiln_i64 i = threadIdx.x; i + 1 < Total::count; i += KILN_THREADS)\n            kiln_slot",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     "no thread of the block has written"},
    {"a slot that two threads share",
     "block 64",
     "(int)at / KILN_VECTOR_WIDTH]",
     "(int)at / KILN_VECTOR_WIDTH / 2]",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     "with no barrier between"},
    {"a slot that columns of a vector share",
     "block 64",
     "[(int)at % KILN_VECTOR_WIDTH * stride + ",
     "[",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     NULL},
    {"slots that rows of a block share",
     "lanes 8",
     "KILN_ACROSS_OFFSET + row_of_block * KILN_ACROSS_BYTES",
     "KILN_ACROSS_OFFSET",
     {WEIGHTS, KILN_F32, 400, 64, true, 0},
     "with no barrier between"},
    {"a row of a block that is left out",
     "lanes 8",
     "for (int row = 1; row < KILN_ROWS_PER_BLOCK; ++row) all",
     "for (int row = 2; row < KILN_ROWS_PER_BLOCK; ++row) all",
     {WEIGHTS, KILN_F32, 400, 64, true, 0},
     NULL},
    {"a block that wrote nothing, read by the second launch",
     "block 64",
     "blocks < 1 ? 1 : blocks < KILN_ACROSS_BLOCKS ? blocks : KILN_ACROSS_BLOCKS;",
     "KILN_ACROSS_BLOCKS;",
     {WEIGHTS, KILN_F32, 3, 260, true, 0},
     NULL},
    {"a block that the second launch leaves out",
     "block 64",
     "block = threadIdx.x / 32; block < blocks;",
     "block = threadIdx.x / 32; block + 1 < blocks;",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     NULL},
    {"blocks that share their place in the workspace",
     "block 64",
     "(kiln_i64)blockIdx.x * KILN_ACROSS_BYTES",
     "(kiln_i64)blockIdx.x / 2 * KILN_ACROSS_BYTES",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     NULL},
    {"warps of the second launch that do not wait for each other",
     "block 64",
     "    kiln_block_barrier();\n    all = parts",
     "    all = parts",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     "which"},
    {"a second launch that does not see its last column",
     "block 64",
     "if (col < 260)",
     "if (col < 259)",
     {WEIGHTS, KILN_F32, 60, 260, true, 0},
     NULL},
    {"half of a block's lanes",
     "lanes 32",
     "kiln_combine_lanes<LANES>(",
     "kiln_combine_lanes<LANES / 2>(",
     {BLOCKS, KILN_F32, 5, 256, false, 0},
     NULL},
    {"twice a block's lanes",
     "lanes 32",
     "kiln_combine_lanes<LANES>(",
     "kiln_combine_lanes<2 * LANES>(",
     {BLOCKS, KILN_F32, 5, 256, false, 0},
     "takes the value of lane"},
    {"lanes of another block",
     "lanes 32",
     "((1u << LANES % 32) - 1) << first",
     "((1u << LANES % 32) - 1)",
     {BLOCKS, KILN_F32, 5, 256, false, 0},
     "is not one of"},
    {"lanes that do not wait for what they sort",
     "lanes 8",
     "        barrier<DIVERGED>();\n        if (kiln_rank() < count) count_before(before, mine, count);",
     "        if (kiln_rank() < count) count_before(before, mine, count);",
     {LARGEST, KILN_F32, 20, 64, false, 0},
     "with no barrier between"},
    {"lanes that add to what they share one beside the other",
     "lanes 8",
     "atomicAdd(&state().count, __popc(taken))",
     "(state().count += __popc(taken)) - __popc(taken)",
     {LARGEST, KILN_F32, 20, 64, false, 0},
     "with no barrier between"},
    {"a block that does not wait for what it has put down",
     "block 64",
     "    KILN_MEMBER bool again() {\n        kiln_row_barrier();",
     "    KILN_MEMBER bool again() {",
     {LARGEST, KILN_F32, 5, 600, false, 0},
     "which"},
    {"a floor above one of the largest",
     "block 64",
     "before[0] == first - 1",
     "before[0] == first - 3",
     {LARGEST, KILN_F32, 5, 600, false, 0},
     NULL},
    {"a floor that a column too few reaches",
     "block 64",
     "column <= last",
     "column < last",
     {ALIKE, KILN_F32, 5, 600, false, 0},
     NULL},
    {"rounds that forget what is left to go over again",
     "block 32, stream, batch 1",
     "        if (sample_mask == 0 && found <= most && !is_too_high(found)) {",
     "        if (true) {",
     {ALIKE, KILN_F32, 5, 600, false, 0},
     NULL},
    {"warps that scan before all have put down theirs",
     "block 64, stream, batch 2",
     "    kiln_block_barrier();\n#pragma unroll 1\n    for (int k = warp;",
     "#pragma unroll 1\n    for (int k = warp;",
     {SCAN, KILN_F32, 5, 3000, false, 0},
     "which"},
    {"warps that take what is before them too soon",
     "block 64, registers",
     "    kiln_block_barrier();\n#pragma unroll\n    for (int k = 0; k < N; ++k) {\n        V before;",
     "#pragma unroll\n    for (int k = 0; k < N; ++k) {\n        V before;",
     {SCAN, KILN_F32, 5, 600, false, 0},
     "which"},
    {"rounds that use the same slots",
     "block 64, stream, batch 2",
     "slots[turn % 2]",
     "slots[0]",
     {SCAN, KILN_F32, 5, 3000, false, 0},
     "with no barrier between"},
    {"rounds that begin anew",
     "lanes 32, stream, batch 2",
     "carried = V::combine(carried, totals[k]);",
     "carried = totals[k];",
     {SCAN, KILN_F32, 5, 3000, false, 0},
     NULL},
    {"a scan of a scan that does not go on from the one before",
     "block 64, registers",
     "            before.start(row, k);\n            parts[k]",
     "            parts[k]",
     {"y = cummax(cumsum(x))", KILN_F32, 5, 600, false, 0},
     NULL},
};

/* How many of the orders were right, and what the last of the others said. */
static int count_right(size_t i, char *message, size_t size) {
    int right = 0;
    /* Kernels stay loaded for the life of a context, planted ones too. */
    assert_int_equal(software_device_close(&device), KILN_OK);
    assert_int_equal(software_device_open(NULL, &device), KILN_OK);
    for (uint64_t seed = 1; seed <= ORDERS; seed++) {
        kiln_status status = KILN_OK;
        device.gpu.seed(seed);
        const software_result result = software_case_run(&device, &plants[i].test, &status);
        right += result == SOFTWARE_RIGHT;
        if (result == SOFTWARE_REFUSED) snprintf(message, size, "%s", kiln_last_error());
        if (result == SOFTWARE_WRONG) snprintf(message, size, "a wrong result");
    }
    return right;
}

static void planted_faults_are_caught(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(plants); i++) {
        char message[1024] = "";
        setenv("KILN_SCHEDULE", plants[i].schedule, 1);
        if (count_right(i, message, sizeof message) != ORDERS) fail_msg("no fault is planted: %s", message);
        device.gpu.plant(plants[i].from, plants[i].to);
        const int right = count_right(i, message, sizeof message);
        device.gpu.plant(NULL, NULL);
        unsetenv("KILN_SCHEDULE");
        print_message("%-66s %d of %d: %s\n", plants[i].what, ORDERS - right, ORDERS, message);
        if (strstr(message, "planted text")) fail_msg("'%s' is not once in the kernel", plants[i].from);
        if (right == ORDERS) fail_msg("nobody saw %s", plants[i].what);
        if (plants[i].message && !strstr(message, plants[i].message))
            fail_msg("'%s' does not say '%s'", message, plants[i].message);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_faults_are_caught)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
