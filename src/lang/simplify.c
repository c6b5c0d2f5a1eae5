/* SPDX-License-Identifier: Apache-2.0 */
/* Simpler nodes for the same values: of floats, as gradients are made of. What is 0 by the text stays 0, whatever it is
 * multiplied with: choices go outwards, so that a branch that is not taken never meets an infinity. */
#include "lang/rewrite.h"

#define MAX_FACTORS 32
#define MAX_SPLIT 8   /* how deep factors are looked for */
#define MAX_NESTED 12 /* simplifications of what simplifications make: bounds the stack that they take */

typedef struct operands {
    kiln__rewriter *rewriter;
    kiln__node node;
    const kiln__node *a, *b; /* of its first two arguments */
} operands;

static const kiln__node *at(const operands *o, uint32_t node) { return kiln__rewritten(o->rewriter, node); }

static bool is_literal(const kiln__node *node, double value) {
    return kiln__is_literal(node) && kiln__literal_f64(node) == value;
}

/* A whole number as an integer, if it is one of 64 bits. */
static uint32_t literal(kiln__rewriter *rewriter, double value) {
    const bool fits = value >= -0x1p63 && value < 0x1p63;
    return kiln__rewrite_literal(rewriter, fits && value == (double)(int64_t)value ? kiln__literal_int((int64_t)value)
                                                                                   : kiln__literal_float(value));
}

uint32_t kiln__simplify_op(kiln__rewriter *rewriter, kiln__op op, uint32_t a, uint32_t b) {
    kiln__node node = {.op = op, .arg_count = kiln__op_describe(op)->args, .args = {a, b}};
    if (node.arg_count < 2) node.args[1] = 0;
    return kiln__simplify(rewriter, node);
}

static uint32_t choose(kiln__rewriter *rewriter, uint32_t condition, uint32_t yes, uint32_t no) {
    return kiln__simplify(rewriter, (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {condition, yes, no}});
}

/* Which argument of a choice is 0, of 1 and 2; 0: none, or it is no choice. */
static uint32_t zero_branch(const operands *o, const kiln__node *node) {
    if (node->op != KILN__OP_WHERE) return 0;
    return is_literal(at(o, node->args[1]), 0) ? 1 : is_literal(at(o, node->args[2]), 0) ? 2 : 0;
}

/* op(where(c, u, 0)) as where(c, op(u), 0): the branch that is not 0 of argument k goes into the operation. */
static bool push_into_choice(const operands *o, uint32_t k, uint32_t *out) {
    const kiln__node choice = *at(o, o->node.args[k]);
    const uint32_t zero = zero_branch(o, &choice);
    kiln__node inner = o->node;
    if (zero == 0) return false;
    inner.args[k] = choice.args[3 - zero];
    const uint32_t value = kiln__simplify(o->rewriter, inner);
    *out = zero == 1 ? choose(o->rewriter, choice.args[0], choice.args[1], value)
                     : choose(o->rewriter, choice.args[0], value, choice.args[2]);
    return true;
}

/* The operation without the sign of argument k, and the sign around it. */
static bool push_out_sign(const operands *o, uint32_t k, uint32_t *out) {
    const kiln__node *arg = at(o, o->node.args[k]);
    kiln__node inner = o->node;
    if (arg->op != KILN__OP_NEG) return false;
    inner.args[k] = arg->args[0];
    *out = kiln__simplify_op(o->rewriter, KILN__OP_NEG, kiln__simplify(o->rewriter, inner), 0);
    return true;
}

static bool simplify_mul(const operands *o, uint32_t *out) {
    const uint32_t *args = o->node.args;
    if (is_literal(o->a, 0) || is_literal(o->b, 0)) return *out = literal(o->rewriter, 0), true;
    if (is_literal(o->a, 1)) return *out = args[1], true;
    if (is_literal(o->b, 1)) return *out = args[0], true;
    for (uint32_t k = 0; k < 2; k++) {
        if (is_literal(k ? o->b : o->a, -1))
            return *out = kiln__simplify_op(o->rewriter, KILN__OP_NEG, args[1 - k], 0), true;
        const kiln__node *other = k ? o->a : o->b;
        if (kiln__is_literal(k ? o->b : o->a) && other->op == KILN__OP_MUL && kiln__is_literal(at(o, other->args[0]))) {
            const uint32_t rest = other->args[1];
            const uint32_t factor = kiln__simplify_op(o->rewriter, KILN__OP_MUL, args[k], other->args[0]);
            return *out = kiln__simplify_op(o->rewriter, KILN__OP_MUL, factor, rest), true;
        }
    }
    return push_out_sign(o, 0, out) || push_out_sign(o, 1, out) || push_into_choice(o, 0, out) ||
           push_into_choice(o, 1, out);
}

static bool simplify_div(const operands *o, uint32_t *out) {
    if (is_literal(o->b, 1) || is_literal(o->a, 0)) return *out = o->node.args[0], true;
    return push_out_sign(o, 0, out) || push_out_sign(o, 1, out) || push_into_choice(o, 0, out);
}

static bool simplify_neg(const operands *o, uint32_t *out) {
    if (o->a->op == KILN__OP_NEG) return *out = o->a->args[0], true;
    if (o->a->op == KILN__OP_SUB)
        return *out = kiln__simplify_op(o->rewriter, KILN__OP_SUB, o->a->args[1], o->a->args[0]), true;
    return push_into_choice(o, 0, out);
}

/* where(c, u, 0) + where(c, 0, v) is where(c, u, v), and so on. */
static bool add_choices(const operands *o, uint32_t *out) {
    const kiln__node a = *o->a, b = *o->b;
    const uint32_t zero_a = zero_branch(o, &a), zero_b = zero_branch(o, &b);
    if (!zero_a || !zero_b || a.args[0] != b.args[0]) return false;
    uint32_t branches[3] = {0};
    for (uint32_t k = 1; k <= 2; k++) branches[k] = kiln__simplify_op(o->rewriter, KILN__OP_ADD, a.args[k], b.args[k]);
    *out = choose(o->rewriter, a.args[0], branches[1], branches[2]);
    return true;
}

static bool simplify_add(const operands *o, uint32_t *out) {
    const uint32_t *args = o->node.args;
    if (is_literal(o->a, 0)) return *out = args[1], true;
    if (is_literal(o->b, 0)) return *out = args[0], true;
    if (o->b->op == KILN__OP_NEG)
        return *out = kiln__simplify_op(o->rewriter, KILN__OP_SUB, args[0], o->b->args[0]), true;
    if (o->a->op == KILN__OP_NEG)
        return *out = kiln__simplify_op(o->rewriter, KILN__OP_SUB, args[1], o->a->args[0]), true;
    if (args[0] == args[1])
        return *out = kiln__simplify_op(o->rewriter, KILN__OP_MUL, literal(o->rewriter, 2), args[0]), true;
    return add_choices(o, out);
}

static bool simplify_sub(const operands *o, uint32_t *out) {
    const uint32_t *args = o->node.args;
    if (is_literal(o->b, 0)) return *out = args[0], true;
    if (is_literal(o->a, 0)) return *out = kiln__simplify_op(o->rewriter, KILN__OP_NEG, args[1], 0), true;
    if (o->b->op != KILN__OP_NEG) return false;
    *out = kiln__simplify_op(o->rewriter, KILN__OP_ADD, args[0], o->b->args[0]);
    return true;
}

static bool simplify_where(const operands *o, uint32_t *out) {
    const uint32_t *args = o->node.args;
    if (kiln__is_literal(o->a)) return *out = args[kiln__literal_f64(o->a) != 0 ? 1 : 2], true;
    if (args[1] == args[2]) return *out = args[1], true;
    if (is_literal(o->b, 0) && is_literal(at(o, args[2]), 0)) return *out = args[1], true;
    for (uint32_t k = 1; k <= 2; k++) { /* the same question again inside a branch */
        const kiln__node branch = *at(o, args[k]);
        kiln__node again = o->node;
        if (branch.op != KILN__OP_WHERE || branch.args[0] != args[0]) continue;
        again.args[k] = branch.args[k];
        return *out = kiln__simplify(o->rewriter, again), true;
    }
    return false;
}

/* Of comparisons. */
static bool simplify_and(const operands *o, uint32_t *out) {
    for (uint32_t k = 0; k < 2; k++) {
        const kiln__node *arg = k ? o->b : o->a;
        if (arg->op == KILN__OP_BOOL) return *out = o->node.args[arg->u.i64 ? 1 - k : k], true;
    }
    return false;
}

static bool simplify_pow(const operands *o, uint32_t *out) {
    if (is_literal(o->b, 1)) return *out = o->node.args[0], true;
    if (is_literal(o->b, 0)) return *out = literal(o->rewriter, 1), true;
    return false;
}

/* What the prelude asks of types is known for floats. */
static bool simplify_type(const operands *o, uint32_t *out) {
    if (!o->rewriter->is_float[o->node.args[0]]) return false;
    const kiln__node no = kiln__literal_bool(false);
    *out = o->node.op == KILN__OP_IS_WIDE ? kiln__rewrite_literal(o->rewriter, no) : o->node.args[0];
    return o->node.op == KILN__OP_IS_WIDE || o->node.u.widening != KILN__WIDEN_WIDE;
}

static bool simplify_operation(const operands *o, uint32_t *out) {
    switch ((int)o->node.op) {
    case KILN__OP_MUL: return simplify_mul(o, out);
    case KILN__OP_DIV: return simplify_div(o, out);
    case KILN__OP_NEG: return simplify_neg(o, out);
    case KILN__OP_ADD: return simplify_add(o, out);
    case KILN__OP_SUB: return simplify_sub(o, out);
    case KILN__OP_WHERE: return simplify_where(o, out);
    case KILN__OP_POW: return simplify_pow(o, out);
    case KILN__OP_BITAND: return simplify_and(o, out);
    case KILN__OP_IS_WIDE:
    case KILN__OP_WIDEN: return simplify_type(o, out);
    default: return false;
    }
}

uint32_t kiln__simplify(kiln__rewriter *rewriter, kiln__node node) {
    operands o = {.rewriter = rewriter, .node = node};
    kiln__node literals[3] = {0}, folded;
    bool all_literal = node.arg_count > 0;
    uint32_t out;
    if (rewriter->work.status != KILN_OK) return 0;
    for (uint32_t k = 0; k < node.arg_count; k++) {
        literals[k] = *at(&o, node.args[k]);
        all_literal = all_literal && kiln__is_literal(&literals[k]);
    }
    o.a = &literals[0];
    o.b = &literals[1];
    if (all_literal && kiln__fold(node.op, literals, &folded)) return kiln__rewrite_literal(rewriter, folded);
    if (rewriter->nested == MAX_NESTED) return kiln__rewrite_add(rewriter, node);
    rewriter->nested++;
    const bool simpler = simplify_operation(&o, &out);
    rewriter->nested--;
    return simpler ? out : kiln__rewrite_add(rewriter, node);
}

/* ---- sums ---- */

typedef struct factor {
    uint32_t node;
    bool divides;
} factor;

typedef struct product {
    factor factors[MAX_FACTORS];
    uint32_t count;
} product;

/* Beside what all rows come to no tensor may stand. */
static bool goes_out(const kiln__rewriter *rewriter, uint32_t node, uint32_t domain) {
    const kiln__spans *extents = &rewriter->extents;
    const bool in_row = kiln__domain_block(extents, domain) || kiln__domain_axes(extents, domain) == extents->row;
    return in_row ? kiln__span_is_invariant(extents, rewriter->of[node], domain)
                  : kiln__is_literal(kiln__rewritten(rewriter, node));
}

/* Whether the node is a product or quotient with a factor in it that goes out; as far down as that is looked for. */
static bool splits(const kiln__rewriter *rewriter, uint32_t node, uint32_t domain, int depth) {
    const kiln__node *parts = kiln__rewritten(rewriter, node);
    if ((parts->op != KILN__OP_DIV && parts->op != KILN__OP_MUL) || depth == MAX_SPLIT) return false;
    if (rewriter->is_whole[node]) return false;
    for (uint32_t k = 0; k < 2; k++)
        if (goes_out(rewriter, parts->args[k], domain) || splits(rewriter, parts->args[k], domain, depth + 1))
            return true;
    return false;
}

/* The factors that products and quotients are made of, as far as one of them goes out. */
static void find_factors(kiln__rewriter *rewriter, uint32_t node, uint32_t domain, product *out) {
    out->factors[0] = (factor){node, false};
    out->count = 1;
    for (uint32_t i = 0; i < out->count;) {
        const factor whole = out->factors[i];
        const kiln__node *parts = kiln__rewritten(rewriter, whole.node);
        const bool divides = parts->op == KILN__OP_DIV;
        if (out->count == MAX_FACTORS || !splits(rewriter, whole.node, domain, 0)) {
            i++;
            continue;
        }
        memmove(&out->factors[i + 1], &out->factors[i], (out->count - i) * sizeof *out->factors);
        out->factors[i].node = parts->args[0];
        out->factors[i + 1] = (factor){parts->args[1], whole.divides != divides};
        out->count++;
    }
}

/* Literals among the factors that go out, as one. */
static uint32_t multiply_literals(kiln__rewriter *rewriter, const product *p, const bool *out, uint32_t first) {
    double all = 1;
    for (uint32_t i = 0; i < p->count; i++) {
        const kiln__node *node = kiln__rewritten(rewriter, p->factors[i].node);
        if (!out[i] || !kiln__is_literal(node)) continue;
        all = p->factors[i].divides ? all / kiln__literal_f64(node) : all * kiln__literal_f64(node);
    }
    return kiln__simplify_op(rewriter, KILN__OP_MUL, first, literal(rewriter, all));
}

/* first times the factors that go out of the sum, or that stay in it; has_first: false: there are none so far. */
static uint32_t multiply(kiln__rewriter *rewriter, const product *p, const bool *out, bool which, uint32_t first,
                         bool has_first) {
    if (has_first) first = multiply_literals(rewriter, p, out, first);
    for (int divides = 0; divides < 2; divides++) {
        for (uint32_t i = 0; i < p->count; i++) {
            if (out[i] != which || p->factors[i].divides != (bool)divides) continue;
            if (which && kiln__is_literal(kiln__rewritten(rewriter, p->factors[i].node))) continue;
            if (!has_first && divides) first = literal(rewriter, 1);
            if (has_first || divides)
                first = kiln__simplify_op(rewriter, divides ? KILN__OP_DIV : KILN__OP_MUL, first, p->factors[i].node);
            else
                first = p->factors[i].node;
            has_first = true;
        }
    }
    return first;
}

uint32_t kiln__simplify_sum(kiln__rewriter *rewriter, uint32_t value, uint32_t domain) {
    if (rewriter->work.status != KILN_OK) return 0;
    const kiln__node node = *kiln__rewritten(rewriter, value);
    product p;
    bool out[MAX_FACTORS];
    uint32_t gone = 0;
    if (is_literal(&node, 0)) return value;
    if (node.op == KILN__OP_NEG)
        return kiln__simplify_op(rewriter, KILN__OP_NEG, kiln__simplify_sum(rewriter, node.args[0], domain), 0);
    find_factors(rewriter, value, domain, &p);
    for (uint32_t i = 0; i < p.count; i++) gone += out[i] = goes_out(rewriter, p.factors[i].node, domain);
    const kiln__node sum = {.op = KILN__OP_REDUCE_SUM, .arg_count = 1, .domain = domain, .args = {value}};
    if (gone == 0 || gone == p.count) return kiln__simplify(rewriter, sum);
    kiln__node rest = sum;
    rest.args[0] = multiply(rewriter, &p, out, false, 0, false);
    return multiply(rewriter, &p, out, true, kiln__simplify(rewriter, rest), true);
}
