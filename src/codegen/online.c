/* The generated side of phases that are reduced together: partial results, how they are corrected and combined. */
#include "codegen/emitter.h"
#include "plan/online.h"

static bool is_second(const kiln__emitter *e, uint32_t i) {
    return kiln__op_is_reduction(e->ir->insts[i].op) && e->ir->insts[i].phase == e->schedule->online + 2;
}

bool kiln__phase_counts(const kiln__emitter *e, uint32_t phase) {
    for (uint32_t i = 0; i < e->ir->count && e->schedule->online == (int)phase; i++)
        if (is_second(e, i) && kiln__online_of(e->ir, i).kind == KILN__ONLINE_SQUARE) return true;
    return false;
}

bool kiln__is_one_pass(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    return s->online == 0 && !s->persistent && s->residency != KILN__RESIDENCY_STREAM && kiln__online_squares(e->ir);
}

/* The centre, from partial results: "from.r4 / from.count". */
static const char *spell_centre(const kiln__emitter *e, const kiln__online *online, const char *state) {
    const char *first = kiln__spell(e, "%s.r%u", state, online->first);
    if (online->kind == KILN__ONLINE_SQUARE) return kiln__spell(e, "%s / %s.count", first, state);
    return online->centre == online->first ? first : kiln__spell(e, "isfinite(%s) ? %s : 0", first, first);
}

/* kiln_partial: the row's values as far as a thread knows them. kiln_correct: the second phase's sums about `to`. */
static void emit_corrections(const kiln__emitter *e, int first) {
    kiln__write(e, "KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase%d &reduced)\n{\n", first);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        kiln__write(e, "    row.v%u = %s;\n", online.centre, spell_centre(e, &online, "reduced"));
    }
    kiln__write(e,
                "}\nKILN_DEVICE kiln_phase%d kiln_correct(kiln_phase%d part, const kiln_phase%d &from, "
                "const kiln_phase%d &to)\n{\n",
                first + 1, first + 1, first, first);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        bool square = online.kind == KILN__ONLINE_SQUARE;
        kiln__write(e, "    part.r%u = kiln_move_%s(part.r%u, %s%s, %s);\n", i, square ? "square" : "exp", i,
                    square ? "from.count, " : "", spell_centre(e, &online, "from"), spell_centre(e, &online, "to"));
    }
    kiln__write(e, "    return part;\n}\n");
}

/* Squares about the mean of a thread's first pack, until it has all its elements. */
static void emit_one_pass(const kiln__emitter *e) {
    const bool shared = e->schedule->residency == KILN__RESIDENCY_SHARED;
    kiln__write(e,
                "    struct one_pass {\n        kiln_row &row;\n        kiln_online &online;\n        bool begun;\n%s"
                "        KILN_MEMBER void pack(const kiln_row &, const kiln_kept &kept, kiln_index col, const "
                "kiln_span &span)\n"
                "        {\n            online.first.pack(row, kept, col, span);\n"
                "            if (!begun) kiln_partial(row, online.first);\n            begun = true;\n"
                "            online.second.pack(row, kept, col, span);\n        }\n"
                "        KILN_MEMBER void end()\n        {\n            const auto &all = online.first;\n",
                shared ? "        static constexpr bool shares = decltype(first)::shares || decltype(second)::shares;\n"
                         "        static constexpr bool beside = decltype(first)::beside || decltype(second)::beside;\n"
                       : "");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        kiln__write(e,
                    "            online.second.r%u = kiln_settle_square(online.second.r%u, all.count, row.v%u, %s);\n",
                    i, i, online.centre, spell_centre(e, &online, "all"));
    }
    kiln__write(e, "        }\n    };\n");
}

void kiln__emit_online(const kiln__emitter *e) {
    int first = e->schedule->online;
    kiln__write(e, "/* Phases %d and %d in one pass and one exchange. */\n", first, first + 1);
    emit_corrections(e, first);
    kiln__write(e,
                "struct kiln_online {\n    static constexpr bool ordered = false;\n"
                "    kiln_phase%d first;\n    kiln_phase%d second;\n%s%s",
                first, first + 1,
                e->schedule->arrivals ? "    static constexpr int exchange = decltype(first)::exchange;\n" : "",
                kiln__schedule_exchanges(e->schedule) ? "    static constexpr int before = decltype(first)::before;\n"
                                                      : "");
    if (kiln__is_one_pass(e)) emit_one_pass(e);
    kiln__write(
        e, "    KILN_MEMBER void clear()\n    {\n        first.clear();\n        second.clear();\n    }\n"
           "    static KILN_MEMBER kiln_online combine(const kiln_online &a, const kiln_online &b)\n    {\n"
           "        kiln_online c;\n        c.first = decltype(first)::combine(a.first, b.first);\n"
           "        c.second = decltype(second)::combine(kiln_correct(a.second, a.first, c.first), "
           "kiln_correct(b.second, b.first, c.first));\n        return c;\n    }\n"
           "    KILN_MEMBER kiln_online shuffle(int lane_mask, kiln_u32 lanes) const\n    {\n"
           "        return {first.shuffle(lane_mask, lanes), second.shuffle(lane_mask, lanes)};\n    }\n};\n"
           "/* Lanes agree on the first phase, then each corrects its part of the second once. */\n"
           "template <int COUNT> KILN_DEVICE kiln_online kiln_combine_lanes(kiln_online value, "
           "kiln_u32 lanes = 0xffffffffu)\n{\n    kiln_online all;\n"
           "    all.first = kiln_combine_lanes<COUNT>(value.first, lanes);\n"
           "    all.second = kiln_combine_lanes<COUNT>(kiln_correct(value.second, value.first, all.first), lanes);\n"
           "    return all;\n}\n\n");
}
