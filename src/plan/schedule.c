/* The schedule table and what follows from a row of it.
 * Figures in the reasons: softmax of f16 on an H100, as fractions of the time of a copy of the same bytes. */
#include "plan/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/types.h"

typedef struct choice {
    int64_t max_packs;   /* of 16 bytes a row, all kept inputs together */
    int threads_per_row; /* 0: as many lanes as packs, rounded up to a power of two */
    kiln__residency residency;
    const char *reason;
} choice;

/* Many small blocks beat few big ones: while one loads, another waits. Rows of the table are tried in order. */
static const choice table[] = {
    {32, 0, KILN__RESIDENCY_REGISTERS,
     "a short row fits one pack per lane; fewer lanes take fewer shuffle steps (64 columns: 8 lanes 0.955, 4 lanes of "
     "2 packs 0.64)"},
    {64, 32, KILN__RESIDENCY_REGISTERS, "two packs per lane of a warp, and no block barrier"},
    {1024, 128, KILN__RESIDENCY_REGISTERS,
     "128 threads with up to 8 packs in registers: 0.992 to 1.005 from 1,024 to 8,192 columns, larger blocks lose"},
    {2048, 256, KILN__RESIDENCY_SHARED,
     "shared memory filled by asynchronous copies leaves registers for more blocks (16,384 columns: 1.003, registers "
     "0.975)"},
    {4096, 512, KILN__RESIDENCY_SHARED, "64 KB of a row in shared memory: 512 threads 0.992"},
    {12288, 1024, KILN__RESIDENCY_SHARED, "one large block holds the row in shared memory (65,536 columns: 0.992)"},
    {INT64_MAX, 1024, KILN__RESIDENCY_STREAM,
     "the row does not fit a block's shared memory: every phase reads it again"},
};
#define TABLE_ROWS ((int)(sizeof table / sizeof *table))

static int power_of_two_from(int64_t n) {
    int p = 1;
    while (p < n) p *= 2;
    return p;
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Where an operand's elements lie along what a pack covers: flat, the whole array; else the columns of a row. */
typedef struct span {
    int rank;
    const int64_t *extents, *strides;
    bool side_by_side; /* one after another, all of them */
} span;

static span span_of(const kiln__problem *problem, const kiln__operand *operand) {
    if (problem->layout == KILN__LAYOUT_FLAT)
        return (span){problem->outer_rank, problem->outer, operand->outer_strides,
                      operand->linear && operand->row_stride == 1};
    return (span){problem->inner_rank, problem->inner, operand->inner_strides, operand->packed};
}

static bool steps_by_one(const span *s) { return s->side_by_side || (s->rank && s->strides[s->rank - 1] == 1); }

/* The pack holds 16 bytes of the narrowest tensor that moves with the rows, fewer where a pointer's alignment forbids
 * it; one element where nothing lies side by side. */
static int widest_pack(const kiln__problem *problem) {
    int pack = 0, limit = 16;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        span s = span_of(problem, operand);
        if (!operand->per_element || !operand->follows_rows || !steps_by_one(&s)) continue;
        int size = (int)kiln_type_size(operand->type);
        if (16 / size > pack) pack = 16 / size;
        if (operand->alignment * size < 16 && operand->alignment < limit) limit = operand->alignment;
    }
    return pack == 0 ? 1 : pack < limit ? pack : limit;
}

/* How far behind a multiple of the pack a row's first element lies: row * result. -1 where the operand's rows do not
 * follow one such rule. */
static int64_t row_phase(const kiln__problem *problem, const kiln__operand *operand, int pack) {
    if (operand->linear) return ((operand->row_stride % pack) + pack) % pack;
    for (int i = 0; i < problem->outer_rank; i++)
        if (operand->outer_strides[i] % pack) return -1;
    return 0;
}

/* The most elements an operand can move in one access; 0 where its elements do not lie side by side. */
static int vector_of(const kiln__problem *problem, const kiln__operand *operand, const kiln__schedule *s) {
    span where = span_of(problem, operand);
    int vector = 16 / (int)kiln_type_size(operand->type);
    if (vector > s->pack_size) vector = s->pack_size;
    if (!steps_by_one(&where)) return 0;
    if (!where.side_by_side && where.rank > 1 && where.extents[where.rank - 1] % s->pack_size) return 0;
    if (problem->layout == KILN__LAYOUT_FLAT && !where.side_by_side && where.extents[where.rank - 1] % s->pack_size)
        return 0;
    if (operand->alignment < vector) vector = operand->alignment;
    for (int i = 0; i + 1 < where.rank && !where.side_by_side; i++)
        while (where.strides[i] % vector) vector /= 2;
    if (problem->layout == KILN__LAYOUT_FLAT) return vector;
    if (s->masked) return row_phase(problem, operand, s->pack_size) == s->row_phase ? vector : 0;
    for (int i = 0; i < problem->outer_rank; i++)
        while (operand->outer_strides[i] % vector) vector /= 2;
    if (!problem->outer_rank)
        while (operand->row_stride % vector) vector /= 2;
    return vector;
}

static void choose_pack(const kiln__problem *problem, const kiln__pins *pins, kiln__schedule *s) {
    s->pack_size = widest_pack(problem);
    while (pins->pack_size && s->pack_size > pins->pack_size) s->pack_size /= 2;
    if (s->layout == KILN__LAYOUT_FLAT || problem->cols % s->pack_size == 0) return;
    int64_t phase = -2; /* of all the tensors that a pack covers in one access */
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!operand->per_element || !operand->follows_rows || !operand->packed) continue;
        int64_t own = row_phase(problem, operand, s->pack_size);
        phase = phase == -2 || phase == own ? own : -1;
    }
    s->masked = phase >= 0 && problem->cols >= 4 * s->pack_size && !s->ordered;
    s->row_phase = s->masked ? (int)phase : 0;
    while (!s->masked && problem->cols % s->pack_size) s->pack_size /= 2;
}

/* Which inputs stay with the row, and the bytes of one pack of them. */
static int choose_kept(const kiln__problem *problem, kiln__schedule *s) {
    int bytes = 0;
    for (int o = 0; o < problem->input_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        s->kept[o] = operand->per_element && operand->follows_rows;
        if (s->kept[o]) bytes += s->pack_size * (int)kiln_type_size(operand->type);
    }
    return bytes;
}

static void describe(kiln__schedule *s) {
    static const char *const residencies[] = {"registers", "shared", "stream"};
    static const char *const groups[] = {"lanes", "block", "columns"}, *const layouts[] = {"flat", "inner", "outer"};
    char group[32];
    snprintf(group, sizeof group, "%s %d", s->layout == KILN__LAYOUT_FLAT ? "threads" : groups[s->group],
             s->threads_per_row);
    int used = snprintf(s->text, sizeof s->text, "%s, %s, %s, pack %d x %lld", group, residencies[s->residency],
                        layouts[s->layout], s->pack_size, (long long)s->steps);
    if (s->rows_per_block > 1)
        used += snprintf(s->text + used, sizeof s->text - (size_t)used, ", %d rows per block", s->rows_per_block);
    if (s->row_vector && s->row_vector != s->pack_size)
        used += snprintf(s->text + used, sizeof s->text - (size_t)used, ", vector %d", s->row_vector);
    if (s->splits > 1) used += snprintf(s->text + used, sizeof s->text - (size_t)used, ", splits %d", s->splits);
    if (s->masked) used += snprintf(s->text + used, sizeof s->text - (size_t)used, ", masked");
    if (s->ordered) snprintf(s->text + used, sizeof s->text - (size_t)used, ", ordered");
}

/* How much code one element makes, in simple operations. */
static int weigh(const kiln__ir *ir) {
    int weight = 0;
    for (uint32_t i = 0; i < ir->count; i++) {
        kiln__op op = ir->insts[i].op;
        bool function = op < KILN__OP_COUNT_OF && kiln__op_describe(op)->rule == KILN__RULE_FLOAT;
        weight += function ? 8 : 1;
    }
    return weight;
}

static kiln_status choose_flat(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins,
                               kiln__schedule *s) {
    int bytes = choose_kept(problem, s);
    s->group = KILN__GROUP_BLOCK;
    s->residency = KILN__RESIDENCY_REGISTERS;
    s->threads = s->threads_per_row = pins->threads ? pins->threads : 256;
    s->rows_per_block = 1;
    int steps = bytes <= 32 ? 2 : 1;
    while (steps > 1 && weigh(ir) * steps * s->pack_size > 128) steps /= 2;
    s->steps = s->batch = pins->steps ? pins->steps : steps;
    s->reason = steps > 1 ? "elementwise: each thread loads all its packs, then computes, then stores"
                          : "elementwise with much to compute or load: one pack per thread keeps the code short";
    if (pins->group == KILN__GROUP_LANES || pins->residency > 0 || s->threads % 32 || s->threads > 1024)
        return kiln__fail(KILN_E_UNSUPPORTED, "the pinned schedule is none for elementwise programs: expected threads "
                                              "N, a multiple of 32 up to 1024, and registers");
    return KILN_OK;
}

static bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/* One row of the table, as pinned, worked out for the problem. False where it does not fit the device. */
static bool work_out(const choice *c, const kiln__pins *pins, const kiln__device *device, int64_t packs, int bytes,
                     kiln__schedule *s) {
    s->residency = pins->residency >= 0 ? (kiln__residency)pins->residency : c->residency;
    s->reason = pins->residency >= 0 || pins->threads ? "the caller pinned it" : c->reason;
    s->threads_per_row = pins->threads        ? pins->threads
                         : c->threads_per_row ? c->threads_per_row
                                              : power_of_two_from(packs < 32 ? packs : 32);
    s->steps = divide_up(packs, s->threads_per_row);
    s->group = pins->group >= 0           ? (kiln__group)pins->group
               : s->threads_per_row <= 32 ? KILN__GROUP_LANES
                                          : KILN__GROUP_BLOCK;
    s->threads = s->group == KILN__GROUP_LANES ? 128 : s->threads_per_row;
    s->rows_per_block = s->threads / s->threads_per_row;
    int64_t shared = s->residency == KILN__RESIDENCY_SHARED ? s->steps * s->threads * bytes : 0;
    if (s->residency == KILN__RESIDENCY_REGISTERS && s->steps > 64) return false;
    if (!is_power_of_two(s->threads_per_row) || s->threads > 1024 || s->threads_per_row > s->threads) return false;
    if (s->group == KILN__GROUP_BLOCK ? s->threads_per_row < 32 : s->threads_per_row > 32) return false;
    if (shared + 1024 > device->shared_per_block) return false;
    s->shared_bytes = (int)shared;
    return true;
}

static kiln_status choose_row(const kiln__problem *problem, const kiln__device *device, const kiln__pins *pins,
                              int attempt, kiln__schedule *s) {
    int bytes = choose_kept(problem, s);
    int64_t packs = divide_up(problem->cols + (s->masked ? s->pack_size - 1 : 0), s->pack_size);
    if (packs < 1) packs = 1;
    int64_t load = packs * (bytes > 16 ? bytes : 16) / 16; /* packs of 16 bytes */
    int row = 0;
    while (row + 1 < TABLE_ROWS && table[row].max_packs < load) row++;
    while (row < TABLE_ROWS && !(work_out(&table[row], pins, device, packs, bytes, s) && attempt-- == 0)) row++;
    if (row == TABLE_ROWS)
        return kiln__fail(KILN_E_UNSUPPORTED, "no %s schedule fits rows of %lld columns",
                          pins->residency >= 0 || pins->threads ? "pinned" : "further", (long long)problem->cols);
    int batch = pins->batch ? pins->batch : 2; /* 1,024 threads with 32 bytes each under way fill the memory system */
    s->batch = s->residency == KILN__RESIDENCY_STREAM   ? batch
               : s->residency == KILN__RESIDENCY_SHARED ? 1
                                                        : (int)s->steps;
    if (s->batch > s->steps) s->batch = (int)s->steps;
    return KILN_OK;
}

/* Rows that one block cannot hold, or would read for long on its own, are cut into chunks. The cut depends on the columns
 * alone; at most 1,024 chunks, because every block of the next phase reads the partial results of all. */
static void choose_splits(const kiln__ir *ir, const kiln__problem *problem, const kiln__pins *pins, int64_t chunk,
                          kiln__schedule *s) {
    s->splits = 1;
    if (ir->phase_count == 0 || s->residency != KILN__RESIDENCY_STREAM) return;
    int64_t most = 1024, splits = divide_up(problem->cols, chunk);
    if (splits > most) splits = most;
    if (pins->splits) splits = pins->splits;
    if (splits <= 1) return;
    int64_t steps = divide_up(s->steps, splits);
    s->splits = (int)divide_up(s->steps, steps);
    s->steps = steps;
    if (s->batch > s->steps) s->batch = (int)s->steps;
}

int64_t kiln__schedule_workspace(const kiln__schedule *schedule, const kiln__ir *ir, int64_t rows) {
    int64_t values = 0;
    if (schedule->splits == 1) return 0;
    for (uint32_t i = 0; i < ir->count; i++) values += kiln__reduction_values(ir->insts[i].op);
    return rows * schedule->splits * values * 8;
}

static bool has_user_reduction(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->count; i++)
        if (ir->insts[i].op == KILN__OP_REDUCE_USER) return true;
    return false;
}

kiln_status kiln__schedule_choose(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                                  const kiln__pins *pins, int attempt, kiln__schedule *out) {
    memset(out, 0, sizeof *out);
    out->layout = problem->layout;
    out->ordered = has_user_reduction(ir);
    if (problem->layout == KILN__LAYOUT_FLAT && attempt > 0)
        return kiln__fail(KILN_E_UNSUPPORTED, "this layout has one schedule");
    if (problem->layout == KILN__LAYOUT_OUTER) {
        kiln_status status = kiln__schedule_outer(ir, problem, device, pins, attempt, out);
        if (!status) describe(out);
        return status;
    }
    choose_pack(problem, pins, out);
    kiln_status status = problem->layout == KILN__LAYOUT_FLAT ? choose_flat(ir, problem, pins, out)
                                                              : choose_row(problem, device, pins, attempt, out);
    if (status) return status;
    choose_splits(ir, problem, pins, 65536, out);
    for (int o = 0; o < problem->input_count + problem->output_count; o++)
        if (problem->operands[o].per_element) out->vector[o] = vector_of(problem, &problem->operands[o], out);
    describe(out);
    return KILN_OK;
}

bool kiln__schedule_grid(const kiln__schedule *schedule, int64_t rows, unsigned *x, unsigned *y) {
    int64_t per_block = schedule->layout == KILN__LAYOUT_FLAT
                            ? schedule->threads * schedule->steps * schedule->pack_size
                            : schedule->rows_per_block;
    int64_t blocks = divide_up(rows, per_block) * schedule->splits;
    int64_t limit = 2147483647;
    *x = (unsigned)(blocks < limit ? blocks : limit);
    int64_t layers = divide_up(blocks, limit);
    *y = (unsigned)layers;
    return layers <= 65535;
}
