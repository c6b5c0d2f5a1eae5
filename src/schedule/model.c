/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/model.h"

#include <math.h>
#include <string.h>

#include "base/types.h"
#include "schedule/model_trees.h"
#include "schedule/touched.h"
#include "schedule/work.h"

const char *const kiln__feature_names[KILN__FEATURES] = {
    "memory", "reread",   "queue",        "pieces",          "sectors",        "lines",        "requests",
    "issue",  "banks",    "chain",        "serial",          "exchange",       "alone",        "code",
    "launch", "strategy", "staging",      "blocks_per_row",  "turns",          "resident",     "registers",
    "steps",  "batch",    "staged_steps", "threads_per_row", "rows_per_block", "rank_groups",  "passes",
    "slots",  "columns",  "row_bytes",    "neighbours",      "reduce_weight",  "output_weight"};

typedef kiln__work work;

/* ---- the device's speeds ---- */

#define L2_SPEED 2.2    /* of the memory's */
#define L2_LATENCY 0.45 /* of the memory's */
#define ISSUES 4        /* of a multiprocessor's schedulers, in a clock */

static double memory_us(const work *w, double bytes) { return bytes / (1e3 * (double)w->g->device->bandwidth); }

static double clock_us(const work *w, double clocks) {
    return clocks / (1e3 * kiln__device_pace(w->g->device->arch).clock_ghz);
}

static double latency_us(const work *w) { return 1e-3 * kiln__device_pace(w->g->device->arch).latency_ns; }

/* Clocks of all multiprocessors, one thing in each. */
static double throughput_us(const work *w, double count) { return clock_us(w, count / w->g->device->sm_count); }

/* ---- memory ---- */

#define L2_PARTITIONS 2 /* each keeps what its own multiprocessors read, from 8.0 on */

static double reread_us(const work *w) {
    const kiln__device *device = w->g->device;
    const double again = w->elements * w->g->traits.input_bytes * (w->passes - 1) * w->unstaged;
    const double at_once = (double)w->resident * device->sm_count * w->cols * w->g->traits.input_bytes *
                           w->s->team.rows_per_block / w->s->team.blocks_per_row;
    const bool in_l2 = at_once < (double)device->l2_bytes / L2_PARTITIONS;
    return memory_us(w, again) / (in_l2 ? L2_SPEED : 1);
}

/* Of a row tile: what is copied, and a vector of each thread of what is not. */
static double asked_of_tile(const work *w) {
    const kiln__problem *p = w->g->problem;
    const kiln__schedule *s = w->s;
    double sum = 0;
    for (int i = 0; i < p->input_count; i++) {
        const kiln__operand *input = &p->operands[i];
        const kiln__access *access = &s->tensors[i];
        const double size = (double)kiln_type_size(input->type);
        const double all = size * w->cols * (input->follows_rows ? s->team.rows_per_block : 1);
        const double accesses = (double)s->team.threads * KILN__TILE_ACCESSES * KILN__ACCESS_BYTES;
        if (!input->per_element) continue;
        if (!access->copy_width)
            sum += s->team.threads * s->vector_width * size;
        else
            sum += access->copy_shifted ? fmin(accesses, all) : all;
    }
    return sum;
}

/* Bytes that a block has asked for and not got. */
static double asked_bytes(const work *w) {
    const kiln__schedule *s = w->s;
    if (s->strategy == KILN__ROW_TILE) return asked_of_tile(w);
    if (s->staging.kind == KILN__STAGING_TILE) return s->staging.bytes;
    const double vectors = s->staging.kind == KILN__STAGING_NONE ? s->batch : (double)s->steps;
    return vectors * s->team.threads * s->vector_width * w->g->traits.input_bytes * kiln__work_rows_in_flight(w);
}

/* Little's law: as many bytes must be under way as memory delivers while one waits. */
static double queue_us(const work *w) {
    const kiln__device *device = w->g->device;
    const double needed = (double)device->bandwidth * 1e3 * latency_us(w) / device->sm_count;
    const double used = fmin(w->elements / fmax(w->slots, 1), 1);
    const double asked = asked_bytes(w) * w->at_once * used;
    return asked > 0 ? memory_us(w, w->bytes) * needed / asked : 0;
}

/* What a block reads side by side of neighbouring rows; 0: all that it reads. */
static double piece_bytes(const work *w) {
    const kiln__schedule *s = w->s;
    const int widest = w->g->traits.widest ? w->g->traits.widest : 1;
    if (s->edges == KILN__EDGES_WRAPPED) return (double)s->team.threads * s->vector_width * widest;
    if (s->strategy == KILN__COLUMN) return (double)s->team.rows_per_block * widest;
    if (s->strategy == KILN__TRANSPOSE) return (double)s->team.threads_per_row * s->vector_width * widest;
    return 0;
}

static double pieces_us(const work *w) {
    const double piece = piece_bytes(w);
    return piece > 0 ? memory_us(w, w->bytes) * KILN__LINE_BYTES / fmax(piece, KILN__SECTOR_BYTES) : 0;
}

/* ---- accesses ---- */

/* Of one vector of each thread of a warp, all tensors that have columns. */
static kiln__touched touched_by(const work *w) {
    const kiln__problem *p = w->g->problem;
    kiln__touched all = {0, 0, 0};
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        if (!p->operands[o].per_element) continue;
        const kiln__touched one = kiln__warp_touches(p, w->s, o);
        all.requests += one.requests;
        all.lines += one.lines;
        all.sectors += one.sectors;
    }
    return all;
}

/* ---- instructions ---- */

#define VECTOR_INSTRUCTIONS 6  /* of an access: its address, the access, its conversion */
#define ELEMENT_INSTRUCTIONS 8 /* the same, where each element has an address */
#define ROW_INSTRUCTIONS 60    /* where a row begins and ends, of each thread */
#define MASK_INSTRUCTIONS 3    /* of an element */
#define SHUFFLE_INSTRUCTIONS 3 /* of a value, for each step */

static double access_instructions(const work *w) {
    const kiln__problem *p = w->g->problem;
    const bool moved = kiln__schedule_shifts(w->s); /* takes one access more, and shifts */
    double sum = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__access *access = &w->s->tensors[o];
        const double each =
            (access->width ? VECTOR_INSTRUCTIONS : ELEMENT_INSTRUCTIONS) * (moved && access->shifted ? 2 : 1);
        if (p->operands[o].per_element) sum += w->s->vector_width / kiln__access_elements(access) * each;
    }
    return sum;
}

/* Of one thread for one vector. */
static double vector_instructions(const work *w) {
    const kiln__traits *t = &w->g->traits;
    const bool masked = w->s->edges == KILN__EDGES_MASKED;
    const double element = (double)(t->reduce_weight + t->output_weight) + (masked ? MASK_INSTRUCTIONS : 0);
    return element * w->s->vector_width + access_instructions(w) * (1 + w->unstaged * (w->passes - 1));
}

static double row_instructions(const work *w) {
    const kiln__schedule *s = w->s;
    const double values = w->g->traits.carried * (kiln__layout_of(s) == KILN__LAYOUT_OUTER ? s->vector_width : 1);
    const double lanes = fmin(s->team.threads_per_row, 32);
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
        return throughput_us(w, in * (1 - w->unstaged) * (1 + w->passes) / KILN__LINE_BYTES);
    if (w->s->staging.kind != KILN__STAGING_TILE) return 0;
    const double wide = w->s->vector_width * (t->widest ? t->widest : 4) < 4 ? 2 : 1; /* narrower than a bank */
    const double conflicts = conflicts_of(w) * wide;
    return throughput_us(w, (in + out + conflicts * (in * w->passes + out)) / KILN__LINE_BYTES);
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
    const double lanes = fmin(s->team.threads_per_row, 32);
    double clocks = lanes > 1 && kiln__layout_of(s) == KILN__LAYOUT_INNER ? SHUFFLE_CLOCKS * log2(lanes) : 0;
    if (s->team.group != KILN__GROUP_LANES) clocks += BARRIER_CLOCKS + 5 * SHUFFLE_CLOCKS;
    if (kiln__schedule_clusters(s)) clocks += CLUSTER_CLOCKS;
    if (s->team.group == KILN__GROUP_GRID) clocks += GRID_CLOCKS;
    return w->phases > 0 ? w->turns * w->phases * clock_us(w, clocks) : 0;
}

/* ---- launches ---- */

#define LAUNCH_US 3

static double launch_us(const work *w) {
    const double handed_on = (double)kiln__schedule_workspace(w->s, w->g->ir, (int64_t)w->rows);
    return LAUNCH_US * (kiln__schedule_launches(w->s, w->g->ir) - 1) + memory_us(w, 2 * handed_on);
}

/* ---- all of them ---- */

/* Microseconds. */
static void find_times(const work *w, float times[]) {
    const kiln__touched touched = touched_by(w);
    const double warps = w->vectors / 32;
    times[KILN__FEATURE_MEMORY] = (float)memory_us(w, w->bytes);
    times[KILN__FEATURE_REREAD] = (float)reread_us(w);
    times[KILN__FEATURE_QUEUE] = (float)queue_us(w);
    times[KILN__FEATURE_PIECES] = (float)pieces_us(w);
    times[KILN__FEATURE_SECTORS] = (float)memory_us(w, warps * touched.sectors * KILN__SECTOR_BYTES);
    times[KILN__FEATURE_LINES] = (float)throughput_us(w, warps * touched.lines);
    times[KILN__FEATURE_REQUESTS] = (float)throughput_us(w, warps * touched.requests);
    times[KILN__FEATURE_ISSUE] = (float)issue_us(w);
    times[KILN__FEATURE_BANKS] = (float)banks_us(w);
    times[KILN__FEATURE_CHAIN] = (float)chain_us(w);
    times[KILN__FEATURE_SERIAL] = (float)serial_us(w);
    times[KILN__FEATURE_EXCHANGE] = (float)exchange_us(w);
    times[KILN__FEATURE_ALONE] = (float)(memory_us(w, w->bytes) / w->at_once);
    times[KILN__FEATURE_CODE] = (float)code_us(w);
    times[KILN__FEATURE_LAUNCH] = (float)launch_us(w);
}

static void find_counts(const work *w, float counts[]) {
    const kiln__traits *t = &w->g->traits;
    const kiln__schedule *s = w->s;
    const kiln__problem *p = w->g->problem;
    counts[KILN__FEATURE_STRATEGY] = (float)s->strategy;
    counts[KILN__FEATURE_STAGING] = (float)s->staging.kind;
    counts[KILN__FEATURE_BLOCKS_PER_ROW] = (float)s->team.blocks_per_row;
    counts[KILN__FEATURE_TURNS] = (float)w->turns;
    counts[KILN__FEATURE_RESIDENT] = (float)w->resident;
    counts[KILN__FEATURE_REGISTERS] = (float)w->registers;
    counts[KILN__FEATURE_STEPS] = (float)s->steps;
    counts[KILN__FEATURE_BATCH] = (float)s->batch;
    counts[KILN__FEATURE_STAGED_STEPS] = (float)s->staging.steps;
    counts[KILN__FEATURE_THREADS_PER_ROW] = (float)s->team.threads_per_row;
    counts[KILN__FEATURE_ROWS_PER_BLOCK] = (float)s->team.rows_per_block;
    counts[KILN__FEATURE_RANK_GROUPS] = (float)kiln__column_of(s)->rank_groups;
    counts[KILN__FEATURE_PASSES] = (float)w->passes;
    counts[KILN__FEATURE_SLOTS] = (float)(w->slots / fmax(w->elements, 1));
    counts[KILN__FEATURE_COLUMNS] = (float)w->cols;
    counts[KILN__FEATURE_ROW_BYTES] = (float)(w->cols * t->widest);
    const bool beside = p->layout != KILN__LAYOUT_INNER && p->outer_rank > 0;
    counts[KILN__FEATURE_NEIGHBOURS] = beside ? (float)p->outer[p->outer_rank - 1] : 1;
    counts[KILN__FEATURE_REDUCE_WEIGHT] = (float)t->reduce_weight;
    counts[KILN__FEATURE_OUTPUT_WEIGHT] = (float)t->output_weight;
}

void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out) {
    const work w = kiln__work_of(g, s);
    *out = (kiln__estimate){.registers = w.registers, .tight = w.tight, .resident = w.resident};
    find_times(&w, out->features);
    find_counts(&w, out->features);
    const float memory = out->features[KILN__FEATURE_MEMORY];
    for (int f = 1; f < KILN__TIMES; f++) out->features[f] /= memory > 0 ? memory : 1;
}

/* ---- trees ---- */

#define TREES (sizeof kiln__tree_roots / sizeof *kiln__tree_roots - 1)

#define BESIDE 8 /* trees that are gone down together: no tree's step waits for another's */

/* The sum of the leaves that features have in trees first to first + BESIDE - 1; past the last tree nothing. Nothing
 * branches on what a node says, which cannot be foretold: whoever has reached its leaf stays there. */
static double add_leaves(size_t first, size_t count, const float features[], double sum) {
    const kiln__tree_node *nodes[BESIDE];
    unsigned at[BESIDE], all_leaves;
    for (size_t i = 0; i < BESIDE; i++) {
        nodes[i] = kiln__tree_nodes + kiln__tree_roots[first + i < count ? first + i : first];
        at[i] = 0;
    }
    do {
        all_leaves = KILN__TREE_LEAF;
#pragma GCC unroll 8 /* so that places are in registers */
        for (size_t i = 0; i < BESIDE; i++) {
            const unsigned stays = 0u - (at[i] / KILN__TREE_LEAF);
            const kiln__tree_node *node = nodes[i] + (at[i] & ~stays);
            const unsigned next = node->child[features[node->feature] > node->limit];
            at[i] = (at[i] & stays) | (next & ~stays);
            all_leaves &= at[i];
        }
    } while (!all_leaves);
    for (size_t i = 0; i < BESIDE && first + i < count; i++)
        sum += (double)kiln__tree_leaves[kiln__tree_roots[first + i] + first + i + at[i] - KILN__TREE_LEAF];
    return sum;
}

double kiln__model_slowdown(const kiln__estimate *estimate, size_t trees) {
    const size_t count = trees < TREES ? trees : TREES;
    double sum = 0;
    for (size_t first = 0; first < count; first += BESIDE) sum = add_leaves(first, count, estimate->features, sum);
    return sum;
}

double kiln__model_time(const kiln__estimate *estimate, int time) {
    const double memory = (double)estimate->features[KILN__FEATURE_MEMORY];
    return time == KILN__FEATURE_MEMORY ? memory : memory * (double)estimate->features[time];
}
