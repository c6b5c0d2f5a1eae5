/* SPDX-License-Identifier: Apache-2.0 */
/* kiln compile: one kernel into the disk cache, or into a file as well.
 * Needs NVRTC only if the kernel is not in the cache, and never a GPU. */
#include <inttypes.h>
#include <string.h>

#include "json_output.h"
#include "kernel_request.h"
#include "output_file.h"

static kiln_status write_image(const char *path, const kernel_request *k) {
    output_file file;
    size_t bytes;
    const char *image = kiln_kernel_image(k->kernel, &bytes);
    if (k->ptx && bytes > 0 && image[bytes - 1] == '\0') bytes--; /* the NUL is for the driver, not for a file */
    kiln_status status = output_file_open(path, &file);
    if (!status) status = output_file_write(&file, image, bytes);
    if (!status) status = output_file_finish(&file);
    if (!status) status = output_file_publish(&file);
    output_file_discard(&file);
    return status;
}

static int report_json(const kernel_request *k, const char *path) {
    return json_print(k->request.args, json_pack("{s:o, s:o, s:o, s:o}", "program", json_text(k->request.text),
                                                 "origin", json_text(origin_name(k->info.origin)), "file",
                                                 json_text(path), "kernel", json_plan(&k->info)));
}

static int report(const kernel_request *k, const char *path) {
    const kiln_plan_info *info = &k->info;
    if (arguments_has(k->request.args, OPTION_JSON)) return report_json(k, path);
    if (arguments_has(k->request.args, OPTION_QUIET)) return TOOL_OK;
    printf("%s_%d, %s", k->ptx ? "compute" : "sm", k->arch, info->schedule);
    if (info->registers >= 0) printf(", %d registers", info->registers);
    if (info->spill_bytes >= 0) printf(", %d bytes spilled", info->spill_bytes);
    printf(", %" PRId64 " bytes of %s, ", info->image_bytes, k->ptx ? "PTX" : "cubin");
    if (info->origin == KILN_ORIGIN_COMPILED)
        printf("compiled in %.1f ms\n", info->compile_ms);
    else
        printf("cached\n");
    return TOOL_OK;
}

static int compile_command(const arguments *args) {
    const char *path = arguments_value(args, OPTION_OUTPUT);
    kernel_request k;
    int code = kernel_request_open(args, true, true, &k);
    if (!code && path) {
        kiln_status status = write_image(path, &k);
        if (status) code = tool_failed(args, status);
    }
    if (!code) code = report(&k, path);
    kernel_request_free(&k);
    return code;
}

static const option_id options[] = {
    OPTION_TENSOR, OPTION_OUT_TYPE, OPTION_SCALAR,  OPTION_AXES,      OPTION_KEEP_DIMS, OPTION_DROP_DIMS,
    OPTION_ARCH,   OPTION_OUTPUT,   OPTION_PROGRAM, OPTION_CACHE_DIR, OPTION_NVRTC,     OPTION_DRIVER,
    OPTION_JSON,   OPTION_QUIET,    OPTION_COLOR,   OPTION_HELP,      OPTION_COUNT,
};

const command command_compile = {
    .name = "compile",
    .summary = "Compiles a program's kernel for an architecture, into the cache or a file",
    .usage = "PROGRAM --tensor NAME=TYPE[DIMS] ... --arch ARCH [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nNo GPU is needed. The kernel goes into the disk cache, where every later run finds it; -o also writes\n"
        "its cubin or PTX to a file. Without --arch it is compiled for this machine's GPU. Inputs are contiguous\n"
        "and aligned to 16 bytes. A scalar may be given as its type alone: --scalar eps=f64, or\n"
        "f64* where the kernel reads it in device memory. Output types are as in 'kiln run --help'.\n"
        "\nJSON: program, origin (memory, pack, disk or compiled), file, kernel (arch, schedule, reason, registers,\n"
        "spill_bytes, shared_bytes, workspace_bytes, image_bytes, rows, cols, cols_served, blocks, threads, step_ms).\n"
        "\nexamples:\n"
        "  kiln compile 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90\n"
        "  kiln compile 'y = softmax(x)' --tensor 'x=f16[*,*]' --arch sm_90   # the kernel that serves any shape\n"
        "  kiln compile 's = absmax(x); y = x / s' --tensor 'x=f16[*,1024]' --out-type y=f32 --arch sm_90 -o k.cubin\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong, 3 no NVRTC.\n",
    .run = compile_command,
};
