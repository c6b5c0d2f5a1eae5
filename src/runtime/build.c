/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors to source: binding, canonical problem, schedule, code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem/range.h"
#include "runtime/tuned.h"
#include "schedule/cost.h"

static kiln_status choose_record(const kiln_context *context, const kiln__device *device, const kiln__problem *problem,
                                 const kiln__pins *pins, kiln__prepared *out) {
    kiln_status status = kiln__schedule_choose(out->ir, problem, device, pins, 0, &out->schedule);
    if (!status) {
        out->origin = KILN_SCHEDULE_RECORD;
        out->schedule.reason = "a tuned record: measured on such a device";
    } else if (status != KILN_E_MEMORY)
        kiln__log(&context->logger, KILN_LOG_INFO, "the tuned record of '%s' is ignored: %s", out->ir->text,
                  kiln_last_error());
    return status;
}

/* The model's choice, which takes a while: the same problem with other numbers of rows has the same. Of neighbouring
 * rows it is how columns are combined; all else is chosen for the rows that there are. */
static kiln_status choose_by_model(kiln_context *context, const kiln__key *key, const kiln__device *device,
                                   const kiln__problem *problem, kiln__prepared *out) {
    const kiln__pins nothing = KILN__PINS_NONE;
    kiln__pins point;
    if (kiln__tuned_recall(context, key, &point) &&
        !kiln__schedule_choose(out->ir, problem, device, &point, 0, &out->schedule)) {
        out->schedule.reason = kiln__reason_of_model(problem);
        return KILN_OK;
    }
    if (out->hurries)
        return kiln__fail(KILN_E_WOULD_COMPILE, "the schedule of '%s' has not been chosen yet", out->ir->text);
    kiln_status status = kiln__schedule_choose_point(out->ir, problem, device, &nothing, 0, &out->schedule, &point);
    if (status) return status;
    point = kiln__kept_of_point(problem, &point);
    if (kiln__pins_any(&point)) kiln__tuned_remember(context, key, &point);
    return KILN_OK;
}

static kiln_status choose_unpinned(kiln_context *context, const kiln__device *device, const kiln__key *key,
                                   const kiln__problem *problem, kiln__prepared *out) {
    bool recorded = false;
    kiln__pins pins;
    kiln_status status = kiln__tuned_find(context, key, &recorded, &pins);
    if (status) return status;
    if (recorded && out->attempt == 0) {
        status = choose_record(context, device, problem, &pins, out);
        if (!status || status == KILN_E_MEMORY) return status;
        kiln__clear_error();
    }
    const int attempt = recorded && out->attempt > 0 ? out->attempt - 1 : out->attempt;
    if (attempt == 0 && !recorded) return choose_by_model(context, key, device, problem, out);
    return kiln__schedule_choose(out->ir, problem, device, &context->pins, attempt, &out->schedule);
}

/* By the caller's pins; else by a tuned record, whose schedule is attempt 0 and those of the library follow; else by
 * the library. */
static kiln_status choose_schedule(kiln_context *context, const kiln__device *device, const kiln__problem *problem,
                                   kiln__prepared *out) {
    out->origin = kiln__pins_any(&context->pins) ? KILN_SCHEDULE_PIN : KILN_SCHEDULE_MODEL;
    if (out->origin == KILN_SCHEDULE_PIN)
        return kiln__schedule_choose(out->ir, problem, device, &context->pins, out->attempt, &out->schedule);
    kiln__key key;
    kiln_status status = kiln__tuned_key(out->ir, problem, device, &key);
    if (!status) status = choose_unpinned(context, device, &key, problem, out);
    kiln__key_free(&key);
    return status;
}

kiln_status kiln__prepared_write(kiln__prepared *prepared, const kiln__problem *problem) {
    const double start = kiln__now_ms();
    kiln_status status = kiln__arguments_layout(prepared->ir, problem, &prepared->schedule, &prepared->arguments);
    if (!status)
        status = kiln__source_emit(prepared->ir, problem, &prepared->schedule, &prepared->arguments,
                                   prepared->programmatic, &prepared->unexpanded);
    if (!status && !(prepared->source = kiln__source_expand(prepared->unexpanded))) status = kiln__out_of_memory();
    prepared->emit_ms = kiln__now_ms() - start;
    return status;
}

/* Not inlined: the shapes take kilobytes of a small stack, which are given back before the schedule is chosen. */
__attribute__((noinline)) static kiln_status build_problem(const kiln_program *program, const kiln_tensor *tensors,
                                                           const kiln_scalar *scalars, kiln__prepared *out) {
    kiln__shaped shaped;
    kiln_status status = kiln__program_bind(program, tensors, scalars, &shaped, &out->ir);
    return status ? status : kiln__problem_build_exact(out->ir, &shaped, &out->problem);
}

kiln_status kiln__prepare(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                          const kiln__device *device, int attempt, kiln__prepared *out) {
    const kiln__call call = {.program = program, .tensors = tensors, .scalars = scalars, .policy = KILN_POLICY_COMPILE};
    return kiln__prepare_for(&call, device, attempt, out);
}

/* Of the call's own problem. */
static kiln_status prepare_exact(const kiln__call *call, const kiln__device *device, kiln__prepared *out) {
    const double start = kiln__now_ms();
    kiln_status status = choose_schedule(call->program->context, device, &out->problem, out);
    out->schedule_ms += kiln__now_ms() - start;
    return status ? status : kiln__prepared_write(out, &out->problem);
}

/* Of a range of columns, chosen for a typical device of the architecture, so that all of them find it in a pack. */
static kiln_status prepare_range(const kiln__call *call, int arch, const kiln__problem *range, kiln__prepared *out) {
    const double start = kiln__now_ms();
    const kiln__device device = kiln__device_typical(arch);
    kiln_status status = choose_schedule(call->program->context, &device, range, out);
    out->schedule_ms += kiln__now_ms() - start;
    out->least_cols = range->least_cols;
    out->most_cols = range->cols;
    return status ? status : kiln__prepared_write(out, range);
}

/* Of the range that the call's columns are in, where it takes one and the program has one; else of its own problem. */
static kiln_status prepare_problem(const kiln__call *call, const kiln__device *device, kiln__prepared *out) {
    if (!kiln__call_takes_range(call)) return prepare_exact(call, device, out);
    kiln__problem *range = malloc(sizeof *range); /* large for a small stack */
    if (!range) return kiln__out_of_memory();
    const bool has_range = !kiln__range_problem(out->ir, &out->problem, range);
    if (!has_range) kiln__clear_error();
    kiln_status status = has_range ? prepare_range(call, device->arch, range, out) : KILN_OK;
    free(range);
    /* What is pinned may be none for rows of any columns. */
    const bool unsuited = (status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT) && out->attempt == 0;
    if (unsuited) kiln__clear_error();
    if (unsuited || !has_range) {
        out->least_cols = out->most_cols = 0;
        status = prepare_exact(call, device, out);
    }
    return status;
}

kiln_status kiln__prepare_for(const kiln__call *call, const kiln__device *device, int attempt, kiln__prepared *out) {
    memset(out, 0, sizeof *out);
    out->attempt = attempt;
    out->counters = &call->program->usage->counters;
    out->group = call->group;
    out->loaded_on = call->loaded_on;
    out->programmatic = kiln__call_is_programmatic(call, device->arch);
    out->hurries = call->hurries;
    const double start = kiln__now_ms();
    kiln_status status = build_problem(call->program, call->tensors, call->scalars, out);
    out->schedule_ms = kiln__now_ms() - start;
    if (!status) status = prepare_problem(call, device, out);
    if (status) kiln__prepared_free(out);
    return status;
}

void kiln__prepared_free(kiln__prepared *prepared) {
    kiln__ir_destroy(prepared->ir);
    free(prepared->unexpanded);
    free(prepared->source);
    prepared->ir = NULL;
    prepared->unexpanded = prepared->source = NULL;
}

/* One schedule and its kernel. */
static kiln_status make(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                        kiln__image *image) {
    const kiln_program *program = call->program;
    kiln_status status = kiln__prepare_for(call, device, call->attempt, prepared);
    if (status) return status;
    status = kiln__image_obtain(program->context, call->policy, prepared, device->arch, ptx, KILN__IN_MEMORY, image);
    if (status) kiln__prepared_free(prepared);
    return status;
}

static bool is_missing(kiln_status status) { return status == KILN_E_WOULD_COMPILE || status == KILN_E_NO_NVRTC; }

/* Whether another schedule's kernel may be had all the same. */
static bool is_of_one_kernel(kiln_status status) {
    return is_missing(status) || status == KILN_E_COMPILE || status == KILN_E_TIMEOUT;
}

/* Tries the next schedules while the compiler spills registers, and keeps the one that spills least. True where one of
 * them was compiled. */
static bool reduce_spills(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                          kiln__image *image) {
    kiln_context *context = call->program->context;
    bool compiled = false;
    int attempt = prepared->attempt;
    int64_t instructions = prepared->schedule.code.instructions; /* of all attempts: what they take to compile */
    const bool again = prepared->schedule.code.inlining < KILN__INLINE_OUTLINED;
    kiln__prepared *next = again && kiln__image_lacks_registers(image, prepared, device)
                               ? malloc(sizeof *next)
                               : NULL; /* large for a small stack */
    while (next && kiln__image_lacks_registers(image, prepared, device)) {
        kiln__image other;
        if (kiln__prepare_for(call, device, ++attempt, next)) break;
        instructions += next->schedule.code.instructions;
        /* Where rows lie side by side their number decides what spills: it must not decide how columns are combined. */
        const kiln__schedule *now = &prepared->schedule, *then = &next->schedule;
        const bool alike = kiln__schedule_combines_alike(then, now);
        if (instructions > KILN__MOST_INSTRUCTIONS || kiln__image_cancelled(image) ||
            (kiln__layout_of(now) == KILN__LAYOUT_OUTER && !alike) ||
            kiln__image_obtain(context, call->policy, next, device->arch, ptx, KILN__IN_MEMORY, &other)) {
            kiln__prepared_free(next);
            break;
        }
        kiln__log(&context->logger, KILN_LOG_DEBUG, "schedule '%s' spills %d bytes, '%s' spills %d",
                  prepared->schedule.text, image->facts.spill_bytes, next->schedule.text, other.facts.spill_bytes);
        compiled |= other.origin == KILN_ORIGIN_COMPILED;
        bool better = other.facts.spill_bytes < image->facts.spill_bytes;
        kiln__prepared_free(better ? prepared : next);
        kiln__image_free(better ? image : &other);
        if (!better) continue;
        *prepared = *next;
        *image = other;
    }
    free(next);
    return compiled;
}

static kiln_status make_any_shape(const kiln__call *call, kiln_policy policy, const kiln__device *device, bool ptx,
                                  kiln__prepared *prepared, kiln__image *image) {
    const kiln_program *program = call->program;
    kiln_status status = kiln__prepare_any_shape_for(call, device->arch, prepared);
    if (status) return status;
    status = kiln__image_obtain(program->context, policy, prepared, device->arch, ptx, KILN__IN_MEMORY, image);
    const bool compiled = !status && image->origin == KILN_ORIGIN_COMPILED;
    if (policy != KILN_POLICY_NEVER_COMPILE && (is_missing(status) || compiled)) kiln__record(call, device, ptx);
    if (status)
        kiln__prepared_free(prepared);
    else
        kiln__count(prepared->counters, KILN__ANY_SHAPE_OBTAINED, 1);
    return status;
}

/* The kernel of the range that the call is in, where it is there. */
static kiln_status find_range(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                              kiln__image *image) {
    kiln__call within = *call;
    within.policy = KILN_POLICY_NEVER_COMPILE;
    within.range = true;
    return make(&within, device, ptx, prepared, image);
}

/* In place of an exact kernel that cannot be had, one for a range or any shape that is there. Without it `missing` is
 * what the call comes to. */
static kiln_status stand_in(const kiln__call *call, const kiln__device *device, bool ptx, kiln_status missing,
                            kiln__prepared *prepared, kiln__image *image) {
    char why[1024];
    snprintf(why, sizeof why, "%s", kiln_last_error());
    kiln_status status = find_range(call, device, ptx, prepared, image);
    if (status && status != KILN_E_MEMORY) {
        kiln__record(call, device, ptx);
        status = make_any_shape(call, KILN_POLICY_NEVER_COMPILE, device, ptx, prepared, image);
    }
    if (status) return status == KILN_E_MEMORY ? status : kiln__fail(missing, "%s", why);
    kiln__clear_error();
    kiln__event_stands_in(call->program->context, prepared);
    return KILN_OK;
}

static kiln_status compile_exact(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                                 kiln__image *image) {
    kiln_status status = make(call, device, ptx, prepared, image);
    if (is_of_one_kernel(status) && prepared->origin == KILN_SCHEDULE_RECORD) {
        kiln__log(&call->program->context->logger, KILN_LOG_WARNING,
                  "a tuned record is ignored, as its kernel cannot be had: %s", kiln_last_error());
        kiln__call next = *call;
        next.attempt++;
        status = make(&next, device, ptx, prepared, image);
    }
    if (status) return status;
    bool compiled = image->origin == KILN_ORIGIN_COMPILED;
    if (prepared->origin != KILN_SCHEDULE_RECORD) /* which was measured, spills and all */
        compiled |= reduce_spills(call, device, ptx, prepared, image);
    if (compiled) kiln__record(call, device, ptx);
    kiln__clear_error();
    return KILN_OK;
}

/* What is there: the exact kernel, or that of the range. */
static kiln_status find(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                        kiln__image *image) {
    kiln__call now = *call;
    now.policy = KILN_POLICY_NEVER_COMPILE;
    const kiln_status status = compile_exact(&now, device, ptx, prepared, image);
    if (!is_missing(status)) return status;
    const kiln_status range = find_range(&now, device, ptx, prepared, image);
    return range && range != KILN_E_MEMORY ? status : range;
}

/* What is there, or else the kernel for any shape, which is compiled, as the exact one is of programs that have no
 * other. A call that hurries takes what is found without a choice among schedules, if anything is. */
static kiln_status compile_at_once(const kiln__call *call, const kiln__device *device, bool ptx,
                                   kiln__prepared *prepared, kiln__image *image) {
    kiln__call later = *call;
    kiln_status status = find(call, device, ptx, prepared, image);
    if (is_missing(status) && call->hurries) {
        status = make_any_shape(call, KILN_POLICY_NEVER_COMPILE, device, ptx, prepared, image);
        later.hurries = false;
        if (status) status = find(&later, device, ptx, prepared, image);
    }
    if (!is_missing(status)) return status;
    status = make_any_shape(&later, KILN_POLICY_COMPILE, device, ptx, prepared, image);
    if (status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT) {
        later.policy = KILN_POLICY_COMPILE;
        status = compile_exact(&later, device, ptx, prepared, image);
    }
    if (!status) kiln__clear_error();
    return status;
}

kiln_status kiln__compile_call(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                               kiln__image *image) {
    if (call->policy == KILN_POLICY_ANY_SHAPE) return make_any_shape(call, call->policy, device, ptx, prepared, image);
    if (call->policy == KILN_POLICY_BACKGROUND) return compile_at_once(call, device, ptx, prepared, image);
    kiln_status status = compile_exact(call, device, ptx, prepared, image);
    return is_missing(status) ? stand_in(call, device, ptx, status, prepared, image) : status;
}

/* PTX for a device that the NVRTC is too old for: the newest architecture below it, compiled by the driver at load. */
kiln_status kiln__compile_for(const kiln__call *call, const kiln__device *device, kiln__prepared *prepared,
                              kiln__image *image) {
    kiln_status status = kiln__compile_call(call, device, false, prepared, image);
    if (status != KILN_E_ARCH) return status;
    const kiln__nvrtc *nvrtc;
    if (kiln__nvrtc_open(call->program->context->nvrtc_path, &nvrtc)) return status;
    kiln__device older = *device;
    older.arch = 0;
    for (int i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] <= device->arch && nvrtc->archs[i] > older.arch) older.arch = nvrtc->archs[i];
    if (older.arch < 80) return status;
    kiln__log(&call->program->context->logger, KILN_LOG_INFO,
              "NVRTC %d.%d does not know sm_%d: the driver compiles PTX for compute_%d when it is loaded",
              nvrtc->identity.major, nvrtc->identity.minor, device->arch, older.arch);
    return kiln__compile_call(call, &older, true, prepared, image);
}

void kiln__info_fill(const kiln__prepared *prepared, const kiln__image *image, int arch, double parse_ms,
                     kiln_plan_info *info) {
    const kiln__problem *p = &prepared->problem;
    bool flat = p->layout == KILN__LAYOUT_FLAT;
    bool one_grid = prepared->schedule.team.group == KILN__GROUP_GRID; /* for any number of rows */
    kiln__grid grid = {0, 0, 0};
    kiln__prepared_grid(prepared, &grid);
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    info->schedule = prepared->schedule.text;
    info->reason = prepared->schedule.reason;
    info->source = prepared->source;
    info->log = image->log ? image->log : "";
    info->arch = arch;
    info->is_ptx = image->facts.is_ptx;
    info->registers = image->facts.registers;
    info->spill_bytes = image->facts.spill_bytes;
    info->shared_bytes = image->facts.shared_bytes + prepared->schedule.staging.bytes;
    info->image_bytes = (int64_t)image->size;
    info->rows = p->open_rows ? -1 : flat ? 1 : p->rows;
    info->cols = flat ? (p->open_rows ? -1 : kiln__element_count(p)) : p->cols;
    info->blocks = p->open_rows && !one_grid ? -1 : (int64_t)grid.x * grid.y * grid.z;
    info->threads = prepared->schedule.team.threads;
    info->origin = image->origin;
    info->parse_ms = parse_ms;
    info->schedule_ms = prepared->schedule_ms;
    info->emit_ms = prepared->emit_ms;
    info->lookup_ms = image->lookup_ms;
    if (image->origin == KILN_ORIGIN_COMPILED)
        info->compile_ms = image->facts.create_ms + image->facts.compile_ms + image->facts.fetch_ms;
    info->workspace_bytes =
        p->open_rows && kiln__schedule_has_workspace(&prepared->schedule) ? -1 : kiln__prepared_workspace(prepared);
    info->launches = kiln__prepared_launches(prepared);
    info->schedule_origin = prepared->origin;
    info->any_shape = prepared->any_shape;
    info->least_cols = prepared->least_cols;
    info->most_cols = prepared->most_cols;
}

kiln_status kiln__info_copy(const kiln_plan_info *from, kiln_plan_info *to) {
    if (!to) return kiln__fail(KILN_E_ARGUMENT, "info is NULL");
    kiln_status status = kiln__check_struct_size("kiln_plan_info", to->struct_size, 2 * sizeof(size_t), sizeof *to);
    if (status) return status;
    size_t size = to->struct_size;
    memcpy(to, from, size);
    to->struct_size = size;
    return KILN_OK;
}
