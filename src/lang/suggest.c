/* SPDX-License-Identifier: Apache-2.0 */
/* What to say where a program is not Kiln's: words of NumPy, PyTorch, Python and C with what they are here, functions
 * that are defined elsewhere in the text, and the nearest name to a misspelt one. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "lang/parser.h"

typedef struct advice {
    const char *word, *use;
} advice;

/* Of functions and operators; a word stands for those that only differ in case, too. */
/* clang-format off */
static const advice words[] = {
    /* conversions */
    {"float32", "f32(x)"}, {"double", "f64(x)"}, {"float64", "f64(x)"}, {"half", "f16(x)"},
    {"float16", "f16(x)"}, {"bfloat16", "bf16(x)"}, {"float8_e4m3fn", "e4m3(x)"}, {"float8_e4m3", "e4m3(x)"},
    {"float8_e5m2", "e5m2(x)"}, {"float8_e8m0fnu", "e8m0(x)"}, {"fp8", "e4m3(x) or e5m2(x)"}, {"fp16", "f16(x)"}, {"fp32", "f32(x)"},
    {"int", "i32(x) or i64(x)"}, {"long", "i64(x)"}, {"int64", "i64(x)"}, {"int32", "i32(x)"}, {"short", "i16(x)"},
    {"int16", "i16(x)"}, {"int8", "i8(x)"}, {"char", "i8(x)"}, {"uint8", "u8(x)"}, {"uint16", "u16(x)"}, {"uint32", "u32(x)"}, {"uint64", "u64(x)"}, {"byte", "u8(x)"},
    {"boolean", "bool(x)"}, {"cast", "the type's name, as f16(x)"}, {"astype", "the type's name, as f16(x)"},
    {"to", "the type's name, as f16(x)"}, {"stochastic_round", "round_to(bf16, x, uniform(seed, offset))"}, {"quantize", "quantize_i8(x) or quantize_e4m3(x)"},
    /* choice and logic */
    {"if", "c ? a : b or where(c, a, b)"}, {"else", "c ? a : b or where(c, a, b)"}, {"select", "where(c, a, b)"},
    {"iif", "where(c, a, b)"}, {"cond", "where(c, a, b)"}, {"masked_fill", "where(mask, value, x)"},
    {"nan_to_num", "where(isfinite(x), x, 0)"}, {"and", "a && b"}, {"or", "a || b"}, {"not", "!a"},
    {"logical_and", "a && b"}, {"logical_or", "a || b"}, {"logical_not", "!a"}, {"bitwise_and", "a & b"},
    {"bitwise_or", "a | b"}, {"bitwise_xor", "a ^ b"}, {"bitwise_not", "~a"}, {"invert", "~a"}, {"equal", "a == b"},
    {"not_equal", "a != b"}, {"greater", "a > b"}, {"less", "a < b"},
    /* arithmetic */
    {"add", "a + b"}, {"subtract", "a - b"}, {"multiply", "a * b"}, {"mul", "a * b"}, {"divide", "a / b"},
    {"div", "a / b"}, {"true_divide", "a / b"}, {"floor_divide", "div_floor(a, b)"}, {"mod", "a % b"},
    {"negative", "-x"}, {"abs2", "x ** 2"}, {"cube", "x ** 3"},
    {"power", "x ** y or pow(x, y)"}, {"exp10", "10 ** x"}, {"ln", "log(x)"}, {"hypot", "sqrt(a * a + b * b)"},
    {"fabs", "abs(x)"}, {"absolute", "abs(x)"}, {"sgn", "sign(x)"},
    {"clamp_min", "maximum(x, low)"}, {"clamp_max", "minimum(x, high)"}, {"fix", "trunc(x)"}, {"rint", "round(x)"},
    {"around", "round(x)"}, {"ceiling", "ceil(x)"},
    {"gamma", "exp(lgamma(x))"},
    {"arcsin", "asin(x)"}, {"arccos", "acos(x)"}, {"arctan", "atan(x)"}, {"arctan2", "atan2(y, x)"},
    {"arcsinh", "asinh(x)"}, {"arccosh", "acosh(x)"}, {"arctanh", "atanh(x)"}, {"e", "exp(1)"}, {"tau", "2 * pi()"},
    {"gelu_new", "gelu_tanh(x)"},
    /* reductions */
    {"amax", "max(x)"}, {"amin", "min(x)"}, {"average", "mean(x)"}, {"product", "prod(x)"}, {"variance", "var(x)"},
    {"stddev", "std(x)"}, {"norm", "norm2(x)"}, {"normalize", "l2_normalize(x)"},
    {"inner", "dot(a, b)"}, {"mse", "mse_loss(x, t)"}, {"huber", "huber_loss(x, t)"}, {"bce", "bce_loss(p, t)"},
    {"bce_with_logits", "bce_with_logits_loss(x, t)"}, {"js_div", "js_divergence(p, q)"}, {"hinge", "hinge_loss(x, t)"},
    {"zscore", "z_score(x)"}, {"cov", "covariance(x, y)"}, {"corrcoef", "correlation(x, y)"},
    {"adamw", "adamw_step(w, m, v, t, rate)"},
    {"sgd", "sgd_step(w, g, rate)"}, {"lion", "lion_step(w, m, g, rate)"}, {"rope", "rotary_first and rotary_second"},
    {"matmul", "sum(a * b) for a row; there are no products of matrices"},
    {"mm", "sum(a * b) for a row; there are no products of matrices"},
    {"@", "sum(a * b) for a row; there are no products of matrices"},
    /* shapes and positions */
    {"len", "size(axis)"}, {"length", "size(axis)"}, {"shape", "size(axis)"}, {"numel", "size(axis)"},
    {"arange", "index(axis)"}, {"range", "index(axis)"}, {"iota", "index(axis)"}, {"zeros", "0"}, {"ones", "1"},
    {"zeros_like", "0"}, {"ones_like", "1"}, {"full", "the number itself"}, {"concat", "outputs that are views of one tensor"},
    {"concatenate", "outputs that are views of one tensor"}, {"cat", "outputs that are views of one tensor"},
    {"stack", "outputs that are views of one tensor"}, {"transpose", "strides of the tensor"},
    {"permute", "strides of the tensor"}, {"reshape", "sizes and strides of the tensor"},
    {"unsqueeze", "sizes and strides of the tensor"}, {"[", "sizes and strides of the tensor"},
    {"rand", "uniform(seed, offset)"}, {"random", "uniform(seed, offset)"},
    {"normal", "randn(seed, offset)"},
    {".", "functions without a module and not as methods, as sum(x)"},
};

#define AXES \
    "reductions run over the program's axes: the last, or those of the option axes (--axes); or over their own, as in " \
    "sum(x, axes = 0)"
static const advice parameters[] = {
    {"axis", AXES}, {"dim", AXES}, {"dims", AXES},
    {"keepdims", "an output's tensor has its reduced axes as 1 or not at all (--keep-dims)"},
    {"keepdim", "an output's tensor has its reduced axes as 1 or not at all (--keep-dims)"},
    {"dtype", "a type's name converts, as f16(x), and an output is stored in its tensor's type"},
};

static const advice numbers[] = {
    {"pi", "pi()"}, {"tau", "2 * pi()"}, {"e", "exp(1)"}, {"true", "true"}, {"false", "false"}, {"infinity", "inf"},
    {"inf", "inf"}, {"nan", "nan"}, {"none", "0"}, {"null", "0"},
};
/* clang-format on */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static const char *find(const advice *table, size_t count, const char *word, size_t length) {
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < length && lower(word[k]) == table[i].word[k]) k++;
        if (k == length && table[i].word[k] == '\0') return table[i].use;
    }
    return NULL;
}

const char *kiln__advice(const kiln__token *token) { return find(words, COUNT(words), token->text, token->length); }

const char *kiln__number_advice(const char *name) { return find(numbers, COUNT(numbers), name, strlen(name)); }

static void consider(kiln__nearest *nearest, const char *other, size_t length) {
    if (!kiln__is_private(other)) kiln__nearest_consider(nearest, other, length);
}

static kiln__nearest find_nearest(const kiln__parser *parser, const kiln__token *name) {
    kiln__nearest nearest = kiln__nearest_begin(name->text, name->length);
    for (kiln__op op = 0; op < KILN__OP_COUNT_OF; op++)
        consider(&nearest, kiln__op_describe(op)->name, strlen(kiln__op_describe(op)->name));
    for (kiln_type type = 0; type < KILN_TYPE_COUNT; type++)
        consider(&nearest, kiln_type_name(type), strlen(kiln_type_name(type)));
    consider(&nearest, "float", strlen("float"));
    for (const kiln__function *function = parser->functions; function != NULL; function = function->next)
        consider(&nearest, function->name, function->length);
    return nearest;
}

/* Whether the rest of the text defines the function; at its name. */
static bool defined_later(const kiln__parser *parser, const kiln__token *name, kiln__token *definition) {
    kiln__work work = {.file = ""}; /* what is wrong with the rest is not to be told now */
    kiln__parser ahead = *parser;
    bool defines = false;
    ahead.work = &work;
    for (; ahead.token.kind != KILN__TOKEN_END; kiln__parser_advance(&ahead)) {
        if (defines && kiln__token_is(&ahead.token, name->text, name->length)) {
            *definition = ahead.token;
            return true;
        }
        defines = kiln__token_is(&ahead.token, "fn", 2);
    }
    return false;
}

bool kiln__fail_unknown(kiln__parser *parser, const kiln__token *name) {
    const char *quote = kiln__parser_quote(parser, name), *use = kiln__advice(name);
    const kiln__function *defining = parser->defining;
    kiln__token definition;
    if (defining != NULL && kiln__token_is(name, defining->name, defining->length))
        return KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s is called by itself: there is no recursion", quote);
    if (defined_later(parser, name, &definition))
        return KILN__FAIL_AT(parser, name, KILN_E_NAME,
                             "%s is called above its definition at %u:%u, expected 'fn' before the first call", quote,
                             definition.line, definition.column);
    if (use != NULL) return KILN__FAIL_AT(parser, name, KILN_E_NAME, "unknown function %s; use %s", quote, use);
    char meant[96];
    kiln__nearest nearest = find_nearest(parser, name);
    kiln__nearest_tell(&nearest, meant);
    return KILN__FAIL_AT(parser, name, KILN_E_NAME, "unknown function %s%s", quote, meant);
}

bool kiln__fail_parameter(kiln__parser *parser, const kiln__token *called, const kiln__function *function,
                          const kiln__token *name) {
    const char *use = find(parameters, COUNT(parameters), name->text, name->length);
    char list[KILN__MAX_PARAMETERS * 24] = "", quote[sizeof parser->quote];
    size_t size = 0;
    strcpy(quote, kiln__parser_quote(parser, called));
    if (use != NULL)
        return KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s has no parameter %s; %s", quote,
                             kiln__parser_quote(parser, name), use);
    if (function == NULL)
        return KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s has no parameter %s: its arguments are given by position",
                             quote, kiln__parser_quote(parser, name));
    for (uint32_t i = 0; i < function->parameter_count && size < sizeof list; i++)
        size += (size_t)snprintf(list + size, sizeof list - size, "%s'%.*s'", i > 0 ? ", " : "",
                                 (int)function->parameters[i].length, function->parameters[i].name);
    if (size == 0) strcpy(list, "none");
    return KILN__FAIL_AT(parser, name, KILN_E_NAME, "%s has no parameter %s, it has %s", quote,
                         kiln__parser_quote(parser, name), list);
}

/* Whether one of the function's operations reduces, or (NULL) the operator of that name does. */
static bool reduces(const kiln__token *called, const kiln__function *function) {
    bool any = function == NULL && kiln__op_runs(kiln__op_find(called->text, called->length));
    for (uint32_t i = 0; function != NULL && i < function->nodes.count; i++)
        any = any || kiln__op_runs(function->nodes.items[i].op);
    return any;
}

bool kiln__fail_count(kiln__parser *parser, const kiln__token *called, const kiln__function *function, uint32_t least,
                      uint32_t most, uint32_t found) {
    const char *quote = kiln__parser_quote(parser, called), *use = "";
    char range[48];
    if (found > most && reduces(called, function)) use = "; " AXES;
    if (found == 2 && kiln__token_is(called, "max", 3)) use = "; of two values use maximum(a, b), and " AXES;
    if (found == 2 && kiln__token_is(called, "min", 3)) use = "; of two values use minimum(a, b), and " AXES;
    if (least != most)
        snprintf(range, sizeof range, "%u to %u arguments", least, most);
    else
        snprintf(range, sizeof range, "%u argument%s", least, least == 1 ? "" : "s");
    return KILN__FAIL_AT(parser, called, KILN_E_SYNTAX, "%s takes %s, found %u%s", quote, range, found, use);
}
