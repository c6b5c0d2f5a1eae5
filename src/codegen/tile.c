/* The generated side of the tile residency: where each tensor's part of the tile lies in shared memory, how it gets there
 * and back. */
#include <string.h>

#include "codegen/emitter.h"

static bool is_staged(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    return operand->output ? operand->per_element : e->schedule->kept[o];
}

/* Whether all rows of the tile read the same columns of it. */
static bool is_shared(const kiln__emitter *e, int o) { return !e->problem->operands[o].follows_rows; }

/* One tensor's copy. Where its rows do not lie one behind the other, each element has an address of its own. */
static void emit_copy(const kiln__emitter *e, int o) {
    bool out = e->problem->operands[o].output, shared = is_shared(e, o) && !out;
    const char *count = shared ? "KILN_COLS" : "rows * KILN_COLS";
    if (e->schedule->tile_vector[o]) {
        kiln__text_printf(e->out, "        kiln_tile_%s<%d>(", out ? "drain" : "fill", e->schedule->tile_vector[o]);
        if (!out) kiln__text_printf(e->out, "kiln_shared + %d, ", e->schedule->tile_offset[o]);
        kiln__emit_name(e, "args.", o, shared ? ", " : " + first * KILN_COLS, ");
        if (out) kiln__text_printf(e->out, "kiln_shared + %d, ", e->schedule->tile_offset[o]);
        kiln__text_printf(e->out, "%s);\n", count);
        return;
    }
    kiln__text_printf(e->out,
                      "        for (int i = (int)threadIdx.x; i < %s; i += KILN_THREADS) {\n"
                      "            kiln_row row(args, first + i / KILN_COLS);\n"
                      "            const kiln_index col = i %% KILN_COLS;\n            kiln_begin(row);\n",
                      count);
    kiln__text_puts(e->out, out ? "            *(" : "            ");
    if (out) kiln__emit_pack_address(e, o, "col");
    kiln__text_printf(e->out, "%sreinterpret_cast<%s *>(kiln_shared + %d)[i]", out ? ") = " : "",
                      kiln__cxx_storage(e->problem->operands[o].type), e->schedule->tile_offset[o]);
    if (!out) {
        kiln__text_puts(e->out, " = *(");
        kiln__emit_pack_address(e, o, "col");
        kiln__text_puts(e->out, ")");
    }
    kiln__text_puts(e->out, ";\n        }\n");
}

/* "fill" or "drain": all inputs that stay with the row, or all outputs that have columns. */
static void emit_copies(const kiln__emitter *e, bool outputs) {
    int inputs = e->problem->input_count, operands = inputs + e->problem->output_count;
    kiln__text_printf(e->out,
                      "    static KILN_MEMBER void %s(const kiln_arguments &args, kiln_i64 first, int rows)\n    {\n",
                      outputs ? "drain" : "fill");
    for (int o = outputs ? inputs : 0; o < (outputs ? operands : inputs); o++)
        if (is_staged(e, o)) emit_copy(e, o);
    kiln__text_puts(e->out, "    }\n");
}

void kiln__emit_tile_place(const kiln__emitter *e, int o) {
    bool shared = is_shared(e, o) && !e->problem->operands[o].output;
    kiln__text_printf(e->out, "*reinterpret_cast<kiln_pack<%s, KILN_PACK> *>(kiln_shared + %d + %s * %d)",
                      kiln__cxx_storage(e->problem->operands[o].type), e->schedule->tile_offset[o],
                      shared ? "col" : "(row.tile + col)", (int)kiln_type_size(e->problem->operands[o].type));
}

void kiln__emit_tile_access(const kiln__emitter *e) {
    kiln__text_puts(e->out, "    KILN_MEMBER void recall(const kiln_row &row, kiln_index col)\n    {\n");
    for (int o = 0; o < e->problem->input_count; o++) {
        if (!is_staged(e, o)) continue;
        kiln__emit_name(e, "        ", o, " = ");
        kiln__emit_tile_place(e, o);
        kiln__text_puts(e->out, ";\n");
    }
    kiln__text_puts(e->out, "    }\n");
    emit_copies(e, false);
    emit_copies(e, true);
}

void kiln__emit_tile_kernel(const kiln__emitter *e, bool finish, bool finish_row) {
    kiln__text *out = e->out;
    kiln__text_puts(out, "\nextern \"C\" __global__ void __launch_bounds__(KILN_THREADS) " KILN__KERNEL_NAME
                         "(const __grid_constant__ kiln_arguments args)\n{\n"
                         "    const kiln_i64 first = kiln_block() * KILN_ROWS_PER_BLOCK;\n"
                         "    if (first >= args.rows) return;\n"
                         "    const int rows = args.rows - first < KILN_ROWS_PER_BLOCK ? (int)(args.rows - first) : "
                         "KILN_ROWS_PER_BLOCK;\n"
                         "    kiln_kept::fill(args, first, rows);\n"
                         "    kiln_copy_wait();\n    kiln_block_barrier();\n"
                         "    kiln_residency residency;\n"
                         "    for (int r = (int)threadIdx.x / KILN_THREADS_PER_ROW; r < rows; "
                         "r += KILN_THREADS / KILN_THREADS_PER_ROW) {\n"
                         "        kiln_row row(args, first + r);\n        kiln_begin(row);\n"
                         "        row.tile = r * KILN_COLS;\n");
    for (uint32_t p = 0; p < e->ir->phase_count; p++)
        kiln__text_printf(out,
                          "        kiln_phase%u phase%u;\n        phase%u.clear();\n"
                          "        residency.each_pack(row, phase%u);\n"
                          "        kiln_after%u(row, kiln_all_reduce(phase%u));\n",
                          p, p, p, p, p, p);
    if (finish) kiln__text_puts(out, "        kiln_finish finish;\n        residency.each_pack(row, finish);\n");
    if (finish_row) kiln__text_puts(out, "        if (kiln_member() == 0) kiln_finish_row(row);\n");
    kiln__text_puts(out, "    }\n");
    if (finish) kiln__text_puts(out, "    kiln_block_barrier();\n    kiln_kept::drain(args, first, rows);\n");
    kiln__text_puts(out, "}\n");
}
