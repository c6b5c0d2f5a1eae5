/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions of the caller's own: programs that call them, on the CPU and on the software GPU; what is refused.
 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/software_fixture.h"

#include "runtime/context.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char squash[] = "__device__ float squash(float x) { return x / (1.0f + fabsf(x)); }\n"
                             "__device__ double squash(double x) { return x / (1.0 + fabs(x)); }";
static const char mix[] = "__device__ float half_of(float x) { return 0.5f * x; }\n"
                          "__device__ float mix(float a, float b, float t) { return half_of(a) + t * b; }";

static double squash_here(void *user, const double *x) {
    (void)user;
    return x[0] / (1 + fabs(x[0]));
}

static double mix_here(void *user, const double *x) { return *(const double *)user * x[0] + x[2] * x[1]; }

/* Each has a factor of its own by the same name. The last line of one is a comment that goes on. */
static const char one[] = "__device__ constexpr float factor = 0.5f;\n"
                          "__device__ float one(float x) { return factor * x; }";
static const char two[] = "__device__ constexpr float factor = 2;\n"
                          "__device__ float two(float x) { return factor * x; } // \\";

static double times_here(void *user, const double *x) { return *(const double *)user * x[0]; }

static kiln_status add(kiln_context *context, const char *name, const char *source, size_t arguments,
                       double (*host)(void *, const double *), void *user) {
    kiln_device_function function = KILN_DEVICE_FUNCTION_INIT;
    function.name = name;
    function.source = source;
    function.argument_count = arguments;
    function.host = host;
    function.user = user;
    return kiln_context_add_function(context, &function);
}

static kiln_context *make_context(void) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context;
    options.cache_dir = "";
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    return context;
}

/* y of a row of 4 elements of f32. */
static kiln_status run_here(kiln_context *context, const char *text, float y[4]) {
    float x[] = {-3, -0.5f, 0, 7};
    const int64_t sizes[] = {1, 4};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(x, KILN_F32, 2, sizes),
                                   kiln_tensor_contiguous(y, KILN_F32, 2, sizes)};
    kiln_program *program;
    kiln_status status = kiln_program_create(context, text, NULL, &program);
    if (!status) status = kiln_run_cpu(program, tensors, 2, NULL, 0);
    kiln_program_destroy(program);
    return status;
}

static void the_cpu_asks_the_host_callback(void **state) {
    kiln_context *context = make_context();
    double half = 0.5;
    float y[4];
    (void)state;
    assert_int_equal(add(context, "squash", squash, 1, squash_here, NULL), KILN_OK);
    assert_int_equal(add(context, "mix", mix, 3, mix_here, &half), KILN_OK);
    assert_int_equal(run_here(context, "y = mix(squash(x), x, 2)", y), KILN_OK);
    assert_float_equal(y[0], -6.375, 1e-6);
    assert_float_equal(y[3], 14.4375, 1e-6);
    kiln_context_destroy(context);
}

static void names_are_words_of_the_context_alone(void **state) {
    kiln_context *here = make_context(), *other = make_context();
    float y[4];
    (void)state;
    assert_int_equal(add(here, "squash", squash, 1, squash_here, NULL), KILN_OK);
    assert_int_equal(run_here(other, "y = squash(x)", y), KILN_E_NAME);
    assert_int_equal(run_here(here, "fn squash(x) = 3\ny = squash(x)", y), KILN_OK); /* a program's own goes first */
    assert_float_equal(y[0], 3, 0);
    kiln_context_destroy(here);
    kiln_context_destroy(other);
}

static void what_cannot_be_is_told(void **state) {
    kiln_context *context = make_context();
    float y[4];
    (void)state;
    static const struct {
        const char *name, *source;
        size_t arguments;
        kiln_status status;
        const char *message;
    } cases[] = {
        {NULL, squash, 1, KILN_E_ARGUMENT, "kiln_device_function.name is NULL"},
        {"squash", NULL, 1, KILN_E_ARGUMENT, "kiln_device_function.source is NULL"},
        {"squash", squash, 0, KILN_E_ARGUMENT, "kiln_device_function.argument_count is 0, expected 1 to 3"},
        {"squash", squash, 4, KILN_E_ARGUMENT, "kiln_device_function.argument_count is 4, expected 1 to 3"},
        {"f", "#include <cuda_fp16.h>\n", 1, KILN_E_ARGUMENT,
         "the source of 'f' includes a file, expected definitions"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(add(context, cases[i].name, cases[i].source, cases[i].arguments, NULL, NULL), cases[i].status);
        if (strncmp(kiln_last_error(), cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s' is told of '%s'", kiln_last_error(), cases[i].name);
    }
    static const char *const names[][2] = {
        {"", "expected a letter, then"},     {"a-b", "expected a letter, then"}, {"_squash", "expected a letter, then"},
        {"exp", "the language has it"},      {"f16", "the language has it"},     {"softsign", "the language has it"},
        {"repeat", "the language has it"},   {"nan", "the language has it"},     {"register", "it is a word of C++"},
        {"KILN_COLS", "it is a word of C++"}};
    for (size_t i = 0; i < COUNT(names); i++) {
        char sentence[128];
        snprintf(sentence, sizeof sentence, "'%s' cannot name a device function: %s", names[i][0], names[i][1]);
        assert_int_equal(add(context, names[i][0], squash, 1, NULL, NULL), KILN_E_NAME);
        if (strncmp(kiln_last_error(), sentence, strlen(sentence)) != 0) fail_msg("'%s'", kiln_last_error());
    }
    assert_int_equal(add(context, "x", squash, 1, NULL, NULL), KILN_OK); /* a tensor may have the name, too */
    assert_string_equal(kiln_last_error(), "");
    char *long_source = malloc(KILN__MAX_TEXT + 2);
    memset(long_source, ' ', KILN__MAX_TEXT + 1);
    long_source[KILN__MAX_TEXT + 1] = '\0';
    assert_int_equal(add(context, "squash", long_source, 1, NULL, NULL), KILN_E_LIMIT);
    free(long_source);
    assert_int_equal(add(context, "squash", squash, 1, NULL, NULL), KILN_OK);
    assert_int_equal(add(context, "squash", squash, 1, NULL, NULL), KILN_E_NAME);
    assert_string_equal(kiln_last_error(), "the context has a device function 'squash' already");
    assert_int_equal(run_here(context, "y = squash(x)", y), KILN_E_UNSUPPORTED);
    assert_string_equal(kiln_last_error(),
                        "the device function 'squash' has no host callback, by which the CPU would compute it");
    assert_int_equal(run_here(context, "y = squash(x, x)", y), KILN_E_SYNTAX);
    kiln_context_destroy(context);
}

static void gradients_stop_there(void **state) {
    kiln_context *context = make_context();
    kiln_program *program, *gradient;
    const int64_t sizes[] = {1, 4};
    const kiln_tensor x = kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes);
    (void)state;
    assert_int_equal(add(context, "squash", squash, 1, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_program_create(context, "y = squash(x) * x", NULL, &program), KILN_OK);
    assert_int_equal(kiln_program_gradient(program, &x, NULL, &gradient), KILN_E_UNSUPPORTED);
    assert_non_null(strstr(kiln_last_error(), "'squash' has no gradient here: it is a device function"));
    kiln_program_destroy(program);
    assert_int_equal(kiln_program_create(context, "y = squash(w) * x", NULL, &program), KILN_OK);
    const kiln_tensor both[] = {x, x};
    kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
    options.wrt = "x";
    assert_int_equal(kiln_program_gradient(program, both, &options, &gradient), KILN_OK); /* a factor like any other */
    assert_non_null(strstr(kiln_program_text(gradient), "squash(w)"));
    kiln_program_destroy(gradient);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* ---- on the software GPU ---- */

static void kernels_call_them(void **state) {
    software_device device;
    double half = 0.5, twice = 2;
    static const software_case cases[] = {
        {"y = mix(squash(x), x, 2) + squash(x)", KILN_F32, 7, 33, false, 0},
        {"y = softmax(squash(x * 3))", KILN_F16, 5, 256, false, 0},
        {"y = sum(squash(x))", KILN_BF16, 5, 1000, true, 0},
        {"y = squash(x)", KILN_F64, 3, 40, false, 0},
        {"y = cumsum(squash(x))", KILN_F32, 3, 200, false, 0},
        {"y = squash(i32(x * 10)) + squash(2) * squash(size(-1))", KILN_F32, 3, 200, false, 0},
        {"y = one(x) + two(x)", KILN_F32, 3, 200, false, 0},
        {"y = sort(squash(x))", KILN_F32, 3, 50, false, 0},
        {"y = reduce((a, b) -> a + squash(b) - b + squash(b), x, 0) * 0 + x", KILN_F32, 3, 40, false, 0},
    };
    (void)state;
    if (software_device_open("", &device) != KILN_OK) skip();
    assert_int_equal(add(device.kiln, "squash", squash, 1, squash_here, NULL), KILN_OK);
    assert_int_equal(add(device.kiln, "mix", mix, 3, mix_here, &half), KILN_OK);
    assert_int_equal(add(device.kiln, "one", one, 1, times_here, &half), KILN_OK);
    assert_int_equal(add(device.kiln, "two", two, 1, times_here, &twice), KILN_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_status status = KILN_OK;
        if (software_case_run(&device, &cases[i], &status) != SOFTWARE_RIGHT)
            fail_msg("%s: %s", cases[i].program, status ? kiln_last_error() : "a wrong result");
    }
    assert_int_equal(software_device_close(&device), KILN_OK);
}

static kiln_status try_source(software_device *device, const char *name, const char *source) {
    char text[64];
    kiln_status status = KILN_OK;
    snprintf(text, sizeof text, "y = %s(x)", name);
    const software_case test = {text, KILN_F32, 3, 40, false, 0};
    assert_int_equal(add(device->kiln, name, source, 1, squash_here, NULL), KILN_OK);
    software_case_run(device, &test, &status);
    return status;
}

static void a_source_that_does_not_compile_is_told(void **state) {
    software_device device;
    (void)state;
    if (software_device_open("", &device) != KILN_OK) skip();
    assert_int_equal(try_source(&device, "typo", "__device__ float typo(float x) { return y; }"), KILN_E_COMPILE);
    assert_int_equal(try_source(&device, "other", squash), KILN_E_COMPILE); /* it defines another name */
    assert_int_equal(software_device_close(&device), KILN_OK);
}

/* The program as an exact kernel, and as one for any shape. */
static void run_scaled(const char *cache, const char *source, double factor) {
    software_device device;
    static const kiln_policy policies[] = {KILN_POLICY_COMPILE, KILN_POLICY_ANY_SHAPE};
    const software_case test = {"y = softmax(scaled(x))", KILN_F32, 3, 70, false, 0};
    if (software_device_open(cache, &device) != KILN_OK) skip();
    assert_int_equal(add(device.kiln, "scaled", source, 1, times_here, &factor), KILN_OK);
    for (size_t i = 0; i < COUNT(policies); i++) {
        kiln_status status = KILN_OK;
        device.kiln->policy = policies[i];
        if (software_case_run(&device, &test, &status) != SOFTWARE_RIGHT)
            fail_msg("%s: %s", source, status ? kiln_last_error() : "a wrong result");
    }
    assert_int_equal(software_device_close(&device), KILN_OK);
}

/* Contexts that share a cache and call other functions by one name have kernels of their own. */
static void keys_have_the_source(void **state) {
    own_folder cache;
    (void)state;
    assert_true(own_folder_make(&cache));
    run_scaled(cache.path, "__device__ float scaled(float x) { return 2 * x; }", 2);
    run_scaled(cache.path, "__device__ float scaled(float x) { return 3 * x; }", 3);
    own_folder_remove(&cache);
}

/* A pack has their kernels, for contexts with the same source alone. */
static void packs_have_them(void **state) {
    (void)state;
#if defined(KILN_SOFTWARE_NVRTC)
    const int64_t sizes[] = {4, 256};
    const kiln_tensor x = kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes), tensors[] = {x, x};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_pack_writer *writer;
    kiln_pack pack = {0};
    options.cache_dir = "";
    options.nvrtc_path = KILN_SOFTWARE_NVRTC;
    assert_int_equal(kiln_pack_writer_create(&writer), KILN_OK);
    static const char *const sources[] = {squash, squash, "__device__ float squash(float x) { return x; }"};
    static const kiln_status found[] = {KILN_OK, KILN_OK, KILN_E_WOULD_COMPILE};
    for (size_t i = 0; i < COUNT(sources); i++) {
        kiln_context *context;
        kiln_program *program;
        kiln_kernel *kernel = NULL;
        assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
        assert_int_equal(add(context, "squash", sources[i], 1, NULL, NULL), KILN_OK);
        assert_int_equal(kiln_program_create(context, "y = squash(x)", NULL, &program), KILN_OK);
        if (i == 0) {
            assert_int_equal(kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, 90, 0), KILN_OK);
            assert_int_equal(kiln_pack_writer_finish(writer, &pack.data, &pack.size), KILN_OK);
        } else {
            assert_int_equal(kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel), found[i]);
        }
        kiln_kernel_destroy(kernel);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
        options.policy = KILN_POLICY_NEVER_COMPILE;
        options.packs = &pack;
        options.pack_count = 1;
    }
    kiln_pack_writer_destroy(writer);
#else
    skip();
#endif
}

static void keep_log(void *user, kiln_log_level level, const char *message) {
    char *log = user;
    (void)level;
    snprintf(log + strlen(log), 4096 - strlen(log), "%s\n", message);
}

/* Of y = squash(x), and the log of a compile that fails. */
static kiln_status compile(const char *source, char *log, kiln_kernel **kernel) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    const int64_t sizes[] = {4, 256};
    const kiln_tensor x = kiln_tensor_contiguous(NULL, KILN_F32, 2, sizes), tensors[] = {x, x};
    kiln_context *context;
    kiln_program *program;
    options.cache_dir = "";
    options.log = keep_log;
    options.log_user = log;
    *log = '\0';
    *kernel = NULL;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    assert_int_equal(add(context, "squash", source, 1, NULL, NULL), KILN_OK);
    assert_int_equal(kiln_program_create(context, "y = squash(x)", NULL, &program), KILN_OK);
    const kiln_status status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, kernel);
    kiln_kernel_destroy(*kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* The compiler that there is, if any, tells lines of the source. */
static void nvrtc_compiles_them(void **state) {
    kiln_kernel *kernel;
    char log[4096];
    (void)state;
    const kiln_status status = compile(squash, log, &kernel);
    if (status == KILN_E_NO_NVRTC || status == KILN_E_ARCH) skip();
    assert_int_equal(status, KILN_OK);
    assert_int_equal(compile("__device__ float squash(float x)\n{ return z; }", log, &kernel), KILN_E_COMPILE);
    if (!strstr(log, "squash(2)")) fail_msg("no line of the source in '%s'", log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_asks_the_host_callback),
        cmocka_unit_test(names_are_words_of_the_context_alone),
        cmocka_unit_test(what_cannot_be_is_told),
        cmocka_unit_test(gradients_stop_there),
        cmocka_unit_test(kernels_call_them),
        cmocka_unit_test(keys_have_the_source),
        cmocka_unit_test(packs_have_them),
        cmocka_unit_test(a_source_that_does_not_compile_is_told),
        cmocka_unit_test(nvrtc_compiles_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
