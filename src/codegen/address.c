/* SPDX-License-Identifier: Apache-2.0 */
/* Where elements lie in a tensor: the functions that tell it, and addresses as they are spelled. */
#include <inttypes.h>

#include "codegen/emitter.h"

void kiln__emit_coordinates(const kiln__emitter *e, const char *index) {
    bool wide = e->problem->wide;
    const char *type = wide ? "kiln_i64" : "kiln_u32";
    int last = e->problem->outer_rank - 1;
    kiln__write(e, "    const %s q%d = (%s)%s;\n", type, last, type, index);
    for (int d = last; d > 0; d--) {
        kiln__write(e,
                    wide ? "    const %s q%d = q%d / args.extent%d, "
                         : "    const %s q%d = kiln_divide(q%d, args.extent%d), ",
                    type, d - 1, d, d);
        kiln__write(e, "c%d = q%d - q%d * args.extent%d%s;\n", d, d, d - 1, d, wide ? "" : ".divisor");
    }
}

void kiln__emit_strided_sum(const kiln__emitter *e, int o) {
    for (int d = 0; d < e->problem->outer_rank; d++)
        if (e->problem->operands[o].outer_strides[d])
            kiln__write(e, " + %s%d * args.stride%d_%s", d ? "c" : "q", d, d, e->name[o]);
}

/* Whether the operand's place for row j is that of its rank, too: else its column is still to be told. */
static bool is_wrapped(const kiln__emitter *e, int o) {
    return o < e->tensors && e->schedule->tensors[o].kind == KILN__ACCESS_WRAPPED;
}

/* Of a column of the reduced dimensions, whose extents are constants. */
static void emit_stepped_sum(const kiln__emitter *e, int o) {
    const kiln__problem *p = e->problem;
    int64_t below = 1;
    for (int d = p->inner_rank - 1; d >= 0; below *= p->inner[d--]) {
        int64_t stride = p->operands[o].inner_strides[d];
        if (!stride) continue;
        kiln__write(e, " + (kiln_i64)(col");
        if (below > 1) kiln__write(e, " / %" PRId64, below);
        if (d > 0) kiln__write(e, " %% %" PRId64, p->inner[d]);
        kiln__write(e, ")");
        if (is_wrapped(e, o))
            kiln__write(e, " * KILN_KEPT_ROWS");
        else if (stride != 1)
            kiln__write(e, " * args.step%d_%s", d, e->name[o]);
    }
    const kiln__operand *operand = &p->operands[o];
    if (operand->block_stride)
        kiln__write(e, " + (kiln_i64)(%s) * %" PRId64, kiln__spell_block_number(e, operand->run, "col"),
                    operand->block_stride);
}

bool kiln__has_offset(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    if (e->problem->any_shape) return false; /* its strides are asked */
    return (operand->per_element || operand->taken) && !(e->flat ? operand->linear : operand->contiguous_columns);
}

/* kiln_offset_<operand>: where an element of the flat array, or a column of a row, lies in a tensor. */
static void emit_offset(const kiln__emitter *e, int o) {
    kiln__write(e, "KILN_DEVICE kiln_i64 kiln_offset_%s(const kiln_arguments &args, kiln_index %s)\n{\n", e->name[o],
                e->flat ? "index" : "col");
    if (e->flat) kiln__emit_coordinates(e, "index");
    kiln__write(e, "    return 0");
    if (e->flat)
        kiln__emit_strided_sum(e, o);
    else
        emit_stepped_sum(e, o);
    kiln__write(e, ";\n}\n\n");
}

static const char *spell_last_stride(const kiln__emitter *e, int o) {
    const int last = e->problem->outer_rank - 1;
    const int64_t stride = e->problem->operands[o].outer_strides[last];
    return stride == 0 ? "0" : stride == 1 ? "1" : kiln__spell(e, "args.stride%d_%s", last, e->name[o]);
}

/* Elements between rows, of an operand that may not be read there; "": there are none. */
static const char *spell_gap(const kiln__emitter *e, int o) {
    const kiln__problem *p = e->problem;
    if (!p->pitch || !p->operands[o].outer_strides[p->outer_rank - 1]) return "";
    return p->wide ? "(args.pitch - args.filled)" : "(args.pitch.divisor - args.filled)";
}

/* kiln_crossing_<operand>: where the elements of a vector of the flat array lie in a tensor. Of one that begins before
 * the array, those that it has begin a run. */
static void emit_crossing(const kiln__emitter *e, int o) {
    const kiln__problem *p = e->problem;
    const int last = p->outer_rank - 1;
    const bool shifted = e->schedule->edges == KILN__EDGES_SHIFTED;
    const bool straight = !last || e->schedule->in_runs;
    const char *gap = spell_gap(e, o), *early = shifted ? " - early" : "", *stride = spell_last_stride(e, o);
    kiln__write(e, "KILN_DEVICE kiln_crossing kiln_crossing_%s(const kiln_arguments &args, kiln_index index)\n{\n",
                e->name[o]);
    if (shifted) kiln__write(e, "    const kiln_i64 early = index < 0 ? index : 0; /* before the array */\n");
    kiln__emit_coordinates(e, shifted ? "(index - early)" : "index");
    kiln__write(e, "    const kiln_i64 here = 0");
    kiln__emit_strided_sum(e, o);
    if (shifted) kiln__write(e, " + early * %s", stride);
    kiln__write(e, ";\n");
    if (straight && !e->schedule->tensors[o].shifted) {
        kiln__write(e, "    return {here, 0, 0, 2 * KILN_VECTOR_WIDTH};\n}\n\n");
        return;
    }
    kiln__write(e, "    const kiln_index left = args.extent%d%s - c%d%s%s%s;\n", last, p->wide ? "" : ".divisor", last,
                early, *gap ? " - " : "", gap);
    if (straight)
        kiln__write(e, "    const kiln_i64 there = 0;\n");
    else if (*gap)
        kiln__write(e,
                    "    const kiln_index next = left + %s;\n"
                    "    const kiln_i64 there = next < KILN_VECTOR_WIDTH ? kiln_offset_%s(args, index + next) - "
                    "(next - left) * %s : 0;\n",
                    gap, e->name[o], stride);
    else
        kiln__write(e,
                    "    const kiln_i64 there = left < KILN_VECTOR_WIDTH ? kiln_offset_%s(args, index + left) : 0;\n",
                    e->name[o]);
    kiln__write(e, "    return {here, there, kiln_clip(c%d), kiln_clip(left)};\n}\n\n", last);
}

/* The same of the columns of a row, of runs of one value each. Of a masked vector that begins before the row, or ends
 * behind it, places are those of the columns that the row has. */
static void emit_column_crossing(const kiln__emitter *e, int o) {
    const kiln__problem *p = e->problem;
    const int64_t run = p->inner[p->inner_rank - 1];
    const bool masked = e->schedule->edges == KILN__EDGES_MASKED;
    const char *name = e->name[o], *first = masked ? "first" : "col";
    kiln__write(e, "KILN_DEVICE kiln_crossing kiln_crossing_%s(const kiln_arguments &args, kiln_index col)\n{\n", name);
    if (masked)
        kiln__write(e,
                    "    const kiln_index first = col < 0 ? 0 : col < KILN_COLS ? col : (kiln_index)KILN_COLS - 1;\n");
    kiln__write(e, "    const kiln_i64 here = kiln_offset_%s(args, %s);\n", name, first);
    if (e->schedule->edges == KILN__EDGES_ALIGNED && run % e->schedule->vector_width == 0) {
        kiln__write(e, "    return {here, 0, 0, 2 * KILN_VECTOR_WIDTH};\n}\n\n");
        return;
    }
    kiln__write(e,
                "    const kiln_index left = %" PRId64 " - %s %% %" PRId64 "%s;\n"
                "    const kiln_i64 there = left < KILN_VECTOR_WIDTH ? kiln_offset_%s(args, col + left) : 0;\n"
                "    return {here, there, 0, kiln_clip(left)};\n}\n\n",
                run, first, run, masked ? " + (first - col)" : "", name);
}

void kiln__emit_offsets(const kiln__emitter *e) {
    for (int o = 0; o < e->operands; o++)
        if (kiln__has_offset(e, o)) emit_offset(e, o);
    for (int o = 0; o < e->tensors; o++) {
        if (!kiln__access_crosses(&e->schedule->tensors[o])) continue;
        if (e->flat)
            emit_crossing(e, o);
        else
            emit_column_crossing(e, o);
    }
}

/* How far the element at `column` is from the row's start: "col". */
static const char *spell_offset(const kiln__emitter *e, int o, const char *column) {
    const kiln__operand *operand = &e->problem->operands[o];
    if (!operand->per_element) return "0";
    if (e->problem->any_shape && operand->run)
        return kiln__spell(e, "(kiln_i64)(%s) * row.args.block_%s", kiln__spell_block_number(e, operand->run, column),
                           e->name[o]);
    if (e->problem->any_shape)
        return kiln__spell(e, "%s * kiln_column_stride(row.args.shape, row.args.strides_%s)", column, e->name[o]);
    if (!kiln__has_offset(e, o)) return column;
    return kiln__spell(e, "kiln_offset_%s(row.args, %s)", e->name[o], column);
}

/* Where rows are not in vectors: the address of the element at `column`. */
static const char *spell_address(const kiln__emitter *e, int o, const char *column) {
    return kiln__spell(e, "row.%s + %s", e->name[o], spell_offset(e, o, column));
}

const char *kiln__spell_vector_address(const kiln__emitter *e, int o) {
    if (!e->rows_in_vectors) return spell_address(e, o, "col");
    return kiln__spell(e, "row.%s, %s", e->name[o], spell_offset(e, o, "col"));
}

const char *kiln__spell_row_step(const kiln__emitter *e, int o, const char *rows) {
    const kiln__operand *operand = &e->problem->operands[o];
    int last = e->problem->outer_rank - 1;
    int64_t stride = operand->linear || last < 0 ? operand->row_stride : operand->outer_strides[last];
    if (!stride) return "";
    if (stride == 1) return kiln__spell(e, " + %s", rows);
    if (!operand->linear) return kiln__spell(e, " + %s * row.args.stride%d_%s", rows, last, e->name[o]);
    if (!kiln__stride_is_constant(e->problem, stride))
        return kiln__spell(e, " + %s * row.args.row_%s", rows, e->name[o]);
    return kiln__spell(e, " + %s * %" PRId64, rows, stride);
}

const char *kiln__spell_run_step(const kiln__emitter *e, int o) {
    const int last = e->problem->outer_rank - 1;
    if (!e->problem->operands[o].outer_strides[last]) return "";
    return kiln__spell(e, " + j * row.args.stride%d_%s", last, e->name[o]);
}

const char *kiln__spell_element_address(const kiln__emitter *e, int o, const char *column) {
    const bool given = column != NULL;
    const bool near = !column && kiln__has_offset(e, o) && e->schedule->in_runs;
    if (!column) column = e->rows_in_vectors || near ? "col" : "(col + j)";
    if (!given && e->schedule->edges == KILN__EDGES_WRAPPED && !is_wrapped(e, o)) column = "(col + row.rank[j])";
    if (near) return kiln__spell(e, "%s%s", spell_address(e, o, column), kiln__spell_run_step(e, o));
    if (!e->rows_in_vectors) return spell_address(e, o, column);
    const char *offset = spell_offset(e, o, column);
    return kiln__spell(
        e, "row.%s[%s] + %s%s", e->name[o], kiln__column_of(e->schedule)->run_rows == 1 ? "j" : "j / KILN_RUN_ROWS",
        offset, kiln__column_of(e->schedule)->run_rows == 1 ? "" : kiln__spell_row_step(e, o, "j % KILN_RUN_ROWS"));
}

const char *kiln__spell_crossing(const kiln__emitter *e, int o) {
    return kiln__spell(e, "kiln_crossing_%s(row.args, col)", e->name[o]);
}

const char *kiln__spell_run_stride(const kiln__emitter *e, int o) {
    const char *stride = spell_last_stride(e, o);
    return *stride == 'a' ? kiln__spell(e, "row.%s", stride) : stride;
}
