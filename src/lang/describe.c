/* A typed program in words: its phases as formulas, and the operators' names. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "lang/ir.h"

/* Where a formula gets longer or deeper, "..." stands for the rest. */
#define MAX_FORMULA 160
#define MAX_FORMULA_DEPTH 24

static const struct {
    kiln__op op;
    const char *symbol;
} symbols[] = {
    {KILN__OP_ADD, "+"},           {KILN__OP_SUB, "-"},        {KILN__OP_MUL, "*"},
    {KILN__OP_DIV, "/"},           {KILN__OP_MOD, "%"},        {KILN__OP_LT, "<"},
    {KILN__OP_LE, "<="},           {KILN__OP_GT, ">"},         {KILN__OP_GE, ">="},
    {KILN__OP_EQ, "=="},           {KILN__OP_NE, "!="},        {KILN__OP_AND, "&&"},
    {KILN__OP_OR, "||"},           {KILN__OP_NOT, "!"},        {KILN__OP_BITAND, "&"},
    {KILN__OP_BITOR, "|"},         {KILN__OP_BITXOR, "^"},     {KILN__OP_BITNOT, "~"},
    {KILN__OP_SHL, "<<"},          {KILN__OP_SHR, ">>"},       {KILN__OP_FLOAT, "literal"},
    {KILN__OP_INT, "literal"},     {KILN__OP_BOOL, "literal"}, {KILN__OP_NAME, "name"},
    {KILN__OP_PARAM, "parameter"}, {KILN__OP_COUNT, "count"},  {KILN__OP_CONVERT, "conversion"},
};

const char *kiln__ir_op_name(kiln__op op) {
    if (op == KILN__IR_INPUT) return "input";
    if (op == KILN__IR_SCALAR) return "scalar";
    if (op == KILN__IR_CAST) return "cast";
    if (op == KILN__IR_ROUND_TO) return "round_to";
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        if (symbols[i].op == op) return symbols[i].symbol;
    }
    const kiln__op_info *info = kiln__op_describe(op);
    return info == NULL ? "?" : info->name;
}

typedef struct printer {
    const kiln__ir *ir;
    const uint32_t *labels; /* of each reduction: its number */
    kiln__text text;
    size_t start; /* of the formula being printed */
} printer;

static void print_number(kiln__text *text, double value, kiln__ctype type) {
    if (isnan(value))
        kiln__text_puts(text, "nan");
    else if (isinf(value))
        kiln__text_puts(text, value < 0 ? "-inf" : "inf");
    else
        kiln__text_printf(text, "%.*g", type == KILN__F32 ? 7 : 9, value);
}

static bool is_infix(const kiln__inst *inst) {
    const kiln__op_info *info = kiln__op_describe(inst->op);
    return inst->arg_count == 2 && info != NULL && info->name[0] == '\0';
}

static void print_formula(printer *out, uint32_t index, int depth, bool whole);

static void print_args(printer *out, const kiln__inst *inst, const char *name, int depth) {
    kiln__text_puts(&out->text, name);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        kiln__text_puts(&out->text, i == 0 ? "(" : ", ");
        print_formula(out, inst->args[i], depth + 1, true);
    }
    kiln__text_puts(&out->text, ")");
}

static void print_operation(printer *out, const kiln__inst *inst, int depth) {
    const char *name = kiln__ir_op_name(inst->op);
    if (is_infix(inst)) {
        print_formula(out, inst->args[0], depth + 1, false);
        kiln__text_printf(&out->text, " %s ", name);
        print_formula(out, inst->args[1], depth + 1, false);
    } else if (inst->op == KILN__OP_NEG || inst->op == KILN__OP_NOT || inst->op == KILN__OP_BITNOT) {
        kiln__text_puts(&out->text, inst->op == KILN__OP_NEG ? "-" : name);
        print_formula(out, inst->args[0], depth + 1, false);
    } else if (inst->op == KILN__IR_CAST) {
        print_args(out, inst, kiln__ctype_name(inst->type), depth);
    } else if (inst->op == KILN__IR_ROUND_TO) {
        print_args(out, inst, kiln_type_name(inst->u.storage), depth);
    } else {
        print_args(out, inst, name, depth);
    }
}

/* whole: nothing around it binds tighter. Reductions stand as their labels. */
static void print_formula(printer *out, uint32_t index, int depth, bool whole) {
    const kiln__inst *inst = &out->ir->insts[index];
    kiln__text *text = &out->text;
    if (depth > MAX_FORMULA_DEPTH || text->size - out->start > MAX_FORMULA) {
        kiln__text_puts(text, "...");
        return;
    }
    if (kiln__op_is_reduction(inst->op))
        kiln__text_printf(text, "r%u", out->labels[index]);
    else if (inst->op == KILN__OP_FLOAT)
        print_number(text, inst->u.f64, inst->type);
    else if (inst->op == KILN__OP_INT)
        kiln__text_printf(text, "%" PRId64, inst->u.i64);
    else if (inst->op == KILN__OP_BOOL)
        kiln__text_puts(text, inst->u.i64 != 0 ? "true" : "false");
    else if (inst->op == KILN__IR_INPUT)
        kiln__text_puts(text, out->ir->input_names[inst->u.input]);
    else if (inst->op == KILN__IR_SCALAR)
        kiln__text_puts(text, out->ir->scalar_names[inst->u.scalar]);
    else if (inst->op == KILN__OP_INDEX || inst->op == KILN__OP_SIZE)
        kiln__text_printf(text, "%s(%d)", kiln__ir_op_name(inst->op), (int)inst->u.axis);
    else if (inst->arg_count == 0)
        kiln__text_puts(text, kiln__ir_op_name(inst->op));
    else {
        bool parentheses = !whole && is_infix(inst);
        if (parentheses) kiln__text_puts(text, "(");
        print_operation(out, inst, depth);
        if (parentheses) kiln__text_puts(text, ")");
    }
}

static void print_phase(printer *out, uint32_t phase) {
    bool first = true;
    kiln__text_printf(&out->text, "phase %u: ", phase);
    for (uint32_t i = 0; i < out->ir->count; i++) {
        const kiln__inst *inst = &out->ir->insts[i];
        if (!kiln__op_is_reduction(inst->op) || inst->phase != phase + 1) continue;
        kiln__text_printf(&out->text, "%sr%u = %s(", first ? "" : ", ", out->labels[i], kiln__ir_op_name(inst->op));
        out->start = out->text.size;
        print_formula(out, inst->args[0], 0, true);
        kiln__text_puts(&out->text, ")");
        first = false;
    }
    kiln__text_puts(&out->text, "\n");
}

char *kiln__ir_describe(const kiln__ir *ir) {
    uint32_t *labels = calloc((size_t)ir->count + 1, sizeof *labels);
    if (labels == NULL) return NULL;
    printer out = {.ir = ir, .labels = labels};
    uint32_t next = 0;
    for (uint32_t phase = 0; phase < ir->phase_count; phase++) {
        for (uint32_t i = 0; i < ir->count; i++) {
            if (kiln__op_is_reduction(ir->insts[i].op) && ir->insts[i].phase == phase + 1) labels[i] = next++;
        }
    }
    for (uint32_t phase = 0; phase < ir->phase_count; phase++) print_phase(&out, phase);
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
