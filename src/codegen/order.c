/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are sorted, and those whose largest values are: where these and the numbers of their columns lie in the
 * row's memory, and what puts them there. */
#include <inttypes.h>

#include "codegen/emitter.h"

bool kiln__chooses(const kiln__emitter *e, uint32_t i) {
    if (e->problem->any_shape) return false; /* all of a row is brought into order */
    return e->ir->insts[i].op == KILN__OP_ORDER && e->ir->insts[i].u.order.first;
}

/* The type of a composite of key and number, and how a key is made of a value's. */
static void emit_composite(const kiln__emitter *e, const kiln__order_room *room) {
    if (room->composite_bytes == 4)
        kiln__write(e, "    typedef kiln_small_composite<%d> composite;\n", 32 - room->key_bits);
    else
        kiln__write(e, "    typedef kiln_composite<%s> composite;\n",
                    room->composite_bytes == 8 ? "kiln_u32" : "kiln_u64");
    kiln__write(e,
                "    static constexpr int shift = %d;\n"
                "    static constexpr kiln_u64 flip = 0x%" PRIx32 ", key_mask = 0x%" PRIx64 ";\n",
                room->key_shift, room->key_flip, UINT64_MAX >> (64 - room->key_bits));
}

/* How often runs of one tile are merged, two each, until one is left of so many. */
static int merges_of(int64_t tiles) {
    int merges = 0;
    while ((int64_t)1 << merges < tiles) merges++;
    return merges;
}

/* What both kinds have. */
static void emit_order_head(const kiln__emitter *e, uint32_t i, const kiln__order_room *room) {
    const kiln__inst *inst = &e->ir->insts[i];
    const bool chooses = kiln__chooses(e, i);
    kiln__write(e, "/* %s */\nstruct kiln_order%u {\n    typedef %s value;\n", chooses ? "topk" : "argsort", i,
                kiln__cxx_ctype(e->ir->insts[inst->args[0]].type));
    emit_composite(e, room);
    kiln__write(e, "    static constexpr bool descending = %s, chosen = %s;\n",
                inst->u.order.descending ? "true" : "false", chooses ? "true" : "false");
}

/* Of rows of any number of columns: places are bytes of each of them. */
static void emit_any_order(const kiln__emitter *e, uint32_t i) {
    const kiln__order_room room = kiln__order_room_of(e->ir, e->problem, 0, e->schedule->team.threads, i);
    const int64_t place = kiln__slots_begin(e, i);
    emit_order_head(e, i, &room);
    kiln__write(e,
                "    static constexpr int first = 0x7fffffff, own = %d; /* all are in order */\n"
                "    static constexpr int place = %" PRId64 ", composites = %" PRId64 "; /* bytes */\n"
                "    static KILN_MEMBER int most() { return kiln_sorted.cols; }\n"
                "    static KILN_MEMBER int tiles() { return kiln_tiles(own * KILN_THREADS); }\n"
                "    static KILN_MEMBER int merges() { return kiln_merges(tiles()); }\n};\n\n",
                room.own, place, place + room.composites);
}

static void emit_order(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const kiln__order_room room = kiln__order_room_of(e->ir, e->problem, kiln__slots_plan_of(e->schedule)->columns,
                                                      e->schedule->team.threads_per_row, i);
    const bool chooses = kiln__chooses(e, i);
    const int64_t begin = kiln__slots_begin(e, i);
    const int64_t tiles = kiln__divide_up(room.columns, (int64_t)room.own * e->schedule->team.threads_per_row);
    const kiln__choosing choosing = kiln__choosing_of(e->ir, e->problem, e->schedule, i);
    emit_order_head(e, i, &room);
    kiln__write(e,
                "    static constexpr int columns = %" PRId64 ", first = %" PRId64 ", own = %d;\n"
                "    static constexpr int place = %" PRId64 ", composites = %" PRId64 ", columns_at = %" PRId64
                ", state = %" PRId64 "; /* bytes */\n",
                room.columns, chooses ? (int64_t)inst->u.order.first : room.columns, room.own, begin,
                begin + room.composites, begin + room.columns_at, begin + room.state);
    kiln__write(e,
                "    static KILN_MEMBER constexpr int most() { return columns; }\n"
                "    static KILN_MEMBER constexpr int tiles() { return %" PRId64 "; }\n"
                "    static KILN_MEMBER constexpr int merges() { return %d; }\n",
                tiles, merges_of(tiles));
    if (chooses)
        kiln__write(e,
                    "    static constexpr bool looks = %s, guesses = %s;\n"
                    "    static constexpr int groups = %d, failures = %d, sampled = %d, counted = %d, wanted = %d, "
                    "wider = %d;\n",
                    choosing.looks ? "true" : "false", choosing.guesses ? "true" : "false", choosing.groups,
                    choosing.failures, choosing.sampled, choosing.counted, choosing.wanted, choosing.wider);
    kiln__write(e, "};\n\n");
}

void kiln__emit_orders(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->ir->insts[i].op == KILN__OP_ORDER && kiln__has_slots(e, i))
            (e->problem->any_shape ? emit_any_order : emit_order)(e, i);
}

void kiln__emit_put_down(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    const uint32_t order = kiln__sorted_by(e, i);
    const char *value = kiln__spell_value(e, inst->args[0]), *keys = kiln__spell_value(e, e->ir->insts[order].args[0]);
    const char *type = kiln__cxx_ctype(e->ir->insts[inst->args[0]].type);
    if (kiln__chooses(e, i)) {
        kiln__write(e, "            keys[j] = %s;\n", value);
        return;
    }
    kiln__write(e, "            if (span.has(j)) ");
    if (kiln__chooses(e, order))
        kiln__write(e, "choosing.carry<%s>(%" PRId64 ", %s, col + j, %s);\n", type, kiln__slots_begin(e, i), keys,
                    value);
    else
        kiln__write(e, "kiln_carried<%s>(%" PRId64 ", (int)(col + j)) = %s;\n", type, kiln__slots_begin(e, i), value);
}
