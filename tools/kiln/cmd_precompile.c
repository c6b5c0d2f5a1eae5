/* SPDX-License-Identifier: Apache-2.0 */
/* kiln precompile: the kernels of manifests, compiled by worker processes into the disk cache, and into a pack.
 * Needs no GPU. Thanks to the disk cache an interrupted run resumes where it stopped. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "kernel_list.h"
#include "pack_file.h"
#include "runtime/packing.h"
#include "progress.h"
#include "workers.h"

enum { MAX_JOBS = 1024, SLOWEST = 5 };
#define DEFAULT_TIMEOUT 120.0

typedef struct precompile {
    const arguments *args;
    kernel_list list;
    task_result *results; /* of each kernel; status -1: not tried */
    size_t compiled, cached, failed;
    bool no_nvrtc;
    kiln_context *context; /* plans and packs; never compiles */
    progress bar;
    double seconds;
    size_t pack_kernels, pack_bytes;
} precompile;

static const kiln_status not_tried = (kiln_status)-1;

/* ---- the workers' part ---- */

/* Misses are not recorded: they would end up in the manifest that is being read. */
static kiln_status open_context(const arguments *args, kiln_policy policy, kiln_context **out) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = arguments_value(args, OPTION_CACHE_DIR);
    options.nvrtc_path = arguments_value(args, OPTION_NVRTC);
    options.policy = policy;
    options.log = tool_log;
    options.log_user = (void *)(uintptr_t)args;
    options.record_path = "";
    return kiln_context_create(&options, out);
}

static void *begin(void *user) {
    const precompile *p = user;
    kiln_context *context = NULL;
    (void)open_context(p->args, KILN_POLICY_COMPILE, &context);
    return context;
}

static kiln_status compile(const listed_kernel *listed, kiln_context *context, task_result *result) {
    kiln_program *program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln__prepared prepared;
    kiln__image image;
    const kiln__device device = manifest_device(&listed->line->entry, listed->arch);
    kiln_status status = kernel_list_bind(listed, context, &program, tensors, scalars);
    const kiln__call call = {.program = program,
                             .tensors = tensors,
                             .scalars = scalars,
                             .policy = kernel_list_policy(listed),
                             .dependent = listed->line->entry.dependent};
    if (!status) status = kiln__compile_call(&call, &device, listed->ptx, &prepared, &image);
    if (status) {
        (void)snprintf(result->message, sizeof result->message, "%s", kiln_last_error());
    } else {
        result->compiled = image.origin == KILN_ORIGIN_COMPILED;
        kiln__prepared_free(&prepared);
        kiln__image_free(&image);
    }
    kiln_program_destroy(program);
    return status;
}

static void work(void *user, void *own, size_t task, task_result *result) {
    const precompile *p = user;
    result->status = compile(&p->list.kernels[task], own, result);
}

/* ---- the caller's part ---- */

static bool done(void *user, size_t task, const task_result *result) {
    precompile *p = user;
    const listed_kernel *kernel = &p->list.kernels[task];
    p->results[task] = *result;
    if (!result->status) {
        p->compiled += result->compiled;
        p->cached += !result->compiled;
        return true;
    }
    p->failed++;
    progress_clear(&p->bar);
    if (!p->no_nvrtc) {
        tool_say(p->args, "%s:%zu: sm_%d: %s", kernel->line->file, kernel->line->number, kernel->arch, result->message);
    }
    p->no_nvrtc |= result->status == KILN_E_NO_NVRTC;
    return arguments_has(p->args, OPTION_KEEP_GOING) && !p->no_nvrtc;
}

static void tick(void *user) {
    const precompile *p = user;
    progress_show(&p->bar, p->compiled + p->cached + p->failed, p->failed);
}

static int read_number(const arguments *args, option_id id, double most, double fallback, double *out) {
    const char *text = arguments_value(args, id);
    char *end = NULL;
    *out = text ? strtod(text, &end) : fallback;
    if (!text || (end != text && *end == '\0' && *out > 0 && *out <= most)) return TOOL_OK;
    return tool_usage(args, "%s '%s': a number from 1 to %g was expected", option_name(id), text, most);
}

static int compile_all(precompile *p) {
    double jobs, timeout;
    int code = read_number(p->args, OPTION_JOBS, MAX_JOBS, kiln__processors(), &jobs);
    if (!code) code = read_number(p->args, OPTION_TIMEOUT, 1e6, DEFAULT_TIMEOUT, &timeout);
    if (!code && jobs != floor(jobs)) code = tool_usage(p->args, "--jobs '%g': a whole number was expected", jobs);
    if (code) return code;
    if (jobs > (double)p->list.kernel_count) jobs = (double)p->list.kernel_count;
    p->results = calloc(p->list.kernel_count + 1, sizeof *p->results);
    if (!p->results) return tool_failed(p->args, kiln__out_of_memory());
    for (size_t i = 0; i < p->list.kernel_count; i++) p->results[i].status = not_tried;
    const worker_pool pool = {(int)jobs, timeout, p->list.kernel_count, p, begin, work, done, tick};
    p->bar = progress_begin(p->list.kernel_count, arguments_has(p->args, OPTION_QUIET));
    kiln_status status = p->list.kernel_count ? workers_run(&pool) : KILN_OK;
    p->seconds = progress_seconds(&p->bar);
    progress_clear(&p->bar);
    return status ? tool_failed(p->args, status) : TOOL_OK;
}

/* The pack is made from the disk cache, so that kernels that an earlier run compiled are in it. */
static int write_pack(precompile *p) {
    const char *path = arguments_value(p->args, OPTION_PACK);
    kiln__pack_writer writer = {NULL, 0, 0};
    kiln_status status = KILN_OK;
    if (!path) return TOOL_OK;
    for (size_t i = 0; i < p->list.kernel_count && !status; i++) {
        const listed_kernel *kernel = &p->list.kernels[i];
        kiln_program *program = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_scalar scalars[KILN_MAX_SCALARS];
        if (p->results[i].status) continue;
        status = kernel_list_bind(kernel, p->context, &program, tensors, scalars);
        const kiln__device device = manifest_device(&kernel->line->entry, kernel->arch);
        const kiln__call call = {.program = program,
                                 .tensors = tensors,
                                 .scalars = scalars,
                                 .policy = kernel_list_policy(kernel),
                                 .dependent = kernel->line->entry.dependent};
        if (!status && kernel->kind == LISTED_ANY_SHAPE)
            status = kiln__packing_add_any_shape(&writer, &call, device.arch, kernel->ptx);
        else if (!status)
            status = kiln__packing_add(&writer, &call, &device, kernel->ptx);
        kiln_program_destroy(program);
    }
    if (!status) status = pack_file_save(&writer, path, &p->pack_bytes);
    p->pack_kernels = writer.count;
    kiln__pack_writer_free(&writer);
    return status ? tool_failed_at(p->args, status, "pack '%s': ", path) : TOOL_OK;
}

/* ---- what it came to ---- */

/* The slowest compiles into order, as indices; returns how many. */
static size_t find_slowest(const precompile *p, size_t order[SLOWEST]) {
    size_t count = 0;
    for (size_t i = 0; i < p->list.kernel_count; i++) {
        const task_result *r = &p->results[i];
        size_t at = count;
        if (r->status || !r->compiled) continue;
        while (at > 0 && p->results[order[at - 1]].ms < r->ms) at--;
        if (at == SLOWEST) continue;
        if (count < SLOWEST) count++;
        memmove(&order[at + 1], &order[at], (count - at - 1) * sizeof *order);
        order[at] = i;
    }
    return count;
}

static json_t *json_kernel(const precompile *p, size_t i, bool failed) {
    const listed_kernel *kernel = &p->list.kernels[i];
    json_t *object = json_pack("{s:o, s:I, s:o, s:o, s:o}", "file", json_text(kernel->line->file), "line",
                               (json_int_t)kernel->line->number, "program", json_text(kernel->line->entry.program),
                               "arch", json_arch(kernel->arch, kernel->ptx), "ms", json_ms(p->results[i].ms));
    if (failed) json_object_set_new(object, "error", json_text(p->results[i].message));
    return object;
}

static int report_json(const precompile *p, size_t untried) {
    size_t order[SLOWEST + 1];
    const size_t count = find_slowest(p, order);
    const char *pack = arguments_value(p->args, OPTION_PACK);
    json_t *slowest = json_array(), *failures = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(slowest, json_kernel(p, order[i], false));
    for (size_t i = 0; i < p->list.kernel_count; i++) {
        if (p->results[i].status && p->results[i].status != not_tried)
            json_array_append_new(failures, json_kernel(p, i, true));
    }
    json_t *written = json_null();
    if (pack && p->pack_bytes) {
        written = json_pack("{s:o, s:I, s:I}", "file", json_text(pack), "kernels", (json_int_t)p->pack_kernels, "bytes",
                            (json_int_t)p->pack_bytes);
    }
    return json_print(p->args,
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "requests",
                                (json_int_t)p->list.request_count, "kernels", (json_int_t)p->list.kernel_count,
                                "compiled", (json_int_t)p->compiled, "cached", (json_int_t)p->cached, "failed",
                                (json_int_t)p->failed, "untried", (json_int_t)untried, "bad_lines",
                                (json_int_t)p->list.faults, "seconds", json_real(round(p->seconds * 1e3) / 1e3), "pack",
                                written, "slowest", slowest, "failures", failures));
}

static int report(const precompile *p) {
    size_t order[SLOWEST + 1];
    const size_t count = find_slowest(p, order), tried = p->compiled + p->cached + p->failed;
    const size_t untried = p->list.kernel_count - tried;
    if (arguments_has(p->args, OPTION_JSON)) return report_json(p, untried);
    if (arguments_has(p->args, OPTION_QUIET)) return TOOL_OK;
    printf("%zu kernels for %zu requests: %zu compiled, %zu cached, %zu failed", p->list.kernel_count,
           p->list.request_count, p->compiled, p->cached, p->failed);
    if (untried) printf(", %zu not tried", untried);
    printf(", in %.1f s\n", p->seconds);
    if (count) printf("slowest:\n");
    for (size_t i = 0; i < count; i++) {
        const listed_kernel *kernel = &p->list.kernels[order[i]];
        printf("%10.1f ms  sm_%d  ", p->results[order[i]].ms, kernel->arch);
        tool_print(kernel->line->file);
        printf(":%zu\n", kernel->line->number);
    }
    if (p->pack_bytes) {
        printf("pack: ");
        tool_print(arguments_value(p->args, OPTION_PACK));
        printf(", %zu kernels, %zu bytes\n", p->pack_kernels, p->pack_bytes);
    }
    return TOOL_OK;
}

static int precompile_all(precompile *p) {
    int code = kernel_list_read(p->args, p->context, &p->list);
    if (code) return code;
    const bool keep_going = arguments_has(p->args, OPTION_KEEP_GOING);
    if (p->list.faults && !keep_going) return TOOL_FAILED;
    code = compile_all(p);
    if (code) return code;
    const bool whole = p->failed == 0 && p->list.faults == 0;
    if (whole || (keep_going && !p->no_nvrtc)) code = write_pack(p);
    int reported = report(p);
    if (code) return code;
    if (reported) return reported;
    return p->no_nvrtc ? TOOL_MISSING : whole ? TOOL_OK : TOOL_FAILED;
}

static int precompile_command(const arguments *args) {
    precompile p = {.args = args};
    if (args->operand_count == 0) return tool_usage(args, "a manifest was expected");
    unsetenv("KILN_PACKS"); /* kernels found in a pack would not get into the disk cache */
    int code = kernel_list_open(args, &p.list);
    if (!code) {
        kiln_status status = open_context(args, KILN_POLICY_NEVER_COMPILE, &p.context);
        if (status) code = tool_failed(args, status);
    }
    if (!code && (!p.context->disk || !*kiln__disk_path(p.context->disk))) {
        code = tool_usage(args, "there is no disk cache to keep the kernels in; --cache-dir DIR was expected");
    }
    if (!code) code = precompile_all(&p);
    free(p.results);
    kernel_list_free(&p.list);
    kiln_context_destroy(p.context);
    return code;
}

static const option_id options[] = {
    OPTION_ARCH,      OPTION_JOBS,  OPTION_PACK, OPTION_SHARD, OPTION_TIMEOUT, OPTION_KEEP_GOING, OPTION_EXACT,
    OPTION_CACHE_DIR, OPTION_NVRTC, OPTION_JSON, OPTION_QUIET, OPTION_COLOR,   OPTION_HELP,       OPTION_COUNT,
};

const command command_precompile = {
    .name = "precompile",
    .summary = "Compiles the kernels of manifests in parallel, into the cache and a pack",
    .usage = "MANIFEST... [--arch ARCH,ARCH...] [OPTIONS]",
    .options = options,
    .max_operands = 4096,
    .details =
        "\nA manifest has one line of JSON per kernel, as written by a program that runs with KILN_RECORD=FILE;\n"
        "docs/packs.md has the format. '-' is standard input. Kernels that several lines ask for are compiled\n"
        "once; with the first for a program and its types goes one that serves any shape of it, unless --exact is "
        "given.\n"
        "Without --arch each line is compiled for the architecture it names. No GPU is needed.\n"
        "\nEach kernel is compiled in a worker process: if one crashes the compiler or takes too long, it is\n"
        "reported and the others go on. Without --keep-going nothing more is started after a failure. Kernels in\n"
        "the disk cache are not compiled again, so an interrupted run resumes where it was. The pack gets the\n"
        "kernels that compiled; without --keep-going it is written only if all did. The same manifest and NVRTC\n"
        "give the same pack, byte for byte.\n"
        "\nJSON: requests, kernels, compiled, cached, failed, untried, bad_lines, seconds, pack (file, kernels,\n"
        "bytes), slowest and failures (file, line, program, arch, ms, error).\n"
        "\nexamples:\n"
        "  KILN_RECORD=kernels.jsonl ./my_program\n"
        "  kiln precompile kernels.jsonl --arch sm_80,sm_90 --jobs 8 --pack kernels.kpack\n"
        "  kiln precompile kernels.jsonl --arch sm_90 --shard 2/4 --pack part2.kpack\n"
        "\nexit codes: 0 all kernels are there, 1 a line, a kernel or a file failed, 2 the command line is wrong, 3\n"
        "no NVRTC.\n",
    .run = precompile_command,
};
