/* Typed instructions as CUDA C++ expressions: one table for what is a function of one name per type, one switch for
 * what is written as an operator. */
#include "codegen/expression.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Functions by compute type: CUDA's own, or one overloaded name of kernel_sources/math.cuh. */
static const struct {
    kiln__op op;
    const char *f32, *f64, *integer;
} functions[] = {
#define LIBM(op, name) \
    { KILN__OP_##op, name "f", name, NULL }
#define OURS(op, name) \
    { KILN__OP_##op, name, name, name }
    /* clang-format off */
    LIBM(FMA, "fma"), LIBM(POW, "pow"), LIBM(ATAN2, "atan2"), LIBM(EXP2, "exp2"), LIBM(EXPM1, "expm1"),
    LIBM(LOG, "log"), LIBM(LOG2, "log2"), LIBM(LOG1P, "log1p"), LIBM(LOG10, "log10"), LIBM(SQRT, "sqrt"),
    LIBM(RSQRT, "rsqrt"), LIBM(CBRT, "cbrt"), LIBM(SIN, "sin"), LIBM(COS, "cos"), LIBM(TAN, "tan"),
    LIBM(ASIN, "asin"), LIBM(ACOS, "acos"), LIBM(ATAN, "atan"), LIBM(SINH, "sinh"), LIBM(COSH, "cosh"),
    LIBM(TANH, "tanh"), LIBM(ASINH, "asinh"), LIBM(ACOSH, "acosh"), LIBM(ATANH, "atanh"), LIBM(ERF, "erf"),
    LIBM(ERFINV, "erfinv"), LIBM(LGAMMA, "lgamma"),
    OURS(SIGN, "kiln_sign"), OURS(MOD, "kiln_remainder"), OURS(REMAINDER, "kiln_remainder"), OURS(FMOD, "kiln_fmod"),
    OURS(MINIMUM, "kiln_minimum"), OURS(MAXIMUM, "kiln_maximum"), OURS(DIV, "kiln_ratio"), OURS(EXP, "kiln_exp"),
    OURS(ERFC, "kiln_erfc"), OURS(SIGMOID, "kiln_sigmoid"), OURS(SHL, "kiln_shl"), OURS(SHR, "kiln_shr"),
    OURS(POPCOUNT, "kiln_popcount"), OURS(ISNAN, "isnan"), OURS(ISINF, "isinf"), OURS(ISFINITE, "isfinite"),
    {KILN__OP_ABS, "fabsf", "fabs", "kiln_abs"}, {KILN__OP_FMIN, "fminf", "fmin", "kiln_minimum"},
    {KILN__OP_FMAX, "fmaxf", "fmax", "kiln_maximum"}, {KILN__OP_ROUND, "rintf", "rint", ""},
    {KILN__OP_FLOOR, "floorf", "floor", ""}, {KILN__OP_CEIL, "ceilf", "ceil", ""},
    {KILN__OP_TRUNC, "truncf", "trunc", ""},
/* clang-format on */
#undef LIBM
#undef OURS
};

/* Operators written between or before their arguments; integers that may overflow by a wrapping function instead. */
static const struct {
    kiln__op op;
    const char *text, *integer;
} operators[] = {
    {KILN__OP_ADD, "+", "kiln_add"}, {KILN__OP_SUB, "-", "kiln_sub"}, {KILN__OP_MUL, "*", "kiln_mul"},
    {KILN__OP_LT, "<", NULL},        {KILN__OP_LE, "<=", NULL},       {KILN__OP_GT, ">", NULL},
    {KILN__OP_GE, ">=", NULL},       {KILN__OP_EQ, "==", NULL},       {KILN__OP_NE, "!=", NULL},
    {KILN__OP_AND, "&", NULL},       {KILN__OP_OR, "|", NULL},        {KILN__OP_BITAND, "&", NULL},
    {KILN__OP_BITOR, "|", NULL},     {KILN__OP_BITXOR, "^", NULL},
};

const char *kiln__cxx_ctype(kiln__ctype type) {
    static const char *const names[] = {"float", "double", "int", "kiln_i64", "bool"}; /* as kiln__ctype counts */
    return names[type];
}

const char *kiln__cxx_storage(kiln_type type) {
    static const char *const names[KILN_TYPE_COUNT] = {
        [KILN_F64] = "double",     [KILN_F32] = "float",      [KILN_F16] = "kiln_f16", [KILN_BF16] = "kiln_bf16",
        [KILN_E4M3] = "kiln_e4m3", [KILN_E5M2] = "kiln_e5m2", [KILN_I64] = "kiln_i64", [KILN_I32] = "int",
        [KILN_I16] = "short",      [KILN_I8] = "kiln_i8",     [KILN_U8] = "kiln_u8",   [KILN_BOOL] = "bool"};
    return names[type];
}

void kiln__cxx_float(kiln__text *out, kiln__ctype type, double value) {
    /* Overloaded functions need the very type: a digit string without point or exponent would be an integer. */
    bool narrow = type == KILN__F32;
    const char *f = narrow ? "f" : "", *wide = narrow ? "" : "(double)";
    if (isnan(value))
        kiln__text_printf(out, "%skiln_nan()", wide);
    else if (isinf(value) || (narrow && fabs(value) > 3.4028235677973366e38))
        kiln__text_printf(out, value < 0 ? "(-%skiln_infinity())" : "%skiln_infinity()", wide);
    else if (value == floor(value) && fabs(value) < (narrow ? 1e9 : 1e17))
        kiln__text_printf(out, signbit(value) ? "(%.1f%s)" : "%.1f%s", value, f);
    else if (narrow)
        kiln__text_printf(out, value < 0 ? "(%.9gf)" : "%.9gf", value);
    else
        kiln__text_printf(out, value < 0 ? "(%.17g)" : "%.17g", value);
}

void kiln__cxx_int(kiln__text *out, kiln__ctype type, int64_t value) {
    if (type == KILN__BOOL)
        kiln__text_puts(out, value ? "true" : "false");
    else if (value == INT64_MIN)
        kiln__text_puts(out, "(-9223372036854775807LL - 1)");
    else if (type == KILN__I32 && value == INT32_MIN)
        kiln__text_puts(out, "(-2147483647 - 1)");
    else
        kiln__text_printf(out, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value, type == KILN__I64 ? "LL" : "");
}

static bool call(kiln__text *out, const char *function, const char *const args[3], int count) {
    kiln__text_printf(out, "%s(%s", function, args[0]);
    for (int i = 1; i < count; i++) kiln__text_printf(out, ", %s", args[i]);
    kiln__text_puts(out, ")");
    return true;
}

static bool cast(kiln__text *out, kiln__ctype to, const char *from) {
    switch (to) {
    case KILN__F32:
    case KILN__F64: kiln__text_printf(out, "(%s)%s", kiln__cxx_ctype(to), from); return true;
    case KILN__I32: kiln__text_printf(out, "kiln_to_i32(%s)", from); return true;
    case KILN__I64: kiln__text_printf(out, "kiln_to_i64(%s)", from); return true;
    case KILN__BOOL: kiln__text_printf(out, "%s != 0", from); return true;
    }
    return false;
}

static bool special(kiln__text *out, const kiln__inst *inst, const char *const args[3]) {
    bool integer = !kiln__ctype_is_float(inst->type);
    if (inst->op == KILN__IR_CAST) return cast(out, inst->type, args[0]);
    if (inst->op == KILN__IR_ROUND_TO) {
        kiln__text_printf(out, "kiln_round_to<%s>(%s)", kiln__cxx_storage(inst->u.storage), args[0]);
        return true;
    }
    switch (inst->op) {
    case KILN__OP_NEG:
        kiln__text_printf(out,
                          !integer                  ? "-%s"
                          : inst->type == KILN__I64 ? "kiln_sub(0LL, %s)"
                                                    : "kiln_sub(0, %s)",
                          args[0]);
        return true;
    case KILN__OP_NOT: kiln__text_printf(out, "!%s", args[0]); return true;
    case KILN__OP_BITNOT: kiln__text_printf(out, inst->type == KILN__BOOL ? "!%s" : "~%s", args[0]); return true;
    case KILN__OP_WHERE: kiln__text_printf(out, "%s ? %s : %s", args[0], args[1], args[2]); return true;
    default: return false;
    }
}

bool kiln__cxx_expression(kiln__text *out, const kiln__inst *inst, const kiln__inst *insts, const char *const args[3],
                          const char *row_divisor) {
    if (inst->op == KILN__OP_DIV && row_divisor) {
        kiln__text_printf(out, "%s.divide(%s)", row_divisor, args[0]);
        return true;
    }
    if (special(out, inst, args)) return true;
    kiln__ctype operand = inst->arg_count ? insts[inst->args[0]].type : inst->type;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (operators[i].op != inst->op) continue;
        if (operators[i].integer && !kiln__ctype_is_float(operand)) return call(out, operators[i].integer, args, 2);
        kiln__text_printf(out, "%s %s %s", args[0], operators[i].text, args[1]);
        return true;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].op != inst->op) continue;
        const char *name = operand == KILN__F32   ? functions[i].f32
                           : operand == KILN__F64 ? functions[i].f64
                                                  : functions[i].integer;
        return name && call(out, name, args, inst->arg_count);
    }
    return false;
}

const char *kiln__cxx_state(const kiln__ir *ir, const kiln__inst *reduction) {
    static const char *const args[] = {"kiln_arg<float>", "kiln_arg<double>", "kiln_arg<int>", "kiln_arg<kiln_i64>"};
    return kiln__op_is_arg(reduction->op) ? args[ir->insts[reduction->args[0]].type] : kiln__cxx_ctype(reduction->type);
}

void kiln__cxx_combine(kiln__text *out, const kiln__inst *reduction, const char *a, const char *b) {
    bool integer = !kiln__ctype_is_float(reduction->type);
    switch (reduction->op) {
    case KILN__OP_REDUCE_SUM: kiln__text_printf(out, integer ? "kiln_add(%s, %s)" : "%s + %s", a, b); break;
    case KILN__OP_REDUCE_PROD: kiln__text_printf(out, integer ? "kiln_mul(%s, %s)" : "%s * %s", a, b); break;
    case KILN__OP_REDUCE_MAX: kiln__text_printf(out, "kiln_maximum(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_MIN: kiln__text_printf(out, "kiln_minimum(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_ARGMAX: kiln__text_printf(out, "kiln_argmax(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_ARGMIN: kiln__text_printf(out, "kiln_argmin(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_ANY: kiln__text_printf(out, "%s | %s", a, b); break;
    case KILN__OP_REDUCE_ALL: kiln__text_printf(out, "%s & %s", a, b); break;
    default: kiln__text_printf(out, "kiln_combine%u(%s, %s)", reduction->u.reducer, a, b); break;
    }
}

/* The worst value of the type: what every other beats. */
static void emit_worst(kiln__text *out, kiln__ctype type, bool max) {
    int64_t least = type == KILN__I64 ? INT64_MIN : INT32_MIN, most = type == KILN__I64 ? INT64_MAX : INT32_MAX;
    if (kiln__ctype_is_float(type))
        kiln__cxx_float(out, type, max ? -INFINITY : INFINITY);
    else
        kiln__cxx_int(out, type, max ? least : most);
}

static void emit_number(kiln__text *out, kiln__ctype type, double f64, int64_t i64) {
    if (kiln__ctype_is_float(type))
        kiln__cxx_float(out, type, f64);
    else
        kiln__cxx_int(out, type, i64);
}

void kiln__cxx_identity(kiln__text *out, const kiln__ir *ir, const kiln__inst *reduction) {
    switch ((int)reduction->op) {
    case KILN__OP_REDUCE_SUM:
    case KILN__OP_REDUCE_ANY: emit_number(out, reduction->type, 0, 0); break;
    case KILN__OP_REDUCE_PROD:
    case KILN__OP_REDUCE_ALL: emit_number(out, reduction->type, 1, 1); break;
    case KILN__OP_REDUCE_MAX: emit_worst(out, reduction->type, true); break;
    case KILN__OP_REDUCE_MIN: emit_worst(out, reduction->type, false); break;
    case KILN__OP_REDUCE_ARGMAX:
    case KILN__OP_REDUCE_ARGMIN:
        kiln__text_printf(out, "%s::none(", kiln__cxx_state(ir, reduction));
        emit_worst(out, ir->insts[reduction->args[0]].type, reduction->op == KILN__OP_REDUCE_ARGMAX);
        kiln__text_puts(out, ")");
        break;
    default: {
        const kiln__combine *combine = &ir->combines[reduction->u.reducer];
        emit_number(out, reduction->type, combine->identity, combine->identity_i64);
    }
    }
}
