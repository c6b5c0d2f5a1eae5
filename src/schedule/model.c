/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/model.h"

#include <math.h>
#include <string.h>

#include "base/types.h"
#include "schedule/model_coefficients.h"
#include "schedule/work.h"

const char *const kiln__term_names[KILN__TERMS] = {
    "memory", "reread", "queue",  "ends",     "pieces", "share",   "late", "requests", "lines", "issue",
    "banks",  "chain",  "serial", "exchange", "alone",  "cluster", "tail", "spill",    "code",  "launch"};

typedef kiln__work work;

/* ---- the device's speeds ---- */

#define L2_SPEED 2.2    /* of the memory's */
#define L2_LATENCY 0.45 /* of the memory's */
#define SECTOR_BYTES 32
#define LINE_BYTES 128
#define ISSUES 4 /* of a multiprocessor's schedulers, in a clock */

static double memory_us(const work *w, double bytes) { return bytes / (1e3 * (double)w->g->device->bandwidth); }

static double clock_us(const work *w, double clocks) {
    return clocks / (1e3 * kiln__device_pace(w->g->device->arch).clock_ghz);
}

static double latency_us(const work *w) { return 1e-3 * kiln__device_pace(w->g->device->arch).latency_ns; }

/* Clocks of all multiprocessors, one thing in each. */
static double throughput_us(const work *w, double count) { return clock_us(w, count / w->g->device->sm_count); }

/* ---- memory ---- */

static double reread_us(const work *w) {
    const kiln__device *device = w->g->device;
    const double again = w->elements * w->g->traits.input_bytes * (w->passes - 1) * w->unstaged;
    const double at_once = (double)w->resident * device->sm_count * w->cols * w->g->traits.input_bytes *
                           w->s->team.rows_per_block / w->s->team.blocks_per_row;
    const bool in_l2 = at_once < 0.5 * (double)device->l2_bytes;
    return memory_us(w, again) / (in_l2 ? L2_SPEED : 1);
}

/* Bytes that a block has asked for and not got. */
static double asked_bytes(const work *w) {
    const kiln__schedule *s = w->s;
    if (s->staging.kind == KILN__STAGING_TILE) return s->staging.bytes;
    const double vectors = s->staging.kind == KILN__STAGING_NONE ? s->batch : (double)s->steps;
    return vectors * s->team.threads * s->vector_width * w->g->traits.input_bytes * kiln__work_rows_in_flight(w);
}

/* Little's law: as many bytes must be under way as memory delivers while one waits. */
static double queue_us(const work *w) {
    const kiln__device *device = w->g->device;
    const double needed = (double)device->bandwidth * 1e3 * latency_us(w) / device->sm_count;
    const double used = w->slots > w->elements ? w->elements / w->slots : 1;
    const double asked = asked_bytes(w) * w->at_once * used;
    return asked > 0 ? memory_us(w, w->bytes) * needed / asked : 0;
}

/* What a block reads side by side of neighbouring rows; 0: all that it reads. */
static double piece_bytes(const work *w) {
    const kiln__schedule *s = w->s;
    const int widest = w->g->traits.widest ? w->g->traits.widest : 1;
    if (s->strategy == KILN__COLUMN) return (double)s->team.rows_per_block * widest;
    if (s->strategy == KILN__TRANSPOSE) return (double)s->team.threads_per_row * s->vector_width * widest;
    return 0;
}

/* Whether neighbouring rows at all columns begin where a sector does. */
static bool begin_with_sectors(const kiln__problem *p) {
    bool all = true;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__operand *operand = &p->operands[o];
        const int sector = SECTOR_BYTES / (int)kiln_type_size(operand->type);
        for (int d = 0; d + 1 < p->outer_rank && !operand->linear; d++) all &= operand->outer_strides[d] % sector == 0;
        for (int d = 0; d < p->inner_rank && operand->per_element; d++) all &= operand->inner_strides[d] % sector == 0;
    }
    return all;
}

/* Of sectors at both ends of a piece half is in vain. */
static double ends_us(const work *w) {
    const kiln__traits *t = &w->g->traits;
    if (w->s->strategy != KILN__COLUMN || begin_with_sectors(w->g->problem)) return 0;
    const double wasted = w->elements * (t->input_bytes + t->output_bytes) * SECTOR_BYTES / piece_bytes(w);
    return memory_us(w, wasted) / L2_SPEED;
}

static double pieces_us(const work *w) {
    const double piece = piece_bytes(w);
    return piece > 0 ? memory_us(w, w->bytes) * fmin(LINE_BYTES / piece, 4) : 0;
}

/* ---- what all rows share ---- */

/* Read once for the rows that a group works on at a time. */
static double share_us(const work *w) {
    const double bytes = w->elements / kiln__work_rows_in_flight(w) * w->g->traits.invariant_bytes;
    return memory_us(w, bytes) / L2_SPEED;
}

static double late_us(const work *w) {
    const kiln__row_schedule *row = kiln__row_of(w->s);
    const bool late = row->invariant_inputs && !row->prefetch && !row->batched;
    return late ? memory_us(w, w->bytes) : 0;
}

/* ---- accesses ---- */

/* Neighbouring lanes of a warp that read side by side. */
static double lanes_side_by_side(const kiln__schedule *s) {
    int lanes = 32;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) lanes = s->team.threads_per_row / s->team.blocks_per_row;
    if (kiln__layout_of(s) == KILN__LAYOUT_OUTER) lanes = s->team.rows_per_block / s->vector_width;
    return lanes < 1 ? 1 : lanes < 32 ? lanes : 32;
}

/* Elements of one access. */
static double width_of(const kiln__access *access) {
    if (access->width) return access->width;
    return access->run > 1 ? access->run : 1;
}

/* Of one vector, all tensors that have columns. */
static double requests_of(const work *w) {
    const kiln__problem *p = w->g->problem;
    double count = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++)
        if (p->operands[o].per_element) count += w->s->vector_width / width_of(&w->s->tensors[o]);
    return count;
}

/* Lines of one warp's accesses to a tensor, over the vectors that it covers. */
static double lines_of(const work *w, int o) {
    const kiln__schedule *s = w->s;
    const double lanes = lanes_side_by_side(s), width = width_of(&s->tensors[o]);
    const double size = (double)kiln_type_size(w->g->problem->operands[o].type);
    return 32.0 / lanes * s->vector_width / width * ceil(lanes * width * size / LINE_BYTES);
}

static double lines_us(const work *w) {
    const kiln__problem *p = w->g->problem;
    const bool tile = w->s->staging.kind == KILN__STAGING_TILE;
    double lines = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const double flat = w->elements * (double)kiln_type_size(p->operands[o].type) / LINE_BYTES;
        if (p->operands[o].per_element) lines += tile ? flat : w->vectors / 32 * lines_of(w, o);
    }
    return throughput_us(w, lines);
}

/* ---- instructions ---- */

#define VECTOR_INSTRUCTIONS 6  /* of an access: its address, the access, its conversion */
#define ELEMENT_INSTRUCTIONS 8 /* the same, where each element has an address */
#define ROW_INSTRUCTIONS 60    /* where a row begins and ends, of each thread */
#define MASK_INSTRUCTIONS 3    /* of an element */
#define SHUFFLE_INSTRUCTIONS 3 /* of a value, for each step */

static double access_instructions(const work *w) {
    const kiln__problem *p = w->g->problem;
    double sum = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__access *access = &w->s->tensors[o];
        const double each = access->width ? VECTOR_INSTRUCTIONS : ELEMENT_INSTRUCTIONS;
        if (p->operands[o].per_element) sum += w->s->vector_width / width_of(access) * each;
    }
    return sum;
}

/* Of one thread for one vector. */
static double vector_instructions(const work *w) {
    const kiln__traits *t = &w->g->traits;
    const bool masked = w->s->edges == KILN__EDGES_MASKED && kiln__layout_of(w->s) == KILN__LAYOUT_INNER;
    const double element = (double)(t->reduce_weight + t->output_weight) + (masked ? MASK_INSTRUCTIONS : 0);
    return element * w->s->vector_width + access_instructions(w) * (1 + w->unstaged * (w->passes - 1));
}

static double row_instructions(const work *w) {
    const kiln__schedule *s = w->s;
    const double values = w->g->traits.carried * (kiln__layout_of(s) == KILN__LAYOUT_OUTER ? s->vector_width : 1);
    const double lanes = s->team.threads_per_row < 32 ? s->team.threads_per_row : 32;
    const double steps = lanes > 1 ? log2(lanes) + 3 : 0;
    return ROW_INSTRUCTIONS + (double)w->g->traits.row_weight + values * steps * SHUFFLE_INSTRUCTIONS;
}

static double threads_of(const work *w) { return w->blocks * w->s->team.threads; }

static double issue_us(const work *w) {
    const double rows = threads_of(w) * kiln__work_rows_in_flight(w);
    return throughput_us(w, (w->vectors * vector_instructions(w) + rows * row_instructions(w)) / 32 / ISSUES);
}

/* What is written out one after another of a vector's work. */
static double code_us(const work *w) {
    enum { CACHED = 8192 }; /* instructions of 16 bytes in 128 KB */
    const double unrolled = (double)w->s->unroll * vector_instructions(w) * kiln__work_rows_in_flight(w);
    return memory_us(w, w->bytes) * unrolled / CACHED;
}

/* ---- shared memory ---- */

/* How many words of one bank a warp's threads read at once: of neighbouring lanes, then of rows. */
static int conflicts_of(const work *w) {
    const kiln__schedule *s = w->s;
    const int size = w->g->traits.widest ? w->g->traits.widest : 4, lanes = s->team.threads_per_row;
    int64_t words[32];
    int counts[32] = {0}, most = 1;
    if (s->strategy != KILN__ROW_TILE) return 1;
    for (int t = 0; t < 32; t++) {
        words[t] = (t / lanes * w->g->problem->cols + (int64_t)(t % lanes) * s->vector_width) * size / 4;
        int same = 0;
        while (words[same] != words[t]) same++;
        if (same == t && ++counts[words[t] % 32] > most) most = counts[words[t] % 32];
    }
    return most;
}

static double banks_us(const work *w) {
    const kiln__traits *t = &w->g->traits;
    const double in = w->elements * t->input_bytes, out = w->elements * t->output_bytes;
    if (w->s->staging.kind == KILN__STAGING_SHARED)
        return throughput_us(w, in * (1 - w->unstaged) * (1 + w->passes) / LINE_BYTES);
    if (w->s->staging.kind != KILN__STAGING_TILE) return 0;
    const double wide = w->s->vector_width * (t->widest ? t->widest : 4) < 4 ? 2 : 1; /* narrower than a bank */
    const double conflicts = conflicts_of(w) * wide;
    return throughput_us(w, (in + out + conflicts * (in * w->passes + out)) / LINE_BYTES);
}

/* ---- a block's turn ---- */

#define SHUFFLE_CLOCKS 30
#define BARRIER_CLOCKS 80
#define CLUSTER_CLOCKS 1500
#define GRID_CLOCKS 5000

/* Waits for memory, one after another. */
static double chain_us(const work *w) {
    const kiln__schedule *s = w->s;
    const double batches = s->batch > 0 ? ceil((double)s->steps / s->batch) : 1;
    const double first = s->staging.kind == KILN__STAGING_NONE ? batches : 1;
    const bool late = kiln__row_of(s)->invariant_inputs > 0 && !kiln__row_of(s)->prefetch;
    const double chunks = late && s->unroll > 0 ? L2_LATENCY * ceil((double)s->steps / (double)s->unroll) : 0;
    return w->turns * latency_us(w) * (first + w->unstaged * batches * (w->passes - 1) + chunks);
}

static double serial_us(const work *w) {
    const double rows = kiln__work_rows_in_flight(w);
    const double clocks = (double)w->s->steps * rows * vector_instructions(w) + rows * row_instructions(w);
    return w->turns * clock_us(w, clocks);
}

static double exchange_us(const work *w) {
    const kiln__schedule *s = w->s;
    const double lanes = s->team.threads_per_row < 32 ? s->team.threads_per_row : 32;
    double clocks = lanes > 1 && kiln__layout_of(s) == KILN__LAYOUT_INNER ? SHUFFLE_CLOCKS * log2(lanes) : 0;
    if (s->team.group != KILN__GROUP_LANES) clocks += BARRIER_CLOCKS + 5 * SHUFFLE_CLOCKS;
    if (kiln__schedule_clusters(s)) clocks += CLUSTER_CLOCKS;
    if (s->team.group == KILN__GROUP_GRID) clocks += GRID_CLOCKS;
    return w->phases > 0 ? w->turns * w->phases * clock_us(w, clocks) : 0;
}

/* ---- how blocks follow one another ---- */

static double cluster_us(const work *w) {
    return kiln__schedule_clusters(w->s) ? memory_us(w, w->bytes) * log2(w->s->team.blocks_per_row) / 4 : 0;
}

/* The last turn takes as long as one before, for fewer blocks. */
static double tail_us(const work *w) {
    if (kiln__row_of(w->s)->persistent || w->turns <= 0) return 0;
    return (ceil(w->turns) - w->turns) * memory_us(w, w->bytes) / w->turns;
}

static double spill_us(const work *w) { return memory_us(w, threads_of(w) * 8.0 * w->spilled * w->passes) / L2_SPEED; }

#define LAUNCH_US 3

static double launch_us(const work *w) {
    const double handed_on = (double)kiln__schedule_workspace(w->s, w->g->ir, (int64_t)w->rows);
    return LAUNCH_US * (kiln__schedule_launches(w->s, w->g->ir) - 1) + memory_us(w, 2 * handed_on);
}

/* ---- all of them ---- */

void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out) {
    const work w = kiln__work_of(g, s);
    const double memory = memory_us(&w, w.bytes);
    const double terms[KILN__TERMS] = {
        [KILN__TERM_MEMORY] = memory,
        [KILN__TERM_REREAD] = reread_us(&w),
        [KILN__TERM_QUEUE] = queue_us(&w),
        [KILN__TERM_ENDS] = ends_us(&w),
        [KILN__TERM_PIECES] = pieces_us(&w),
        [KILN__TERM_SHARE] = share_us(&w),
        [KILN__TERM_LATE] = late_us(&w),
        [KILN__TERM_REQUESTS] = throughput_us(&w, w.vectors / 32 * requests_of(&w)),
        [KILN__TERM_LINES] = lines_us(&w),
        [KILN__TERM_ISSUE] = issue_us(&w),
        [KILN__TERM_BANKS] = banks_us(&w),
        [KILN__TERM_CHAIN] = chain_us(&w),
        [KILN__TERM_SERIAL] = serial_us(&w),
        [KILN__TERM_EXCHANGE] = exchange_us(&w),
        [KILN__TERM_ALONE] = memory / w.at_once,
        [KILN__TERM_CLUSTER] = cluster_us(&w),
        [KILN__TERM_TAIL] = tail_us(&w),
        [KILN__TERM_SPILL] = spill_us(&w),
        [KILN__TERM_CODE] = code_us(&w),
        [KILN__TERM_LAUNCH] = launch_us(&w),
    };
    *out = (kiln__estimate){.registers = w.registers, .resident = w.resident};
    memcpy(out->terms, terms, sizeof terms);
}

double kiln__model_part(const kiln__estimate *estimate, int term) {
    return kiln__coefficients[term] * estimate->terms[term];
}

double kiln__model_time(const kiln__estimate *estimate) {
    double us = 0;
    for (int t = 0; t < KILN__TERMS; t++) us += kiln__model_part(estimate, t);
    return us;
}
