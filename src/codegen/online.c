/* SPDX-License-Identifier: Apache-2.0 */
/* The generated side of phases that are reduced together: partial results, how they are corrected and combined. */
#include "codegen/emitter.h"
#include "problem/online.h"

static bool is_second(const kiln__emitter *e, uint32_t i) {
    return kiln__op_is_reduction(e->ir->insts[i].op) && e->ir->insts[i].phase == e->schedule->online + 2;
}

bool kiln__phase_counts(const kiln__emitter *e, uint32_t phase) {
    for (uint32_t i = 0; i < e->ir->count && e->schedule->online == (int)phase; i++)
        if (is_second(e, i) && kiln__online_of(e->ir, i).kind == KILN__ONLINE_SQUARE) return true;
    return false;
}

/* The centre, from partial results: "from.r4 / from.count". */
static const char *spell_centre(const kiln__emitter *e, const kiln__online *online, const char *state,
                                const char *counter) {
    const char *first = kiln__spell(e, "%s.r%u", state, online->first);
    if (online->kind != KILN__ONLINE_EXP)
        return kiln__spell(e, e->schedule->branching_means ? "%s / %s.count" : "kiln_ratio(%s, %s.count)", first,
                           counter);
    return online->centre == online->first ? first : kiln__spell(e, "isfinite(%s) ? %s : 0", first, first);
}

/* The second phase's sums of distances, or all others, from what they are about to another centre. */
static void emit_moves(const kiln__emitter *e, bool distances) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        if ((online.kind == KILN__ONLINE_DISTANCE) != distances) continue;
        const char *how = online.kind != KILN__ONLINE_EXP      ? "square"
                          : e->folded[e->ir->insts[i].args[0]] ? "centre"
                                                               : "exp";
        const char *beside = online.distances ? kiln__spell(e, "part.r%u, ", online.distances) : "";
        kiln__write(e, "    part.r%u = kiln_move_%s(part.r%u, %s%s%s, %s);\n", i, distances ? "distance" : how, i,
                    beside, online.kind != KILN__ONLINE_EXP ? "from.count, " : "",
                    spell_centre(e, &online, "from", "from"), spell_centre(e, &online, "to", "to"));
    }
}

/* The same from where the centre was when the thread began, to where it is. */
static void emit_settling(const kiln__emitter *e, bool distances) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        if ((online.kind == KILN__ONLINE_DISTANCE) != distances) continue;
        const char *beside = online.distances ? kiln__spell(e, "part.r%u, ", online.distances) : "";
        kiln__write(e, "    part.r%u = kiln_%s(part.r%u, %sall.count, row.v%u, %s);\n", i,
                    distances ? "move_distance" : "settle_square", i, beside, online.centre,
                    spell_centre(e, &online, "all", "all"));
    }
}

/* kiln_partial: the row's values as far as a thread knows them. kiln_correct: the second phase's sums about `to`.
 * kiln_settle: squares about where the centre was, to those about where it is. */
void kiln__emit_online(const kiln__emitter *e) {
    const int first = e->schedule->online;
    const char *of = e->rows_in_vectors ? "state" : "phase",
               *reduced = e->rows_in_vectors ? "reduced.at[j]" : "reduced";
    kiln__write(e, "/* Phases %d and %d in one pass and one exchange. */\n", first, first + 1);
    kiln__write(e, "KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase%d &reduced)\n{\n%s", first,
                e->rows_in_vectors ? "#pragma unroll\n    for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) {\n" : "");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        if (online.kind == KILN__ONLINE_DISTANCE) continue; /* its squares have the same centre */
        kiln__write(e, "    row.v%u%s = %s;\n", online.centre, e->rows_in_vectors ? "[j]" : "",
                    spell_centre(e, &online, reduced, "reduced"));
        if (e->centre[online.centre])
            kiln__write(e, "    row.c%u%s = row.v%u%s;\n", online.centre, e->rows_in_vectors ? "[j]" : "",
                        online.centre, e->rows_in_vectors ? "[j]" : "");
    }
    kiln__write(e,
                "%s}\nKILN_DEVICE kiln_%s%d kiln_correct(kiln_%s%d part, const kiln_%s%d &from, "
                "const kiln_%s%d &to)\n{\n",
                e->rows_in_vectors ? "    }\n" : "", of, first + 1, of, first + 1, of, first, of, first);
    emit_moves(e, false);
    emit_moves(e, true); /* squares are moved by distances from where they were */
    kiln__write(e, "    return part;\n}\n");
    if (e->schedule->online_pass != KILN__ONLINE_SETTLED) return;
    kiln__write(e,
                "KILN_DEVICE void kiln_settle(const kiln_row &row, kiln_phase%d &part, const kiln_phase%d &all)\n{\n",
                first + 1, first);
    emit_settling(e, false);
    emit_settling(e, true);
    kiln__write(e, "}\n");
}
