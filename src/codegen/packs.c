/* The generated work on packs: what is kept of the inputs, one struct per phase of reductions, one for the outputs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"

bool kiln__rows_in_packs(const kiln__emitter *e) { return e->schedule->layout == KILN__LAYOUT_OUTER; }

static bool has_offset(const kiln__emitter *e, int o) {
    const kiln__problem *p = e->problem;
    return p->layout == KILN__LAYOUT_FLAT ? !p->operands[o].linear : !p->operands[o].packed;
}

/* How far `column` is from the row's start: "col". */
static void emit_offset(const kiln__emitter *e, int o, const char *column) {
    if (!e->problem->operands[o].per_element)
        kiln__text_puts(e->out, "0");
    else if (!has_offset(e, o))
        kiln__text_puts(e->out, column);
    else {
        kiln__emit_name(e, "kiln_offset_", o, "(row.args, ");
        kiln__text_printf(e->out, "%s)", column);
    }
}

void kiln__emit_pack_address(const kiln__emitter *e, int o, const char *column) {
    kiln__emit_name(e, "row.", o, kiln__rows_in_packs(e) ? ", " : " + ");
    emit_offset(e, o, column);
}

/* " + j % KILN_VECTOR * args.in_x_row": from the start of element j's run of rows to its own row. */
static void emit_row_in_run(const kiln__emitter *e, int o) {
    const kiln__operand *operand = &e->problem->operands[o];
    int last = e->problem->outer_rank - 1;
    int64_t stride = operand->linear || last < 0 ? operand->row_stride : operand->outer_strides[last];
    if (!stride || e->schedule->row_vector == 1) return;
    kiln__text_puts(e->out, " + j % KILN_VECTOR");
    if (stride == 1) return;
    if (!operand->linear) {
        kiln__text_printf(e->out, " * row.args.stride%d_", last);
        kiln__emit_name(e, "", o, "");
    } else if (kiln__stride_is_constant(e->problem, stride))
        kiln__text_printf(e->out, " * %" PRId64, stride);
    else
        kiln__emit_name(e, " * row.args.", o, "_row");
}

void kiln__emit_element_address(const kiln__emitter *e, int o, const char *column) {
    if (!kiln__rows_in_packs(e)) {
        kiln__emit_pack_address(e, o, column);
        return;
    }
    kiln__emit_name(e, "row.", o, e->schedule->row_vector == 1 ? "[j] + " : "[j / KILN_VECTOR] + ");
    emit_offset(e, o, column);
    emit_row_in_run(e, o);
}

/* The column of element j. */
static const char *element_column(const kiln__emitter *e) { return kiln__rows_in_packs(e) ? "col" : "(col + j)"; }

void kiln__emit_pack_type(const kiln__emitter *e, int o) {
    kiln__text_printf(e->out, "kiln_pack<%s, KILN_PACK>", kiln__cxx_storage(e->problem->operands[o].type));
}

static const char *rows_suffix(const kiln__emitter *e) { return kiln__rows_in_packs(e) ? "_rows" : ""; }

void kiln__emit_fetch(const kiln__emitter *e, int o, const char *indent) {
    if (e->schedule->shifted[o]) {
        kiln__text_printf(e->out, "%skiln_fetch_shifted<%d>(", indent, e->schedule->vector[o]);
        kiln__emit_name(e, "", o, ", row.");
        kiln__emit_name(e, "", o, ", col, row.shift, span);\n");
        return;
    }
    if (e->schedule->vector[o]) {
        kiln__text_printf(e->out, "%skiln_fetch%s<%d>(", indent, rows_suffix(e), e->schedule->vector[o]);
        kiln__emit_name(e, "", o, ", ");
        kiln__emit_pack_address(e, o, "col");
        kiln__text_puts(e->out, ", span);\n");
        return;
    }
    kiln__text_printf(e->out, "#pragma unroll\n%sfor (int j = 0; j < KILN_PACK; ++j) ", indent);
    kiln__emit_name(e, "", o, kiln__rows_in_packs(e) ? ".set(j, span.reads(j) ? *(" : ".set(j, span.has(j) ? *(");
    kiln__emit_element_address(e, o, element_column(e));
    kiln__text_printf(e->out, ") : %s());\n", kiln__cxx_storage(e->problem->operands[o].type));
}

/* copy: a pack into its place. */
static void emit_shared_copy(const kiln__emitter *e, const int64_t *offset) {
    const kiln__problem *p = e->problem;
    kiln__text_puts(e->out, "    static KILN_MEMBER void copy(unsigned char *shared, int slot, const kiln_row &row, "
                            "kiln_index col, const kiln_span &span)\n    {\n");
    for (int o = 0; o < p->input_count; o++) {
        if (!e->schedule->kept[o]) continue;
        kiln__text_puts(e->out, "        {\n            ");
        kiln__emit_pack_type(e, o);
        kiln__text_puts(e->out, " *to = reinterpret_cast<");
        kiln__emit_pack_type(e, o);
        kiln__text_printf(e->out, " *>(shared + %" PRId64 ") + slot;\n", offset[o]);
        if (e->schedule->vector[o]) {
            kiln__text_printf(e->out, "            kiln_fetch%s_async<%d>(to, ", rows_suffix(e),
                              e->schedule->vector[o]);
            kiln__emit_pack_address(e, o, "col");
            kiln__text_puts(e->out, ", span);\n");
        } else {
            kiln__text_puts(e->out, "            ");
            kiln__emit_pack_type(e, o);
            kiln__emit_name(e, " ", o, ";\n");
            kiln__emit_fetch(e, o, "            ");
            kiln__emit_name(e, "            *to = ", o, ";\n");
        }
        kiln__text_puts(e->out, "        }\n");
    }
    kiln__text_puts(e->out, "    }\n");
}

/* Where a thread's packs lie in shared memory: one tensor behind the other, of each a place for every step held. */
static void emit_shared_access(const kiln__emitter *e) {
    const kiln__problem *p = e->problem;
    int64_t slots = e->schedule->held * e->schedule->threads, offset[KILN_MAX_TENSORS] = {0}, next = 0;
    for (int o = 0; o < p->input_count; o++) {
        offset[o] = next;
        if (e->schedule->kept[o]) next += slots * e->schedule->pack_size * (int64_t)kiln_type_size(p->operands[o].type);
    }
    emit_shared_copy(e, offset);
    kiln__text_puts(e->out, "    KILN_MEMBER void recall(const unsigned char *shared, int slot)\n    {\n");
    for (int o = 0; o < p->input_count; o++) {
        if (!e->schedule->kept[o]) continue;
        kiln__emit_name(e, "        ", o, " = reinterpret_cast<const ");
        kiln__emit_pack_type(e, o);
        kiln__text_printf(e->out, " *>(shared + %" PRId64 ")[slot];\n", offset[o]);
    }
    kiln__text_puts(e->out, "    }\n");
}

void kiln__emit_kept(const kiln__emitter *e) {
    kiln__text_puts(e->out,
                    "/* One pack of columns of the inputs that stay with the row, as stored. */\nstruct kiln_kept {\n");
    for (int o = 0; o < e->problem->input_count; o++) {
        if (!e->schedule->kept[o]) continue;
        kiln__text_puts(e->out, "    ");
        kiln__emit_pack_type(e, o);
        kiln__emit_name(e, " ", o, ";\n");
    }
    if (e->schedule->residency != KILN__RESIDENCY_TILE) {
        kiln__text_puts(e->out,
                        "    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)\n"
                        "    {\n");
        for (int o = 0; o < e->problem->input_count; o++)
            if (e->schedule->kept[o]) kiln__emit_fetch(e, o, "        ");
        kiln__text_puts(e->out, "    }\n");
    }
    if (e->schedule->residency == KILN__RESIDENCY_SHARED) emit_shared_access(e);
    if (e->schedule->residency == KILN__RESIDENCY_TILE) kiln__emit_tile_access(e);
    kiln__text_puts(e->out, "};\n\n");
}

/* ---- values inside the loop over a pack ---- */

void kiln__emit_need(kiln__emitter *e, uint32_t inst) {
    e->needed[inst] = true;
    for (uint32_t i = inst + 1; i-- > 0;) {
        if (!e->needed[i] || !e->element[i]) continue;
        for (int a = 0; a < e->ir->insts[i].arg_count; a++) e->needed[e->ir->insts[i].args[a]] = true;
    }
}

void kiln__emit_broadcasts(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (!e->needed[i] || !e->element[i] || inst->op != KILN__IR_INPUT || e->schedule->kept[inst->u.input]) continue;
        int o = (int)inst->u.input;
        kiln__text_puts(e->out, "        ");
        kiln__emit_pack_type(e, o);
        kiln__emit_name(e, " ", o, ";\n");
        kiln__emit_fetch(e, o, "        ");
    }
}

void kiln__emit_value(const kiln__emitter *e, kiln__text *out, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    if (inst->op == KILN__OP_FLOAT)
        kiln__cxx_float(out, inst->type, inst->u.f64);
    else if (inst->op == KILN__OP_INT || inst->op == KILN__OP_BOOL)
        kiln__cxx_int(out, inst->type, inst->u.i64);
    else if (inst->op == KILN__OP_COUNT)
        kiln__cxx_float(out, inst->type, (double)e->problem->cols);
    else
        kiln__text_printf(out, e->element[i] ? "v%u" : kiln__rows_in_packs(e) ? "row.v%u[j]" : "row.v%u", i);
}

static void emit_row_input(const kiln__emitter *e, const kiln__inst *inst) {
    bool pack = kiln__rows_in_packs(e);
    kiln__emit_name(e, pack ? "kiln_widen(" : "kiln_widen(*row.", (int)inst->u.input, pack ? ".get(j))" : ")");
}

static void emit_element_input(const kiln__emitter *e, const kiln__inst *inst) {
    bool kept = e->schedule->kept[inst->u.input];
    kiln__emit_name(e, kept ? "kiln_widen(kept." : "kiln_widen(", (int)inst->u.input, ".get(j))");
}

/* An element's index along an axis, or its linear index: the place it has in a tensor that counts. */
static void emit_position(const kiln__emitter *e, int axis, bool element) {
    int o = (int)(kiln__position(e->problem, axis) - e->problem->operands);
    if (!element && !kiln__rows_in_packs(e)) {
        kiln__emit_name(e, "row.", o, "");
        return;
    }
    kiln__text_puts(e->out, "(");
    kiln__emit_element_address(e, o, element ? element_column(e) : "0");
    kiln__text_puts(e->out, ")");
}

void kiln__emit_definition(const kiln__emitter *e, uint32_t i) {
    const kiln__inst *inst = &e->ir->insts[i];
    kiln__text names[3] = {{0}, {0}, {0}}, divisor = {0};
    const char *args[3] = {"", "", ""};
    if (kiln__op_is_reduction(inst->op))
        kiln__text_printf(e->out, "reduced.%sr%u%s", kiln__rows_in_packs(e) ? "at[j]." : "", i,
                          kiln__op_is_arg(inst->op) ? ".index" : "");
    else if (inst->op == KILN__OP_SIZE)
        kiln__text_printf(e->out, "row.args.size%d", inst->u.axis);
    else if (inst->op == KILN__OP_INDEX)
        emit_position(e, inst->u.axis, e->element[i]);
    else if (inst->op == KILN__IR_SCALAR)
        kiln__text_printf(e->out, "row.args.scalar_%s", e->ir->scalar_names[inst->u.scalar]);
    else if (inst->op == KILN__IR_INPUT && e->element[i])
        emit_element_input(e, inst);
    else if (inst->op == KILN__IR_INPUT)
        emit_row_input(e, inst);
    else {
        for (int a = 0; a < inst->arg_count; a++) {
            kiln__emit_value(e, &names[a], inst->args[a]);
            args[a] = names[a].data ? names[a].data : "";
            e->out->failed |= names[a].failed;
        }
        if (inst->op == KILN__OP_DIV && e->element[i] && !e->element[inst->args[1]] && inst->type == KILN__F32) {
            if (e->divides[inst->args[1]])
                kiln__text_printf(&divisor, kiln__rows_in_packs(e) ? "row.d%u[j]" : "row.d%u", inst->args[1]);
            else
                kiln__text_printf(&divisor, "kiln_quotient(%s)", args[1]);
            e->out->failed |= divisor.failed;
        }
        if (inst->op == KILN__OP_UNIFORM) {
            kiln__text_printf(e->out, "kiln_uniform(%s, %s, ", args[0], args[1]);
            emit_position(e, KILN__LINEAR_INDEX, true);
            kiln__text_puts(e->out, ")");
        } else
            kiln__cxx_expression(e->out, inst, e->ir->insts, args, divisor.data);
    }
    for (int a = 0; a < 3; a++) kiln__text_free(&names[a]);
    kiln__text_free(&divisor);
}

void kiln__emit_elements(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->count; i++) {
        kiln__op op = e->ir->insts[i].op;
        if (!e->needed[i] || !e->element[i] || op == KILN__OP_FLOAT || op == KILN__OP_INT || op == KILN__OP_BOOL ||
            op == KILN__OP_COUNT)
            continue;
        kiln__text_printf(e->out, "            const %s v%u = ", kiln__cxx_ctype(e->ir->insts[i].type), i);
        kiln__emit_definition(e, i);
        kiln__text_puts(e->out, ";\n");
    }
}

/* ---- phases and outputs ---- */

static bool in_phase(const kiln__emitter *e, uint32_t i, uint32_t phase) {
    return kiln__op_is_reduction(e->ir->insts[i].op) && e->ir->insts[i].phase == phase + 1u;
}

static const char pack_head[] = "    KILN_MEMBER void pack(const kiln_row &row, const kiln_kept &kept, kiln_index col, "
                                "const kiln_span &span)\n    {\n";
static const char pack_loop[] = "#pragma unroll\n        for (int j = 0; j < KILN_PACK; ++j) {\n";

/* Whether the phase's partial results carry the number of elements behind them. */
static bool counts(const kiln__emitter *e, uint32_t phase) {
    return e->schedule->online == (int)phase && kiln__online_counts(e->ir, e->schedule->online);
}

/* What the reductions of a phase carry: the phase itself, or the state of each row of a pack. */
static void emit_state_name(const kiln__emitter *e, uint32_t phase) {
    kiln__text_printf(e->out, kiln__rows_in_packs(e) ? "kiln_state%u" : "kiln_phase%u", phase);
}

static void emit_combine_function(kiln__emitter *e, uint32_t phase) {
    kiln__text_puts(e->out, "    static KILN_MEMBER ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " combine(const ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " &a, const ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " &b)\n    {\n        ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " c;\n");
    for (uint32_t i = 0; i < e->ir->count; i++) {
        if (!in_phase(e, i, phase)) continue;
        char a[32], b[32];
        snprintf(a, sizeof a, "a.r%u", i);
        snprintf(b, sizeof b, "b.r%u", i);
        kiln__text_printf(e->out, "        c.r%u = ", i);
        kiln__cxx_combine(e->out, &e->ir->insts[i], a, b);
        kiln__text_puts(e->out, ";\n");
    }
    if (counts(e, phase)) kiln__text_puts(e->out, "        c.count = a.count + b.count;\n");
    kiln__text_puts(e->out, "        return c;\n    }\n");
}

/* One statement per reduction of the phase; %u is its number. */
static void emit_each(const kiln__emitter *e, uint32_t phase, const char *before, const char *after) {
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (in_phase(e, i, phase)) kiln__text_printf(e->out, "%s%u%s%u, lane_mask, lanes);\n", before, i, after, i);
}

/* "r4 = r4 + v3;". What lies outside the row contributes the identity: choosing costs less than branching. */
static void emit_accumulate(const kiln__emitter *e, uint32_t reduction) {
    const kiln__inst *inst = &e->ir->insts[reduction];
    kiln__text value = {0};
    char r[32];
    bool pack = kiln__rows_in_packs(e), masked = e->schedule->masked && !pack;
    snprintf(r, sizeof r, pack ? "at[j].r%u" : "r%u", reduction);
    if (kiln__op_is_arg(inst->op)) { /* a thread's columns ascend */
        kiln__text_printf(e->out, masked ? "            if (span.has(j)) %s.%s(" : "            %s.%s(", r,
                          inst->op == KILN__OP_REDUCE_ARGMAX ? "take_max" : "take_min");
        kiln__emit_value(e, e->out, inst->args[0]);
        kiln__text_puts(e->out, pack ? ", col);\n" : ", col + j);\n");
        return;
    }
    if (masked) kiln__text_puts(&value, "(span.has(j) ? ");
    kiln__emit_value(e, &value, inst->args[0]);
    if (masked) {
        kiln__text_puts(&value, " : ");
        kiln__cxx_identity(&value, e->ir, inst);
        kiln__text_puts(&value, ")");
    }
    kiln__text_printf(e->out, "            %s = ", r);
    kiln__cxx_combine(e->out, inst, r, value.data ? value.data : "");
    kiln__text_puts(e->out, ";\n");
    e->out->failed |= value.failed;
    kiln__text_free(&value);
}

/* The fields of a phase's state, and its clear function. */
static void emit_fields(const kiln__emitter *e, uint32_t phase) {
    const kiln__ir *ir = e->ir;
    for (uint32_t i = 0; i < ir->count; i++)
        if (in_phase(e, i, phase))
            kiln__text_printf(e->out, "    %s r%u; /* %s */\n", kiln__cxx_state(ir, &ir->insts[i]), i,
                              kiln__ir_op_name(ir->insts[i].op));
    if (counts(e, phase))
        kiln__text_printf(e->out, "    %s count; /* of elements */\n", kiln__cxx_ctype(ir->float_type));
    kiln__text_puts(e->out, "    KILN_MEMBER void clear()\n    {\n");
    if (counts(e, phase)) kiln__text_puts(e->out, "        count = 0;\n");
    for (uint32_t i = 0; i < ir->count; i++) {
        if (!in_phase(e, i, phase)) continue;
        kiln__text_printf(e->out, "        r%u = ", i);
        kiln__cxx_identity(e->out, ir, &ir->insts[i]);
        kiln__text_puts(e->out, ";\n");
    }
    kiln__text_puts(e->out, "    }\n");
}

static void emit_shuffle(const kiln__emitter *e, uint32_t phase) {
    kiln__text_puts(e->out, "    KILN_MEMBER ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " shuffle(int lane_mask, kiln_u32 lanes) const\n    {\n        ");
    emit_state_name(e, phase);
    kiln__text_puts(e->out, " other;\n");
    emit_each(e, phase, "        other.r", " = kiln_shuffle(r");
    if (counts(e, phase)) kiln__text_puts(e->out, "        other.count = kiln_shuffle(count, lane_mask, lanes);\n");
    kiln__text_puts(e->out, "        return other;\n    }\n");
}

/* Field by field: what lies between them is nobody's, and shared memory is read as it was written. */
static void emit_copy(const kiln__emitter *e, uint32_t phase) {
    kiln__text_printf(e->out, "    KILN_MEMBER void copy(const kiln_state%u &other)\n    {\n", phase);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (in_phase(e, i, phase)) kiln__text_printf(e->out, "        r%u = other.r%u;\n", i, i);
    kiln__text_puts(e->out, "    }\n");
}

static const char pack_states[] =
    "    KILN_MEMBER void clear()\n    {\n#pragma unroll\n        for (int j = 0; j < KILN_PACK; ++j) at[j].clear();\n"
    "    }\n";

void kiln__emit_phase(kiln__emitter *e, uint32_t phase) {
    const kiln__ir *ir = e->ir;
    kiln__text *out = e->out;
    bool ordered = false, pack = kiln__rows_in_packs(e);
    memset(e->needed, 0, ir->count * sizeof *e->needed);
    int before = e->schedule->online >= 0 && (int)phase > e->schedule->online; /* its count */
    for (uint32_t i = 0; i < ir->count; i++) {
        if (ir->insts[i].phase <= phase) before += kiln__reduction_values(ir->insts[i].op);
        if (!in_phase(e, i, phase)) continue;
        kiln__emit_need(e, ir->insts[i].args[0]);
        ordered |= ir->insts[i].op == KILN__OP_REDUCE_USER;
    }
    const char *order =
        ordered ? "    static constexpr bool ordered = true;\n" : "    static constexpr bool ordered = false;\n";
    if (pack) {
        kiln__text_printf(out, "struct kiln_state%u {\n%s", phase, order);
        emit_fields(e, phase);
        emit_copy(e, phase);
        emit_combine_function(e, phase);
        emit_shuffle(e, phase);
        kiln__text_puts(out, "};\n");
    }
    kiln__text_printf(out,
                      "/* Phase %u"
                      ": the reductions combined together, in one exchange. */\nstruct kiln_phase%u {\n",
                      phase, phase);
    if (pack)
        kiln__text_printf(out, "    typedef kiln_state%u state;\n    state at[KILN_PACK];\n", phase);
    else
        kiln__text_puts(out, order);
    if (kiln__schedule_exchanges(e->schedule))
        kiln__text_printf(
            out, "    static constexpr int before = %d; /* bytes of each block's results of the phases before */\n",
            8 * before);
    if (pack)
        kiln__text_puts(out, pack_states);
    else
        emit_fields(e, phase);
    kiln__text_puts(out, pack_head);
    kiln__emit_broadcasts(e);
    kiln__text_puts(out, pack_loop);
    kiln__emit_elements(e);
    for (uint32_t i = 0; i < ir->count; i++)
        if (in_phase(e, i, phase)) emit_accumulate(e, i);
    kiln__text_puts(out, "        }\n");
    if (counts(e, phase)) kiln__text_puts(out, "        count += span.high - span.low;\n");
    kiln__text_puts(out, "    }\n");
    if (!pack) emit_combine_function(e, phase);
    if (!pack) emit_shuffle(e, phase);
    kiln__text_puts(out, "};\n\n");
}

void kiln__emit_put(const kiln__emitter *e, int o) {
    if (e->schedule->residency == KILN__RESIDENCY_TILE) {
        kiln__text_puts(e->out, "        ");
        kiln__emit_tile_place(e, o);
        kiln__emit_name(e, " = ", o, ";\n");
        return;
    }
    if (e->schedule->vector[o]) {
        kiln__text_printf(e->out, "        kiln_put%s<%d>(", rows_suffix(e), e->schedule->vector[o]);
        kiln__emit_name(e, "", o, ", ");
        kiln__emit_pack_address(e, o, "col");
        kiln__text_puts(e->out, ", span);\n");
        return;
    }
    kiln__text_printf(e->out,
                      "#pragma unroll\n        for (int j = 0; j < KILN_PACK; ++j)\n            if (span.%s(j)) *(",
                      kiln__rows_in_packs(e) ? "stores" : "has");
    kiln__emit_element_address(e, o, element_column(e));
    kiln__emit_name(e, ") = ", o, ".get(j);\n");
}

bool kiln__emit_finish(kiln__emitter *e) {
    const kiln__problem *p = e->problem;
    kiln__text *out = e->out;
    bool any = false;
    memset(e->needed, 0, e->ir->count * sizeof *e->needed);
    for (int o = 0; o < p->output_count; o++) {
        if (!p->operands[p->input_count + o].per_element) continue;
        any = true;
        kiln__emit_need(e, e->ir->outputs[o]);
    }
    if (!any) return false;
    kiln__text_printf(out, "/* The outputs that have columns. */\nstruct kiln_finish {\n%s", pack_head);
    kiln__emit_broadcasts(e);
    for (int o = 0; o < p->output_count; o++)
        if (p->operands[p->input_count + o].per_element)
            kiln__text_printf(out, "        %s y%d[KILN_PACK];\n",
                              kiln__cxx_ctype(e->ir->insts[e->ir->outputs[o]].type), o);
    kiln__text_puts(out, pack_loop);
    kiln__emit_elements(e);
    for (int o = 0; o < p->output_count; o++) {
        if (!p->operands[p->input_count + o].per_element) continue;
        kiln__text_printf(out, "            y%d[j] = ", o);
        kiln__emit_value(e, out, e->ir->outputs[o]);
        kiln__text_puts(out, ";\n");
    }
    kiln__text_puts(out, "        }\n");
    for (int o = 0; o < p->output_count; o++) {
        int operand = p->input_count + o;
        if (!p->operands[operand].per_element) continue;
        kiln__text_puts(out, "        ");
        kiln__emit_pack_type(e, operand);
        kiln__emit_name(e, " ", operand, ";\n");
        kiln__text_printf(out, "        kiln_narrow_pack(y%d, ", o);
        kiln__emit_name(e, "", operand, ");\n");
        kiln__emit_put(e, operand);
    }
    kiln__text_puts(out, "    }\n};\n\n");
    return true;
}
