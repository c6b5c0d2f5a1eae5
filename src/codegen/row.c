/* The generated row: its arguments, where it lies in each tensor, and the values it has one of. */
#include <inttypes.h>
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"

void kiln__emit_operand_name(const kiln__emitter *e, kiln__text *out, int operand) {
    int inputs = e->problem->input_count, tensors = inputs + e->problem->output_count;
    if (operand >= tensors)
        kiln__text_printf(out, "position%d", operand - tensors);
    else if (operand < inputs)
        kiln__text_printf(out, "in_%s", e->ir->input_names[operand]);
    else
        kiln__text_printf(out, "out_%s", e->ir->output_names[operand - inputs]);
}

void kiln__emit_name(const kiln__emitter *e, const char *before, int operand, const char *after) {
    kiln__text_puts(e->out, before);
    kiln__emit_operand_name(e, e->out, operand);
    kiln__text_puts(e->out, after);
}

static void emit_field(const kiln__emitter *e, const kiln__field *field) {
    kiln__text *out = e->out;
    const kiln__operand *operand = &e->problem->operands[field->index];
    switch (field->kind) {
    case KILN__FIELD_POINTER:
        kiln__text_printf(out, "    %s%s *", operand->output ? "" : "const ", kiln__cxx_storage(operand->type));
        kiln__emit_name(e, "", field->index, ";\n");
        break;
    case KILN__FIELD_ROWS:
        kiln__text_printf(out, "    kiln_i64 %s;\n", e->problem->layout == KILN__LAYOUT_FLAT ? "elements" : "rows");
        break;
    case KILN__FIELD_STRIDE:
        kiln__text_printf(out, "    kiln_i64 stride%d_", field->dim);
        kiln__emit_name(e, "", field->index, ";\n");
        break;
    case KILN__FIELD_ROW:
        kiln__text_puts(out, "    kiln_i64 ");
        kiln__emit_name(e, "", field->index, "_row;\n");
        break;
    case KILN__FIELD_STEP:
        kiln__text_puts(out, "    kiln_i64 ");
        kiln__emit_name(e, "", field->index, "");
        kiln__text_printf(out, "_step%d;\n", field->dim);
        break;
    case KILN__FIELD_WORKSPACE: kiln__text_puts(out, "    unsigned char *workspace;\n"); break;
    case KILN__FIELD_SCALAR:
        kiln__text_printf(out, "    %s scalar_%s;\n", kiln__cxx_ctype(e->ir->scalar_types[field->index]),
                          e->ir->scalar_names[field->index]);
        break;
    case KILN__FIELD_SIZE: kiln__text_printf(out, "    kiln_i64 size%d;\n", field->dim); break;
    case KILN__FIELD_EXTENT: kiln__text_printf(out, "    kiln_i64 extent%d;\n", field->dim); break;
    case KILN__FIELD_DIVISOR: kiln__text_printf(out, "    kiln_divisor extent%d;\n", field->dim); break;
    }
}

void kiln__emit_arguments(const kiln__emitter *e) {
    kiln__text_puts(e->out, "struct kiln_arguments {\n");
    for (int i = 0; i < e->arguments->count; i++) emit_field(e, &e->arguments->fields[i]);
    kiln__text_puts(e->out, "};\n\n");
}

/* c0, c1, ...: the coordinates of `index` along the outer dimensions. */
static void emit_coordinates(const kiln__emitter *e, const char *index) {
    const kiln__problem *p = e->problem;
    const char *type = p->wide ? "kiln_i64" : "kiln_u32";
    int last = p->outer_rank - 1;
    kiln__text_printf(e->out, "    const %s q%d = (%s)%s;\n", type, last, type, index);
    for (int d = last; d > 0; d--) {
        if (p->wide)
            kiln__text_printf(e->out,
                              "    const kiln_i64 q%d = q%d / args.extent%d, c%d = q%d - q%d * args.extent%d;\n", d - 1,
                              d, d, d, d, d - 1, d);
        else
            kiln__text_printf(
                e->out,
                "    const kiln_u32 q%d = kiln_divide(q%d, args.extent%d), c%d = q%d - q%d * args.extent%d.divisor;\n",
                d - 1, d, d, d, d, d - 1, d);
    }
}

static void emit_strided_sum(const kiln__emitter *e, int operand) {
    const kiln__problem *p = e->problem;
    for (int d = 0; d < p->outer_rank; d++) {
        if (!p->operands[operand].outer_strides[d]) continue;
        kiln__text_printf(e->out, " + %s%d * args.stride%d_", d ? "c" : "q", d, d);
        kiln__emit_name(e, "", operand, "");
    }
}

/* kiln_offset_<operand>(args, index): where an element of the flat array lies in a tensor that broadcasts. */
static void emit_flat_offset(const kiln__emitter *e, int operand) {
    kiln__emit_name(e, "KILN_DEVICE kiln_i64 kiln_offset_", operand,
                    "(const kiln_arguments &args, kiln_index index)\n{\n");
    emit_coordinates(e, "index");
    kiln__text_puts(e->out, "    return 0");
    emit_strided_sum(e, operand);
    kiln__text_puts(e->out, ";\n}\n\n");
}

/* The same for a column of the reduced dimensions, whose extents are constants. */
static void emit_inner_offset(const kiln__emitter *e, int operand) {
    const kiln__problem *p = e->problem;
    kiln__emit_name(e, "KILN_DEVICE kiln_i64 kiln_offset_", operand,
                    "(const kiln_arguments &args, kiln_index col)\n{\n    return 0");
    int64_t below = 1;
    for (int d = p->inner_rank - 1; d >= 0; below *= p->inner[d--]) {
        int64_t stride = p->operands[operand].inner_strides[d];
        if (!stride) continue;
        kiln__text_puts(e->out, " + (kiln_i64)(col");
        if (below > 1) kiln__text_printf(e->out, " / %" PRId64, below);
        if (d > 0) kiln__text_printf(e->out, " %% %" PRId64, p->inner[d]);
        kiln__text_puts(e->out, ")");
        if (stride == 1) continue;
        kiln__emit_name(e, " * args.", operand, "");
        kiln__text_printf(e->out, "_step%d", d);
    }
    kiln__text_puts(e->out, ";\n}\n\n");
}

static void emit_offsets(const kiln__emitter *e) {
    const kiln__problem *p = e->problem;
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        if (!operand->per_element) continue;
        if (p->layout == KILN__LAYOUT_FLAT && !operand->linear) emit_flat_offset(e, o);
        if (p->layout != KILN__LAYOUT_FLAT && !operand->packed) emit_inner_offset(e, o);
    }
}

/* row.in_x = args.in_x + where the row, or run i of rows, starts in it. */
static void emit_place(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    const char *run = kiln__rows_in_packs(e) ? "[i]" : "";
    kiln__emit_name(e, "    row.", o, run);
    kiln__text_puts(e->out, " = ");
    if (o >= e->problem->input_count + e->problem->output_count)
        kiln__text_puts(e->out, "0");
    else
        kiln__emit_name(e, "args.", o, "");
    if (e->problem->layout == KILN__LAYOUT_FLAT) {
    } else if (!operand->linear)
        emit_strided_sum(e, o);
    else if (!kiln__stride_is_constant(e->problem, operand->row_stride)) {
        kiln__text_printf(e->out, " + row.index%s", run);
        kiln__emit_name(e, " * args.", o, "_row");
    } else if (operand->row_stride)
        kiln__text_printf(e->out, " + row.index%s * %" PRId64, run, operand->row_stride);
    kiln__text_puts(e->out, ";\n");
}

/* Whether the instruction is a value that a row has one of, and is kept in it. */
static bool is_row_value(const kiln__emitter *e, uint32_t i) {
    kiln__op op = e->ir->insts[i].op;
    return !e->element[i] && op != KILN__OP_FLOAT && op != KILN__OP_INT && op != KILN__OP_BOOL && op != KILN__OP_COUNT;
}

/* The row's values that follow from a phase. */
static void emit_row_values(const kiln__emitter *e, uint32_t phase) {
    bool pack = kiln__rows_in_packs(e);
    const char *at = pack ? "[j]" : "";
    if (pack) kiln__text_puts(e->out, "#pragma unroll\n    for (int j = 0; j < KILN_PACK; ++j) {\n");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_row_value(e, i) || e->ir->insts[i].phase != phase) continue;
        kiln__text_printf(e->out, "    row.v%u%s = ", i, at);
        kiln__emit_definition(e, i);
        kiln__text_puts(e->out, ";\n");
        if (e->divides[i]) kiln__text_printf(e->out, "    row.d%u%s = kiln_quotient(row.v%u%s);\n", i, at, i, at);
    }
    if (pack) kiln__text_puts(e->out, "    }\n");
}

/* The row's members: where it lies, its values; `many` follows the names of those that each run of rows has, `each` of
 * those that each row has. */
static void emit_members(const kiln__emitter *e, const char *many, const char *each) {
    const kiln__problem *p = e->problem;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        kiln__text_printf(e->out, "    %s%s *", p->operands[o].output ? "" : "const ",
                          kiln__cxx_storage(p->operands[o].type));
        kiln__emit_name(e, "", o, many);
        kiln__text_puts(e->out, ";\n");
    }
    for (int o = p->input_count + p->output_count; o < p->input_count + p->output_count + p->position_count; o++) {
        kiln__emit_name(e, "    kiln_i64 ", o, many);
        kiln__text_puts(e->out, ";\n");
    }
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (is_row_value(e, i))
            kiln__text_printf(e->out, "    %s v%u%s; /* %s */\n", kiln__cxx_ctype(e->ir->insts[i].type), i, each,
                              kiln__ir_op_name(e->ir->insts[i].op));
        if (e->divides[i]) kiln__text_printf(e->out, "    kiln_quotient d%u%s;\n", i, each);
    }
}

void kiln__emit_row(const kiln__emitter *e) {
    emit_offsets(e);
    if (kiln__rows_in_packs(e)) {
        kiln__text_puts(e->out,
                        "/* A pack of rows, in runs that lie side by side: where they lie in each tensor, and the "
                        "values each has one of. */\n"
                        "struct kiln_row {\n    const kiln_arguments &args;\n"
                        "    int chunk;\n    kiln_i64 index[KILN_PIECES];\n"
                        "    int count[KILN_PIECES]; /* rows of the run that there are */\n");
        emit_members(e, "[KILN_PIECES]", "[KILN_PACK]");
        kiln__text_puts(e->out, "    KILN_MEMBER kiln_row(const kiln_arguments &a) : args(a) {}\n};\n\n");
        return;
    }
    kiln__text_printf(e->out, "/* %s */\nstruct kiln_row {\n    const kiln_arguments &args;\n    kiln_i64 index;\n",
                      e->problem->layout == KILN__LAYOUT_FLAT
                          ? "The whole array: where it lies, and the values it has one of."
                          : "One row: where it lies in each tensor, and the values it has one of.");
    if (e->schedule->masked)
        kiln__text_puts(e->out, "    int shift; /* elements of the first pack that belong to the row before */\n");
    if (e->schedule->residency == KILN__RESIDENCY_TILE)
        kiln__text_puts(e->out, "    int tile; /* the row's first element in the tile */\n");
    emit_members(e, "", "");
    kiln__text_puts(e->out,
                    "    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}\n};\n\n");
}

/* Packs of the inputs of one value per row. */
static void emit_row_inputs(const kiln__emitter *e) {
    bool any = false;
    for (int o = 0; o < e->problem->input_count; o++) {
        uint32_t i = 0;
        while (i < e->ir->count &&
               (e->element[i] || e->ir->insts[i].op != KILN__IR_INPUT || (int)e->ir->insts[i].u.input != o))
            i++;
        if (i == e->ir->count) continue;
        if (!any) kiln__text_puts(e->out, "    const kiln_span span(row, 0, 0);\n");
        any = true;
        kiln__text_puts(e->out, "    ");
        kiln__emit_pack_type(e, o);
        kiln__emit_name(e, " ", o, ";\n");
        kiln__emit_fetch(e, o, "    ");
    }
}

void kiln__emit_begin(const kiln__emitter *e) {
    const kiln__problem *p = e->problem;
    kiln__text *out = e->out;
    bool coordinates = false, pack = kiln__rows_in_packs(e);
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++)
        coordinates |= p->layout != KILN__LAYOUT_FLAT && !p->operands[o].linear;
    kiln__text_puts(out, "KILN_DEVICE void kiln_begin(kiln_row &row)\n{\n    const kiln_arguments &args = row.args;\n");
    if (pack) kiln__text_puts(out, "#pragma unroll\n    for (int i = 0; i < KILN_PIECES; ++i) {\n");
    if (coordinates) emit_coordinates(e, pack ? "row.index[i]" : "row.index");
    for (int o = 0; o < p->input_count + p->output_count + p->position_count; o++) emit_place(e, o);
    if (pack)
        kiln__text_puts(out, "    }\n");
    else if (e->schedule->masked)
        kiln__text_printf(out, "    row.shift = (int)(row.index * %d & (KILN_PACK - 1));\n", e->schedule->row_phase);
    if (pack) emit_row_inputs(e);
    emit_row_values(e, 0);
    kiln__text_puts(out, "}\n\n");
}

void kiln__emit_after(const kiln__emitter *e, uint32_t phase) {
    kiln__text_printf(e->out, "KILN_DEVICE void kiln_after%u(kiln_row &row, const kiln_phase%u &reduced)\n{\n", phase,
                      phase);
    emit_row_values(e, phase + 1);
    kiln__text_puts(e->out, "}\n\n");
}

/* The rows' values of one output, computed and stored as a pack. */
static void emit_finish_pack(const kiln__emitter *e, int o, uint32_t inst) {
    kiln__text_printf(e->out,
                      "    {\n        %s y[KILN_PACK];\n#pragma unroll\n"
                      "        for (int j = 0; j < KILN_PACK; ++j) y[j] = ",
                      kiln__cxx_ctype(e->ir->insts[inst].type));
    kiln__emit_value(e, e->out, inst);
    kiln__text_puts(e->out, ";\n        ");
    kiln__emit_pack_type(e, o);
    kiln__emit_name(e, " ", o, ";\n");
    kiln__emit_name(e, "        kiln_narrow_pack(y, ", o, ");\n");
    kiln__emit_put(e, o);
    kiln__text_puts(e->out, "    }\n");
}

bool kiln__emit_finish_row(const kiln__emitter *e) {
    const kiln__problem *p = e->problem;
    bool any = false, pack = kiln__rows_in_packs(e);
    for (int o = p->input_count; o < p->input_count + p->output_count; o++) {
        if (p->operands[o].per_element) continue;
        if (!any)
            kiln__text_puts(
                e->out,
                "/* Outputs of one value per row. */\nKILN_DEVICE void kiln_finish_row(const kiln_row &row)\n{\n");
        if (!any && pack) kiln__text_puts(e->out, "    const kiln_span span(row, 0, 0);\n");
        any = true;
        uint32_t inst = e->ir->outputs[o - p->input_count];
        if (pack) {
            emit_finish_pack(e, o, inst);
            continue;
        }
        kiln__text_printf(e->out, "    kiln_narrow((%s)", kiln__cxx_ctype(e->ir->insts[inst].type));
        kiln__emit_value(e, e->out, inst);
        kiln__emit_name(e, ", *row.", o, ");\n");
    }
    if (any) kiln__text_puts(e->out, "}\n\n");
    return any;
}
