/* SPDX-License-Identifier: Apache-2.0 */
/* How much stack the calls of Kiln need: 64 KB do for every text, accepted or refused, however deep it nests. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/launch_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PROMISED 65536 /* bytes of stack that a thread needs: include/kiln/kiln.h, docs/limits.md */
#define OWN 32768      /* of these Kiln's, at most: the driver and the loader of libraries have the rest */

/* Sanitizers put their own into every frame. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MEASURED 0
#endif
#endif
#ifndef MEASURED
#define MEASURED 1
#endif

/* head, then piece over and over, core, then as many tails. */
typedef struct deep_text {
    const char *head, *piece;
    int count;
    const char *core, *tail;
    int refused; /* by kiln_program_create */
} deep_text;

#define ALL_OPERATORS "x || x && x | x ^ x & x == x < x << x + x * "
static const deep_text texts[] = {
    {"y = ", "(", 199, "x", ")", 0},
    {"y = ", "(", 60000, "x", "", 1},
    {"y = ", ALL_OPERATORS "(", 199, "x", ")", 0},
    {"y = ", ALL_OPERATORS "-(", 99, "x", ")", 0},
    {"y = ", ALL_OPERATORS "(", 1400, "x", "", 1},
    {"y = ", "-", 199, "x", "", 0},
    {"y = ", "!", 60000, "x", "", 1},
    {"y = ", "x ** ", 199, "x", "", 0},
    {"y = ", "x ** -", 99, "x", "", 0},
    {"y = ", "x ? x : ", 199, "x", "", 0},
    {"y = ", "x ? ", 199, "x", ": x", 0},
    {"y = ", "x ? (x ? x : ", 66, "x", ") : x", 0},
    {"y = ", "exp(", 199, "x", ")", 0},
    {"y = ", "exp(", 16000, "x", "", 1},
    {"y = ", "relu(", 199, "x", ")", 0},
    {"y = ", "where(x, x, ", 199, "x", ")", 0},
    {"y = ", "clamp(low = 0, high = 1, x = ", 199, "x", ")", 0},
    {"y = ", "clamp(low = 0, high = 1, x = " ALL_OPERATORS, 199, "x", ")", 0},
    {"y = ", "f32(i8(", 99, "x", "))", 0},
    {"y = ", "layer_norm(w = x, b = ", 40, "x", ")", 1},
    {"y = ", "sum(x * ", 100, "x", ")", 0},
    {"y = ", "sum(x * ", 101, "x", ")", 0},
    {"y = ", "softmax(", 33, "x", ")", 0},
    {"y = ", "logsumexp(x + ", 49, "x", ")", 0},
    {"y = ", "reduce((a, b) -> a + b, x + ", 99, "x", ", 0)", 0},
    {"y = ", "reduce((a, b) -> " ALL_OPERATORS, 199, "x", "", 1},
    {"y = ", "reduce((a, b) -> ", 4000, "x", "", 1},
    {"y = ", "reduce((a, b) -> a, x, ", 199, "0", ")", 1},
    {"y = reduce((a, b) -> a + ", "-(b * ", 99, "b", ")", 1},
    {"fn f(x = ", "-(1 + ", 99, "1", ")", 1},
    {"fn f(x) = ", "exp(", 199, "x", ")", 1},
    {"y = ", "(", 198, "gelu_tanh_grad(dropout(l2_normalize_grad(x, x), 0.5, 1), nanmax(rms_norm_grad(x, x, x)))", ")",
     1},
    {"y = ", "(", 190, "layer_norm_grad(x, cross_entropy_label_grad(x, 1), safe_softmax(x))", ")", 0},
    {"y = ", "(", 190, "nosuch_function_0123456789_0123456789_0123456789_0123456789_012(x)", ")", 1},
    {"y = x", " + x", 4000, "", "", 0},
    {"y = x", " + x * 2 - exp(x)", 1000, "", "", 0},
};

static char *written(const deep_text *deep) {
    kiln__text text = {0};
    kiln__text_puts(&text, deep->head);
    for (int i = 0; i < deep->count; i++) kiln__text_puts(&text, deep->piece);
    kiln__text_puts(&text, deep->core);
    for (int i = 0; i < deep->count; i++) kiln__text_puts(&text, deep->tail);
    return kiln__text_take(&text);
}

/* Each function calls the one before it, inside of others. */
static char *functions_in_functions(int count) {
    kiln__text text = {0};
    kiln__text_puts(&text, "fn g0(x, k = -(-(1))) = x * k\n");
    for (int i = 1; i <= count; i++)
        kiln__text_printf(&text, "fn g%d(x, k = %d) = relu(-(g%d(k = k + 1, x = abs(x + 1))))\n", i, i, i - 1);
    kiln__text_printf(&text, "y = softmax(g%d(x))", count);
    return kiln__text_take(&text);
}

/* As many tensors and scalars as there may be. */
static char *many_names(void) {
    kiln__text text = {0};
    kiln__text_puts(&text, "y = softmax(x");
    for (int i = 1; i < KILN_MAX_TENSORS - 1; i++) kiln__text_printf(&text, " + x%d", i);
    for (int i = 0; i < KILN_MAX_SCALARS; i++) kiln__text_printf(&text, " + s%d", i);
    kiln__text_puts(&text, ")");
    return kiln__text_take(&text);
}

/* What a thread does with a text, and how far down its stack got. */
typedef struct work {
    const launch_fixture *fixture;
    kiln_context *context;
    const char *text;
    const char *scalars;
    kiln_type type;
    kiln_status created;
    const char *stack; /* NULL: not measured */
    size_t used;
} work;

static void fill(const kiln_program *program, kiln_type type, void *memory, kiln_tensor *tensors) {
    const int64_t sizes[] = {2, 40};
    size_t count = kiln_program_input_count(program) + kiln_program_output_count(program);
    for (size_t i = 0; i < count; i++) tensors[i] = kiln_tensor_contiguous((char *)memory + i * 1024, type, 2, sizes);
}

/* Calls the library as an application would, whatever each call comes to. Static: what is the test's own is no part of
 * what is measured. */
static void *call_everything(void *given) {
    static char memory[KILN_MAX_TENSORS * 1024];
    static kiln_tensor tensors[KILN_MAX_TENSORS];
    static kiln_scalar scalars[KILN_MAX_SCALARS];
    work *w = given;
    char top;
    launch_use_device(w->fixture, 0);
    kiln_program *program = NULL, *gradient = NULL;
    kiln_kernel *kernel = NULL;
    kiln_plan *plan = NULL;
    kiln_preparation *preparation = NULL;
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.scalars = w->scalars;
    w->created = kiln_program_create(w->context, w->text, &options, &program);
    if (!w->created) {
        int32_t rank;
        static int64_t sizes[KILN_MAX_RANK];
        size_t count = kiln_program_input_count(program) + kiln_program_output_count(program);
        size_t scalar_count = kiln_program_scalar_count(program);
        for (size_t i = 0; i < scalar_count; i++) scalars[i] = kiln_scalar_f64(1);
        fill(program, w->type, memory, tensors);
        if (kiln_program_output_shape(program, tensors, 0, 0, &rank, sizes) == KILN_OK && rank == 1)
            tensors[count - 1] = kiln_tensor_contiguous(tensors[count - 1].data, w->type, 1, sizes);
        kiln_run_cpu(program, tensors, count, scalars, scalar_count);
        kiln_program_gradient(program, tensors, NULL, &gradient);
        kiln_program_destroy(gradient);
        for (int compile = 0; compile < 2; compile++) {
            kiln_plan_info info = KILN_PLAN_INFO_INIT;
            if (kiln_compile(program, tensors, count, scalars, scalar_count, 90, 0, compile, &kernel)) continue;
            kiln_kernel_get_info(kernel, &info);
            kiln_kernel_phases(kernel);
            kiln_kernel_destroy(kernel);
        }
        kiln_run(program, tensors, count, scalars, scalar_count, NULL);
        if (!kiln_plan_create(program, tensors, count, scalars, scalar_count, &plan)) kiln_plan_destroy(plan);
        const kiln_problem problem = {program, tensors, count, scalars, scalar_count, 0, 0, NULL};
        if (!kiln_prepare(w->context, &problem, 1, NULL, &preparation)) {
            kiln_prepare_wait(preparation, -1, NULL);
            kiln_prepare_destroy(preparation);
        }
    }
    kiln_program_destroy(program);
    if (w->stack) {
        const char *deepest = w->stack;
        while (*deepest == 'S') deepest++;
        w->used = (size_t)(&top - deepest);
    }
    return NULL;
}

static int visit(void *user, const kiln_cache_entry *entry) {
    (void)entry;
    ++*(int *)user;
    return 0;
}

/* The calls that are about no program; the context is made here, and looks for NVRTC in all the usual places. */
static void *call_system(void *given) {
    static kiln_system_info system;
    static kiln_device_info device;
    work *w = given;
    char top;
    int entries = 0;
    kiln_context *context = NULL;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = w->fixture->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    system.struct_size = sizeof system;
    device.struct_size = sizeof device;
    kiln_context_create(&options, &context);
    kiln_context_get_system_info(context, &system, NULL, NULL);
    kiln_context_get_device_info(context, 0, &device);
    kiln_cache_visit(context, visit, &entries, NULL);
    kiln_cache_clear(context, NULL, NULL);
    kiln_context_destroy(context);
    if (w->stack) {
        const char *deepest = w->stack;
        while (*deepest == 'S') deepest++;
        w->used = (size_t)(&top - deepest);
    }
    return NULL;
}

/* On a stack of 1 MB that is painted; tells how much was used below what the C library keeps there for itself. */
static size_t measure(work *w, void *(*function)(void *)) {
    const size_t size = 1 << 20;
    pthread_attr_t attributes;
    pthread_t thread;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    memset(stack, 'S', size);
    w->stack = stack;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, size), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    munmap(stack, size);
    return w->used;
}

/* Or on the smallest that the C library makes, which on ARM is larger. */
static void run_on_promised_stack(work *w, void *(*function)(void *)) {
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t attributes;
    pthread_t thread;
    w->stack = NULL;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, least > PROMISED ? (size_t)least : PROMISED), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, w), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

/* Both types that operators distinguish; the most that any needed. */
static size_t measure_text(launch_fixture *f, const char *text, const char *scalars, int refused) {
    static const kiln_type types[] = {KILN_F32, KILN_I32, KILN_F64};
    size_t most = 0;
    for (size_t i = 0; i < COUNT(types); i++) {
        work w = {.fixture = f, .text = text, .scalars = scalars, .type = types[i]};
        w.context = launch_context(f, f->dir, KILN_POLICY_COMPILE); /* which has opened nothing yet */
        size_t used = measure(&w, call_everything);
        if (used > most) most = used;
        if (used > OWN) fail_msg("%zu bytes of stack for '%.100s'", used, text);
        if (refused != (w.created != KILN_OK)) fail_msg("'%.100s': %s", text, kiln_status_name(w.created));
        run_on_promised_stack(&w, call_everything);
        kiln_context_destroy(w.context);
    }
    return most;
}

static void any_text_is_served_on_a_small_stack(void **state) {
    if (!MEASURED) skip();
    launch_fixture *f = *state;
    size_t most = 0;
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *text = written(&texts[i]);
        size_t used = measure_text(f, text, NULL, texts[i].refused);
        if (getenv("KILN_TEST_STACK")) printf("%6zu  %.60s\n", used, text);
        if (used > most) most = used;
        free(text);
    }
    printf("at most %zu bytes of stack\n", most);
}

static void functions_in_functions_and_many_names_are_served_on_a_small_stack(void **state) {
    if (!MEASURED) skip();
    launch_fixture *f = *state;
    char *functions = functions_in_functions(100), *names = many_names();
    kiln__text scalars = {0};
    for (int i = 0; i < KILN_MAX_SCALARS; i++) kiln__text_printf(&scalars, "%ss%d", i ? "," : "", i);
    char *list = kiln__text_take(&scalars);
    printf("%zu and ", measure_text(f, functions, NULL, 0));
    printf("%zu bytes of stack\n", measure_text(f, names, list, 0));
    free(functions);
    free(names);
    free(list);
}

/* NVRTC takes as much stack as a source asks for. */
static void the_compiler_has_a_stack_of_its_own(void **state) {
    launch_fixture *f = *state;
    setenv("FAKE_NVRTC_STACK", "4000000", 1);
    work w = {.fixture = f, .text = "y = softmax(x)", .type = KILN_F32};
    w.context = launch_context(f, "", KILN_POLICY_COMPILE);
    int compiles = launch_compiles(f);
    run_on_promised_stack(&w, call_everything);
    assert_true(launch_compiles(f) > compiles);
    kiln_context_destroy(w.context);
    unsetenv("FAKE_NVRTC_STACK");
}

static void the_system_is_asked_on_a_small_stack(void **state) {
    if (!MEASURED) skip();
    launch_fixture *f = *state;
    char *outer = getenv("KILN_NVRTC") ? strdup(getenv("KILN_NVRTC")) : NULL;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    work w = {.fixture = f, .context = context, .text = "y = softmax(x)", .type = KILN_F32};
    run_on_promised_stack(&w, call_everything); /* puts entries into the cache */
    kiln_context_destroy(context);
    unsetenv("KILN_NVRTC");
    size_t used = measure(&w, call_system);
    run_on_promised_stack(&w, call_system);
    if (outer) setenv("KILN_NVRTC", outer, 1);
    free(outer);
    printf("%zu bytes of stack\n", used);
    if (used > OWN) fail_msg("%zu bytes of stack", used);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(any_text_is_served_on_a_small_stack),
        WITH_LAUNCHES(functions_in_functions_and_many_names_are_served_on_a_small_stack),
        WITH_LAUNCHES(the_compiler_has_a_stack_of_its_own),
        WITH_LAUNCHES(the_system_is_asked_on_a_small_stack),
    };
    return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
