/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a source together: definitions, the pieces of kernel_sources/ that the schedule names, and the generated program
 * between them. */
#include "codegen/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "codegen/emitter.h"
#include "codegen/kernels/kernels.h"
#include "kiln_sources.h"

static bool is_stored(const kiln__problem *p, kiln_type type) {
    for (int o = 0; o < p->input_count + p->output_count; o++)
        if (p->operands[o].type == type) return true;
    return false;
}

static bool have(const kiln__inst *insts, uint32_t count, kiln__op op, kiln_type storage) {
    for (uint32_t i = 0; i < count; i++)
        if (insts[i].op == op && (storage == KILN_TYPE_COUNT || insts[i].u.storage == storage)) return true;
    return false;
}

/* Whether the program or a combine has the operator, of the type (KILN_TYPE_COUNT: of any). */
static bool has_op(const kiln__ir *ir, kiln__op op, kiln_type storage) {
    bool any = have(ir->insts, ir->count, op, storage);
    for (uint32_t c = 0; c < ir->combine_count; c++)
        any |= have(ir->combines[c].insts, ir->combines[c].count, op, storage);
    return any;
}

/* Stored as the type or rounded through it. */
static bool has_type(const kiln__ir *ir, const kiln__problem *p, kiln_type type) {
    return has_op(ir, KILN__OP_ROUND_TO, type) || is_stored(p, type);
}

/* Whether any reduction gives a column rather than a value: of rows, of blocks of columns, of all rows. */
static bool finds_columns(const kiln__ir *ir) {
    bool any = false;
    for (uint32_t i = 0; i < ir->count; i++) {
        const kiln__inst *inst = &ir->insts[i];
        const bool within = inst->op == KILN__OP_BLOCK_REDUCE || inst->op == KILN__OP_ACROSS_REDUCE;
        any |= kiln__op_is_arg(within ? inst->u.block.op : inst->op);
    }
    return any;
}

static bool are_unsigned(const kiln__inst *insts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const bool rounds = insts[i].op == KILN__OP_ROUND_TO && insts[i].u.storage == KILN_U16;
        if (rounds || kiln__ctype_is_unsigned(insts[i].type)) return true;
    }
    return false;
}

/* u8 is no type of unsigned.cuh. */
static bool has_unsigned(const kiln__ir *ir, const kiln__problem *p) {
    bool any = is_stored(p, KILN_U16) || is_stored(p, KILN_U32) || is_stored(p, KILN_U64);
    any |= are_unsigned(ir->insts, ir->count);
    for (uint32_t c = 0; c < ir->combine_count; c++) any |= are_unsigned(ir->combines[c].insts, ir->combines[c].count);
    return any;
}

static void emit_combines(kiln__emitter *e) {
    for (uint32_t c = 0; c < e->ir->combine_count; c++) {
        const kiln__combine *combine = &e->ir->combines[c];
        kiln__ir body = *e->ir; /* the same emitter over the combine's own instructions */
        kiln__emitter inner = *e;
        body.insts = combine->insts;
        body.count = combine->count;
        inner.ir = &body;
        const char *type = kiln__cxx_ctype(combine->type);
        kiln__write(e, "%s %s kiln_combine%u(%s a, %s b)\n{\n",
                    e->schedule->code.inlining == KILN__INLINE_ALL ? "KILN_DEVICE" : "KILN_CALL", type, c, type, type);
        memset(e->element, 1, combine->count * sizeof *e->element);
        memset(e->divides, 0, combine->count * sizeof *e->divides);
        memset(e->hidden, 0, combine->count * sizeof *e->hidden);
        memset(e->is_short, 0, combine->count * sizeof *e->is_short);
        for (uint32_t i = 0; i < combine->count; i++)
            if (!kiln__op_is_literal(combine->insts[i].op))
                kiln__write(e, "    const %s v%u = %s;\n", kiln__cxx_ctype(combine->insts[i].type), i,
                            kiln__spell_definition(&inner, i));
        kiln__write(e, "    return %s;\n}\n\n", kiln__spell_value(&inner, combine->result));
    }
}

/* A file of kernel_sources/ is named where it stands; kiln__source_expand writes it out. The user's text begins no
 * line, and device functions of the caller's include nothing. */
#define PART "#include \""

static void emit_part(const kiln__emitter *e, const char *name) { kiln__write(e, PART "%s\"\n", name); }

static void emit_part_if(const kiln__emitter *e, bool used, const char *name) {
    if (used) emit_part(e, name);
}

static bool calls(const kiln__emitter *e, kiln__op op) { return has_op(e->ir, op, KILN_TYPE_COUNT); }

/* Whether vectors of halves may be reduced as they are stored. */
static bool compares_halves(const kiln__emitter *e) {
    const bool halves = is_stored(e->problem, KILN_F16) || is_stored(e->problem, KILN_BF16);
    return halves && (calls(e, KILN__OP_REDUCE_MAX) || calls(e, KILN__OP_REDUCE_MIN));
}

static bool has_shifted(const kiln__emitter *e) {
    for (int o = 0; o < e->tensors; o++)
        if (e->schedule->tensors[o].shifted || e->schedule->tensors[o].copy_shifted) return true;
    return e->problem->any_shape || e->schedule->edges == KILN__EDGES_SHIFTED || kiln__schedule_shifts(e->schedule);
}

static void emit_vector_parts(const kiln__emitter *e) {
    const kiln__ir *ir = e->ir;
    const kiln__problem *p = e->problem;
    emit_part_if(e, has_unsigned(ir, p), "unsigned.cuh");
    emit_part(e, "vectors.cuh");
    emit_part_if(e, has_shifted(e), "shifted.cuh");
    emit_part_if(e, has_type(ir, p, KILN_E4M3) || has_type(ir, p, KILN_E5M2), "fp8.cuh");
    emit_part_if(e, has_type(ir, p, KILN_E8M0), "e8m0.cuh");
    emit_part_if(e, has_type(ir, p, KILN_E2M1), "e2m1.cuh");
    emit_part_if(e, is_stored(p, KILN_BOOL), "bool.cuh");
}

/* Operators. Text costs the compiler time, so what nothing calls is left out. */
static void emit_math_parts(const kiln__emitter *e) {
    const bool normal = calls(e, KILN__OP_ERFC) || calls(e, KILN__OP_NORMCDF) || calls(e, KILN__OP_NORMPDF);
    emit_part(e, "math.cuh");
    emit_part_if(e, calls(e, KILN__OP_DIV), "division.cuh");
    emit_part_if(e, calls(e, KILN__OP_SIGMOID), "sigmoid.cuh");
    emit_part_if(e, normal, "normal.cuh");
    emit_part_if(e, calls(e, KILN__OP_SIN) || calls(e, KILN__OP_COS), "trigonometry.cuh");
    emit_part_if(e, calls(e, KILN__OP_UNIFORM), "uniform.cuh");
    emit_part_if(e, finds_columns(e->ir), "argmax.cuh");
    emit_part_if(e, e->schedule->passes.online >= 0, "online_sums.cuh");
    emit_part_if(e, calls(e, KILN__OP_STOCHASTIC), "stochastic.cuh");
    emit_part_if(e, kiln__ir_selects(e->ir) || e->problem->sorted, "keys.cuh");
    emit_part_if(e, kiln__ir_selects(e->ir), "selection.cuh");
}

/* Device functions of the caller's own, each apart from the others. What the compiler says of one is told by its name
 * and its own lines. */
static void emit_own(const kiln__emitter *e) {
    for (uint32_t i = 0; i < e->ir->own_count; i++)
        kiln__write(e, "\nnamespace kiln_own_%s {\n#line 1 \"%s\"\n%s\n\n}\n#line 1 \"kiln_kernel.cu\"\n",
                    e->ir->own[i]->name, e->ir->own[i]->name, e->ir->own[i]->source);
}

/* What does not depend on the program. */
static void emit_device_parts(const kiln__emitter *e) {
    emit_part(e, "device.cuh");
    emit_vector_parts(e);
    emit_math_parts(e);
    emit_part_if(e, compares_halves(e), "vector_reductions.cuh");
    emit_part_if(e, e->problem->block_count > 0, "blocks.cuh");
}

static const char *layout_part(const kiln__schedule *s) {
    static const char *const layouts[] = {"layout_flat.cuh", "layout_inner.cuh", "layout_outer.cuh"};
    if (s->strategy == KILN__ANY_SHAPE) return "layout_any.cuh";
    return s->strategy == KILN__TRANSPOSE ? "layout_transpose.cuh" : layouts[kiln__layout_of(s)];
}

static void emit_scan(const kiln__emitter *e) {
    emit_part(e, "scan.cuh");
    if (e->schedule->passes.scanned) return; /* their part comes behind the staging */
    emit_part(e, e->problem->any_shape                          ? "scan_any.cuh"
                 : e->rows_in_vectors                           ? "scan_columns.cuh"
                 : e->schedule->team.group == KILN__GROUP_LANES ? "scan_lanes.cuh"
                                                                : "scan_block.cuh");
}

/* The row: who works on it, and where its columns are. */
static void emit_row(const kiln__emitter *e) {
    static const char *const groups[] = {"group_lanes.cuh",   "group_block.cuh", "group_columns.cuh",
                                         "group_cluster.cuh", "group_grid.cuh",  "group_cub.cuh"};
    const kiln__schedule *s = e->schedule;
    const bool any = s->strategy == KILN__ANY_SHAPE;
    if (any) emit_part(e, "any_shape.cuh");
    kiln__emit_arguments(e);
    kiln__emit_row(e);
    if (kiln__schedule_clusters(s)) emit_part(e, "cluster.cuh");
    if (!e->flat) emit_part(e, any ? "group_any.cuh" : groups[s->team.group]);
    if (s->passes.selects && e->rows_in_vectors) emit_part(e, "selection_columns.cuh");
    if (s->passes.scans) emit_scan(e);
    emit_part(e, layout_part(s));
    emit_part_if(e, e->problem->offsets >= 0, "offsets.cuh");
    kiln__write(e, "\n");
    kiln__emit_begin(e);
}

static const char *staging_part(const kiln__schedule *s) {
    static const char *const stagings[] = {"staging_registers.cuh", "staging_shared.cuh", "staging_none.cuh",
                                           "staging_tile.cuh"};
    if (s->strategy == KILN__ANY_SHAPE) return "staging_any.cuh";
    if (kiln__row_of(s)->rows_in_flight) return "rows_in_flight.cuh";
    if (kiln__column_of(s)->tile.rows) return "staging_tile_outer.cuh";
    return s->edges == KILN__EDGES_PEELED ? "staging_peeled.cuh" : stagings[s->staging.kind];
}

/* What of the row stays between phases, and where. */
static void emit_staging(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    const bool streams = (s->staging.kind == KILN__STAGING_NONE && s->strategy != KILN__ANY_SHAPE) ||
                         (s->staging.kind == KILN__STAGING_SHARED && !kiln__row_of(s)->rows_in_flight);
    if (s->staging.kind == KILN__STAGING_TILE)
        emit_part(e, kiln__column_of(s)->tile.rows ? "tile_outer.cuh" : "tile.cuh");
    kiln__emit_staged(e);
    if (streams) emit_part(e, "stream.cuh");
    emit_part(e, staging_part(s));
    if (s->passes.scanned) {
        kiln__write(e, "#define KILN_STREAMS %d\n#define KILN_SCANNED %d\n", s->staging.kind == KILN__STAGING_NONE,
                    s->passes.scanned);
        emit_part(e, "scan_rounds.cuh");
    }
    kiln__write(e, "\n");
}

static void emit_slots(const kiln__emitter *e) {
    const int64_t cols = e->problem->cols, axis = e->problem->uneven_columns ? e->problem->uneven_columns : cols;
    kiln__write(e,
                "#define KILN_BLOCK_VALUES %d\n#define KILN_BLOCK_STRIDE %d\n#define KILN_BLOCK_AXIS %lld\n#define "
                "KILN_BLOCK_AXES %lld\n",
                kiln__slots_plan_of(e->schedule)->offset, kiln__slots_plan_of(e->schedule)->value_stride,
                (long long)axis, (long long)(axis ? cols / axis : 0));
    emit_part(e, "block_slots.cuh");
}

static void emit_any_sort(const kiln__emitter *e) {
    kiln__write(e, "#define KILN_TILE_BYTES %d\n", e->schedule->any.sorted.tile_bytes);
    emit_part(e, "rows_any.cuh");
    emit_part(e, "sort.cuh");
    kiln__emit_orders(e);
}

static void emit_sort(const kiln__emitter *e) {
    const kiln__slots_plan *plan = kiln__slots_plan_of(e->schedule);
    kiln__write(e, "#define KILN_ROW_BYTES %d\n#define KILN_ROUND %lld\n", plan->row_bytes, (long long)plan->round);
    if (plan->blocks) kiln__write(e, "#define KILN_TILE_OFFSET %d\n", plan->offset);
    emit_part(e, plan->blocks ? "rows_workspace.cuh" : "rows_shared.cuh");
    emit_part(e, "sort.cuh");
    if (plan->round) emit_part(e, "topk.cuh");
    kiln__emit_orders(e);
}

static void emit_phases(kiln__emitter *e) {
    if (kiln__slots_plan_of(e->schedule)->bytes && e->problem->block_count) emit_slots(e);
    if (e->problem->sorted) (e->problem->any_shape ? emit_any_sort : emit_sort)(e);
    if (e->problem->any_shape) {
        emit_part_if(e, e->problem->block_count > 0, "blocks_any.cuh");
        kiln__emit_any_blocks(e);
    } else
        kiln__emit_block_states(e);
    kiln__emit_block_loops(e);
    for (uint32_t p = 0; p < e->ir->phase_count; p++) {
        kiln__emit_phase(e, p);
        kiln__emit_after(e, p);
        if (p == 0 || (int)p != e->schedule->passes.online + 1) continue;
        kiln__emit_online(e);
        emit_part(e, e->rows_in_vectors ? "online_outer.cuh" : "online.cuh");
        kiln__write(e, "typedef kiln_together%s<kiln_phase%u, kiln_phase%u> kiln_online;\n\n",
                    e->rows_in_vectors ? "_rows" : "", p - 1, p);
    }
}

static void emit_across(const kiln__emitter *e) {
    kiln__emit_totals(e);
    emit_part(e, e->problem->any_shape ? "across_any.cuh" : "across.cuh");
    emit_part(e, "totals.cuh");
}

static void emit_split_kernels(const kiln__emitter *e) {
    if (e->schedule->split.final_threads) emit_part(e, "split_end.cuh");
    if (kiln__schedule_exchanges(e->schedule)) emit_part(e, e->rows_in_vectors ? "split_outer.cuh" : "split.cuh");
    kiln__emit_split_kernels(e);
}

static void emit_persistent_kernel(const kiln__emitter *e) {
    emit_part(e, "persistent.cuh");
    kiln__emit_persistent_kernel(e);
}

typedef void emit_kernels(const kiln__emitter *e);

/* How the kernel is put together, of whole rows that lie one behind the other. */
static emit_kernels *kernels_of_rows(const kiln__schedule *s) {
    if (s->staging.kind == KILN__STAGING_TILE) return kiln__emit_row_tile_kernel;
    if (kiln__row_of(s)->rows_in_flight) return kiln__emit_rows_in_flight_kernel;
    return kiln__row_of(s)->persistent ? emit_persistent_kernel : kiln__emit_row_kernel;
}

static emit_kernels *kernels_of(const kiln__schedule *s) {
    if (kiln__schedule_adds_up(s)) return kiln__emit_across_kernels;
    if (s->strategy == KILN__ANY_SHAPE) return kiln__emit_any_shape_kernel;
    if (kiln__layout_of(s) == KILN__LAYOUT_FLAT) return kiln__emit_pointwise_kernel;
    if (s->split.chunks > 1) return emit_split_kernels;
    if (kiln__layout_of(s) == KILN__LAYOUT_INNER) return kernels_of_rows(s);
    return kiln__column_of(s)->tile.rows ? kiln__emit_column_tile_kernel : kiln__emit_column_kernel;
}

static void emit_all(kiln__emitter *e) {
    kiln__emit_header(e);
    kiln__emit_definitions(e);
    emit_device_parts(e);
    emit_own(e);
    kiln__write(e, "\n/* ---- the program ---- */\n\n");
    kiln__emit_called(e);
    emit_combines(e);
    kiln__classify(e);
    kiln__find_short(e);
    kiln__fold_exponentials(e);
    emit_row(e);
    emit_staging(e);
    emit_phases(e);
    if (e->problem->across) emit_across(e);
    e->finish = kiln__emit_finish(e);
    if (e->schedule->passes.stores) kiln__emit_stored(e);
    e->finish_row = kiln__emit_finish_row(e);
    kernels_of(e->schedule)(e);
}

static const char *spell_name(const kiln__emitter *e, int o) {
    if (o < e->inputs) return kiln__spell(e, "in_%s", e->ir->input_names[o]);
    if (o < e->tensors) return kiln__spell(e, "out_%s", e->ir->output_names[o - e->inputs]);
    return kiln__spell(e, "position%d", o - e->tensors);
}

static void add_operand(kiln__operand_list *list, int o, bool belongs) {
    if (belongs) list->at[list->count++] = o;
}

static void list_operands(kiln__emitter *e) {
    for (int o = 0; o < e->inputs; o++) {
        const bool staged = e->schedule->tensors[o].staged, own = e->problem->operands[o].follows_rows;
        add_operand(&e->staged, o, staged);
        add_operand(&e->staged_own, o, staged && own);
        add_operand(&e->staged_invariant, o, staged && !own);
    }
    for (int o = e->inputs; o < e->tensors; o++)
        add_operand(&e->column_outputs, o, e->problem->operands[o].per_element && !e->problem->operands[o].across);
    for (uint32_t i = 0; i < e->ir->count; i++) e->adds_columns |= kiln__adds_columns(&e->ir->insts[i]);
}

/* Of each phase, one behind the other in `numbers`. */
static void list_reductions(kiln__emitter *e, uint32_t *numbers) {
    for (uint32_t p = 0; p < e->ir->phase_count; p++) {
        kiln__inst_list *list = &e->reductions[p];
        list->at = numbers;
        list->count = 0;
        for (uint32_t i = 0; i < e->ir->count; i++)
            if (kiln__reduces_in(&e->ir->insts[i], p)) *numbers++ = i;
        list->count = (uint32_t)(numbers - list->at);
    }
}

static void describe_problem(kiln__emitter *e) {
    e->flat = e->problem->layout == KILN__LAYOUT_FLAT;
    e->rows_in_vectors = e->problem->layout == KILN__LAYOUT_OUTER;
    e->narrow = kiln__outputs_are_narrow(e->problem);
    e->inputs = e->problem->input_count;
    e->tensors = e->inputs + e->problem->output_count;
    e->width = e->schedule->edges == KILN__EDGES_PEELED ? "N" : "KILN_VECTOR_WIDTH";
    e->operands = e->tensors + e->problem->position_count;
    for (int o = 0; o < e->operands; o++) {
        e->name[o] = spell_name(e, o);
        e->type[o] = kiln__cxx_storage(e->problem->operands[o].type);
        e->vector[o] = kiln__spell(e, "kiln_vector<%s, %s>", e->type[o], e->width);
    }
}

kiln_status kiln__source_emit(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                              const kiln__arguments *arguments, bool programmatic, char **out) {
    size_t count = ir->count;
    for (uint32_t c = 0; c < ir->combine_count; c++)
        if (ir->combines[c].count > count) count = ir->combines[c].count;
    kiln__text text = {0}, scratch = {0};
    kiln__arena arena = {0};
    bool *flags = kiln__arena_alloc(&arena, 10 * count, sizeof *flags);
    unsigned char *first = kiln__arena_alloc(&arena, count + 1, sizeof *first);
    uint32_t *numbers = kiln__arena_alloc(&arena, ir->count + 1, sizeof *numbers);
    kiln__inst_list *reductions = kiln__arena_alloc(&arena, ir->phase_count + 1, sizeof *reductions);
    bool *scans = kiln__arena_alloc(&arena, (size_t)(ir->phase_count + 1) * ir->phase_count + 1, sizeof *scans);
    *out = NULL;
    if (flags && first && numbers && reductions && scans) {
        kiln__emitter e = {
            .ir = ir, .problem = problem, .schedule = schedule, .arguments = arguments, .programmatic = programmatic};
        e.out = &text;
        e.scratch = &scratch;
        e.arena = &arena;
        e.element = flags;
        e.divides = flags + count;
        e.needed = flags + 2 * count;
        e.exact = flags + 3 * count;
        e.folded = flags + 4 * count;
        e.centre = flags + 5 * count;
        e.sines = flags + 7 * count;
        e.hidden = flags + 8 * count;
        e.is_short = flags + 9 * count;
        e.reductions = reductions;
        e.scans = scans;
        e.kept = (kiln__kept){flags + 6 * count, first, 0};
        describe_problem(&e);
        list_operands(&e);
        list_reductions(&e, numbers);
        if (!kiln__kept_find(ir, problem, schedule->passes.keep_weight, &e.kept)) {
            emit_all(&e);
            *out = kiln__text_take(&text);
        }
    }
    kiln__text_free(&scratch);
    kiln__arena_free(&arena);
    return *out ? KILN_OK : kiln__out_of_memory();
}

const char *kiln__source_code(const char *source) {
    while (!strncmp(source, "//", 2)) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return source;
}

static const kiln__source_file *named_part(const char *line) {
    if (strncmp(line, PART, sizeof PART - 1) != 0) return NULL;
    const char *name = line + sizeof PART - 1;
    for (const kiln__source_file *file = kiln__source_files; file->name; file++) {
        size_t length = strlen(file->name);
        if (!strncmp(name, file->name, length) && !strncmp(name + length, "\"\n", 2)) return file;
    }
    return NULL;
}

char *kiln__source_expand(const char *unexpanded) {
    kiln__text text = {0};
    for (const char *line = unexpanded; *line;) {
        const kiln__source_file *part = named_part(line);
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        kiln__text_add(&text, part ? part->text : line, part ? part->size : length);
        line += length;
    }
    return kiln__text_take(&text);
}
