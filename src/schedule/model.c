/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/model.h"

#include <math.h>
#include <string.h>

#include "base/types.h"

const char *const kiln__term_names[KILN__TERMS] = {"memory", "reread", "share", "lines", "issue",
                                                   "banks",  "turn",   "tail",  "spill", "launch"};

/* ---- how much work there is ---- */

typedef struct work {
    const kiln__given *g;
    const kiln__schedule *s;
    double rows, cols; /* pointwise: elements, 1 */
    double elements;
    double slots;   /* elements that threads go through, those that are none included */
    double vectors; /* of all threads */
    int passes;     /* over a row: of the phases, and of the outputs that have columns */
    double blocks;  /* that take turns */
} work;

static double blocks_of(const kiln__problem *p, const kiln__schedule *s) {
    kiln__grid grid = {0, 0, 0};
    if (!kiln__schedule_grid(s, kiln__schedule_rows(s, p), kiln__schedule_run(s, p), &grid)) return 1e12;
    return (double)grid.x * grid.y * grid.z;
}

static double slots_of(const work *w) {
    const kiln__schedule *s = w->s;
    const double threads_elements = (double)(s->steps * s->vector_width);
    if (kiln__layout_of(s) == KILN__LAYOUT_FLAT) return w->blocks * s->team.threads * threads_elements;
    if (kiln__layout_of(s) == KILN__LAYOUT_OUTER)
        return w->blocks * s->team.threads * threads_elements *
               (s->column.ranks_per_thread ? s->column.ranks_per_thread : 1);
    return w->rows * s->team.threads_per_row * threads_elements * s->split.chunks;
}

static work find_work(const kiln__given *g, const kiln__schedule *s) {
    const kiln__problem *p = g->problem;
    work w = {.g = g, .s = s, .rows = (double)p->rows, .cols = p->cols > 0 ? (double)p->cols : 1};
    w.elements = w.rows * w.cols;
    w.passes = (int)g->ir->phase_count - (s->passes.online >= 0) + p->columns_out;
    if (w.passes < 1) w.passes = 1;
    w.blocks = blocks_of(p, s);
    w.slots = slots_of(&w);
    w.vectors = w.slots / s->vector_width;
    return w;
}

/* ---- registers, and the blocks that a multiprocessor has ---- */

#define MOST_REGISTERS 255

/* Vectors of the inputs that a thread has at a time: those whose loads are issued together, or, from shared memory, the
 * two that an unrolled loop overlaps. */
static double vectors_at_once(const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_REGISTERS || s->staging.kind == KILN__STAGING_NONE) return s->batch;
    return s->unroll < 2 ? (double)s->unroll : 2;
}

/* A linear rule, fitted to the registers that the compiler took for some thousand kernels (bench/notebook): what a
 * thread holds of its inputs, of what all rows share and of outputs, what it carries, and what it knows of its place.
 */
static double registers_of(const work *w) {
    const kiln__schedule *s = w->s;
    const kiln__traits *t = &w->g->traits;
    const bool column = kiln__layout_of(s) == KILN__LAYOUT_OUTER, flat = kiln__layout_of(s) == KILN__LAYOUT_FLAT;
    const double shared_vectors = kiln__row_of(s)->prefetch ? (double)s->steps : 1;
    double registers = flat ? 12 : 16;
    registers += vectors_at_once(s) * s->vector_width * t->input_bytes / 4.0;
    registers += 0.9 * shared_vectors * s->vector_width * t->invariant_bytes / 4.0;
    registers += 0.9 * s->vector_width * t->outputs;
    registers += 0.7 * t->carried * (column ? s->vector_width : 1);
    if (column) registers += 8;
    if (s->staging.kind == KILN__STAGING_TILE) registers += 5;
    if (s->edges == KILN__EDGES_MASKED) registers += 5;
    if (t->reduce_weight + t->output_weight > 60) registers += 10; /* functions of many instructions */
    return registers + (kiln__row_of(s)->rows_in_flight ? 3.5 * s->team.rows_per_block : 0);
}

static int most_blocks_of(const kiln__device *device, const kiln__schedule *s) {
    const int by_threads = device->threads_per_sm / s->team.threads;
    const int64_t shared = s->staging.bytes + 2048;
    const int by_shared = (int)(device->shared_per_sm / shared);
    return by_shared < by_threads ? by_shared : by_threads;
}

/* The registers that the compiler may use: of as many blocks as are asked for. */
static int allowed_registers(const kiln__device *device, const kiln__schedule *s) {
    const int blocks = s->team.min_blocks_per_sm > 1 ? s->team.min_blocks_per_sm : 1;
    const int each = device->registers_per_sm / (s->team.threads * blocks) / 8 * 8;
    return each < MOST_REGISTERS ? each : MOST_REGISTERS;
}

static void find_residents(const work *w, kiln__estimate *e) {
    const kiln__device *device = w->g->device;
    const int allowed = allowed_registers(device, w->s);
    e->registers = (int)registers_of(w);
    int used = (e->registers < allowed ? e->registers : allowed) + 7;
    used = used / 8 * 8;
    const int by_registers = device->registers_per_sm / (used * w->s->team.threads),
              most = most_blocks_of(device, w->s);
    e->resident = by_registers < most ? by_registers : most;
    if (e->resident < 1) e->resident = 1;
}

/* ---- the device's speeds ---- */

static double memory_us(const kiln__device *device, double bytes) { return bytes / (1e3 * (double)device->bandwidth); }

/* Clocks of all multiprocessors, one thing in each. */
static double clocks_us(const kiln__device *device, double count) {
    return count / (1e3 * kiln__device_pace(device->arch).clock_ghz * device->sm_count);
}

#define L2_SPEED 2.2 /* of the memory's */

/* ---- terms ---- */

/* Elements of a tensor that differ: not those of extents that it broadcasts over. */
static double elements_of(const kiln__problem *p, const kiln__operand *operand) {
    double count = 1;
    if (operand->linear && operand->row_stride) count = (double)p->rows;
    for (int d = 0; d < p->outer_rank && !operand->linear; d++)
        if (operand->outer_strides[d]) count *= (double)p->outer[d];
    for (int d = 0; d < p->inner_rank && operand->per_element; d++)
        if (operand->contiguous_columns || operand->inner_strides[d]) count *= (double)p->inner[d];
    return count;
}

static double moved_bytes(const kiln__problem *p) {
    double bytes = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++)
        bytes += elements_of(p, &p->operands[o]) * (double)kiln_type_size(p->operands[o].type);
    return bytes;
}

/* The part of a row that does not stay between passes. */
static double unstaged_part(const work *w) {
    const kiln__schedule *s = w->s;
    if (s->staging.kind == KILN__STAGING_NONE) return 1;
    if (s->staging.kind != KILN__STAGING_SHARED || s->steps == 0) return 0;
    return 1 - (double)s->staging.steps / (double)s->steps;
}

/* Of sectors of 32 bytes at both ends of what a block reads of neighbouring rows at one column, half is in vain. */
static double wasted_bytes(const work *w) {
    const kiln__schedule *s = w->s;
    const kiln__traits *t = &w->g->traits;
    if (s->strategy != KILN__COLUMN || t->widest == 0) return 0;
    const double piece = (double)s->team.rows_per_block * t->widest;
    const bool aligned = s->edges != KILN__EDGES_MISALIGNED && s->column.run_rows * t->widest % 32 == 0;
    return aligned ? 0 : w->elements * (t->input_bytes + t->output_bytes) * (32 / piece);
}

static double reread_us(const work *w, int resident) {
    const kiln__device *device = w->g->device;
    const double again = w->elements * w->g->traits.input_bytes * (w->passes - 1) * unstaged_part(w);
    const double at_once = (double)resident * device->sm_count * w->cols * w->g->traits.input_bytes *
                           w->s->team.rows_per_block / w->s->team.blocks_per_row;
    const bool in_l2 = at_once < 0.5 * (double)device->l2_bytes;
    return memory_us(device, again) / (in_l2 ? L2_SPEED : 1) + memory_us(device, wasted_bytes(w)) / L2_SPEED;
}

/* How often the weights of a column are read: once for the rows that a group works on at a time. */
static double share_us(const work *w) {
    const int rows = kiln__row_of(w->s)->rows_in_flight ? w->s->team.rows_per_block : 1;
    return memory_us(w->g->device, w->elements / rows * w->g->traits.invariant_bytes) / L2_SPEED;
}

/* Neighbouring lanes of a warp that read side by side. */
static int lanes_side_by_side(const work *w) {
    const kiln__schedule *s = w->s;
    int lanes = 32;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) lanes = s->team.threads_per_row / s->team.blocks_per_row;
    if (kiln__layout_of(s) == KILN__LAYOUT_OUTER) lanes = s->team.rows_per_block / s->vector_width;
    return lanes < 1 ? 1 : lanes < 32 ? lanes : 32;
}

/* Lines of one warp's access to a tensor, over the vectors that it covers. */
static double lines_of(const work *w, int o, int lanes) {
    const kiln__schedule *s = w->s;
    const kiln__access *access = &s->tensors[o];
    const double size = (double)kiln_type_size(w->g->problem->operands[o].type);
    const double width = access->width ? access->width : access->run > 1 ? access->run : 1;
    const double piece = lanes * width * size, pieces = 32.0 / lanes * s->vector_width / width;
    return pieces * ceil(piece / 128);
}

static double lines_us(const work *w) {
    const kiln__problem *p = w->g->problem;
    const bool tile = w->s->staging.kind == KILN__STAGING_TILE;
    const int lanes = lanes_side_by_side(w);
    double lines = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        if (!p->operands[o].per_element) continue;
        if (tile)
            lines += w->elements * (double)kiln_type_size(p->operands[o].type) / 128;
        else
            lines += w->vectors / 32 * lines_of(w, o, lanes);
    }
    return clocks_us(w->g->device, lines);
}

#define VECTOR_INSTRUCTIONS 6  /* of an access: its address, the access, its conversion */
#define ELEMENT_INSTRUCTIONS 8 /* the same, where each element has an address */
#define ROW_INSTRUCTIONS 60    /* where a row begins and ends, of each thread */
#define MASK_INSTRUCTIONS 3    /* of an element */

static double access_instructions(const work *w) {
    const kiln__problem *p = w->g->problem;
    double sum = 0;
    for (int o = 0; o < p->input_count + p->output_count; o++) {
        const kiln__access *access = &w->s->tensors[o];
        if (!p->operands[o].per_element) continue;
        const double width = access->width ? access->width : access->run > 1 ? access->run : 1;
        sum += w->s->vector_width / width * (access->width ? VECTOR_INSTRUCTIONS : ELEMENT_INSTRUCTIONS);
    }
    return sum;
}

/* Of one thread for one vector. */
static double vector_instructions(const work *w) {
    const kiln__traits *t = &w->g->traits;
    const bool masked = w->s->edges == KILN__EDGES_MASKED && kiln__layout_of(w->s) == KILN__LAYOUT_INNER;
    const double element = (double)(t->reduce_weight + t->output_weight) + (masked ? MASK_INSTRUCTIONS : 0);
    return element * w->s->vector_width + access_instructions(w) * (1 + unstaged_part(w) * (w->passes - 1));
}

static double row_instructions(const work *w) {
    const kiln__schedule *s = w->s;
    const double values = w->g->traits.carried * (kiln__layout_of(s) == KILN__LAYOUT_OUTER ? s->vector_width : 1);
    const double steps =
        s->team.threads_per_row > 1 ? log2(s->team.threads_per_row < 32 ? s->team.threads_per_row : 32) + 3 : 0;
    return ROW_INSTRUCTIONS + (double)w->g->traits.row_weight + values * steps * 3;
}

static double threads_of(const work *w) { return w->blocks * w->s->team.threads; }

static double issue_us(const work *w) {
    const double rows = kiln__row_of(w->s)->rows_in_flight ? w->s->team.rows_per_block : 1;
    const double instructions = w->vectors * vector_instructions(w) + threads_of(w) * rows * row_instructions(w);
    return clocks_us(w->g->device, instructions / 32 / 4);
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
        return clocks_us(w->g->device, in * (1 - unstaged_part(w)) * (1 + w->passes) / 128);
    if (w->s->staging.kind != KILN__STAGING_TILE) return 0;
    const double wide = w->s->vector_width * (t->widest ? t->widest : 4) < 4 ? 2 : 1; /* narrower than a bank */
    const double conflicts = conflicts_of(w) * wide;
    return clocks_us(w->g->device, (in + out + conflicts * (in * w->passes + out)) / 128);
}

/* ---- a block's turn ---- */

#define SHUFFLE_CLOCKS 30
#define BARRIER_CLOCKS 80
#define CLUSTER_CLOCKS 1500
#define GRID_CLOCKS 5000
#define L2_LATENCY 0.45 /* of the memory's */

static double exchange_clocks(const work *w) {
    const kiln__schedule *s = w->s;
    const double threads = s->team.threads_per_row < 32 ? s->team.threads_per_row : 32;
    double clocks = threads > 1 && kiln__layout_of(s) == KILN__LAYOUT_INNER ? SHUFFLE_CLOCKS * log2(threads) : 0;
    if (s->team.group != KILN__GROUP_LANES) clocks += BARRIER_CLOCKS + 5 * SHUFFLE_CLOCKS;
    if (kiln__schedule_clusters(s)) clocks += CLUSTER_CLOCKS;
    if (s->team.group == KILN__GROUP_GRID) clocks += GRID_CLOCKS;
    return clocks;
}

/* Waits for memory, one after another. */
static double waits_of(const work *w) {
    const kiln__schedule *s = w->s;
    const double batches = s->batch > 0 ? ceil((double)s->steps / s->batch) : 1;
    const double again = unstaged_part(w) * batches * (w->passes - 1);
    const double first = s->staging.kind == KILN__STAGING_NONE ? batches : 1;
    const bool late = kiln__row_of(s)->invariant_inputs > 0 && !kiln__row_of(s)->prefetch;
    const double chunks = s->unroll > 0 ? ceil((double)s->steps / (double)s->unroll) : 1;
    return first + again + (late ? L2_LATENCY * chunks : 0);
}

static double turn_us(const work *w) {
    const kiln__schedule *s = w->s;
    const kiln__pace pace = kiln__device_pace(w->g->device->arch);
    const double rows = kiln__row_of(s)->rows_in_flight ? s->team.rows_per_block : 1;
    const double phases = (double)w->g->ir->phase_count - (s->passes.online >= 0);
    const double worked = (double)s->steps * rows * vector_instructions(w) + rows * row_instructions(w);
    const double exchanges = phases > 0 ? phases * exchange_clocks(w) : 0;
    return waits_of(w) * 1e-3 * pace.latency_ns + (exchanges + worked) * 1e-3 / pace.clock_ghz;
}

/* ---- all of them ---- */

static double spill_us(const work *w, int registers) {
    const int over = registers - allowed_registers(w->g->device, w->s);
    if (over <= 0) return 0;
    return memory_us(w->g->device, threads_of(w) * 8.0 * over * w->passes) / L2_SPEED;
}

/* The last turn takes as long as one before, for fewer blocks. */
static double tail_us(double turns, double memory, double turn) {
    const double each = turns > 1 && memory / turns > turn ? memory / turns : turn;
    return (ceil(turns) - turns) * each;
}

void kiln__model_estimate(const kiln__given *g, const kiln__schedule *s, kiln__estimate *out) {
    const work w = find_work(g, s);
    double *terms = out->terms;
    find_residents(&w, out);
    out->blocks = w.blocks;
    out->turn_us = turn_us(&w);
    const double at_once = (double)out->resident * g->device->sm_count, turns = w.blocks / at_once;
    const double launches = kiln__schedule_launches(s, g->ir);
    terms[KILN__TERM_MEMORY] = memory_us(g->device, moved_bytes(g->problem));
    terms[KILN__TERM_REREAD] = reread_us(&w, out->resident);
    terms[KILN__TERM_SHARE] = share_us(&w);
    terms[KILN__TERM_LINES] = lines_us(&w);
    terms[KILN__TERM_ISSUE] = issue_us(&w);
    terms[KILN__TERM_BANKS] = banks_us(&w);
    terms[KILN__TERM_TURN] = turns * out->turn_us;
    terms[KILN__TERM_TAIL] = tail_us(turns, terms[KILN__TERM_MEMORY], out->turn_us);
    terms[KILN__TERM_SPILL] = spill_us(&w, out->registers);
    terms[KILN__TERM_LAUNCH] = 3 * (launches - 1);
}
