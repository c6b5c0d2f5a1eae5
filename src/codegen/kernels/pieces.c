/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of kernels: their head, their phases, their outputs. */
#include <inttypes.h>

#include "codegen/kernels/kernels.h"

bool kiln__is_online(const kiln__emitter *e, uint32_t phase) { return e->schedule->passes.online == (int)phase; }

uint32_t kiln__next_phase(const kiln__emitter *e, uint32_t phase) {
    return phase + (kiln__is_online(e, phase) ? 2 : 1);
}

const char *kiln__phase_type(const kiln__emitter *e, uint32_t phase) {
    return kiln__is_online(e, phase) ? "kiln_online" : kiln__spell(e, "kiln_phase%u", phase);
}

void kiln__emit_kernel_head(const kiln__emitter *e, uint32_t number, const char *bounds) {
    const int least = e->schedule->team.min_blocks_per_sm;
    kiln__write(e,
                "\nextern \"C\" __global__ void %s__launch_bounds__(%s%s) " KILN__KERNEL_NAME
                "%s(const __grid_constant__ kiln_arguments args)\n{\n",
                kiln__schedule_clusters(e->schedule) ? "__cluster_dims__(KILN_BLOCKS_PER_ROW, 1, 1) " : "", bounds,
                least > 0 ? kiln__spell(e, ", %d", least) : "", number ? kiln__spell(e, "%u", number) : "");
    if (number ? e->schedule->split.dependent : e->programmatic) kiln__write(e, "    kiln_launch_wait();\n");
    kiln__emit_launch_dependents(e, number);
}

void kiln__emit_launch_dependents(const kiln__emitter *e, uint32_t number) {
    const bool last = (int)number + 1 == kiln__schedule_launches(e->schedule, e->ir);
    if (e->programmatic && last) kiln__write(e, "    kiln_launch_dependents();\n");
}

void kiln__emit_fill(const kiln__emitter *e) {
    kiln__write(e, "    kiln_begin(row);\n    kiln_staging staging;\n    staging.fill(row);\n");
}

void kiln__emit_row_barrier(const kiln__emitter *e, const char *in) {
    const char *who = "block";
    if (!e->finish_row || e->ir->phase_count > 0) return;
    if (e->schedule->team.group == KILN__GROUP_LANES && !e->rows_in_vectors) who = "row";
    if (kiln__schedule_clusters(e->schedule)) who = "cluster";
    kiln__write(e, "%skiln_%s_barrier();\n", in, who);
}

void kiln__emit_arrival(const kiln__emitter *e) {
    if (kiln__schedule_clusters(e->schedule)) kiln__write(e, "    kiln_group_begin();\n");
    if (e->schedule->staging.kind == KILN__STAGING_SHARED && e->ir->phase_count == 0)
        kiln__write(e, "    kiln_copy_wait();\n");
    kiln__emit_row_barrier(e, "    ");
}

/* The name of the function of the staging that reduces a phase. */
static const char *spell_reduce(const kiln__emitter *e, uint32_t phase) {
    if (phase == 0 && e->schedule->staging.kind == KILN__STAGING_SHARED) return "reduce_arriving";
    if (kiln__column_of(e->schedule)->tile.rows) return "reduce";
    return kiln__is_online(e, phase) ? "each_online" : "each_vector";
}

/* The scans that a pass makes as it goes over the row; NULL: none. */
static const char *spell_scans(const kiln__emitter *e, uint32_t pass) {
    const char *scans = "kiln_no_scan";
    bool any = false;
    for (uint32_t p = 0; p < pass && e->schedule->passes.scanned; p++) {
        if (!kiln__scans_in(e, pass, p)) continue;
        scans = kiln__spell(e, "kiln_scan_of<%s, kiln_phase%u>", scans, p);
        any = true;
    }
    return any ? scans : NULL;
}

/* A pass that does with each vector what the body says; how: the staging's function where nothing is scanned. */
static void emit_each(const kiln__emitter *e, uint32_t pass, const char *in, const char *how, const char *body) {
    const char *scans = spell_scans(e, pass);
    if (scans)
        kiln__write(e, "%skiln_each_scanned<%s>(row, staging, %s);\n", in, scans, body);
    else
        kiln__write(e, "%sstaging.%s(row, %s);\n", in, how, body);
}

/* Before a pass that goes over the row once more: scans begin with what is before the thread. */
static void emit_restart(const kiln__emitter *e, uint32_t pass, const char *in) {
    if (e->schedule->passes.scanned) return;
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const kiln__inst *inst = &e->ir->insts[i];
        if (inst->op != KILN__OP_SCAN || inst->phase > pass || !e->element[i]) continue;
        if (e->rows_in_vectors)
            kiln__write(e, "#pragma unroll\n%sfor (int j = 0; j < KILN_VECTOR_WIDTH; ++j) row.s%u[j] = row.v%u[j];\n",
                        in, i, inst->args[1]);
        else
            kiln__write(e, "%srow.s%u = row.v%u;\n", in, i, inst->args[1]);
    }
}

/* What is done in shared memory with values that all columns have put down. */
static const char *spell_together(const kiln__emitter *e, uint32_t i) {
    switch ((int)e->ir->insts[i].op) {
    case KILN__OP_BLOCK_REDUCE: return kiln__spell(e, "kiln_reduce_slots<kiln_block%u>()", i);
    case KILN__OP_ORDER: return kiln__spell(e, "kiln_sort<kiln_order%u>(KILN_END)", i);
    default: return "kiln_row_barrier()";
    }
}

static bool is_carried(const kiln__emitter *e, uint32_t order) {
    for (uint32_t i = order; i < e->ir->count; i++)
        if (kiln__is_put_down(e, i) && e->ir->insts[i].op == KILN__OP_SORTED && kiln__sorted_by(e, i) == order)
            return true;
    return false;
}

static void emit_choice(const kiln__emitter *e, uint32_t i, uint32_t pass, const char *in) {
    kiln__write(e, "%skiln_choosing<kiln_order%u> choosing%u(row);\n", in, i, i);
    kiln__write(e, "%skiln_choose<kiln_values%u>(row, staging, choosing%u, [&] {\n", in, i, i);
    emit_restart(e, pass, kiln__spell(e, "%s    ", in));
    kiln__write(e, "%s});\n", in);
    if (is_carried(e, i)) kiln__write(e, "%schoosing%u.settle();\n", in, i);
}

/* What blocks come to, and rows in order, whose columns are known before the pass. */
static void emit_blocks_before(const kiln__emitter *e, uint32_t pass, const char *in) {
    const bool any_shape = e->problem->any_shape; /* where each loop reduces its runs' blocks */
    if (any_shape ? !e->problem->sorted : !kiln__slots_plan_of(e->schedule)->bytes) return;
    if (pass == 0 && e->schedule->staging.kind == KILN__STAGING_SHARED) kiln__write(e, "%skiln_copy_wait();\n", in);
    for (uint32_t i = 0; i < e->ir->count; i++) {
        const bool reduces = any_shape && e->ir->insts[i].op == KILN__OP_BLOCK_REDUCE;
        if (!kiln__is_put_down(e, i) || reduces || e->ir->insts[i].phase != pass) continue;
        if (kiln__chooses(e, i)) {
            emit_choice(e, i, pass, in);
            continue;
        }
        const uint32_t order = kiln__sorted_by(e, i);
        emit_restart(e, pass, in);
        kiln__write(e, "%skiln_values%u values%u%s;\n%sstaging.%s(row, values%u);\n%s%s;\n", in, i, i,
                    kiln__chooses(e, order) ? kiln__spell(e, " = {choosing%u}", order) : "", in,
                    any_shape ? "finish" : "each_vector", i, in, spell_together(e, i));
    }
}

static void emit_pass(const kiln__emitter *e, uint32_t p, const char *in, const char *reduce) {
    emit_restart(e, p, in);
    kiln__write(e, "%s%s phase%u;\n%sphase%u.clear();\n", in, kiln__phase_type(e, p), p, in, p);
    emit_each(e, p, in, reduce, kiln__spell(e, "phase%u", p));
}

/* Outputs that need no reduction are stored by the pass that reduces. */
static void emit_storing_pass(const kiln__emitter *e, uint32_t p, const char *in) {
    kiln__write(e, "%s%s phase%u;\n%sphase%u.clear();\n%skiln_stored stored = {phase%u};\n", in, kiln__phase_type(e, p),
                p, in, p, in, p);
    emit_each(e, p, in, "each_vector", "stored");
}

void kiln__emit_reduce(const kiln__emitter *e, uint32_t p, const char *in) {
    emit_blocks_before(e, p, in);
    if (e->schedule->passes.stores)
        emit_storing_pass(e, p, in);
    else
        emit_pass(e, p, in, spell_reduce(e, p));
}

void kiln__emit_result(const kiln__emitter *e, uint32_t p, const char *in, const char *value) {
    if (kiln__is_online(e, p))
        kiln__write(e,
                    "    {\n        const kiln_online reduced = %s;\n        kiln_after%u(row, reduced.first);\n"
                    "        kiln_after%u(row, reduced.second);\n    }\n",
                    value, p, p + 1);
    else
        kiln__write(e, "%skiln_after%u(row, %s);\n", in, p, value);
}

void kiln__emit_results(const kiln__emitter *e, uint32_t stage, const char *in, const char *how) {
    for (uint32_t p = 0; p < stage; p = kiln__next_phase(e, p))
        kiln__emit_result(e, p, in, kiln__spell(e, how, kiln__phase_type(e, p)));
}

/* A phase that selects: each pass narrows what the next one counts, over a row that has arrived. */
static void emit_passes(const kiln__emitter *e, uint32_t p, const char *in, const char *all_reduce) {
    const char *deeper = kiln__spell(e, "%s    ", in);
    const bool exchanges = e->rows_in_vectors || e->schedule->team.group != KILN__GROUP_LANES;
    if (p == 0 && e->schedule->staging.kind == KILN__STAGING_SHARED) kiln__write(e, "%skiln_copy_wait();\n", in);
    emit_blocks_before(e, p, in);
    kiln__write(e, "#pragma unroll 1\n%sfor (int pass = 0; pass < %d; ++pass) {\n", in, kiln__phase_passes(e->ir, p));
    emit_pass(e, p, deeper, kiln__column_of(e->schedule)->tile.rows ? "reduce" : "each_vector");
    kiln__emit_result(e, p, deeper,
                      kiln__spell(e, "kiln_all_reduce(phase%u%s%s)", p, all_reduce, exchanges ? ", pass" : ""));
    kiln__write(e, "%s}\n", in);
}

void kiln__emit_phases(const kiln__emitter *e, const char *in, const char *all_reduce) {
    for (uint32_t p = 0; p < e->ir->phase_count; p = kiln__next_phase(e, p)) {
        if (e->schedule->passes.scanned && kiln__phase_scans(e->ir, p)) continue; /* with the passes that need them */
        if (kiln__phase_selects(e->ir, p)) {
            emit_passes(e, p, in, all_reduce);
            continue;
        }
        if (p > 0 || !kiln__row_of(e->schedule)->persistent) kiln__emit_reduce(e, p, in);
        const char *function = kiln__phase_scans(e->ir, p) ? "kiln_all_before" : "kiln_all_reduce";
        kiln__emit_result(e, p, in, kiln__spell(e, "%s(phase%u%s)", function, p, all_reduce));
    }
}

void kiln__emit_last_pass(const kiln__emitter *e, const char *in) {
    if (!e->finish || e->schedule->passes.stores) return;
    emit_blocks_before(e, e->ir->phase_count, in);
    const bool goes_over_row = !kiln__slots_plan_of(e->schedule)->ends_in;
    if (goes_over_row && e->schedule->passes.rematerialise) kiln__write(e, "%sstaging.rematerialise();\n", in);
    if (goes_over_row) emit_restart(e, e->ir->phase_count, in);
    kiln__write(e, "%skiln_finish finish;\n", in);
    if (goes_over_row)
        emit_each(e, e->ir->phase_count, in, e->schedule->edges == KILN__EDGES_PEELED ? "finish" : "each_vector",
                  "finish");
    else
        kiln__write(e, "%skiln_each_in_order<%" PRId64 ">(row, finish);\n", in,
                    kiln__slots_plan_of(e->schedule)->ends_in);
}

void kiln__emit_row_outputs(const kiln__emitter *e, const char *in, const char *condition) {
    if (e->finish_row) kiln__write(e, "%sif (%s) kiln_finish_row(row);\n", in, condition);
}
