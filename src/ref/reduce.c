/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, in column order. Sums and products of floats carry the error of every rounding along, so that they are
 * good to a double's last place or so, however long the row is. */
#include "lang/arithmetic.h"
#include "ref/run.h"

kiln__ref_value **kiln__ref_combine_make(const kiln__combine *combine, kiln__arena *arena) {
    kiln__ref_value *memory = kiln__arena_alloc(arena, combine->count, sizeof *memory);
    kiln__ref_value **values = kiln__arena_alloc(arena, combine->count, sizeof *values);
    if (memory == NULL || values == NULL) return NULL;
    for (uint32_t i = 0; i < combine->count; i++) {
        const kiln__inst *inst = &combine->insts[i];
        values[i] = memory + i;
        memory[i].i64 = inst->u.i64; /* a literal's 64 bits, of either kind; the others' are replaced at each use */
    }
    return values;
}

static void add_user(const kiln__combine *combine, kiln__ref_value *const *values, const kiln__ref_value *x, size_t n,
                     kiln__ref_accumulator *accumulator) {
    kiln__ref_value *acc = &accumulator->value;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < combine->count; k++) {
            const kiln__inst *inst = &combine->insts[k];
            if (inst->op == KILN__OP_PARAM)
                *values[k] = inst->u.param == 0 ? *acc : x[i];
            else if (inst->arg_count > 0)
                kiln__ref_eval(combine->insts, k, values, 1);
            if (accumulator->own_types) kiln__ref_narrow(inst->type, values[k], 1);
        }
        *acc = *values[combine->result];
    }
}

static double combine_two(kiln__op op, kiln__ctype type, double a, double b) {
    kiln__ref_value both = {op == KILN__OP_REDUCE_SUM ? a + b : a * b};
    kiln__ref_narrow(type, &both, 1);
    return both.f64;
}

/* A sum or product as a tree of pairs, each rounded to the type. */
static void add_tree(const kiln__inst *reduction, const kiln__ref_value *x, size_t n,
                     kiln__ref_accumulator *accumulator) {
    double *partials = accumulator->partials;
    for (size_t i = 0; i < n; i++, accumulator->seen++) {
        double value = x[i].f64;
        int level = 0;
        for (; (accumulator->seen >> level & 1) != 0; level++)
            value = combine_two(reduction->op, reduction->type, partials[level], value);
        partials[level] = value;
    }
}

static double finish_tree(const kiln__inst *reduction, const kiln__ref_accumulator *accumulator) {
    double value = accumulator->value.f64; /* the identity */
    for (int level = 0; level < 63; level++)
        if ((accumulator->seen >> level & 1) != 0)
            value = combine_two(reduction->op, reduction->type, accumulator->partials[level], value);
    return value;
}

static bool is_extreme(kiln__op op) { return op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_MIN; }

static bool is_tree(const kiln__inst *reduction, const kiln__ref_accumulator *accumulator) {
    bool adds = reduction->op == KILN__OP_REDUCE_SUM || reduction->op == KILN__OP_REDUCE_PROD;
    return accumulator->own_types && adds && kiln__ctype_is_float(reduction->type);
}

static void add_float(kiln__op op, const kiln__ref_value *x, size_t n, kiln__ref_accumulator *accumulator) {
    double acc = accumulator->value.f64, correction = accumulator->correction;
    switch ((int)op) {
    case KILN__OP_REDUCE_SUM: /* Knuth's two-sum: what each addition loses is known exactly */
        for (size_t i = 0; i < n; i++) {
            double next = acc + x[i].f64;
            double part = next - acc;
            correction += (acc - (next - part)) + (x[i].f64 - part);
            acc = next;
        }
        break;
    case KILN__OP_REDUCE_PROD: /* Ogita, Rump and Oishi's compensated product */
        for (size_t i = 0; i < n; i++) {
            double next = acc * x[i].f64;
            correction = fma(acc, x[i].f64, -next) + correction * x[i].f64;
            acc = next;
        }
        break;
    case KILN__OP_REDUCE_MAX:
        for (size_t i = 0; i < n; i++) acc = kiln__maximum(acc, x[i].f64);
        break;
    default:
        for (size_t i = 0; i < n; i++) acc = kiln__minimum(acc, x[i].f64);
    }
    accumulator->value.f64 = acc;
    accumulator->correction = correction;
}

#define EACH(op, expression) \
    case KILN__OP_REDUCE_##op: \
        for (size_t i = 0; i < n; i++) { \
            int64_t value = x[i].i64; \
            acc = expression; \
        } \
        break

/* Of the values' order alone. */
static void add_u64(bool max, const kiln__ref_value *x, size_t n, kiln__ref_value *out) {
    uint64_t acc = (uint64_t)out->i64;
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = (uint64_t)x[i].i64;
        if (max ? value > acc : value < acc) acc = value;
    }
    out->i64 = (int64_t)acc;
}

static void add_int(kiln__op op, const kiln__ref_value *x, size_t n, kiln__ref_value *out) {
    int64_t acc = out->i64;
    switch ((int)op) {
        EACH(SUM, (int64_t)((uint64_t)acc + (uint64_t)value));
        EACH(PROD, (int64_t)((uint64_t)acc * (uint64_t)value));
        EACH(MAX, value > acc ? value : acc);
        EACH(MIN, value < acc ? value : acc);
        EACH(ANY, acc | value);
        EACH(ALL, acc & value);
    }
    out->i64 = acc;
}

/* NaN wins, and of equals the first. */
static bool is_better(bool max, kiln__ctype type, kiln__ref_value value, kiln__ref_value best) {
    if (kiln__ctype_is_float(type))
        return isnan(value.f64) ? !isnan(best.f64) : max ? value.f64 > best.f64 : value.f64 < best.f64;
    if (type == KILN__U64)
        return max ? (uint64_t)value.i64 > (uint64_t)best.i64 : (uint64_t)value.i64 < (uint64_t)best.i64;
    return max ? value.i64 > best.i64 : value.i64 < best.i64;
}

static void add_arg(bool max, kiln__ctype type, const kiln__ref_value *x, size_t n,
                    kiln__ref_accumulator *accumulator) {
    for (size_t i = 0; i < n; i++, accumulator->seen++) {
        if (accumulator->seen > 0 && !is_better(max, type, x[i], accumulator->value)) continue;
        accumulator->value = x[i];
        accumulator->index = accumulator->seen;
    }
}

void kiln__ref_reduce_start(const kiln__inst *reduction, const kiln__combine *combines, bool own_types,
                            kiln__ref_accumulator *accumulator) {
    bool user = reduction->op == KILN__OP_REDUCE_USER;
    const kiln__combine *combine = user ? &combines[reduction->u.reducer] : NULL;
    double identity = user ? combine->identity : 0.0;
    bool bools = reduction->type == KILN__BOOL;
    switch ((int)reduction->op) {
    case KILN__OP_REDUCE_PROD:
    case KILN__OP_REDUCE_ALL: identity = 1.0; break;
    case KILN__OP_REDUCE_MAX: identity = bools ? 0.0 : -INFINITY; break;
    case KILN__OP_REDUCE_MIN: identity = INFINITY; break;
    }
    accumulator->value.f64 = identity;
    accumulator->correction = 0;
    accumulator->index = accumulator->seen = 0;
    accumulator->own_types = own_types;
    if (!kiln__ctype_is_float(reduction->type)) /* of infinities: the type's own limits */
        accumulator->value.i64 = user ? combine->identity_i64 : kiln__ref_f64_to_int(reduction->type, identity);
}

void kiln__ref_reduce_add(const kiln__ir *ir, const kiln__inst *reduction, kiln__ref_value ***combine_values,
                          const kiln__ref_value *values, size_t n, kiln__ref_accumulator *accumulator) {
    uint32_t reducer = reduction->u.reducer;
    if (kiln__op_is_arg(reduction->op))
        add_arg(reduction->op == KILN__OP_REDUCE_ARGMAX, ir->insts[reduction->args[0]].type, values, n, accumulator);
    else if (reduction->op == KILN__OP_REDUCE_USER)
        add_user(&ir->combines[reducer], combine_values[reducer], values, n, accumulator);
    else if (kiln__op_selects(reduction->op))
        kiln__ref_select_add(values, n, accumulator);
    else if (is_tree(reduction, accumulator))
        add_tree(reduction, values, n, accumulator);
    else if (kiln__ctype_is_float(reduction->type))
        add_float(reduction->op, values, n, accumulator);
    else if (reduction->type == KILN__U64 && is_extreme(reduction->op))
        add_u64(reduction->op == KILN__OP_REDUCE_MAX, values, n, &accumulator->value);
    else
        add_int(reduction->op, values, n, &accumulator->value);
}

kiln__ref_value kiln__ref_reduce_finish(const kiln__inst *reduction, const kiln__ref_accumulator *accumulator) {
    kiln__ref_value value = accumulator->value;
    if (is_tree(reduction, accumulator)) value.f64 = finish_tree(reduction, accumulator);
    if (kiln__op_is_arg(reduction->op)) value.i64 = accumulator->seen ? accumulator->index : -1;
    /* Past infinity the corrections are NaN and mean nothing. */
    if (kiln__ctype_is_float(reduction->type) && isfinite(value.f64) && accumulator->correction != 0.0)
        value.f64 += accumulator->correction;
    return value;
}
