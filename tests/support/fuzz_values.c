/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of random cases: where they lie and what values they have.
 *
 * Values are drawn so that the right answer is well determined: no fixed precision gives relative accuracy to the
 * small difference of large numbers. So sums are of one sign in a row, norms get rows that are far from constant, and
 * what a quantiser rounds lies well inside a step. Where a program subtracts none the less, its `terms` tell how large
 * what it subtracts is. Special values go only where they have one right result: not into sums, in which the order of
 * an infinity and its negation would not matter but the class of the result is all that could be compared. */
#include "fuzz_draw.h"

#include <math.h>

#include "base/types.h"

int64_t fuzz_element_count(const kiln_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
    return count;
}

int64_t fuzz_element_offset(const kiln_tensor *tensor, int64_t i) {
    int64_t offset = 0;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        offset += i % tensor->sizes[axis] * tensor->strides[axis];
        i /= tensor->sizes[axis];
    }
    return offset;
}

bool fuzz_drops_axes(const fuzz_case *c, const kiln_tensor *view) {
    for (int i = 0; i < c->rank && view->rank == c->rank; i++)
        if (view->sizes[i] != c->sizes[i] && !c->reduced[i]) return true;
    return view->rank != c->rank;
}

void fuzz_element_position(const fuzz_case *c, const kiln_tensor *tensor, bool drops, int64_t i, int64_t *row,
                           int64_t *col) {
    int64_t row_step = 1, col_step = 1;
    int space_axis = c->rank - 1;
    *row = *col = 0;
    for (int axis = tensor->rank - 1; axis >= 0; axis--, space_axis--) {
        while (drops && c->reduced[space_axis]) space_axis--;
        int64_t size = tensor->sizes[axis], at = i % size;
        i /= size;
        bool reduced = c->reduced[space_axis] && !drops;
        *(reduced ? col : row) += at * (reduced ? col_step : row_step);
        *(reduced ? &col_step : &row_step) *= size;
    }
}

static int64_t columns_of(const fuzz_case *c) {
    int64_t columns = 1;
    for (int i = 0; i < c->rank; i++)
        if (c->reduced[i]) columns *= c->sizes[i];
    return columns;
}

static double between(fuzz_random *random, double low, double high) {
    return low + (high - low) * (double)(fuzz_random_next(random) >> 11) * 0x1p-53;
}

static double draw_step(fuzz_random *random, int64_t col) {
    double step = (double)fuzz_random_below(random, 255) - 127, within = between(random, -0.2, 0.2);
    if (col == 0) return 4;
    return (fabs(step) == 127 ? step : step + within) * 4 / 127;
}

static double draw_value(fuzz_random *random, fuzz_recipe recipe, int64_t row, int64_t col, int64_t columns) {
    double sign = row % 2 ? -1 : 1;
    bool head = fuzz_random_below(random, 8) == 0;
    switch (recipe) {
    case FUZZ_ANY: return between(random, -4, 4);
    case FUZZ_POSITIVE: return between(random, 0.5, 4);
    case FUZZ_ONE_SIGN: return sign * between(random, 0.5, 2);
    case FUZZ_SMALL: return between(random, -1, 1);
    case FUZZ_SPLIT: return col % 2 ? between(random, 5, 6) : between(random, -0.5, 0.5);
    case FUZZ_FACTORS: return col < 24 ? between(random, 0.75, 1.5) : head ? -1 : 1;
    case FUZZ_SPARSE: return head ? between(random, 1, 40) : 0;
    case FUZZ_PROBABILITY: return between(random, 0.75, 1.25) * 8 / (double)(columns ? columns : 1);
    case FUZZ_LOGARITHM: return between(random, 1, 2);
    case FUZZ_TARGET: return col % 3 ? 0 : between(random, 1, 1.1);
    case FUZZ_STEPS: return draw_step(random, col);
    case FUZZ_INTEGERS: return (double)fuzz_random_below(random, 256) - 128;
    case FUZZ_WIDE: return 0; /* not by way of a double */
    case FUZZ_COUNTS: return (double)fuzz_random_below(random, 8);
    case FUZZ_UNITS: {
        static const double units[] = {1, -1, 2, 3};
        return units[fuzz_random_below(random, col < 12 ? 4 : 2)];
    }
    }
    return 0;
}

static double denormal_of(kiln_type type) {
    return type == KILN_F64 ? 1e-310 : type == KILN_F16 ? 3e-7 : type == KILN_F32 || type == KILN_BF16 ? 1e-39 : 0;
}

static double draw_special(fuzz_random *random, fuzz_specials kinds, kiln_type type) {
    switch (fuzz_random_below(random, kinds == FUZZ_NANS ? 1 : kinds == FUZZ_MASKS ? 6 : 8)) {
    case 0: return NAN;
    case 6: return INFINITY;
    case 7: return copysign(denormal_of(type), between(random, -1, 1));
    case 5: return kinds == FUZZ_MASKS ? -INFINITY : -0.0;
    default: return -INFINITY;
    }
}

void fuzz_store_value(const fuzz_case *c, int input, int64_t i, void *element) {
    const kiln_tensor *tensor = &c->tensors[input].view;
    kiln_tensor distinct = *tensor; /* elements of which several lie in one place have one value */
    int64_t row, col, place = 0, rest = i;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        int64_t at = tensor->strides[axis] == 0 ? 0 : rest % tensor->sizes[axis];
        rest /= tensor->sizes[axis];
        distinct.strides[axis] = axis == tensor->rank - 1 ? 1 : distinct.strides[axis + 1] * tensor->sizes[axis + 1];
        place += at * distinct.strides[axis];
    }
    fuzz_element_position(c, tensor, false, place, &row, &col);
    fuzz_random of_case = {c->seed + (uint64_t)c->index * 0x9e3779b97f4a7c15u};
    fuzz_random random = {fuzz_random_next(&of_case) + (uint64_t)place * FUZZ_INPUT_LIMIT + (uint64_t)input};
    random.state = fuzz_random_next(&random);
    fuzz_recipe recipe = c->program->inputs[input].recipe;
    if (recipe == FUZZ_WIDE && kiln__type_is_unsigned(tensor->type)) {
        kiln__store_u64(tensor->type, element,
                        fuzz_random_next(&random) >> (64 - 8 * (int)kiln_type_size(tensor->type)));
        return;
    }
    if (recipe == FUZZ_WIDE && tensor->type != KILN_I64 && tensor->type != KILN_BOOL) {
        kiln__store_i64(tensor->type, element,
                        (int64_t)fuzz_random_next(&random) >> (64 - 8 * (int)kiln_type_size(tensor->type)));
        return;
    }
    if (recipe == FUZZ_WIDE) {
        kiln__store_i64(tensor->type, element,
                        (int64_t)fuzz_random_next(&random) & (tensor->type == KILN_BOOL ? 1 : -1));
        return;
    }
    double value = draw_value(&random, recipe, row, col, columns_of(c));
    if (c->specials && kiln__type_is_float(tensor->type)) {
        fuzz_random of_row = {c->seed ^ ((uint64_t)row << 20) ^ (uint64_t)c->index};
        bool special = fuzz_random_below(&random, c->specials) == 0;
        double other = special ? draw_special(&random, c->program->specials, tensor->type) : value;
        if (fuzz_random_below(&of_row, 12) == 0) other = c->program->specials == FUZZ_NANS ? NAN : -INFINITY;
        /* Infinities become the largest number of 8-bit floats, beside which sums lose what they are made of. */
        if (!isinf(other) || kiln_type_size(tensor->type) > 1) value = other;
    }
    kiln__store_f64(tensor->type, element, value);
}
