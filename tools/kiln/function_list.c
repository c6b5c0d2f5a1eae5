/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the functions: names of operators from the library's table, everything of the prelude's from its
 * text. What an operator means is said here, and the test `functions` misses none. */
#define _GNU_SOURCE
#include "function_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "lang/ops.h"

extern const char kiln__source_prelude_kiln[], kiln__source_library_kiln[]; /* of kernel_sources, embedded */

typedef struct operator_text {
    kiln__op op;
    const char *group, *parameters, *meaning;
} operator_text;

/* clang-format off */
#define E "elementwise"
#define R "reductions"
static const operator_text texts[] = {
    {KILN__OP_INDEX, "positions", "axis", "the element's coordinate along an axis, a number; negative ones count from the last"},
    {KILN__OP_SIZE, "positions", "axis", "the extent of an axis"},
    {KILN__OP_UNIFORM, "random numbers", "seed, offset", "random in [0, 1), Philox 4x32-10 of the element's linear index"},
    {KILN__OP_STOCHASTIC, "random numbers", "type, x, u", "x rounded stochastically to f32, f16, bf16, e4m3, e5m2 or e2m1: away from 0 where u is less than how far x is past the neighbour below"},
    {KILN__OP_TAKE, "places", "x, i", "x at column i of the row, i an integer; NaN or 0 where there is no such column"},
    {KILN__OP_ROWS, "places", "t, i", "row i of the input t, i an integer; NaN or 0 where t has no such row"},
    {KILN__OP_GATHER, "places", "x, i", "x at column i of the row, an i for each element; NaN or 0 where there is no such column: torch.gather, numpy.take_along_axis"},
    {KILN__OP_DIV_FLOOR, E, "x, y", "x / y rounded down; of integers exactly, 0 where y is 0"},
    {KILN__OP_DIV_TRUNC, E, "x, y", "x / y rounded towards 0; of integers exactly, 0 where y is 0"},
    {KILN__OP_NEG, E, "x", "-x"},
    {KILN__OP_ABS, E, "x", "|x|"},
    {KILN__OP_SIGN, E, "x", "-1, 0 or 1; NaN for NaN"},
    {KILN__OP_POPCOUNT, E, "x", "how many bits are 1"},
    {KILN__OP_WHERE, E, "c, a, b", "a where c is true, else b; as c ? a : b"},
    {KILN__OP_MINIMUM, E, "x, y", "the smaller; NaN if one is NaN"},
    {KILN__OP_MAXIMUM, E, "x, y", "the larger; NaN if one is NaN"},
    {KILN__OP_FMIN, E, "x, y", "the smaller; the other one if one is NaN"},
    {KILN__OP_FMAX, E, "x, y", "the larger; the other one if one is NaN"},
    {KILN__OP_FMA, E, "a, b, c", "a b + c, of floats rounded once"},
    {KILN__OP_FMOD, E, "x, y", "the rest of x / y, with the sign of x (C)"},
    {KILN__OP_REMAINDER, E, "x, y", "the rest of x / y, with the sign of y (Python); as x % y"},
    {KILN__OP_POW, E, "x, y", "x^y; as x ** y, also of integers"},
    {KILN__OP_ATAN2, E, "y, x", "the angle of the point (x, y), from -pi to pi"},
    {KILN__OP_EXP, E, "x", "e^x"},
    {KILN__OP_EXP2, E, "x", "2^x"},
    {KILN__OP_EXPM1, E, "x", "e^x - 1, which does not cancel near 0"},
    {KILN__OP_LOG, E, "x", "the natural logarithm"},
    {KILN__OP_LOG2, E, "x", "the logarithm to base 2"},
    {KILN__OP_LOG1P, E, "x", "ln(1 + x), which does not cancel near 0"},
    {KILN__OP_LOG10, E, "x", "the logarithm to base 10"},
    {KILN__OP_SQRT, E, "x", "the square root"},
    {KILN__OP_RSQRT, E, "x", "1 / sqrt(x)"},
    {KILN__OP_CBRT, E, "x", "the cube root"},
    {KILN__OP_SIN, E, "x", "the sine of an angle in radians, as all of these"},
    {KILN__OP_COS, E, "x", "the cosine"},
    {KILN__OP_TAN, E, "x", "the tangent"},
    {KILN__OP_ASIN, E, "x", "the inverse of sin, from -pi / 2 to pi / 2"},
    {KILN__OP_ACOS, E, "x", "the inverse of cos, from 0 to pi"},
    {KILN__OP_ATAN, E, "x", "the inverse of tan, from -pi / 2 to pi / 2"},
    {KILN__OP_SINH, E, "x", "(e^x - e^-x) / 2"},
    {KILN__OP_COSH, E, "x", "(e^x + e^-x) / 2"},
    {KILN__OP_TANH, E, "x", "sinh(x) / cosh(x)"},
    {KILN__OP_ASINH, E, "x", "the inverse of sinh"},
    {KILN__OP_ACOSH, E, "x", "the inverse of cosh, for x of 1 and more"},
    {KILN__OP_ATANH, E, "x", "the inverse of tanh, between -1 and 1"},
    {KILN__OP_ERF, E, "x", "the error function, 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x"},
    {KILN__OP_ERFC, E, "x", "1 - erf(x), which does not cancel for large x"},
    {KILN__OP_ERFINV, E, "x", "the inverse of erf, between -1 and 1"},
    {KILN__OP_LGAMMA, E, "x", "ln |gamma(x)|"},
    {KILN__OP_NORMCDF, E, "x", "P(X <= x) of the normal distribution"},
    {KILN__OP_NORMPDF, E, "x", "the density of the normal distribution, e^(-x^2 / 2) / sqrt(2 pi)"},
    {KILN__OP_FLOOR, E, "x", "rounded down"},
    {KILN__OP_CEIL, E, "x", "rounded up"},
    {KILN__OP_TRUNC, E, "x", "rounded towards 0"},
    {KILN__OP_ROUND, E, "x", "rounded to the nearest, half to even"},
    {KILN__OP_ISNAN, E, "x", "whether x is NaN"},
    {KILN__OP_ISINF, E, "x", "whether x is infinite"},
    {KILN__OP_ISFINITE, E, "x", "whether x is neither infinite nor NaN"},
    {KILN__OP_SIGMOID, E, "x", "1 / (1 + e^-x)"},
    {KILN__OP_REDUCE_SUM, R, "x", "the sum; 0 of nothing"},
    {KILN__OP_REDUCE_PROD, R, "x", "the product; 1 of nothing"},
    {KILN__OP_REDUCE_MAX, R, "x", "the largest; NaN if one is NaN"},
    {KILN__OP_REDUCE_MIN, R, "x", "the smallest; NaN if one is NaN"},
    {KILN__OP_REDUCE_ANY, R, "x", "whether one is true; false of nothing"},
    {KILN__OP_REDUCE_ALL, R, "x", "whether all are true; true of nothing"},
    {KILN__OP_REDUCE_ARGMAX, R, "x", "where the largest is, the first of equal ones; the first NaN if there is one"},
    {KILN__OP_REDUCE_ARGMIN, R, "x", "where the smallest is, the first of equal ones; the first NaN if there is one"},
    {KILN__OP_CUMSUM, "order in a row", "x", "of the columns up to each the sum"},
    {KILN__OP_CUMPROD, "order in a row", "x", "of the columns up to each the product"},
    {KILN__OP_CUMMAX, "order in a row", "x", "of the columns up to each the largest; NaN from the first NaN on"},
    {KILN__OP_CUMMIN, "order in a row", "x", "of the columns up to each the smallest; NaN from the first NaN on"},
    {KILN__OP_FIRST, "order in a row", "x, k", "the first k columns of x, k a literal"},
    {KILN__OP_REDUCE_KTH, "order in a row", "x, k", "the k-th smallest, k from 1; the -k-th largest for k below 0; NaN last; NaN or 0 where there is none such"},
    {KILN__OP_REDUCE_USER, R, "(a, b) -> combined, x, identity", "your own: how two values combine, associatively, and what changes nothing"},
};
#undef E
#undef R
/* clang-format on */

/* A row with copies of the texts; false without memory. formula NULL: none. */
static bool add(function_list *list, const char *group, const char *name, size_t length, const char *parameters,
                const char *meaning, const char *formula) {
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        function_row *rows = realloc(list->rows, capacity * sizeof *rows);
        if (!rows) return false;
        list->rows = rows;
        list->capacity = capacity;
    }
    function_row *row = &list->rows[list->count];
    *row = (function_row){.group = group};
    list->count++;
    row->name = strndup(name, length);
    row->meaning = strdup(meaning);
    if (asprintf(&row->signature, "%.*s(%s)", (int)length, name, parameters) < 0) row->signature = NULL;
    if (formula) row->formula = strdup(formula);
    return row->name && row->meaning && row->signature && (!formula || row->formula);
}

static bool add_operators(function_list *list) {
    bool added = true;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && added; i++) {
        const char *name = kiln__op_describe(texts[i].op)->name;
        added = add(list, texts[i].group, name, strlen(name), texts[i].parameters, texts[i].meaning, NULL);
    }
    return added;
}

static bool add_conversions(function_list *list) {
    char meaning[64];
    bool added = add(list, "conversions", "float", 5, "x", "integers and bool become the program's float type", NULL);
    for (int type = 0; type < KILN_TYPE_COUNT && added; type++) {
        const char *name = kiln_type_name((kiln_type)type);
        snprintf(meaning, sizeof meaning, "rounded to %s", name);
        added = add(list, "conversions", name, strlen(name), "x", meaning, NULL);
    }
    return added;
}

/* ---- the prelude's text ---- */

/* In the order of the list; headings of the prelude begin with these. */
static const char *const groups[] = {
    "conversions",
    "constants",
    "elementwise",
    "gated activations",
    "positions",
    "places",
    "random numbers",
    "reductions",
    "statistics",
    "order in a row",
    "softmax and cross-entropy",
    "losses",
    "normalisation",
    "quantisers",
    "rotary embeddings",
    "optimisers",
    "images",
    "gradients",
    "names of ONNX",
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static const char *group_of(const char *heading) {
    for (int i = 0; i < GROUPS; i++)
        if (strncmp(heading, groups[i], strlen(groups[i])) == 0) return groups[i];
    return "others";
}

/* A list of parameters without their conversions. */
static void drop_conversions(char *parameters) {
    char *to = parameters;
    for (const char *from = parameters; *from;) {
        if (*from == ':')
            from += 2 + strcspn(from + 2, ",= ");
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* "fn name(parameters) = formula". Names that begin with an underscore are the prelude's own. */
static bool add_definition(function_list *list, const char *group, char *line, const char *comment) {
    char *name = line + 3, *open = strchr(name, '('), *end = open ? strstr(open, ") = ") : NULL;
    if (*name == '_' || !end) return true;
    *end = '\0';
    drop_conversions(open + 1);
    return add(list, group, name, (size_t)(open - name), open + 1, comment, end + 4);
}

/* A comment is of the next function that is not the prelude's own. */
static bool add_functions(function_list *list, const char *source) {
    char *text = strdup(source), *rest = NULL;
    const char *group = "others", *comment = "";
    bool added = text != NULL;
    for (char *line = added ? strtok_r(text, "\n", &rest) : NULL; line && added; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "# ---- ", 7) == 0)
            group = group_of(line + 7);
        else if (strncmp(line, "# ", 2) == 0)
            comment = line + 2;
        else if (strncmp(line, "fn ", 3) == 0)
            added = add_definition(list, group, line, comment);
    }
    free(text);
    return added;
}

/* ---- the list ---- */

static int place_of(const char *group) {
    int place = 0;
    while (place < GROUPS && strcmp(groups[place], group) != 0) place++;
    return place;
}

static int by_group(const void *a, const void *b) {
    const function_row *x = a, *y = b;
    const int difference = place_of(x->group) - place_of(y->group);
    return difference ? difference : strcmp(x->name, y->name);
}

kiln_status function_list_make(function_list *out) {
    *out = (function_list){0};
    if (add_conversions(out) && add_operators(out) && add_functions(out, kiln__source_prelude_kiln) &&
        add_functions(out, kiln__source_library_kiln)) {
        qsort(out->rows, out->count, sizeof *out->rows, by_group);
        return KILN_OK;
    }
    function_list_free(out);
    return kiln__out_of_memory();
}

void function_list_free(function_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->rows[i].name);
        free(list->rows[i].signature);
        free(list->rows[i].meaning);
        free(list->rows[i].formula);
    }
    free(list->rows);
    *list = (function_list){0};
}
