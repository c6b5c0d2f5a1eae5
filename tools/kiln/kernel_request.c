/* SPDX-License-Identifier: Apache-2.0 */
/* Turns --tensor, --out-type and --arch into a call of kiln_compile.
 * Neither driver nor GPU is needed; a GPU only tells the default architecture. */
#include "kernel_request.h"

#include "runtime/context.h"
#include "tensor_spec.h"

#define ARCH_WITHOUT_GPU 90

static int read_tensors(kernel_request *k) {
    request *r = &k->request;
    for (size_t i = 0; i < r->input_count; i++) {
        if (tensor_spec_parse_open(request_input(r, i), &r->tensors[i])) {
            return tool_usage(r->args, "--tensor %s=%s: %s", kiln_program_input_name(r->program, i),
                              request_input(r, i), kiln_last_error());
        }
    }
    if (column_range_find(r->tensors, r->input_count, &k->range))
        return tool_usage(r->args, "--tensor: %s", kiln_last_error());
    if (k->range.most && open_shapes_any(r->tensors, r->input_count))
        return tool_usage(r->args, "--tensor: a range of columns stands beside '*' for another size than the first");
    if (k->range.most) {
        column_range_set(k->range.most, r->tensors, r->input_count);
        r->context->policy = KILN_POLICY_RANGE;
    }
    k->any_shape = open_shapes_any(r->tensors, r->input_count);
    if (k->any_shape) {
        open_shapes_settle(r->tensors, r->input_count, &k->open);
        r->context->policy = KILN_POLICY_ANY_SHAPE;
    }
    for (size_t i = 0; i < r->output_count; i++) {
        const char *text = request_output(r, i);
        kiln_type type;
        if (text && tensor_spec_type(text, &type)) {
            return tool_usage(r->args, "--out-type %s=%s: %s", kiln_program_output_name(r->program, i), text,
                              kiln_last_error());
        }
        int code = request_shape_output(r, i, text ? &type : NULL);
        if (code) return code;
    }
    return TOOL_OK;
}

static int choose_arch(kernel_request *k, bool arch_needed) {
    const arguments *args = k->request.args;
    const char *text = arguments_value(args, OPTION_ARCH);
    kiln_device_info info = {.struct_size = sizeof info};
    k->arch = ARCH_WITHOUT_GPU;
    if (text) {
        return tensor_spec_arch(text, &k->arch, &k->ptx) ? tool_usage(args, "--arch %s", kiln_last_error()) : TOOL_OK;
    }
    if (kiln_context_get_device_info(k->request.context, 0, &info) == KILN_OK) {
        k->arch = info.arch;
        return TOOL_OK;
    }
    return arch_needed ? tool_usage(args, "there is no GPU to compile for; --arch sm_90, say, was expected") : TOOL_OK;
}

int kernel_request_open(const arguments *args, bool compile, bool arch_needed, kernel_request *out) {
    *out = (kernel_request){.info = KILN_PLAN_INFO_INIT};
    request *r = &out->request;
    if (arguments_has(args, OPTION_KEEP_DIMS) && arguments_has(args, OPTION_DROP_DIMS)) {
        return tool_usage(args, "--keep-dims and --drop-dims are both given");
    }
    int code = request_open(args, OPTION_TENSOR, OPTION_OUT_TYPE, false, true, r);
    if (!code) code = read_tensors(out);
    if (!code) code = choose_arch(out, arch_needed);
    if (!code && compile && out->range.most && kiln_range_end(out->range.least) < out->range.most)
        code = tool_usage(args, "%lld to %lld columns take several kernels, which 'kiln precompile' makes",
                          (long long)out->range.least, (long long)out->range.most);
    if (code) return code;
    kiln_status status = kiln_compile(r->program, r->tensors, r->input_count + r->output_count, r->scalars,
                                      r->scalar_count, out->arch, out->ptx, compile, &out->kernel);
    if (!status) status = kiln_kernel_get_info(out->kernel, &out->info);
    if (!status && out->range.most)
        status = column_range_check(r->text, out->range.most, out->info.cols, out->info.most_cols);
    if (out->any_shape) {
        open_shapes_restore(&out->open, r->tensors, r->input_count + r->output_count);
        out->info.rows = out->info.cols = out->info.blocks = -1;
        if (out->info.workspace_bytes) out->info.workspace_bytes = -1;
    }
    return status ? tool_failed(args, status) : TOOL_OK;
}

void kernel_request_free(kernel_request *k) {
    kiln_kernel_destroy(k->kernel);
    request_free(&k->request);
}
