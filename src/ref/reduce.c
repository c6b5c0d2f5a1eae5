/* Reductions of the reference. Sums and products of floats carry the error of every rounding along, so that
 * they are good to a double's last place or so, however long the row is. */
#include "ref/reduce.h"

#include <math.h>

kiln_status kiln__ref_combiner_make(const kiln__combine *combine, kiln__arena *arena, kiln__ref_combiner *out)
{
    double *memory = kiln__arena_alloc(arena, combine->count, sizeof *memory);
    out->values = kiln__arena_alloc(arena, combine->count, sizeof *out->values);
    out->combine = combine;
    if (memory == NULL || out->values == NULL)
        return kiln__out_of_memory();
    for (uint32_t i = 0; i < combine->count; i++) {
        const kiln__inst *inst = &combine->insts[i];
        kiln__ref_block value = {memory + i};
        out->values[i] = value;
        if (inst->op == KILN__OP_FLOAT)
            *value.f64 = inst->u.f64;
        else if (inst->op == KILN__OP_INT || inst->op == KILN__OP_BOOL)
            *value.i64 = inst->u.i64;
        else if (inst->op != KILN__OP_PARAM && (inst->arg_count == 0 || inst->op == KILN__OP_UNIFORM || kiln__op_is_reduction(inst->op)))
            return kiln__fail(KILN_E_INTERNAL, "a reducer contains operator %d, which needs more than its two arguments",
                              (int)inst->op);
    }
    return KILN_OK;
}

/* acc becomes combine(acc, value); is_float says which member of the blocks counts. */
static void combine(const kiln__ref_combiner *combiner, bool is_float, kiln__ref_block acc, kiln__ref_block value)
{
    const kiln__combine *body = combiner->combine;
    for (uint32_t i = 0; i < body->count; i++) {
        const kiln__inst *inst = &body->insts[i];
        if (inst->op == KILN__OP_PARAM) {
            kiln__ref_block from = inst->u.param == 0 ? acc : value;
            if (is_float)
                *combiner->values[i].f64 = *from.f64;
            else
                *combiner->values[i].i64 = *from.i64;
        } else if (inst->arg_count > 0) {
            kiln__ref_eval(body->insts, i, combiner->values, 1);
        }
    }
    if (is_float)
        *acc.f64 = *combiner->values[body->result].f64;
    else
        *acc.i64 = *combiner->values[body->result].i64;
}

static void add_user(kiln__ref_accumulator *accumulator, kiln__ref_block values, size_t n)
{
    bool is_float = kiln__ctype_is_float(accumulator->type);
    kiln__ref_block acc;
    if (is_float)
        acc.f64 = &accumulator->f64;
    else
        acc.i64 = &accumulator->i64;
    for (size_t i = 0; i < n; i++) {
        kiln__ref_block value;
        if (is_float)
            value.f64 = values.f64 + i;
        else
            value.i64 = values.i64 + i;
        combine(accumulator->combiner, is_float, acc, value);
    }
}

/* Knuth's two-sum: what each addition loses is known exactly. */
static void add_sum(kiln__ref_accumulator *accumulator, const double *values, size_t n)
{
    double sum = accumulator->f64, correction = accumulator->correction;
    for (size_t i = 0; i < n; i++) {
        double next = sum + values[i];
        double part = next - sum;
        correction += (sum - (next - part)) + (values[i] - part);
        sum = next;
    }
    accumulator->f64 = sum;
    accumulator->correction = correction;
}

/* Ogita, Rump and Oishi's compensated product. */
static void add_product(kiln__ref_accumulator *accumulator, const double *values, size_t n)
{
    double product = accumulator->f64, correction = accumulator->correction;
    for (size_t i = 0; i < n; i++) {
        double next = product * values[i];
        correction = fma(product, values[i], -next) + correction * values[i];
        product = next;
    }
    accumulator->f64 = product;
    accumulator->correction = correction;
}

static void add_float(kiln__ref_accumulator *accumulator, const double *values, size_t n)
{
    double acc = accumulator->f64;
    switch ((int)accumulator->op) {
    case KILN__OP_REDUCE_SUM:
        add_sum(accumulator, values, n);
        return;
    case KILN__OP_REDUCE_PROD:
        add_product(accumulator, values, n);
        return;
    case KILN__OP_REDUCE_MAX:
        for (size_t i = 0; i < n; i++)
            acc = kiln__ref_maximum(acc, values[i]);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            acc = kiln__ref_minimum(acc, values[i]);
        break;
    }
    accumulator->f64 = acc;
}

static void add_int(kiln__ref_accumulator *accumulator, const int64_t *values, size_t n)
{
    int64_t acc = accumulator->i64;
    switch ((int)accumulator->op) {
    case KILN__OP_REDUCE_SUM:
        for (size_t i = 0; i < n; i++)
            acc = (int64_t)((uint64_t)acc + (uint64_t)values[i]);
        break;
    case KILN__OP_REDUCE_PROD:
        for (size_t i = 0; i < n; i++)
            acc = (int64_t)((uint64_t)acc * (uint64_t)values[i]);
        break;
    case KILN__OP_REDUCE_MAX:
        for (size_t i = 0; i < n; i++)
            acc = values[i] > acc ? values[i] : acc;
        break;
    case KILN__OP_REDUCE_MIN:
        for (size_t i = 0; i < n; i++)
            acc = values[i] < acc ? values[i] : acc;
        break;
    case KILN__OP_REDUCE_ANY:
        for (size_t i = 0; i < n; i++)
            acc |= values[i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            acc &= values[i];
        break;
    }
    accumulator->i64 = acc;
}

void kiln__ref_accumulator_start(kiln__ref_accumulator *accumulator, const kiln__inst *reduction,
                                 const kiln__ref_combiner *combiners)
{
    kiln__ref_accumulator identity = {reduction->op, reduction->type, NULL, 0.0, 0.0, 0};
    bool is_i32 = reduction->type == KILN__I32;
    switch ((int)reduction->op) {
    case KILN__OP_REDUCE_PROD:
        identity.f64 = 1.0;
        identity.i64 = 1;
        break;
    case KILN__OP_REDUCE_MAX:
        identity.f64 = -INFINITY;
        identity.i64 = is_i32 ? INT32_MIN : INT64_MIN;
        break;
    case KILN__OP_REDUCE_MIN:
        identity.f64 = INFINITY;
        identity.i64 = is_i32 ? INT32_MAX : INT64_MAX;
        break;
    case KILN__OP_REDUCE_ALL:
        identity.i64 = 1;
        break;
    case KILN__OP_REDUCE_USER:
        identity.combiner = &combiners[reduction->u.reducer];
        identity.f64 = identity.combiner->combine->identity;
        identity.i64 = identity.combiner->combine->identity_i64;
        break;
    default:
        break;
    }
    *accumulator = identity;
}

void kiln__ref_accumulator_add(kiln__ref_accumulator *accumulator, kiln__ref_block values, size_t n)
{
    if (accumulator->op == KILN__OP_REDUCE_USER)
        add_user(accumulator, values, n);
    else if (kiln__ctype_is_float(accumulator->type))
        add_float(accumulator, values.f64, n);
    else
        add_int(accumulator, values.i64, n);
}

void kiln__ref_accumulator_finish(const kiln__ref_accumulator *accumulator, kiln__ref_block out)
{
    if (!kiln__ctype_is_float(accumulator->type))
        *out.i64 = accumulator->i64;
    else if (isfinite(accumulator->f64) && accumulator->correction != 0.0)
        *out.f64 = accumulator->f64 + accumulator->correction;
    else /* past infinity the corrections are NaN and mean nothing */
        *out.f64 = accumulator->f64;
}
