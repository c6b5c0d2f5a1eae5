/* SPDX-License-Identifier: Apache-2.0 */
/* kiln info: versions, where the driver and NVRTC were found, the devices, the cache.
 * A missing part is reported and is not a failure. */
#include <stdlib.h>

#include "json_output.h"

typedef struct system_report {
    kiln_system_info system;
    const char *driver_error, *nvrtc_error;
    kiln_device_info *devices;
    int device_count;
} system_report;

static int inspect(const arguments *args, kiln_context *context, system_report *out) {
    *out = (system_report){.system.struct_size = sizeof out->system};
    kiln_status status = kiln_context_get_system_info(context, &out->system, &out->driver_error, &out->nvrtc_error);
    if (status) return tool_failed(args, status);
    if (out->system.device_count <= 0) return TOOL_OK;
    out->devices = calloc((size_t)out->system.device_count, sizeof *out->devices);
    if (!out->devices) return tool_failed(args, kiln__out_of_memory());
    for (int i = 0; i < out->system.device_count; i++) {
        out->devices[i].struct_size = sizeof out->devices[i];
        status = kiln_context_get_device_info(context, i, &out->devices[i]);
        if (status) return tool_failed_at(args, status, "device %d: ", i);
        out->device_count++;
    }
    return TOOL_OK;
}

static int report_json(const arguments *args, const system_report *r) {
    const kiln_system_info *s = &r->system;
    json_t *devices = json_array(), *archs = json_array(), *types = json_array();
    for (int i = 0; i < KILN_TYPE_COUNT; i++) json_array_append_new(types, json_string(kiln_type_name((kiln_type)i)));
    for (int i = 0; i < 64 && s->nvrtc_archs[i]; i++) json_array_append_new(archs, json_arch(s->nvrtc_archs[i], 0));
    for (int i = 0; i < r->device_count; i++) {
        const kiln_device_info *d = &r->devices[i];
        json_array_append_new(devices, json_pack("{s:i, s:o, s:o, s:i, s:I, s:I, s:I, s:I}", "ordinal", i, "name",
                                                 json_text(d->name), "arch", json_arch(d->arch, 0), "sm_count",
                                                 d->sm_count, "shared_per_block", (json_int_t)d->shared_per_block,
                                                 "shared_per_sm", (json_int_t)d->shared_per_sm, "l2_bytes",
                                                 (json_int_t)d->l2_bytes, "memory_bytes", (json_int_t)d->memory_bytes));
    }
    const bool driver = s->driver_path[0] != '\0', nvrtc = s->nvrtc_path[0] != '\0';
    json_t *driver_object = json_pack("{s:o, s:o, s:o}", "path", json_text(driver ? s->driver_path : NULL), "version",
                                      driver ? json_integer(s->driver_version) : json_null(), "error",
                                      json_text(driver ? NULL : r->driver_error));
    json_t *nvrtc_object = json_pack("{s:o, s:o, s:o, s:o}", "path", json_text(nvrtc ? s->nvrtc_path : NULL), "version",
                                     nvrtc ? json_sprintf("%d.%d", s->nvrtc_major, s->nvrtc_minor) : json_null(),
                                     "archs", archs, "error", json_text(nvrtc ? NULL : r->nvrtc_error));
    return json_print(args, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "version", kiln_version(), "types", types,
                                      "driver", driver_object, "nvrtc", nvrtc_object, "devices", devices, "cache_dir",
                                      json_text(s->cache_dir[0] ? s->cache_dir : NULL)));
}

static void print_line(const char *text) {
    tool_print(text);
    printf("\n");
}

static void report(const system_report *r) {
    const kiln_system_info *s = &r->system;
    printf("%-8s %s\n%-8s", "kiln", kiln_version(), "types");
    for (int i = 0; i < KILN_TYPE_COUNT; i++) printf(" %s", kiln_type_name((kiln_type)i));
    printf("\n");
    if (s->driver_path[0]) {
        printf("%-8s CUDA %d.%d, ", "driver", s->driver_version / 1000, s->driver_version % 1000 / 10);
        print_line(s->driver_path);
    } else {
        printf("%-8s none: %s\n", "driver", r->driver_error ? r->driver_error : "not found");
    }
    if (s->nvrtc_path[0]) {
        printf("%-8s %d.%d, ", "nvrtc", s->nvrtc_major, s->nvrtc_minor);
        print_line(s->nvrtc_path);
        printf("%-8s", "");
        for (int i = 0; i < 64 && s->nvrtc_archs[i]; i++) printf(" sm_%d", s->nvrtc_archs[i]);
        printf("\n");
    } else {
        printf("%-8s none: %s\n", "nvrtc", r->nvrtc_error ? r->nvrtc_error : "not found");
    }
    printf("%-8s ", "cache");
    print_line(s->cache_dir[0] ? s->cache_dir : "none");
    for (int i = 0; i < r->device_count; i++) {
        const kiln_device_info *d = &r->devices[i];
        printf("device %d %s, sm_%d, %d SMs, %.1f GiB, %.1f MiB of L2, %.0f KiB of shared memory per block\n", i,
               d->name, d->arch, d->sm_count, (double)d->memory_bytes / 1073741824.0, (double)d->l2_bytes / 1048576.0,
               (double)d->shared_per_block / 1024.0);
    }
    if (r->device_count == 0) printf("%-8s none\n", "devices");
}

static int info_command(const arguments *args) {
    kiln_context *context = NULL;
    system_report r = {0};
    int code = tool_context_create(args, &context);
    if (!code) code = inspect(args, context, &r);
    if (!code && arguments_has(args, OPTION_JSON))
        code = report_json(args, &r);
    else if (!code)
        report(&r);
    free(r.devices);
    kiln_context_destroy(context);
    return code;
}

static const option_id options[] = {OPTION_CACHE_DIR, OPTION_NVRTC, OPTION_DRIVER, OPTION_JSON,
                                    OPTION_QUIET,     OPTION_COLOR, OPTION_HELP,   OPTION_COUNT};

const command command_info = {
    .name = "info",
    .summary = "Prints versions, types, devices, and where each library was found",
    .usage = "[OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details = "\nA missing driver, NVRTC or GPU is reported and is not a failure.\n"
               "\nJSON: version, types, driver (path, version, error), nvrtc (path, version, archs, error), devices "
               "(ordinal,\n"
               "name, arch, sm_count, shared_per_block, shared_per_sm, l2_bytes, memory_bytes), cache_dir. What is\n"
               "missing is null.\n"
               "\nexamples:\n"
               "  kiln info\n"
               "  kiln info --json --nvrtc /usr/local/cuda/lib64/libnvrtc.so\n"
               "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = info_command,
};
