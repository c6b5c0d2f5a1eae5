/* SPDX-License-Identifier: Apache-2.0 */
/* i64 values that are known to fit 32 bits, as indices and what is made of them mostly do: they are computed in 32,
 * where each takes one instruction in place of two to four. */
#include "codegen/emitter.h"

typedef struct bounds {
    int64_t low, high;
} bounds;

static const bounds anything = {INT64_MIN, INT64_MAX}, counted = {0, INT32_MAX};

static bool fits(bounds b) { return b.low >= INT32_MIN && b.high <= INT32_MAX; }

bool kiln__is_short_axis(const kiln__emitter *e, int axis) {
    const kiln__schedule *s = e->schedule;
    const bool of_columns = kiln__layout_of(s) != KILN__LAYOUT_FLAT;
    return axis != KILN__LINEAR_INDEX && !e->problem->wide && !(of_columns && s->code.wide_columns);
}

static bounds of_product(bounds a, bounds b) {
    const int64_t ll = a.low * b.low, lh = a.low * b.high, hl = a.high * b.low, hh = a.high * b.high;
    return (bounds){kiln__least(kiln__least(ll, lh), kiln__least(hl, hh)),
                    kiln__greatest(kiln__greatest(ll, lh), kiln__greatest(hl, hh))};
}

/* By a positive constant. */
static bounds of_quotient(kiln__op op, bounds a, bounds b) {
    if (b.low != b.high || b.low < 1) return anything;
    if (op == KILN__OP_MOD || op == KILN__OP_REMAINDER) return (bounds){0, b.low - 1};
    return (bounds){kiln__least(a.low, 0), kiln__greatest(a.high, 0)};
}

/* Of an operator whose arguments all fit. */
static bounds of_operator(kiln__op op, bounds a, bounds b) {
    switch ((int)op) {
    case KILN__OP_ADD: return (bounds){a.low + b.low, a.high + b.high};
    case KILN__OP_SUB: return (bounds){a.low - b.high, a.high - b.low};
    case KILN__OP_NEG: return (bounds){-a.high, -a.low};
    case KILN__OP_ABS: return (bounds){0, kiln__greatest(kiln__greatest(a.high, -a.low), 0)};
    case KILN__OP_MUL: return of_product(a, b);
    case KILN__OP_MINIMUM: return (bounds){kiln__least(a.low, b.low), kiln__least(a.high, b.high)};
    case KILN__OP_MAXIMUM: return (bounds){kiln__greatest(a.low, b.low), kiln__greatest(a.high, b.high)};
    case KILN__OP_MOD:
    case KILN__OP_REMAINDER:
    case KILN__OP_DIV_FLOOR: return of_quotient(op, a, b);
    case KILN__OP_BITAND: return b.low >= 0 ? (bounds){0, b.high} : anything;
    case KILN__OP_WHERE: return (bounds){kiln__least(a.low, b.low), kiln__greatest(a.high, b.high)};
    }
    return anything;
}

static bounds of_cast(kiln__ctype from, bounds a) {
    if (from == KILN__BOOL) return (bounds){0, 1};
    if (from == KILN__I32) return (bounds){INT32_MIN, INT32_MAX};
    return from == KILN__I64 ? a : anything;
}

/* Of an instruction of type i64, where its arguments' are known. */
static bounds bounds_of(const kiln__emitter *e, const kiln__inst *inst, const bounds *known) {
    const int first = inst->op == KILN__OP_WHERE; /* behind the condition */
    const bool columns = kiln__layout_of(e->schedule) != KILN__LAYOUT_FLAT && !e->schedule->code.wide_columns;
    switch ((int)inst->op) {
    case KILN__OP_INT: return (bounds){inst->u.i64, inst->u.i64};
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: return kiln__is_short_axis(e, inst->u.axis) ? counted : anything;
    case KILN__OP_LENGTH: return columns ? counted : anything;
    case KILN__OP_CAST: return of_cast(e->ir->insts[inst->args[0]].type, known[inst->args[0]]);
    }
    for (int a = first; a < inst->arg_count; a++)
        if (e->ir->insts[inst->args[a]].type != KILN__I64 || !fits(known[inst->args[a]])) return anything;
    if (inst->arg_count <= first) return anything;
    return of_operator(inst->op, known[inst->args[first]], known[inst->args[inst->arg_count - 1]]);
}

void kiln__find_short(kiln__emitter *e) {
    bounds *known = kiln__arena_alloc(e->arena, e->ir->count + 1, sizeof *known);
    e->out->failed |= !known;
    for (uint32_t i = 0; i < e->ir->count && known; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        known[i] = inst->type == KILN__I64 ? bounds_of(e, inst, known) : anything;
        e->is_short[i] = fits(known[i]);
    }
}

/* Whether arguments of type i64 are all short, and some are; of a comparison: some that are computed. Of indices alone,
 * as a causal mask compares them, the compiler would keep what comes out from pass to pass, in predicates that it packs
 * and unpacks, which takes more than it saves. */
static bool has_short_arguments(const kiln__emitter *e, const kiln__inst *inst, bool compares) {
    bool any = false;
    for (int a = 0; a < inst->arg_count; a++) {
        const kiln__inst *of = &e->ir->insts[inst->args[a]];
        if (of->type != KILN__I64) continue;
        if (!e->is_short[inst->args[a]]) return false;
        any |= !compares || (of->arg_count > 0 && of->op != KILN__OP_CAST);
    }
    return any;
}

bool kiln__is_computed_short(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const bool compares = inst->op >= KILN__OP_LT && inst->op <= KILN__OP_NE;
    const bool to_float = inst->op == KILN__OP_CAST && kiln__ctype_is_float(inst->type);
    const bool computes = e->is_short[i] && inst->op != KILN__OP_CAST;
    return (compares || to_float || computes) && has_short_arguments(e, inst, compares);
}
