/* SPDX-License-Identifier: Apache-2.0 */
/* The public API with bad input: a status and one sentence each, nothing crashes, and the next valid call works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "support/launch_fixture.h"
#include "support/used_memory.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- programs ---- */

static const struct {
    const char *text, *outputs, *scalars;
    kiln_status status;
    const char *sentence;
} bad_programs[] = {
    {"", NULL, NULL, KILN_E_SYNTAX, "1:1: expected a statement 'name = expression', found the end of the program"},
    {"y = softmax(x", NULL, NULL, KILN_E_SYNTAX, "1:14: expected ',' or ')', found the end of the program"},
    {"y = x +", NULL, NULL, KILN_E_SYNTAX, "1:8: expected an expression, found the end of the program"},
    {"y = x $ 2", NULL, NULL, KILN_E_SYNTAX, "1:7: '$' is not part of the language"},
    {"y = sofmax(x)", NULL, NULL, KILN_E_NAME, "1:5: unknown function 'sofmax'; did you mean 'softmax'?"},
    {"y = x; y = x + 1", NULL, NULL, KILN_E_NAME, "1:8: 'y' is assigned twice, first at 1:1"},
    {"y = x", "z", NULL, KILN_E_NAME, "output 'z' does not occur in the program"},
    {"y = x", "x", NULL, KILN_E_NAME, "output 'x' is never assigned"},
    {"y = x", "y,y", NULL, KILN_E_NAME, "output 'y' is listed twice"},
    {"y = x", NULL, "k", KILN_E_NAME, "scalar 'k' does not occur in the program"},
    {"y = x", NULL, "y", KILN_E_NAME, "scalar 'y' is assigned by the program"},
};

static void bad_programs_are_refused(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    for (size_t i = 0; i < COUNT(bad_programs); i++) {
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = (kiln_program *)f;
        options.outputs = bad_programs[i].outputs;
        options.scalars = bad_programs[i].scalars;
        kiln_status status = kiln_program_create(context, bad_programs[i].text, &options, &program);
        launch_expect(status, bad_programs[i].status, bad_programs[i].sentence);
        assert_null(program);
    }
    kiln_program_destroy(launch_program(context, "y = x"));
    assert_string_equal(kiln_last_error(), "");
    kiln_context_destroy(context);
}

static void names_are_told_in_the_order_of_their_tensors(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.outputs = "z,y";
    options.scalars = "k";
    assert_int_equal(kiln_program_create(context, "y = b + a * k; z = y", &options, &program), KILN_OK);
    assert_int_equal(kiln_program_input_count(program), 2);
    assert_int_equal(kiln_program_output_count(program), 2);
    assert_int_equal(kiln_program_scalar_count(program), 1);
    assert_string_equal(kiln_program_input_name(program, 0), "b");
    assert_string_equal(kiln_program_input_name(program, 1), "a");
    assert_string_equal(kiln_program_output_name(program, 0), "z");
    assert_string_equal(kiln_program_output_name(program, 1), "y");
    assert_string_equal(kiln_program_scalar_name(program, 0), "k");
    assert_null(kiln_program_input_name(program, 2));
    assert_null(kiln_program_output_name(program, 2));
    assert_null(kiln_program_scalar_name(program, 1));
    assert_int_equal(kiln_program_input_count(NULL), 0);
    assert_null(kiln_program_input_name(NULL, 0));
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- bindings ---- */

static const struct {
    const char *program, *tensors;
    kiln_status status;
    const char *sentence;
} bad_bindings[] = {
    {"y = softmax(x)", "f32[4,8]", KILN_E_BINDING, "1 tensors are given, expected 2: 1 inputs and 1 outputs"},
    {"y = softmax(x)", "f32[4,8] f32[4,8] f32[4,8]", KILN_E_BINDING,
     "3 tensors are given, expected 2: 1 inputs and 1 outputs"},
    {"y = sin(pi * x)", "f32[4,8] f32[4,8]", KILN_E_BINDING,
     "2 tensors are given, expected 3: 2 inputs and 1 outputs; 'pi' is an input, the number is pi()"},
    {"y = x ? True : x", "f32[4,8] f32[4,8]", KILN_E_BINDING,
     "2 tensors are given, expected 3: 2 inputs and 1 outputs; 'True' is an input, the number is true"},
    {"y = a + b", "f32[4,8] f32[4,7] f32[4,8]", KILN_E_SHAPE,
     "input 'b' of shape [4, 7] does not broadcast with the inputs before it, of shape [4, 8]"},
    {"y = softmax(x)", "f32[4,8] f32[4,7]", KILN_E_SHAPE, "output 'y' has shape [4, 7], expected [4, 8]"},
    {"y = x & 1", "f32[4,8] f32[4,8]", KILN_E_TYPE, "1:7: '&' takes integers, found f32"},
    {"y = softmax(x)", "f32[4,8]@2 f32[4,8]", KILN_E_POINTER,
     "the data pointer of tensor 'x' is 0x10000000002, expected a multiple of 4 bytes"},
    {"y = softmax(x)", "f32[4,8] f64[4,8]@4", KILN_E_POINTER,
     "the data pointer of tensor 'y' is 0x20000000004, expected a multiple of 8 bytes"},
    {"y = x + 1", "f32[4611686018427387904,2] f32[4,2]", KILN_E_SIZE,
     "tensor 'x' of shape [4611686018427387904, 2] has more bytes than 64 bits can count"},
    {"y = x + 1", "f32[-4,2] f32[-4,2]", KILN_E_SIZE, "tensor 'x' has size -4 along axis 0, expected 0 or more"},
    {"y = softmax(x)", "f32[*,8] f32[*,8]", KILN_E_SIZE, "tensor 'x' leaves axis 0 open: a launch needs its size"},
    {"y = x + 1", "f32[1,*] f32[1,4]", KILN_E_SIZE, "tensor 'x' has size -1 along axis 1, expected 0 or more"},
    {"y = softmax(x)", "f32[4,8] f32[4,8]{1,2}", KILN_E_OVERLAP,
     "output 'y' overlaps itself: a stride of it is 2, expected 4 or more"},
    {"y = max(x)", "f32[4,0] f32[4]", KILN_E_SHAPE, "max over axis 1 of size 0 has no value"},
};

static void bad_bindings_are_refused_and_the_next_call_works(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *good = launch_program(context, "y = softmax(x)");
    for (size_t i = 0; i < COUNT(bad_bindings); i++) {
        kiln_program *program = launch_program(context, bad_bindings[i].program);
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_plan *plan = (kiln_plan *)f;
        size_t count = bound_tensors(bad_bindings[i].tensors, tensors);
        launch_expect(launch_run(program, bad_bindings[i].tensors), bad_bindings[i].status, bad_bindings[i].sentence);
        launch_expect(kiln_plan_create(program, tensors, count, NULL, 0, &plan), bad_bindings[i].status,
                      bad_bindings[i].sentence);
        assert_null(plan);
        launch_expect(launch_run(good, "f32[4,8] f32[4,8]"), KILN_OK, "");
        kiln_program_destroy(program);
    }
    assert_int_equal(f->fake->launches, COUNT(bad_bindings));
    kiln_program_destroy(good);
    kiln_context_destroy(context);
}

static void bad_axes_are_refused_when_the_rank_is_known(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    static const struct {
        int axes[2];
        size_t count;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {{2}, 1, KILN_E_AXIS, "axis 2 is out of range for tensors of rank 2, expected -2 to 1"},
        {{-3}, 1, KILN_E_AXIS, "axis -3 is out of range for tensors of rank 2, expected -2 to 1"},
        {{1, -1}, 2, KILN_E_AXIS, "axis -1 is given twice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = NULL;
        options.axes = cases[i].axes;
        options.axis_count = cases[i].count;
        assert_int_equal(kiln_program_create(context, "y = softmax(x)", &options, &program), KILN_OK);
        launch_expect(launch_run(program, "f32[4,8] f32[4,8]"), cases[i].status, cases[i].sentence);
        kiln_program_destroy(program);
    }
    int many[9] = {0};
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.axes = many;
    options.axis_count = 9;
    launch_expect(kiln_program_create(context, "y = x", &options, &program), KILN_E_AXIS,
                  "9 axes are given, expected at most 8");
    kiln_context_destroy(context);
}

/* ---- pointers and overlap, on the GPU and on the CPU ---- */

_Alignas(64) static float memory[256];

/* x[4,8] at memory; the other tensor's place and shape. */
static const struct {
    const char *y;
    size_t offset;
    kiln_status status;
} overlaps[] = {
    {"f32[4,8]", 0, KILN_OK},         {"f32[4,8]", 32, KILN_OK},        {"i32[4,8]", 0, KILN_OK},
    {"f32[4,8]", 16, KILN_E_OVERLAP}, {"f32[4,8]", 4, KILN_E_OVERLAP},  {"f16[4,8]", 0, KILN_E_OVERLAP},
    {"f64[4,8]", 0, KILN_E_OVERLAP},  {"f32[4,8]", 28, KILN_E_OVERLAP},
};

static void an_output_is_the_same_tensor_or_lies_apart(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x - 1");
    for (size_t i = 0; i < COUNT(overlaps); i++) {
        kiln_tensor tensors[KILN_MAX_TENSORS];
        char text[64];
        snprintf(text, sizeof text, "f32[4,8] %s", overlaps[i].y);
        bound_tensors(text, tensors);
        tensors[0].data = memory + 64;
        tensors[1].data = memory + 64 + overlaps[i].offset;
        const char *sentence = overlaps[i].status ? "output 'y' overlaps input 'x' without being the same tensor" : "";
        launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), overlaps[i].status, sentence);
        launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), overlaps[i].status, sentence);
    }
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void one_pointer_with_another_shape_is_an_overlap(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    static const struct {
        const char *program, *tensors;
        const char *sentence;
    } cases[] = {
        {"y = a + b", "f32[8] f32[4,8] f32[4,8]", "output 'y' overlaps input 'a' without being the same tensor"},
        {"y = a + 0 * b", "f32[2,4,8] f32[4,8] f32[2,4,8]",
         "output 'y' overlaps input 'b' without being the same tensor"},
        {"y = a + 0 * b", "f32[1,4,8] f32[4,8] f32[1,4,8]", NULL}, /* the same elements all the same */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_program *program = launch_program(context, cases[i].program);
        kiln_tensor tensors[KILN_MAX_TENSORS];
        size_t count = bound_tensors(cases[i].tensors, tensors);
        for (size_t t = 0; t < count; t++) tensors[t].data = memory;
        const kiln_status expected = cases[i].sentence ? KILN_E_OVERLAP : KILN_OK;
        const char *sentence = cases[i].sentence ? cases[i].sentence : "";
        launch_expect(kiln_run(program, tensors, count, NULL, 0, NULL), expected, sentence);
        launch_expect(kiln_run_cpu(program, tensors, count, NULL, 0), expected, sentence);
        kiln_program_destroy(program);
    }
    kiln_program *program = launch_program(context, "y = x; z = x + 1");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    bound_tensors("f32[8] f32[8] f32[8]", tensors);
    tensors[0].data = memory;
    tensors[1].data = tensors[2].data = memory + 64;
    launch_expect(kiln_run(program, tensors, 3, NULL, 0, NULL), KILN_E_OVERLAP,
                  "output 'z' overlaps output 'y' without being the same tensor");
    launch_expect(kiln_run_cpu(program, tensors, 3, NULL, 0), KILN_E_OVERLAP,
                  "output 'z' overlaps output 'y' without being the same tensor");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

typedef struct runner {
    const launch_fixture *fixture;
    const kiln_program *program;
    const kiln_tensor *tensors;
    atomic_bool stop;
    int failures;
} runner;

static void *run_on(void *user) {
    runner *r = user;
    launch_use_device(r->fixture, 0);
    while (!atomic_load(&r->stop)) r->failures += kiln_run(r->program, r->tensors, 2, NULL, 0, NULL) != KILN_OK;
    return NULL;
}

static void run_programs(kiln_context *context, const kiln_tensor *tensors, int count) {
    for (int i = 0; i < count; i++) {
        kiln_program *program = launch_program(context, "y = x - 1");
        launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
        launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
        kiln_program_destroy(program);
    }
}

/* A program's shapes go with it, but for some bytes; those of others stay, also while another thread runs them. What
 * that thread may be looking at is kept for as long, so that bytes are counted while it does not run. */
static void destroyed_programs_leave_no_shapes(void **state) {
    launch_fixture *f = *state;
    enum { PROGRAMS = 3000, WARM = 200, MOST_BYTES = 150 };
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *other = launch_program(context, "y = x - 2");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    runner beside = {.fixture = f, .program = other, .tensors = tensors};
    pthread_t thread;
    bound_tensors("f32[4,8] f32[4,8]", tensors);
    tensors[0].data = memory;
    tensors[1].data = memory + 64;
    run_programs(context, tensors, WARM);
    const size_t before = used_memory();
    assert_int_equal(pthread_create(&thread, NULL, run_on, &beside), 0);
    run_programs(context, tensors, PROGRAMS);
    atomic_store(&beside.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(beside.failures, 0);
    run_programs(context, tensors, WARM);
    assert_true(used_memory() < before + PROGRAMS * MOST_BYTES);
    kiln_program_destroy(other);
    kiln_context_destroy(context);
}

/* Of a square matrix a vector may lie along the columns or along the rows. */
static void an_output_along_the_rows_does_not_take_the_place_of_columns(void **state) {
    launch_fixture *f = *state;
    static const struct {
        const char *tensors;
        int axis;
        kiln_status status;
    } cases[] = {
        {"f32[8,8] f32[8] f32[8]", 1, KILN_E_OVERLAP}, {"f32[8,8] f32[8] f32[8]", 0, KILN_OK},
        {"f32[8,8] f32[8,1] f32[8,1]", 1, KILN_OK},    {"f32[1,1,8,8] f32[1,1,8] f32[1,1,8]", 3, KILN_E_OVERLAP},
        {"f32[1,8,1] f32[8,1] f32[8,1]", 0, KILN_OK},  {"f32[1,1] f32[1] f32[1]", 1, KILN_OK}};
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        const char *sentence = cases[i].status ? "output 'y' overlaps input 'b' without being the same tensor" : "";
        options.axes = &cases[i].axis;
        options.axis_count = 1;
        launch_expect(kiln_program_create(context, "y = sum(a * b)", &options, &program), KILN_OK, "");
        bound_tensors(cases[i].tensors, tensors);
        tensors[0].data = memory + 128;
        tensors[1].data = tensors[2].data = memory;
        launch_expect(kiln_run(program, tensors, 3, NULL, 0, NULL), cases[i].status, sentence);
        launch_expect(kiln_run_cpu(program, tensors, 3, NULL, 0), cases[i].status, sentence);
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
}

static void null_pointers_are_refused_where_there_are_elements(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x - 1");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (int t = 0; t < 2; t++) {
        bound_tensors("f32[4,8] f32[4,8]", tensors);
        tensors[!t].data = memory;
        const char *sentence = t ? "the data pointer of tensor 'y' is NULL" : "the data pointer of tensor 'x' is NULL";
        launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_E_POINTER, sentence);
        launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), KILN_E_POINTER, sentence);
    }
    bound_tensors("f32[0,8] f32[0,8]", tensors);
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
    launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void strided_host_tensors_work_and_open_rows_do_not(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x - 1");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (int i = 0; i < 6; i++) memory[i] = (float)i;
    bound_tensors("f32[2,3]{1,2} f32[2,3]{-3,1}", tensors);
    tensors[0].data = memory;
    tensors[1].data = memory + 64 + 3;
    launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), KILN_OK, "");
    for (int row = 0; row < 2; row++)
        for (int col = 0; col < 3; col++) assert_true(memory[64 + 3 - 3 * row + col] == (float)(row + 2 * col) - 1);
    tensors[1].data = memory + 8; /* its last row ends in x */
    launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), KILN_E_OVERLAP, NULL);
    bound_tensors("f32[*,8] f32[*,8]", tensors);
    tensors[0].data = tensors[1].data = memory;
    launch_expect(kiln_run_cpu(program, tensors, 2, NULL, 0), KILN_E_SIZE, NULL);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- arguments of the calls themselves ---- */

static void null_arguments_are_refused(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE), *no_context = NULL;
    kiln_program *program = launch_program(context, "y = x - 1"), *no_program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    int32_t rank;
    int64_t sizes[KILN_MAX_RANK];
    size_t count = bound_tensors("f32[4,8] f32[4,8]", tensors), bytes = 9;
    const kiln_status statuses[] = {
        kiln_context_create(NULL, NULL),
        kiln_program_create(NULL, "y = x", NULL, &no_program),
        kiln_program_create(context, NULL, NULL, &no_program),
        kiln_program_create(context, "y = x", NULL, NULL),
        kiln_run(NULL, tensors, count, NULL, 0, NULL),
        kiln_run(program, NULL, count, NULL, 0, NULL),
        kiln_run_cpu(NULL, tensors, count, NULL, 0),
        kiln_run_cpu(program, NULL, count, NULL, 0),
        kiln_plan_create(NULL, tensors, count, NULL, 0, &plan),
        kiln_plan_create(program, NULL, count, NULL, 0, &plan),
        kiln_plan_create(program, tensors, count, NULL, 0, NULL),
        kiln_plan_launch(NULL, NULL, 0, NULL, 0, NULL),
        kiln_plan_get_info(NULL, &info),
        kiln_compile(NULL, tensors, count, NULL, 0, 90, 0, 0, &kernel),
        kiln_compile(program, NULL, count, NULL, 0, 90, 0, 0, &kernel),
        kiln_compile(program, tensors, count, NULL, 0, 90, 0, 0, NULL),
        kiln_kernel_get_info(NULL, &info),
        kiln_program_output_shape(NULL, tensors, 0, 1, &rank, sizes),
        kiln_program_output_shape(program, NULL, 0, 1, &rank, sizes),
        kiln_program_output_shape(program, tensors, 0, 1, NULL, sizes),
        kiln_program_output_shape(program, tensors, 0, 1, &rank, NULL),
        kiln_context_get_system_info(context, NULL, NULL, NULL),
        kiln_context_get_device_info(context, 0, NULL),
        kiln_cache_visit(context, NULL, NULL, NULL),
        kiln_cache_clear(NULL, NULL, NULL),
    };
    for (size_t i = 0; i < COUNT(statuses); i++)
        if (statuses[i] != KILN_E_ARGUMENT) fail_msg("call %zu: %s", i, kiln_status_name(statuses[i]));
    assert_null(kiln_kernel_image(NULL, &bytes));
    assert_int_equal(bytes, 0);
    assert_null(kiln_kernel_phases(NULL));
    kiln_context_destroy(no_context);
    kiln_program_destroy(no_program);
    kiln_plan_destroy(plan);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_struct_size_that_is_no_version_is_refused(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE), *other = NULL;
    static const size_t bad[] = {0, 7, 8, 9, 20, 23, 4096};
    for (size_t i = 0; i < COUNT(bad); i++) {
        kiln_context_options c = KILN_CONTEXT_OPTIONS_INIT;
        kiln_program_options p = KILN_PROGRAM_OPTIONS_INIT;
        kiln_program *program = NULL;
        c.struct_size = p.struct_size = bad[i];
        assert_int_equal(kiln_context_create(&c, &other), KILN_E_ARGUMENT);
        assert_int_equal(kiln_program_create(context, "y = x", &p, &program), KILN_E_ARGUMENT);
        assert_null(other);
        assert_null(program);
    }
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.policy = (kiln_policy)7;
    launch_expect(kiln_context_create(&options, &other), KILN_E_ARGUMENT,
                  "policy is 7, expected a kiln_policy of contexts");
    kiln_program_options older = KILN_PROGRAM_OPTIONS_INIT; /* a caller that knows the outputs alone */
    kiln_program *program = NULL;
    older.struct_size = offsetof(kiln_program_options, scalars);
    older.outputs = "y";
    older.scalars = "not there";
    assert_int_equal(kiln_program_create(context, "y = x", &older, &program), KILN_OK);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- plans and kernels ---- */

static void a_plan_checks_what_a_launch_brings(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_scalar one = kiln_scalar_f64(1), whole = kiln_scalar_i64(1), bad = {KILN_BOOL, {.i64 = 1}};
    options.scalars = "k";
    assert_int_equal(kiln_program_create(context, "y = x * k", &options, &program), KILN_OK);
    bound_tensors("f32[4,8]@64 f32[4,8]@64", tensors);
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_E_BINDING,
                  "0 scalars are given, expected 1");
    launch_expect(kiln_plan_create(program, tensors, 2, &bad, 1, &plan), KILN_E_TYPE,
                  "scalar 'k' has type bool, expected f64, i64 or i32");
    launch_expect(kiln_plan_create(program, tensors, 2, &one, 1, &plan), KILN_OK, "");
    void *data[2] = {memory, memory}, *odd[2] = {memory + 1, memory + 65}, *null[2] = {memory, NULL},
         *partial[2] = {memory, memory + 16};
    launch_expect(kiln_plan_launch(plan, data, 2, &one, 1, NULL), KILN_OK, "");
    launch_expect(kiln_plan_launch(plan, data, 1, &one, 1, NULL), KILN_E_BINDING,
                  "1 data pointers are given, expected 2");
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 0, NULL), KILN_E_BINDING, "0 scalars are given, expected 1");
    launch_expect(kiln_plan_launch(plan, data, 2, NULL, 1, NULL), KILN_E_ARGUMENT, "plan, data or scalars is NULL");
    launch_expect(kiln_plan_launch(plan, data, 2, &whole, 1, NULL), KILN_E_TYPE,
                  "scalar 'k' has type i64, the plan was made for f64");
    launch_expect(kiln_plan_launch(plan, odd, 2, &one, 1, NULL), KILN_E_POINTER, NULL);
    launch_expect(kiln_plan_launch(plan, null, 2, &one, 1, NULL), KILN_E_POINTER,
                  "the data pointer of tensor 'y' is NULL");
    launch_expect(kiln_plan_launch(plan, partial, 2, &one, 1, NULL), KILN_E_OVERLAP, NULL);
    launch_expect(kiln_plan_launch(plan, data, 2, &one, 1, NULL), KILN_OK, "");
    assert_int_equal(f->fake->launches, 2);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void an_older_caller_gets_the_part_of_the_info_it_knows(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bound_tensors("f16[30,64]@64 f16[30,64]@64", tensors);
    assert_int_equal(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK);
    info.arch = info.threads = -7;
    info.struct_size = offsetof(kiln_plan_info, arch);
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    assert_int_equal(info.struct_size, offsetof(kiln_plan_info, arch));
    assert_int_equal(info.arch, -7);
    assert_non_null(strstr(info.source, "// program:   y = softmax(x)\n"));
    info.struct_size = sizeof info;
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    assert_int_equal(info.arch, 90);
    assert_int_equal(info.rows, 30);
    assert_int_equal(info.cols, 64);
    assert_int_equal(info.blocks, 2);
    assert_int_equal(info.threads, 128);
    assert_int_equal(info.registers, 32); /* as the driver says */
    assert_int_equal(info.origin, KILN_ORIGIN_COMPILED);
    assert_string_equal(info.log, "");
    static const size_t bad[] = {0, 8, offsetof(kiln_plan_info, arch) + 1, offsetof(kiln_plan_info, is_ptx),
                                 sizeof info + 8};
    for (size_t i = 0; i < COUNT(bad); i++) {
        info.struct_size = bad[i];
        assert_int_equal(kiln_plan_get_info(plan, &info), KILN_E_ARGUMENT);
    }
    kiln_system_info system = {.struct_size = offsetof(kiln_system_info, nvrtc_path)};
    kiln_device_info device = {.struct_size = sizeof device - 8};
    assert_int_equal(kiln_context_get_system_info(context, &system, NULL, NULL), KILN_E_ARGUMENT);
    assert_non_null(
        strstr(kiln_last_error(), "kiln_system_info.struct_size is 524, expected sizeof(kiln_system_info)"));
    assert_int_equal(kiln_context_get_device_info(context, 0, &device), KILN_E_ARGUMENT);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_kernel_is_made_without_a_driver(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    size_t bytes = 9;
    size_t count = bound_tensors("f16[*,64] f16[*,64]", tensors);
    assert_int_equal(kiln_compile(program, tensors, count, NULL, 0, 90, 0, 0, &kernel), KILN_OK);
    assert_null(kiln_kernel_image(kernel, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(kiln_kernel_get_info(kernel, &info), KILN_OK);
    assert_int_equal(info.rows, -1);
    assert_int_equal(info.blocks, -1);
    assert_int_equal(info.registers, -1);
    assert_non_null(strstr(kiln_kernel_phases(kernel), "max"));
    kiln_kernel_destroy(kernel);
    assert_int_equal(kiln_compile(program, tensors, count, NULL, 0, 90, 1, 1, &kernel), KILN_OK);
    const char *image = kiln_kernel_image(kernel, &bytes);
    assert_int_equal(kiln_kernel_get_info(kernel, &info), KILN_OK);
    assert_int_equal(info.image_bytes, bytes);
    assert_true(info.is_ptx);
    assert_int_equal(image[bytes - 1], '\0');
    kiln_kernel_destroy(kernel);
    launch_expect(kiln_compile(program, tensors, count, NULL, 0, 75, 0, 0, &kernel), KILN_E_ARCH,
                  "architecture sm_75 is asked for, expected sm_80 to sm_999");
    launch_expect(kiln_compile(program, tensors, count, NULL, 0, 91, 0, 1, &kernel), KILN_E_ARCH,
                  "sm_91 is not supported by NVRTC 11.1 (it has sm_50 to sm_90)");
    assert_null(kernel);
    kiln_program *refused = launch_program(context, "compile_fails = x + 1");
    launch_expect(kiln_compile(refused, tensors, count, NULL, 0, 90, 0, 1, &kernel), KILN_E_COMPILE,
                  "NVRTC 11.1 refused 'kiln_kernel.cu' (NVRTC_ERROR_INTERNAL_ERROR): no message");
    kiln_program_destroy(refused);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(bad_programs_are_refused),
        WITH_LAUNCHES(names_are_told_in_the_order_of_their_tensors),
        WITH_LAUNCHES(bad_bindings_are_refused_and_the_next_call_works),
        WITH_LAUNCHES(bad_axes_are_refused_when_the_rank_is_known),
        WITH_LAUNCHES(an_output_is_the_same_tensor_or_lies_apart),
        WITH_LAUNCHES(one_pointer_with_another_shape_is_an_overlap),
        WITH_LAUNCHES(destroyed_programs_leave_no_shapes),
        WITH_LAUNCHES(an_output_along_the_rows_does_not_take_the_place_of_columns),
        WITH_LAUNCHES(null_pointers_are_refused_where_there_are_elements),
        WITH_LAUNCHES(strided_host_tensors_work_and_open_rows_do_not),
        WITH_LAUNCHES(null_arguments_are_refused),
        WITH_LAUNCHES(a_struct_size_that_is_no_version_is_refused),
        WITH_LAUNCHES(a_plan_checks_what_a_launch_brings),
        WITH_LAUNCHES(an_older_caller_gets_the_part_of_the_info_it_knows),
        WITH_LAUNCHES(a_kernel_is_made_without_a_driver),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
