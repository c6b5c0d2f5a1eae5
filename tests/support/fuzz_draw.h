/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases: a program, its axes, and tensors of any shape, strides, type and alignment, all drawn from a seed. */
#ifndef KILN_TESTS_FUZZ_DRAW_H
#define KILN_TESTS_FUZZ_DRAW_H

#include <stdint.h>
#include <stdio.h>

#include "fuzz_programs.h"
#include "kiln/kiln.h"

typedef struct fuzz_tensor {
    kiln_tensor view;  /* no data */
    int64_t low, high; /* its elements lie in [low, high) of its data pointer */
    int64_t shift;     /* elements that its memory starts past an aligned address */
    int lies_in;       /* an output's: the input whose memory it shares; else -1 */
    int64_t ahead;     /* of that input's data pointer; 0: it is the same tensor */
    bool overlaps;     /* an input's: windows of one row of elements */
} fuzz_tensor;

typedef struct fuzz_case {
    uint64_t seed;
    long index;
    const fuzz_program *program;
    char text[256];         /* the program's, with the case's blocks and axes in it */
    bool own_axes;          /* its reductions run over other axes than rows', or over blocks, */
    int64_t block, larger;  /* of so many columns */
    bool may_lack_schedule; /* and a kernel may refuse what the reference does */
    int input_count, output_count, scalar_count;
    kiln_scalar scalars[FUZZ_SCALAR_LIMIT];
    bool last_axis, all_axes; /* else the list */
    int axes[KILN_MAX_RANK], axis_count;
    int rank; /* of the space that the inputs broadcast to */
    int64_t sizes[KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    fuzz_tensor tensors[FUZZ_TENSOR_LIMIT]; /* inputs, then outputs */
    int specials;                           /* one of so many values is a special one; 0: none */
    int schedule;                           /* of fuzz_schedules */
    unsigned char poison;                   /* the bytes of outputs before the run */
} fuzz_case;

/* Schedules that are pinned where they are possible; the first one, NULL, pins nothing. */
#define FUZZ_SCHEDULE_COUNT 36
extern const char *const fuzz_schedules[FUZZ_SCHEDULE_COUNT];

/* Case number `index`. Runs of neighbouring cases differ in values and kept extents alone, and mostly share a kernel.
 * The context is asked for the shapes of outputs. */
kiln_status fuzz_case_draw(kiln_context *context, uint64_t seed, long index, fuzz_case *out);

/* The same, but in some cases of types, and of blocks and axes, that fuzz_case_draw leaves out: tools/snapshot.sh
 * compares what it draws with what earlier commits do. */
kiln_status fuzz_case_draw_any(kiln_context *context, uint64_t seed, long index, fuzz_case *out);

kiln_status fuzz_case_program(const fuzz_case *c, kiln_context *context, kiln_program **out);

/* "gpu_fuzz --seed 1 --case 2   # y = softmax(x); x=f16[8,3]{3,1}+1 y=f16[8,3]; axes 0,-1", without a line's end. */
void fuzz_case_print(FILE *to, const fuzz_case *c);

int64_t fuzz_element_count(const kiln_tensor *tensor);
/* Offset of the tensor's element number `i` in row-major order of its sizes. */
int64_t fuzz_element_offset(const kiln_tensor *tensor, int64_t i);

/* Whether an output is without its reduced axes. */
bool fuzz_drops_axes(const fuzz_case *c, const kiln_tensor *view);

/* Where a tensor's element lies in the space: the row (kept position) and column (reduced position), counted over the
 * tensor's own axes. drops: an output without its reduced axes. */
void fuzz_element_position(const fuzz_case *c, const kiln_tensor *tensor, bool drops, int64_t i, int64_t *row,
                           int64_t *col);

/* Stores the value of input number `input` at its element number `i`. A pure function. */
void fuzz_store_value(const fuzz_case *c, int input, int64_t i, void *element);

/* A generator of 64-bit numbers (splitmix64), and a number in [0, n) from it. */
typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;
uint64_t fuzz_random_next(fuzz_random *random);
int64_t fuzz_random_below(fuzz_random *random, int64_t n);

#endif
