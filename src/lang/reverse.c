/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode: from the last operation to the first, each hands its gradient on to its arguments, by the rules of
 * kernel_sources/gradients.kiln. */
#include "lang/reverse.h"

#include <stdio.h>

#include "lang/pattern.h"

#define MAX_FUNCTIONS 64

/* The functions that have rules of their own. */
typedef struct functions {
    const kiln__function *list[MAX_FUNCTIONS];
    uint32_t count;
} functions;

/* ---- gradients so far ---- */

static bool same_extent(kiln__span a, kiln__span b) { return a.axes == b.axes && a.run == b.run; }

/* Of a value that several columns share the first one's, where all columns are added up. */
static uint32_t once_per_run(kiln__reverse *r, uint32_t value, int64_t run) {
    kiln__rewriter *w = &r->rewriter;
    const int32_t axis = kiln__reverse_axis(r, w->extents.block_axis);
    const uint32_t index = kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_INDEX, .u.axis = axis});
    const uint32_t columns = kiln__rewrite_literal(w, kiln__literal_int(run));
    const uint32_t zero = kiln__rewrite_literal(w, kiln__literal_int(0));
    const uint32_t place =
        kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_MOD, .arg_count = 2, .args = {index, columns}});
    const uint32_t first = kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_EQ, .arg_count = 2, .args = {place, zero}});
    return kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {first, value, zero}});
}

static bool has_blocks_axis(const kiln__reverse *r, kiln__span extent) {
    const int axis = r->rewriter.extents.block_axis;
    return axis >= 0 && (extent.axes >> axis & 1);
}

/* Adds up over the axes. */
static void sum_axes(kiln__reverse *r, uint32_t axes, kiln__adjoint *g) {
    kiln__rewriter *w = &r->rewriter;
    if (g->extent.run && w->extents.block_axis >= 0 && (axes >> w->extents.block_axis & 1)) {
        g->node = once_per_run(r, g->node, g->extent.run);
        g->extent.run = 0;
    }
    g->node = kiln__simplify_sum(w, g->node, kiln__rewrite_axes(w, axes));
    g->extent.axes &= ~axes;
}

/* Adds up over whole rows, and over blocks: what has been made of these sums is cheaper than what they are sums of. */
static void sum_rows(kiln__reverse *r, uint32_t node, kiln__adjoint *g) {
    kiln__rewriter *w = &r->rewriter;
    const kiln__span target = r->of[node];
    const uint32_t row = w->extents.row;
    const bool all = !target.axes && !r->reduces[node] && (g->extent.axes & ~row); /* in one go, at the end */
    if (row && (g->extent.axes & row) == row && !(target.axes & row) && !all) sum_axes(r, row, g);
    if (!has_blocks_axis(r, target) || !target.run || target.run == g->extent.run) return;
    if (g->extent.run) g->node = once_per_run(r, g->node, g->extent.run);
    g->node = kiln__simplify_sum(w, g->node, kiln__rewrite_block(w, target.run));
    g->extent.run = target.run;
}

void kiln__reverse_add(kiln__reverse *r, uint32_t node, uint32_t value, kiln__span extent) {
    kiln__rewriter *w = &r->rewriter;
    kiln__adjoints *so_far = &r->adjoints[node];
    kiln__adjoint g = {value, extent};
    if (w->work.status != KILN_OK || !r->active[node]) return;
    const kiln__node *literal = kiln__rewritten(w, value);
    if (kiln__is_literal(literal) && kiln__literal_f64(literal) == 0) return;
    sum_rows(r, node, &g);
    for (uint32_t i = 0; i < so_far->count; i++) {
        kiln__adjoint *other = &so_far->list[i];
        if (!same_extent(other->extent, g.extent)) continue;
        other->node = kiln__simplify_op(w, KILN__OP_ADD, other->node, g.node);
        return;
    }
    if (so_far->count == KILN__MAX_ADJOINTS) {
        const uint32_t axes = g.extent.axes & ~r->of[node].axes;
        if (axes) sum_axes(r, axes, &g);
        so_far->list[0].node = kiln__simplify_op(w, KILN__OP_ADD, so_far->list[0].node, g.node);
        return;
    }
    so_far->list[so_far->count++] = g;
}

/* ---- rules ---- */

static const char *rule_name(const kiln__node *node) {
    switch ((int)node->op) {
    case KILN__OP_ADD: return "add";
    case KILN__OP_SUB: return "sub";
    case KILN__OP_MUL: return "mul";
    case KILN__OP_DIV: return "div";
    case KILN__OP_MOD: return "mod";
    case KILN__OP_SORT: return "_by";
    case KILN__OP_CONVERT:
    case KILN__OP_WIDEN: return "conversion";
    default: return kiln__op_describe(node->op)->name;
    }
}

static const kiln__function *find_rule(kiln__reverse *r, uint32_t param, const char *name, size_t length) {
    char rule[KILN__MAX_NAME + 16];
    snprintf(rule, sizeof rule, "_d%u_%.*s", param, (int)length, name);
    return kiln__rewrite_function(&r->rewriter, rule);
}

static void refuse(kiln__reverse *r, const kiln__node *node, const char *why) {
    const char *name = node->op == KILN__OP_SORT ? "topk" : kiln__op_describe(node->op)->symbol;
    if (node->op == KILN__OP_OWN) name = node->u.own->name;
    kiln__work_fail(&r->rewriter.work, node->line, node->column, KILN_E_UNSUPPORTED, "'%s' has no gradient here: %s",
                    name, why);
}

static void refuse_operation(kiln__reverse *r, const kiln__node *node) {
    switch ((int)node->op) {
    case KILN__OP_GATHER:
        refuse(r, node,
               "it would add to places that an index names; expected take(x, i), or where(index(-1) == i, x, 0)");
        break;
    case KILN__OP_CUMPROD:
    case KILN__OP_CUMMAX:
    case KILN__OP_CUMMIN: refuse(r, node, "expected cumsum, or a program for its gradient of your own"); break;
    case KILN__OP_SORT: refuse(r, node, "it is of the largest alone; expected sort"); break;
    case KILN__OP_OWN:
        refuse(r, node, "it is a device function; expected a program for its gradient of your own");
        break;
    case KILN__OP_FIRST: refuse(r, node, "that of fewer columns is no input beside the others"); break;
    case KILN__OP_ROWS: refuse(r, node, "it would add to rows of a table that an index names"); break;
    case KILN__OP_REDUCE_USER:
        refuse(r, node, "the slope of its combine is not known; expected sum, prod, max, min and what is made of them");
        break;
    default: refuse(r, node, "its slope is no function of the language"); break;
    }
}

/* Over how much the rule's value is to be added up: a reduction, or a call that comes to one, gives its gradient to
 * each element. */
static kiln__span reach(const kiln__reverse *r, kiln__span extent, uint32_t domain) {
    const kiln__span all = {.axes = kiln__domain_axes(&r->rewriter.extents, domain)};
    return kiln__span_union(&r->rewriter.extents, extent, all);
}

/* A call that has a value for each column, one for several by chance, is differentiated column by column: each has its
 * share of their gradient. */
static kiln__adjoint share_run(kiln__reverse *r, kiln__adjoint g, uint32_t domain) {
    kiln__rewriter *w = &r->rewriter;
    if (!g.extent.run || !has_blocks_axis(r, (kiln__span){.axes = kiln__domain_axes(&w->extents, domain)})) return g;
    const kiln__node count = {.op = KILN__OP_COUNT, .domain = kiln__rewrite_block(w, g.extent.run)};
    g.node = kiln__simplify_op(w, KILN__OP_DIV, g.node, kiln__rewrite_add(w, count));
    g.extent.run = 0;
    return g;
}

/* A function or an operator whose result has gradients. args: its arguments, then the result; a place is left for the
 * gradient. */
typedef struct application {
    uint32_t node, domain;
    bool reduces, in_columns; /* it has reductions, over the domain; and a value for each column all the same */
    uint32_t args[KILN__MAX_PARAMETERS + 2];
} application;

/* What they add to an argument's. */
static void apply_rule(kiln__reverse *r, const kiln__function *rule, application *a, uint32_t arg) {
    const kiln__adjoints adjoints = r->adjoints[a->node];
    for (uint32_t i = 0; i < adjoints.count && r->rewriter.work.status == KILN_OK; i++) {
        kiln__adjoint g = adjoints.list[i];
        if (a->reduces && a->in_columns) g = share_run(r, g, a->domain);
        a->args[rule->parameter_count - 1] = g.node;
        if (a->reduces && !a->in_columns) g.extent = reach(r, g.extent, a->domain);
        kiln__reverse_add(r, arg, kiln__rewrite_call(&r->rewriter, rule, a->args, a->domain), g.extent);
    }
}

/* take(x, i) at column i, counted through all axes of a row. */
static void apply_take(kiln__reverse *r, uint32_t at) {
    kiln__rewriter *w = &r->rewriter;
    const kiln__node *node = &r->from->nodes[at];
    const uint32_t zero = kiln__rewrite_literal(w, kiln__literal_int(0));
    uint32_t column = zero;
    for (int axis = 0; axis < w->extents.rank; axis++) {
        if (!(w->extents.row >> axis & 1)) continue;
        const kiln__node index = {.op = KILN__OP_INDEX, .u.axis = kiln__reverse_axis(r, axis)};
        const kiln__node size = {.op = KILN__OP_SIZE, .u.axis = index.u.axis};
        if (column != zero) column = kiln__simplify_op(w, KILN__OP_MUL, column, kiln__rewrite_add(w, size));
        column = kiln__simplify_op(w, KILN__OP_ADD, column, kiln__rewrite_add(w, index));
    }
    const uint32_t is_there = kiln__simplify_op(w, KILN__OP_EQ, column, r->copies[node->args[1]]);
    for (uint32_t i = 0; i < r->adjoints[at].count && w->work.status == KILN_OK; i++) {
        const kiln__adjoint g = r->adjoints[at].list[i];
        const kiln__node choice = {.op = KILN__OP_WHERE, .arg_count = 3, .args = {is_there, g.node, zero}};
        const kiln__span row = {.axes = w->extents.row};
        kiln__reverse_add(r, node->args[0], kiln__simplify(w, choice), kiln__span_union(&w->extents, g.extent, row));
    }
}

/* ---- calls ---- */

/* The functions of the rules' names, in the order of the file. */
static void find_functions(kiln__reverse *r, functions *out) {
    const char *last = "";
    size_t last_length = 0;
    for (const kiln__function *f = r->rewriter.parser.functions; f != NULL; f = f->next) {
        const bool rule = f->length > 4 && f->name[0] == '_' && f->name[1] == 'd' && f->name[3] == '_' &&
                          f->name[2] >= '0' && f->name[2] <= '9';
        char name[KILN__MAX_NAME + 1];
        if (!rule || f->length - 4 > KILN__MAX_NAME || out->count == MAX_FUNCTIONS) continue;
        const bool again = last_length == f->length - 4 && memcmp(last, f->name + 4, last_length) == 0;
        last = f->name + 4;
        last_length = f->length - 4;
        if (again || kiln__op_find(last, last_length) != KILN__OP_COUNT_OF) continue;
        snprintf(name, sizeof name, "%.*s", (int)last_length, last);
        const kiln__function *function = kiln__rewrite_function(&r->rewriter, name);
        if (function != NULL) out->list[out->count++] = function;
    }
}

/* Positions in it are along one axis. */
static bool has_positions(const kiln__function *function) {
    for (uint32_t i = 0; i < function->nodes.count; i++)
        if (function->nodes.items[i].op == KILN__OP_INDEX) return true;
    return false;
}

/* A call that the node is, with a rule for each argument that a gradient is asked of. */
static bool find_call(kiln__reverse *r, const functions *all, uint32_t node, kiln__match *match) {
    for (uint32_t f = 0; f < all->count; f++) {
        const kiln__function *function = all->list[f];
        const kiln__pattern pattern = {function, function->nodes.items, function->nodes.count, function->result};
        bool ruled = kiln__pattern_match(&pattern, r->from->nodes, node, match);
        const uint32_t axes = ruled ? kiln__domain_axes(&r->rewriter.extents, match->domain) : 0;
        if ((axes & (axes - 1)) && has_positions(function)) ruled = false;
        for (uint32_t p = 0; p < function->parameter_count && ruled; p++)
            if (match->bound[p] && r->active[match->args[p]])
                ruled = find_rule(r, p, function->name, function->length) != NULL;
        if (ruled) return true;
    }
    return false;
}

/* Whether the parameter shows in the function's value outside of reductions. */
static bool has_columns(const kiln__function *function, uint32_t param) {
    bool shows[KILN__MAX_PATTERN] = {false};
    for (uint32_t i = 0; i < function->nodes.count && i < KILN__MAX_PATTERN; i++) {
        const kiln__node *node = &function->nodes.items[i];
        shows[i] = node->op == KILN__OP_PARAM && node->u.param == param;
        for (uint32_t k = 0; k < node->arg_count && !kiln__op_is_reduction(node->op); k++)
            shows[i] |= node->op != KILN__OP_IS_WIDE && shows[node->args[k]];
    }
    return shows[function->result];
}

static void go_through_call(kiln__reverse *r, uint32_t node, const kiln__match *match) {
    const kiln__function *function = match->function;
    application a = {node, match->domain, match->reduces, false, {0}};
    for (uint32_t p = 0; p < function->parameter_count; p++)
        a.args[p] = match->bound[p] ? r->copies[match->args[p]] : 0;
    a.args[function->parameter_count] = r->copies[node];
    for (uint32_t p = 0; p < function->parameter_count; p++) {
        if (!match->bound[p] || !r->active[match->args[p]]) continue;
        const kiln__function *rule = find_rule(r, p, function->name, function->length);
        a.in_columns = has_columns(function, p);
        if (rule != NULL) apply_rule(r, rule, &a, match->args[p]);
    }
}

/* Of what is in order all columns are. */
static bool has_rule(const kiln__reverse *r, const kiln__node *node) {
    return node->op != KILN__OP_SORT || r->from->nodes[node->args[1]].op == KILN__OP_ARGSORT;
}

static void go_through_operation(kiln__reverse *r, uint32_t at) {
    const kiln__node *node = &r->from->nodes[at];
    const char *name = rule_name(node);
    application a = {at, node->domain, kiln__op_runs(node->op), false, {0}};
    for (uint32_t k = 0; k < node->arg_count; k++) a.args[k] = r->copies[node->args[k]];
    a.args[node->arg_count] = r->copies[at];
    for (uint32_t k = 0; k < node->arg_count && r->rewriter.work.status == KILN_OK; k++) {
        if (!r->active[node->args[k]]) continue;
        const kiln__function *rule = has_rule(r, node) ? find_rule(r, k, name, strlen(name)) : NULL;
        if (rule != NULL)
            apply_rule(r, rule, &a, node->args[k]);
        else if (node->op == KILN__OP_TAKE && k == 0)
            apply_take(r, at);
        else if (kiln__reverse_flows(node, k))
            refuse_operation(r, node);
    }
}

void kiln__reverse_run(kiln__reverse *r) {
    functions all = {.count = 0};
    find_functions(r, &all);
    for (uint32_t i = r->from->node_count; i-- > 0 && r->rewriter.work.status == KILN_OK;) {
        const kiln__node *node = &r->from->nodes[i];
        kiln__match match;
        if (!r->adjoints[i].count || node->op == KILN__OP_NAME) continue;
        r->rewriter.place = (kiln__token){.line = node->line, .column = node->column};
        if (find_call(r, &all, i, &match))
            go_through_call(r, i, &match);
        else
            go_through_operation(r, i);
    }
}

/* ---- results ---- */

static uint32_t broadcast(kiln__reverse *r, uint32_t leaf, uint32_t value) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t test = kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_ISNAN, .arg_count = 1, .args = {leaf}});
    return kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {test, value, value}});
}

/* The value where it does not show all that the name's tensor has: for each element of that. */
static uint32_t expand(kiln__reverse *r, uint32_t leaf, kiln__span extent, uint32_t value) {
    kiln__rewriter *w = &r->rewriter;
    const kiln__span has = w->shown[value];
    const bool shows =
        (has.axes & extent.axes) == extent.axes && (!has_blocks_axis(r, extent) || has.run == extent.run);
    if (shows || !extent.axes) return value;
    return broadcast(r, leaf, value);
}

/* A value of the row for each column that the extent has, as what all rows come to is asked for: by a choice that each
 * column makes, since an expansion alone would be the row's value again. */
static uint32_t spread(kiln__reverse *r, kiln__span extent, uint32_t value) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t zero = kiln__rewrite_literal(w, kiln__literal_int(0));
    for (int axis = 0; axis < w->extents.rank && w->work.status == KILN_OK; axis++) {
        if (!((extent.axes & w->extents.row & ~w->of[value].axes) >> axis & 1)) continue;
        const kiln__node index = {.op = KILN__OP_INDEX, .u.axis = kiln__reverse_axis(r, axis)};
        const uint32_t there = kiln__simplify_op(w, KILN__OP_GE, kiln__rewrite_add(w, index), zero);
        value = kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {there, value, zero}});
    }
    return value;
}

/* The axes that tensors have which the values need. */
static uint32_t shown_axes(kiln__reverse *r, const uint32_t *values, uint32_t count) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t nodes = w->program.nodes.count;
    uint32_t axes = 0;
    bool *needed = kiln__work_alloc(&w->work, &w->work.scratch, nodes + 1, sizeof *needed);
    if (needed == NULL) return 0;
    for (uint32_t i = 0; i < count; i++) needed[values[i]] = true;
    kiln__nodes_need(w->program.nodes.items, nodes, needed);
    for (uint32_t i = 0; i < nodes; i++)
        if (needed[i] && kiln__rewritten(w, i)->op == KILN__OP_NAME) axes |= w->shown[i].axes;
    return axes;
}

/* Blocks and columns are those of rows: of the program's rows, where something is still reduced over these, or nothing
 * over others. */
void kiln__reverse_check_rows(kiln__reverse *r, const uint32_t *values, uint32_t count) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t nodes = w->program.nodes.count;
    bool *needed = kiln__work_alloc(&w->work, &w->work.scratch, nodes + 1, sizeof *needed);
    bool others = false, rows = false, blocks = false, places = false;
    if (needed == NULL) return;
    for (uint32_t i = 0; i < count; i++) needed[values[i]] = true;
    kiln__nodes_need(w->program.nodes.items, nodes, needed);
    for (uint32_t i = 0; i < nodes; i++) {
        const kiln__node *node = kiln__rewritten(w, i);
        if (!needed[i]) continue;
        const bool block = kiln__op_runs(node->op) && kiln__domain_block(&w->extents, node->domain);
        blocks |= block || (node->op == KILN__OP_NAME && w->graph.names[node->u.name].repeat);
        places |= node->op == KILN__OP_TAKE || node->op == KILN__OP_GATHER;
        if (!kiln__op_runs(node->op) || block) continue;
        const bool row = kiln__domain_axes(&w->extents, node->domain) == w->extents.row;
        rows |= row;
        others |= !row;
    }
    if (others && (blocks || (places && !rows)))
        w->work.status = kiln__fail(KILN_E_UNSUPPORTED, "the gradient has sums across rows beside blocks or columns of "
                                                        "rows: expected to be asked for one of them");
}

void kiln__reverse_keep_space(kiln__reverse *r, uint32_t *values, uint32_t count) {
    kiln__rewriter *w = &r->rewriter;
    if (w->work.status != KILN_OK || count == 0) return;
    const uint32_t shown = shown_axes(r, values, count), row = w->extents.row;
    for (uint32_t i = 0; i < r->signature->input_count && w->work.status == KILN_OK; i++) {
        const uint32_t name = r->signature->inputs[i], leaf = r->from->names[name].node;
        if (!(w->extents.names[name].axes & row & ~shown)) continue;
        const uint32_t none = broadcast(r, r->copies[leaf], kiln__rewrite_literal(w, kiln__literal_int(0)));
        const kiln__node sum = {
            .op = KILN__OP_REDUCE_SUM, .arg_count = 1, .args = {none}, .domain = w->extents.row_domain};
        values[0] = kiln__simplify_op(w, KILN__OP_ADD, values[0], kiln__rewrite_add(w, sum));
        return;
    }
}

/* Adds up, at last, what a name has less axes for. */
static void sum_rest(kiln__reverse *r, uint32_t name, kiln__span extent, kiln__adjoint *g) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t axes = g->extent.axes & ~extent.axes;
    if (axes == 0) return;
    if (r->request->inputs == NULL && axes != w->extents.row && axes != w->extents.all) {
        w->work.status = kiln__fail(KILN_E_ARGUMENT,
                                    "the gradient of '%s' is summed over axes of tensors that are not "
                                    "known: expected the inputs' shapes",
                                    r->from->names[name].text);
        return;
    }
    if (axes != w->extents.row) g->node = spread(r, extent, g->node);
    sum_axes(r, axes, g);
}

uint32_t kiln__reverse_result(kiln__reverse *r, uint32_t name) {
    kiln__rewriter *w = &r->rewriter;
    const uint32_t leaf = r->from->names[name].node;
    const kiln__span extent = r->of[leaf];
    uint32_t total = kiln__rewrite_literal(w, kiln__literal_int(0));
    for (uint32_t i = 0; i < r->adjoints[leaf].count && w->work.status == KILN_OK; i++) {
        kiln__adjoint g = r->adjoints[leaf].list[i];
        sum_rest(r, name, extent, &g);
        if (w->work.status != KILN_OK) return 0;
        total = kiln__simplify_op(w, KILN__OP_ADD, total, g.node);
    }
    if (w->work.status != KILN_OK) return 0;
    return expand(r, r->copies[leaf], extent, total);
}
