/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring rows lie side by side: each thread works on a vector of rows, and a row's columns are divided among
 * threads of different warps, its ranks, then among blocks. */
#include "base/checked.h"
#include "base/types.h"
#include "problem/online.h"
#include "schedule/access.h"
#include "schedule/build.h"

/* ---- what lies side by side ---- */

/* How far a neighbouring row lies. */
static int64_t row_step(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    return last < 0 || operand->linear ? operand->row_stride : operand->outer_strides[last];
}

/* How many rows, up to limit, the operand has side by side wherever a vector of them starts; 0: none. */
static int rows_together(const kiln__problem *problem, const kiln__operand *operand, int limit) {
    const int last = problem->outer_rank - 1;
    if (row_step(problem, operand) != 1 || !operand->follows_rows) return 0;
    limit = kiln__aligned_elements(operand, limit);
    if (!operand->linear) limit = kiln__dividing_all(last, operand->outer_strides, limit);
    return operand->per_element ? kiln__dividing_all(problem->inner_rank, operand->inner_strides, limit) : limit;
}

int kiln__column_run(const kiln__problem *problem, int limit) {
    const int last = problem->outer_rank - 1;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const int own = rows_together(problem, &problem->operands[o], limit);
        if (own) limit = own;
    }
    return last > 0 ? kiln__dividing(problem->outer[last], limit) : limit;
}

/* Elements per access of an output whose columns lie side by side, and not its rows, most at a time; 0: it is none. */
static int along_columns(const kiln__problem *problem, const kiln__operand *operand, int most) {
    const bool side = operand->contiguous_columns || (problem->inner_rank == 1 && operand->inner_strides[0] == 1);
    if (!operand->output || !operand->per_element || !side) return 0;
    if (!problem->outer_rank || rows_together(problem, operand, 1)) return 0;
    return kiln__dividing_rows(problem, operand, (int)kiln__least(most, operand->alignment));
}

/* How many neighbouring columns of a thread outputs store at once; 0: none has its columns side by side. The thread has
 * one access of each tensor at most: more columns would take registers from its rows. */
static int elements_of_line(const kiln__problem *problem, const kiln__schedule *s) {
    int most = problem->most_vector, line = 0;
    const int tensors = problem->input_count + problem->output_count;
    for (int o = 0; o < tensors; o++)
        if (kiln__column_moves(problem, s, o))
            most = (int)kiln__least(most, kiln__elements_of_access(problem->operands[o].type));
    for (int o = problem->input_count; o < tensors; o++)
        line = (int)kiln__greatest(line, along_columns(problem, &problem->operands[o], most));
    return line;
}

/* ---- facts ---- */

static void find_operand(const kiln__problem *problem, int o, kiln__column_facts *f, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    const int size = (int)kiln_type_size(operand->type);
    s->tensors[o].staged = !operand->output && kiln__has_own_elements(operand);
    if (s->tensors[o].staged) f->staged_bytes += size;
    if (rows_together(problem, operand, 1) && (!f->narrowest || size < f->narrowest)) f->narrowest = size;
}

/* What a reduction carries; of a selection a count of columns. */
static int carried_bytes(const kiln__inst *inst) {
    if (!kiln__op_is_reduction(inst->op)) return 0;
    if (kiln__op_selects(inst->op)) return 8;
    if (kiln__op_is_arg(inst->op)) return 16;
    return kiln__ctype_bytes(inst->type);
}

kiln__column_facts kiln__column_find(const kiln__given *g, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    kiln__column_facts f = {.cols = kiln__greatest(problem->cols, 1),
                            .again = g->traits.passes > 1 || (problem->columns_out && !g->traits.stores_early)};
    int widest = 0, values = 0;
    for (int o = 0; o < problem->input_count + problem->output_count; o++) find_operand(problem, o, &f, s);
    if (!s->passes.ordered && f.cols > 1) f.line = elements_of_line(problem, s);
    for (uint32_t i = 0; i < g->ir->count; i++) {
        const int bytes = carried_bytes(&g->ir->insts[i]);
        values += bytes > 0;
        widest = (int)kiln__greatest(widest, bytes);
    }
    f.slot_bytes = values * widest;
    f.count_bytes = kiln__online_squares(g->ir) ? widest : 0;
    return f;
}

/* The phases that can be are reduced together: they carry a count of elements, too. */
static void join_phases(const kiln__given *g, kiln__column_facts *f, kiln__schedule *s) {
    s->passes.online = g->traits.online;
    f->slot_bytes += f->count_bytes;
    f->again = f->again && (g->traits.passes > 2 || g->problem->columns_out);
}

bool kiln__column_is_regular(const kiln__problem *problem) {
    return problem->cols > 1 && !problem->ordered && problem->inner_rank == 1 && problem->outer_rank > 0;
}

bool kiln__column_moves(const kiln__problem *problem, const kiln__schedule *s, int o) {
    return o < problem->input_count ? s->tensors[o].staged : problem->operands[o].per_element;
}

/* ---- vectors of rows ---- */

/* Whether an operand's rows lie side by side, in whole vectors from where memory is aligned, and what a vector
 * overhangs by belongs to the tensor in all columns but the last. */
static bool may_be_misaligned(const kiln__problem *problem, const kiln__operand *operand, int vector) {
    bool may = rows_together(problem, operand, 1) && operand->per_element && operand->inner_strides[0] >= vector &&
               kiln__aligned_elements(operand, vector) == vector;
    for (int d = 0; d < problem->outer_rank; d++) may = may && operand->outer_strides[d] >= 0;
    return may;
}

/* Whether two operands' columns begin at the same places of vectors. */
static bool misaligned_alike(const kiln__problem *problem, const kiln__operand *a, const kiln__operand *b, int vector) {
    bool alike = (a->inner_strides[0] - b->inner_strides[0]) % vector == 0;
    for (int d = 0; d < problem->outer_rank - 1; d++)
        alike = alike && (a->outer_strides[d] - b->outer_strides[d]) % vector == 0;
    return alike;
}

/* The first tensor that threads have vectors of; -1: there is none. */
static int first_moved(const kiln__problem *problem, const kiln__schedule *s) {
    for (int o = 0; o < problem->input_count + problem->output_count; o++)
        if (kiln__column_moves(problem, s, o)) return o;
    return -1;
}

/* Where a rank's columns are a multiple of the vector apart, all of them begin alike. */
bool kiln__column_misaligns(const kiln__given *g, int width, const kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const int first = first_moved(problem, s);
    if (!kiln__column_is_regular(problem) || first < 0) return false;
    if (s->team.threads_per_row > 512 || s->team.threads_per_row * s->team.blocks_per_row % width) return false;
    for (int o = first; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        if (!kiln__column_moves(problem, s, o)) continue;
        if (!may_be_misaligned(problem, operand, width)) return false;
        if (!misaligned_alike(problem, &problem->operands[first], operand, width)) return false;
    }
    return true;
}

bool kiln__column_is_dense(const kiln__problem *problem, const kiln__operand *operand) {
    const int last = problem->outer_rank - 1;
    return operand->outer_strides[last] == 1 && operand->inner_strides[0] == problem->outer[last];
}

/* Whether an operand's columns are one array, in whole vectors wherever a rank's begin. */
static bool may_be_wrapped(const kiln__problem *problem, const kiln__operand *operand, int vector) {
    const int last = problem->outer_rank - 1;
    return kiln__column_is_dense(problem, operand) && kiln__aligned_elements(operand, vector) == vector &&
           kiln__dividing_all(last, operand->outer_strides, vector) == vector;
}

/* The vectors of all ranks' rows: 0: these are not whole ones. */
static int64_t wrapped_vectors(const kiln__problem *problem, int ranks, int width) {
    const int64_t elements = kiln__times(problem->outer[problem->outer_rank - 1], ranks);
    return elements % width ? 0 : elements / width;
}

bool kiln__column_wraps(const kiln__given *g, int width, int ranks, const kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const bool alike = !s->passes.ordered && !s->passes.scans && !s->passes.selects && !problem->across;
    if (!kiln__column_is_regular(problem) || !alike || first_moved(problem, s) < 0) return false;
    for (int o = 0; o < problem->input_count + problem->output_count; o++)
        if (kiln__column_moves(problem, s, o) && !may_be_wrapped(problem, &problem->operands[o], width)) return false;
    const int64_t vectors = wrapped_vectors(problem, ranks, width);
    return vectors > 0 && vectors <= KILN__MOST_THREADS;
}

/* Whether each operand's rows are as far apart everywhere: the last launch of split columns takes them in vectors that
 * begin where no run does. */
static bool rows_are_linear(const kiln__problem *problem) {
    const int count = problem->input_count + problem->output_count + problem->position_count;
    for (int o = 0; o < count; o++)
        if (!problem->operands[o].per_element && !problem->operands[o].linear) return false;
    return true;
}

/* Of one column a vector may be several runs, so that neighbouring threads' accesses lie side by side: as many rows as
 * are 16 bytes of the narrowest tensor. */
static int most_of_one_run(const kiln__column_facts *f, int width) {
    return f->narrowest ? (int)kiln__least(width, KILN__ACCESS_BYTES / f->narrowest) : 1;
}

/* In how many runs a thread's vector of rows lies, and whether the last one may overhang. */
static bool set_vectors(const kiln__given *g, const kiln__column_facts *f, const kiln__pins *point, kiln__schedule *s) {
    const int width = point->vector_width;
    s->vector_width = s->column.run_rows = width;
    if (!kiln__is_power_of_two(width) || width > 16) return false;
    if (point->vectors_begin == KILN__BEGIN_WRAPPED) {
        s->edges = KILN__EDGES_WRAPPED;
        s->column.run_rows = 1;
        return f->line <= 1 && point->rows_per_block == g->problem->outer[g->problem->outer_rank - 1] &&
               point->cluster <= 1 && point->staging != KILN__STAGING_SHARED &&
               kiln__column_wraps(g, width, point->threads, s);
    }
    if (point->vectors_begin == KILN__BEGIN_ALIGNED) {
        s->edges = KILN__EDGES_MISALIGNED;
        s->column.reference = first_moved(g->problem, s);
        return kiln__column_misaligns(g, width, s) && (point->splits <= 1 || rows_are_linear(g->problem));
    }
    const int last = g->problem->outer_rank - 1;
    s->column.run_rows = last < 0 ? 1 : kiln__column_run(g->problem, f->cols == 1 ? most_of_one_run(f, width) : width);
    const bool whole = f->cols > 1 && g->problem->rows % s->column.run_rows == 0;
    s->edges = s->column.run_rows > 1 && last <= 0 && !whole ? KILN__EDGES_PARTIAL : KILN__EDGES_ALIGNED;
    return true;
}

/* As many neighbouring columns for a thread as outputs store at once, whose columns lie side by side; steps become
 * whole lines of them. */
static void set_transpose_width(const kiln__column_facts *f, kiln__schedule *s) {
    if (f->line <= 1) return;
    s->column.transpose_width = f->line;
    s->steps = kiln__divide_up(s->steps, s->column.transpose_width) * s->column.transpose_width;
}

/* ---- who works on them ---- */

#define WRAPPED_THREADS 128 /* of a block, where a chunk has fewer */
#define WRAPPED_BYTES 16384 /* of shared memory, in which their groups exchange values */

int kiln__column_lanes(const kiln__schedule *s) {
    return s->team.rows_per_block / s->vector_width + (s->edges == KILN__EDGES_MISALIGNED);
}

/* As many groups as make a block of good size, each with a chunk, and the same number in all blocks but the last; whole
 * warps, some of whose threads have none. */
static void set_groups(int vectors, kiln__schedule *s) {
    const int64_t fit = kiln__greatest(WRAPPED_THREADS / vectors, 1), blocks = kiln__divide_up(s->split.chunks, fit);
    s->column.groups = (int)kiln__divide_up(s->split.chunks, blocks);
    s->team.threads = (int)kiln__divide_up((int64_t)s->column.groups * vectors, 32) * 32;
}

/* Where all threads run at once, any minimum keeps ptxas from waiting for each load before the next, as it does to stay
 * at 32 registers; where there are more, registers leave fewer of them running. Told by the chunks alone, as rows are
 * arguments. */
static void set_registers(const kiln__given *g, kiln__schedule *s) {
    const kiln__device typical = kiln__device_typical(g->device->arch);
    const int64_t threads = kiln__times(kiln__divide_up(s->split.chunks, s->column.groups), s->team.threads);
    s->team.min_blocks_per_sm = threads <= (int64_t)typical.sm_count * typical.threads_per_sm ? 1 : 0;
}

/* Whether so many rows are whole vectors of whole lanes. Where vectors are not misaligned, the ranks of a warp have the
 * same rows and combine theirs by shuffles, so that lanes are a power of two and warps are whole; clusters alternate by
 * tiles of as many rows, too. Lanes that are misaligned exchange through shared memory alone: there are any number,
 * beside the one that overhangs. */
static bool are_lanes(const kiln__schedule *s) {
    const int lanes = kiln__column_lanes(s);
    if (s->team.rows_per_block % s->vector_width) return false;
    if (s->edges == KILN__EDGES_MISALIGNED) return lanes > 1;
    return kiln__is_power_of_two(lanes) && s->team.threads % 32 == 0;
}

static void set_team(const kiln__pins *point, kiln__schedule *s) {
    s->team.group = KILN__GROUP_COLUMNS;
    s->team.blocks_per_row = (int)kiln__greatest(point->cluster, 1);
    s->team.threads_per_row = point->threads;
}

int kiln__column_slots(const kiln__schedule *s) {
    const int lanes = kiln__column_lanes(s);
    if (s->edges == KILN__EDGES_WRAPPED) return s->team.threads_per_row;
    const bool warps = lanes < 32 && s->edges != KILN__EDGES_MISALIGNED && !s->column.tile.rows;
    return s->team.threads / (warps ? 32 : lanes);
}

/* ---- where columns stay, chunks, loads ---- */

/* Bytes of a block's columns; those of rows that are one element over and over count a little. */
static int64_t slab_of(const kiln__column_facts *f, const kiln__schedule *s) {
    const int64_t bytes = (int64_t)f->staged_bytes * s->vector_width;
    return kiln__times(s->steps, s->team.threads * (bytes ? bytes : KILN__LEAST_STEP_BYTES));
}

static void set_staging(const kiln__column_facts *f, const kiln__pins *point, int64_t slab, kiln__schedule *s) {
    s->staging.kind = (kiln__staging_kind)point->staging;
    if (s->staging.kind != KILN__STAGING_SHARED) return;
    s->staging.bytes = f->staged_bytes ? (int)kiln__least(slab, INT32_MAX) : 0;
    s->staging.steps = s->steps;
}

/* Whole lines of columns in each chunk. */
static void split(const kiln__given *g, const kiln__column_facts *f, const kiln__pins *point, kiln__schedule *s) {
    const int line = s->column.transpose_width;
    kiln__schedule_split(g->ir, point->splits, s);
    if (!line) return;
    s->steps = kiln__divide_up(s->steps, line) * line;
    if (s->split.chunks > 1) s->split.chunks = (int)kiln__divide_up(f->cols, s->steps * s->team.threads_per_row);
}

/* Eight vectors of a thread under way, or whole lines. */
static void set_batch(const kiln__pins *point, kiln__schedule *s) {
    const int line = s->column.transpose_width;
    kiln__schedule_batch(point, 8, s);
    if (line) s->batch = (int)kiln__divide_up(s->batch, line) * line;
}

/* ---- accesses ---- */

static void set_access(const kiln__problem *problem, int o, kiln__schedule *s) {
    const kiln__operand *operand = &problem->operands[o];
    kiln__access *access = &s->tensors[o];
    const int widest = kiln__elements_of_access(operand->type);
    const int line = s->column.transpose_width ? along_columns(problem, operand, s->column.transpose_width) : 0;
    const bool in_vectors = kiln__column_moves(problem, s, o);
    int together = rows_together(problem, operand, s->column.run_rows);
    if (s->edges == KILN__EDGES_MISALIGNED || (s->edges == KILN__EDGES_WRAPPED && in_vectors))
        together = in_vectors ? s->vector_width : 0;
    access->width = (int)kiln__least(together, widest);
    if (s->edges == KILN__EDGES_WRAPPED && in_vectors) access->kind = KILN__ACCESS_WRAPPED;
    if (line <= 1) return;
    access->kind = KILN__ACCESS_TRANSPOSED;
    access->width = line;
}

/* ---- together ---- */

/* What one slot of a row takes: the reductions of each phase, as the compiler lays them out. */
static int64_t slot_bytes(const kiln__given *g, const kiln__column_facts *f, const kiln__schedule *s) {
    int64_t bytes = s->passes.online >= 0 ? 2 * f->count_bytes : 0; /* with what is left between the members */
    for (uint32_t phase = 0; phase < g->ir->phase_count; phase++) {
        int64_t members = 0, widest = 1;
        for (uint32_t i = 0; i < g->ir->count; i++) {
            const kiln__inst *inst = &g->ir->insts[i];
            if (!kiln__reduces_in(inst, phase)) continue;
            const int values = kiln__reduction_values(inst->op); /* several: numbers of columns among them */
            const int64_t each = values > 1 ? 8 : carried_bytes(inst);
            members = kiln__divide_up(members, each) * each + values * each;
            widest = kiln__greatest(widest, each);
        }
        bytes += kiln__divide_up(members, widest) * widest;
    }
    return bytes;
}

/* What the reductions exchange: a slot for every warp's rows, and for those of each block of a cluster. */
static bool fits_exchange(const kiln__given *g, const kiln__column_facts *f, int64_t exchanged,
                          const kiln__schedule *s) {
    const int cluster = s->team.blocks_per_row;
    const int slots = s->passes.scans ? s->team.threads_per_row : kiln__column_slots(s);
    const int64_t each = s->edges == KILN__EDGES_MISALIGNED ? f->slot_bytes : exchanged;
    const int64_t most = s->staging.kind == KILN__STAGING_SHARED ? KILN__COLUMN_STATIC_BYTES : KILN__MOST_STATIC_BYTES;
    if (cluster > 1 && s->passes.one_launch) return false;
    if (cluster == 1) return slots == 1 || s->team.rows_per_block * slots * slot_bytes(g, f, s) <= most;
    return kiln__cluster_fits(cluster, g->device) && !(s->staging.kind == KILN__STAGING_NONE && f->again) &&
           s->team.rows_per_block * (slots + cluster) * each <= KILN__COLUMN_STATIC_BYTES;
}

/* Groups exchange the values of as many rows at a time as there is room for. */
static bool set_exchanged_rows(const kiln__given *g, const kiln__column_facts *f, kiln__schedule *s) {
    const int64_t of_row = s->column.groups * (int64_t)s->team.threads_per_row * slot_bytes(g, f, s);
    s->column.exchanged_rows = (int)kiln__least(s->team.rows_per_block, WRAPPED_BYTES / kiln__greatest(of_row, 1));
    return s->column.exchanged_rows > 0;
}

static bool fits(const kiln__given *g, int64_t slab, const kiln__schedule *s) {
    const int64_t room = g->device->shared_per_block - KILN__COLUMN_STATIC_BYTES;
    if (!kiln__is_power_of_two(s->team.threads_per_row) || s->team.threads > KILN__MOST_THREADS) return false;
    return s->staging.kind == KILN__STAGING_SHARED ? slab <= room : kiln__fits_registers(s);
}

bool kiln__column_build(const kiln__given *g, const kiln__pins *point, kiln__schedule *s) {
    kiln__column_facts f = kiln__column_find(g, s);
    const int64_t exchanged = kiln__schedule_exchanged(s, g->ir);
    set_team(point, s);
    if (point->online > 0 && point->staging == KILN__STAGING_NONE && g->traits.online >= 0) join_phases(g, &f, s);
    s->steps = kiln__divide_up(f.cols, s->team.threads_per_row * s->team.blocks_per_row);
    set_transpose_width(&f, s);
    if (!set_vectors(g, &f, point, s)) return false;
    s->team.rows_per_block = point->rows_per_block;
    const bool wrapped = s->edges == KILN__EDGES_WRAPPED;
    s->team.threads = kiln__column_lanes(s) * point->threads;
    if (!wrapped && (!are_lanes(s) || s->team.threads > KILN__MOST_THREADS)) return false;
    const int64_t slab = slab_of(&f, s);
    set_staging(&f, point, slab, s);
    s->column.rank_groups = s->team.blocks_per_row;
    s->team.threads_per_row *= s->team.blocks_per_row;
    split(g, &f, point, s);
    if (wrapped) {
        set_groups((int)wrapped_vectors(g->problem, point->threads, s->vector_width), s);
        set_registers(g, s);
    }
    set_batch(point, s);
    for (int o = 0; o < g->problem->input_count + g->problem->output_count; o++) set_access(g->problem, o, s);
    return (wrapped ? set_exchanged_rows(g, &f, s) : fits_exchange(g, &f, exchanged, s)) && fits(g, slab, s);
}
