/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and scalars bound by their names, in declared order, and calls with options of their own. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t sizes[] = {2, 3};
static float x[6] = {1, 2, 3, 4, 5, 6}, w[6] = {2, 2, 2, 3, 3, 3}, mask[6] = {1, 1, 1, 1, 1, 1}, y[6];

static kiln_tensor matrix(float *data) { return kiln_tensor_contiguous(data, KILN_F32, 2, sizes); }

static kiln_program *make(kiln_context *context, const char *text, const char *inputs, const char *scalars) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.inputs = inputs;
    options.scalars = scalars;
    if (kiln_program_create(context, text, &options, &program)) fail_msg("%s: %s", text, kiln_last_error());
    return program;
}

/* ---- order ---- */

static void a_rewritten_text_computes_the_same_where_inputs_are_listed(void **state) {
    static const char *const texts[] = {"y = x * w + mask", "y = mask + x * w", "y = w * x + mask"};
    kiln_context *context = launch_context(*state, "", KILN_POLICY_COMPILE);
    const kiln_tensor tensors[] = {matrix(x), matrix(w), matrix(mask), matrix(y)};
    for (size_t i = 0; i < COUNT(texts); i++) {
        kiln_program *program = make(context, texts[i], "x,w,mask", NULL);
        memset(y, 0, sizeof y);
        launch_expect(kiln_run_cpu(program, tensors, 4, NULL, 0), KILN_OK, "");
        for (size_t k = 0; k < COUNT(y); k++) assert_true(y[k] == x[k] * w[k] + mask[k]);
        assert_string_equal(kiln_program_input_name(program, 2), "mask");
        kiln_program_destroy(program);
    }
    kiln_context_destroy(context);
}

static void an_older_caller_has_no_list_of_inputs(void **state) {
    kiln_context *context = launch_context(*state, "", KILN_POLICY_COMPILE);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.struct_size = offsetof(kiln_program_options, inputs);
    options.inputs = "nothing,of,this";
    launch_expect(kiln_program_create(context, "y = x", &options, &program), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- names ---- */

static void names_may_come_in_any_order(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = make(context, "y = mask + x * scale - shift", NULL, "scale,shift");
    const kiln_binding bindings[] = {{"y", matrix(y)}, {"x", matrix(x)}, {"mask", matrix(mask)}};
    const kiln_scalar_binding scalars[] = {{"shift", kiln_scalar_f64(1)}, {"scale", kiln_scalar_f64(10)}};
    kiln_tensor tensors[3];
    kiln_scalar values[2];
    launch_expect(kiln_run_cpu_named(program, bindings, 3, scalars, 2, NULL), KILN_OK, "");
    for (size_t k = 0; k < COUNT(y); k++) assert_true(y[k] == 10 * x[k]);
    launch_expect(kiln_program_bind(program, bindings, 3, scalars, 2, tensors, values), KILN_OK, "");
    assert_ptr_equal(tensors[0].data, mask);
    assert_ptr_equal(tensors[1].data, x);
    assert_ptr_equal(tensors[2].data, y);
    assert_true(values[0].value.f64 == 10 && values[1].value.f64 == 1);
    launch_expect(kiln_program_bind(program, bindings, 3, scalars, 2, tensors, NULL), KILN_E_ARGUMENT,
                  "values is NULL");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static const struct {
    const char *tensors, *scalars; /* "x,y": as bound */
    kiln_status status;
    const char *sentence;
} bad_names[] = {
    {"x,mask,y", "scale", KILN_OK, ""},
    {"x,maks,y", "scale", KILN_E_NAME, "the program has no input or output 'maks'; did you mean 'mask'?"},
    {"x,q,y", "scale", KILN_E_NAME, "the program has no input or output 'q', it has 'x', 'mask' and 'y'"},
    {"x,mask,t", "scale", KILN_E_NAME, "'t' is assigned by the program and none of its outputs"},
    {"x,mask,scale", "scale", KILN_E_NAME, "'scale' is bound among the bindings, expected among the scalars"},
    {"x,mask,x,y", "scale", KILN_E_NAME, "'x' is bound twice among the bindings"},
    {"x,y", "scale", KILN_E_BINDING, "input 'mask' is not bound"},
    {"x,mask", "scale", KILN_E_BINDING, "output 'y' is not bound"},
    {"", "", KILN_E_BINDING, "input 'x' is not bound"},
    {"x,mask,y", "", KILN_E_BINDING, "scalar 'scale' is not bound"},
    {"x,mask,y", "scael", KILN_E_NAME, "the program has no scalar 'scael'; did you mean 'scale'?"},
    {"x,mask,y", "scale,mask", KILN_E_NAME, "'mask' is bound among the scalars, expected among the bindings"},
    {"x,mask,y", "scale,scale", KILN_E_NAME, "'scale' is bound twice among the scalars"},
};

static size_t split(char *list, const char *names[8]) {
    char *rest = NULL;
    size_t count = 0;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) names[count++] = name;
    return count;
}

static void wrong_names_are_told(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = make(context, "t = x * scale; y = t + mask", NULL, "scale");
    for (size_t i = 0; i < COUNT(bad_names); i++) {
        char tensors[64], scalars[64];
        const char *names[8], *scalar_names[8];
        kiln_binding bindings[8];
        kiln_scalar_binding values[8];
        kiln_plan *plan = (kiln_plan *)f;
        snprintf(tensors, sizeof tensors, "%s", bad_names[i].tensors);
        snprintf(scalars, sizeof scalars, "%s", bad_names[i].scalars);
        size_t count = split(tensors, names), scalar_count = split(scalars, scalar_names);
        for (size_t k = 0; k < count; k++)
            bindings[k] = (kiln_binding){names[k], matrix(strcmp(names[k], "y") ? x : y)};
        for (size_t k = 0; k < scalar_count; k++)
            values[k] = (kiln_scalar_binding){scalar_names[k], kiln_scalar_f64(1)};
        launch_expect(kiln_run_named(program, bindings, count, values, scalar_count, NULL, NULL), bad_names[i].status,
                      bad_names[i].sentence);
        launch_expect(kiln_run_cpu_named(program, bindings, count, values, scalar_count, NULL), bad_names[i].status,
                      bad_names[i].sentence);
        launch_expect(kiln_plan_create_named(program, bindings, count, values, scalar_count, NULL, &plan),
                      bad_names[i].status, bad_names[i].sentence);
        if (bad_names[i].status) assert_null(plan);
        kiln_plan_destroy(plan);
    }
    const kiln_binding nameless = {NULL, matrix(x)};
    launch_expect(kiln_run_named(program, &nameless, 1, NULL, 0, NULL, NULL), KILN_E_ARGUMENT,
                  "bindings[0].name is NULL");
    launch_expect(kiln_run_named(program, NULL, 1, NULL, 0, NULL, NULL), KILN_E_ARGUMENT, "bindings is NULL");
    launch_expect(kiln_run_named(NULL, &nameless, 1, NULL, 0, NULL, NULL), KILN_E_ARGUMENT, "program is NULL");
    kiln_program *pi = make(context, "y = x * pi", NULL, NULL);
    const kiln_binding two[] = {{"x", matrix(x)}, {"y", matrix(y)}};
    launch_expect(kiln_run_named(pi, two, 2, NULL, 0, NULL, NULL), KILN_E_BINDING,
                  "input 'pi' is not bound; the number is pi()");
    kiln_program_destroy(pi);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_plan_is_launched_by_name_for_the_tensors_it_was_made_for(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = make(context, "y = softmax(x * scale)", NULL, "scale");
    kiln_binding bindings[] = {{"y", matrix(y)}, {"x", matrix(x)}};
    kiln_scalar_binding scale = {"scale", kiln_scalar_f64(0.5)};
    kiln_plan *plan = NULL;
    launch_expect(kiln_plan_create_named(program, bindings, 2, &scale, 1, NULL, &plan), KILN_OK, "");
    f->fake->argument_bytes = 16;
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_OK, "");
    void *found[2];
    memcpy(found, f->fake->last_argument, sizeof found);
    assert_ptr_equal(found[0], x);
    assert_ptr_equal(found[1], y);
    bindings[1].tensor.type = KILN_I32;
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_TYPE,
                  "tensor 'x' has type i32, the plan was made for f32");
    bindings[1].tensor = kiln_tensor_contiguous(x, KILN_F32, 1, sizes);
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_SHAPE,
                  "tensor 'x' has rank 1, the plan was made for 2");
    bindings[1].tensor = matrix(x);
    bindings[1].tensor.sizes[0] = 1;
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_SHAPE,
                  "tensor 'x' has size 1 along axis 0, the plan was made for 2");
    bindings[1].tensor = matrix(x);
    bindings[1].tensor.strides[0] = 0;
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_SHAPE,
                  "tensor 'x' has stride 0 along axis 0, the plan was made for 3");
    bindings[1].tensor = matrix(x);
    scale.value = kiln_scalar_i64(1);
    launch_expect(kiln_plan_launch_named(plan, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_TYPE,
                  "scalar 'scale' has type i64, the plan was made for f64");
    launch_expect(kiln_plan_launch_named(NULL, bindings, 2, &scale, 1, NULL, 0, NULL), KILN_E_ARGUMENT, "plan is NULL");
    assert_int_equal(f->fake->launches, 1);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- options ---- */

static void a_call_has_a_policy_of_its_own(void **state) {
    launch_fixture *f = *state;
    kiln_context *compiling = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(compiling, "y = softmax(x)");
    kiln_call_options never = KILN_CALL_OPTIONS_INIT, may = KILN_CALL_OPTIONS_INIT;
    kiln_plan *plan = NULL;
    const kiln_tensor tensors[] = {matrix(x), matrix(y)};
    never.policy = KILN_POLICY_NEVER_COMPILE;
    may.policy = KILN_POLICY_COMPILE;
    assert_int_equal(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &never), KILN_E_WOULD_COMPILE);
    assert_int_equal(kiln_plan_create_with_options(program, tensors, 2, NULL, 0, &never, &plan), KILN_E_WOULD_COMPILE);
    launch_expect(kiln_plan_create_with_options(program, tensors, 2, NULL, 0, NULL, &plan), KILN_OK, "");
    launch_expect(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &never), KILN_OK, "");
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(compiling);
    kiln_context *cautious = launch_context(f, "", KILN_POLICY_NEVER_COMPILE);
    program = launch_program(cautious, "y = softmax(x)");
    assert_int_equal(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_E_WOULD_COMPILE);
    launch_expect(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &may), KILN_OK, "");
    launch_expect(kiln_run(program, tensors, 2, NULL, 0, NULL), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(cautious);
}

static void bad_options_of_a_call_are_refused(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    const kiln_tensor tensors[] = {matrix(x), matrix(y)};
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    options.policy = (kiln_policy)9;
    launch_expect(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &options), KILN_E_ARGUMENT,
                  "kiln_call_options.policy is 9, expected a kiln_policy");
    options = (kiln_call_options)KILN_CALL_OPTIONS_INIT;
    options.struct_size = 4;
    launch_expect(kiln_run_with_options(program, tensors, 2, NULL, 0, NULL, &options), KILN_E_ARGUMENT,
                  "kiln_call_options.struct_size is 4, expected 16 to 32, a multiple of 8: set it to "
                  "sizeof(kiln_call_options)");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(a_rewritten_text_computes_the_same_where_inputs_are_listed),
        WITH_LAUNCHES(an_older_caller_has_no_list_of_inputs),
        WITH_LAUNCHES(names_may_come_in_any_order),
        WITH_LAUNCHES(wrong_names_are_told),
        WITH_LAUNCHES(a_plan_is_launched_by_name_for_the_tensors_it_was_made_for),
        WITH_LAUNCHES(a_call_has_a_policy_of_its_own),
        WITH_LAUNCHES(bad_options_of_a_call_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
