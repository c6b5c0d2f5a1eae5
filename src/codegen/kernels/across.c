/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of programs that have values of all rows: the first goes through the rows, the second combines what its
 * blocks have and stores what is made of it. */
#include <inttypes.h>
#include <string.h>

#include "base/types.h"
#include "codegen/kernels/kernels.h"

static bool is_total(const kiln__emitter *e, uint32_t i) { return e->ir->insts[i].op == KILN__OP_ACROSS_REDUCE; }

/* A bool has a word. */
static const char *spell_type(const kiln__inst *inst) {
    return inst->type == KILN__BOOL ? "int" : kiln__cxx_ctype(inst->type);
}

/* Where the total is among a row's, and how many values it has. */
static void emit_place(const kiln__emitter *e, uint32_t i) {
    kiln__write(e,
                "    static constexpr int place = %" PRId64 ";\n    static constexpr kiln_i64 count = %" PRId64 ";\n",
                kiln__across_place(e->ir, e->problem, i), e->ir->insts[i].per_element ? e->problem->cols : 1);
}

/* The same of any number of columns: the bytes for each of them that are before it, and those beside. */
static void emit_any_place(const kiln__emitter *e, uint32_t i) {
    int before = 0, beside = 0;
    kiln__across_before(e->ir, i, &before, &beside);
    kiln__write(e, "    static constexpr bool columns = %s;\n    static constexpr kiln_i64 before = %d, beside = %d;\n",
                e->ir->insts[i].per_element ? "true" : "false", before, beside);
}

void kiln__emit_totals(const kiln__emitter *e) {
    const kiln__across_plan *plan = kiln__across_plan_of(e->schedule);
    if (!e->problem->any_shape)
        kiln__write(e, "#define KILN_ACROSS_BLOCKS %d\n#define KILN_ACROSS_OFFSET %d\n#define KILN_ACROSS_BYTES %d\n",
                    plan->blocks, plan->offset, plan->bytes);
    kiln__write(e,
                "#define KILN_TOTAL_WARPS %d\n#define KILN_TOTAL_UNROLL %d\n"
                "/* Values of all rows: where they are among a row's, and how many. */\n",
                KILN__TOTAL_WARPS, KILN__TOTAL_UNROLL);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (!is_total(e, i)) continue;
        kiln__inst reduction = {.op = (kiln__op)inst->u.block.op, .type = inst->type, .arg_count = 1};
        reduction.args[0] = inst->args[0];
        kiln__write(e, "struct kiln_total%u {\n    typedef %s type;\n", i, spell_type(inst));
        (e->problem->any_shape ? emit_any_place : emit_place)(e, i);
        kiln__write(e,
                    "    static KILN_MEMBER type identity() { return %s; }\n"
                    "    static KILN_MEMBER type combine(type a, type b) { return %s; }\n};\n",
                    kiln__spell_identity(e, &reduction), kiln__spell_combine(e, &reduction, "a", "b"));
    }
    kiln__write(e, "\n");
}

static void emit_each_total(const kiln__emitter *e, const char *function, const char *args) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (is_total(e, i)) kiln__write(e, "    %s<kiln_total%u>(%s);\n", function, i, args);
}

/* Of one of the row's threads. */
static const char *spell_first(const kiln__emitter *e) {
    return e->problem->any_shape ? "kiln_is_first(row)" : "kiln_rank() == 0";
}

/* Where a value of the row, and none of its columns, is added. */
static void emit_row_additions(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (is_total(e, i) && !inst->per_element)
            kiln__write(e, "    if (%s) kiln_add<kiln_total%u>(%s0, %s);\n", spell_first(e), i,
                        e->problem->any_shape ? "row, " : "", kiln__spell_value(e, inst->args[0]));
    }
}

static void emit_row(const kiln__emitter *e) {
    kiln__write(e, "/* One row: its outputs, and what it adds to values of all rows. */\n"
                   "KILN_DEVICE void kiln_add_row(const kiln_arguments &args, kiln_i64 index)\n{\n"
                   "    kiln_row row(args, index);\n");
    kiln__emit_fill(e);
    if (!e->problem->any_shape) kiln__emit_arrival(e);
    kiln__emit_phases(e, "    ", e->problem->any_shape ? ", row" : "");
    kiln__emit_last_pass(e, "    ");
    /* A row's value may take the place of an input that other threads still read. */
    if (e->problem->any_shape && e->finish_row) kiln__write(e, "    kiln_block_barrier();\n");
    emit_row_additions(e);
    kiln__emit_row_outputs(e, "    ", spell_first(e));
    /* The next row's vectors may begin elsewhere: other threads add to the same columns. */
    kiln__write(e, "    kiln_%s_barrier();\n}\n", e->schedule->team.group == KILN__GROUP_LANES ? "row" : "block");
}

static void emit_rows(const kiln__emitter *e) {
    const bool any = e->problem->any_shape;
    emit_row(e);
    kiln__emit_kernel_head(e, 0, "KILN_THREADS");
    emit_each_total(e, "kiln_clear_total", any ? "args" : "");
    kiln__write(e, "    kiln_block_barrier();\n");
    if (any) /* all of a block's threads have a row, or one that is not there, as long as one of them has */
        kiln__write(e, "    const kiln_i64 rows = args.shape.rows, together = (kiln_i64)gridDim.x * kiln_teams(args);\n"
                       "    kiln_i64 index = kiln_team(args);\n"
                       "    for (kiln_i64 first = (kiln_i64)blockIdx.x * kiln_teams(args); first < rows; first += "
                       "together, index += together)\n"
                       "        kiln_add_row(args, index);\n");
    else
        kiln__write(e, "    const kiln_i64 together = (kiln_i64)gridDim.x * KILN_ROWS_PER_BLOCK;\n"
                       "    for (kiln_i64 index = kiln_row_index(); index < args.rows; index += together)\n"
                       "        kiln_add_row(args, index);\n");
    kiln__write(e, "    kiln_block_barrier();\n");
    emit_each_total(e, "kiln_publish_total", "args");
    kiln__write(e, "}\n");
}

/* ---- the second launch ---- */

/* Marks what values of all rows are made of, as far as it is the same for all rows: it has no place in a row here. */
static void mark(kiln__emitter *e) {
    memset(e->needed, 0, e->ir->count * sizeof *e->needed);
    memset(e->divides, 0, e->ir->count * sizeof *e->divides);
    for (uint32_t i = e->ir->count; i-- > 0;) {
        const kiln__inst *inst = &e->ir->insts[i];
        e->needed[i] |= inst->across;
        if (!e->needed[i] || is_total(e, i)) continue;
        e->element[i] = true;
        for (int a = 0; a < inst->arg_count; a++) e->needed[inst->args[a]] = true;
    }
}

/* "col": where a column is in a tensor that has a value for each, or one. */
static const char *spell_place(const kiln__emitter *e, int o, bool per_element) {
    if (!per_element) return "0";
    if (e->problem->any_shape)
        return kiln__spell(e, "kiln_place_of_any_column(args.shape, args.strides_%s, col)", e->name[o]);
    return kiln__has_offset(e, o) ? kiln__spell(e, "kiln_offset_%s(args, (kiln_index)col)", e->name[o]) : "col";
}

/* How many columns there are, of what has any. */
static const char *spell_count(const kiln__emitter *e, bool columns) {
    if (!columns) return "1";
    return e->problem->any_shape ? "args.shape.cols" : kiln__spell(e, "%" PRId64, e->problem->cols);
}

/* An input that rows share, at the column of the thread: by the one that stores, which may be in its place. */
static const char *spell_input(const kiln__emitter *e, uint32_t i) {
    const int o = (int)e->ir->insts[i].u.input;
    const bool packed = kiln__type_is_packed(e->problem->operands[o].type);
    const bool per_element = e->problem->operands[o].per_element;
    const char *tensor =
        kiln__spell(e, packed ? "kiln_packed<const unsigned char>{args.%s, 0}" : "args.%s", e->name[o]);
    const char *value = kiln__spell(e, "kiln_widen(%s[%s])", tensor, spell_place(e, o, per_element));
    const bool spread = (e->ir->spread >> o & 1) && e->problem->cols > 1;
    return kiln__spell(e, "threadIdx.x < 32 && col < %s ? %s : %s(0)", spell_count(e, per_element || spread), value,
                       kiln__cxx_ctype(e->ir->insts[i].type));
}

static const char *spell_later(const kiln__emitter *e, uint32_t i) {
    if (is_total(e, i)) return kiln__spell(e, "kiln_total<kiln_total%u>(args, col)", i);
    return e->ir->insts[i].op == KILN__OP_INPUT ? spell_input(e, i) : kiln__spell_definition(e, i);
}

static void emit_values(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!e->needed[i] || kiln__op_is_literal(e->ir->insts[i].op)) continue;
        kiln__write(e, "    const %s v%u = %s;\n", kiln__cxx_ctype(e->ir->insts[i].type), i, spell_later(e, i));
    }
}

static void emit_store(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    const uint32_t value = e->ir->outputs[o - e->inputs];
    kiln__write(e, "    if (col < %s) kiln_narrow(%s, args.%s[%s]);\n", spell_count(e, e->ir->insts[value].per_element),
                kiln__spell_value(e, value), e->name[o], spell_place(e, o, operand->per_element));
}

static void emit_totals_kernel(kiln__emitter *e) {
    mark(e);
    kiln__write(e, "\nextern \"C\" __global__ void __launch_bounds__(32 * KILN_TOTAL_WARPS) " KILN__KERNEL_NAME
                   "1(const __grid_constant__ kiln_arguments args)\n{\n"
                   "    const struct {\n        const kiln_arguments &args;\n    } row = {args};\n    (void)row;\n");
    kiln__emit_launch_dependents(e, 1);
    kiln__write(e, "    const kiln_i64 col = kiln_block() * 32 + threadIdx.x %% 32;\n");
    emit_values(e);
    kiln__write(e, "    if (threadIdx.x >= 32) return;\n");
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->problem->operands[o].across) emit_store(e, o);
    kiln__write(e, "}\n");
}

void kiln__emit_across_kernels(const kiln__emitter *e) {
    kiln__emitter last = *e; /* its marks are the same memory: nothing follows */
    emit_rows(e);
    emit_totals_kernel(&last);
}
