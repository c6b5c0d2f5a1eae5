/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and scalars bound by their names: put into the order that a program takes them in. */
#include "runtime/named.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { SHOWN = KILN__MAX_NAME }; /* bytes of a caller's name in a sentence */

/* The names that bindings of one kind may have. */
typedef struct name_list {
    const kiln_program *program;
    size_t count;
    const char *(*name)(const kiln_program *program, size_t i);
    const char *kind, *parameter; /* in sentences */
} name_list;

static const char *tensor_name(const kiln_program *program, size_t i) { return program->names[i]; }

static name_list tensors_of(const kiln_program *program) {
    const kiln__signature *s = &program->signature;
    return (name_list){program, s->input_count + s->output_count, tensor_name, "input or output", "bindings"};
}

static name_list scalars_of(const kiln_program *program) {
    return (name_list){program, program->signature.scalar_count, kiln_program_scalar_name, "scalar", "scalars"};
}

static size_t find(const name_list *list, const char *name) {
    size_t i = 0;
    while (i < list->count && strcmp(list->name(list->program, i), name) != 0) i++;
    return i;
}

/* ", it has x, w and y", as far as there is room. */
static void tell_all(const name_list *list, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, ", it has %s", list->count ? "" : "none");
    for (size_t i = 0; i < list->count && used < size; i++) {
        const char *before = i + 1 == list->count ? " and " : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? before : "", list->name(list->program, i));
    }
}

static kiln_status refuse_unknown(const name_list *list, const name_list *other, const char *name) {
    const kiln__graph *graph = list->program->graph;
    int known = kiln__graph_find(graph, name, strlen(name));
    char all[400];
    if (find(other, name) < other->count)
        return kiln__fail_name(KILN_E_NAME, name, strlen(name), "'%s' is bound among the %s, expected among the %s",
                               name, list->parameter, other->parameter);
    if (known >= 0 && graph->names[known].assigned)
        return kiln__fail_name(KILN_E_NAME, name, strlen(name),
                               "'%s' is assigned by the program and none of its outputs", name);
    kiln__nearest nearest = kiln__nearest_begin(name, strlen(name));
    for (size_t i = 0; i < list->count; i++) {
        const char *candidate = list->name(list->program, i);
        kiln__nearest_consider(&nearest, candidate, strlen(candidate));
    }
    kiln__nearest_tell(&nearest, all);
    if (!*all) tell_all(list, all, sizeof all);
    return kiln__fail_name(KILN_E_NAME, name, strlen(name), "the program has no %s '%.*s'%s", list->kind, SHOWN, name,
                           all);
}

/* Where binding number i belongs, which is marked in *bound. */
static kiln_status place(const name_list *list, const name_list *other, const char *name, size_t i, uint32_t *bound,
                         size_t *at) {
    if (!name) return kiln__fail(KILN_E_ARGUMENT, "%s[%zu].name is NULL", list->parameter, i);
    *at = find(list, name);
    if (*at == list->count) return refuse_unknown(list, other, name);
    if (*bound >> *at & 1)
        return kiln__fail_name(KILN_E_NAME, name, strlen(name), "'%s' is bound twice among the %s", name,
                               list->parameter);
    *bound |= UINT32_C(1) << *at;
    return KILN_OK;
}

static kiln_status check_all_bound(const name_list *list, uint32_t bound) {
    size_t i = 0;
    while (i < list->count && bound >> i & 1) i++;
    if (i == list->count) return KILN_OK;
    const char *name = list->name(list->program, i), *number = kiln__number_advice(name), *kind = list->kind;
    const bool input = i < list->program->signature.input_count, tensor = list->name == tensor_name;
    if (tensor) kind = input ? "input" : "output";
    if (number && input)
        return kiln__fail_name(KILN_E_BINDING, name, strlen(name), "%s '%s' is not bound; the number is %s", kind, name,
                               number);
    return kiln__fail_name(KILN_E_BINDING, name, strlen(name), "%s '%s' is not bound", kind, name);
}

kiln_status kiln__bind(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                       const kiln_scalar_binding *scalars, size_t scalar_count, kiln__bound *out) {
    out->tensor_count = out->scalar_count = 0;
    if (!program) return kiln__fail(KILN_E_ARGUMENT, "program is NULL");
    if ((binding_count && !bindings) || (scalar_count && !scalars))
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", bindings ? "scalars" : "bindings");
    const name_list tensor_names = tensors_of(program), scalar_names = scalars_of(program);
    uint32_t bound_tensors = 0, bound_scalars = 0;
    kiln_status status = KILN_OK;
    size_t at;
    for (size_t i = 0; i < binding_count && !status; i++) {
        status = place(&tensor_names, &scalar_names, bindings[i].name, i, &bound_tensors, &at);
        if (!status) out->tensors[at] = bindings[i].tensor;
    }
    for (size_t i = 0; i < scalar_count && !status; i++) {
        status = place(&scalar_names, &tensor_names, scalars[i].name, i, &bound_scalars, &at);
        if (!status) out->scalars[at] = scalars[i].value;
    }
    if (!status) status = check_all_bound(&tensor_names, bound_tensors);
    if (!status) status = check_all_bound(&scalar_names, bound_scalars);
    if (status) return status;
    out->tensor_count = tensor_names.count;
    out->scalar_count = scalar_names.count;
    return KILN_OK;
}

kiln_status kiln_program_bind(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                              const kiln_scalar_binding *scalars, size_t scalar_count, kiln_tensor *tensors,
                              kiln_scalar *values) {
    kiln__bound bound;
    kiln__clear_error();
    kiln_status status = kiln__bind(program, bindings, binding_count, scalars, scalar_count, &bound);
    if (status) return status;
    if ((bound.tensor_count && !tensors) || (bound.scalar_count && !values))
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", tensors ? "values" : "tensors");
    if (bound.tensor_count) memcpy(tensors, bound.tensors, bound.tensor_count * sizeof *tensors);
    if (bound.scalar_count) memcpy(values, bound.scalars, bound.scalar_count * sizeof *values);
    return KILN_OK;
}

kiln_status kiln_run_named(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                           const kiln_scalar_binding *scalars, size_t scalar_count, void *stream,
                           const kiln_call_options *options) {
    kiln__bound bound;
    kiln__clear_error();
    kiln_status status = kiln__bind(program, bindings, binding_count, scalars, scalar_count, &bound);
    return status ? status
                  : kiln_run_with_options(program, bound.tensors, bound.tensor_count, bound.scalars, bound.scalar_count,
                                          stream, options);
}

kiln_status kiln_run_cpu_named(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                               const kiln_scalar_binding *scalars, size_t scalar_count,
                               const kiln_cpu_options *options) {
    kiln__bound bound;
    kiln__clear_error();
    kiln_status status = kiln__bind(program, bindings, binding_count, scalars, scalar_count, &bound);
    return status ? status
                  : kiln_run_cpu_with_options(program, bound.tensors, bound.tensor_count, bound.scalars,
                                              bound.scalar_count, options);
}

kiln_status kiln_plan_create_named(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                                   const kiln_scalar_binding *scalars, size_t scalar_count,
                                   const kiln_call_options *options, kiln_plan **out) {
    kiln__bound bound;
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_plan pointer");
    *out = NULL;
    kiln_status status = kiln__bind(program, bindings, binding_count, scalars, scalar_count, &bound);
    return status ? status
                  : kiln_plan_create_with_options(program, bound.tensors, bound.tensor_count, bound.scalars,
                                                  bound.scalar_count, options, out);
}
