/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/touched.h"

#include "base/types.h"
#include "schedule/build.h"

#define WARP 32

/* ---- where an element lies ---- */

/* Of an index over extents, slowest first: elements. Strides may be such that nothing is there: modulo 2^64. */
static uint64_t offset_of(int64_t index, int rank, const int64_t extents[], const int64_t strides[]) {
    uint64_t offset = 0;
    for (int d = rank - 1; d > 0; d--) {
        offset += (uint64_t)(index % extents[d]) * (uint64_t)strides[d];
        index /= extents[d];
    }
    return rank > 0 ? offset + (uint64_t)index * (uint64_t)strides[0] : 0;
}

static uint64_t place_of(const kiln__problem *p, const kiln__operand *operand, int64_t row, int64_t column) {
    const uint64_t start = operand->linear ? (uint64_t)row * (uint64_t)operand->row_stride
                                           : offset_of(row, p->outer_rank, p->outer, operand->outer_strides);
    if (p->layout == KILN__LAYOUT_FLAT) return start;
    if (operand->contiguous_columns) return start + (uint64_t)column;
    return start + offset_of(column, p->inner_rank, p->inner, operand->inner_strides);
}

/* ---- which element a thread has ---- */

typedef struct element {
    int64_t row, column;
} element;

/* The first of a thread's part of the first tile, as the threads of a transpose share it; rows: none. */
static element first_of_tile(const kiln__problem *p, const kiln__schedule *s, int thread) {
    const int beside = s->team.threads_per_row, last = p->outer_rank - 1;
    const int64_t column = (int64_t)(thread % beside) * s->vector_width, line = thread / beside * s->steps;
    int64_t spacing = 1;
    for (int d = s->transpose.dim + 1; d <= last; d++) spacing *= p->outer[d];
    const bool there = column < p->outer[last] && line < p->outer[s->transpose.dim];
    return (element){there ? line * spacing + column : p->rows, 0};
}

/* The first of a thread's first vector. */
static element first_of(const kiln__problem *p, const kiln__schedule *s, int thread) {
    const int width = s->vector_width, beside = s->team.threads_per_row;
    if (s->strategy == KILN__TRANSPOSE) return first_of_tile(p, s, thread);
    switch (kiln__layout_of(s)) {
    case KILN__LAYOUT_INNER: return (element){thread / beside, (int64_t)(thread % beside) * width};
    case KILN__LAYOUT_OUTER: {
        const int64_t place = (int64_t)thread * width, kept = s->team.rows_per_block;
        if (s->edges == KILN__EDGES_WRAPPED) return (element){place % kept, place / kept};
        const int lanes = kiln__column_lanes(s);
        return (element){(int64_t)(thread % lanes) * width, thread / lanes};
    }
    default: return (element){(int64_t)thread * width, 0};
    }
}

/* ---- counting ---- */

/* Pieces of memory, each once. */
typedef struct pieces {
    uint64_t of[4 * WARP], last; /* the last in memory */
    int count;
} pieces;

static bool has(const pieces *p, uint64_t piece) {
    if (!p->count || piece > p->last) return false; /* threads go forwards, mostly */
    for (int i = p->count - 1; i >= 0; i--)
        if (p->of[i] == piece) return true;
    return false;
}

static void add(pieces *p, uint64_t piece) {
    if (has(p, piece) || p->count == 4 * WARP) return;
    if (!p->count || piece > p->last) p->last = piece;
    p->of[p->count++] = piece;
}

static void add_access(pieces *p, uint64_t first, uint64_t last, unsigned bytes) {
    for (uint64_t piece = first / bytes; piece <= last / bytes; piece++) add(p, piece);
}

static void add_element(pieces *lines, pieces *sectors, uint64_t first, unsigned bytes) {
    add_access(lines, first, first + bytes - 1, KILN__LINE_BYTES);
    add_access(sectors, first, first + bytes - 1, KILN__SECTOR_BYTES);
}

/* ---- tiles ---- */

/* One flat array, `requests` accesses of 16 bytes by each thread. */
static kiln__touched flat(double requests) {
    const double bytes = WARP * KILN__ACCESS_BYTES;
    return (kiln__touched){requests, requests * bytes / KILN__LINE_BYTES, requests * bytes / KILN__SECTOR_BYTES};
}

/* A row tile's copy of a tensor, for each vector of the tile: what all rows share is copied once. */
static kiln__touched copied(const kiln__problem *p, const kiln__schedule *s, int tensor) {
    const kiln__operand *operand = &p->operands[tensor];
    const bool shared = !operand->output && !operand->follows_rows;
    const double elements = (double)s->vector_width / (shared ? s->team.rows_per_block : 1);
    return flat(elements * (double)kiln_type_size(operand->type) / KILN__ACCESS_BYTES);
}

/* ---- all schedules ---- */

kiln__touched kiln__warp_touches(const kiln__problem *problem, const kiln__schedule *s, int tensor) {
    const kiln__operand *operand = &problem->operands[tensor];
    const kiln__access *access = &s->tensors[tensor];
    const unsigned size = (unsigned)kiln_type_size(operand->type);
    const unsigned width = access->kind == KILN__ACCESS_SAME ? 1 : (unsigned)kiln__access_elements(access);
    const double requests = (double)s->vector_width / kiln__access_elements(access);
    pieces lines = {.count = 0}, sectors = {.count = 0};
    if (access->copy_width) return copied(problem, s, tensor);
    if (kiln__column_of(s)->tile.rows) return flat(s->vector_width * (double)size / KILN__ACCESS_BYTES);
    for (int t = 0; t < WARP; t++) {
        const element e = first_of(problem, s, t);
        if (e.row >= problem->rows || (problem->layout != KILN__LAYOUT_FLAT && e.column >= problem->cols)) continue;
        add_element(&lines, &sectors, place_of(problem, operand, e.row, e.column) * size, width * size);
    }
    return (kiln__touched){requests, requests * lines.count, requests * sectors.count};
}
