/* SPDX-License-Identifier: Apache-2.0 */
/* Preferred teams for several rows in flight. */
#include "schedule/prefer.h"

/* For rows of up to so many vectors of 16 bytes, all staged inputs together, and of at least so many inputs that all
 * rows share: who works on how many rows. */
typedef struct team {
    int64_t vectors;
    int threads, cluster, rows;
    int sharing;
} team;

/* Up to seven vectors for each thread, and blocks as small as can be. */
static const team aligned[] = {
    {448, 64, 1, 2, 1},   {768, 128, 1, 2, 1},    {1536, 128, 2, 2, 1},   {3072, 128, 4, 2, 1},   {6144, 128, 8, 2, 1},
    {7168, 128, 8, 2, 2}, {14336, 128, 16, 2, 1}, {16384, 256, 16, 3, 1}, {20480, 256, 16, 2, 1}, {0}};

/* Norms of vectors of one tensor, of 2-byte elements (of f32 and of two tensors, H200: as fast, or slower). What all
 * rows share is shifted before the rows are looked at: half as many instructions again, so that shorter rows are better
 * alone, and wider blocks than these. */
static const team unaligned[] = {{3072, 0, 0, 0, 2},     {3586, 256, 2, 3, 2},   {4098, 256, 4, 2, 2},
                                 {5122, 128, 8, 3, 2},   {6146, 256, 4, 3, 2},   {7170, 128, 8, 3, 2},
                                 {8194, 256, 8, 2, 2},   {10242, 0, 0, 0, 2},    {12290, 256, 8, 3, 2},
                                 {14338, 128, 16, 3, 2}, {16386, 256, 16, 2, 2}, {0}};
static const team unaligned_of_one[] = {{3392, 0, 0, 0, 1},   {3586, 256, 2, 2, 1},  {5122, 256, 4, 2, 1},
                                        {6146, 128, 8, 2, 1}, {14338, 256, 8, 2, 1}, {0}};

/* Exponentials of them are computed twice: these gain from fewer columns on. Four vectors for each thread take
 * registers for three rows; of f64 they spill. */
static const team unaligned_others[] = {{128, 0, 0, 0, 1},
                                        {194, 64, 1, 3, 1},
                                        {514, 128, 1, 3, 1},
                                        {1026, 128, 2, 3, 1},
                                        {1538, 128, 4, 2, 1},
                                        {2050, 256, 2, 3, 1},
                                        {3074, 256, 4, 2, 1},
                                        {4098, 256, 4, 3, 1},
                                        {6146, 256, 8, 2, 1},
                                        {8194, 256, 8, 3, 1},
                                        {12290, 256, 16, 2, 1},
                                        {16386, 256, 16, 3, 1},
                                        {0}};

/* The shortest aligned rows that gain: norms whose vectors are of 2-byte elements, of two such tensors and of one;
 * others. */
#define NORMS_FROM 193
#define NORMS_OF_ONE_FROM 449
#define NORMS_OF_ONE_TO 12288
#define NORMS_OF_SMALL_VECTORS_FROM 1025
#define OTHERS_FROM 769

static bool leaves_open(const kiln__pins *pins) {
    if (pins->staging >= 0 || pins->persistent > 0 || pins->rows_per_block == 1) return false;
    if (pins->rows_per_block) return pins->group <= KILN__GROUP_BLOCK;
    return pins->group < 0 && !pins->threads && !pins->cluster;
}

/* Whether rows of so many vectors gain. */
static bool gain(const kiln__traits *traits, const kiln__schedule *s, int64_t load, int bytes) {
    const bool norms = kiln__is_norm(traits), several = s->row.invariant_inputs > 1;
    if (s->edges == KILN__EDGES_MASKED)
        return norms ? s->vector_width == 8 && bytes <= 16 : s->vector_width == 4 || s->vector_width == 8;
    if (!norms) return load >= OTHERS_FROM;
    if (!several && load > NORMS_OF_ONE_TO) return false;
    if (s->vector_width < 8) return load >= NORMS_OF_SMALL_VECTORS_FROM;
    return load >= (several ? NORMS_FROM : NORMS_OF_ONE_FROM);
}

static const team *teams_of(const kiln__traits *traits, const kiln__pins *pins, const kiln__schedule *s) {
    if (s->edges != KILN__EDGES_MASKED || pins->rows_per_block) return aligned;
    if (!kiln__is_norm(traits)) return unaligned_others;
    return s->row.invariant_inputs > 1 ? unaligned : unaligned_of_one;
}

int kiln__prefer_rows_in_flight(const kiln__given *g, const kiln__pins *pins, const kiln__schedule *vectors,
                                int64_t load, int bytes, kiln__preference *out, int count) {
    if (!leaves_open(pins) || (!pins->rows_per_block && !gain(&g->traits, vectors, load, bytes))) return count;
    const team *of = teams_of(&g->traits, pins, vectors);
    while (of->vectors && (load > of->vectors || vectors->row.invariant_inputs < of->sharing)) of++;
    const int usual = pins->threads ? 1 : of->cluster;
    kiln__preference p = {.point = *pins, .reason = "several rows in flight, which read what all rows share once"};
    p.point.vector_width = vectors->vector_width;
    p.point.threads = pins->threads ? pins->threads : of->threads;
    p.point.cluster = pins->cluster ? pins->cluster : usual;
    p.point.adapts = !pins->rows_per_block;
    for (int more = 0; more < 2; more++) {
        p.point.rows_per_block = pins->rows_per_block ? pins->rows_per_block : of->rows + more;
        if (p.point.rows_per_block > 1) out[count++] = p;
    }
    return count;
}
