/* SPDX-License-Identifier: Apache-2.0 */
/* What a tuned record is for. Everything is written as numbers of 64 bits in a fixed order, texts behind their lengths;
 * strides as classes, since a stride is the number of rows wherever rows lie between two columns. */
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "runtime/tuned.h"
#include "schedule/access.h"
#include "schedule/typical_rows.h"
#include "kiln_sources.h"

#define WIDEST 16 /* elements of the widest vector: alignment beyond it is nothing to a schedule */

static void add(kiln__text *key, int64_t number) { kiln__text_add(key, (const char *)&number, sizeof number); }

static void add_bytes(kiln__text *key, const void *bytes, size_t size) {
    add(key, (int64_t)size);
    kiln__text_add(key, bytes, size);
}

/* ---- the program ---- */

/* What of an operation's union belongs to it, as typed programs have it. */
static int64_t detail_of(const kiln__inst *inst) {
    int64_t bits = 0;
    switch (inst->op) {
    case KILN__OP_FLOAT: memcpy(&bits, &inst->u.f64, sizeof bits); return bits;
    case KILN__OP_INT:
    case KILN__OP_BOOL: return inst->u.i64;
    case KILN__OP_STOCHASTIC:
    case KILN__OP_ROUND_TO: return inst->u.storage;
    case KILN__OP_INPUT:
    case KILN__OP_ROWS_OF:
    case KILN__OP_TAKE: return inst->u.input;
    case KILN__OP_SCALAR: return inst->u.scalar;
    case KILN__OP_REDUCE_USER: return inst->u.reducer;
    case KILN__OP_INDEX:
    case KILN__OP_SIZE: return inst->u.axis;
    case KILN__OP_PARAM: return inst->u.param;
    case KILN__OP_FIRST: return inst->u.first;
    case KILN__OP_OWN: return (int64_t)inst->u.own->checksum;
    case KILN__OP_ORDER: return inst->u.order.descending | (int64_t)inst->u.order.first << 1;
    case KILN__OP_SCAN:
    case KILN__OP_REDUCE_BEFORE:
    case KILN__OP_BLOCK_REDUCE:
    case KILN__OP_ACROSS_REDUCE: return inst->u.block.op | inst->u.block.reducer << 16;
    default: return 0;
    }
}

static void add_insts(kiln__text *key, const kiln__inst *insts, uint32_t count) {
    add(key, count);
    for (uint32_t i = 0; i < count; i++) {
        const kiln__inst *inst = &insts[i];
        add(key, inst->op);
        add(key, inst->type);
        add(key, inst->phase);
        add(key, inst->per_element);
        add(key, inst->domain); /* columns of a block */
        add(key, inst->run);
        add(key, detail_of(inst));
        for (int a = 0; a < inst->arg_count; a++) add(key, inst->args[a]);
    }
}

static void add_program(kiln__text *key, const kiln__ir *ir) {
    add(key, ir->float_type);
    add_insts(key, ir->insts, ir->count);
    add(key, ir->combine_count);
    for (uint32_t i = 0; i < ir->combine_count; i++) {
        const kiln__combine *combine = &ir->combines[i];
        add_insts(key, combine->insts, combine->count);
        add(key, combine->result);
        add(key, combine->type);
        add_bytes(key, &combine->identity, sizeof combine->identity);
        add(key, combine->identity_i64);
    }
    add(key, ir->scalar_count);
    for (uint32_t i = 0; i < ir->scalar_count; i++) add(key, ir->scalar_types[i]);
    add(key, ir->length);
    add(key, ir->offsets);
    add(key, ir->output_count);
    for (uint32_t i = 0; i < ir->output_count; i++) {
        add(key, ir->outputs[i]);
        add(key, ir->places[i]);
    }
}

/* ---- the tensors ---- */

/* 0, 1, or else what power of two the stride is a multiple of. */
static int64_t stride_class(int64_t stride) {
    int64_t power = 1;
    if (stride == 0 || stride == 1) return stride;
    while (power < WIDEST && stride % (2 * power) == 0) power *= 2;
    return 16 + power;
}

/* Where rows begin: a widest vector at which they do alike, and how far apart in it. */
static void add_row_phase(kiln__text *key, const kiln__problem *problem, const kiln__operand *operand) {
    int width = WIDEST;
    while (kiln__row_phase(problem, operand, width) < 0) width /= 2;
    add(key, width);
    add(key, kiln__row_phase(problem, operand, width));
}

static void add_inner(kiln__text *key, const kiln__problem *problem, const kiln__operand *operand) {
    add(key, operand->contiguous_columns);
    add(key, operand->linear && operand->row_stride == problem->cols);
    add_row_phase(key, problem, operand);
    for (int d = 0; d < problem->inner_rank && !operand->contiguous_columns; d++)
        add(key, stride_class(operand->inner_strides[d]));
}

static void add_flat(kiln__text *key, const kiln__problem *problem, const kiln__operand *operand) {
    add(key, operand->linear);
    if (operand->linear) add(key, operand->row_stride);
    for (int d = 0; d < problem->outer_rank && !operand->linear; d++) add(key, stride_class(operand->outer_strides[d]));
}

static void add_operand(kiln__text *key, const kiln__problem *problem, const kiln__operand *operand) {
    add(key, operand->type);
    add(key, operand->output);
    add(key, operand->per_element);
    add(key, operand->follows_rows);
    add(key, operand->packed_rows);
    add(key, operand->alignment);
    add(key, operand->run);
    if (problem->layout == KILN__LAYOUT_INNER) add_inner(key, problem, operand);
    if (problem->layout == KILN__LAYOUT_FLAT) add_flat(key, problem, operand);
    const bool differ = kiln__neighbours_differ(problem, operand);
    if (problem->layout == KILN__LAYOUT_OUTER) add(key, differ);
    /* Told only where it is so: keys of all other problems are those that records have. */
    if (problem->layout == KILN__LAYOUT_INNER && operand->follows_rows && !differ) add(key, 1);
}

/* Of extents what is not rows: the columns; of programs without reductions all dimensions but the slowest. Where rows
 * lie side by side their number is in all strides, so that the columns' number is all there is. */
static void add_extents(kiln__text *key, const kiln__problem *problem) {
    add(key, problem->layout);
    add(key, problem->cols);
    add(key, problem->longest > INT32_MAX / 2);
    add(key, problem->columns_out);
    add(key, problem->uneven_columns);
    if (problem->least_cols) add(key, problem->least_cols);
    add(key, problem->pitch);
    add(key, problem->filled);
    if (problem->layout == KILN__LAYOUT_INNER) add_bytes(key, problem->inner, (size_t)problem->inner_rank * 8);
    if (problem->layout == KILN__LAYOUT_FLAT && problem->outer_rank > 0)
        add_bytes(key, problem->outer + 1, (size_t)(problem->outer_rank - 1) * 8);
}

kiln_status kiln__tuned_key(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                            kiln__key *out) {
    kiln__text key = {0};
    memset(out, 0, sizeof *out);
    const int operands = problem->input_count + problem->output_count;
    add_bytes(&key, kiln_version(), strlen(kiln_version()));
    add_bytes(&key, kiln__sources_digest, strlen(kiln__sources_digest));
    add_bytes(&key, device, sizeof *device); /* there is no padding */
    add_program(&key, ir);
    add_extents(&key, problem);
    add(&key, operands);
    for (int o = 0; o < operands; o++) add_operand(&key, problem, &problem->operands[o]);
    if (key.failed) {
        kiln__text_free(&key);
        return kiln__out_of_memory();
    }
    kiln_status status = kiln__key_of_record(key.data, key.size, out);
    kiln__text_free(&key);
    return status;
}
