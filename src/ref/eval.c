/* One instruction over a block: tests, comparisons, selections and conversions, where types meet.
 * What stays within floats or within integers is in eval_float.c and eval_int.c. */
#include "ref/eval.h"

#include <math.h>

int64_t kiln__ref_f64_to_int(kiln__ctype type, double value)
{
    if (type == KILN__BOOL)
        return value != 0.0;
    if (isnan(value))
        return 0;
    int64_t low = type == KILN__I32 ? INT32_MIN : INT64_MIN, high = type == KILN__I32 ? INT32_MAX : INT64_MAX;
    if (value >= (type == KILN__I32 ? 0x1p31 : 0x1p63))
        return high;
    if (value <= (type == KILN__I32 ? -0x1p31 : -0x1p63))
        return low;
    return (int64_t)value;
}

static int64_t int_to_int(kiln__ctype type, int64_t value)
{
    if (type == KILN__BOOL)
        return value != 0;
    if (type == KILN__I32)
        return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
    return value;
}

static void eval_cast(kiln__ctype from, kiln__ctype to, kiln__ref_block out, kiln__ref_block in, size_t n)
{
    if (kiln__ctype_is_float(from) && kiln__ctype_is_float(to))
        for (size_t i = 0; i < n; i++)
            out.f64[i] = in.f64[i];
    else if (kiln__ctype_is_float(from))
        for (size_t i = 0; i < n; i++)
            out.i64[i] = kiln__ref_f64_to_int(to, in.f64[i]);
    else if (kiln__ctype_is_float(to))
        for (size_t i = 0; i < n; i++)
            out.f64[i] = (double)in.i64[i];
    else
        for (size_t i = 0; i < n; i++)
            out.i64[i] = int_to_int(to, in.i64[i]);
}

static void eval_round_to(kiln_type storage, bool is_float, kiln__ref_block out, kiln__ref_block in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t element = 0;
        if (is_float) {
            out.f64[i] = kiln__round_to(storage, in.f64[i]);
        } else {
            kiln__store_i64(storage, &element, in.i64[i]);
            out.i64[i] = kiln__load_i64(storage, &element);
        }
    }
}

#define COMPARE(op, operator) \
    case KILN__OP_##op: \
        if (is_float) \
            for (size_t i = 0; i < n; i++) \
                out[i] = a.f64[i] operator b.f64[i]; \
        else \
            for (size_t i = 0; i < n; i++) \
                out[i] = a.i64[i] operator b.i64[i]; \
        return true
#define TEST(op, test) \
    case KILN__OP_##op: \
        for (size_t i = 0; i < n; i++) \
            out[i] = test(a.f64[i]) != 0; \
        return true

/* False where the operator is neither a comparison nor a test of a float. */
static bool eval_test(kiln__op op, bool is_float, int64_t *out, kiln__ref_block a, kiln__ref_block b, size_t n)
{
    switch ((int)op) {
        COMPARE(LT, <);
        COMPARE(LE, <=);
        COMPARE(GT, >);
        COMPARE(GE, >=);
        COMPARE(EQ, ==);
        COMPARE(NE, !=);
        TEST(ISNAN, isnan);
        TEST(ISINF, isinf);
        TEST(ISFINITE, isfinite);
    default:
        return false;
    }
}

void kiln__ref_eval(const kiln__inst *insts, uint32_t index, const kiln__ref_block *values, size_t n)
{
    const kiln__inst *inst = &insts[index];
    kiln__ref_block out = values[index], args[3];
    for (int i = 0; i < 3; i++)
        args[i] = values[i < inst->arg_count ? inst->args[i] : index];
    kiln__ctype from = inst->arg_count > 0 ? insts[inst->args[0]].type : inst->type;
    bool from_float = kiln__ctype_is_float(from), to_float = kiln__ctype_is_float(inst->type);

    if (inst->op == KILN__IR_CAST) {
        eval_cast(from, inst->type, out, args[0], n);
    } else if (inst->op == KILN__IR_ROUND_TO) {
        eval_round_to(inst->u.storage, from_float, out, args[0], n);
    } else if (inst->op == KILN__OP_WHERE) {
        if (to_float)
            for (size_t i = 0; i < n; i++)
                out.f64[i] = args[0].i64[i] != 0 ? args[1].f64[i] : args[2].f64[i];
        else
            for (size_t i = 0; i < n; i++)
                out.i64[i] = args[0].i64[i] != 0 ? args[1].i64[i] : args[2].i64[i];
    } else if (to_float) {
        const double *const floats[3] = {args[0].f64, args[1].f64, args[2].f64};
        kiln__ref_eval_float(inst->op, out.f64, floats, n);
    } else if (!eval_test(inst->op, from_float, out.i64, args[0], args[1], n)) {
        const int64_t *const ints[3] = {args[0].i64, args[1].i64, args[2].i64};
        kiln__ref_eval_int(inst->op, inst->type, out.i64, ints, n);
    }
}
