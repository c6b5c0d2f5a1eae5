/* SPDX-License-Identifier: Apache-2.0 */
/* The generated side of phases that are reduced together: partial results, how they are corrected and combined. */
#include "codegen/emitter.h"
#include "problem/online.h"

/* The reductions of the second phase. */
static const kiln__inst_list *second(const kiln__emitter *e) { return &e->reductions[e->schedule->passes.online + 1]; }

bool kiln__phase_counts(const kiln__emitter *e, uint32_t phase) {
    if (e->schedule->passes.online != (int)phase) return false;
    for (uint32_t r = 0; r < second(e)->count; r++)
        if (kiln__online_of(e->ir, second(e)->at[r]).kind == KILN__ONLINE_SQUARE) return true;
    return false;
}

/* The centre, from partial results: "kiln_near_mean(from.r4, from.count)". */
static const char *spell_centre(const kiln__emitter *e, const kiln__online *online, const char *state,
                                const char *counter) {
    const char *first = kiln__spell(e, "%s.r%u", state, online->first);
    if (online->kind != KILN__ONLINE_EXP)
        return kiln__spell(e, e->schedule->passes.branching_means ? "%s / %s.count" : "kiln_near_mean(%s, %s.count)",
                           first, counter);
    return online->centre == online->first ? first : kiln__spell(e, "isfinite(%s) ? %s : 0", first, first);
}

/* "part.r9, ": beside squares, the sum of their distances, if there is one. */
static const char *spell_distances(const kiln__emitter *e, const kiln__online *online) {
    return online->distances ? kiln__spell(e, "part.r%u, ", online->distances) : "";
}

/* One of the second phase's sums, from what it is about to another centre. */
static void emit_move(const kiln__emitter *e, uint32_t i, const kiln__online *online) {
    const char *from = spell_centre(e, online, "from", "from"), *to = spell_centre(e, online, "to", "to");
    if (online->kind == KILN__ONLINE_EXP)
        kiln__write(e, "    part.r%u = kiln_move_%s(part.r%u, %s, %s);\n", i,
                    e->folded[e->ir->insts[i].args[0]] ? "centre" : "exp", i, from, to);
    else
        kiln__write(e, "    part.r%u = kiln_move_%s(part.r%u, %sfrom.count, %s, %s);\n", i,
                    online->kind == KILN__ONLINE_DISTANCE ? "distance" : "square", i, spell_distances(e, online), from,
                    to);
}

/* The same from where the centre was when the thread began, to where it is. */
static void emit_settling(const kiln__emitter *e, uint32_t i, const kiln__online *online) {
    kiln__write(e, "    part.r%u = kiln_%s(part.r%u, %sall.count, row.v%u, %s);\n", i,
                online->kind == KILN__ONLINE_DISTANCE ? "move_distance" : "settle_square", i,
                spell_distances(e, online), online->centre, spell_centre(e, online, "all", "all"));
}

/* Of all sums of the second phase; squares first, which are moved by distances from where they were. */
static void emit_each_sum(const kiln__emitter *e,
                          void emit(const kiln__emitter *e, uint32_t i, const kiln__online *online)) {
    for (int distances = 0; distances < 2; distances++)
        for (uint32_t r = 0; r < second(e)->count; r++) {
            const kiln__online online = kiln__online_of(e->ir, second(e)->at[r]);
            if ((online.kind == KILN__ONLINE_DISTANCE) == distances) emit(e, second(e)->at[r], &online);
        }
}

/* Centres as far as a thread knows them. */
static void emit_centres(const kiln__emitter *e) {
    const char *reduced = e->rows_in_vectors ? "reduced.at[j]" : "reduced", *at = e->rows_in_vectors ? "[j]" : "";
    const char *counter = e->schedule->edges == KILN__EDGES_WRAPPED ? reduced : "reduced";
    for (uint32_t r = 0; r < second(e)->count; r++) {
        const kiln__online online = kiln__online_of(e->ir, second(e)->at[r]);
        if (online.kind == KILN__ONLINE_DISTANCE) continue; /* its squares have the same centre */
        kiln__write(e, "    row.v%u%s = %s;\n", online.centre, at, spell_centre(e, &online, reduced, counter));
        if (e->centre[online.centre])
            kiln__write(e, "    row.c%u%s = row.v%u%s;\n", online.centre, at, online.centre, at);
    }
}

/* kiln_partial: the row's values as far as a thread knows them. kiln_correct: the second phase's sums about `to`.
 * kiln_settle: squares about where the centre was, to those about where it is. */
void kiln__emit_online(const kiln__emitter *e) {
    const int first = e->schedule->passes.online;
    const char *of = e->rows_in_vectors ? "state" : "phase";
    kiln__write(e, "/* Phases %d and %d in one pass and one exchange. */\n", first, first + 1);
    kiln__write(e, "KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase%d &reduced)\n{\n%s", first,
                e->rows_in_vectors ? "#pragma unroll\n    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {\n" : "");
    emit_centres(e);
    kiln__write(e,
                "%s}\nKILN_DEVICE kiln_%s%d kiln_correct(kiln_%s%d part, const kiln_%s%d &from, "
                "const kiln_%s%d &to)\n{\n",
                e->rows_in_vectors ? "    }\n" : "", of, first + 1, of, first + 1, of, first, of, first);
    emit_each_sum(e, emit_move);
    kiln__write(e, "    return part;\n}\n");
    if (e->schedule->passes.online_pass != KILN__ONLINE_SETTLED) return;
    kiln__write(e,
                "KILN_DEVICE void kiln_settle(const kiln_row &row, kiln_phase%d &part, const kiln_phase%d &all)\n{\n",
                first + 1, first);
    emit_each_sum(e, emit_settling);
    kiln__write(e, "}\n");
}
