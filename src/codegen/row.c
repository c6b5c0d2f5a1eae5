/* SPDX-License-Identifier: Apache-2.0 */
/* The generated row: its arguments, where it lies in each tensor, and the values it has one of. */
#include <inttypes.h>

#include "base/scalar.h"
#include "base/types.h"
#include "codegen/emitter.h"

const char *kiln__cxx_pointer(const kiln__emitter *e, int o) {
    const bool packed = kiln__type_is_packed(e->problem->operands[o].type);
    const char *constant = o < e->inputs ? "const " : "";
    return packed ? kiln__spell(e, "kiln_packed<%sunsigned char> ", constant)
                  : kiln__spell(e, "%s%s *", constant, e->type[o]);
}

static void emit_pointer(const kiln__emitter *e, int o) {
    if (kiln__type_is_packed(e->problem->operands[o].type))
        kiln__write(e, "    %sunsigned char *%s;\n", o < e->inputs ? "const " : "", e->name[o]);
    else
        kiln__write(e, "    %s%s;\n", kiln__cxx_pointer(e, o), e->name[o]);
}

static void emit_scalar(const kiln__emitter *e, int s) {
    if (kiln__scalar_on_device(e->ir->scalar_given[s]))
        kiln__write(e, "    const %s *scalar_%s;\n", kiln__cxx_storage(kiln__scalar_stored(e->ir->scalar_given[s])),
                    e->ir->scalar_names[s]);
    else
        kiln__write(e, "    %s scalar_%s;\n", kiln__cxx_ctype(e->ir->scalar_types[s]), e->ir->scalar_names[s]);
}

static void emit_field(const kiln__emitter *e, const kiln__field *field) {
    static const struct {
        const char *declares;
        bool dim, operand; /* whether the name has their number, their name */
    } forms[] = {
        [KILN__FIELD_STRIDE] = {"kiln_i64 stride", true, true},
        [KILN__FIELD_ROW] = {"kiln_i64 row", false, true},
        [KILN__FIELD_STEP] = {"kiln_i64 step", true, true},
        [KILN__FIELD_WORKSPACE] = {"unsigned char *workspace", false, false},
        [KILN__FIELD_SIZE] = {"kiln_i64 size", true, false},
        [KILN__FIELD_TABLE_ROWS] = {"kiln_i64 count", false, true},
        [KILN__FIELD_TABLE_PITCH] = {"kiln_i64 pitch", false, true},
        [KILN__FIELD_COLUMNS] = {"kiln_i64 columns", false, false},
        [KILN__FIELD_SHAPE] = {"kiln_shape shape", false, false},
        [KILN__FIELD_STRIDES] = {"kiln_strides strides", false, true},
        [KILN__FIELD_BLOCK] = {"kiln_i64 block", false, true},
        [KILN__FIELD_EXTENT] = {"kiln_i64 extent", true, false},
        [KILN__FIELD_DIVISOR] = {"kiln_divisor extent", true, false},
        [KILN__FIELD_FILLED] = {"kiln_i64 filled", false, false},
        [KILN__FIELD_PITCH] = {"kiln_i64 pitch", false, false},
        [KILN__FIELD_PITCH_DIVISOR] = {"kiln_divisor pitch", false, false},
    };
    switch (field->kind) {
    case KILN__FIELD_POINTER: emit_pointer(e, field->index); return;
    case KILN__FIELD_SCALAR: emit_scalar(e, field->index); return;
    case KILN__FIELD_ROWS: kiln__write(e, "    kiln_i64 %s;\n", e->flat ? "elements" : "rows"); return;
    default: break;
    }
    kiln__write(e, "    %s", forms[field->kind].declares);
    if (forms[field->kind].dim) kiln__write(e, "%d", field->dim);
    if (forms[field->kind].operand) kiln__write(e, "_%s", e->name[field->index]);
    kiln__write(e, ";\n");
}

void kiln__emit_arguments(const kiln__emitter *e) {
    kiln__write(e, "struct kiln_arguments {\n");
    for (int i = 0; i < e->arguments->count; i++) emit_field(e, &e->arguments->fields[i]);
    kiln__write(e, "};\n\n");
}

/* + where the row, or run i of rows, starts; any shape's kernels find all tensors' in one go, kiln__emit_any_places. */
static void emit_start(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    const char *run = e->rows_in_vectors ? "[i]" : "";
    if (e->problem->any_shape || e->flat) return;
    if (!operand->linear)
        kiln__emit_strided_sum(e, o);
    else if (!kiln__stride_is_constant(e->problem, operand->row_stride))
        kiln__write(e, " + row.index%s * args.row_%s", run, e->name[o]);
    else if (operand->row_stride)
        kiln__write(e, " + row.index%s * %" PRId64, run, operand->row_stride);
}

/* row.in_x = args.in_x + where the row, or run i of rows, starts in it. */
static void emit_place(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    const char *run = e->rows_in_vectors ? "[i]" : "", *name = e->name[o];
    bool position = o >= e->tensors;
    const char *from = position ? "0" : kiln__spell(e, "args.%s", name);
    if (!position && kiln__type_is_packed(operand->type))
        from = kiln__spell(e, "%s{args.%s, 0}", kiln__cxx_pointer(e, o), name);
    kiln__write(e, "    row.%s%s = %s", name, run, from);
    emit_start(e, o);
    if (o < e->tensors && e->schedule->tensors[o].kind == KILN__ACCESS_WRAPPED)
        kiln__write(e, " + row.rank[i] * KILN_KEPT_ROWS");
    kiln__write(e, "%s;\n",
                e->schedule->edges == KILN__EDGES_MISALIGNED ? kiln__spell_row_step(e, o, "row.offset") : "");
}

/* Whether the instruction is a value that a row has one of, and is staged in it. */
static bool is_row_value(const kiln__emitter *e, uint32_t i) {
    return !e->element[i] && !kiln__op_is_literal(e->ir->insts[i].op);
}

/* The row of a table. Where the index is of none, its first is read, and the program drops it. */
static void emit_table_row(const kiln__emitter *e, const kiln__inst *inst) {
    const char *name = e->name[inst->u.input], *index = kiln__spell_value(e, inst->args[0]);
    kiln__write(e, "    row.%s += ((kiln_u64)%s < (kiln_u64)args.count_%s ? %s : 0) * args.pitch_%s;\n", name, index,
                name, index, name);
}

/* The rows that are written by an index, where the phase tells it. One that is none is not written. */
static void emit_put_rows(const kiln__emitter *e, uint32_t phase) {
    for (int o = e->inputs; o < e->tensors; o++) {
        const uint32_t place = e->ir->places[o - e->inputs];
        if (!place || e->ir->insts[place - 1].phase != phase) continue;
        const char *name = e->name[o], *index = kiln__spell_value(e, place - 1);
        kiln__write(e,
                    "    row.writes_%s = (kiln_u64)%s < (kiln_u64)row.args.count_%s;\n"
                    "    row.%s += row.writes_%s ? %s * row.args.pitch_%s : 0;\n",
                    name, index, name, name, name, index, name);
    }
}

/* The row's values that follow from a phase. */
static void emit_row_values(const kiln__emitter *e, uint32_t phase) {
    const char *at = e->rows_in_vectors ? "[j]" : "";
    if (e->rows_in_vectors) kiln__write(e, "%s    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {\n", kiln__unrolled(e));
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (phase == 0 && inst->op == KILN__OP_INPUT && inst->arg_count > 0) emit_table_row(e, inst);
        if (!is_row_value(e, i) || inst->phase != phase) continue;
        kiln__write(e, "    row.v%u%s = %s;\n", i, at, kiln__spell_definition(e, i));
        if (e->divides[i]) kiln__write(e, "    row.d%u%s = %s(row.v%u%s);\n", i, at, kiln__cxx_divisor(e, i), i, at);
        if (e->centre[i]) kiln__write(e, "    row.c%u%s = row.v%u%s;\n", i, at, i, at);
    }
    if (e->rows_in_vectors) kiln__write(e, "    }\n");
    emit_put_rows(e, phase);
}

/* What is known of the value that is selected. */
static const char *spell_selection(const kiln__emitter *e, const kiln__inst *inst) {
    const kiln_type type = kiln__selection_type(e->ir, inst);
    return kiln__spell(e, "kiln_selection<%s, %s>", type == KILN_BOOL ? "bool" : kiln__cxx_storage(type),
                       kiln__cxx_ctype(inst->type));
}

/* The row's members: where it lies, its values; `many` follows the names of those that each run of rows has, `each` of
 * those that each row has. */
static void emit_members(const kiln__emitter *e, const char *many, const char *each) {
    if (e->schedule->evict_first_rows) kiln__write(e, "    kiln_u64 policy; /* of what is read once */\n");
    for (int o = 0; o < e->tensors; o++) kiln__write(e, "    %s%s%s;\n", kiln__cxx_pointer(e, o), e->name[o], many);
    for (int o = e->inputs; o < e->tensors; o++)
        if (e->ir->places[o - e->inputs]) kiln__write(e, "    bool writes_%s;\n", e->name[o]);
    for (int o = e->tensors; o < e->operands; o++) kiln__write(e, "    kiln_i64 %s%s;\n", e->name[o], many);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (is_row_value(e, i))
            kiln__write(e, "    %s v%u%s; /* %s */\n", kiln__cxx_ctype(inst->type), i, each,
                        kiln__ir_op_name(inst->op));
        if (inst->op == KILN__OP_SCAN && e->element[i])
            kiln__write(e, "    mutable %s s%u%s; /* of the columns so far */\n", kiln__cxx_ctype(inst->type), i, each);
        if (kiln__op_selects(inst->op)) kiln__write(e, "    %s s%u%s;\n", spell_selection(e, inst), i, each);
        if (e->divides[i] && !e->element[i]) kiln__write(e, "    %s d%u%s;\n", kiln__cxx_divisor(e, i), i, each);
        if (e->centre[i]) kiln__write(e, "    kiln_centre c%u%s;\n", i, each);
    }
}

/* Rows or elements of an outer dimension but the first. */
static const char *spell_extent(const kiln__emitter *e, int d) {
    return kiln__spell(e, e->problem->wide ? "args.extent%d" : "args.extent%d.divisor", d);
}

static void emit_count(const kiln__emitter *e, const char *name, const char *value) {
    kiln__write(e, "KILN_DEVICE kiln_count %s(const kiln_arguments &args) { return (kiln_count)(%s); }\n", name, value);
}

/* Of the dimensions that transpose tiles lie in: elements of a run, runs between those that are neighbours across, and
 * how many those are. */
static void emit_transpose(const kiln__emitter *e) {
    const int last = e->problem->outer_rank - 1, across = e->schedule->transpose.dim;
    const char *between = "1";
    for (int d = across + 1; d < last; d++) between = kiln__spell(e, "%s * %s", between, spell_extent(e, d));
    emit_count(e, "kiln_run", spell_extent(e, last));
    emit_count(e, "kiln_between", between);
    emit_count(e, "kiln_across",
               across ? spell_extent(e, across) : "args.elements / ((kiln_i64)kiln_between(args) * kiln_run(args))");
}

/* How far behind a multiple of the vector a rank's columns begin, for a row that is a multiple of the vector behind the
 * first of those that lie side by side. */
static void emit_misalignment(const kiln__emitter *e) {
    const int reference = kiln__column_of(e->schedule)->reference;
    kiln__write(e, "KILN_DEVICE int kiln_shift(const kiln_arguments &args, kiln_i64 row, int rank)\n{\n");
    const bool strided = !e->problem->operands[reference].linear;
    if (strided) kiln__emit_coordinates(e, "row");
    kiln__write(e, "    return (int)((rank * args.step0_%s%s", e->name[reference], strided ? "" : " + row");
    if (strided) kiln__emit_strided_sum(e, reference);
    kiln__write(e, ") & (KILN_VECTOR_WIDTH - 1));\n}\n\n");
}

/* kiln_run_<operand>: where the first column of a row is. */
static void emit_run(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    kiln__write(e, "KILN_DEVICE %s%s *kiln_run_%s(const kiln_arguments &args, kiln_i64 row)\n{\n",
                operand->output ? "" : "const ", e->type[o], e->name[o]);
    if (!operand->linear) kiln__emit_coordinates(e, "row");
    kiln__write(e, "    return args.%s", e->name[o]);
    if (operand->linear)
        kiln__write(e, " + row");
    else
        kiln__emit_strided_sum(e, o);
    kiln__write(e, ";\n}\n\n");
}

static void emit_runs(const kiln__emitter *e, const kiln__operand_list *list) {
    for (int i = 0; i < list->count; i++) emit_run(e, list->at[i]);
}

static void emit_tile_pointers(const kiln__emitter *e, const kiln__operand_list *list) {
    for (int i = 0; i < list->count; i++)
        kiln__write(e, "    %s *tile_%s;\n", e->type[list->at[i]], e->name[list->at[i]]);
}

/* What a vector of rows knows of the tile that holds it. */
static void emit_tile_members(const kiln__emitter *e) {
    kiln__write(e, "    kiln_i64 first; /* row of the tile */\n    int rows; /* of the tile */\n"
                   "    int tile[KILN_RUNS]; /* where the rows begin in the tile, elements */\n");
    emit_tile_pointers(e, &e->staged);
    emit_tile_pointers(e, &e->column_outputs);
}

static void emit_vector_of_rows(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    const int last = e->problem->outer_rank - 1;
    kiln__write(e, "/* A vector of rows, in runs that lie side by side: where they lie in each tensor, and the "
                   "values each has one of. */\n"
                   "struct kiln_row {\n    const kiln_arguments &args;\n"
                   "    int chunk;\n    kiln_i64 index[KILN_RUNS];\n"
                   "    int count[KILN_RUNS]; /* rows of the run that there are */\n");
    if (s->edges == KILN__EDGES_MISALIGNED)
        kiln__write(e, "    int offset; /* from the block's first row to the vector's, which may be before it */\n"
                       "    kiln_u32 there; /* a bit for each row of the vector that there is */\n");
    if (s->edges == KILN__EDGES_WRAPPED) kiln__write(e, "    int rank[KILN_VECTOR_WIDTH]; /* of each row */\n");
    if (kiln__column_of(s)->tile.rows) emit_tile_members(e);
    emit_members(e, "[KILN_RUNS]", "[KILN_VECTOR_WIDTH]");
    kiln__write(e, "    KILN_MEMBER kiln_row(const kiln_arguments &a) : args(a) {}\n};\n\n");
    if (s->edges == KILN__EDGES_MISALIGNED) {
        emit_count(e, "kiln_kept_rows", last < 1 ? "args.rows" : spell_extent(e, last));
        emit_misalignment(e);
    }
    if (kiln__column_of(s)->tile.rows) {
        emit_runs(e, &e->staged);
        emit_runs(e, &e->column_outputs);
    }
}

static void emit_one_row(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    kiln__write(e,
                "/* %s: where it lies%s, and the values it has one of. */\n"
                "struct kiln_row {\n    const kiln_arguments &args;\n    kiln_i64 index;\n",
                e->flat ? "The whole array" : "One row", e->flat ? "" : " in each tensor");
    if (s->edges == KILN__EDGES_PEELED) kiln__write(e, "    int head; /* column of the first vector */\n");
    if (e->problem->any_shape) kiln__emit_any_members(e);
    if (s->edges == KILN__EDGES_SHIFTED)
        kiln__write(e, "    int shift; /* elements of the first vector before the array */\n");
    if (s->edges == KILN__EDGES_MASKED)
        kiln__write(e, "    int shift; /* elements of the first vector before the row */\n");
    if (s->staging.kind == KILN__STAGING_TILE)
        kiln__write(e, "    int tile; /* the row's first element in the tile */\n");
    if (e->problem->lengths) kiln__write(e, "    kiln_index cols; /* that the row has */\n");
    if (s->strategy == KILN__TRANSPOSE)
        kiln__write(e, "    kiln_i64 spacing; /* vectors of the tile, in elements; the first is at index */\n"
                       "    kiln_i64 before, behind; /* vectors, of any thread, before the first; from it on */\n"
                       "    int down; /* vectors that there are */\n");
    emit_members(e, "", "");
    kiln__write(e, "    KILN_MEMBER kiln_row(const kiln_arguments &a, kiln_i64 i) : args(a), index(i) {}\n};\n\n");
    if (s->strategy == KILN__TRANSPOSE) emit_transpose(e);
}

void kiln__emit_row(const kiln__emitter *e) {
    if (e->schedule->edges == KILN__EDGES_MISALIGNED || e->schedule->strategy == KILN__TRANSPOSE)
        kiln__write(e, "typedef %s kiln_count; /* rows, elements */\n", e->problem->wide ? "kiln_i64" : "kiln_u32");
    kiln__emit_offsets(e);
    (e->rows_in_vectors ? emit_vector_of_rows : emit_one_row)(e);
}

/* Vectors of the inputs of one value per row. */
static void emit_row_inputs(const kiln__emitter *e) {
    const char *span = "    const kiln_span span(row, 0, 0);\n";
    for (int o = 0; o < e->inputs; o++) {
        const kiln__inst *insts = e->ir->insts;
        uint32_t i = 0;
        while (i < e->ir->count && (e->element[i] || insts[i].op != KILN__OP_INPUT || (int)insts[i].u.input != o)) i++;
        if (i == e->ir->count) continue;
        kiln__write(e, "%s", span);
        span = "";
        kiln__emit_fetched(e, o, "    ");
    }
}

/* Where the row, or each run of rows, lies in each tensor. */
static void emit_places(const kiln__emitter *e) {
    bool coordinates = false;
    for (int o = 0; o < e->operands && !e->problem->any_shape; o++)
        coordinates |= !e->flat && !e->problem->operands[o].linear;
    if (coordinates) kiln__emit_coordinates(e, e->rows_in_vectors ? "row.index[i]" : "row.index");
    for (int o = 0; o < e->operands; o++) emit_place(e, o);
    if (e->problem->any_shape) kiln__emit_any_places(e);
}

static void emit_packed_place(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    const char *name = e->name[o], *step = "";
    if (e->problem->any_shape)
        step = kiln__spell(e, " * kiln_column_stride(args.shape, args.strides_%s)", name);
    else if (!operand->contiguous_columns && operand->inner_strides[0])
        step = kiln__spell(e, " * args.step0_%s", name);
    else if (!operand->contiguous_columns)
        return; /* all have the same element */
    kiln__write(e, "    row.%s += begin%s;\n", name, step);
}

/* Of rows that lie one behind the other: where the offsets say, which may be anything, but within the tensors. */
static void emit_offsets(const kiln__emitter *e) {
    const char *name = e->name[e->problem->offsets];
    const int axis = e->problem->last_axis;
    kiln__write(e,
                "    const kiln_i64 begin = kiln_between((kiln_i64)kiln_widen(row.%s[0]), 0, args.size%d);\n"
                "    const kiln_i64 end = kiln_between((kiln_i64)kiln_widen(row.%s[1]), begin, args.size%d);\n"
                "    row.cols = (kiln_index)(end - begin);\n",
                name, axis, name, axis);
    for (int o = 0; o < e->operands; o++)
        if (e->problem->operands[o].packed_rows) emit_packed_place(e, o);
}

/* What follows from where a row begins in a vector. */
static void emit_phase_of_row(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    if (s->edges == KILN__EDGES_MASKED && e->problem->offsets >= 0)
        kiln__write(e, "    row.shift = (int)((row.index * %d + begin) & (KILN_VECTOR_WIDTH - 1));\n",
                    kiln__row_of(s)->row_phase);
    else if (s->edges == KILN__EDGES_MASKED && kiln__schedule_shifts(s))
        kiln__write(e, "    row.shift = kiln_skip<KILN_VECTOR_WIDTH>(row.%s);\n", e->name[kiln__row_of(s)->reference]);
    else if (s->edges == KILN__EDGES_MASKED)
        kiln__write(e, "    row.shift = (int)(row.index * %d & (KILN_VECTOR_WIDTH - 1));\n",
                    kiln__row_of(s)->row_phase);
    if (s->edges == KILN__EDGES_SHIFTED)
        kiln__write(e, "    row.shift = kiln_skip<KILN_VECTOR_WIDTH>(row.%s);\n", e->name[e->inputs]);
    if (s->edges == KILN__EDGES_PEELED && kiln__schedule_shifts(s))
        kiln__write(e, "    row.head = -kiln_skip<KILN_VECTOR_WIDTH>(row.%s) & (KILN_VECTOR_WIDTH - 1);\n",
                    e->name[kiln__row_of(s)->reference]);
    else if (s->edges == KILN__EDGES_PEELED && !e->problem->any_shape)
        kiln__write(e, "    row.head = (int)(row.index * -%d & (KILN_VECTOR_WIDTH - 1));\n",
                    kiln__row_of(s)->row_phase);
}

void kiln__emit_begin(const kiln__emitter *e) {
    kiln__write(e, "%s void kiln_begin(kiln_row &row)\n{\n    const kiln_arguments &args = row.args;\n",
                kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_DEVICE");
    if (e->schedule->evict_first_rows)
        kiln__write(e, "    row.policy = kiln_policy(args.rows <= %" PRId64 ");\n", e->schedule->evict_first_rows);
    if (e->rows_in_vectors) {
        kiln__write(e, "#pragma unroll\n    for (int i = 0; i < KILN_RUNS; ++i) {\n");
        emit_places(e);
        kiln__write(e, "    }\n%s",
                    e->schedule->edges == KILN__EDGES_MISALIGNED ? "    row.index[0] += row.offset;\n" : "");
        emit_row_inputs(e);
    } else {
        if (e->problem->any_shape) kiln__write(e, "    kiln_enter(row);\n");
        emit_places(e);
        if (e->problem->offsets >= 0) emit_offsets(e);
        emit_phase_of_row(e);
    }
    emit_row_values(e, 0);
    if (e->problem->least_cols)
        kiln__write(e, "    row.cols = (kiln_index)args.columns;\n");
    else if (e->problem->lengths && e->problem->offsets < 0)
        kiln__write(e, "    row.cols = (kiln_index)%s;\n", kiln__spell_value(e, e->ir->length - 1));
    kiln__write(e, "}\n\n");
    if (e->problem->any_shape) kiln__emit_any_run(e);
}

void kiln__emit_after(const kiln__emitter *e, uint32_t phase) {
    kiln__write(e, "%s void kiln_after%u(kiln_row &row, const kiln_phase%u &reduced)\n{\n",
                kiln__vectors_are_called(e) ? "KILN_CALL" : "KILN_DEVICE", phase, phase);
    emit_row_values(e, phase + 1);
    kiln__write(e, "}\n\n");
}

bool kiln__emit_finish_row(const kiln__emitter *e) {
    bool any = false;
    for (int o = e->inputs; o < e->tensors; o++) {
        if (e->problem->operands[o].per_element || e->problem->operands[o].across) continue;
        uint32_t inst = e->ir->outputs[o - e->inputs];
        const char *type = kiln__cxx_ctype(e->ir->insts[inst].type), *value = kiln__spell_value(e, inst);
        if (!any)
            kiln__write(e,
                        "/* Outputs of one value per row. */\n"
                        "KILN_DEVICE void kiln_finish_row(const kiln_row &row)\n{\n%s",
                        e->rows_in_vectors ? "    const kiln_span span(row, 0, 0);\n" : "");
        any = true;
        if (!e->rows_in_vectors) {
            const char *writes = e->ir->places[o - e->inputs] ? kiln__spell(e, "if (row.writes_%s) ", e->name[o]) : "";
            kiln__write(e, "    %skiln_narrow((%s)%s, *row.%s);\n", writes, type, value, e->name[o]);
            continue;
        }
        kiln__write(e, "    {\n");
        kiln__emit_computed(e, o);
        kiln__write(e, "#pragma unroll\n        for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) %s[j] = %s;\n",
                    kiln__spell_computed(e, o), value);
        kiln__emit_put(e, o);
        kiln__write(e, "    }\n");
    }
    if (any) kiln__write(e, "}\n\n");
    return any;
}
