/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator and every function of the prelude in a kernel, on the software GPU, against the CPU reference: on
 * usual numbers, and operators also on zeros, infinities, NaN and the ends of each type's range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "base/types.h"
#include "kiln_sources.h"
#include "lang/ops.h"
#include "support/called_ops.h"
#include "support/software_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS = 3, COLS = 40, INPUTS = 3, OUTPUTS_EACH = 20, EXPRESSION_LIMIT = 256 };

static software_device device;

/* ---- expressions ------------------------------------------------------------------------------------------ */

typedef struct expressions {
    char items[EXPRESSION_LIMIT][160];
    size_t count;
} expressions;

static void add(expressions *list, const char *format, ...) KILN_PRINTF(2, 3);
static void add(expressions *list, const char *format, ...) {
    va_list arguments;
    assert_true(list->count < EXPRESSION_LIMIT);
    va_start(arguments, format);
    vsnprintf(list->items[list->count++], sizeof list->items[0], format, arguments);
    va_end(arguments);
}

static const char *const written[] = {
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a % b",
    "a ** 2",
    "a ** 3",
    "-a",
    "a < b",
    "a <= b",
    "a > b",
    "a >= b",
    "a == b",
    "a != b",
    "a != 0 && b > 0",
    "a > 0 || b > 0",
    "!(a > b)",
    "a & b",
    "a | b",
    "a ^ b",
    "~a",
    "a << 3",
    "a >> 1",
    "1 << a",
    "a >> b",
    "a > b ? b : c",
    "a / 3",
    "a % 3",
    "3 % a",
    "f32(a)",
    "f64(a)",
    "f16(a)",
    "bf16(a)",
    "i64(a)",
    "i32(a)",
    "i16(a)",
    "i8(a)",
    "u8(a)",
    "u16(a)",
    "u32(a)",
    "u64(a)",
    "e8m0(a)",
    "bool(a)",
    "where(a > b, inf, a)",
    "where(a > b, a, nan)",
    "minimum(a, -7)",
    "a / sum(abs(b))",
    "a / 7.5",
    "sum(a)",
    "max(a) - min(b)",
    "any(a > b)",
    "all(a > b)",
    "prod(a)",
    "sum(a > b)",
    "a == max(a)",
    "reduce((p, q) -> maximum(abs(p), abs(q)), a, 0)",
    "mean(a)",
    "kth(a, 1)",
    "kth(a, 3) == a",
    "kth(a, i64(argmax(a)))",
    "kth_largest(a, 2)",
    "sort(a)",
    "sort(a, descending = true)",
    "sort_by(b, a)",
    "argsort(a, descending = true)",
    "quantile(a, 0.3)",
    "nanquantile(a, 0.9)",
    "uniform(a, 7)",
    "uniform(b, c)",
    "round_to(f32, a, b)",
    "round_to(f16, a, uniform(3, 1))",
    "round_to(bf16, a, b)",
    "round_to(e4m3, a, uniform(3, 2))",
    "round_to(e5m2, a, 0.25)",
    "round_to(f16, f64(a), uniform(3, 4))",
    "reduce((p, q) -> round_to(bf16, maximum(p, q), 0.5), a, 0)",
    "reduce((p, q) -> e4m3(maximum(p, q)), a, 0)",
};

static void add_operators(expressions *list) {
    for (size_t i = 0; i < COUNT(written); i++) add(list, "%s", written[i]);
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const kiln__op_info *info = kiln__op_describe((kiln__op)op);
        if (!op_takes_any_tensors((kiln__op)op)) continue;
        if (info->args == 1) add(list, "%s(a)", info->name);
        if (info->args == 2) add(list, "%s(a, b)", info->name);
        if (info->args == 3) add(list, "%s(a, b, c)", info->name);
    }
}

/* What wants literals or labels, or rounds at ties: gpu_axes.c has them; and what runs across rows. */
static const char *const elsewhere[] = {
    "dropout",
    "dropout_grad",
    "cross_entropy_label",
    "cross_entropy_label_grad",
    "quantize_e4m3",
    "quantize_e5m2",
    "quantize_mx_e2m1",
    "quantize_mx_e2m1_up",
    "scale_nvfp4_tensor",
    "scale_nvfp4",
    "quantize_nvfp4",
    "kth_largest",
    "sort",
    "sort_by",
    "argsort",
    "topk",
    "topk_by",
    "argtopk",
    "quantile",
    "nanquantile",
};

static void add_call(expressions *list, const char *at) {
    char name[64] = "", call[128];
    size_t length = strcspn(at, "("), parameters = at[strcspn(at, "(") + 1] != ')';
    memcpy(name, at, length);
    for (const char *c = at + length; *c != ')'; c++) {
        if (!strncmp(c, " seed", 5) || !strncmp(c, "(seed", 5) || !strncmp(c, " label", 6)) return;
        parameters += *c == ',';
    }
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        if (!strcmp(name, elsewhere[i])) return;
    int used = snprintf(call, sizeof call, "%s(", name);
    /* What is given for a parameter with a default, an epsilon or a count, is positive. */
    for (size_t i = 0; i < parameters; i++)
        used += snprintf(call + used, sizeof call - (size_t)used, "%s%s", i ? ", " : "",
                         i < INPUTS ? (const char *[]){"a", "b", "c"}[i] : "1e-3");
    snprintf(call + used, sizeof call - (size_t)used, ")");
    add(list, "%s", call);
}

static void add_functions(expressions *list, const char *text) {
    for (const char *at = text; (at = strstr(at, "\nfn ")) != NULL;) {
        at += 4;
        if (*at != '_') add_call(list, at);
    }
}

/* ---- one kernel ------------------------------------------------------------------------------------------- */

typedef struct kernel_run {
    kiln_type type, output_type;
    bool every_type; /* as output types, one after another */
    bool special;    /* numbers at the ends of the range among the inputs */
    const expressions *list;
    size_t first, count;
    kiln_program *program;
    kiln_tensor host[KILN_MAX_TENSORS], gpu[KILN_MAX_TENSORS];
    kiln__CUdeviceptr memory[KILN_MAX_TENSORS];
    double *got[KILN_MAX_TENSORS];
} kernel_run;

static const kiln_type stored[] = {KILN_F64, KILN_F32, KILN_F16,  KILN_BF16, KILN_I64, KILN_I32, KILN_I16,
                                   KILN_I8,  KILN_U8,  KILN_BOOL, KILN_U16,  KILN_U32, KILN_U64, KILN_E8M0};

static kiln_type type_of_output(const kernel_run *k, size_t output) {
    return k->every_type ? stored[output % COUNT(stored)] : k->output_type;
}

static double draw(size_t i) {
    uint64_t z = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double input_value(const kernel_run *k, size_t tensor, size_t i) {
    static const double floats[] = {0.0,     -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN,
                                    65504.0, -3e4, 0.5, 2.5,  -2.5,     33.0,      1e-7};
    /* The large ones are exact in f32, in which functions of integers compute. */
    static const double integers[] = {0, 1, -1, 2, 3, -3, 31, 32, 63, 64, 2147483520.0, -2147483648.0, 100, -7};
    static const double naturals[] = {0,   1, 2, 3, 31, 32, 63, 64, 0x1p31, 0xffffff00, 0x1p63, 0xffffff0000000000,
                                      100, 7},
                        smaller[] = {0, 1, 2, 3, 31, 32, 63, 64, 0x1p31, 0xffffff00, 0x1p30, 0x1p24, 100, 7};
    bool is_float = kiln__type_is_float(k->type), is_unsigned = kiln__type_is_unsigned(k->type);
    if (k->special)
        return (is_float              ? floats
                : k->type == KILN_U64 ? naturals
                : is_unsigned         ? smaller
                                      : integers)[(tensor == 0   ? i
                                           : tensor == 1 ? i / COUNT(floats) + i * 3
                                                         : i * 5) %
                                          COUNT(floats)];
    double u = draw(tensor * 1000 + i);
    return is_float ? (tensor == 0 ? 3 * u - 1.5 : tensor == 1 ? 0.25 + u : 0.5 + u) : floor(40 * u) - 20;
}

static size_t elements(const kiln_tensor *tensor) {
    size_t n = 1;
    for (int i = 0; i < tensor->rank; i++) n *= (size_t)tensor->sizes[i];
    return n;
}

static size_t bytes_of(const kiln_tensor *tensor) { return elements(tensor) * kiln_type_size(tensor->type); }

static void make_program(kernel_run *k) {
    kiln__text text = {0}, names = {0};
    /* All inputs in one place, so that their order is a, b, c. */
    kiln__text_puts(&text, "z = where(a == a, where(b == b, c, b), a)");
    kiln__text_puts(&names, "z");
    for (size_t i = 0; i < k->count; i++) {
        kiln__text_printf(&text, "\ny%zu = %s", i, k->list->items[k->first + i]);
        kiln__text_printf(&names, ",y%zu", i);
    }
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    char *program = kiln__text_take(&text), *outputs = kiln__text_take(&names);
    options.outputs = outputs;
    if (kiln_program_create(device.kiln, program, &options, &k->program))
        fail_msg("%s: %s", program, kiln_last_error());
    free(program);
    free(outputs);
}

static void make_tensors(kernel_run *k) {
    const int64_t sizes[2] = {ROWS, COLS};
    for (size_t t = 0; t < INPUTS + 1 + k->count; t++) {
        if (t < INPUTS)
            k->host[t] = kiln_tensor_contiguous(NULL, k->type, 2, sizes);
        else {
            int32_t rank = 0;
            int64_t shape[KILN_MAX_RANK];
            if (kiln_program_output_shape(k->program, k->host, t - INPUTS, 1, &rank, shape))
                fail_msg("'%s' and what follows in %s: %s", k->list->items[k->first], kiln_type_name(k->type),
                         kiln_last_error());
            k->host[t] = kiln_tensor_contiguous(NULL, type_of_output(k, t - INPUTS), rank, shape);
        }
        k->host[t].data = calloc(1, bytes_of(&k->host[t]));
        assert_non_null(k->host[t].data);
        for (size_t i = 0; t < INPUTS && i < elements(&k->host[t]); i++)
            kiln__store_f64(k->type, (char *)k->host[t].data + i * kiln_type_size(k->type), input_value(k, t, i));
        k->gpu[t] = k->host[t];
        assert_int_equal(device.driver->MemAlloc(&k->memory[t], bytes_of(&k->host[t])), 0);
        assert_int_equal(device.driver->MemcpyHtoD(k->memory[t], k->host[t].data, bytes_of(&k->host[t])), 0);
        k->gpu[t].data = (void *)(uintptr_t)k->memory[t];
    }
}

/* Half types and f32 compute in f32; a step of the output's type where that is coarser. */
static bool is_close(const kernel_run *k, kiln_type output_type, double got, double expected) {
    if (k->every_type) return got == expected || (isnan(got) && isnan(expected));
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
    if (isinf(expected) || isinf(got)) return got == expected;
    double relative = k->type == KILN_F64 ? 1e-11 : kiln__type_is_float(k->type) ? 2e-4 : 1e-6;
    if (output_type == KILN_F16) relative = 2e-3;
    return fabs(got - expected) <= relative * fmax(fabs(expected), 1e-2);
}

static int compare(const kernel_run *k) {
    int wrong = 0;
    for (size_t o = 0; o <= k->count; o++) {
        const kiln_tensor *tensor = &k->host[INPUTS + o];
        for (size_t i = 0; i < elements(tensor); i++) {
            const double got = k->got[o][i],
                         expected =
                             kiln__load_f64(tensor->type, (char *)tensor->data + i * kiln_type_size(tensor->type));
            if (is_close(k, tensor->type, got, expected)) continue;
            char inputs[128] = "";
            if (elements(tensor) == ROWS * COLS)
                snprintf(inputs, sizeof inputs, " for a %g, b %g, c %g", input_value(k, 0, i), input_value(k, 1, i),
                         input_value(k, 2, i));
            print_message("%s in %s: element %zu is %.9g, expected %.9g%s\n",
                          o ? k->list->items[k->first + o - 1] : "z", kiln_type_name(k->type), i, got, expected,
                          inputs);
            wrong++;
            break;
        }
    }
    return wrong;
}

static int run_kernel(kernel_run *k) {
    const size_t count = INPUTS + 1 + k->count;
    make_program(k);
    make_tensors(k);
    if (kiln_run(k->program, k->gpu, count, NULL, 0, NULL))
        fail_msg("'%s' and what follows in %s: %s", k->list->items[k->first], kiln_type_name(k->type),
                 kiln_last_error());
    for (size_t t = INPUTS; t < count; t++) {
        const size_t n = elements(&k->host[t]);
        assert_int_equal(device.driver->MemcpyDtoH(k->host[t].data, k->memory[t], bytes_of(&k->host[t])), 0);
        k->got[t - INPUTS] = malloc(n * sizeof(double));
        assert_non_null(k->got[t - INPUTS]);
        for (size_t i = 0; i < n; i++)
            k->got[t - INPUTS][i] =
                kiln__load_f64(k->host[t].type, (char *)k->host[t].data + i * kiln_type_size(k->host[t].type));
    }
    if (kiln_run_cpu(k->program, k->host, count, NULL, 0)) fail_msg("%s", kiln_last_error());
    const int wrong = compare(k);
    for (size_t t = 0; t < count; t++) {
        assert_int_equal(device.driver->MemFree(k->memory[t]), 0);
        free(k->host[t].data);
        if (t >= INPUTS) free(k->got[t - INPUTS]);
    }
    kiln_program_destroy(k->program);
    return wrong;
}

/* Whether the expression has a type for inputs of this one. */
static bool is_typed(const char *expression, kiln_type type) {
    const int64_t sizes[2] = {ROWS, COLS};
    kiln_tensor tensors[INPUTS + 2];
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    char text[256];
    snprintf(text, sizeof text, "z = where(a == a, where(b == b, c, b), a)\ny = %s", expression);
    assert_int_equal(kiln_program_create(device.kiln, text, NULL, &program), KILN_OK);
    for (int t = 0; t < INPUTS; t++) tensors[t] = kiln_tensor_contiguous(NULL, type, 2, sizes);
    kiln_status status = KILN_OK;
    for (size_t o = 0; o < 2 && !status; o++) {
        int32_t rank = 0;
        int64_t shape[KILN_MAX_RANK];
        status = kiln_program_output_shape(program, tensors, o, 1, &rank, shape);
        if (!status) tensors[INPUTS + o] = kiln_tensor_contiguous(NULL, KILN_F64, rank, shape);
    }
    if (!status) status = kiln_compile(program, tensors, INPUTS + 2, NULL, 0, 90, 0, 0, &kernel);
    if (status && status != KILN_E_TYPE) fail_msg("%s in %s: %s", expression, kiln_type_name(type), kiln_last_error());
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    return status == KILN_OK;
}

static int run_all(const expressions *all, kiln_type type, bool special) {
    static expressions typed;
    int wrong = 0;
    typed.count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (is_typed(all->items[i], type)) add(&typed, "%s", all->items[i]);
    assert_true(typed.count > 20);
    for (size_t first = 0; first < typed.count; first += OUTPUTS_EACH) {
        const size_t left = typed.count - first;
        kernel_run k = {.type = type,
                        .output_type = kiln__type_is_float(type) ? type : KILN_F32,
                        .special = special,
                        .list = &typed,
                        .first = first,
                        .count = left < OUTPUTS_EACH ? left : OUTPUTS_EACH};
        wrong += run_kernel(&k);
    }
    return wrong;
}

static const kiln_type types[] = {KILN_F32, KILN_F64, KILN_F16, KILN_I32, KILN_I64, KILN_U16, KILN_U32, KILN_U64};

static void operators_agree_with_the_reference(void **unused) {
    (void)unused;
    static expressions all;
    int wrong = 0;
    add_operators(&all);
    for (size_t t = 0; t < COUNT(types); t++) wrong += run_all(&all, types[t], false) + run_all(&all, types[t], true);
    assert_int_equal(wrong, 0);
}

static void the_prelude_agrees_with_the_reference(void **unused) {
    (void)unused;
    static expressions all;
    int wrong = 0;
    add_functions(&all, kiln__source_prelude_kiln);
    for (size_t t = 0; t < 3; t++) wrong += run_all(&all, types[t], false);
    assert_int_equal(wrong, 0);
}

static void the_library_agrees_with_the_reference(void **unused) {
    (void)unused;
    static expressions all;
    int wrong = 0;
    add_functions(&all, kiln__source_library_kiln);
    for (size_t t = 0; t < 3; t++) wrong += run_all(&all, types[t], false);
    assert_int_equal(wrong, 0);
}

/* Every storage type to every other, exactly: roundings, saturation, NaN to integers. */
static void conversions_agree_with_the_reference(void **unused) {
    (void)unused;
    static expressions copies;
    int wrong = 0;
    for (size_t i = 0; i < COUNT(stored); i++) add(&copies, "%s", i % 2 ? "a" : "b");
    for (size_t i = 0; i < COUNT(stored); i++) add(&copies, "%s", i % 2 ? "b" : "a");
    for (size_t t = 0; t < COUNT(stored); t++) {
        for (int special = 0; special < 2; special++) {
            kernel_run k = {
                .type = stored[t], .every_type = true, .special = special, .list = &copies, .count = copies.count};
            wrong += run_kernel(&k);
        }
    }
    assert_int_equal(wrong, 0);
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
        cmocka_unit_test(operators_agree_with_the_reference),
        cmocka_unit_test(the_prelude_agrees_with_the_reference),
        cmocka_unit_test(the_library_agrees_with_the_reference),
        cmocka_unit_test(conversions_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
