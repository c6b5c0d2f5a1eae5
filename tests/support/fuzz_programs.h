/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that random cases are drawn from, and what their inputs must be like for the answer to be well
 * determined. */
#ifndef KILN_TESTS_FUZZ_PROGRAMS_H
#define KILN_TESTS_FUZZ_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* How an input's values are drawn. A row's values are those of one kept position. fuzz_values.c has the numbers. */
typedef enum fuzz_recipe {
    FUZZ_ANY,         /* (-4, 4) */
    FUZZ_POSITIVE,    /* (0.5, 4) */
    FUZZ_ONE_SIGN,    /* (0.5, 2), every other row negated: sums do not cancel */
    FUZZ_SMALL,       /* (-1, 1) */
    FUZZ_SPLIT,       /* odd columns (5, 6), even ones (-0.5, 0.5): each on its own side of the row's mean */
    FUZZ_FACTORS,     /* 24 columns in (0.75, 1.5), the others 1 or -1: products stay in range and exact */
    FUZZ_SPARSE,      /* 0 but for one of eight */
    FUZZ_PROBABILITY, /* (0.75, 1.25) times 8 / columns */
    FUZZ_LOGARITHM,   /* (1, 2) */
    FUZZ_TARGET,      /* (1, 1.1) in every third column, else 0 */
    FUZZ_STEPS,       /* within 0.2 of a 127th of the row's largest, which is 4 */
    FUZZ_INTEGERS,    /* of the whole range of 8 bits, less for a smaller type */
    FUZZ_WIDE,        /* integers of the type's whole range */
    FUZZ_COUNTS,      /* integers from 0 to 7 */
    FUZZ_UNITS        /* 1, -1, 2 or 3, the latter two in the first columns alone */
} fuzz_recipe;

/* Values that a case may sprinkle over its floating inputs. */
typedef enum fuzz_specials {
    FUZZ_NO_SPECIALS,
    FUZZ_NANS,     /* NaN alone: a sum with an infinity would be one */
    FUZZ_MASKS,    /* -inf and NaN */
    FUZZ_ALL_KINDS /* NaN, both infinities, -0 and denormal numbers: nothing is added up */
} fuzz_specials;

/* Which types a tensor may have. */
typedef enum fuzz_class {
    FUZZ_FLOATS,
    FUZZ_INTS, /* bool among them */
    FUZZ_I8,
    FUZZ_I64_I32,
    FUZZ_E4M3,
    FUZZ_E5M2,
    FUZZ_EVERY
} fuzz_class;

#define FUZZ_INPUT_LIMIT 3
#define FUZZ_OUTPUT_LIMIT 3
#define FUZZ_SCALAR_LIMIT 2
#define FUZZ_TENSOR_LIMIT (FUZZ_INPUT_LIMIT + FUZZ_OUTPUT_LIMIT)

typedef struct fuzz_input {
    fuzz_recipe recipe;
    bool whole; /* has every element of the space: it is not broadcast */
    fuzz_class types;
} fuzz_input;

typedef struct fuzz_program {
    const char *text, *outputs; /* outputs NULL: the program's own order */
    fuzz_input inputs[FUZZ_INPUT_LIMIT];
    fuzz_class output_types[FUZZ_OUTPUT_LIMIT];
    fuzz_specials specials;
    const char *scalars;                     /* comma-separated, or NULL */
    double scalar_values[FUZZ_SCALAR_LIMIT]; /* a whole number is passed as i64 */
    /* The size of what is subtracted on the way: an error is measured by it where the result is smaller. 0: nothing
     * cancels. */
    double terms;
    /* Without reductions: the output that has one value for each row where the input of the same number has. 0: none.
     */
    int row_output;
    int repeats; /* the input that is read by repeat(); 0: none */
} fuzz_program;

extern const fuzz_program fuzz_programs[];
extern const size_t fuzz_program_count;

#endif
