/* Goes through the rows of a space: stage by stage, block of columns by block of columns.
 * A row's outputs are stored after everything of the same block has been read, so that they may be inputs too. */
#include "ref/run.h"
#include "ref/special.h"

/* Repeats a block's first value over the whole block. */
static void spread(const kiln__ref_run_state *run, uint32_t index)
{
    kiln__ref_block value = run->values[index];
    if (kiln__ctype_is_float(run->ir->insts[index].type))
        for (size_t i = 1; i < run->width; i++)
            value.f64[i] = value.f64[0];
    else
        for (size_t i = 1; i < run->width; i++)
            value.i64[i] = value.i64[0];
}

static void put_int(kiln__ctype type, kiln__ref_block out, int64_t value)
{
    if (kiln__ctype_is_float(type))
        out.f64[0] = (double)value;
    else
        out.i64[0] = value;
}

static void put_float(kiln__ctype type, kiln__ref_block out, double value)
{
    if (kiln__ctype_is_float(type))
        out.f64[0] = value;
    else
        out.i64[0] = kiln__ref_f64_to_int(type, value);
}

void kiln__ref_run_constants(const kiln__ref_run_state *run)
{
    const kiln__ref_list *list = &run->stages.constants;
    for (uint32_t i = 0; i < list->count; i++) {
        const kiln__inst *inst = &run->ir->insts[list->items[i]];
        kiln__ref_block out = run->values[list->items[i]];
        if (inst->op == KILN__OP_FLOAT)
            put_float(inst->type, out, inst->u.f64);
        else if (inst->op == KILN__OP_INT || inst->op == KILN__OP_BOOL)
            put_int(inst->type, out, inst->u.i64);
        else if (inst->op == KILN__OP_COUNT)
            put_int(inst->type, out, run->count);
        else if (inst->op == KILN__OP_SIZE)
            put_int(inst->type, out, run->sizes[inst->u.axis]);
        else if (inst->op == KILN__IR_SCALAR && run->scalars[inst->u.scalar].type == KILN_F64)
            put_float(inst->type, out, run->scalars[inst->u.scalar].value.f64);
        else if (inst->op == KILN__IR_SCALAR)
            put_int(inst->type, out, run->scalars[inst->u.scalar].value.i64);
        else
            kiln__ref_eval(run->ir->insts, list->items[i], run->values, 1);
        spread(run, list->items[i]);
    }
}

static int64_t int_at(const kiln__ref_run_state *run, uint32_t index, size_t i)
{
    kiln__ref_block block = run->values[index];
    if (kiln__ctype_is_float(run->ir->insts[index].type))
        return kiln__ref_f64_to_int(KILN__I64, block.f64[i]);
    return block.i64[i];
}

/* Evaluates instruction `index` at n columns of the current row, from column `col` on. */
static void evaluate(const kiln__ref_run_state *run, uint32_t index, int64_t col, size_t n)
{
    const kiln__inst *inst = &run->ir->insts[index];
    kiln__ref_block out = run->values[index];
    bool is_float = kiln__ctype_is_float(inst->type);
    if (inst->op == KILN__IR_INPUT && run->inputs[inst->u.input].data == NULL) {
        put_int(inst->type, out, 0); /* a row without columns: nothing that is stored depends on it */
    } else if (inst->op == KILN__IR_INPUT && is_float) {
        kiln__ref_load_f64(&run->inputs[inst->u.input], col, (int64_t)n, out.f64);
    } else if (inst->op == KILN__IR_INPUT) {
        kiln__ref_load_i64(&run->inputs[inst->u.input], col, (int64_t)n, out.i64);
    } else if (inst->op == KILN__OP_INDEX) {
        int64_t *offsets = is_float ? run->scratch : out.i64;
        kiln__ref_offsets(&run->indices[inst->u.axis], col, (int64_t)n, offsets);
        for (size_t i = 0; is_float && i < n; i++)
            out.f64[i] = (double)offsets[i];
    } else if (inst->op == KILN__OP_UNIFORM) {
        kiln__ref_offsets(&run->linear, col, (int64_t)n, run->scratch);
        for (size_t i = 0; i < n; i++)
            out.f64[i] = kiln__ref_uniform(int_at(run, inst->args[0], i), int_at(run, inst->args[1], i), run->scratch[i]);
    } else {
        kiln__ref_eval(run->ir->insts, index, run->values, n);
    }
}

static void store(const kiln__ref_run_state *run, uint32_t output, int64_t col, size_t n)
{
    uint32_t index = run->ir->outputs[output];
    if (kiln__ctype_is_float(run->ir->insts[index].type))
        kiln__ref_store_f64(&run->outputs[output], col, (int64_t)n, run->values[index].f64);
    else
        kiln__ref_store_i64(&run->outputs[output], col, (int64_t)n, run->values[index].i64);
}

static void store_outputs(const kiln__ref_run_state *run, bool per_element, int64_t col, size_t n)
{
    for (uint32_t o = 0; o < run->ir->output_count; o++)
        if (run->per_element[o] == per_element && run->outputs[o].data != NULL)
            store(run, o, col, n);
}

static void run_stage(kiln__ref_run_state *run, const kiln__ref_stage *stage, bool last)
{
    for (uint32_t i = 0; i < stage->rows.count; i++) {
        evaluate(run, stage->rows.items[i], 0, 1);
        spread(run, stage->rows.items[i]);
    }
    for (uint32_t i = 0; i < stage->reductions.count; i++)
        kiln__ref_accumulator_start(&run->accumulators[i], &run->ir->insts[stage->reductions.items[i]], run->combiners);

    bool stores = false;
    for (uint32_t o = 0; last && o < run->ir->output_count; o++)
        stores = stores || run->per_element[o];
    for (int64_t col = 0; (stores || stage->reductions.count > 0) && col < run->col_count; col += (int64_t)run->width) {
        size_t n = run->col_count - col < (int64_t)run->width ? (size_t)(run->col_count - col) : run->width;
        for (uint32_t i = 0; i < stage->elements.count; i++)
            evaluate(run, stage->elements.items[i], col, n);
        for (uint32_t i = 0; i < stage->reductions.count; i++) {
            uint32_t argument = run->ir->insts[stage->reductions.items[i]].args[0];
            kiln__ref_accumulator_add(&run->accumulators[i], run->values[argument], n);
        }
        if (stores)
            store_outputs(run, true, col, n);
    }

    for (uint32_t i = 0; i < stage->reductions.count; i++) {
        kiln__ref_accumulator_finish(&run->accumulators[i], run->values[stage->reductions.items[i]]);
        spread(run, stage->reductions.items[i]);
    }
    if (last)
        store_outputs(run, false, 0, 1);
}

void kiln__ref_run_rows(kiln__ref_run_state *run)
{
    for (int64_t row = 0; row < run->row_count; row++) {
        for (uint32_t i = 0; i < run->ir->input_count; i++)
            kiln__ref_view_set_row(&run->inputs[i], row);
        for (uint32_t o = 0; o < run->ir->output_count; o++)
            kiln__ref_view_set_row(&run->outputs[o], row);
        for (int axis = 0; axis < run->rank; axis++)
            kiln__ref_view_set_row(&run->indices[axis], row);
        kiln__ref_view_set_row(&run->linear, row);
        for (uint32_t s = 0; s < run->stages.count; s++)
            run_stage(run, &run->stages.stages[s], s + 1 == run->stages.count);
    }
}
