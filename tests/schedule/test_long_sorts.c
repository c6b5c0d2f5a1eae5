/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are sorted, of every type, and those that have no room in shared memory, on the software GPU against the
 * CPU reference: of many columns, of many that are chosen, over any axis, by keys of any width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const packed_case cases[] = {
    {"y = sort(x)", "1", "f32[2,40000] f32[2,40000]",
     "block 1024, stream, inner, vector 4 x 10, batch 4, in the workspace", NULL, false},
    {"i = argsort(x, descending = true)", "1", "f16[1,70001] i64[1,70001]",
     "block 1024, stream, inner, vector 2 x 35, batch 4, masked, in the workspace", NULL, false},
    {"y = sort_by(x, k)", "1", "f32[1,30000] f64[1,30000] f32[1,30000]",
     "block 1024, registers, inner, vector 4 x 8, in the workspace", NULL, false},
    {"y = sort(x)", "0", "i32[33000,3] i32[33000,3]",
     "block 1024, stream, inner, vector 1 x 33, batch 4, in the workspace", NULL, false},
    {"i = argsort(x)", "1", "bf16[1,40000] i64[1,40000]",
     "block 512, stream, inner, vector 2 x 40, batch 4, in the workspace", NULL, false}, /* in 4 bytes */
    {"y = sort(x)", "1", "f32[1,36000] f32[1,36000]",
     "block 32, stream, inner, vector 4 x 282, batch 4, in the workspace", NULL, false}, /* more tiles than threads */
    {"y = cumsum(sort(x))", "1", "i32[1,29000] i32[1,29000]",
     "block 1024, registers, inner, vector 4 x 8, ordered, in the workspace", NULL, false},
    {"y = max(x) - sort(x)", "1", "f16[300,29000] f32[300,29000]",
     "block 1024, registers, inner, vector 4 x 8, in the workspace", NULL, false}, /* a block has rows */
    {"i = argtopk(x, 20000)", "1", "f32[1,90000] i64[1,20000]",
     "block 1024, stream, inner, vector 4 x 22, batch 4, in the workspace", NULL, false},
};

static void long_rows_are_sorted_as_the_reference_does(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) run_packed_case(&cases[i], NULL);
}

/* By keys of as many bits as a type has, beside their numbers in 4 bytes where these have room. */
static void expect_sorted(const char *type, int columns) {
    char tensors[100];
    snprintf(tensors, sizeof tensors, "%s[1,%d] %s[1,%d]", type, columns, type, columns);
    run_packed_case(&(packed_case){"y = sort(x)", "1", tensors, "inner", NULL, false}, NULL);
    snprintf(tensors, sizeof tensors, "%s[1,%d] i64[1,%d]", type, columns, columns);
    run_packed_case(&(packed_case){"i = argsort(x, descending = true)", "1", tensors, "inner", NULL, false}, NULL);
}

static void values_of_every_type_are_sorted(void **state) {
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32",
                                        "i16", "i8",  "u64", "u32",  "u16",  "u8",   "bool"};
    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) expect_sorted(types[i], 70);
    expect_sorted("f16", 9000); /* told apart by 19 bits, which leave 13 for numbers */
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_rows_are_sorted_as_the_reference_does),
                                       cmocka_unit_test(values_of_every_type_are_sorted)};
    return cmocka_run_group_tests_name("long rows that are sorted", tests, open_packed_device, close_packed_device);
}
