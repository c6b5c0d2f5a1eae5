/* SPDX-License-Identifier: Apache-2.0 */
/* block = N and axes = ... of reductions: how they are read, and which of them a program has. */
#include "lang/domain.h"

#include <inttypes.h>
#include <stdio.h>

#include "lang/parser.h"

/* ---- read ---- */

bool kiln__at_domain(const kiln__parser *parser) {
    const kiln__token *token = &parser->token;
    return (kiln__token_is(token, "block", 5) || kiln__token_is(token, "axes", 4)) &&
           kiln__parser_at_assignment(parser);
}

static bool parse_axis(kiln__parser *parser, kiln__domain *out) {
    const bool negative = parser->token.kind == '-';
    if (negative) kiln__parser_advance(parser);
    const kiln__token axis = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "an axis, an integer literal")) return false;
    if (axis.value.u64 > KILN_MAX_RANK || out->count == KILN_MAX_RANK)
        return KILN__FAIL_AT(parser, &axis, KILN_E_LIMIT, "axis %s is out of range, tensors have at most %d axes",
                             kiln__parser_quote(parser, &axis), KILN_MAX_RANK);
    out->axes[out->count++] = negative ? -(int)axis.value.u64 : (int)axis.value.u64;
    return true;
}

/* A number, several in parentheses, or all. */
static bool parse_axes(kiln__parser *parser, kiln__domain *out) {
    out->all = kiln__token_is(&parser->token, "all", 3);
    if (out->all) {
        kiln__parser_advance(parser);
        return true;
    }
    if (parser->token.kind != '(') return parse_axis(parser, out);
    do {
        kiln__parser_advance(parser);
        if (!parse_axis(parser, out)) return false;
    } while (parser->token.kind == ',');
    return kiln__parser_expect(parser, ')', "',' or ')'");
}

/* Of columns. */
static bool check_count(kiln__parser *parser, const kiln__token *count, const char *what) {
    if (count->value.u64 >= 1 && count->value.u64 <= INT32_MAX) return true;
    return KILN__FAIL_AT(parser, count, KILN_E_SYNTAX, "%s: N is %s, expected 1 to 2147483647 columns", what,
                         kiln__parser_quote(parser, count));
}

static bool parse_block(kiln__parser *parser, kiln__domain *out) {
    const kiln__token size = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "how many columns a block has, an integer literal")) return false;
    out->block = (int64_t)size.value.u64;
    return check_count(parser, &size, "block = N");
}

static bool same_domain(const kiln__domain *a, const kiln__domain *b) {
    return a->block == b->block && a->all == b->all && a->count == b->count &&
           memcmp(a->axes, b->axes, (size_t)a->count * sizeof *a->axes) == 0;
}

static uint32_t add_domain(kiln__parser *parser, const kiln__domain *domain) {
    kiln__graph *graph = parser->graph;
    for (uint32_t i = 0; i < graph->domain_count; i++)
        if (same_domain(&graph->domains[i], domain)) return i + 1;
    kiln__domain *domains = kiln__work_grow(parser->work, &graph->arena, graph->domains, graph->domain_count,
                                            &parser->domain_capacity, sizeof *domains);
    if (domains == NULL) return 0;
    graph->domains = domains;
    domains[graph->domain_count] = *domain;
    return ++graph->domain_count;
}

uint32_t kiln__parse_domain(kiln__parser *parser, uint32_t before) {
    const kiln__token word = parser->token;
    kiln__domain domain = {.line = word.line, .column = word.column};
    if (before != 0)
        return KILN__FAIL_AT(parser, &word, KILN_E_SYNTAX, "a call has one of block = N and axes = N, and once");
    kiln__parser_advance(parser);
    kiln__parser_advance(parser);
    const bool parsed = kiln__token_is(&word, "block", 5) ? parse_block(parser, &domain) : parse_axes(parser, &domain);
    return parsed ? add_domain(parser, &domain) : 0;
}

static bool refuse_repeat(kiln__parser *parser, const kiln__token *input, const char *problem) {
    return KILN__FAIL_AT(parser, input, KILN_E_NAME,
                         "%s %s: repeat(s, N) is of an input, which is read in no other way",
                         kiln__parser_quote(parser, input), problem);
}

bool kiln__parse_repeat(kiln__parser *parser, uint32_t *value) {
    kiln__graph *graph = parser->graph;
    const kiln__token input = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_NAME, "the name of an input")) return false;
    if (parser->current->scope != KILN__SCOPE_PROGRAM) return refuse_repeat(parser, &input, "is read in a function");
    if (!kiln__parser_expect(parser, ',', "',' and how many columns a value is for")) return false;
    const kiln__token count = parser->token;
    if (!kiln__parser_expect(parser, KILN__TOKEN_INT, "how many columns a value is for, an integer literal") ||
        !kiln__parser_expect(parser, ')', "')'"))
        return false;
    if (!check_count(parser, &count, "repeat(s, N)")) return false;
    int known = kiln__graph_find(graph, input.text, input.length);
    if (known < 0) {
        *value = kiln__parser_new_name(parser, &input, false, 0);
        known = (int)graph->name_count - 1;
        if (parser->work->status == KILN_OK) graph->names[known].repeat = (int64_t)count.value.u64;
        return true;
    }
    kiln__name *name = &graph->names[known];
    if (name->assigned) return refuse_repeat(parser, &input, "is assigned by the program");
    if (name->repeat != (int64_t)count.value.u64) return refuse_repeat(parser, &input, "is read otherwise before");
    *value = name->node;
    return true;
}

bool kiln__take_domain(kiln__node *node, uint32_t domain) {
    const bool reduces = kiln__op_runs(node->op);
    if ((reduces || node->op == KILN__OP_COUNT) && node->domain == 0) node->domain = domain;
    return reduces;
}

bool kiln__fail_domain(kiln__parser *parser, const kiln__token *called) {
    return KILN__FAIL_AT(parser, called, KILN_E_SYNTAX, "%s reduces nothing: block = N and axes = N are for reductions",
                         kiln__parser_quote(parser, called));
}

/* ---- found ---- */

int64_t kiln__common_block(int64_t a, int64_t b, int64_t columns) {
    const int64_t less = a < b ? a : b, more = a < b ? b : a;
    return more >= columns || more % less == 0 ? less : 1;
}

static const char *describe(const kiln__domain *domain, char buffer[100]) {
    size_t used = 0;
    if (domain == NULL) return "the program's axes";
    if (domain->all) return "all axes";
    for (int i = 0; i < domain->count; i++) {
        const char *before = i == 0 ? domain->count > 1 ? "axes " : "axis " : i + 1 < domain->count ? ", " : " and ";
        used += (size_t)snprintf(buffer + used, 100 - used, "%s%d", before, domain->axes[i]);
    }
    return buffer;
}

/* Blocks in ascending order, each once. */
static void add_block(kiln__work *work, const kiln__node *node, int64_t block, kiln__domains *out) {
    int at = 0;
    while (at < out->block_count && out->blocks[at] < block) at++;
    if (at < out->block_count && out->blocks[at] == block) return;
    if (out->block_count == KILN__MAX_BLOCKS) {
        kiln__work_fail(work, node->line, node->column, KILN_E_LIMIT, "a program has blocks of more than %d sizes",
                        KILN__MAX_BLOCKS);
        return;
    }
    memmove(out->blocks + at + 1, out->blocks + at, (size_t)(out->block_count - at) * sizeof *out->blocks);
    out->blocks[at] = block;
    out->block_count++;
}

/* Axes that the text says, each set once. */
static void add_axes(kiln__work *work, const kiln__node *node, const kiln__domain *domain, kiln__domains *out) {
    char axes[100];
    for (int i = 0; i < out->other_count; i++)
        if (out->others[i] == domain) return;
    if (out->other_count < KILN__MAX_ACROSS)
        out->others[out->other_count++] = domain;
    else
        kiln__work_fail(work, node->line, node->column, KILN_E_LIMIT,
                        "'%s' runs over %s: expected at most %d sets of axes in a program",
                        kiln__op_describe(node->op)->symbol, describe(domain, axes), KILN__MAX_ACROSS);
}

/* Rows are of the program's axes, unless all reductions say the same ones. */
static void settle_rows(bool program, kiln__domains *out) {
    const bool alike = !program && out->other_count == 1;
    out->has_rows |= program || out->other_count > 0;
    out->row = alike ? out->others[0] : NULL;
    if (alike) out->other_count = 0;
}

static void find(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature, kiln__domains *out) {
    bool *needed = kiln__work_alloc(work, &work->scratch, graph->node_count, sizeof *needed);
    if (needed == NULL) return;
    kiln__outputs_mark(graph, signature, needed);
    kiln__nodes_need(graph->nodes, graph->node_count, needed);
    bool program = false;
    for (uint32_t i = 0; i < graph->node_count && work->status == KILN_OK; i++) {
        const kiln__node *node = &graph->nodes[i];
        if (needed[i]) out->has_rows |= node->op == KILN__OP_TAKE || node->op == KILN__OP_GATHER;
        if (!needed[i] || !kiln__op_runs(node->op)) continue;
        const kiln__domain *domain = node->domain ? &graph->domains[node->domain - 1] : NULL;
        const int64_t block = domain != NULL ? domain->block : 0;
        if (block > out->reduced_block) out->reduced_block = block;
        if (block && kiln__op_is_arg(node->op) && (!out->found_block || block < out->found_block))
            out->found_block = block;
        program |= domain == NULL;
        if (block != 0)
            add_block(work, node, block, out);
        else if (domain != NULL)
            add_axes(work, node, domain, out);
    }
    settle_rows(program, out);
}

/* Inputs that have a value for several columns. */
static void find_repeats(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature,
                         kiln__domains *out) {
    for (uint32_t i = 0; i < signature->input_count; i++) {
        const kiln__name *name = &graph->names[signature->inputs[i]];
        if (name->repeat < 2) continue;
        out->repeats[i] = name->repeat;
        add_block(work, &graph->nodes[name->node], name->repeat, out);
    }
}

/* ---- tables ---- */

static int input_of(const kiln__signature *signature, const kiln__node *node) {
    if (node->op != KILN__OP_NAME) return -1;
    for (uint32_t i = 0; i < signature->input_count; i++)
        if (signature->inputs[i] == node->u.name) return (int)i;

    return -1;
}

static void refuse_table(kiln__work *work, const kiln__node *node) {
    kiln__work_fail(work, node->line, node->column, KILN_E_NAME,
                    "rows(t, i) is of an input, which is read in no other way and with one i");
}

static void add_table(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature,
                      const kiln__node *node, kiln__domains *out) {
    const int input = input_of(signature, &graph->nodes[node->args[0]]);
    if (input >= 0 && !(out->tables >> input & 1)) {
        out->tables |= 1u << input;
        return;
    }
    refuse_table(work, node);
}

/* Inputs that rows are read of. */
static void find_tables(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature,
                        kiln__domains *out) {
    for (uint32_t i = 0; i < graph->node_count && work->status == KILN_OK; i++)
        if (graph->nodes[i].op == KILN__OP_ROWS) add_table(work, graph, signature, &graph->nodes[i], out);
    for (uint32_t o = 0; o < signature->output_count; o++) {
        if (!graph->names[signature->outputs[o]].place) continue;
        out->tables |= 1u << (signature->input_count + o);
        out->has_rows = true;
    }
    for (uint32_t i = 0; i < graph->node_count && out->tables && work->status == KILN_OK; i++) {
        const kiln__node *node = &graph->nodes[i];
        for (uint32_t k = node->op == KILN__OP_ROWS; k < node->arg_count; k++) {
            const int input = input_of(signature, &graph->nodes[node->args[k]]);
            if (input >= 0 && out->tables >> input & 1) refuse_table(work, node);
        }
    }
}

static bool reads(const kiln__node *node, uint32_t what) {
    for (uint32_t k = 0; k < node->arg_count; k++)
        if (node->args[k] == what) return true;
    return false;
}

/* Nothing else reads it: rows have one of its elements each, it has one more. */
static void find_offsets(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature,
                         kiln__domains *out) {
    if (!graph->offsets || work->status != KILN_OK) return;
    const uint32_t node = graph->offsets - 1;
    const char *wrong = input_of(signature, &graph->nodes[node]) < 0 ? "is of an input" : NULL;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (reads(&graph->nodes[i], node)) wrong = "is of an input that is read in no other way";
    for (uint32_t o = 0; o < signature->output_count; o++)
        if (graph->names[signature->outputs[o]].node == node) wrong = "is of an input that is read in no other way";
    if (out->tables) wrong = "goes with neither rows(t, i) nor put: two programs do that";
    out->offsets = (uint32_t)input_of(signature, &graph->nodes[node]) + 1;
    if (wrong)
        kiln__work_fail(work, graph->nodes[node].line, graph->nodes[node].column,
                        out->tables ? KILN_E_UNSUPPORTED : KILN_E_NAME, "offsets(o) %s", wrong);
}

static bool has_repeats(const kiln__signature *signature, const kiln__domains *domains) {
    for (uint32_t i = 0; i < signature->input_count; i++)
        if (domains->repeats[i]) return true;
    return false;
}

/* Blocks of one size alone are rows like others, which end where the row does that they are of. */
static void find_lengths(kiln__work *work, const kiln__graph *graph, const kiln__signature *signature,
                         kiln__domains *out) {
    const uint32_t said = graph->offsets ? graph->offsets : graph->length;
    if (!said || work->status != KILN_OK) return;
    const kiln__node *length = &graph->nodes[said - 1];
    out->lengths = true;
    const bool alone = out->block_count == 1 && out->reduced_block == out->blocks[0] && !out->has_rows;
    if (out->other_count || (out->block_count && (graph->offsets || !alone || has_repeats(signature, out))))
        kiln__work_fail(work, length->line, length->column, KILN_E_UNSUPPORTED,
                        "rows with lengths are reduced whole, or in blocks of one size alone: other axes are for "
                        "programs without them");
}

kiln_status kiln__domains_find(const kiln__graph *graph, const kiln__signature *signature, kiln__domains *out) {
    kiln__work work = {.file = "", .text = graph->text};
    *out = (kiln__domains){.row = NULL};
    if (graph->domain_count) find(&work, graph, signature, out);
    find_repeats(&work, graph, signature, out);
    find_tables(&work, graph, signature, out);
    find_offsets(&work, graph, signature, out);
    find_lengths(&work, graph, signature, out);
    kiln__arena_free(&work.scratch);
    return work.status;
}
