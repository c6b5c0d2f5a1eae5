/* The generated side of phases that are reduced together: partial results, how they are corrected and combined. */
#include "codegen/emitter.h"
#include "plan/online.h"

static bool is_second(const kiln__emitter *e, uint32_t i) {
    return kiln__op_is_reduction(e->ir->insts[i].op) && (int)e->ir->insts[i].phase == e->schedule->online + 2;
}

bool kiln__online_counts(const kiln__ir *ir, int phase) {
    for (uint32_t i = 0; i < ir->count && phase >= 0; i++)
        if (kiln__op_is_reduction(ir->insts[i].op) && ir->insts[i].phase == phase + 2 &&
            kiln__online_of(ir, i).kind == KILN__ONLINE_SQUARE)
            return true;
    return false;
}

/* The centre, from partial results: "from.r4 / from.count". */
static void emit_centre(const kiln__emitter *e, const kiln__online *online, const char *state) {
    if (online->kind == KILN__ONLINE_SQUARE)
        kiln__text_printf(e->out, "%s.r%u / %s.count", state, online->first, state);
    else if (online->centre == online->first)
        kiln__text_printf(e->out, "%s.r%u", state, online->first);
    else
        kiln__text_printf(e->out, "isfinite(%s.r%u) ? %s.r%u : 0", state, online->first, state, online->first);
}

/* kiln_partial: the row's values as far as a thread knows them. kiln_correct: the second phase's sums about `to`. */
static void emit_corrections(const kiln__emitter *e, unsigned first, unsigned second) {
    kiln__text_printf(e->out, "KILN_DEVICE void kiln_partial(kiln_row &row, const kiln_phase%u &reduced)\n{\n", first);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        kiln__text_printf(e->out, "    row.v%u = ", online.centre);
        emit_centre(e, &online, "reduced");
        kiln__text_puts(e->out, ";\n");
    }
    kiln__text_printf(e->out,
                      "}\nKILN_DEVICE kiln_phase%u kiln_correct(kiln_phase%u part, const kiln_phase%u &from, "
                      "const kiln_phase%u &to)\n{\n",
                      second, second, first, first);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!is_second(e, i)) continue;
        kiln__online online = kiln__online_of(e->ir, i);
        bool square = online.kind == KILN__ONLINE_SQUARE;
        kiln__text_printf(e->out, "    part.r%u = kiln_move_%s(part.r%u, %s", i, square ? "square" : "exp", i,
                          square ? "from.count, " : "");
        emit_centre(e, &online, "from");
        kiln__text_puts(e->out, ", ");
        emit_centre(e, &online, "to");
        kiln__text_puts(e->out, ");\n");
    }
    kiln__text_puts(e->out, "    return part;\n}\n");
}

void kiln__emit_online(const kiln__emitter *e) {
    unsigned first = (unsigned)e->schedule->online, second = first + 1;
    kiln__text_printf(e->out, "/* Phases %u and %u in one pass and one exchange. */\n", first, second);
    emit_corrections(e, first, second);
    kiln__text_printf(
        e->out,
        "struct kiln_online {\n    static constexpr bool ordered = false;\n"
        "    kiln_phase%u first;\n    kiln_phase%u second;\n%s",
        first, second,
        kiln__schedule_exchanges(e->schedule) ? "    static constexpr int before = decltype(first)::before;\n" : "");
    kiln__text_puts(
        e->out, "    KILN_MEMBER void clear()\n    {\n        first.clear();\n        second.clear();\n    }\n"
                "    static KILN_MEMBER kiln_online combine(const kiln_online &a, const kiln_online &b)\n    {\n"
                "        kiln_online c;\n        c.first = decltype(first)::combine(a.first, b.first);\n"
                "        c.second = decltype(second)::combine(kiln_correct(a.second, a.first, c.first), "
                "kiln_correct(b.second, b.first, c.first));\n        return c;\n    }\n"
                "    KILN_MEMBER kiln_online shuffle(int lane_mask, kiln_u32 lanes) const\n    {\n"
                "        return {first.shuffle(lane_mask, lanes), second.shuffle(lane_mask, lanes)};\n    }\n};\n\n");
}
