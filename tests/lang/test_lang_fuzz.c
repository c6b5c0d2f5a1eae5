/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs: soups of tokens and mutations of valid ones. Whatever the text, parse and typing come back with a
 * program or with a status and a sentence, within the limits. KILN_FUZZ_SEED and KILN_FUZZ_CASES choose others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/gradient.h"
#include "support/lang_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_CASE 2000

static const char *const tokens[] = {
    "x",
    "y",
    "z",
    "a",
    "b",
    "=",
    "=",
    "=",
    "(",
    ")",
    "(",
    ")",
    ",",
    ",",
    ";",
    "\n",
    "\n",
    "\r\n",
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "!",
    "~",
    "&&",
    "||",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<",
    "<=",
    "==",
    "!=",
    ">",
    ">=",
    "?",
    ":",
    "->",
    "fn ",
    "fn f(a, b) =",
    "f(",
    "g(",
    "1",
    "0",
    "2.5",
    "1e-5",
    "0x10",
    "9223372036854775807",
    "18446744073709551615",
    "u64(",
    "u32(",
    "inf",
    "nan",
    "true",
    "false",
    "sum(",
    "max(",
    "mean(",
    "softmax(",
    "layer_norm(",
    "exp(",
    "where(",
    "index(-1)",
    "size(0)",
    "uniform(1, 2)",
    "round_to(f16, ",
    "reduce((a, b) -> ",
    "reduce((a, b) -> a + b, x, 0)",
    "f16(",
    "i8(",
    "bool(",
    "var(x, ddof = 0)",
    "#",
    " ",
    "\t",
    "@",
    "\xc3\xa9",
    "\xff",
    "\x01",
    "1x",
    "y = x",
    "nanmax(",
    "_count()",
    "popcount(",
    ", block = 8",
    ", block =",
    ", axes = 0",
    ", axes = (0, -1)",
    ", axes = all",
    ", axes =",
    "all",
    "repeat(z, 4)",
    "repeat(",
    "absmax(x, block = 16)",
    "sum(x, axes = 0)",
    "scale_mx_e4m3(",
};

static const char *const programs[] = {
    "y = softmax(x * s + m)",
    "fn swiglu(a, b, k = 1.5) = silu(a) * b * k\ny = swiglu(x, z, k = 2); t = sum(y)",
    "m = mean(x) # the mean\nd = x - m\ny = d * rsqrt(mean(d * d) + 1e-5) * w + b",
    "y = reduce((a, b) -> maximum(abs(a), abs(b)), x, 0) ** 2",
    "q = i8(round(x / (absmax(x) / 127))); s = absmax(x) / 127",
    "y = x > 0 && !isnan(x) ? x ** 3 : index(-1) % size(-1)",
    "y = dropout(x, 0.5, 1234, 0) + f16(i32(x) << 2 & 0xff)",
    "y = layer_norm(x, w, b, eps = 1e-6)\nz = logsumexp(y) ; v = var(y, ddof = 0)",
    "y = nanmax(i64(x)) + any(x) * all(x > 1)",
    "y = x / absmax(x, block = 128)",
    "y = softmax(x, block = 64) * max(x)",
    "fn scaled(a, n) = a / absmax(a) * n\ny = scaled(x, 2, block = 32)",
    "y = f32(z) * repeat(s, 32)",
    "d = sum(x, axes = 0); y = softmax(x)",
    "n = sum(x, axes = all); m = max(x, axes = (0, 1))",
};

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static void add(char *text, size_t *size, const char *piece) {
    size_t length = strlen(piece);
    if (*size + length >= MAX_CASE) return;
    memcpy(text + *size, piece, length);
    *size += length;
}

static size_t make_soup(char *text, uint64_t *state) {
    size_t size = 0, count = 1 + next_random(state) % 60;
    if (next_random(state) % 2 == 0) add(text, &size, "y = ");
    for (size_t i = 0; i < count; i++) add(text, &size, tokens[next_random(state) % COUNT(tokens)]);
    return size;
}

/* Deletes, replaces, inserts and doubles pieces of a valid program. */
static size_t make_mutation(char *text, uint64_t *state) {
    size_t size = 0, changes = 1 + next_random(state) % 4;
    add(text, &size, programs[next_random(state) % COUNT(programs)]);
    for (size_t i = 0; i < changes && size > 1; i++) {
        size_t at = next_random(state) % size, length = 1 + next_random(state) % 8;
        if (length > size - at) length = size - at;
        const char *token = tokens[next_random(state) % COUNT(tokens)];
        size_t token_length = strlen(token);
        switch (next_random(state) % 4) {
        case 0:
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
            break;
        case 1: text[at] = (char)(1 + next_random(state) % 255); break;
        case 2:
            if (size + token_length >= MAX_CASE) break;
            memmove(text + at + token_length, text + at, size - at);
            memcpy(text + at, token, token_length);
            size += token_length;
            break;
        default:
            if (size + length >= MAX_CASE) break;
            memmove(text + at + length, text + at, size - at);
            size += length;
            break;
        }
    }
    return size;
}

static const char *check_ir(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        for (uint32_t k = 0; k < inst->arg_count; k++) {
            if (inst->args[k] >= i) return "an argument comes after its use";
            if (ir->insts[inst->args[k]].phase > inst->phase) return "a phase goes back";
        }
        const kiln__op_info *info = kiln__op_describe(inst->op);
        if (info != NULL && inst->op != KILN__OP_UNIFORM && info->args != inst->arg_count)
            return "arguments are missing";
        if (info != NULL && info->rule == KILN__RULE_SAME) {
            for (uint32_t k = 0; k < inst->arg_count; k++) {
                if (ir->insts[inst->args[k]].type != inst->type) return "types differ";
            }
        }
        if (inst->op >= KILN__OP_NAME && inst->op <= KILN__OP_IS_WIDE) return "an untyped operator is left";
    }
    for (uint32_t i = 0; i < ir->output_count; i++) {
        if (ir->outputs[i] >= ir->count) return "an output has no instruction";
    }
    return NULL;
}

/* What the axes are that the text says, as rows lie. */
static void draw_axes(const char *text, uint64_t *state, kiln__across_kinds *out) {
    static const kiln__across kinds[] = {KILN__ACROSS_NONE, KILN__ACROSS_ROWS, KILN__ACROSS_ALL};
    kiln__graph *graph = NULL;
    if (kiln__graph_parse(text, &graph) != KILN_OK) return;
    for (uint32_t i = 0; i < graph->domain_count && out->count < KILN__MAX_ACROSS; i++) {
        if (graph->domains[i].block != 0) continue;
        out->domains[out->count] = i + 1;
        out->kinds[out->count++] = kinds[next_random(state) % COUNT(kinds)];
    }
    kiln__graph_destroy(graph);
}

/* Derives the gradient, without tensors and for some: a text that parses, or a sentence. */
static const char *derive(const char *text, const kiln_tensor *inputs) {
    kiln__graph *graph = NULL, *again = NULL;
    kiln__signature signature;
    kiln__gradient gradient;
    const kiln__gradient_request request = {.inputs = inputs, .last_axis = true};
    const char *problem = NULL;
    if (kiln__graph_parse(text, &graph) != KILN_OK) return NULL;
    kiln_status status = kiln__signature_resolve(graph, &(kiln__lists){NULL, NULL, NULL}, &signature);
    if (status == KILN_OK) {
        status = kiln__gradient_make(graph, &signature, &request, &gradient);
        if (status == KILN_E_INTERNAL || status == KILN_E_MEMORY) problem = "unexpected status of the gradient";
        if (status == KILN_OK && kiln__graph_parse(gradient.text, &again) != KILN_OK &&
            strstr(kiln_last_error(), "operations") == NULL && strstr(kiln_last_error(), "bytes") == NULL)
            problem = "a gradient that does not parse";
        if (problem != NULL && status == KILN_OK) print_error("%s\n", gradient.text);
        if (status == KILN_OK) kiln__gradient_free(&gradient);
    }
    kiln__graph_destroy(again);
    kiln__graph_destroy(graph);
    return problem;
}

/* What is wrong with the way that this text went, NULL if nothing is. */
static const char *run_case(const char *text, uint64_t *state, bool *typed) {
    static const kiln_type types[] = {KILN_F32,  KILN_F16, KILN_F64, KILN_I32, KILN_I64, KILN_U8,
                                      KILN_BOOL, KILN_U16, KILN_U32, KILN_U64, KILN_E8M0};
    kiln__ir *ir;
    kiln__binding binding = lang_binding(KILN_F32);
    for (int i = 0; i < KILN_MAX_TENSORS; i++) {
        binding.input_types[i] = types[next_random(state) % COUNT(types)];
        binding.input_per_element[i] = next_random(state) % 2 == 0;
    }
    draw_axes(text, state, &binding.across);
    kiln__clear_error();
    kiln_status status = lang_build(text, NULL, &binding, &ir);
    if (status == KILN_E_INTERNAL || status == KILN_E_MEMORY || status == KILN_E_ARGUMENT) return "unexpected status";
    if (status != KILN_OK)
        return kiln_last_error()[0] == '\0' ? "no sentence" : ir != NULL ? "a program besides" : NULL;
    *typed = true;
    const char *problem = check_ir(ir);
    char *description = kiln__ir_describe(ir);
    if (problem == NULL && description == NULL) problem = "no description";
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (int i = 0; i < KILN_MAX_TENSORS; i++)
        tensors[i] =
            kiln_tensor_contiguous(NULL, binding.input_types[i], 1 + i % 3, (const int64_t[]){2, 3 * (i % 2) + 1, 4});
    if (problem == NULL) problem = derive(text, NULL);
    if (problem == NULL) problem = derive(text, tensors);
    free(description);
    kiln__ir_destroy(ir);
    return problem;
}

static uint64_t number_from(const char *variable, uint64_t otherwise) {
    const char *value = getenv(variable);
    return value == NULL ? otherwise : strtoull(value, NULL, 10);
}

static void any_text_gives_a_program_or_a_sentence(void **unused) {
    (void)unused;
    uint64_t first = number_from("KILN_FUZZ_SEED", 1), cases = number_from("KILN_FUZZ_CASES", 20000),
             programs_typed = 0;
    for (uint64_t i = 0; i < cases; i++) {
        char text[MAX_CASE + 1];
        uint64_t state = (first + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        bool typed = false;
        next_random(&state);
        size_t size = (first + i) % 3 == 0 ? make_soup(text, &state) : make_mutation(text, &state);
        text[size] = '\0';
        /* A copy of the exact size, so that a read beyond the end is seen. */
        char *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, text, size + 1);
        const char *problem = run_case(copy, &state, &typed);
        free(copy);
        if (problem != NULL)
            fail_msg("KILN_FUZZ_SEED=%llu: %s (%s) for\n%s", (unsigned long long)(first + i), problem,
                     kiln_last_error(), text);
        programs_typed += typed;
    }
    /* Otherwise the cases would say nothing about typing. */
    assert_true(programs_typed > cases / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_text_gives_a_program_or_a_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
