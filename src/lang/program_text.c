/* SPDX-License-Identifier: Apache-2.0 */
/* A graph written as a program again: calls of the prelude's functions are found in it, and what is used twice, or
 * nested deep, gets a statement of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "lang/pattern.h"
#include "lang/reverse.h"

#define MAX_PATTERNS 512
#define MAX_INLINE 24 /* nested operations of a formula: bounds the stack that writing it takes, */
#define MAX_NESTED 64 /* with a combine of reduce in it */

/* How tight operators bind; between are those of the table of expression.c. */
enum { LOOSEST = 0, COMPARISON = 7, UNARY = 11, POWER = 12, TIGHTEST = 13 };

typedef struct writer {
    kiln__reverse *reverse;
    kiln__rewriter *w;
    const kiln__node *nodes;
    uint32_t count;
    kiln__pattern *patterns;
    uint32_t pattern_count;
    kiln__match **calls; /* of each node that is written as a call */
    uint32_t *uses;
    uint8_t *depth;
    const char **names; /* of nodes that have a statement */
    bool *read;
    bool in_combine;
    int nested; /* formulas */
    kiln__text text;
} writer;

static void *alloc(writer *out, size_t count, size_t size) {
    return kiln__work_alloc(&out->w->work, &out->w->work.scratch, count + 1, size);
}

/* ---- calls ---- */

static void add_pattern(writer *out, const kiln__function *function, const kiln__nodes *nodes, uint32_t result) {
    if (out->pattern_count == MAX_PATTERNS || nodes->count > KILN__MAX_PATTERN) return;
    if (nodes->items[result].op == KILN__OP_PARAM || kiln__is_literal(&nodes->items[result])) return;
    out->patterns[out->pattern_count++] = (kiln__pattern){function, nodes->items, nodes->count, result};
}

/* Weights, which a gradient may be of a call without. */
static bool is_weight(const kiln__parameter *parameter) {
    return !parameter->optional && parameter->length == 1 && parameter->name[0] == 'w';
}

/* As floats are computed, for whom the new graph has simpler operations. defaults: optional parameters have theirs, and
 * weights are 1. */
static void add_simplified(writer *out, const kiln__function *function, bool defaults) {
    kiln__rewriter *w = out->w;
    const kiln__nodes nodes = w->program.nodes;
    kiln__span *const of = w->of, *const shown = w->shown;
    bool *const is_float = w->is_float;
    uint32_t args[KILN__MAX_PARAMETERS] = {0};
    w->program.nodes = (kiln__nodes){0};
    w->of = alloc(out, KILN__MAX_NODES, sizeof *w->of);
    w->shown = alloc(out, KILN__MAX_NODES, sizeof *w->shown);
    w->is_float = alloc(out, KILN__MAX_NODES, sizeof *w->is_float);
    for (uint32_t p = 0; p < function->parameter_count && w->work.status == KILN_OK; p++) {
        const kiln__parameter *parameter = &function->parameters[p];
        const bool literal = defaults && (parameter->optional || is_weight(parameter));
        const kiln__node value = parameter->optional ? parameter->value : kiln__literal_int(1);
        args[p] = kiln__rewrite_add(w, literal ? value : (kiln__node){.op = KILN__OP_PARAM, .u.param = p});
        if (w->work.status == KILN_OK && !literal) w->is_float[args[p]] = true;
    }
    const uint32_t result = kiln__rewrite_call(w, function, args, 0);
    if (w->work.status == KILN_OK) add_pattern(out, function, &w->program.nodes, result);
    w->program.nodes = nodes;
    w->of = of;
    w->shown = shown;
    w->is_float = is_float;
}

/* Gradients that are as short in operators, and say less where a factor only looks like the gradient of something. */
static bool is_left_out(const kiln__function *function) {
    static const char *const names[] = {"softplus_grad", "tanh_grad", "sigmoid_grad", "logsumexp_grad", "dropout_grad"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == function->length && memcmp(names[i], function->name, function->length) == 0)
            return true;
    return false;
}

static void find_patterns(writer *out) {
    out->patterns = alloc(out, MAX_PATTERNS, sizeof *out->patterns);
    for (kiln__function *f = out->w->parser.functions; f != NULL && out->w->work.status == KILN_OK; f = f->next) {
        if (kiln__is_private(f->name) || f->in_library || is_left_out(f) || !kiln__function_load(&out->w->parser, f))
            continue;
        if (f->nodes.count > KILN__MAX_PATTERN) continue;
        add_pattern(out, f, &f->nodes, f->result);
        add_simplified(out, f, false);
        if (f->required_count < f->parameter_count) add_simplified(out, f, true);
    }
}

/* Whether a call with these arguments is the same: a conversion of a parameter changes none of them. Takes the
 * prelude's own conversions off. */
static bool settle_arguments(const writer *out, kiln__match *match) {
    const kiln__function *function = match->function;
    for (uint32_t p = 0; p < function->parameter_count; p++) {
        const kiln__parameter *parameter = &function->parameters[p];
        if (!match->bound[p] && !parameter->optional && !is_weight(parameter)) return false;
        if (!match->bound[p] || !parameter->converted) continue;
        const kiln__node *arg = &out->nodes[match->args[p]];
        if (arg->op == KILN__OP_WIDEN && arg->u.widening == parameter->conversion.u.widening)
            match->args[p] = arg->args[0];
        else if (!out->w->is_float[match->args[p]])
            return false;
    }
    return true;
}

/* The largest call that the node is. */
static void find_call(writer *out, uint32_t node) {
    uint32_t most = 0;
    kiln__match match;
    for (uint32_t i = 0; i < out->pattern_count; i++) {
        const kiln__pattern *pattern = &out->patterns[i];
        if (pattern->nodes[pattern->result].op != out->nodes[node].op) continue;
        if (!kiln__pattern_match(pattern, out->nodes, node, &match) || match.size <= most) continue;
        if (!settle_arguments(out, &match)) continue;
        if (out->calls[node] == NULL) out->calls[node] = alloc(out, 1, sizeof match);
        if (out->calls[node] == NULL) return;
        *out->calls[node] = match;
        most = match.size;
    }
}

/* ---- what has a statement ---- */

/* The arguments as they are written, of an operation or of a call. */
static uint32_t arguments_of(const writer *out, uint32_t node, uint32_t args[KILN__MAX_PARAMETERS]) {
    const kiln__match *call = out->calls[node];
    const kiln__node *operation = &out->nodes[node];
    uint32_t count = 0;
    for (uint32_t p = 0; call != NULL && p < call->function->parameter_count; p++)
        if (call->bound[p]) args[count++] = call->args[p];
    for (uint32_t k = 0; call == NULL && k < operation->arg_count; k++) args[count++] = operation->args[k];
    return count;
}

static bool is_plain(const kiln__node *node) { return node->arg_count == 0 && node->op != KILN__OP_UNIFORM; }

static void count_uses(writer *out, const kiln__root *roots, uint32_t root_count) {
    for (uint32_t i = 0; i < root_count; i++) out->uses[roots[i].node]++;
    for (uint32_t i = out->count; i-- > 0 && out->w->work.status == KILN_OK;) {
        uint32_t args[KILN__MAX_PARAMETERS];
        if (!out->uses[i]) continue;
        find_call(out, i);
        const uint32_t count = arguments_of(out, i, args);
        for (uint32_t k = 0; k < count; k++) out->uses[args[k]]++;
        if (out->nodes[i].op == KILN__OP_NAME) out->read[out->nodes[i].u.name] = true;
    }
}

static const char *base_name(const writer *out, uint32_t node) {
    static const char *const bases[] = {"t", "sum", "prod", "max", "min"};
    const kiln__op op = out->nodes[node].op;
    return kiln__op_is_reduction(op) && op <= KILN__OP_REDUCE_MIN ? bases[1 + op - KILN__OP_REDUCE_SUM] : bases[0];
}

static void choose_statements(writer *out, const char *const *preferred, const kiln__root *roots, uint32_t root_count) {
    bool *is_root = alloc(out, out->count, sizeof *is_root);
    for (uint32_t i = 0; i < root_count && is_root != NULL; i++) is_root[roots[i].node] = true;
    for (uint32_t i = 0; i < out->count && out->w->work.status == KILN_OK; i++) {
        uint32_t args[KILN__MAX_PARAMETERS], deepest = 0;
        if (!out->uses[i] || is_plain(&out->nodes[i])) continue;
        const uint32_t count = arguments_of(out, i, args);
        for (uint32_t k = 0; k < count; k++)
            if (!out->names[args[k]] && out->depth[args[k]] > deepest) deepest = out->depth[args[k]];
        out->depth[i] = (uint8_t)(deepest + 1);
        if (preferred[i])
            out->names[i] = preferred[i];
        else if (out->uses[i] > 1 || (deepest + 1 >= MAX_INLINE && !is_root[i]))
            out->names[i] = kiln__rewrite_assigned(out->w, base_name(out, i), true, i);
    }
}

/* ---- formulas ---- */

static void write_value(writer *out, uint32_t node, int tightness);

static void write_float(writer *out, double value) {
    char text[40];
    if (isnan(value) || isinf(value)) {
        kiln__text_puts(&out->text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        kiln__text number = {0};
        kiln__text_printf(&number, "%.*g", digits, value);
        snprintf(text, sizeof text, "%s", number.data ? number.data : "0");
        kiln__text_free(&number);
        if (digits == 17 || kiln__float_read(text) == value) break;
    }
    kiln__text_puts(&out->text, text);
    if (text[strcspn(text, ".e")] == '\0') kiln__text_puts(&out->text, ".0");
}

static void write_literal(writer *out, const kiln__node *node, int tightness) {
    const bool negative =
        node->op != KILN__OP_BOOL && (kiln__literal_f64(node) < 0 || signbit(kiln__literal_f64(node)));
    if (negative && tightness > UNARY) kiln__text_puts(&out->text, "(");
    if (node->op == KILN__OP_FLOAT)
        write_float(out, node->u.f64);
    else if (node->op == KILN__OP_BOOL)
        kiln__text_puts(&out->text, node->u.i64 ? "true" : "false");
    else
        kiln__text_printf(&out->text, node->type == KILN__U64 ? "%" PRIu64 : "%" PRId64, node->u.i64);
    if (negative && tightness > UNARY) kiln__text_puts(&out->text, ")");
}

/* ", axes = 0" behind a call's arguments. */
static void write_domain(writer *out, uint32_t domain) {
    kiln__text *text = &out->text;
    if (domain == 0) return;
    const kiln__domain *said = &out->w->graph.domains[domain - 1];
    if (said->block) {
        kiln__text_printf(text, ", block = %" PRId64, said->block);
        return;
    }
    kiln__text_puts(text, said->all ? ", axes = all" : said->count == 1 ? ", axes = " : ", axes = (");
    for (int i = 0; i < said->count; i++) kiln__text_printf(text, "%s%d", i ? ", " : "", said->axes[i]);
    if (said->count > 1) kiln__text_puts(text, ")");
}

/* The sizes of axes, multiplied. */
static void write_sizes(writer *out, const int *axes, int count) {
    if (count > 1) kiln__text_puts(&out->text, "(");
    for (int i = 0; i < count; i++) kiln__text_printf(&out->text, "%ssize(%d)", i ? " * " : "", axes[i]);
    if (count > 1) kiln__text_puts(&out->text, ")");
}

/* How many elements a reduction over the domain meets. */
static void write_count(writer *out, uint32_t domain) {
    const kiln__gradient_request *request = out->reverse->request;
    const kiln__spans *extents = &out->w->extents;
    const kiln__domain *said = domain ? &out->w->graph.domains[domain - 1] : NULL;
    const int64_t block = said ? said->block : 0;
    int axes[KILN_MAX_RANK];
    for (int i = 0; i < extents->rank; i++) axes[i] = i;
    if (block && extents->columns > 0 && extents->columns % block == 0)
        kiln__text_printf(&out->text, "%" PRId64, block);
    else if (said && said->count)
        write_sizes(out, said->axes, said->count);
    else if (!said && request->last_axis)
        write_sizes(out, &(int){-1}, 1);
    else if (!said && !request->all_axes && request->axis_count)
        write_sizes(out, request->axes, request->axis_count);
    else if (!block && request->inputs && extents->rank)
        write_sizes(out, axes, extents->rank);
    else if (!block)
        out->w->work.status = kiln__fail(KILN_E_ARGUMENT, "the gradient counts elements along all axes of tensors that "
                                                          "are not known: expected the inputs' shapes");
    else {
        kiln__text_puts(&out->text, "sum(1");
        write_domain(out, domain);
        kiln__text_puts(&out->text, ")");
    }
}

static void write_arguments(writer *out, const kiln__node *node, uint32_t domain) {
    for (uint32_t k = 0; k < node->arg_count; k++) {
        if (k) kiln__text_puts(&out->text, ", ");
        write_value(out, node->args[k], LOOSEST);
    }
    write_domain(out, domain);
    kiln__text_puts(&out->text, ")");
}

static void write_list(writer *out, const char *name, const uint32_t *args, int count, uint32_t domain) {
    kiln__text_printf(&out->text, "%s(", name);
    for (int i = 0; i < count; i++) {
        if (i) kiln__text_puts(&out->text, ", ");
        write_value(out, args[i], LOOSEST);
    }
    write_domain(out, domain);
    kiln__text_puts(&out->text, ")");
}

/* x by the keys that its order is of. */
static void write_sort(writer *out, const kiln__node *node) {
    const kiln__node *order = &out->nodes[node->args[1]];
    const uint32_t args[] = {node->args[0], order->args[0], order->args[1]};
    write_list(out, order->op == KILN__OP_ARGSORT ? "sort_by" : "topk_by", args, 3, node->domain);
}

static bool is_same_literal(const kiln__node *a, const kiln__node *b) {
    return kiln__is_literal(a) && a->op == b->op && a->type == b->type && kiln__literal_f64(a) == kiln__literal_f64(b);
}

static void write_call(writer *out, const kiln__match *call) {
    const kiln__function *function = call->function;
    bool skipped = false, first = true;
    kiln__text_printf(&out->text, "%.*s(", (int)function->length, function->name);
    for (uint32_t p = 0; p < function->parameter_count; p++) {
        const kiln__parameter *parameter = &function->parameters[p];
        const bool is_default =
            parameter->optional && (!call->bound[p] || is_same_literal(&out->nodes[call->args[p]], &parameter->value));
        skipped |= is_default;
        if (is_default) continue;
        if (!first) kiln__text_puts(&out->text, ", ");
        first = false;
        if (skipped) kiln__text_printf(&out->text, "%.*s = ", (int)parameter->length, parameter->name);
        if (call->bound[p])
            write_value(out, call->args[p], LOOSEST);
        else
            kiln__text_puts(&out->text, "1");
    }
    if (call->reduces) write_domain(out, call->domain);
    kiln__text_puts(&out->text, ")");
}

static void write_name(writer *out, const kiln__node *node) {
    const kiln__name *name = &out->w->graph.names[node->u.name];
    if (name->repeat)
        kiln__text_printf(&out->text, "repeat(%s, %" PRId64 ")", name->text, name->repeat);
    else
        kiln__text_puts(&out->text, name->text);
}

static void write_operator(writer *out, const kiln__node *node, int tightness) {
    const int own = node->op == KILN__OP_POW ? POWER
                    : node->arg_count == 1   ? UNARY
                                             : kiln__operator_precedence(node->op);
    const char *symbol = node->op == KILN__OP_POW   ? "**"
                         : node->op == KILN__OP_NEG ? "-"
                                                    : kiln__op_describe(node->op)->symbol;
    if (own < tightness) kiln__text_puts(&out->text, "(");
    if (node->arg_count == 1) {
        kiln__text_puts(&out->text, symbol);
        write_value(out, node->args[0], UNARY);
    } else {
        const int inner = own < COMPARISON ? COMPARISON + 1 : own; /* (a < b) & (b < c), for those who know C */
        write_value(out, node->args[0], own == POWER ? TIGHTEST : inner);
        kiln__text_printf(&out->text, " %s ", symbol);
        write_value(out, node->args[1], own == POWER ? UNARY : inner + (inner == own));
    }
    if (own < tightness) kiln__text_puts(&out->text, ")");
}

/* The combine of reduce over its two parameters. */
static void write_reduce(writer *out, const kiln__node *node) {
    const kiln__reducer *reducer = &out->w->graph.reducers[node->u.reducer];
    writer inner = *out;
    inner.nodes = reducer->nodes;
    inner.count = reducer->node_count;
    inner.in_combine = true;
    kiln__text_puts(&inner.text, "reduce((a, b) -> ");
    write_value(&inner, reducer->result, LOOSEST);
    out->text = inner.text;
    kiln__text_puts(&out->text, ", ");
    write_value(out, node->args[0], LOOSEST);
    kiln__text_puts(&out->text, ", ");
    write_literal(out, &reducer->identity, LOOSEST);
    write_domain(out, node->domain);
    kiln__text_puts(&out->text, ")");
}

/* What it is called by, "" where it is not called. */
static const char *name_of(const kiln__node *node) {
    return node->op == KILN__OP_OWN ? node->u.own->name : kiln__op_describe(node->op)->name;
}

static void write_operation(writer *out, const kiln__node *node, int tightness) {
    const kiln__op_info *info = kiln__op_describe(node->op);
    kiln__text *text = &out->text;
    switch ((int)node->op) {
    case KILN__OP_FLOAT:
    case KILN__OP_INT:
    case KILN__OP_BOOL: write_literal(out, node, tightness); return;
    case KILN__OP_NAME: write_name(out, node); return;
    case KILN__OP_PARAM: kiln__text_puts(text, node->u.param ? "b" : "a"); return;
    case KILN__OP_COUNT: write_count(out, node->domain); return;
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: kiln__text_printf(text, "%s(%d)", info->symbol, (int)node->u.axis); return;
    case KILN__OP_REDUCE_USER: write_reduce(out, node); return;
    case KILN__OP_CONVERT: kiln__text_printf(text, "%s(", kiln_type_name(node->u.type)); break;
    case KILN__OP_WIDEN: kiln__text_puts(text, "float("); break;
    case KILN__OP_SORT: write_sort(out, node); return;
    case KILN__OP_ARGTOP:
    case KILN__OP_ARGSORT: kiln__text_printf(text, "%s(", info->symbol); break;
    case KILN__OP_STOCHASTIC: kiln__text_printf(text, "round_to(%s, ", kiln_type_name(node->u.storage)); break;
    default:
        if (*name_of(node) == '\0' || node->op == KILN__OP_POW || node->op == KILN__OP_NEG) {
            write_operator(out, node, tightness);
            return;
        }
        kiln__text_printf(text, "%s(", name_of(node));
    }
    write_arguments(out, node, kiln__op_runs(node->op) ? node->domain : 0);
}

static void write_value(writer *out, uint32_t node, int tightness) {
    if (out->text.size > KILN__MAX_TEXT) return; /* too long to be a program */
    if (out->nested == MAX_NESTED) {
        kiln__work_fail(&out->w->work, out->nodes[node].line, out->nodes[node].column, KILN_E_LIMIT,
                        "the combine of reduce is nested more than %d deep in a gradient", MAX_NESTED);
        return;
    }
    out->nested++;
    if (!out->in_combine && out->names[node])
        kiln__text_puts(&out->text, out->names[node]);
    else if (!out->in_combine && out->calls[node])
        write_call(out, out->calls[node]);
    else
        write_operation(out, &out->nodes[node], tightness);
    out->nested--;
}

static void write_statement(writer *out, const char *name, uint32_t node) {
    kiln__text_printf(&out->text, "%s%s = ", out->text.size ? "\n" : "", name);
    write_value(out, node, LOOSEST);
}

static void write_all(writer *out, const kiln__root *roots, uint32_t root_count) {
    for (uint32_t i = 0; i < out->count; i++) {
        const char *name = out->names[i];
        if (!name) continue;
        out->names[i] = NULL; /* its own formula is meant */
        write_statement(out, name, i);
        out->names[i] = name;
    }
    for (uint32_t i = 0; i < root_count; i++) write_statement(out, roots[i].name, roots[i].node);
}

char *kiln__program_text(kiln__reverse *reverse, const kiln__root *roots, uint32_t root_count,
                         const char *const *preferred, bool *read) {
    kiln__rewriter *w = &reverse->rewriter;
    writer out = {.reverse = reverse, .w = w, .read = read};
    out.count = w->program.nodes.count;
    out.nodes = w->program.nodes.items;
    out.calls = alloc(&out, out.count, sizeof *out.calls);
    out.uses = alloc(&out, out.count, sizeof *out.uses);
    out.depth = alloc(&out, out.count, sizeof *out.depth);
    out.names = alloc(&out, out.count, sizeof *out.names);
    if (w->work.status == KILN_OK) find_patterns(&out);
    if (w->work.status == KILN_OK) count_uses(&out, roots, root_count);
    if (w->work.status == KILN_OK) choose_statements(&out, preferred, roots, root_count);
    if (w->work.status == KILN_OK) write_all(&out, roots, root_count);
    if (w->work.status == KILN_OK) return kiln__text_take(&out.text);
    kiln__text_free(&out.text);
    return NULL;
}
