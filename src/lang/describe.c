/* SPDX-License-Identifier: Apache-2.0 */
/* A typed program in words: its phases as formulas. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "lang/ir.h"

/* Where a formula gets longer or deeper, "..." stands for the rest. */
#define MAX_FORMULA 160
#define MAX_FORMULA_DEPTH 24

typedef struct printer {
    const kiln__ir *ir;
    uint32_t *labels; /* of each reduction: its number */
    kiln__text text;
    size_t start; /* of the formula being printed */
} printer;

const char *kiln__ir_op_name(kiln__op op) { return kiln__op_describe(op)->symbol; }

static void print_number(kiln__text *text, double value, kiln__ctype type) {
    if (isnan(value))
        kiln__text_puts(text, "nan");
    else
        kiln__text_printf(text, "%.*g", type == KILN__F32 ? 7 : 9, value);
}

static void print_formula(printer *out, uint32_t index, int depth, bool whole);

static void print_args(printer *out, const kiln__inst *inst, const char *name, int depth) {
    kiln__text_puts(&out->text, name);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        kiln__text_puts(&out->text, i == 0 ? "(" : ", ");
        print_formula(out, inst->args[i], depth + 1, true);
    }
    if (inst->arg_count > 0) kiln__text_puts(&out->text, ")");
}

static void print_stochastic(printer *out, const kiln__inst *inst, int depth) {
    kiln__text_printf(&out->text, "round_to(%s, ", kiln_type_name(inst->u.storage));
    print_formula(out, inst->args[0], depth + 1, true);
    kiln__text_puts(&out->text, ", ");
    print_formula(out, inst->args[1], depth + 1, true);
    kiln__text_puts(&out->text, ")");
}

/* sort(x), topk(x, 4), sort(x, by y, descending), and the same of columns' numbers. */
static void print_order(printer *out, const kiln__inst *inst, int depth) {
    const bool values = inst->op == KILN__OP_SORTED;
    const kiln__inst *order = values ? &out->ir->insts[inst->args[1]] : inst;
    const uint32_t first = order->u.order.first;
    kiln__text_printf(&out->text, "%s%s(", values ? "" : "arg", first ? "topk" : "sort");
    print_formula(out, inst->args[0], depth + 1, true);
    if (order->args[0] != inst->args[0]) {
        kiln__text_puts(&out->text, ", by ");
        print_formula(out, order->args[0], depth + 1, true);
    }
    if (first)
        kiln__text_printf(&out->text, ", %u)", first);
    else
        kiln__text_puts(&out->text, order->u.order.descending ? ", descending)" : ")");
}

static void print_first(printer *out, const kiln__inst *inst, int depth) {
    kiln__text_puts(&out->text, "first(");
    print_formula(out, inst->args[0], depth + 1, true);
    kiln__text_printf(&out->text, ", %u)", inst->u.first);
}

static void print_block(printer *out, const kiln__inst *inst, int depth) {
    kiln__text_printf(&out->text, "%s(", kiln__ir_op_name((kiln__op)inst->u.block.op));
    print_formula(out, inst->args[0], depth + 1, true);
    if (inst->op == KILN__OP_BLOCK_REDUCE)
        kiln__text_printf(&out->text, ", block = %u)", inst->domain);
    else
        kiln__text_puts(&out->text, ", of all rows)");
}

/* whole: nothing around it binds tighter. */
static void print_operation(printer *out, const kiln__inst *inst, int depth, bool whole) {
    const char *name = kiln__ir_op_name(inst->op);
    if (inst->op == KILN__OP_SCAN) {
        kiln__text_printf(&out->text, "%s(", kiln__ir_op_name(kiln__scan_of(kiln__combining(inst).op)));
        print_formula(out, inst->args[0], depth + 1, true);
        kiln__text_puts(&out->text, ")");
        return;
    }
    if (kiln__op_is_order(inst->op)) {
        print_order(out, inst, depth);
        return;
    }
    if (inst->op == KILN__OP_FIRST) {
        print_first(out, inst, depth);
        return;
    }
    if (inst->op == KILN__OP_OWN) {
        print_args(out, inst, inst->u.own->name, depth);
        return;
    }
    bool called = kiln__op_describe(inst->op)->name[0] != '\0', infix = !called && inst->arg_count == 2;
    if (inst->arg_count == 0 || (called && inst->op != KILN__OP_NEG)) {
        print_args(out, inst, name, depth);
        return;
    }
    if (infix && !whole) kiln__text_puts(&out->text, "(");
    if (infix) print_formula(out, inst->args[0], depth + 1, false);
    kiln__text_printf(&out->text, infix ? " %s " : "%s", inst->op == KILN__OP_NEG ? "-" : name);
    print_formula(out, inst->args[inst->arg_count - 1], depth + 1, false);
    if (infix && !whole) kiln__text_puts(&out->text, ")");
}

/* An input that is read where an index says. */
static void print_place(printer *out, const char *word, const kiln__inst *inst, int depth) {
    kiln__text_printf(&out->text, "%s(%s, ", word, out->ir->input_names[inst->u.input]);
    print_formula(out, inst->args[0], depth + 1, true);
    kiln__text_puts(&out->text, ")");
}

static void print_input(printer *out, const kiln__inst *inst, int depth) {
    if (inst->arg_count)
        print_place(out, "rows", inst, depth);
    else
        kiln__text_puts(&out->text, out->ir->input_names[inst->u.input]);
}

/* Reductions stand as their labels. */
static void print_formula(printer *out, uint32_t index, int depth, bool whole) {
    const kiln__inst *inst = &out->ir->insts[index];
    kiln__text *text = &out->text;
    if (depth > MAX_FORMULA_DEPTH || text->size - out->start > MAX_FORMULA) {
        kiln__text_puts(text, "...");
        return;
    }
    if (kiln__op_is_reduction(inst->op)) {
        kiln__text_printf(text, "r%u", out->labels[index]);
        return;
    }
    switch (inst->op) {
    case KILN__OP_FLOAT: print_number(text, inst->u.f64, inst->type); break;
    case KILN__OP_INT: kiln__text_printf(text, inst->type == KILN__U64 ? "%" PRIu64 : "%" PRId64, inst->u.i64); break;
    case KILN__OP_BOOL: kiln__text_puts(text, inst->u.i64 != 0 ? "true" : "false"); break;
    case KILN__OP_INPUT: print_input(out, inst, depth); break;
    case KILN__OP_ROWS_OF: kiln__text_printf(text, "rows(%s)", out->ir->input_names[inst->u.input]); break;
    case KILN__OP_SCALAR: kiln__text_puts(text, out->ir->scalar_names[inst->u.scalar]); break;
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: kiln__text_printf(text, "%s(%d)", kiln__ir_op_name(inst->op), (int)inst->u.axis); break;
    case KILN__OP_BLOCK_COUNT: kiln__text_printf(text, "count(block = %u)", inst->domain); break;
    case KILN__OP_TAKE: print_place(out, "take", inst, depth); break;
    case KILN__OP_CAST: print_args(out, inst, kiln__ctype_name(inst->type), depth); break;
    case KILN__OP_ROUND_TO: print_args(out, inst, kiln_type_name(inst->u.storage), depth); break;
    case KILN__OP_STOCHASTIC: print_stochastic(out, inst, depth); break;
    case KILN__OP_BLOCK_REDUCE:
    case KILN__OP_ACROSS_REDUCE: print_block(out, inst, depth); break;
    default: print_operation(out, inst, depth, whole);
    }
}

/* The reductions of the phase; gives the number after theirs. */
static uint32_t print_phase(printer *out, uint32_t phase, uint32_t label) {
    const char *separator = "";
    kiln__text_printf(&out->text, "phase %u: ", phase);
    for (uint32_t i = 0; i < out->ir->count; i++) {
        const kiln__inst *inst = &out->ir->insts[i];
        if (!kiln__reduces_in(inst, phase)) continue;
        kiln__text_printf(&out->text, "%sr%u = %s(", separator, label, kiln__ir_op_name(kiln__combining(inst).op));
        out->start = out->text.size;
        print_formula(out, inst->args[0], 0, true);
        if (inst->arg_count > 1) {
            kiln__text_puts(&out->text, ", ");
            print_formula(out, inst->args[1], 0, true);
        }
        kiln__text_puts(&out->text, inst->op == KILN__OP_REDUCE_BEFORE ? ") before each thread" : ")");
        out->labels[i] = label++;
        separator = ", ";
    }
    const int passes = kiln__phase_passes(out->ir, phase);
    if (passes > 1) kiln__text_printf(&out->text, ", in %d passes", passes);
    kiln__text_puts(&out->text, "\n");
    return label;
}

char *kiln__ir_describe(const kiln__ir *ir) {
    uint32_t *labels = calloc((size_t)ir->count + 1, sizeof *labels);
    if (labels == NULL) return NULL;
    printer out = {.ir = ir, .labels = labels};
    uint32_t label = 0;
    if (ir->length) {
        kiln__text_puts(&out.text, "columns: ");
        if (ir->offsets)
            kiln__text_printf(&out.text, "offsets(%s)", ir->input_names[ir->offsets - 1]);
        else
            print_formula(&out, ir->length - 1, 0, true);
        kiln__text_puts(&out.text, "\n");
    }
    for (uint32_t phase = 0; phase < ir->phase_count; phase++) label = print_phase(&out, phase, label);
    kiln__text_puts(&out.text, "finish: ");
    for (uint32_t i = 0; i < ir->output_count; i++) {
        kiln__text_printf(&out.text, "%s%s = ", i == 0 ? "" : ", ", ir->output_names[i]);
        out.start = out.text.size;
        print_formula(&out, ir->outputs[i], 0, true);
    }
    kiln__text_puts(&out.text, "\n");
    free(labels);
    return kiln__text_take(&out.text);
}
