/* SPDX-License-Identifier: Apache-2.0 */
/* The current row of tensors: where it lies, read and written. */
#include "ref/run.h"

static bool is_row(const kiln__ref_run_state *run, uint32_t index, const kiln__indexed_rows *rows) {
    const int64_t row = run->values[index]->i64;
    return row >= 0 && row < rows->rows;
}

void kiln__ref_load_input(const kiln__ref_run_state *run, const kiln__inst *inst, int64_t col, size_t n,
                          kiln__ref_value *out) {
    kiln__ref_view view = run->inputs[inst->u.input];
    if (view.data == NULL) return; /* a row without columns: nothing that is stored depends on it */
    if (inst->arg_count > 0) {
        const kiln__indexed_rows *table = &run->tables[inst->u.input];
        if (is_row(run, inst->args[0], table)) /* else the program drops what is read */
            view.row_offset += run->values[inst->args[0]]->i64 * table->stride;
    }
    kiln__ref_offsets(&view, col, n, run->offsets);
    kiln__ref_load(&view, run->offsets, n, kiln__ctype_is_float(inst->type), out);
}

void kiln__ref_store_output(const kiln__ref_run_state *run, uint32_t output, int64_t col, size_t n) {
    const uint32_t index = run->ir->outputs[output], place = run->ir->places[output];
    const kiln__indexed_rows *rows = place ? &run->tables[run->ir->input_count + output] : NULL;
    kiln__ref_view view = run->outputs[output];
    if (rows && !is_row(run, place - 1, rows)) return;
    if (rows) view.row_offset += run->values[place - 1]->i64 * rows->stride;
    if (kiln__has_first(&run->ir->insts[index])) {
        const int64_t left = run->ir->insts[index].columns - col;
        if (left <= 0) return;
        if ((int64_t)n > left) n = (size_t)left;
    }
    kiln__ref_offsets(&view, col, n, run->offsets);
    kiln__ref_store(&view, run->offsets, n, run->ir->insts[index].type, run->values[index]);
}
