/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that serve any shape: one name for all shapes of a program and its types; where rows lie in a launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "problem/any_shape.h"
#include "support/any_shapes.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SHAPES 200

static kiln_context *new_context(void) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = options.record_path = options.schedule = "";
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    return context;
}

/* The name of the kernel for a random shape: 32 digits. */
static void name_of(size_t p, const kiln_program *program, uint64_t seed, int64_t most, char hex[40]) {
    any_shapes_case c;
    kiln__prepared prepared;
    kiln__key name;
    if (any_shapes_draw(&any_shapes_programs[p], program, seed, most, &c) ||
        kiln__prepare_any_shape(program, c.tensors, NULL, &prepared))
        fail_msg("program %zu, seed %llu: %s", p, (unsigned long long)seed, kiln_last_error());
    assert_int_equal(kiln__prepared_name(&prepared, 90, false, &name), KILN_OK);
    snprintf(hex, 40, "%s", name.hex);
    kiln__key_free(&name);
    kiln__prepared_free(&prepared);
}

static void all_shapes_of_a_program_have_one_name(void **state) {
    (void)state;
    kiln_context *context = new_context();
    char names[ANY_SHAPES_PROGRAMS][40];
    for (size_t p = 0; p < ANY_SHAPES_PROGRAMS; p++) {
        kiln_program *program = NULL;
        assert_int_equal(any_shapes_create(context, &any_shapes_programs[p], &program), KILN_OK);
        for (uint64_t seed = 0; seed < SHAPES; seed++) {
            char name[40];
            name_of(p, program, seed, seed % 2 ? (int64_t)1 << 40 : 5000, seed ? name : names[p]);
            if (seed && strcmp(name, names[p]))
                fail_msg("'%s': seed %llu has another kernel", any_shapes_programs[p].text, (unsigned long long)seed);
        }
        for (size_t other = 0; other < p; other++) assert_string_not_equal(names[other], names[p]);
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
}

static void prepare(const char *text, const char *axes, const char *tensors, kiln__prepared *out) {
    bound b;
    if (bound_create(&b, text, axes, NULL, tensors) || kiln__prepare_any_shape(b.program, b.tensors, b.scalars, out))
        fail_msg("%s: %s", text, kiln_last_error());
    out->counters = NULL;
    bound_destroy(&b);
}

static void the_shape_tells_where_rows_lie(void **state) {
    (void)state;
    static const struct {
        const char *text, *axes, *tensors;
        kiln__shape expected; /* but for its extents */
    } cases[] = {
        {"y = softmax(x)",
         NULL,
         "f16[7,4096] f16[7,4096]",
         {7, 4096, 4096, 1, 0, 0, 0, 0, {0}, 1, 2, 5, 5, 0, 1, 0, 1, -1}},
        {"y = softmax(x)",
         NULL,
         "f16[7,5128] f16[7,5128]",
         {7, 5128, 5128, 1, 0, 0, 0, 0, {0}, 1, 2, 8, 8, 0, 1, 0, 1, -1}},
        {"y = softmax(x)", NULL, "f16[7,64] f16[7,64]", {7, 64, 64, 1, 0, 0, 0, 0, {0}, 1, 2, 1, 1, 0, 1, 0, 1, -1}},
        {"y = softmax(x)", "0", "f32[64,7] f32[64,7]", {7, 64, 64, 1, 0, 0, 0, 0, {0}, 1, 2, 4, 3, 1, 1, 0, 0, -1}},
        {"y = softmax(x)", "0", "f32[9,7] f32[9,7]", {7, 9, 9, 1, 0, 0, 0, 0, {0}, 1, 2, 0, 0, 0, 1, 0, 0, -1}},
        {"y = softmax(x)",
         "0,2",
         "f32[9,7,16] f32[9,7,16]",
         {7, 144, 16, 9, 0, 0, 0, 0, {0}, 1, 3, 4, 2, 0, 1, 0, 1, -1}},
        {"y = x + 1",
         NULL,
         "f32[100,1000] f32[100,1000]",
         {1, 100000, 100000, 1, 0, 0, 0, 0, {0}, 0, 1, 8, 8, 0, 25, 0, 1, -1}},
        {"y = x + 1",
         NULL,
         "f32[100,1000]{2000,1} f32[100,1000]",
         {100, 1000, 1000, 1, 0, 0, 0, 0, {0}, 1, 2, 5, 5, 0, 1, 0, 1, -1}},
        {"y = x + 1",
         NULL,
         "f32[100,2000]{4000,1} f32[100,2000]",
         {100, 2000, 2000, 1, 0, 0, 0, 0, {0}, 1, 2, 5, 5, 0, 1, 0, 1, -1}},
        {"y = x / absmax(x, block = 32)",
         NULL,
         "f16[7,4096] f16[7,4096]",
         {7, 4096, 128, 32, 4096, 32, 0, 0, {0}, 1, 2, 5, 2, 0, 1, 0, 1, -1}},
        {"y = x / absmax(x, block = 32) + sum(x)",
         "1,2",
         "f16[7,3,100] f16[7,3,100]",
         {7, 300, 100, 3, 100, 1, 0, 0, {0}, 1, 2, 4, 2, 0, 1, 0, 1, -1}},
        {"y = x / absmax(x, block = 32) + sum(x)",
         NULL,
         "f16[7,9] f16[7,9]",
         {7, 9, 9, 1, 9, 1, 0, 0, {0}, 1, 2, 2, 2, 0, 1, 0, 1, -1}},
        {"s = sum(x, axes = 0); m = max(x)",
         NULL,
         "f32[7,1000] f32[1000] f32[7]",
         {7, 1000, 1000, 1, 0, 0, 1008, 4032, {0}, 1, 2, 5, 5, 0, 1, 1, 1, -1}},
        {"s = sum(x, axes = 0); t = sum(x, axes = all); y = max(x)",
         NULL,
         "f16[9000,40] f32[40] f32[] f16[9000]",
         {9000, 40, 40, 1, 0, 0, 48, 256, {0}, 1, 2, 1, 1, 0, 1, 71, 1, -1}},
        {"y = softmax(x)",
         NULL,
         "f16[7,70000] f16[7,70000]",
         {7, 70000, 70000, 1, 0, 0, 0, 0, {0}, 1, 2, 8, 8, 0, 2, 0, 1, 0}},
        {"y = sum(x)", "0", "f32[3000,7] f32[1,7]", {7, 3000, 3000, 1, 0, 0, 0, 0, {0}, 1, 2, 8, 3, 1, 12, 0, 0, 0}},
        {"y = cumsum(x)",
         NULL,
         "f32[7,70000] f32[7,70000]",
         {7, 70000, 70000, 1, 0, 0, 0, 0, {0}, 1, 2, 8, 0, 0, 1, 0, 1, -1}},
        {"y = x + 1", NULL, "f32[] f32[]", {1, 1, 1, 1, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0, 1, 0, 0, -1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__prepared prepared;
        prepare(cases[i].text, cases[i].axes, cases[i].tensors, &prepared);
        kiln__shape found = prepared.shape;
        memset(found.extents, 0, sizeof found.extents);
        if (memcmp(&found, &cases[i].expected, offsetof(kiln__shape, stage) + sizeof found.stage))
            fail_msg("%s of %s: %lld rows of %lld columns, %lld runs of %lld, %lld along %lld, %d of %d dimensions, "
                     "shifts %d and %d, %s, %d chunks, %d blocks of %lld bytes, %lld columns padded, %s, stage %d",
                     cases[i].text, cases[i].tensors, (long long)found.rows, (long long)found.cols,
                     (long long)found.runs, (long long)found.run, (long long)found.axis_runs, (long long)found.axis,
                     found.row_dims, found.dims, found.row_shift, found.run_shift,
                     found.rows_in_lanes ? "rows in lanes" : "ranks in lanes", found.chunks, found.blocks,
                     (long long)found.slice, (long long)found.padded_cols, found.vectors ? "vectors" : "elements",
                     found.stage);
        kiln__prepared_free(&prepared);
    }
}

/* Where rows' inputs come to an output of rows, the kernel knows which inputs those are. */
static void outputs_of_rows_inputs_have_a_kernel_of_their_own(void **state) {
    (void)state;
    kiln__prepared both, columns;
    bound b;
    assert_int_equal(
        bound_create_outputs(&b, "t = s * 2; y = max(x) + s", "t,y", NULL, NULL, "f32[5,1] f32[5,9] f32[5,1] f32[5,1]"),
        KILN_OK);
    assert_int_equal(kiln__prepare_any_shape(b.program, b.tensors, b.scalars, &both), KILN_OK);
    bound_tensors("f32[5,9] f32[5,9] f32[5,9] f32[5,9]", b.tensors);
    assert_int_equal(kiln__prepare_any_shape(b.program, b.tensors, b.scalars, &columns), KILN_OK);
    assert_string_not_equal(both.unexpanded, columns.unexpanded);
    kiln__prepared_free(&both);
    kiln__prepared_free(&columns);
    bound_destroy(&b);
}

/* However many columns there are, whether blocks divide them or have them all; however many rows add up. */
static void all_rows_and_blocks_have_one_kernel(void **state) {
    (void)state;
    static const struct {
        const char *text, *outputs, *tensors[5];
    } cases[] = {
        {"s = absmax(x, block = 32); y = x / s",
         "s,y",
         {"f16[4,128] f16[4,4] f16[4,128]", "f16[4,100] f16[4,4] f16[4,100]", "f16[5,31] f16[5,1] f16[5,31]",
          "f16[1,32] f16[1,1] f16[1,32]", "f16[4,1] f16[4,1] f16[4,1]"}},
        {"s = absmax(x, block = 32); y = x / s + sum(x)",
         "s,y",
         {"f16[4,128] f16[4,4] f16[4,128]", "f16[4,100] f16[4,4] f16[4,100]", "f16[5,31] f16[5,1] f16[5,31]",
          "f16[1,32] f16[1,1] f16[1,32]", "f16[4,1] f16[4,1] f16[4,1]"}},
        {"y = x * repeat(s, 16) + argmax(x, block = 48)",
         "y",
         {"f16[4,128] f32[4,8] f16[4,128]", "f16[4,100] f32[4,7] f16[4,100]", "f16[5,15] f32[5,1] f16[5,15]",
          "f16[1,48] f32[1,1] f16[1,48]", "f16[4,48] f32[4,3] f16[4,48]"}},
        {"y = max(x); s = sum(x * w, axes = 0)",
         "y,s",
         {"f32[7,100] f32[100] f32[7] f32[100]", "f32[7,100]{1,7} f32[1] f32[7] f32[100]",
          "f32[1,100] f32[1,100] f32[1] f32[100]", "f32[7,1] f32[7,1] f32[7] f32[1]", "f32[1,1] f32[1] f32[1] f32[1]"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__prepared first;
        for (int t = 0; t < 5; t++) {
            bound b;
            kiln__prepared prepared;
            if (bound_create_outputs(&b, cases[i].text, cases[i].outputs, NULL, NULL, cases[i].tensors[t]) ||
                kiln__prepare_any_shape(b.program, b.tensors, b.scalars, &prepared))
                fail_msg("%s of %s: %s", cases[i].text, cases[i].tensors[t], kiln_last_error());
            prepared.counters = NULL;
            bound_destroy(&b);
            if (t == 0) {
                first = prepared;
                continue;
            }
            if (strcmp(first.unexpanded, prepared.unexpanded) != 0)
                fail_msg("%s of %s has a kernel of its own:\n%s\n%s", cases[i].text, cases[i].tensors[t],
                         first.unexpanded, prepared.unexpanded);
            kiln__prepared_free(&prepared);
        }
        kiln__prepared_free(&first);
    }
}

static void programs_without_such_a_kernel_are_told(void **state) {
    (void)state;
    static const struct {
        const char *text, *outputs, *tensors, *sentence;
    } cases[] = {
        {"y = cumsum(x) / absmax(x, block = 32)", NULL, "f32[4,64] f32[4,64]",
         "values of blocks within rows, whose columns are combined in their order"},
        {"y = x / absmax(x, block = 3) * max(x, block = 16384)", NULL, "f32[4,64] f32[4,64]",
         "whose blocks of 3 columns lie in runs of 49152"},
        {"s = max(x, block = 7) + max(x, block = 100)", NULL, "f32[4,49] f32[4,7]",
         "an output of one value for blocks of two sizes"},
        {"y = sort(x) + max(x, block = 8) * cumsum(x)", NULL, "f32[4,64] f32[4,64]",
         "values of blocks within rows, whose columns are combined in their order"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create_outputs(&b, cases[i].text, cases[i].outputs, NULL, NULL, cases[i].tensors),
                         KILN_OK);
        assert_int_equal(kiln__prepare_any_shape(b.program, b.tensors, b.scalars, &prepared), KILN_E_UNSUPPORTED);
        if (!strstr(kiln_last_error(), cases[i].sentence)) fail_msg("%s", kiln_last_error());
        bound_destroy(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_shapes_of_a_program_have_one_name),
        cmocka_unit_test(the_shape_tells_where_rows_lie),
        cmocka_unit_test(outputs_of_rows_inputs_have_a_kernel_of_their_own),
        cmocka_unit_test(all_rows_and_blocks_have_one_kernel),
        cmocka_unit_test(programs_without_such_a_kernel_are_told),
    };
    return cmocka_run_group_tests_name("any_shape", tests, NULL, NULL);
}
