/* Typed instructions as CUDA C++ expressions: one table for what is a function of one name per type, one switch for
 * what is written as an operator. */
#include "codegen/expression.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Functions by compute type; f32 and f64 names of CUDA's own, or one overloaded name of kernel_sources/math.cuh. */
static const struct { kiln__op op; const char *f32, *f64, *integer; } functions[] = {
    {KILN__OP_ABS, "fabsf", "fabs", "kiln_abs"}, {KILN__OP_SIGN, "kiln_sign", "kiln_sign", "kiln_sign"},
    {KILN__OP_MOD, "kiln_remainder", "kiln_remainder", "kiln_remainder"}, {KILN__OP_REMAINDER, "kiln_remainder", "kiln_remainder", "kiln_remainder"},
    {KILN__OP_FMOD, "kiln_fmod", "kiln_fmod", "kiln_fmod"},
    {KILN__OP_MINIMUM, "kiln_minimum", "kiln_minimum", "kiln_minimum"}, {KILN__OP_MAXIMUM, "kiln_maximum", "kiln_maximum", "kiln_maximum"},
    {KILN__OP_FMIN, "fminf", "fmin", "kiln_minimum"}, {KILN__OP_FMAX, "fmaxf", "fmax", "kiln_maximum"},
    {KILN__OP_DIV, "kiln_ratio", "kiln_ratio", NULL}, {KILN__OP_FMA, "fmaf", "fma", NULL}, {KILN__OP_POW, "powf", "pow", NULL}, {KILN__OP_ATAN2, "atan2f", "atan2", NULL},
    {KILN__OP_EXP, "kiln_exp", "kiln_exp", NULL}, {KILN__OP_EXP2, "exp2f", "exp2", NULL}, {KILN__OP_EXPM1, "expm1f", "expm1", NULL},
    {KILN__OP_LOG, "logf", "log", NULL}, {KILN__OP_LOG2, "log2f", "log2", NULL}, {KILN__OP_LOG1P, "log1pf", "log1p", NULL},
    {KILN__OP_LOG10, "log10f", "log10", NULL}, {KILN__OP_SQRT, "sqrtf", "sqrt", NULL}, {KILN__OP_RSQRT, "rsqrtf", "rsqrt", NULL},
    {KILN__OP_CBRT, "cbrtf", "cbrt", NULL}, {KILN__OP_SIN, "sinf", "sin", NULL}, {KILN__OP_COS, "cosf", "cos", NULL},
    {KILN__OP_TAN, "tanf", "tan", NULL}, {KILN__OP_ASIN, "asinf", "asin", NULL}, {KILN__OP_ACOS, "acosf", "acos", NULL},
    {KILN__OP_ATAN, "atanf", "atan", NULL}, {KILN__OP_SINH, "sinhf", "sinh", NULL}, {KILN__OP_COSH, "coshf", "cosh", NULL},
    {KILN__OP_TANH, "tanhf", "tanh", NULL}, {KILN__OP_ASINH, "asinhf", "asinh", NULL}, {KILN__OP_ACOSH, "acoshf", "acosh", NULL},
    {KILN__OP_ATANH, "atanhf", "atanh", NULL}, {KILN__OP_ERF, "erff", "erf", NULL}, {KILN__OP_ERFC, "kiln_erfc", "kiln_erfc", NULL},
    {KILN__OP_ERFINV, "erfinvf", "erfinv", NULL}, {KILN__OP_LGAMMA, "lgammaf", "lgamma", NULL},
    {KILN__OP_FLOOR, "floorf", "floor", ""}, {KILN__OP_CEIL, "ceilf", "ceil", ""}, {KILN__OP_TRUNC, "truncf", "trunc", ""},
    {KILN__OP_ROUND, "rintf", "rint", ""}, {KILN__OP_SIGMOID, "kiln_sigmoid", "kiln_sigmoid", NULL},
    {KILN__OP_ISNAN, "isnan", "isnan", NULL}, {KILN__OP_ISINF, "isinf", "isinf", NULL}, {KILN__OP_ISFINITE, "isfinite", "isfinite", NULL},
    {KILN__OP_SHL, NULL, NULL, "kiln_shl"}, {KILN__OP_SHR, NULL, NULL, "kiln_shr"}, {KILN__OP_POPCOUNT, NULL, NULL, "kiln_popcount"},
};

/* Operators written between or before their arguments; integers that may overflow by a wrapping function instead. */
static const struct { kiln__op op; const char *text, *integer; } operators[] = {
    {KILN__OP_ADD, "+", "kiln_add"}, {KILN__OP_SUB, "-", "kiln_sub"}, {KILN__OP_MUL, "*", "kiln_mul"},
    {KILN__OP_LT, "<", NULL}, {KILN__OP_LE, "<=", NULL}, {KILN__OP_GT, ">", NULL}, {KILN__OP_GE, ">=", NULL}, {KILN__OP_EQ, "==", NULL},
    {KILN__OP_NE, "!=", NULL}, {KILN__OP_AND, "&", NULL}, {KILN__OP_OR, "|", NULL}, {KILN__OP_BITAND, "&", NULL}, {KILN__OP_BITOR, "|", NULL},
    {KILN__OP_BITXOR, "^", NULL},
};

const char *kiln__cxx_ctype(kiln__ctype type)
{
    static const char *const names[] = {[KILN__F32] = "float", [KILN__F64] = "double", [KILN__I32] = "int", [KILN__I64] = "kiln_i64", [KILN__BOOL] = "bool"};
    return names[type];
}

const char *kiln__cxx_storage(kiln_type type)
{
    static const char *const names[KILN_TYPE_COUNT] = {
        [KILN_F64] = "double", [KILN_F32] = "float", [KILN_F16] = "kiln_f16", [KILN_BF16] = "kiln_bf16", [KILN_E4M3] = "kiln_e4m3", [KILN_E5M2] = "kiln_e5m2",
        [KILN_I64] = "kiln_i64", [KILN_I32] = "int", [KILN_I16] = "short", [KILN_I8] = "signed char", [KILN_U8] = "unsigned char", [KILN_BOOL] = "bool"};
    return names[type];
}

void kiln__cxx_float(kiln__text *out, kiln__ctype type, double value)
{
    const char *f = type == KILN__F32 ? "f" : "";
    if (isnan(value)) kiln__text_puts(out, "kiln_nan()");
    else if (isinf(value)) kiln__text_puts(out, value < 0 ? "(-kiln_infinity())" : "kiln_infinity()");
    else if (value == floor(value) && fabs(value) < 1e9) kiln__text_printf(out, signbit(value) ? "(%.1f%s)" : "%.1f%s", value, f);
    else if (type == KILN__F32 && fabs(value) > 3.4028235677973366e38) kiln__text_puts(out, value < 0 ? "(-kiln_infinity())" : "kiln_infinity()");
    else if (type == KILN__F32) kiln__text_printf(out, value < 0 ? "(%.9gf)" : "%.9gf", value);
    else kiln__text_printf(out, value < 0 ? "(%.17g)" : "%.17g", value);
}

void kiln__cxx_int(kiln__text *out, kiln__ctype type, int64_t value)
{
    if (type == KILN__BOOL) kiln__text_puts(out, value ? "true" : "false");
    else if (value == INT64_MIN) kiln__text_puts(out, "(-9223372036854775807LL - 1)");
    else if (type == KILN__I32 && value == INT32_MIN) kiln__text_puts(out, "(-2147483647 - 1)");
    else kiln__text_printf(out, value < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", value, type == KILN__I64 ? "LL" : "");
}

static bool call(kiln__text *out, const char *function, const char *const args[3], int count)
{
    kiln__text_printf(out, "%s(%s", function, args[0]);
    for (int i = 1; i < count; i++) kiln__text_printf(out, ", %s", args[i]);
    kiln__text_puts(out, ")");
    return true;
}

static bool cast(kiln__text *out, kiln__ctype to, const char *from)
{
    switch (to) {
    case KILN__F32: case KILN__F64: kiln__text_printf(out, "(%s)%s", kiln__cxx_ctype(to), from); return true;
    case KILN__I32: kiln__text_printf(out, "kiln_to_i32(%s)", from); return true;
    case KILN__I64: kiln__text_printf(out, "kiln_to_i64(%s)", from); return true;
    case KILN__BOOL: kiln__text_printf(out, "%s != 0", from); return true;
    }
    return false;
}

static bool special(kiln__text *out, const kiln__inst *inst, const char *const args[3])
{
    bool integer = !kiln__ctype_is_float(inst->type);
    if (inst->op == KILN__IR_CAST) return cast(out, inst->type, args[0]);
    if (inst->op == KILN__IR_ROUND_TO) {
        kiln__text_printf(out, "kiln_round_to<%s>(%s)", kiln__cxx_storage(inst->u.storage), args[0]);
        return true;
    }
    switch (inst->op) {
    case KILN__OP_NEG: kiln__text_printf(out, integer ? "kiln_sub(0, %s)" : "-%s", args[0]); return true;
    case KILN__OP_NOT: kiln__text_printf(out, "!%s", args[0]); return true;
    case KILN__OP_BITNOT: kiln__text_printf(out, inst->type == KILN__BOOL ? "!%s" : "~%s", args[0]); return true;
    case KILN__OP_WHERE: kiln__text_printf(out, "%s ? %s : %s", args[0], args[1], args[2]); return true;
    default: return false;
    }
}

bool kiln__cxx_expression(kiln__text *out, const kiln__inst *inst, const kiln__inst *insts, const char *const args[3],
                          const char *row_divisor)
{
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
        const char *name = operand == KILN__F32 ? functions[i].f32 : operand == KILN__F64 ? functions[i].f64 : functions[i].integer;
        return name && call(out, name, args, inst->arg_count);
    }
    return false;
}

void kiln__cxx_combine(kiln__text *out, const kiln__inst *reduction, const char *a, const char *b)
{
    bool integer = !kiln__ctype_is_float(reduction->type);
    switch (reduction->op) {
    case KILN__OP_REDUCE_SUM: kiln__text_printf(out, integer ? "kiln_add(%s, %s)" : "%s + %s", a, b); break;
    case KILN__OP_REDUCE_PROD: kiln__text_printf(out, integer ? "kiln_mul(%s, %s)" : "%s * %s", a, b); break;
    case KILN__OP_REDUCE_MAX: kiln__text_printf(out, "kiln_maximum(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_MIN: kiln__text_printf(out, "kiln_minimum(%s, %s)", a, b); break;
    case KILN__OP_REDUCE_ANY: kiln__text_printf(out, "%s | %s", a, b); break;
    case KILN__OP_REDUCE_ALL: kiln__text_printf(out, "%s & %s", a, b); break;
    default: kiln__text_printf(out, "kiln_combine%" PRIu32 "(%s, %s)", reduction->u.reducer, a, b); break;
    }
}

void kiln__cxx_identity(kiln__text *out, const kiln__ir *ir, const kiln__inst *reduction)
{
    bool is_float = kiln__ctype_is_float(reduction->type), is_max = reduction->op == KILN__OP_REDUCE_MAX;
    int64_t least = reduction->type == KILN__I64 ? INT64_MIN : INT32_MIN, most = reduction->type == KILN__I64 ? INT64_MAX : INT32_MAX;
    switch (reduction->op) {
    case KILN__OP_REDUCE_SUM: case KILN__OP_REDUCE_ANY:
        if (is_float) kiln__cxx_float(out, reduction->type, 0);
        else kiln__cxx_int(out, reduction->type, 0);
        break;
    case KILN__OP_REDUCE_PROD: case KILN__OP_REDUCE_ALL:
        if (is_float) kiln__cxx_float(out, reduction->type, 1);
        else kiln__cxx_int(out, reduction->type, 1);
        break;
    case KILN__OP_REDUCE_MAX: case KILN__OP_REDUCE_MIN:
        if (is_float) kiln__cxx_float(out, reduction->type, is_max ? -INFINITY : INFINITY);
        else kiln__cxx_int(out, reduction->type, is_max ? least : most);
        break;
    default: {
        const kiln__combine *combine = &ir->combines[reduction->u.reducer];
        if (is_float) kiln__cxx_float(out, reduction->type, combine->identity);
        else kiln__cxx_int(out, reduction->type, combine->identity_i64);
    }
    }
}

kiln_status kiln__cxx_check(const kiln__ir *ir)
{
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        if (inst->op == KILN__OP_INDEX || inst->op == KILN__OP_SIZE || inst->op == KILN__OP_UNIFORM)
            return kiln__fail(KILN_E_UNSUPPORTED, "kernels do not evaluate %s() yet (the CPU reference does)", kiln__ir_op_name(inst->op));
        if (inst->op == KILN__IR_ROUND_TO && (inst->u.storage == KILN_E4M3 || inst->u.storage == KILN_E5M2))
            return kiln__fail(KILN_E_UNSUPPORTED, "kernels do not round to %s yet (the CPU reference does)", kiln_type_name(inst->u.storage));
    }
    return KILN_OK;
}
