/* SPDX-License-Identifier: Apache-2.0 */
/* Machine instructions of each operator. */
#include "schedule/weights.h"

/* Instructions for an element, by the type of the first argument (of a cast and a rounding: of the result): what
 * tools/bench/compile_cost.py counts in kernels for sm_90. Operators that are not here take one or two. */
static const struct {
    uint16_t f32, f64, integer, narrow; /* narrow: f32 where every output hides the last bits; 0: as f32 */
} weights[KILN__OP_COUNT_OF] = {
    /* clang-format off */
    [KILN__OP_DIV] = {19, 29, 0, 5}, [KILN__OP_MOD] = {81, 264, 50, 0}, [KILN__OP_FMOD] = {73, 254, 45, 0},
    [KILN__OP_REMAINDER] = {81, 264, 50, 0}, [KILN__OP_MUL] = {1, 1, 4, 0}, [KILN__OP_SIGN] = {4, 4, 7, 0},
    [KILN__OP_ABS] = {1, 1, 5, 0}, [KILN__OP_MINIMUM] = {2, 5, 5, 0}, [KILN__OP_MAXIMUM] = {2, 5, 5, 0},
    [KILN__OP_WHERE] = {2, 3, 3, 0}, [KILN__OP_SHL] = {0, 0, 6, 0}, [KILN__OP_SHR] = {0, 0, 6, 0},
    [KILN__OP_DIV_FLOOR] = {40, 50, 50, 0}, [KILN__OP_DIV_TRUNC] = {22, 32, 45, 0},
    [KILN__OP_NORMCDF] = {30, 170, 0, 16},
    [KILN__OP_NORMPDF] = {13, 45, 0, 4}, [KILN__OP_POW] = {86, 67, 40, 0}, [KILN__OP_ATAN2] = {54, 131, 0, 0},
    [KILN__OP_EXP] = {8, 35, 0, 3}, [KILN__OP_EXP2] = {3, 38, 0, 0}, [KILN__OP_EXPM1] = {28, 71, 0, 0},
    [KILN__OP_LOG] = {25, 82, 0, 0}, [KILN__OP_LOG2] = {27, 84, 0, 0}, [KILN__OP_LOG1P] = {29, 147, 0, 0},
    [KILN__OP_LOG10] = {26, 84, 0, 0}, [KILN__OP_SQRT] = {15, 31, 0, 4}, [KILN__OP_RSQRT] = {4, 21, 0, 0},
    [KILN__OP_CBRT] = {16, 42, 0, 0}, [KILN__OP_SIN] = {26, 61, 0, 0}, [KILN__OP_COS] = {26, 62, 0, 0},
    [KILN__OP_TAN] = {133, 99, 0, 0}, [KILN__OP_ASIN] = {22, 66, 0, 0}, [KILN__OP_ACOS] = {23, 130, 0, 0},
    [KILN__OP_ATAN] = {18, 52, 0, 0}, [KILN__OP_SINH] = {23, 125, 0, 0}, [KILN__OP_COSH] = {15, 59, 0, 0},
    [KILN__OP_TANH] = {15, 98, 0, 0}, [KILN__OP_ASINH] = {41, 169, 0, 0}, [KILN__OP_ACOSH] = {43, 166, 0, 0},
    [KILN__OP_ATANH] = {37, 171, 0, 0}, [KILN__OP_ERF] = {22, 73, 0, 0}, [KILN__OP_ERFC] = {45, 166, 0, 18},
    [KILN__OP_ERFINV] = {28, 284, 0, 0}, [KILN__OP_LGAMMA] = {215, 202, 0, 0}, [KILN__OP_SIGMOID] = {17, 85, 0, 4},
    [KILN__OP_UNIFORM] = {20, 20, 20, 0}, [KILN__OP_TAKE] = {6, 6, 6, 0}, [KILN__OP_ROUND_TO] = {5, 10, 3, 0}, [KILN__OP_CAST] = {2, 2, 4, 0},
    [KILN__OP_STOCHASTIC] = {22, 35, 0, 0},
    [KILN__OP_OWN] = {40, 80, 0, 0}, /* nobody knows: as of a heavy function */
    /* clang-format on */
};

/* By a row's value elements are divided in a few instructions, which prepare it once. */
#define DIVIDE_BY_ROW 6

static int weigh(kiln__op op, kiln__ctype type, bool narrow) {
    int weight = weights[op].integer;
    if (type == KILN__F64) weight = weights[op].f64;
    if (type == KILN__F32) weight = narrow && weights[op].narrow ? weights[op].narrow : weights[op].f32;
    return weight ? weight : 2;
}

bool kiln__op_is_heavy(kiln__op op, kiln__ctype type, bool narrow) {
    /* Functions for each storage type, and of the caller's own, stay inlined. */
    if (op == KILN__OP_STOCHASTIC || op == KILN__OP_OWN) return false;
    return !kiln__op_is_reduction(op) && weigh(op, type, narrow) > KILN__CALL_WEIGHT;
}

bool kiln__repeats_freely(kiln__op op) {
    switch ((int)op) {
    case KILN__OP_SIN:
    case KILN__OP_COS:
    case KILN__OP_UNIFORM:
    case KILN__OP_TAKE:
    case KILN__OP_SCAN:
    case KILN__OP_OWN:
    case KILN__OP_LGAMMA:
    case KILN__OP_MOD:
    case KILN__OP_FMOD:
    case KILN__OP_REMAINDER: return false;
    }
    return !kiln__op_is_order(op);
}

bool kiln__is_of_element(const kiln__ir *ir, const kiln__problem *problem, uint32_t inst) {
    return problem->layout == KILN__LAYOUT_FLAT ? !ir->insts[inst].constant : ir->insts[inst].per_element;
}

int64_t kiln__weigh_instruction(const kiln__weighing *w, const kiln__inst *insts, uint32_t i) {
    const kiln__inst *inst = &insts[i];
    const kiln__ctype type = insts[inst->arg_count > 0 ? inst->args[0] : i].type;
    const bool program = insts == w->ir->insts;
    const bool divides = inst->op == KILN__OP_DIV && inst->type == KILN__F32;
    if (program && divides && !kiln__is_of_element(w->ir, w->problem, inst->args[1])) return DIVIDE_BY_ROW;
    /* x * sigmoid(y) and x * normcdf(y) are written as functions of both, which are always inlined. */
    for (int a = 0; a < 2 && inst->op == KILN__OP_MUL && type == KILN__F32; a++) {
        const kiln__op factor = insts[inst->args[a]].op;
        if (factor == KILN__OP_SIGMOID || factor == KILN__OP_NORMCDF) return weigh(factor, type, w->narrow);
    }
    return w->calls && kiln__op_is_heavy(inst->op, type, w->narrow) ? KILN__CALL_WEIGHT
                                                                    : weigh(inst->op, type, w->narrow);
}
