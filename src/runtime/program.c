/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: text and signature, bound to tensors on demand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"

#include "base/scalar.h"
#include "base/types.h"
#include "lang/domain.h"
#include "ref/ref.h"

static kiln_status read_axes(const kiln_program_options *options, kiln__axes *axes) {
    axes->all = options->all_axes != 0;
    axes->last = !axes->all && !options->axes;
    if (axes->all || axes->last) return KILN_OK;
    if (options->axis_count > KILN_MAX_RANK)
        return kiln__fail(KILN_E_AXIS, "%zu axes are given, expected at most %d", options->axis_count, KILN_MAX_RANK);
    axes->count = (int)options->axis_count;
    memcpy(axes->list, options->axes, options->axis_count * sizeof(int));
    return KILN_OK;
}

static kiln__usage *make_usage(kiln_context *context) {
    kiln__usage *usage = aligned_alloc(_Alignof(kiln__usage), sizeof *usage);
    if (!usage) return NULL;
    memset(usage, 0, sizeof *usage);
    usage->counters.whole = &context->counters;
    atomic_init(&usage->references, 1);
    return usage;
}

kiln_status kiln_program_create(kiln_context *context, const char *text, const kiln_program_options *given,
                                kiln_program **out) {
    static atomic_ullong next_id;
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_program pointer");
    *out = NULL;
    if (!context || !text) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "text" : "context");
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    if (given) {
        kiln_status sized =
            kiln__check_struct_size("kiln_program_options", given->struct_size, 2 * sizeof(size_t), sizeof options);
        if (sized) return sized;
        memcpy(&options, given, given->struct_size);
    }
    double start = kiln__now_ms();
    kiln_program *program = calloc(1, sizeof *program);
    if (!program) return kiln__out_of_memory();
    program->context = context;
    program->usage = make_usage(context);
    program->id = atomic_fetch_add(&next_id, 1) + 1;
    kiln_status status = program->usage ? read_axes(&options, &program->axes) : kiln__out_of_memory();
    const kiln__own_function *own = atomic_load_explicit(&context->own_functions, memory_order_acquire);
    if (!status) status = kiln__graph_parse_with(text, own, &program->graph);
    const kiln__lists lists = {options.inputs, options.outputs, options.scalars};
    if (!status) status = kiln__signature_resolve(program->graph, &lists, &program->signature);
    if (status) {
        kiln_program_destroy(program);
        return status;
    }
    const kiln__signature *s = &program->signature;
    for (uint32_t i = 0; i < s->input_count; i++) program->names[i] = program->graph->names[s->inputs[i]].text;
    for (uint32_t i = 0; i < s->output_count; i++)
        program->names[s->input_count + i] = program->graph->names[s->outputs[i]].text;
    program->parse_ms = kiln__now_ms() - start;
    *out = program;
    return KILN_OK;
}

void kiln__program_hold(const kiln_program *program) { atomic_fetch_add(&program->usage->references, 1); }

void kiln__program_release(const kiln_program *program) {
    if (program->usage && atomic_fetch_sub(&program->usage->references, 1) > 1) return;
    free(program->usage);
    kiln__graph_destroy(program->graph);
    free((kiln_program *)program); /* made by us, and not const */
}

void kiln_program_destroy(kiln_program *program) {
    if (!program) return;
    kiln__context_enter(program->context);
    if (program->usage) kiln__dispatch_forget(program);
    kiln__program_release(program);
}

size_t kiln_program_input_count(const kiln_program *program) { return program ? program->signature.input_count : 0; }
size_t kiln_program_output_count(const kiln_program *program) { return program ? program->signature.output_count : 0; }
size_t kiln_program_scalar_count(const kiln_program *program) { return program ? program->signature.scalar_count : 0; }

const char *kiln_program_input_name(const kiln_program *program, size_t i) {
    return i < kiln_program_input_count(program) ? program->names[i] : NULL;
}

const char *kiln_program_output_name(const kiln_program *program, size_t i) {
    return i < kiln_program_output_count(program) ? program->names[program->signature.input_count + i] : NULL;
}

const char *kiln_program_scalar_name(const kiln_program *program, size_t i) {
    return i < kiln_program_scalar_count(program) ? program->graph->names[program->signature.scalars[i]].text : NULL;
}

/* "; 'pi' is an input, the number is pi()" where an input bears such a name, else "". */
static void advise_on_names(const kiln_program *program, char *out, size_t size) {
    *out = '\0';
    for (uint32_t i = 0; i < program->signature.input_count; i++) {
        const char *number = kiln__number_advice(program->names[i]);
        if (number) snprintf(out, size, "; '%s' is an input, the number is %s", program->names[i], number);
    }
}

/* Of which one is no value. */
__attribute__((noinline)) static kiln_status check_scalar_types(const kiln_program *program, const kiln_scalar *scalars,
                                                                size_t count) {
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = kiln__scalar_check_type(kiln_program_scalar_name(program, i), scalars[i].type);
    return status;
}

kiln_status kiln__program_check_counts(const kiln_program *program, const void *tensors, size_t tensor_count,
                                       const kiln_scalar *scalars, size_t scalar_count) {
    if (!program) return kiln__fail(KILN_E_ARGUMENT, "program is NULL");
    const kiln__signature *s = &program->signature;
    if (tensor_count != s->input_count + s->output_count) {
        char advice[128];
        advise_on_names(program, advice, sizeof advice);
        return kiln__fail(KILN_E_BINDING, "%zu tensors are given, expected %u: %u inputs and %u outputs%s",
                          tensor_count, s->input_count + s->output_count, s->input_count, s->output_count, advice);
    }
    if (scalar_count != s->scalar_count)
        return kiln__fail(KILN_E_BINDING, "%zu scalars are given, expected %u", scalar_count, s->scalar_count);
    if ((tensor_count && !tensors) || (scalar_count && !scalars))
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", tensors ? "scalars" : "tensors");
    for (size_t i = 0; i < scalar_count; i++)
        if (!kiln__scalar_is_value(scalars[i].type)) return check_scalar_types(program, scalars, scalar_count);
    return KILN_OK;
}

kiln_status kiln__call_options_read(const kiln_call_options *given, kiln_policy *policy, bool *dependent,
                                    kiln__workspace *workspace) {
    kiln_call_options options = KILN_CALL_OPTIONS_INIT;
    kiln_status status =
        kiln__check_struct_size("kiln_call_options", given->struct_size, 2 * sizeof(size_t), sizeof options);
    if (status) return status;
    memcpy(&options, given, given->struct_size);
    if (!kiln__policy_valid(options.policy))
        return kiln__fail(KILN_E_ARGUMENT, "kiln_call_options.policy is %d, expected a kiln_policy",
                          (int)options.policy);
    if (options.policy != KILN_POLICY_CONTEXT) *policy = options.policy;
    *dependent = options.dependent_launch != 0;
    *workspace = (kiln__workspace){options.workspace, options.workspace_bytes};
    return KILN_OK;
}

kiln_status kiln__call_make(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                            const kiln_scalar *scalars, size_t scalar_count, const kiln_call_options *options,
                            kiln__call *out) {
    kiln_status status = kiln__program_check_counts(program, tensors, tensor_count, scalars, scalar_count);
    if (status) return status;
    kiln__workspace ignored;
    *out = (kiln__call){.program = program, .tensors = tensors, .scalars = scalars, .policy = program->context->policy};
    return options ? kiln__call_options_read(options, &out->policy, &out->dependent, &ignored) : KILN_OK;
}

kiln__tensors kiln__program_tensors(const kiln_program *program, const kiln_tensor *tensors) {
    return (kiln__tensors){tensors, program->names, (int)program->signature.input_count,
                           (int)program->signature.output_count};
}

/* Columns of an axis that may have any number of them: more than blocks have, of which none divides it (a prime). */
#define ANY_COLUMNS ((INT64_C(1) << 61) - 1)

static void bind(const kiln_program *program, const kiln__domains *domains, const kiln_tensor *tensors,
                 const kiln_scalar *scalars, const kiln__shaped *shaped, kiln__binding *out) {
    const kiln__signature *s = &program->signature;
    *out = (kiln__binding){.rank = shaped->rank,
                           .block_axis = shaped->block_axis,
                           .part_count = shaped->part_count,
                           .row_block = shaped->row_block,
                           .packed = shaped->ragged.packed,
                           .uneven = shaped->uneven,
                           .across = kiln__shaped_across(program->graph, domains, shaped->across)};
    memcpy(out->parts, shaped->parts, sizeof out->parts);
    memcpy(out->input_repeats, shaped->repeats, sizeof out->input_repeats);
    for (uint32_t i = 0; i < s->input_count; i++) {
        out->input_types[i] = tensors[i].type;
        out->input_per_element[i] =
            kiln__space_varies(&shaped->space, &shaped->tensors.at[i], true) || shaped->ragged.packed >> i & 1;
        out->input_row_invariant[i] = !kiln__space_varies(&shaped->space, &shaped->tensors.at[i], false);
    }
    for (uint32_t i = 0; i < s->output_count; i++) out->output_types[i] = tensors[s->input_count + i].type;
    for (uint32_t i = 0; i < s->scalar_count; i++) out->scalar_types[i] = scalars[i].type;
    memcpy(out->reduced, shaped->space.reduced, sizeof out->reduced);
}

static kiln_status shape_and_type(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                  bool any_shape, kiln__shaped *shaped, kiln__ir **ir) {
    const kiln__tensors all = kiln__program_tensors(program, tensors);
    kiln__domains domains;
    kiln__binding binding;
    kiln_status status = kiln__domains_find(program->graph, &program->signature, &domains);
    if (status) return status;
    status = (any_shape ? kiln__shaped_make_any : kiln__shaped_make)(&domains, &program->axes, &all, shaped);
    if (status) return status;
    bind(program, &domains, tensors, scalars, shaped, &binding);
    return kiln__ir_build(program->graph, &program->signature, &binding, ir);
}

kiln_status kiln__program_bind(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                               kiln__shaped *shaped, kiln__ir **ir) {
    return shape_and_type(program, tensors, scalars, false, shaped, ir);
}

kiln_status kiln__program_bind_any(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                   kiln__shaped *shaped, kiln__ir **ir) {
    return shape_and_type(program, tensors, scalars, true, shaped, ir);
}

kiln_status kiln__program_type_any(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                   const kiln__shaped *shaped, bool all_columns, kiln__ir **ir) {
    kiln__domains domains;
    kiln__binding binding;
    kiln_status status = kiln__domains_find(program->graph, &program->signature, &domains);
    if (status) return status;
    bind(program, &domains, tensors, scalars, shaped, &binding);
    for (int i = 0; i < KILN_MAX_TENSORS; i++) binding.input_per_element[i] |= all_columns;
    if (shaped->part_count == 1) {
        binding.parts[0] = binding.uneven.columns = ANY_COLUMNS;
        if (kiln__domains_are_blocks(&domains)) binding.uneven.alone = domains.blocks[domains.block_count - 1];
        if (all_columns) memcpy(binding.input_repeats, domains.repeats, sizeof binding.input_repeats);
    }
    return kiln__ir_build(program->graph, &program->signature, &binding, ir);
}

/* Outputs have their shapes, tensors are there and share memory only as on the GPU. */
static kiln_status check_host_tensors(const kiln_program *program, const kiln__ir *ir, const kiln__shaped *shaped,
                                      const kiln_tensor *given, int count) {
    const kiln__space *space = &shaped->space;
    const kiln_tensor *tensors = shaped->tensors.at;
    const int inputs = (int)program->signature.input_count;
    kiln__memory_rules rules = {
        .names = program->names, .input_count = inputs, .tensor_count = count, .elsewhere = ir->elsewhere};
    void *data[KILN_MAX_TENSORS];
    int64_t strides[KILN_MAX_TENSORS][KILN_MAX_RANK] = {{0}};
    for (int t = 0; t < count; t++) {
        const bool output = t >= inputs;
        bool full;
        kiln_status status =
            kiln__shaped_strides(shaped, t, ir, output ? &ir->insts[ir->outputs[t - inputs]] : NULL, strides[t], &full);
        if (status) return status;
        for (int i = 0; i < space->rank; i++)
            if (space->sizes[i] == 1) strides[t][i] = 0;
        rules.extents[t] = kiln__extent_of(&given[t]);
        data[t] = tensors[t].data;
        for (int i = 0; output && i < inputs; i++) {
            if (kiln__ir_reads_after(ir, (uint32_t)i, (uint32_t)(t - inputs))) rules.later[t] |= 1u << i;
            if (kiln__same_layout(&given[i], &given[t]) && !shaped->tables[t].rows &&
                !memcmp(strides[i], strides[t], sizeof strides[t]))
                rules.same[t] |= 1u << i;
        }
    }
    return kiln__check_memory(&rules, data);
}

static kiln_status read_cpu_options(const kiln_cpu_options *given, kiln_cpu_options *options) {
    kiln_status status =
        given ? kiln__check_struct_size("kiln_cpu_options", given->struct_size, sizeof(size_t), sizeof *options)
              : KILN_OK;
    if (status) return status;
    if (given) memcpy(options, given, given->struct_size);
    if (options->precision == KILN_PRECISION_DOUBLE || options->precision == KILN_PRECISION_PROGRAM) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT,
                      "kiln_cpu_options.precision is %d, expected KILN_PRECISION_DOUBLE or KILN_PRECISION_PROGRAM",
                      (int)options->precision);
}

/* Whether the CPU can compute what the caller's own device functions do. */
static kiln_status check_own_functions(const kiln__ir *ir) {
    for (uint32_t i = 0; i < ir->own_count; i++)
        if (!ir->own[i]->host)
            return kiln__fail(KILN_E_UNSUPPORTED,
                              "the device function '%s' has no host callback, by which the CPU would compute it",
                              ir->own[i]->name);
    return KILN_OK;
}

kiln_status kiln_run_cpu(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                         const kiln_scalar *scalars, size_t scalar_count) {
    return kiln_run_cpu_with_options(program, tensors, tensor_count, scalars, scalar_count, NULL);
}

kiln_status kiln_run_cpu_with_options(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                      const kiln_scalar *scalars, size_t scalar_count, const kiln_cpu_options *given) {
    kiln__clear_error();
    kiln_cpu_options options = KILN_CPU_OPTIONS_INIT;
    kiln_status status = read_cpu_options(given, &options);
    if (status) return status;
    status = kiln__program_check_counts(program, tensors, tensor_count, scalars, scalar_count);
    if (status) return status;
    kiln__shaped shaped;
    kiln__ir *ir = NULL;
    status = kiln__program_bind(program, tensors, scalars, &shaped, &ir);
    if (!status && shaped.space.open_rows) status = kiln__fail(KILN_E_SIZE, "axis 0 is left open: expected its size");
    if (!status) status = check_own_functions(ir);
    if (!status) status = check_host_tensors(program, ir, &shaped, tensors, (int)tensor_count);
    kiln_scalar values[KILN_MAX_SCALARS];
    for (size_t i = 0; i < scalar_count && !status; i++)
        status = kiln__scalar_read(kiln_program_scalar_name(program, i), &scalars[i], &values[i]);
    bool own_types = options.precision == KILN_PRECISION_PROGRAM;
    const kiln__space *space = &shaped.space;
    if (!status)
        status = (own_types ? kiln__ref_run_own_types : kiln__ref_run)(ir, shaped.tensors.at, shaped.tables, values,
                                                                       space->rank, space->sizes, space->reduced);
    kiln__ir_destroy(ir);
    return status;
}
