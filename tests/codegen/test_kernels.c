/* SPDX-License-Identifier: Apache-2.0 */
/* Generated kernels through NVRTC: every operator and every function of the prelude in every type, every combination of
 * group, staging and layout that the schedule table can give. Skipped where there is no NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/bound.h"
#include "support/called_ops.h"
#include "kiln_sources.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { OUTPUTS_EACH = 28 }; /* of one compile */

static void need_nvrtc(void) {
    const kiln__nvrtc *nvrtc;
    if (kiln__nvrtc_open(NULL, &nvrtc) != KILN_OK) {
        print_message("%s\n", kiln_last_error());
        skip();
    }
}

/* ---- expressions ---- */

typedef struct expressions {
    char *items[512];
    size_t count;
} expressions;

static void add(expressions *list, const char *format, ...) KILN_PRINTF(2, 3);

static void add(expressions *list, const char *format, ...) {
    char buffer[256];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    assert_true(list->count < COUNT(list->items));
    list->items[list->count] = calloc(1, strlen(buffer) + 1);
    assert_non_null(list->items[list->count]);
    strcpy(list->items[list->count++], buffer);
}

static void free_expressions(expressions *list) {
    for (size_t i = 0; i < list->count; i++) free(list->items[i]);
}

/* Whether the expression types for inputs a, b, c of the type. */
static bool is_typed(const char *expression, const char *type, const char *output) {
    bound b;
    char program[256], tensors[128];
    kiln__shaped shaped;
    kiln__ir *ir = NULL;
    snprintf(program, sizeof program, "y = where(a == a, %s, b == c)", expression);
    snprintf(tensors, sizeof tensors, "%s[8] %s[8] %s[8] %s[8]", type, type, type, output);
    if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
    kiln_status status = kiln__program_bind(b.program, b.tensors, NULL, &shaped, &ir);
    if (status && status != KILN_E_TYPE) fail_msg("%s: %s", program, kiln_last_error());
    kiln__ir_destroy(ir);
    bound_destroy(&b);
    return status == KILN_OK;
}

/* Compiles "y0 = ...; y1 = ...;" for some of the expressions at a time: to PTX, which shows whether C++ accepts them
 * in a fraction of the time, or to a cubin, which shows it of the instructions too. */
static void compile_all(const expressions *list, const char *type, const char *const *outputs, size_t output_count,
                        bool cubin) {
    for (size_t first = 0; first < list->count; first += OUTPUTS_EACH) {
        kiln__text program = {0}, tensors = {0};
        bound b;
        kiln_kernel *kernel = NULL;
        for (int i = 0; i < 3; i++) kiln__text_printf(&tensors, "%s[2,96] ", type);
        kiln__text_puts(&program, "z = a + b + c");
        kiln__text_printf(&tensors, "%s[2,96] ", type);
        for (size_t i = first; i < list->count && i < first + OUTPUTS_EACH; i++) {
            kiln__text_printf(&program, "\ny%zu = %s", i, list->items[i]);
            kiln__text_printf(&tensors, "%s[2,96] ", outputs[i % output_count]);
        }
        char *text = kiln__text_take(&program), *bindings = kiln__text_take(&tensors);
        if (bound_create(&b, text, NULL, NULL, bindings)) fail_msg("%s", kiln_last_error());
        /* Addresses that allow packs of one element keep the unrolled loops short. */
        for (size_t i = 0; !cubin && i < b.tensor_count; i++)
            b.tensors[i].data = (void *)(4096 + kiln_type_size(b.tensors[i].type));
        kiln_status status = kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, cubin ? 0 : 1, 1, &kernel);
        if (status) fail_msg("%s in %s:\n%s", text, type, kiln_last_error());
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
        free(text);
        free(bindings);
    }
}

static const char *const float_outputs[] = {"f32", "f16", "bf16", "f64"};
static const char *const all_outputs[] = {"i32", "f32",  "i64", "i8",  "u8",  "i16", "bool",
                                          "f16", "bf16", "f64", "u16", "u32", "u64", "e8m0"};

static const struct {
    const char *type;
    const char *const *outputs;
    size_t output_count;
} types[] = {
    {"f32", all_outputs, COUNT(all_outputs)},     {"f64", all_outputs, COUNT(all_outputs)},
    {"f16", float_outputs, COUNT(float_outputs)}, {"i32", all_outputs, COUNT(all_outputs)},
    {"i64", all_outputs, COUNT(all_outputs)},     {"u16", all_outputs, COUNT(all_outputs)},
    {"u32", all_outputs, COUNT(all_outputs)},     {"u64", all_outputs, COUNT(all_outputs)},
};

/* ---- operators ---- */

static const char *const written[] = {
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a % b",
    "a ** b",
    "a ** 2",
    "a ** 3",
    "a ** -1",
    "a ** 0.5",
    "-a",
    "a < b",
    "a <= b",
    "a > b",
    "a >= b",
    "a == b",
    "a != b",
    "a && b",
    "a || b",
    "!a",
    "a & b",
    "a | b",
    "a ^ b",
    "~a",
    "a << b",
    "a >> b",
    "a << 3",
    "1 << a",
    "a ? b : c",
    "a / 3",
    "3 / a",
    "a % 3",
    "3 % a",
    "-(-a)",
    "!(a < b) && b",
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
    "u64(a) % 10",
    "bool(a)",
    "where(a > b, inf, a)",
    "where(a > b, a, nan)",
    "maximum(a, 5e9)",
    "a * 123456789012.0",
    "a + 1e300",
    "a - 1e-45",
    "maximum(a, 9007199254740993.0)",
    "a * -2",
    "a - -0.0",
    "a + 4294967296",
    "minimum(a, -9223372036854775807)",
    "pow(a, 1e10)",
    "2 ** a",
    "a / sum(b)",
    "a / 7.5",
    "sum(a) / sum(b)",
    "max(a) - min(b)",
    "any(a)",
    "all(a)",
    "prod(a)",
    "sum(a > b)",
    "max(a > b)",
    "a == max(a)",
    "round_to(f16, a, uniform(1, 2)) + round_to(f32, a, b)",
    "round_to(e4m3, a, 0.5) + round_to(e5m2, f64(a), c)",
    "reduce((p, q) -> round_to(e5m2, maximum(p, q), 0.5), a, 0)",
    "reduce((p, q) -> maximum(abs(p), abs(q)), a, 0)",
    "reduce((p, q) -> p * 3 - q, a, 1)",
    "reduce((p, q) -> where(p < q, q, p), a, -1)",
    "kth(a, 2) + b",
    "sort(a) + sort_by(b, a, descending = true)",
    "argsort(a, descending = true) + 1",
    "quantile(a, 0.3)",
    "nanquantile(a, 0.75) == kth_largest(b, argmax(a))",
    "mean(1)",
    "sum(1.5) + a",
};

/* Each operator called by its name, with tensors and with the literals that C++ has no plain spelling of. */
static void add_operators(expressions *list) {
    static const char *const literals[] = {"inf", "-inf", "nan", "12345678901.0", "-3"};
    for (size_t i = 0; i < COUNT(written); i++) add(list, "%s", written[i]);
    for (int op = 0; op < KILN__OP_COUNT_OF; op++) {
        const kiln__op_info *info = kiln__op_describe((kiln__op)op);
        if (!op_takes_any_tensors((kiln__op)op)) continue;
        if (info->args == 1) add(list, "%s(a)", info->name);
        if (info->args == 3) add(list, "%s(a, b, c)", info->name);
        if (info->args != 2) continue;
        add(list, "%s(a, b)", info->name);
        for (size_t l = 0; l < COUNT(literals); l++) {
            add(list, "%s(a, %s)", info->name, literals[l]);
            if (l % 2) add(list, "%s(%s, b)", info->name, literals[l]);
        }
    }
}

static void every_operator_compiles_in_every_type(void **state) {
    (void)state;
    need_nvrtc();
    for (size_t t = 0; t < COUNT(types); t++) {
        if (!strcmp(types[t].type, "f16")) continue; /* computes in f32 */
        expressions all = {0}, typed = {0};
        add_operators(&all);
        for (size_t i = 0; i < all.count; i++)
            if (is_typed(all.items[i], types[t].type, "f32")) add(&typed, "%s", all.items[i]);
        assert_true(typed.count > 60);
        compile_all(&typed, types[t].type, types[t].outputs, types[t].output_count, false);
        free_expressions(&all);
        free_expressions(&typed);
    }
}

/* Loads and stores of every type that kernels serve, in every pairing. */
static void every_conversion_assembles(void **state) {
    (void)state;
    need_nvrtc();
    for (size_t t = 0; t < COUNT(all_outputs); t++) {
        expressions all = {0};
        for (size_t o = 0; o < COUNT(all_outputs); o++) {
            add(&all, "%s(a)", all_outputs[o]);
            char larger[64];
            snprintf(larger, sizeof larger, "maximum(b, %s(c))", all_outputs[(o + 1) % COUNT(all_outputs)]);
            if (is_typed(larger, all_outputs[t], "f32")) add(&all, "%s", larger); /* but u64 and signed */
        }
        compile_all(&all, all_outputs[t], all_outputs, COUNT(all_outputs), true);
        free_expressions(&all);
    }
}

/* ---- the prelude ---- */

/* "name(a, b)": a call of the function defined at `at`, but for those whose seeds, labels and places in a row are
 * numbers of other kinds than the functions' arguments here. */
static bool is_special(const char *name) {
    return strstr(name, "quantile") || strstr(name, "sort") || strstr(name, "topk") || !strcmp(name, "kth_largest");
}

static void add_call(expressions *list, const char *at) {
    char name[64] = "", call[128];
    size_t length = strcspn(at, "("), parameters = at[strcspn(at, "(") + 1] != ')';
    memcpy(name, at, length);
    if (is_special(name)) return;
    for (const char *c = at + length; *c != ')'; c++) {
        if (!strncmp(c, " seed", 5) || !strncmp(c, "(seed", 5) || !strncmp(c, " label", 6)) return;
        parameters += *c == ',';
    }
    int used = snprintf(call, sizeof call, "%s(", name);
    for (size_t i = 0; i < parameters; i++)
        used += snprintf(call + used, sizeof call - (size_t)used, "%s%c", i ? ", " : "", "abc"[i % 3]);
    snprintf(call + used, sizeof call - (size_t)used, ")");
    add(list, "%s", call);
}

static void every_function_compiles(const char *text, size_t type_count) {
    expressions all = {0};
    for (const char *at = text; (at = strstr(at, "\nfn ")) != NULL;) {
        at += 4; /* a tensor's scale runs across rows, which blocks do not stand beside */
        if (*at != '_' && strncmp(at, "scale_nvfp4_tensor(", 19)) add_call(&all, at);
    }
    assert_true(all.count > 50);
    for (size_t t = 0; t < type_count; t++)
        compile_all(&all, types[t].type, types[t].outputs, types[t].output_count, false);
    free_expressions(&all);
}

static void every_function_of_the_prelude_compiles(void **state) {
    (void)state;
    need_nvrtc();
    every_function_compiles(kiln__source_prelude_kiln, 3);
    every_function_compiles(kiln__source_library_kiln, 1); /* what they are made of is compiled in the others */
}

/* ---- schedules ---- */

static const struct {
    const char *name, *text;
    int inputs, weights; /* with rows; of one row */
} shapes[] = {
    {"flat", "y = a * 2", 1, 0},
    {"flat3", "y = a * b + c", 3, 0},
    {"softmax", "y = softmax(a)", 1, 0},
    {"softmax2", "y = softmax(a + b)", 2, 0},
    {"norm", "y = layer_norm(a)", 1, 0},
    {"ordered", "y = a * reduce((p, q) -> p * 0.5 + q, a, 0)", 1, 0},
    {"layer_norm", "y = layer_norm(a, w, v)", 1, 2},
    {"weighed", "y = softmax(a * w + v)", 1, 2},
};
static const int64_t columns[] = {1,     2,     3,     8,     33,    64,    100,    127,   129,
                                  256,   512,   1000,  1023,  1024,  4096,  5000,   8192,  8191,
                                  16384, 16383, 32768, 50257, 65536, 65537, 100003, 131072};
static const struct {
    int arch;
    const char *type;
} targets[] = {{80, "f16"}, {90, "f16"}, {120, "f16"}, {90, "f32"}, {90, "f64"}};

/* Accesses as wide as the schedule says stand in the PTX; NVRTC 13.5 writes types as bits. */
static void check_accesses(const bound *b, const kiln__prepared *prepared, int arch) {
    static const char *const wide[] = {".v4.u32", ".v4.f32", ".v4.b32", ".v2.u64", ".v2.f64", ".v2.b64"};
    kiln_kernel *kernel = NULL;
    if (kiln_compile(b->program, b->tensors, b->tensor_count, NULL, 0, arch, 1, 1, &kernel))
        fail_msg("%s", kiln_last_error());
    const char *ptx = kiln_kernel_image(kernel, NULL);
    const kiln__problem *p = &prepared->problem;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        int bytes = prepared->schedule.tensors[o].width * (int)kiln_type_size(p->operands[o].type);
        if (bytes != 16) continue;
        bool copied = !p->operands[o].output && strstr(ptx, "cp.async.cg.shared.global") != NULL;
        const char *kind = p->operands[o].output ? "st.global" : "ld.global", *at = ptx;
        bool found = copied;
        while (!found && (at = strstr(at, kind)) != NULL) {
            at += strlen(kind);
            for (size_t w = 0; w < COUNT(wide); w++) found |= !strncmp(at, wide[w], 7);
        }
        if (!found) fail_msg("no access of 16 bytes for tensor %d: %s", o, prepared->schedule.text);
    }
    kiln_kernel_destroy(kernel);
}

/* One bit for each combination that shapes the source. */
static unsigned combination(const kiln__schedule *s) {
    return 1u << ((unsigned)kiln__layout_of(s) | (unsigned)s->team.group << 1 | (unsigned)kiln__has_masks(s) << 2)
              << 8 * (unsigned)s->staging.kind;
}

static void check_shape(size_t shape, size_t target, unsigned seen[2]) {
    for (size_t i = 0; i < COUNT(columns); i++) {
        bound b;
        char tensors[256] = "";
        kiln__prepared prepared;
        const int weights = shapes[shape].inputs + shapes[shape].weights;
        for (int t = 0; t <= weights; t++) {
            size_t used = strlen(tensors);
            const char *rows = t < shapes[shape].inputs || t == weights ? "*," : "";
            snprintf(tensors + used, sizeof tensors - used, "%s[%s%lld] ", targets[target].type, rows,
                     (long long)columns[i]);
        }
        assert_int_equal(bound_create(&b, shapes[shape].text, NULL, NULL, tensors), KILN_OK);
        if (bound_prepare(&b, targets[target].arch, &prepared)) fail_msg("%s", kiln_last_error());
        unsigned bit = combination(&prepared.schedule);
        bool full = prepared.schedule.staging.kind == KILN__STAGING_REGISTERS && prepared.schedule.steps == 8;
        if (!(seen[prepared.schedule.passes.ordered] & bit) || full) {
            seen[prepared.schedule.passes.ordered] |= bit;
            kiln_kernel *kernel = NULL;
            kiln_plan_info info = KILN_PLAN_INFO_INIT;
            if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, targets[target].arch, 0, 1, &kernel))
                fail_msg("%s of %s for sm_%d: %s", shapes[shape].text, tensors, targets[target].arch,
                         kiln_last_error());
            kiln_kernel_get_info(kernel, &info);
            if (info.spill_bytes != 0 || strcmp(info.schedule, prepared.schedule.text))
                fail_msg("%s of %s for sm_%d: '%s' spills %d bytes", shapes[shape].text, tensors, targets[target].arch,
                         prepared.schedule.text, info.spill_bytes);
            assert_true(info.registers > 0 && info.registers * info.threads <= 65536);
            kiln_kernel_destroy(kernel);
            check_accesses(&b, &prepared, targets[target].arch);
        }
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

static void every_combination_of_pieces_compiles_without_spills(void **state) {
    (void)state;
    need_nvrtc();
    for (size_t target = 0; target < COUNT(targets); target++) {
        unsigned seen[2] = {0, 0};
        for (size_t shape = 0; shape < COUNT(shapes); shape++) check_shape(shape, target, seen);
        int count = __builtin_popcount(seen[0]) + __builtin_popcount(seen[1]);
        print_message("sm_%d %s: %d combinations\n", targets[target].arch, targets[target].type, count);
        assert_true(count >= 8);
    }
}

/* States of one byte cross clusters in words of four. */
/* Whatever instructions an architecture has for them. */
static void every_type_compiles_for_every_architecture(void **state) {
    (void)state;
    need_nvrtc();
    static const int archs[] = {80, 86, 89, 90, 100, 103, 120};
    static const char *const program =
        "n = argmax(l); y = q * s + h - u + (l ^ k >> 3); r = e8m0(e8m0_down(absmax(y)) / 256); t = y / r";
    for (size_t a = 0; a < COUNT(archs); a++) {
        for (int ptx = 0; ptx < 2; ptx++) {
            bound b;
            kiln_kernel *kernel = NULL;
            assert_int_equal(bound_create_outputs(&b, program, "n,y,r,t", NULL, NULL,
                                                  "u64[64,256] e4m3[64,256] e8m0[64,1] f16[64,256] u16[64,256] "
                                                  "u32[64,256] i64[64,1] f32[64,256] e8m0[64,1] e5m2[64,256]"),
                             KILN_OK);
            if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, archs[a], ptx, 1, &kernel))
                fail_msg("sm_%d: %s", archs[a], kiln_last_error());
            kiln_kernel_destroy(kernel);
            bound_destroy(&b);
        }
    }
}

static void truths_cross_clusters(void **state) {
    (void)state;
    need_nvrtc();
    for (int leading = 0; leading < 2; leading++) {
        bound b;
        kiln_kernel *kernel = NULL;
        setenv("KILN_SCHEDULE", "cluster 2, threads 64, shared", 1);
        kiln_status status = bound_create(&b, "a = any(x > 1); b = all(x > -3.9)", leading ? "0" : NULL, NULL,
                                          "f32[256,256] f32[256] f32[256]");
        unsetenv("KILN_SCHEDULE");
        assert_int_equal(status, KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* Keywords, macros, the generator's own words, and parts of them. */
static void tensors_of_any_name_compile(void **state) {
    static const char *const cases[] = {
        "int + double + class + template + while + return + this + operator + alignas + asm + auto + default + union",
        "__global__ + __shared__ + __device__ + __restrict__ + __launch_bounds__ + __CUDA_ARCH__ + __LINE__ + __FILE__",
        "NULL + KILN_COLS + KILN_VECTOR_WIDTH + KILN_DEVICE + threadIdx + blockIdx + gridDim + kiln_row + _ + __",
        "kiln_kernel + kiln_staged + kiln_vector",
        "x + x_row + x_step0 + row_x + row_in_x + in_x + step0 + rows + elements + args + col + row + staged + index0",
    };
    (void)state;
    need_nvrtc();
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        kiln_kernel *kernel = NULL;
        char program[256], tensors[KILN_MAX_TENSORS * 24] = "";
        snprintf(program, sizeof program, "s = sum(%s)", cases[i]);
        size_t used = 0;
        for (const char *at = cases[i]; at; at = strchr(at + 1, '+')) /* of strides of their own */
            used += (size_t)snprintf(tensors + used, sizeof tensors - used, "f32[3,8]{%zu,2} ", 16 + used);
        snprintf(tensors + used, sizeof tensors - used, "f32[3]");
        if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s: %s", program, kiln_last_error());
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 0, 1, &kernel))
            fail_msg("%s: %s", program, kiln_last_error());
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* Whether whatever an entry's PTX takes the register for is a product that nothing else is rounded with. */
static bool is_multiplied_alone(const char *ptx, const char *name) {
    const char *entry = strstr(ptx, ".entry"), *end = entry ? entry : ptx + strlen(ptx);
    const size_t length = strlen(name);
    for (const char *use = strstr(ptx, name); use && use < end; use = strstr(use + 1, name)) {
        if (use[length] != ',' && use[length] != ';') continue; /* a longer name */
        const char *line = use;
        while (line[-1] != '\n') line--;
        const char *product = strstr(line, "mul.rn.f32");
        if (!product || product > use) return false;
    }
    return true;
}

/* The difference of two means that threads know so far is one of products with reciprocals. Where the compiler rounds
 * either of them together with the subtraction, it is not the same one in every kernel, and a row has other bits beside
 * others. */
static void means_so_far_are_rounded_alone(void **state) {
    static const char *const tensors[] = {"f32[5000,1] f32[1]", "f32[5000,15] f32[15]", "f32[50000,512] f32[512]"};
    (void)state;
    need_nvrtc();
    for (size_t i = 0; i < COUNT(tensors); i++) {
        static const char rcp[] = "rcp.approx.ftz.f32";
        bound b;
        kiln_kernel *kernel = NULL;
        assert_int_equal(bound_create(&b, "v = var(x + 1000)", "0", NULL, tensors[i]), KILN_OK);
        if (kiln_compile(b.program, b.tensors, b.tensor_count, NULL, 0, 90, 1, 1, &kernel))
            fail_msg("%s", kiln_last_error());
        const char *ptx = kiln_kernel_image(kernel, NULL);
        int means = 0;
        for (const char *at = strstr(ptx, rcp); at; at = strstr(at, rcp), means++) {
            char name[32] = "";
            at += sizeof rcp - 1;
            assert_int_equal(sscanf(at, " %31[^,]", name), 1);
            if (!is_multiplied_alone(strchr(at, '\n'), name))
                fail_msg("%s: %s is part of more than a product", tensors[i], name);
        }
        assert_true(means > 0);
        kiln_kernel_destroy(kernel);
        bound_destroy(&b);
    }
}

/* test_kernels [PATTERN]: those tests alone, "every_op*". */
int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_compiles_in_every_type),
        cmocka_unit_test(every_conversion_assembles),
        cmocka_unit_test(every_function_of_the_prelude_compiles),
        cmocka_unit_test(every_combination_of_pieces_compiles_without_spills),
        cmocka_unit_test(every_type_compiles_for_every_architecture),
        cmocka_unit_test(truths_cross_clusters),
        cmocka_unit_test(tensors_of_any_name_compile),
        cmocka_unit_test(means_so_far_are_rounded_alone),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
