/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of the GPU suite: which programs, shapes, types and variants, and the inputs of each. */
#ifndef KILN_TESTS_GPU_CASES_H
#define KILN_TESTS_GPU_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kiln/kiln.h"

/* How an input's values are drawn; gpu_cases.c says why each is as it is. */
typedef enum gpu_recipe {
    GPU_ALTERNATING,          /* odd columns in (3, 5), even ones in (-1, 1); every other row negated */
    GPU_ALTERNATING_POSITIVE, /* the same with no row negated */
    GPU_ALTERNATING_SMALL,    /* a sixteenth of GPU_ALTERNATING */
    GPU_PLAIN,                /* (-1, 3) */
    GPU_WEIGHT,               /* (0.5, 1.5) */
    GPU_BIAS,                 /* (0.5, 1.5), negative in even columns */
    GPU_PROBABILITY,          /* (0.75, 1.25) times 8 / columns */
    GPU_GRADIENT,             /* (1, 3); every other row negated */
    GPU_GELU_LEFT,            /* (-2.5, 2.5) */
    GPU_GELU_RIGHT            /* (-0.5, 0.5) */
} gpu_recipe;

#define GPU_INPUT_LIMIT 3
typedef struct gpu_input {
    const char *name;
    bool one_row; /* [cols], broadcast over the rows */
    gpu_recipe recipe;
} gpu_input;

typedef struct gpu_program {
    const char *name, *text;
    gpu_input inputs[GPU_INPUT_LIMIT];
    int input_count;
    bool reduces;  /* the output has one value per row */
    bool flat;     /* tensors are one-dimensional, rows * cols long */
    bool in_place; /* is also run with its output over its first input */
    bool integers; /* is also run in i32 */
} gpu_program;

typedef enum gpu_variant {
    GPU_USUAL,
    GPU_IN_PLACE, /* the output is the first input's tensor */
    GPU_SHIFTED   /* tensors start one element past an aligned address */
} gpu_variant;

/* Cases that share everything but the number of rows, and so the kernel. */
#define GPU_ROWS_LIMIT 4
typedef struct gpu_group {
    const gpu_program *program;
    kiln_type type;
    gpu_variant variant;
    int64_t cols;
    int64_t rows[GPU_ROWS_LIMIT];
    int rows_count;
} gpu_group;

/* What to run; NULL, 0 and -1 stand for all. */
typedef struct gpu_filter {
    const char *program;
    int64_t cols, rows;
    int type, variant;
} gpu_filter;
#define GPU_FILTER_INIT \
    { NULL, 0, 0, -1, -1 }

/* The groups that pass the filter, the ones with most bytes first, malloced; NULL if memory ran out or none passes. */
gpu_group *gpu_groups_create(const gpu_filter *filter, size_t *count);

/* Value (row, col) of input number `input`, an integer for i32; rounding to the type is the caller's. A pure function:
 * any part of a tensor can be drawn again. */
double gpu_input_value(const gpu_group *group, int input, uint64_t seed, int64_t row, int64_t col);

const char *gpu_variant_name(gpu_variant variant);

/* The command line that runs one case again. */
void gpu_case_print(FILE *to, const gpu_group *group, int64_t rows, uint64_t seed);

/* The case's tensors, contiguous: inputs, then the output, with no data. Returns their number. */
size_t gpu_case_tensors(const gpu_group *group, int64_t rows, kiln_type output_type,
                        kiln_tensor tensors[GPU_INPUT_LIMIT + 1]);

#endif
