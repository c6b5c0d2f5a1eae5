/* SPDX-License-Identifier: Apache-2.0 */
/* Before a gradient is derived: what it is asked for, what depends on it, along which axes everything varies, and the
 * program's own operations in the new graph. */
#include "lang/dependence.h"
#include "lang/reverse.h"

#include <stdio.h>

static void *alloc(kiln__reverse *r, size_t count, size_t size) {
    return kiln__work_alloc(&r->rewriter.work, &r->rewriter.work.scratch, count + 1, size);
}

static void fail(kiln__reverse *r, kiln_status status) { r->rewriter.work.status = status; }

static int input_of(const kiln__signature *signature, uint32_t name) {
    for (uint32_t i = 0; i < signature->input_count; i++)
        if (signature->inputs[i] == name) return (int)i;
    return -1;
}

static bool has_float_type(const kiln__reverse *r, uint32_t name) {
    const int input = input_of(r->signature, name);
    return input >= 0 && r->request->inputs && kiln__type_is_float(r->request->inputs[input].type);
}

static bool has_integer_type(const kiln__reverse *r, uint32_t name) {
    const int input = input_of(r->signature, name);
    return input >= 0 && r->request->inputs && !kiln__type_is_float(r->request->inputs[input].type);
}

/* ---- what is asked for ---- */

static bool is_output(const kiln__signature *signature, uint32_t name) {
    for (uint32_t o = 0; o < signature->output_count; o++)
        if (signature->outputs[o] == name) return true;
    return false;
}

/* The name of a list, which is one of the inputs and scalars, or of the outputs. */
static int find_listed(kiln__reverse *r, const char *at, size_t length, bool outputs) {
    const int name = kiln__graph_find(r->from, at, length);
    const bool fits = name >= 0 && (outputs ? is_output(r->signature, (uint32_t)name) : !r->from->names[name].assigned);
    if (fits) return name;
    fail(r, kiln__fail_name(KILN_E_NAME, at, length, "'%.*s' is asked for in '%.200s': expected %s of the program",
                            length > KILN__MAX_NAME ? KILN__MAX_NAME : (int)length, at,
                            outputs ? r->request->saved : r->request->wrt, outputs ? "outputs" : "inputs and scalars"));
    return -1;
}

static void add_wrt(kiln__reverse *r, uint32_t name) {
    if (r->wanted[name]) return;
    r->wanted[name] = true;
    r->wrt[r->wrt_count++] = name;
    if (!has_integer_type(r, name)) return;
    fail(r,
         kiln__fail(KILN_E_TYPE, "input '%s' has type %s: expected a floating type for what has a gradient",
                    r->from->names[name].text, kiln_type_name(r->request->inputs[input_of(r->signature, name)].type)));
}

/* Which elements equal a maximum is asked in its gradient: an output that is rounded may equal none. */
static bool is_compared(const kiln__reverse *r, int name) {
    const kiln__op op = r->from->nodes[r->from->names[name].node].op;
    return op == KILN__OP_REDUCE_MAX || op == KILN__OP_REDUCE_MIN;
}

static void read_list(kiln__reverse *r, const char *list, bool outputs) {
    for (const char *at = list; at != NULL && r->rewriter.work.status == KILN_OK;) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, ", ");
        const int name = find_listed(r, at, length, outputs);
        if (name >= 0 && outputs)
            r->saved[name] = !is_compared(r, name);
        else if (name >= 0)
            add_wrt(r, (uint32_t)name);
        at += length + strspn(at + length, " ");
        at = *at == ',' ? at + 1 : NULL;
    }
}

/* Of tables, and of what is no float, there is no gradient: without a list they are left out. */
static bool may_be_wanted(const kiln__reverse *r, uint32_t name) {
    for (uint32_t i = 0; i < r->from->node_count; i++) {
        const kiln__node *node = &r->from->nodes[i];
        if (node->op == KILN__OP_ROWS && node->args[0] == r->from->names[name].node) return false;
    }
    return !r->request->inputs || has_float_type(r, name);
}

static void read_lists(kiln__reverse *r) {
    const char *wrt = r->request->wrt;
    read_list(r, r->request->saved, true);
    if (wrt != NULL) read_list(r, wrt, false);
    for (uint32_t i = 0; i < r->signature->input_count && wrt == NULL; i++)
        if (may_be_wanted(r, r->signature->inputs[i])) add_wrt(r, r->signature->inputs[i]);
}

/* ---- axes ---- */

static void reach_axis(int axis, int *rank) {
    const int reached = axis < 0 ? -axis : axis + 1;
    if (reached > *rank) *rank = reached;
}

/* Of the tensors; without them the least with all axes that are named, of a matrix at least. */
static int find_rank(const kiln__reverse *r) {
    int rank = r->request->inputs ? 0 : 2;
    for (uint32_t i = 0; i < r->signature->input_count && r->request->inputs; i++)
        if (r->request->inputs[i].rank > rank) rank = r->request->inputs[i].rank;
    if (r->request->inputs) return rank;
    for (int i = 0; i < r->request->axis_count; i++) reach_axis(r->request->axes[i], &rank);
    for (uint32_t d = 0; d < r->from->domain_count; d++)
        for (int i = 0; i < r->from->domains[d].count; i++) reach_axis(r->from->domains[d].axes[i], &rank);
    for (uint32_t i = 0; i < r->from->node_count; i++) {
        const kiln__node *node = &r->from->nodes[i];
        if (node->op == KILN__OP_INDEX || node->op == KILN__OP_SIZE) reach_axis(node->u.axis, &rank);
    }
    return rank > KILN_MAX_RANK ? KILN_MAX_RANK : rank;
}

static uint32_t program_axes(const kiln__reverse *r, const kiln__spans *extents) {
    uint32_t axes = 0;
    if (r->request->all_axes) return extents->all;
    if (r->request->last_axis) return extents->rank ? (uint32_t)1 << (extents->rank - 1) : 0;
    for (int i = 0; i < r->request->axis_count; i++) {
        const int axis = kiln__axis_of(extents, r->request->axes[i]);
        if (axis >= 0) axes |= (uint32_t)1 << axis;
    }
    return axes;
}

/* Rows are of the program's axes, unless all reductions say the same ones. */
static void find_rows(kiln__reverse *r, kiln__spans *extents) {
    bool program = false, several = false;
    extents->program = extents->row = program_axes(r, extents);
    for (uint32_t i = 0; i < r->from->node_count; i++) {
        const kiln__node *node = &r->from->nodes[i];
        if (!r->needed[i]) continue;
        extents->has_rows |= node->op == KILN__OP_TAKE || node->op == KILN__OP_GATHER;
        extents->reduces |= kiln__op_runs(node->op) || extents->has_rows;
        if (!kiln__op_runs(node->op)) continue;
        const int64_t block = kiln__domain_block(extents, node->domain);
        if (block > extents->largest_block) extents->largest_block = block;
        program |= node->domain == 0;
        if (block || node->domain == 0) continue;
        several |= extents->row_domain && extents->row_domain != node->domain;
        extents->row_domain = node->domain;
    }
    extents->has_rows |= program || extents->row_domain;
    if (program || several) extents->row_domain = 0;
    if (extents->row_domain) extents->row = kiln__domain_axes(extents, extents->row_domain);
    extents->block_axis = -1;
    for (int axis = 0; axis < extents->rank; axis++)
        if (extents->row >> axis & 1) extents->block_axis = axis;
}

int32_t kiln__reverse_axis(const kiln__reverse *r, int axis) {
    for (int i = 0; i < r->request->axis_count && !r->request->inputs; i++)
        if (kiln__axis_of(&r->rewriter.extents, r->request->axes[i]) == axis) return r->request->axes[i];
    return axis - r->rewriter.extents.rank;
}

/* ---- extents of names ---- */

/* The largest size along an axis; -1 is any. */
static int64_t size_along(const kiln__reverse *r, int axis) {
    int64_t largest = 1;
    for (uint32_t i = 0; i < r->signature->input_count; i++) {
        const kiln_tensor *tensor = &r->request->inputs[i];
        const int at = axis - (r->rewriter.extents.rank - tensor->rank);
        if (at >= 0 && (tensor->sizes[at] > largest || tensor->sizes[at] < 0)) largest = tensor->sizes[at];
        if (largest < 0) break;
    }
    return largest;
}

static bool is_table(const kiln__reverse *r, uint32_t name) {
    for (uint32_t i = 0; i < r->from->node_count; i++)
        if (r->from->nodes[i].op == KILN__OP_ROWS && r->from->nodes[i].args[0] == r->from->names[name].node)
            return true;
    return false;
}

/* Whether it is the index of a take or of rows, of which a row has one. */
static bool is_index(const kiln__reverse *r, uint32_t name) {
    for (uint32_t i = 0; i < r->from->node_count; i++) {
        const kiln__node *node = &r->from->nodes[i];
        const bool indexed = node->op == KILN__OP_TAKE || node->op == KILN__OP_ROWS;
        if (indexed && node->args[1] == r->from->names[name].node) return true;
    }
    return false;
}

/* Where the whole space has one element, each tensor that has the axis counts as varying along it. */
static kiln__span extent_of_input(const kiln__reverse *r, uint32_t input) {
    const kiln__spans *extents = &r->rewriter.extents;
    const uint32_t name = r->signature->inputs[input];
    kiln__span extent = {.axes = extents->all};
    int rank = extents->rank;
    if (r->request->inputs) {
        const kiln_tensor *tensor = &r->request->inputs[input];
        extent.axes = 0;
        rank = tensor->rank;
        for (int i = 0; i < rank; i++) {
            const int axis = extents->rank - rank + i;
            if (tensor->sizes[i] != 1 || size_along(r, axis) == 1) extent.axes |= (uint32_t)1 << axis;
        }
    }
    if (!r->request->inputs && is_index(r, name)) extent.axes &= ~extents->row;
    if (is_table(r, name) && rank) extent.axes &= ~((uint32_t)1 << (extents->rank - rank));
    if (extents->block_axis >= 0 && (extent.axes >> extents->block_axis & 1)) extent.run = r->from->names[name].repeat;
    return extent;
}

static void set_extents(kiln__reverse *r) {
    kiln__spans *extents = &r->rewriter.extents;
    extents->rank = find_rank(r);
    extents->all = ((uint32_t)1 << extents->rank) - 1;
    find_rows(r, extents);
    for (uint32_t i = 0; i < r->signature->input_count; i++)
        extents->names[r->signature->inputs[i]] = extent_of_input(r, i);
    if (r->request->inputs && extents->block_axis >= 0) extents->columns = size_along(r, extents->block_axis);
}

/* ---- the program's operations ---- */

/* Functions with steps. */
static bool is_step(kiln__op op) {
    switch ((int)op) {
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_TRUNC:
    case KILN__OP_ROUND:
    case KILN__OP_SIGN:
    case KILN__OP_DIV_FLOOR:
    case KILN__OP_DIV_TRUNC: return true;
    default: return false;
    }
}

static bool gives_no_float(kiln__op op) {
    switch (kiln__op_describe(op)->rule) {
    case KILN__RULE_FTEST:
    case KILN__RULE_COMPARE:
    case KILN__RULE_LOGIC:
    case KILN__RULE_INT:
    case KILN__RULE_SHIFT:
    case KILN__RULE_RLOGIC:
    case KILN__RULE_RINDEX: return true;
    default: return op == KILN__OP_IS_WIDE || op == KILN__OP_ARGSORT || op == KILN__OP_ARGTOP;
    }
}

bool kiln__reverse_flows(const kiln__node *node, uint32_t k) {
    switch ((int)node->op) {
    case KILN__OP_UNIFORM: return false;
    case KILN__OP_CONVERT: return kiln__type_is_float(node->u.type);
    case KILN__OP_WHERE: return k > 0;
    case KILN__OP_TAKE:
    case KILN__OP_GATHER:
    case KILN__OP_ROWS:
    case KILN__OP_REDUCE_KTH:
    case KILN__OP_SORT:
    case KILN__OP_STOCHASTIC: return k == 0;
    default: return !is_step(node->op) && !gives_no_float(node->op);
    }
}

static void find_node(kiln__reverse *r, uint32_t i) {
    const kiln__node *node = &r->from->nodes[i];
    const kiln__spans *extents = &r->rewriter.extents;
    kiln__span args[3] = {{0}};
    bool floats[3] = {false};
    for (uint32_t k = 0; k < node->arg_count; k++) {
        const uint32_t arg = node->args[k];
        args[k] = r->of[arg];
        floats[k] = r->is_float[arg];
        r->active[i] |= r->active[arg] && kiln__reverse_flows(node, k);
        r->across[i] |= r->across[arg];
        r->reduces[i] |= r->reduces[arg];
        r->in_columns[i] |= r->in_columns[arg];
    }
    r->of[i] = kiln__span_of(extents, node, args);
    r->is_float[i] = kiln__node_is_float(node, floats);
    if (node->op == KILN__OP_NAME) {
        r->active[i] = r->wanted[node->u.name];
        r->is_float[i] = r->active[i] || has_float_type(r, node->u.name);
    }
    if (node->arg_count == 0) r->in_columns[i] = node->op != KILN__OP_COUNT && (r->of[i].axes & extents->row) != 0;
    const bool of_row = kiln__op_is_reduction(node->op) || node->op == KILN__OP_TAKE;
    if (of_row || kiln__op_runs_along(node->op)) r->in_columns[i] = kiln__op_runs_along(node->op);
    r->reduces[i] |= of_row;
    if (kiln__op_is_reduction(node->op))
        r->across[i] = !kiln__domain_block(extents, node->domain) && node->domain != extents->row_domain &&
                       kiln__domain_axes(extents, node->domain) != extents->row;
}

/* Of literals: 1 - 0.1. */
static bool is_arithmetic(const kiln__rewriter *w, const kiln__node *node) {
    bool literal = node->op == KILN__OP_NEG || (kiln__operator_precedence(node->op) > 8 && node->op != KILN__OP_MOD);
    for (uint32_t k = 0; k < node->arg_count; k++)
        literal = literal && kiln__is_literal(kiln__rewritten(w, node->args[k]));
    return literal;
}

/* What a gradient goes through is of floats, and simplified. */
static uint32_t copy_node(kiln__reverse *r, uint32_t i) {
    kiln__node node = r->from->nodes[i];
    kiln__rewriter *w = &r->rewriter;
    for (uint32_t k = 0; k < node.arg_count; k++) node.args[k] = r->copies[node.args[k]];
    w->place = (kiln__token){.line = node.line, .column = node.column};
    if (node.op == KILN__OP_NAME) {
        const uint32_t name = kiln__rewrite_add(w, node);
        if (w->work.status == KILN_OK) w->is_float[name] = r->is_float[i];
        return name;
    }
    const bool asks_type = node.op == KILN__OP_IS_WIDE && r->active[r->from->nodes[i].args[0]];
    if (asks_type || r->active[i]) return kiln__simplify(w, node);
    const bool constant = is_arithmetic(w, &node);
    const uint32_t copy = constant ? kiln__simplify(w, node) : kiln__rewrite_add(w, node);
    if (w->work.status == KILN_OK) w->is_whole[copy] = true;
    return copy;
}

/* An output that the gradient reads stands for itself. */
static uint32_t read_saved(kiln__reverse *r, uint32_t i, uint32_t copy) {
    for (uint32_t name = 0; name < r->from->name_count; name++) {
        if (!r->saved[name] || r->from->names[name].node != i) continue;
        r->rewriter.extents.names[name] = r->of[i];
        r->rewriter.graph.names[name].assigned = false;
        r->rewriter.graph.names[name].repeat = r->of[i].run;
        copy = kiln__rewrite_add(&r->rewriter, (kiln__node){.op = KILN__OP_NAME, .u.name = name});
        if (r->rewriter.work.status == KILN_OK) r->rewriter.is_float[copy] = true;
    }
    return copy;
}

void kiln__reverse_set_up(kiln__reverse *r) {
    const uint32_t nodes = r->from->node_count;
    r->wanted = alloc(r, r->from->name_count, sizeof *r->wanted);
    r->saved = alloc(r, r->from->name_count, sizeof *r->saved);
    r->needed = alloc(r, nodes, sizeof *r->needed);
    r->active = alloc(r, nodes, sizeof *r->active);
    r->is_float = alloc(r, nodes, sizeof *r->is_float);
    r->across = alloc(r, nodes, sizeof *r->across);
    r->reduces = alloc(r, nodes, sizeof *r->reduces);
    r->in_columns = alloc(r, nodes, sizeof *r->in_columns);
    r->of = alloc(r, nodes, sizeof *r->of);
    r->copies = alloc(r, nodes, sizeof *r->copies);
    r->adjoints = alloc(r, nodes, sizeof *r->adjoints);
    if (r->rewriter.work.status == KILN_OK) read_lists(r);
    if (r->rewriter.work.status != KILN_OK) return;
    if (r->from->length || r->from->offsets) {
        const kiln__node *length = &r->from->nodes[(r->from->offsets ? r->from->offsets : r->from->length) - 1];
        kiln__work_fail(
            &r->rewriter.work, length->line, length->column, KILN_E_UNSUPPORTED,
            "programs with lengths or offsets have no gradient here: differentiate the program without them");
        return;
    }
    kiln__outputs_mark(r->from, r->signature, r->needed);
    kiln__nodes_need(r->from->nodes, nodes, r->needed);
    set_extents(r);
    for (uint32_t i = 0; i < nodes && r->rewriter.work.status == KILN_OK; i++) {
        find_node(r, i);
        r->copies[i] = read_saved(r, i, copy_node(r, i));
    }
}

/* ---- the gradients of outputs ---- */

/* That of the output's tensor: it has all axes that rows keep, unless it is what all rows come to. */
static kiln__span extent_of_output(const kiln__reverse *r, uint32_t node) {
    const kiln__spans *extents = &r->rewriter.extents;
    kiln__span extent = r->of[node];
    if (r->in_columns[node]) extent.run = 0;
    if (!extents->reduces) return (kiln__span){.axes = extents->all};
    if (r->across[node]) return extent;
    const uint32_t blocks = extents->block_axis < 0 ? 0 : (uint32_t)1 << extents->block_axis;
    const bool alone = extents->largest_block && !extents->has_rows;
    extent.axes |= extents->all & ~(alone ? blocks : extents->row);
    if (!alone && (extent.axes & extents->row)) extent.axes |= extents->row; /* all of them, or none */
    if (!alone || (extent.axes & blocks)) return extent;
    extent.axes |= blocks;
    extent.run = extents->largest_block;
    return extent;
}

/* Of an output whose rows go where an index says they are read there; rows before the first are none. */
static uint32_t read_placed(kiln__reverse *r, const char *name, uint32_t node, uint32_t place, uint32_t *cotangent) {
    kiln__rewriter *w = &r->rewriter;
    const kiln__span extent = {.axes = r->of[node].axes & w->extents.row};
    const uint32_t table = kiln__rewrite_name(w, name, extent, 0, cotangent);
    const uint32_t zero = kiln__rewrite_literal(w, kiln__literal_int(0));
    const kiln__node rows = {.op = KILN__OP_ROWS, .arg_count = 2, .args = {table, r->copies[place]}};
    const kiln__node none = {.op = KILN__OP_LT, .arg_count = 2, .args = {r->copies[place], zero}};
    const uint32_t value = kiln__rewrite_add(w, rows), condition = kiln__rewrite_add(w, none);
    return kiln__rewrite_add(w, (kiln__node){.op = KILN__OP_WHERE, .arg_count = 3, .args = {condition, zero, value}});
}

static void seed_output(kiln__reverse *r, const kiln__name *output) {
    const size_t size = strlen(output->text) + 3;
    const kiln__span extent = extent_of_output(r, output->node);
    char *name = alloc(r, size, 1);
    uint32_t value;
    if (kiln__first_columns(&r->rewriter.work, r->from->nodes, output->node))
        kiln__work_fail(&r->rewriter.work, output->line, output->column, KILN_E_UNSUPPORTED,
                        "'first' has no gradient here: that of fewer columns is no input beside the others");
    if (name == NULL || r->rewriter.work.status != KILN_OK) return;
    snprintf(name, size, "d%s", output->text);
    if (kiln__graph_find(&r->rewriter.graph, name, size - 2) >= 0) snprintf(name, size, "d_%s", output->text);
    uint32_t *cotangent = &r->cotangents[r->cotangent_count++];
    if (output->place)
        value = read_placed(r, name, output->node, output->place - 1, cotangent);
    else
        value = kiln__rewrite_name(&r->rewriter, name, extent, extent.run, cotangent);
    kiln__reverse_add(r, output->node, value, extent);
}

void kiln__reverse_fail_constant(kiln__reverse *r) {
    fail(r, kiln__fail(KILN_E_NAME, "no output depends smoothly on what is asked for: expected one that does"));
}

void kiln__reverse_seed(kiln__reverse *r) {
    for (uint32_t o = 0; o < r->signature->output_count && r->rewriter.work.status == KILN_OK; o++) {
        const kiln__name *output = &r->from->names[r->signature->outputs[o]];
        if (r->active[output->node]) seed_output(r, output);
    }
    if (r->rewriter.work.status == KILN_OK && r->cotangent_count == 0) kiln__reverse_fail_constant(r);
}
