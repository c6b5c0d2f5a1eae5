/* SPDX-License-Identifier: Apache-2.0 */
/* Preferred points for rows whose columns lie side by side: tiles of short and odd ones, several in flight, and the
 * rows of the table. */
#include "base/checked.h"
#include "base/types.h"
#include "schedule/access.h"
#include "schedule/prefer.h"
#include "schedule/table.h"

#define MOST_TILE_COLUMNS 2048
#define MOST_APART_BYTES 256 /* of a thread: f64 spills with more */
/* Vectors; of fewer the ends are too many. */
#define LEAST_OVERHANGING 97
#define LONG_ROW_VECTORS 65536 /* of a streamed row: longer ones are split among blocks */
#define CHUNK_VECTORS 8192
#define READ_VECTORS 2048 /* the same of a row that is read once, all inputs together */

/* How the tensors that have rows of their own lie. */
typedef struct lie {
    bool contiguous; /* rows one behind the other, the first aligned to a whole vector: a tile of them can be copied
                        flat */
    bool whole;      /* vectors of 16 bytes, or of as many elements as the widest output has in them */
    int least;       /* elements that all of them can move in one access */
} lie;

static lie find_lie(const kiln__problem *problem, const kiln__schedule *s) {
    lie found = {true, true, s->vector_width};
    const int most = kiln__most_stored(problem);
    for (int o = 0; o < problem->input_count + problem->output_count; o++) {
        const kiln__operand *operand = &problem->operands[o];
        const int size = (int)kiln_type_size(operand->type), widest = (int)kiln__least(16 / size, most);
        const int access = kiln__access_width(problem, operand, s);
        if (!operand->own_columns || (!operand->output && !operand->follows_rows)) continue;
        found.contiguous &= kiln__is_contiguous(problem, operand) && operand->alignment >= widest;
        found.whole &= access == widest;
        if (access < found.least) found.least = access;
    }
    return found;
}

/* The preferred vectors: as wide as can be, with masks at the ends of unaligned rows, or fewer elements. */
static void choose_vectors(const kiln__given *g, const kiln__pins *pins, kiln__schedule *s) {
    int width = kiln__widest_vector(g->problem);
    while (pins->vector_width && width > pins->vector_width) width /= 2;
    if (kiln__row_set_vectors(g, width, s)) return;
    while (g->problem->lengths && width > 1 && !kiln__row_set_vectors(g, width, s)) width /= 2;
    while (g->problem->cols % width && !g->problem->lengths) width /= 2;
    kiln__row_set_vectors(g, width, s);
}

/* Whether rows lie neither so that a tile of them can be copied flat nor in vectors that are worth masks at their ends.
 * Then vectors become as small as what can be moved in one access, so that neighbouring lanes' lie side by side. */
static bool lie_apart(const kiln__given *g, const lie *rows_lie, kiln__schedule *s) {
    const kiln__problem *problem = g->problem;
    const bool masked = s->edges == KILN__EDGES_MASKED;
    const bool overhangs = masked && problem->cols < LEAST_OVERHANGING * kiln__widest_vector(problem);
    int least = rows_lie->least;
    if (rows_lie->contiguous || (rows_lie->whole && !overhangs) || s->passes.ordered) return false;
    if (overhangs) {
        int width = s->vector_width;
        while (problem->cols % width) width /= 2;
        kiln__row_set_vectors(g, width, s);
        least = find_lie(problem, s).least;
    }
    if (least < kiln__least_vector(problem)) least = kiln__least_vector(problem);
    while (s->edges != KILN__EDGES_MASKED && s->vector_width > 2 && s->vector_width > least) s->vector_width /= 2;
    return true;
}

/* Whether rows that are one behind the other are worked on in tiles: odd ones, but for those of the table; and short
 * ones that would leave lanes without a vector. */
static int64_t least_overhanging(const kiln__problem *problem, int kind, int staged) {
    const int full_vector = kiln__widest_vector(problem);
    const bool halves = full_vector > 4; /* or smaller: a tile's single elements cost more */
    if (kind & READING_ODD) return 7;
    if (kind & INDEXED) return 24;
    if (kind & SHARING_ODD) return halves && staged == 1 ? 56 : 300;
    if (!halves) return full_vector == 4 ? 48 : 127;
    if (staged > 1) return 25;
    return full_vector == 8 ? 32 : 96;
}

static bool suits_tile(const kiln__problem *problem, int kind, int staged, const kiln__schedule *s) {
    const int full_vector = kiln__widest_vector(problem);
    const int64_t few = problem->cols / full_vector;
    if (s->edges == KILN__EDGES_MASKED && few >= least_overhanging(problem, kind, staged)) return false;
    if (kind & TAKING && few >= 8 && !s->passes.ordered) return false;
    /* What is read alone leaves few lanes without a vector, if they have two. */
    if (kind & READING && problem->cols % full_vector == 0 && few >= 12 && !s->passes.ordered) return false;
    if (problem->cols % full_vector) return problem->cols <= MOST_TILE_COLUMNS;
    return few > 0 && few < 32 && !kiln__is_power_of_two(few);
}

/* What is read once is one class, anything else another; rows that vectors overhang have one of their own. */
static int class_of_rows(bool read_once, bool overhang) {
    if (read_once) return overhang ? READING_ODD : READING;
    return overhang ? ODD : EVEN;
}

/* What the choice starts from. */
typedef struct rows {
    const kiln__given *g;
    const kiln__pins *pins;
    kiln__schedule s; /* its vectors, and what is staged */
    lie lie;
    bool pass;  /* the row is read once: nothing of it need stay */
    bool apart; /* rows lie apart */
    int kind, staged, bytes;
    int64_t vectors, load; /* vectors of 16 bytes, all staged inputs together */
} rows;

/* Of programs that read what all rows share. */
static int class_of_sharing(const rows *r) {
    const bool norms = kiln__is_norm(&r->g->traits), one = r->s.row.invariant_inputs == 1;
    const int reading = class_of_rows(r->pass, kiln__row_overhangs(r->g->problem, &r->s)) & (READING | READING_ODD);
    if (!kiln__row_overhangs(r->g->problem, &r->s))
        return reading | (r->staged == 1 ? SHARING | SHARING_ALONE : SHARING);
    const int odd = reading | SHARING | SHARING_ODD;
    if (one) return norms ? odd | SHARING_ONE | NORMS : odd | SHARING_ONE | SHARING_EXP;
    return norms ? odd | NORMS | NORMS_MORE : odd;
}

static int class_of_others(const rows *r) {
    const int kind = class_of_rows(r->pass, kiln__row_overhangs(r->g->problem, &r->s));
    if (kind == EVEN && r->staged > 1 && r->bytes <= 48) return kind | SEVERAL;
    const bool alone = r->staged == 1 && r->bytes <= 16 && r->s.vector_width >= 4;
    return kind == ODD && alone && r->g->traits.indexed ? kind | INDEXED : kind;
}

static int class_of(const rows *r) {
    int kind = r->s.row.invariant_inputs ? class_of_sharing(r) : class_of_others(r);
    if (r->pass && r->g->traits.finds_columns) kind |= TAKING;
    return r->apart ? kind | APART : kind;
}

/* Vectors of 16 bytes that so many vectors are, all staged inputs together. */
static int64_t load_of(int64_t vectors, int bytes) {
    int64_t all;
    return kiln__mul_i64(vectors, bytes > 16 ? bytes : 16, &all) ? all / 16 : INT64_MAX;
}

static rows find_rows(const kiln__given *g, const kiln__pins *pins) {
    const kiln__problem *problem = g->problem;
    rows r = {.g = g, .pins = pins, .s = kiln__schedule_blank(g->ir, problem)};
    choose_vectors(g, pins, &r.s);
    r.lie = find_lie(problem, &r.s);
    r.pass = g->traits.passes <= 1 && !problem->columns_out;
    r.apart = lie_apart(g, &r.lie, &r.s);
    r.bytes = kiln__row_stage(problem, &r.s);
    for (int o = 0; o < problem->input_count; o++) r.staged += r.s.tensors[o].staged;
    r.kind = class_of(&r);
    r.vectors = kiln__row_vectors(problem, &r.s);
    r.load = r.apart ? kiln__times(r.vectors, r.staged > 1 ? r.staged : 1) : load_of(r.vectors, r.bytes);
    /* Masks are of elements: lanes take twice as many vectors of bytes. */
    if (r.kind == READING_ODD && r.s.vector_width == 16 && r.load <= 65) r.load /= 2;
    return r;
}

/* How many chunks a streamed row is cut into. At most 1,024 where every block of the next phase reads the partial
 * results of all. A row that is read in one pass is cut so that each thread has two vectors. */
static int splits_of(const rows *r) {
    const int64_t load = load_of(r->vectors, r->bytes), most = r->pass ? 4096 : 1024;
    int64_t splits = 1;
    if (r->pins->splits) return r->pins->splits;
    if (r->pass && load > 2 * READ_VECTORS) splits = kiln__divide_up(load, READ_VECTORS);
    if (!r->pass && r->vectors > LONG_ROW_VECTORS) splits = kiln__divide_up(r->vectors, CHUNK_VECTORS);
    return (int)kiln__least(splits, most);
}

/* The row of the table that all others end in has fewer warps where they would exchange too much. */
static int threads_of(const rows *r, const kiln__choice *row) {
    int threads = row->threads ? row->threads : kiln__power_of_two_from(r->vectors, 32);
    if (r->pins->threads) return r->pins->threads;
    while (row->staging == KILN__STAGING_NONE && threads > 32 &&
           threads / 32 * kiln__schedule_exchanged(&r->s, r->g->ir) > KILN__MOST_STATIC_BYTES - 1024)
        threads /= 2;
    return threads;
}

/* What the pins leave open, as the row of the table has it. */
static kiln__pins point_of(const rows *r, const kiln__choice *row) {
    const kiln__pins *pins = r->pins;
    kiln__pins point = *pins;
    const bool as_table = pins->group < 0 && (pins->staging < 0 || pins->staging == (int)row->staging);
    point.staging = pins->staging >= 0 ? pins->staging : (int)row->staging;
    point.threads = threads_of(r, row);
    if (pins->group < 0) point.group = point.threads <= 32 ? KILN__GROUP_LANES : KILN__GROUP_BLOCK;
    if (pins->group < 0 && !pins->cluster && row->cluster == WHOLE_GRID) point.group = KILN__GROUP_GRID;
    if (!pins->cluster) point.cluster = as_table ? row->cluster : 1;
    if (!pins->persistent) point.persistent = row->persistent ? 1 : -1;
    point.vector_width = r->s.vector_width;
    point.rows_per_block = 1;
    point.splits = splits_of(r);
    return point;
}

/* Whether a row of the table is for such rows. */
static bool is_for(const rows *r, const kiln__choice *row) {
    const kiln__pins *pins = r->pins;
    /* Columns are combined, however many inputs they have. */
    const int64_t size = row->only & TAKING ? r->vectors : r->load;
    const bool pinned = pins->staging >= 0 || pins->group >= 0 || pins->cluster;
    const bool shifts =
        r->s.edges == KILN__EDGES_MASKED && row->staging == KILN__STAGING_REGISTERS && row->only & SHARING;
    if (row->only && (!(row->only & r->kind) || pinned || shifts)) return false;
    if (size > row->max_vectors) return false;
    if (pinned) return true;
    if (r->pass && row->staging == KILN__STAGING_SHARED) return false;
    if (row->cluster > 1 && r->vectors < (int64_t)row->threads * row->cluster) return false;
    return size >= row->min_vectors;
}

/* What a thread has of rows that lie apart stays in registers. */
static bool fits_apart(const rows *r, const kiln__choice *row, const kiln__pins *point) {
    return !(row->only & APART) ||
           kiln__divide_up(r->vectors, (int64_t)point->threads * point->cluster) * r->bytes <= MOST_APART_BYTES;
}

static int add_table(const rows *r, kiln__preference *out, int count) {
    const bool norms = kiln__is_norm(&r->g->traits);
    for (const kiln__choice *row = kiln__table; row->reason; row++) {
        kiln__preference p = {point_of(r, row), row->reason, row->only & SHARING};
        if (!is_for(r, row) || !fits_apart(r, row, &p.point)) continue;
        if (norms) out[count++] = p;
        p.point.min_blocks = 1; /* with as many registers as it takes */
        out[count++] = p;
    }
    return count;
}

int kiln__prefer_rows(const kiln__given *g, const kiln__pins *pins, kiln__preference *out) {
    const rows r = find_rows(g, pins);
    const bool asked = pins->staging == KILN__STAGING_TILE, open = pins->staging < 0 && pins->group < 0;
    int count = 0;
    if (asked || (open && (r.lie.contiguous || r.s.passes.ordered) && !r.apart &&
                  suits_tile(g->problem, r.kind, r.staged, &r.s)))
        out[count++] = (kiln__preference){kiln__prefer_row_tile(g, pins, &r.s),
                                          "rows begin anywhere: a tile of them is one flat array, copied in aligned "
                                          "pieces",
                                          false};
    if (asked) return count;
    if (!r.apart) count = kiln__prefer_rows_in_flight(g, pins, &r.s, r.load, r.bytes, out, count);
    return add_table(&r, out, count);
}
