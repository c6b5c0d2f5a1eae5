/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of the GPU suite, and inputs on which the right answer is well determined.
 *
 * Inputs are drawn so that no result is the small difference of large numbers. A sum that cancels has no relative
 * accuracy in any fixed precision: x in (-1, 1) summed over three columns can come out a millionth of its terms, and
 * then an error of one part in 2^24 of a term, which no f32 arithmetic avoids, is many ulp of the result. A kernel that
 * is wrong in an index, a mask or a phase is far outside the tolerances on these inputs too. Hence alternating rows:
 * values of both signs and sizes, of which any two or more neighbours sum to at least a fifth of their absolute sum. */
#include "gpu_cases.h"

#include <stdlib.h>
#include <string.h>

static const gpu_program programs[] = {
    /* A sixteenth: 100,003 columns of 2 on average must stay below f16's 65,504. */
    {"sum", "s = sum(x)", {{"x", false, GPU_ALTERNATING_SMALL}}, 1, true, false, false, true},
    {"max", "s = max(x)", {{"x", false, GPU_ALTERNATING}}, 1, true, false, false, true},
    {"absmax", "s = absmax(x)", {{"x", false, GPU_ALTERNATING}}, 1, true, false, false, true},
    /* Negated, a row's logarithm could come out near 0. */
    {"logsumexp", "s = logsumexp(x)", {{"x", false, GPU_ALTERNATING_POSITIVE}}, 1, true, false, false, false},
    {"reduce_scale", "y = reduce_scale(x)", {{"x", false, GPU_ALTERNATING}}, 1, false, false, true, false},
    {"softmax", "y = softmax(x)", {{"x", false, GPU_ALTERNATING}}, 1, false, false, true, false},
    {"log_softmax", "y = log_softmax(x)", {{"x", false, GPU_ALTERNATING}}, 1, false, false, false, false},
    /* sum(g * y) is 6 or more and g at most 3, of one sign in a row, so that g - sum(g * y) does not cancel. */
    {"softmax_grad",
     "dx = softmax_grad(y, g)",
     {{"y", false, GPU_PROBABILITY}, {"g", false, GPU_GRADIENT}},
     2,
     false,
     false,
     false,
     false},
    {"rms_norm",
     "y = rms_norm(x, w, 1e-5)",
     {{"x", false, GPU_ALTERNATING}, {"w", true, GPU_WEIGHT}},
     2,
     false,
     false,
     false,
     false},
    /* Columns lie on a known side of their mean, and the bias on the same one, so that adding it does not cancel. */
    {"layer_norm",
     "y = layer_norm(x, w, b, 1e-5)",
     {{"x", false, GPU_ALTERNATING_POSITIVE}, {"w", true, GPU_WEIGHT}, {"b", true, GPU_BIAS}},
     3,
     false,
     false,
     false,
     false},
    /* a + b stays above -3: further down e^v multiplies a relative error of v by more than 7. */
    {"gelu",
     "y = gelu_tanh(a + b) * c",
     {{"a", false, GPU_GELU_LEFT}, {"b", true, GPU_GELU_RIGHT}, {"c", false, GPU_PLAIN}},
     3,
     false,
     false,
     false,
     false},
    {"square_plus_one", "y = x * x + 1", {{"x", false, GPU_PLAIN}}, 1, false, true, true, true},
};
#define PROGRAM_COUNT (sizeof programs / sizeof programs[0])

static const int64_t all_cols[] = {1,   2,    3,    7,    8,    31,   32,   33,   100,   127,   128,
                                   129, 1000, 1023, 1024, 1025, 4096, 5000, 8192, 20000, 50257, 100003};
#define COLS_COUNT (sizeof all_cols / sizeof all_cols[0])
static const int64_t shifted_cols[] = {7, 128, 1000, 4096, 20000};
#define SHIFTED_COUNT (sizeof shifted_cols / sizeof shifted_cols[0])
static const int64_t all_rows[GPU_ROWS_LIMIT] = {1, 2, 5, 1000};
static const kiln_type all_types[] = {KILN_F32, KILN_F16, KILN_BF16, KILN_F64, KILN_I32};
#define TYPE_COUNT (sizeof all_types / sizeof all_types[0])

const char *gpu_variant_name(gpu_variant variant) {
    static const char *const names[] = {"usual", "in-place", "shifted"};
    return names[variant];
}

/* ---- the list --------------------------------------------------------------------------------------------- */

static bool is_a_case(const gpu_program *program, kiln_type type, gpu_variant variant, int64_t cols) {
    if (type == KILN_I32 && !program->integers) return false;
    if (variant == GPU_IN_PLACE) return program->in_place;
    for (size_t i = 0; variant == GPU_SHIFTED && i < SHIFTED_COUNT; i++)
        if (shifted_cols[i] == cols) return true;
    return variant == GPU_USUAL;
}

static bool passes(const gpu_filter *filter, const gpu_group *group) {
    return (!filter->program || !strcmp(filter->program, group->program->name)) &&
           (!filter->cols || filter->cols == group->cols) &&
           (filter->type < 0 || (kiln_type)filter->type == group->type) &&
           (filter->variant < 0 || (gpu_variant)filter->variant == group->variant);
}

static void add(const gpu_filter *filter, gpu_group group, gpu_group *groups, size_t *count) {
    if (!is_a_case(group.program, group.type, group.variant, group.cols) || !passes(filter, &group)) return;
    for (size_t i = 0; i < GPU_ROWS_LIMIT; i++)
        if (!filter->rows || filter->rows == all_rows[i]) group.rows[group.rows_count++] = all_rows[i];
    if (group.rows_count) groups[(*count)++] = group;
}

/* Large ones first, so that no worker is left with a long one at the end. */
static int64_t weight(const gpu_group *group) {
    return group->cols * group->program->input_count * (int64_t)kiln_type_size(group->type);
}

static int compare(const void *a, const void *b) {
    int64_t left = weight(a), right = weight(b);
    return left < right ? 1 : left > right ? -1 : 0;
}

gpu_group *gpu_groups_create(const gpu_filter *filter, size_t *count) {
    *count = 0;
    gpu_group *groups = calloc(PROGRAM_COUNT * TYPE_COUNT * COLS_COUNT * 3, sizeof *groups);
    if (!groups) return NULL;
    for (size_t p = 0; p < PROGRAM_COUNT; p++)
        for (size_t t = 0; t < TYPE_COUNT; t++)
            for (size_t c = 0; c < COLS_COUNT; c++)
                for (int v = GPU_USUAL; v <= GPU_SHIFTED; v++)
                    add(filter,
                        (gpu_group){.program = &programs[p],
                                    .type = all_types[t],
                                    .variant = (gpu_variant)v,
                                    .cols = all_cols[c]},
                        groups, count);
    if (*count == 0) {
        free(groups);
        return NULL;
    }
    qsort(groups, *count, sizeof *groups, compare);
    return groups;
}

void gpu_case_print(FILE *to, const gpu_group *group, int64_t rows, uint64_t seed) {
    fprintf(to, "gpu_suite --program %s --cols %lld --rows %lld --type %s --variant %s --seed %llu",
            group->program->name, (long long)group->cols, (long long)rows, kiln_type_name(group->type),
            gpu_variant_name(group->variant), (unsigned long long)seed);
}

size_t gpu_case_tensors(const gpu_group *group, int64_t rows, kiln_type output_type,
                        kiln_tensor tensors[GPU_INPUT_LIMIT + 1]) {
    const gpu_program *program = group->program;
    int64_t whole[2] = {rows, group->cols}, flat = rows * group->cols;
    int n = 0;
    for (; n < program->input_count; n++) {
        if (program->inputs[n].one_row)
            tensors[n] = kiln_tensor_contiguous(NULL, group->type, 1, &group->cols);
        else if (program->flat)
            tensors[n] = kiln_tensor_contiguous(NULL, group->type, 1, &flat);
        else
            tensors[n] = kiln_tensor_contiguous(NULL, group->type, 2, whole);
    }
    if (program->reduces)
        tensors[n] = kiln_tensor_contiguous(NULL, output_type, 1, &rows);
    else if (program->flat)
        tensors[n] = kiln_tensor_contiguous(NULL, output_type, 1, &flat);
    else
        tensors[n] = kiln_tensor_contiguous(NULL, output_type, 2, whole);
    return (size_t)n + 1;
}

/* ---- the inputs ------------------------------------------------------------------------------------------- */

/* The splitmix64 finaliser over a counter: uniform in [0, 1). */
static double draw(uint64_t seed, int input, int64_t row, int64_t col) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (uint64_t)input * 0xd1b54a32d192ed03u +
                 (uint64_t)row * 0x8cb92ba72f3d8dd7u + (uint64_t)col;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return (double)(z >> 11) * 0x1p-53;
}

static double between(double low, double high, double u) { return low + (high - low) * u; }

static double alternating(double u, int64_t col) { return col % 2 ? between(3, 5, u) : between(-1, 1, u); }

double gpu_input_value(const gpu_group *group, int input, uint64_t seed, int64_t row, int64_t col) {
    double u = draw(seed, input, row, col);
    double row_sign = row % 2 ? -1 : 1;
    if (group->type == KILN_I32) return (double)(int)between(0, 2001, u) - 1000; /* 100,003 of them sum below 2^31 */
    switch (group->program->inputs[input].recipe) {
    case GPU_ALTERNATING: return row_sign * alternating(u, col);
    case GPU_ALTERNATING_POSITIVE: return alternating(u, col);
    case GPU_ALTERNATING_SMALL: return row_sign * alternating(u, col) / 16;
    case GPU_PLAIN: return between(-1, 3, u);
    case GPU_WEIGHT: return between(0.5, 1.5, u);
    case GPU_BIAS: return (col % 2 ? 1 : -1) * between(0.5, 1.5, u);
    case GPU_PROBABILITY: return between(0.75, 1.25, u) * 8 / (double)group->cols;
    case GPU_GRADIENT: return row_sign * between(1, 3, u);
    case GPU_GELU_LEFT: return between(-2.5, 2.5, u);
    case GPU_GELU_RIGHT: return between(-0.5, 0.5, u);
    }
    return 0;
}
