/* SPDX-License-Identifier: Apache-2.0 */
/* Typed instructions as CUDA C++ expressions: one table of how each operator is written for each type. */
#include <inttypes.h>
#include <math.h>

#include "base/scalar.h"
#include "base/types.h"
#include "codegen/emitter.h"
#include "schedule/weights.h"
#include "problem/online.h"

/* By the type of the first argument (of a cast and of reductions: of the result), as kiln__ctype counts. Functions are
 * CUDA's own or those of kernel_sources/math.cuh and of what emit_math_parts (source.c) puts behind it. */
static const char *const forms[KILN__OP_COUNT_OF][KILN__CTYPES] = {
#define ALL(form) \
    { form, form, form, form, form, form, form }
#define EACH(f32, f64, integer) \
    { f32, f64, integer, integer, integer, integer, integer }
#define MINIMUM "kiln_minimum(%s, %s)"
#define EACH_MINIMUM(f32, f64) \
    { f32, f64, "kiln_unseen(" MINIMUM ")", MINIMUM, MINIMUM, MINIMUM, MINIMUM }
#define ORDER(number, bool) \
    { number, number, number, number, bool, number, number }
#define LIBM(name) \
    { name "f(%s)", name "(%s)" }
    /* clang-format off */
    [KILN__OP_ADD] = EACH("%s + %s", "%s + %s", "kiln_add(%s, %s)"),
    [KILN__OP_SUB] = EACH("%s - %s", "%s - %s", "kiln_sub(%s, %s)"),
    [KILN__OP_MUL] = EACH("%s * %s", "%s * %s", "kiln_mul(%s, %s)"),
    [KILN__OP_DIV] = ALL("kiln_ratio(%s, %s)"), [KILN__OP_MOD] = ALL("kiln_remainder(%s, %s)"),
    [KILN__OP_DIV_FLOOR] = EACH("floorf(%s / %s)", "floor(%s / %s)", "kiln_div_floor(%s, %s)"),
    [KILN__OP_DIV_TRUNC] = EACH("truncf(%s / %s)", "trunc(%s / %s)", "kiln_div_trunc(%s, %s)"),
    [KILN__OP_NEG] = {"-%s", "-%s", "kiln_sub(0, %s)", "kiln_sub(0LL, %s)", NULL, "0u - %s", "0ULL - %s"},
    [KILN__OP_ABS] = EACH("fabsf(%s)", "fabs(%s)", "kiln_abs(%s)"), [KILN__OP_SIGN] = ALL("kiln_sign(%s)"),
    [KILN__OP_LT] = ALL("%s < %s"), [KILN__OP_LE] = ALL("%s <= %s"), [KILN__OP_GT] = ALL("%s > %s"),
    [KILN__OP_GE] = ALL("%s >= %s"), [KILN__OP_EQ] = ALL("%s == %s"), [KILN__OP_NE] = ALL("%s != %s"),
    [KILN__OP_AND] = ALL("%s & %s"), [KILN__OP_OR] = ALL("%s | %s"), [KILN__OP_NOT] = ALL("!%s"),
    [KILN__OP_BITAND] = ALL("%s & %s"), [KILN__OP_BITOR] = ALL("%s | %s"), [KILN__OP_BITXOR] = ALL("%s ^ %s"),
    [KILN__OP_BITNOT] = {NULL, NULL, "~%s", "~%s", "!%s", "~%s", "~%s"},
    [KILN__OP_SHL] = ALL("kiln_shl(%s, %s)"), [KILN__OP_SHR] = ALL("kiln_shr(%s, %s)"),
    [KILN__OP_POPCOUNT] = ALL("kiln_popcount(%s)"), [KILN__OP_WHERE] = ALL("%s ? %s : %s"),
    [KILN__OP_MINIMUM] = EACH_MINIMUM(MINIMUM, MINIMUM), [KILN__OP_MAXIMUM] = ALL("kiln_maximum(%s, %s)"),
    [KILN__OP_FMIN] = EACH_MINIMUM("fminf(%s, %s)", "fmin(%s, %s)"),
    [KILN__OP_FMAX] = EACH("fmaxf(%s, %s)", "fmax(%s, %s)", "kiln_maximum(%s, %s)"),
    [KILN__OP_FMA] = {"fmaf(%s, %s, %s)", "fma(%s, %s, %s)"}, [KILN__OP_FMOD] = ALL("kiln_fmod(%s, %s)"),
    [KILN__OP_REMAINDER] = ALL("kiln_remainder(%s, %s)"), [KILN__OP_POW] = EACH("powf(%s, %s)", "pow(%s, %s)", "kiln_power(%s, %s)"),
    [KILN__OP_ATAN2] = {"atan2f(%s, %s)", "atan2(%s, %s)"},
    [KILN__OP_EXP] = ALL("kiln_exp(%s)"), [KILN__OP_EXP2] = LIBM("exp2"), [KILN__OP_EXPM1] = LIBM("expm1"),
    [KILN__OP_LOG] = LIBM("log"), [KILN__OP_LOG2] = LIBM("log2"), [KILN__OP_LOG1P] = LIBM("log1p"),
    [KILN__OP_LOG10] = LIBM("log10"), [KILN__OP_SQRT] = ALL("kiln_sqrt(%s)"), [KILN__OP_RSQRT] = LIBM("rsqrt"),
    [KILN__OP_CBRT] = LIBM("cbrt"), [KILN__OP_SIN] = ALL("kiln_sin(%s)"), [KILN__OP_COS] = ALL("kiln_cos(%s)"),
    [KILN__OP_TAN] = LIBM("tan"), [KILN__OP_ASIN] = LIBM("asin"), [KILN__OP_ACOS] = LIBM("acos"),
    [KILN__OP_ATAN] = LIBM("atan"), [KILN__OP_SINH] = LIBM("sinh"), [KILN__OP_COSH] = LIBM("cosh"),
    [KILN__OP_TANH] = LIBM("tanh"), [KILN__OP_ASINH] = LIBM("asinh"), [KILN__OP_ACOSH] = LIBM("acosh"),
    [KILN__OP_ATANH] = LIBM("atanh"), [KILN__OP_ERF] = LIBM("erf"), [KILN__OP_ERFC] = ALL("kiln_erfc(%s)"),
    [KILN__OP_ERFINV] = LIBM("erfinv"), [KILN__OP_LGAMMA] = LIBM("lgamma"),
    [KILN__OP_FLOOR] = EACH("floorf(%s)", "floor(%s)", "(%s)"), [KILN__OP_CEIL] = EACH("ceilf(%s)", "ceil(%s)", "(%s)"),
    [KILN__OP_TRUNC] = EACH("truncf(%s)", "trunc(%s)", "(%s)"),
    [KILN__OP_ROUND] = EACH("rintf(%s)", "rint(%s)", "(%s)"),
    [KILN__OP_ISNAN] = ALL("isnan(%s)"), [KILN__OP_ISINF] = ALL("isinf(%s)"), [KILN__OP_ISFINITE] = ALL("isfinite(%s)"),
    [KILN__OP_SIGMOID] = ALL("kiln_sigmoid(%s)"), [KILN__OP_UNIFORM] = ALL("kiln_uniform(%s, %s, %s)"),
    [KILN__OP_NORMCDF] = ALL("kiln_normcdf(%s)"), [KILN__OP_NORMPDF] = ALL("kiln_normpdf(%s)"),
    [KILN__OP_CAST] = {"(float)%s", "(double)%s", "kiln_to_i32(%s)", "kiln_to_i64(%s)", "%s != 0", "kiln_to_u32(%s)", "kiln_to_u64(%s)"},
    [KILN__OP_REDUCE_SUM] = EACH("%s + %s", "%s + %s", "kiln_add(%s, %s)"),
    [KILN__OP_REDUCE_PROD] = EACH("%s * %s", "%s * %s", "kiln_mul(%s, %s)"),
    [KILN__OP_REDUCE_MAX] = ORDER("kiln_maximum(%s, %s)", "%s | %s"),
    [KILN__OP_REDUCE_MIN] = ORDER("kiln_minimum(%s, %s)", "%s & %s"),
    [KILN__OP_REDUCE_ARGMAX] = ALL("kiln_argmax(%s, %s)"), [KILN__OP_REDUCE_ARGMIN] = ALL("kiln_argmin(%s, %s)"),
    [KILN__OP_REDUCE_KTH] = ALL("%s + %s"),
    [KILN__OP_REDUCE_ANY] = ALL("%s | %s"), [KILN__OP_REDUCE_ALL] = ALL("%s & %s"),
/* clang-format on */
#undef ALL
#undef EACH
#undef ORDER
#undef LIBM
};

const char *kiln__cxx_ctype(kiln__ctype type) {
    static const char *const names[] = {"float", "double",   "int",     "kiln_i64",
                                        "bool",  "kiln_u32", "kiln_u64"}; /* as kiln__ctype counts */
    return names[type];
}

const char *kiln__cxx_storage(kiln_type type) {
    static const char *const names[KILN_TYPE_COUNT] = {
        [KILN_F64] = "double",     [KILN_F32] = "float",      [KILN_F16] = "kiln_f16", [KILN_BF16] = "kiln_bf16",
        [KILN_E4M3] = "kiln_e4m3", [KILN_E5M2] = "kiln_e5m2", [KILN_I64] = "kiln_i64", [KILN_I32] = "int",
        [KILN_I16] = "short",      [KILN_I8] = "kiln_i8",     [KILN_U8] = "kiln_u8",   [KILN_BOOL] = "kiln_bool",
        [KILN_U16] = "kiln_u16",   [KILN_U32] = "kiln_u32",   [KILN_U64] = "kiln_u64", [KILN_E8M0] = "kiln_e8m0",
        [KILN_E2M1] = "kiln_e2m1"};
    return names[type];
}

static const char *spell_float(const kiln__emitter *e, kiln__ctype type, double value) {
    /* Overloaded functions need the very type: a digit string without point or exponent would be an integer. */
    bool narrow = type == KILN__F32;
    const char *f = narrow ? "f" : "", *wide = narrow ? "" : "(double)";
    if (isnan(value)) return kiln__spell(e, "%skiln_nan()", wide);
    if (isinf(value) || (narrow && fabs(value) > 3.4028235677973366e38))
        return kiln__spell(e, value < 0 ? "(-%skiln_infinity())" : "%skiln_infinity()", wide);
    if (value == floor(value) && fabs(value) < (narrow ? 1e9 : 1e17))
        return kiln__spell(e, signbit(value) ? "(%.1f%s)" : "%.1f%s", value, f);
    if (narrow) return kiln__spell(e, value < 0 ? "(%.9gf)" : "%.9gf", value);
    return kiln__spell(e, value < 0 ? "(%.17g)" : "%.17g", value);
}

/* A literal of the type, whose value is f64 for a float type, else i64: "0.5f", "(-3)". */
static const char *spell_number(const kiln__emitter *e, kiln__ctype type, double f64, int64_t i64) {
    if (kiln__ctype_is_float(type)) return spell_float(e, type, f64);
    if (type == KILN__BOOL) return i64 ? "true" : "false";
    if (kiln__ctype_is_unsigned(type))
        return kiln__spell(e, type == KILN__U64 ? "%" PRIu64 "ULL" : "%" PRIu64 "u", (uint64_t)i64);
    if (i64 == INT64_MIN) return "(-9223372036854775807LL - 1)";
    if (type == KILN__I32 && i64 == INT32_MIN) return "(-2147483647 - 1)";
    return kiln__spell(e, i64 < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", i64, type == KILN__I64 ? "LL" : "");
}

bool kiln__op_is_literal(kiln__op op) {
    return op == KILN__OP_FLOAT || op == KILN__OP_INT || op == KILN__OP_BOOL || op == KILN__OP_COUNT;
}

const char *kiln__spell_value(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    if (inst->op == KILN__OP_COUNT && e->problem->any_shape)
        return kiln__spell(e, "((%s)row.args.shape.cols)", kiln__cxx_ctype(inst->type));
    if (inst->op == KILN__OP_COUNT && e->problem->least_cols)
        return kiln__spell(e, "((%s)row.args.columns)", kiln__cxx_ctype(inst->type));
    if (inst->op == KILN__OP_COUNT) return spell_number(e, inst->type, (double)e->problem->cols, e->problem->cols);
    if (kiln__op_is_literal(inst->op)) return spell_number(e, inst->type, inst->u.f64, inst->u.i64);
    return kiln__spell(e, e->element[i] ? "v%u" : e->rows_in_vectors ? "row.v%u[j]" : "row.v%u", i);
}

/* An element's index along an axis, or its linear index: the place it has in a tensor that counts. */
static const char *spell_position(const kiln__emitter *e, int axis, bool element) {
    int o = (int)(kiln__position(e->problem, axis) - e->problem->operands);
    const char *type = kiln__is_short_axis(e, axis) ? "(int)" : "";
    if (!element && !e->rows_in_vectors) return kiln__spell(e, "%srow.%s", type, e->name[o]);
    return kiln__spell(e, "%s(%s)", type, kiln__spell_element_address(e, o, element ? NULL : "0"));
}

const char *kiln__cxx_divisor(const kiln__emitter *e, uint32_t divisor) {
    return kiln__is_softmax_sum(e->ir, divisor) ? "kiln_softmax_sum" : "kiln_quotient";
}

/* What an element is divided by where the divisor is the row's: it is prepared once for all of them. */
static const char *spell_quotient(const kiln__emitter *e, uint32_t divisor) {
    if (!e->divides[divisor]) return kiln__spell(e, "kiln_quotient(%s)", kiln__spell_value(e, divisor));
    if (e->element[divisor]) return kiln__spell(e, "d%u", divisor);
    return kiln__spell(e, e->rows_in_vectors ? "row.d%u[j]" : "row.d%u", divisor);
}

/* Whether the operator is a function of its own, compiled once. */
static bool is_called(const kiln__emitter *e, kiln__op op, kiln__ctype type) {
    return e->schedule->code.inlining >= KILN__INLINE_LIGHT && kiln__op_is_heavy(op, type, e->narrow);
}

static const char *spell_called(const kiln__emitter *e, kiln__op op) {
    const char *name = op == KILN__OP_DIV ? "divide" : op == KILN__OP_MOD ? "modulo" : kiln__op_describe(op)->name;
    return kiln__spell(e, "kiln_call_%s", name);
}

bool kiln__shares_numbers(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    bool shares = inst->op == KILN__OP_UNIFORM && e->element[i] && !is_called(e, inst->op, inst->type);
    for (int a = 0; a < inst->arg_count && shares; a++) {
        const kiln__inst *seed = &e->ir->insts[inst->args[a]];
        const bool own = e->element[inst->args[a]] || (e->rows_in_vectors && !kiln__op_is_literal(seed->op));
        shares = !own || seed->op == KILN__OP_SCALAR;
    }
    return shares;
}

/* What a reduction's exchange has left of it. */
static const char *spell_reduced(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const bool arg = kiln__op_is_arg(inst->op);
    if (kiln__op_selects(inst->op))
        return kiln__spell(e,
                           e->rows_in_vectors ? "row.s%u[j].narrow(reduced.at[j].r%u, %s, %s)"
                                              : "row.s%u.narrow(reduced.r%u, %s, %s)",
                           i, i, kiln__spell_value(e, inst->args[1]), kiln__spell_value(e, inst->args[2]));
    if (arg && e->problem->lengths) return kiln__spell(e, "row.cols > 0 ? reduced.r%u.index : -1", i);
    return kiln__spell(e, "reduced.%sr%u%s", e->rows_in_vectors ? "at[j]." : "", i, arg ? ".index" : "");
}

/* An element of a vector that is staged or has just been loaded, or the one value of a row. */
static const char *spell_input(const kiln__emitter *e, uint32_t i) {
    const uint32_t input = e->ir->insts[i].u.input;
    const char *name = e->name[input];
    if (e->element[i] && e->schedule->tensors[input].staged)
        return kiln__spell(e, "kiln_widen(staged.%s.get(j))", name);
    if (e->element[i] || e->rows_in_vectors) return kiln__spell(e, "kiln_widen(%s.get(j))", name);
    return kiln__spell(e, "kiln_widen(*row.%s)", name);
}

/* How far from the row's pointer the element at `column` is that instruction i takes. */
static const char *spell_place_taken(const kiln__emitter *e, uint32_t i, int o, const char *column) {
    const char *name = e->name[o];
    if (!e->problem->any_shape)
        return kiln__has_offset(e, o) ? kiln__spell(e, "kiln_offset_%s(row.args, (kiln_index)%s)", name, column)
                                      : column;
    const char *place = kiln__spell(e, "kiln_place_of_column(row.args.shape, row.args.strides_%s, %s)", name, column);
    if (!e->element[i] || !e->problem->operands[o].per_element) return place;
    /* It points to where one of the row's runs would begin. */
    return kiln__spell(e, "%s - kiln_place_%s(row.args.shape, row.args.strides_%s, row.%s)", place,
                       e->problem->block_run ? "around" : "of_run", name, e->problem->block_run ? "base" : "run");
}

/* An input at one column, 0 where there is none such. */
static const char *spell_taken(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const int o = (int)inst->u.input;
    const char *column = kiln__spell_value(e, inst->args[0]);
    const char *columns = e->problem->offsets >= 0 ? "(kiln_u64)row.cols"
                          : e->problem->any_shape  ? "(kiln_u64)row.args.shape.cols"
                                                   : kiln__spell(e, "%" PRId64 "ULL", e->problem->cols);
    return kiln__spell(e, "(kiln_u64)%s < %s ? kiln_widen(row.%s[%s]) : %s(0)", column, columns, e->name[o],
                       spell_place_taken(e, i, o, column), kiln__cxx_ctype(inst->type));
}

/* What the row's columns come to up to the element, which the row's running value becomes; of a row of one column. */
static const char *spell_scan(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const char *value = kiln__spell_value(e, inst->args[0]), *at = e->rows_in_vectors ? "[j]" : "";
    if (!e->element[i]) return kiln__spell_combine(e, inst, kiln__spell_value(e, inst->args[1]), value);
    const char *so_far = kiln__spell(e, "row.s%u%s", i, at), *next = kiln__spell_combine(e, inst, so_far, value);
    const bool masked = e->schedule->edges == KILN__EDGES_MASKED;
    return masked ? kiln__spell(e, "%s = span.has(j) ? %s : %s", so_far, next, so_far)
                  : kiln__spell(e, "%s = %s", so_far, next);
}

/* exp(u - v), folded or at most 1; NULL: any other. */
static const char *spell_exp(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i], *difference = &e->ir->insts[inst->args[0]];
    if (e->folded[i])
        return kiln__spell(e, e->rows_in_vectors ? "row.c%u[j].exp(%s)" : "row.c%u.exp(%s)", difference->args[1],
                           kiln__spell_value(e, difference->args[0]));
    if (!kiln__is_shifted_exp(e->ir, i) || e->exact[i] || is_called(e, inst->op, inst->type)) return NULL;
    return kiln__spell(e, "kiln_exp_beside_one(%s)", kiln__spell_value(e, inst->args[0]));
}

/* A factor times a sigmoid or a normcdf, in one function; NULL: any other product. */
static const char *spell_product(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    for (int a = 1; a >= 0 && inst->type == KILN__F32; a--) {
        const kiln__inst *factor = &e->ir->insts[inst->args[a]];
        if (factor->op == KILN__OP_SIGMOID || factor->op == KILN__OP_NORMCDF)
            return kiln__spell(e, "kiln_times_%s(%s, %s)", kiln__op_describe(factor->op)->name,
                               kiln__spell_value(e, inst->args[1 - a]), kiln__spell_value(e, factor->args[0]));
    }
    return NULL;
}

/* By a constant; NULL: by none, or by one that is very large or small. A power of two's product is exact; no other one
 * is rounded together with what it is added to. What a row has one value of costs nothing to be rounded as division
 * does. */
static const char *spell_division_by_constant(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i], *constant = &e->ir->insts[inst->args[1]];
    const bool counts = constant->op == KILN__OP_COUNT && !e->problem->any_shape && !e->problem->least_cols;
    if (inst->type != KILN__F32 || (constant->op != KILN__OP_FLOAT && !counts)) return NULL;
    const float divisor = (float)(counts ? (double)e->problem->cols : constant->u.f64), reciprocal = 1.0F / divisor;
    int exponent;
    if (!(fabsf(divisor) >= 0x1p-100F && fabsf(divisor) <= 0x1p100F)) return NULL;
    const char *x = kiln__spell_value(e, inst->args[0]), *by = spell_float(e, KILN__F32, reciprocal);
    if (fabs(frexp(divisor, &exponent)) == 0.5) return kiln__spell(e, "%s * %s", x, by);
    if (e->element[i] && e->hidden[i]) return kiln__spell(e, "__fmul_rn(%s, %s)", x, by);
    return kiln__spell(e, "kiln_divide_by(%s, %s, %s)", x, spell_float(e, KILN__F32, divisor), by);
}

/* An element by a row's value, which is prepared; NULL: any other. */
static const char *spell_division(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const uint32_t divisor = inst->args[1];
    if (!e->element[i] || inst->type != KILN__F32) return NULL;
    if (e->element[divisor] && !e->divides[divisor]) return NULL;
    const bool part = kiln__is_softmax_sum(e->ir, divisor) && e->ir->insts[divisor].args[0] == inst->args[0];
    const char *exactly = part ? "part" : "divide";
    return kiln__spell(e, "%s.%s(%s)", spell_quotient(e, divisor), e->hidden[i] ? "rough" : exactly,
                       kiln__spell_value(e, inst->args[0]));
}

const char *kiln__spell_slot(const kiln__emitter *e, uint32_t i, const char *column) {
    const kiln__inst *inst = &e->ir->insts[i];
    const char *row = e->problem->any_shape ? "row, " : "";
    if (inst->op == KILN__OP_BLOCK_REDUCE) return kiln__spell(e, "kiln_slot<kiln_block%u>(%s%s)", i, row, column);
    return kiln__spell(e, "(%s)kiln_columns_of_block<%u>(%s%s)", kiln__cxx_ctype(inst->type), inst->domain, row,
                       column);
}

/* Of a place in the row's order the column that stands there, or its value. */
static const char *spell_order(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const uint32_t order = kiln__sorted_by(e, i);
    if (!e->element[i] || !kiln__has_slots(e, i))
        return inst->op == KILN__OP_SORTED ? kiln__spell_value(e, inst->args[0]) : "0";
    if (inst->op == KILN__OP_ORDER)
        return kiln__spell(e, "kiln_column_in_order<kiln_order%u>(col + j, KILN_END)", order);
    return kiln__spell(e, "kiln_value_in_order<kiln_order%u, %s>(%" PRId64 ", col + j, KILN_END)", order,
                       kiln__cxx_ctype(inst->type), kiln__slots_begin(e, kiln__carries(e->ir, inst) ? i : order));
}

/* What is no function of the arguments' values; NULL: it is one. */
static const char *spell_leaf(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    switch ((int)inst->op) {
    case KILN__OP_PARAM: return inst->u.param ? "b" : "a";
    case KILN__OP_ROWS_OF: return kiln__spell(e, "row.args.count_%s", e->name[inst->u.input]);
    case KILN__OP_SIZE: return kiln__spell(e, "row.args.size%d", inst->u.axis);
    case KILN__OP_LENGTH: return "(kiln_i64)row.cols";
    case KILN__OP_INDEX: return spell_position(e, inst->u.axis, e->element[i]);
    case KILN__OP_SCALAR:
        if (kiln__scalar_on_device(e->ir->scalar_given[inst->u.scalar]))
            return kiln__spell(e, "((%s)*row.args.scalar_%s)", kiln__cxx_ctype(inst->type),
                               e->ir->scalar_names[inst->u.scalar]);
        return kiln__spell(e, "row.args.scalar_%s", e->ir->scalar_names[inst->u.scalar]);
    case KILN__OP_INPUT: return spell_input(e, i);
    case KILN__OP_BLOCK_REDUCE:
    case KILN__OP_BLOCK_COUNT: return kiln__spell_slot(e, i, "col + j");
    case KILN__OP_TAKE: return spell_taken(e, i);
    case KILN__OP_SCAN: return spell_scan(e, i);
    case KILN__OP_FIRST: return kiln__spell_value(e, inst->args[0]);
    case KILN__OP_ORDER:
    case KILN__OP_SORTED: return spell_order(e, i);
    }
    return kiln__op_is_reduction(inst->op) ? spell_reduced(e, i) : NULL;
}

/* What is written in other words than the operator's, for what it is made of; NULL: nothing of the kind. */
static const char *spell_special(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    switch ((int)inst->op) {
    case KILN__OP_EXP: return spell_exp(e, i);
    case KILN__OP_MUL: return spell_product(e, i);
    case KILN__OP_DIV: {
        const char *by_constant = spell_division_by_constant(e, i);
        return by_constant ? by_constant : spell_division(e, i);
    }
    case KILN__OP_ROUND_TO:
        return kiln__spell(e, "kiln_round_to<%s>(%s)", kiln__cxx_storage(inst->u.storage),
                           kiln__spell_value(e, inst->args[0]));
    case KILN__OP_STOCHASTIC:
        return kiln__spell(e, "kiln_round_to_%s(%s, %s)", kiln_type_name(inst->u.storage),
                           kiln__spell_value(e, inst->args[0]), kiln__spell_value(e, inst->args[1]));
    }
    return NULL;
}

/* The function that does it, one of the caller's own or an operator's that is called; NULL: its text is the operator's.
 */
static const char *spell_function(const kiln__emitter *e, const kiln__inst *inst, kiln__ctype type) {
    if (inst->op == KILN__OP_OWN) return kiln__spell(e, "kiln_own_%s::%s", inst->u.own->name, inst->u.own->name);
    return is_called(e, inst->op, type) ? spell_called(e, inst->op) : NULL;
}

const char *kiln__spell_definition(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const char *args[3] = {"", "", ""}, *spelled = e->sines[i] ? kiln__spell(e, "s%u[j]", i) : spell_leaf(e, i);
    if (!spelled) spelled = spell_special(e, i);
    if (spelled) return spelled;
    kiln__ctype type = inst->op == KILN__OP_CAST ? inst->type : e->ir->insts[inst->args[0]].type;
    const char *called = spell_function(e, inst, type);
    const bool is_short = !called && kiln__is_computed_short(e, i);
    for (int a = 0; a < inst->arg_count; a++) {
        const bool narrowed = is_short && e->ir->insts[inst->args[a]].type == KILN__I64;
        args[a] = kiln__spell_value(e, inst->args[a]);
        if (narrowed) args[a] = kiln__spell(e, "(int)%s", args[a]);
    }
    if (is_short && type == KILN__I64) type = KILN__I32;
    if (inst->op == KILN__OP_UNIFORM) args[2] = spell_position(e, KILN__LINEAR_INDEX, e->element[i]);
    if (kiln__shares_numbers(e, i)) return kiln__spell(e, "u%u.at(j, %s, %s, %s)", i, args[0], args[1], args[2]);
    if (called)
        return kiln__spell(e, "%s(%s%s%s%s%s)", called, args[0], *args[1] ? ", " : "", args[1], *args[2] ? ", " : "",
                           args[2]);
    return kiln__spell(e, forms[inst->op][type], args[0], args[1], args[2]);
}

/* Those of one list of instructions, but for those done. */
static void emit_called(const kiln__emitter *e, const kiln__inst *insts, uint32_t count,
                        bool done[KILN__OP_COUNT_OF][KILN__CTYPES]) {
    static const char *const parameters[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < count; i++) {
        const kiln__inst *inst = &insts[i];
        const kiln__ctype type = inst->arg_count > 0 ? insts[inst->args[0]].type : inst->type;
        if (inst->arg_count == 0 || !is_called(e, inst->op, type) || done[inst->op][type]) continue;
        done[inst->op][type] = true;
        const int taken = inst->op == KILN__OP_UNIFORM ? 3 : inst->arg_count;
        kiln__write(e, "KILN_CALL %s %s(", kiln__cxx_ctype(inst->type), spell_called(e, inst->op));
        for (int a = 0; a < taken; a++) kiln__write(e, "%s%s %s", a ? ", " : "", kiln__cxx_ctype(type), parameters[a]);
        kiln__write(e, ") { return %s; }\n", kiln__spell(e, forms[inst->op][type], "a", "b", "c"));
    }
}

void kiln__emit_called(const kiln__emitter *e) {
    bool done[KILN__OP_COUNT_OF][KILN__CTYPES] = {{false}};
    emit_called(e, e->ir->insts, e->ir->count, done);
    for (uint32_t c = 0; c < e->ir->combine_count; c++)
        emit_called(e, e->ir->combines[c].insts, e->ir->combines[c].count, done);
}

const char *kiln__spell_state(const kiln__emitter *e, const kiln__inst *reduction) {
    bool arg = kiln__op_is_arg(reduction->op);
    kiln__ctype type = arg ? e->ir->insts[reduction->args[0]].type : reduction->type;
    if (kiln__op_selects(reduction->op)) return "kiln_index";
    return kiln__spell(e, arg ? "kiln_arg<%s>" : "%s", kiln__cxx_ctype(type));
}

const char *kiln__spell_combine(const kiln__emitter *e, const kiln__inst *inst, const char *a, const char *b) {
    const kiln__inst combining = kiln__combining(inst), *reduction = &combining;
    if (reduction->op == KILN__OP_REDUCE_USER)
        return kiln__spell(e, "kiln_combine%u(%s, %s)", reduction->u.reducer, a, b);
    return kiln__spell(e, forms[reduction->op][reduction->type], a, b);
}

/* Of an integer type or bool; a u64's bits. */
static int64_t least_of(kiln__ctype type) { return type == KILN__I64 ? INT64_MIN : type == KILN__I32 ? INT32_MIN : 0; }
static int64_t most_of(kiln__ctype type) {
    static const int64_t most[] = {
        [KILN__I32] = INT32_MAX, [KILN__I64] = INT64_MAX, [KILN__U32] = UINT32_MAX, [KILN__U64] = -1, [KILN__BOOL] = 1};
    return most[type];
}

const char *kiln__spell_identity(const kiln__emitter *e, const kiln__inst *inst) {
    const kiln__inst combining = kiln__combining(inst), *reduction = &combining;
    kiln__ctype type = e->ir->insts[reduction->args[0]].type;
    bool max = reduction->op == KILN__OP_REDUCE_MAX || reduction->op == KILN__OP_REDUCE_ARGMAX;
    const char *worst = spell_number(e, type, max ? -INFINITY : INFINITY, max ? least_of(type) : most_of(type));
    const kiln__combine *combine =
        reduction->op == KILN__OP_REDUCE_USER ? &e->ir->combines[reduction->u.reducer] : NULL;
    switch ((int)reduction->op) {
    case KILN__OP_REDUCE_SUM:
    case KILN__OP_REDUCE_ANY: return spell_number(e, reduction->type, 0, 0);
    case KILN__OP_REDUCE_PROD:
    case KILN__OP_REDUCE_ALL: return spell_number(e, reduction->type, 1, 1);
    case KILN__OP_REDUCE_MAX:
    case KILN__OP_REDUCE_MIN: return worst;
    case KILN__OP_REDUCE_KTH: return "0";
    case KILN__OP_REDUCE_USER: return spell_number(e, reduction->type, combine->identity, combine->identity_i64);
    default: return kiln__spell(e, "%s::none(%s)", kiln__spell_state(e, reduction), worst);
    }
}
