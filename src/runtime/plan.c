/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and precompiled kernels: what a caller prepares once and holds. */
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "runtime/named.h"

struct kiln_plan {
    kiln__launch *launch;
    const kiln_program *program;
    kiln_tensor *tensors;   /* that it was made for; their addresses are of no use */
    _Atomic(char *) source; /* written out when it is first asked for */
    kiln__prepared prepared;
    kiln__image image;
    kiln_plan_info info;
};

/* Counts, scalar types, and alignment: a data pointer that is there must be a multiple of the element's size. */
static kiln_status check(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                         const kiln_scalar *scalars, size_t scalar_count, const kiln_call_options *options,
                         kiln__call *out) {
    kiln_status status = kiln__call_make(program, tensors, tensor_count, scalars, scalar_count, options, out);
    for (size_t t = 0; t < tensor_count && !status; t++) {
        size_t size = kiln_type_size(tensors[t].type);
        if (size && (uintptr_t)tensors[t].data % size)
            status =
                kiln__fail(KILN_E_POINTER, "the data pointer of tensor '%s' is %p, expected a multiple of %zu bytes",
                           program->names[t], tensors[t].data, size);
    }
    return status;
}

kiln_status kiln_plan_create(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                             const kiln_scalar *scalars, size_t scalar_count, kiln_plan **out) {
    return kiln_plan_create_with_options(program, tensors, tensor_count, scalars, scalar_count, NULL, out);
}

kiln_status kiln_plan_create_with_options(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                          const kiln_scalar *scalars, size_t scalar_count,
                                          const kiln_call_options *options, kiln_plan **out) {
    kiln__clear_error();
    kiln__call call;
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_plan pointer");
    *out = NULL;
    kiln_status status = check(program, tensors, tensor_count, scalars, scalar_count, options, &call);
    if (status) return status;
    kiln__context_enter(program->context);
    kiln_plan *plan = calloc(1, sizeof *plan);
    if (plan) plan->tensors = calloc(tensor_count + 1, sizeof *plan->tensors);
    if (!plan || !plan->tensors) {
        free(plan);
        return kiln__out_of_memory();
    }
    plan->program = program;
    memcpy(plan->tensors, tensors, tensor_count * sizeof *tensors);
    status = kiln__launch_prepare(&call, &plan->launch, &plan->prepared, &plan->image, &plan->info);
    if (!status) kiln__kernels_trim(program->context, plan->launch->driver, plan->launch->kernel->device);
    if (status) {
        free(plan->tensors);
        free(plan);
        return status;
    }
    kiln__image_free_bytes(&plan->image);
    free(plan->prepared.source);
    plan->prepared.source = NULL;
    *out = plan;
    return KILN_OK;
}

void kiln_plan_destroy(kiln_plan *plan) {
    if (!plan) return;
    kiln__context_enter(plan->launch->kernel->context);
    kiln__kernels_release(plan->launch->kernel);
    kiln__prepared_free(&plan->prepared);
    kiln__image_free(&plan->image);
    kiln__launch_free(plan->launch);
    free(plan->tensors);
    free(atomic_load(&plan->source));
    free(plan);
}

kiln_status kiln_plan_launch_with_workspace(const kiln_plan *plan, void *const *data, size_t data_count,
                                            const kiln_scalar *scalars, size_t scalar_count, void *workspace,
                                            int64_t workspace_bytes, void *stream) {
    kiln__clear_error();
    if (!plan || (!data && data_count) || (!scalars && scalar_count))
        return kiln__fail(KILN_E_ARGUMENT, "plan, data or scalars is NULL");
    const kiln__launch *launch = plan->launch;
    if (data_count != (size_t)launch->memory.tensor_count)
        return kiln__fail(KILN_E_BINDING, "%zu data pointers are given, expected %d", data_count,
                          launch->memory.tensor_count);
    if (scalar_count != (size_t)launch->scalar_count)
        return kiln__fail(KILN_E_BINDING, "%zu scalars are given, expected %d", scalar_count, launch->scalar_count);
    const kiln__ir *ir = plan->prepared.ir;
    for (size_t s = 0; s < scalar_count; s++) {
        const kiln_type type = ir->scalar_given[s];
        if (scalars[s].type != type)
            return kiln__fail(KILN_E_TYPE, "scalar '%s' has type %s, the plan was made for %s", ir->scalar_names[s],
                              kiln__scalar_type_name(scalars[s].type), kiln__scalar_type_name(type));
    }
    return kiln__launch_run_with(launch, data, scalars, (kiln__workspace){workspace, workspace_bytes}, stream);
}

kiln_status kiln_plan_launch(const kiln_plan *plan, void *const *data, size_t data_count, const kiln_scalar *scalars,
                             size_t scalar_count, void *stream) {
    return kiln_plan_launch_with_workspace(plan, data, data_count, scalars, scalar_count, NULL, 0, stream);
}

/* A plan is for its tensors' types, sizes and strides, which a caller who names them has at hand to compare. */
static kiln_status check_same(const char *name, const kiln_tensor *given, const kiln_tensor *planned) {
    if (given->type != planned->type)
        return kiln__fail(KILN_E_TYPE, "tensor '%s' has type %s, the plan was made for %s", name,
                          kiln_type_name(given->type), kiln_type_name(planned->type));
    if (given->rank != planned->rank)
        return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, the plan was made for %d", name, given->rank,
                          planned->rank);
    for (int i = 0; i < planned->rank; i++) {
        const bool stride = given->sizes[i] == planned->sizes[i];
        const int64_t *found = stride ? given->strides : given->sizes;
        const int64_t *expected = stride ? planned->strides : planned->sizes;
        if (found[i] != expected[i])
            return kiln__fail(KILN_E_SHAPE, "tensor '%s' has %s %lld along axis %d, the plan was made for %lld", name,
                              stride ? "stride" : "size", (long long)found[i], i, (long long)expected[i]);
    }
    return KILN_OK;
}

kiln_status kiln_plan_launch_named(const kiln_plan *plan, const kiln_binding *bindings, size_t binding_count,
                                   const kiln_scalar_binding *scalars, size_t scalar_count, void *workspace,
                                   int64_t workspace_bytes, void *stream) {
    kiln__bound bound;
    void *data[KILN_MAX_TENSORS];
    kiln__clear_error();
    if (!plan) return kiln__fail(KILN_E_ARGUMENT, "plan is NULL");
    kiln_status status = kiln__bind(plan->program, bindings, binding_count, scalars, scalar_count, &bound);
    for (size_t t = 0; t < bound.tensor_count && !status; t++) {
        status = check_same(plan->program->names[t], &bound.tensors[t], &plan->tensors[t]);
        data[t] = bound.tensors[t].data;
    }
    return status ? status
                  : kiln_plan_launch_with_workspace(plan, data, bound.tensor_count, bound.scalars, bound.scalar_count,
                                                    workspace, workspace_bytes, stream);
}

/* NULL without memory. */
static const char *source_of(kiln_plan *plan) {
    char *known = atomic_load(&plan->source), *source = known ? NULL : kiln__source_expand(plan->prepared.unexpanded);
    if (!source || atomic_compare_exchange_strong(&plan->source, &known, source)) return known ? known : source;
    free(source); /* another thread was first */
    return known;
}

kiln_status kiln_plan_get_info(const kiln_plan *plan, kiln_plan_info *info) {
    kiln__clear_error();
    if (!plan) return kiln__fail(KILN_E_ARGUMENT, "plan is NULL");
    kiln_plan_info all = plan->info;
    if (!(all.source = source_of((kiln_plan *)plan))) return kiln__out_of_memory(); /* made by us, and not const */
    return kiln__info_copy(&all, info);
}

struct kiln_kernel {
    kiln__prepared prepared;
    kiln__image image;
    kiln_plan_info info;
    char *phases;
};

kiln_status kiln__compile_check(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                const kiln_scalar *scalars, size_t scalar_count, int arch,
                                const kiln_call_options *options, kiln__call *call) {
    kiln_status status = check(program, tensors, tensor_count, scalars, scalar_count, options, call);
    if (!status && call->policy == KILN_POLICY_BACKGROUND) call->policy = KILN_POLICY_COMPILE; /* nothing is launched */
    if (!status && (arch < 80 || arch > 999))
        status = kiln__fail(KILN_E_ARCH, "architecture sm_%d is asked for, expected sm_80 to sm_999", arch);
    return status;
}

kiln_status kiln_compile(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                         const kiln_scalar *scalars, size_t scalar_count, int arch, int ptx, int compile,
                         kiln_kernel **out) {
    kiln__clear_error();
    kiln__call call;
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_kernel pointer");
    *out = NULL;
    kiln_status status = kiln__compile_check(program, tensors, tensor_count, scalars, scalar_count, arch, NULL, &call);
    if (status) return status;
    kiln__context_enter(program->context);
    kiln_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return kiln__out_of_memory();
    kiln__device device = kiln__device_typical(arch);
    if (compile)
        status = kiln__compile_call(&call, &device, ptx != 0, &kernel->prepared, &kernel->image);
    else {
        kernel->image.facts = (kiln__facts){.is_ptx = ptx != 0, .registers = -1, .spill_bytes = -1};
        status = call.policy == KILN_POLICY_ANY_SHAPE
                     ? kiln__prepare_any_shape(program, tensors, scalars, &kernel->prepared)
                     : kiln__prepare_for(&call, &device, 0, &kernel->prepared);
    }
    if (!status && !(kernel->phases = kiln__ir_describe(kernel->prepared.ir))) status = kiln__out_of_memory();
    if (status) {
        kiln_kernel_destroy(kernel);
        return status;
    }
    kiln__info_fill(&kernel->prepared, &kernel->image, arch, program->parse_ms, &kernel->info);
    *out = kernel;
    return KILN_OK;
}

void kiln_kernel_destroy(kiln_kernel *kernel) {
    if (!kernel) return;
    kiln__prepared_free(&kernel->prepared);
    kiln__image_free(&kernel->image);
    free(kernel->phases);
    free(kernel);
}

const void *kiln_kernel_image(const kiln_kernel *kernel, size_t *bytes) {
    if (bytes) *bytes = kernel ? kernel->image.size : 0;
    return kernel ? kernel->image.bytes : NULL;
}

kiln_status kiln_kernel_get_info(const kiln_kernel *kernel, kiln_plan_info *info) {
    kiln__clear_error();
    return kernel ? kiln__info_copy(&kernel->info, info) : kiln__fail(KILN_E_ARGUMENT, "kernel is NULL");
}

const char *kiln_kernel_phases(const kiln_kernel *kernel) { return kernel ? kernel->phases : NULL; }
