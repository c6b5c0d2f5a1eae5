/* SPDX-License-Identifier: Apache-2.0 */
/* kiln cache verify: whether each entry is intact, and whether NVRTC would compile it to the same bytes again. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cache_files.h"
#include "jit/nvrtc.h"
#include "json_output.h"
#include "kernel_names.h"
#include "progress.h"

typedef struct verification {
    const arguments *args;
    const kiln__nvrtc *nvrtc; /* NULL: nothing is compiled */
    progress bar;
    size_t entries, damaged, recompiled, different, left_out;
    json_t *faults; /* (key, fault) */
} verification;

/* Tells of an entry at once; with --json in the end. */
static void tell(verification *v, const cache_file *file, const char *fault) {
    progress_clear(&v->bar);
    if (!arguments_has(v->args, OPTION_JSON)) {
        printf("%.12s  %s%s", file->name, fault, file->found ? ": " : "");
        tool_print(file->found ? file->found->description : "");
        printf("\n");
    }
    json_array_append_new(v->faults, json_pack("{s:s#, s:s}", "key", file->name, 32, "fault", fault));
}

/* Whether this NVRTC and this Kiln would compile the entry's source in the same way. */
static bool is_ours(const kiln__key_view *key, const kiln__nvrtc_identity *nvrtc) {
    return key->nvrtc_major == nvrtc->major && key->nvrtc_minor == nvrtc->minor &&
           key->build_size == strlen(nvrtc->build) && memcmp(key->build, nvrtc->build, key->build_size) == 0 &&
           kernel_options_are_ours(key);
}

/* NULL where the same bytes come out, else what is wrong. */
static const char *compile_again(verification *v, const kiln__entry *found) {
    kiln__key_view key;
    if (!kiln__key_decode(found->material, found->material_size, &key)) return "its key cannot be read";
    if (!is_ours(&key, &v->nvrtc->identity)) {
        v->left_out++;
        return NULL;
    }
    char *source = strndup(key.source, key.source_size);
    const kiln__compile_request request = {
        .source = source, .name = "kiln_kernel.cu", .arch = key.arch, .ptx = key.ptx};
    kiln__compile_result result;
    kiln_status status = source ? kiln__nvrtc_compile(v->nvrtc, &request, &result) : KILN_E_MEMORY;
    free(source);
    if (status == KILN_E_MEMORY && !source) return "there is no memory to compile it again";
    const bool same =
        !status && result.size == found->image_size && memcmp(result.image, found->image, result.size) == 0;
    kiln__compile_result_free(&result);
    v->recompiled++;
    v->different += !same;
    return same ? NULL : status ? "it cannot be compiled again" : "compiling it again gives another kernel";
}

static int verify_file(void *user, const cache_file *file) {
    verification *v = user;
    const char *fault = file->found ? NULL : "is damaged";
    v->entries++;
    v->damaged += fault != NULL;
    if (!fault && v->nvrtc && !file->tuned) fault = compile_again(v, file->found);
    if (fault) tell(v, file, fault);
    progress_show(&v->bar, v->entries, v->damaged + v->different);
    return TOOL_OK;
}

static int count_file(void *user, const cache_file *file) {
    size_t *count = user;
    (void)file;
    ++*count;
    return TOOL_OK;
}

static int report(const verification *v) {
    const bool compiled = v->nvrtc != NULL;
    if (arguments_has(v->args, OPTION_JSON)) {
        return json_print(v->args, json_pack("{s:I, s:I, s:o, s:o, s:o, s:O}", "entries", (json_int_t)v->entries,
                                             "damaged", (json_int_t)v->damaged, "recompiled",
                                             json_known(compiled ? (int64_t)v->recompiled : -1), "different",
                                             json_known(compiled ? (int64_t)v->different : -1), "left_out",
                                             json_known(compiled ? (int64_t)v->left_out : -1), "faults", v->faults));
    }
    if (arguments_has(v->args, OPTION_QUIET)) return TOOL_OK;
    printf("%zu entries, %zu damaged", v->entries, v->damaged);
    if (compiled) {
        printf("; %zu compiled again, %zu of them different, %zu left out as another NVRTC's or Kiln's", v->recompiled,
               v->different, v->left_out);
    }
    putchar('\n');
    return TOOL_OK;
}

static int verify_command(const arguments *args) {
    verification v = {.args = args, .faults = json_array()};
    kiln__disk *disk = NULL;
    size_t count = 0;
    int code = v.faults ? cache_open(args, &disk) : tool_failed(args, kiln__out_of_memory());
    if (!code && arguments_has(args, OPTION_RECOMPILE)) {
        kiln_status status = kiln__nvrtc_open(arguments_value(args, OPTION_NVRTC), &v.nvrtc);
        if (status) code = tool_failed(args, status);
    }
    if (!code) code = cache_visit_files(args, disk, count_file, &count);
    v.bar = progress_begin(count, arguments_has(args, OPTION_QUIET));
    if (!code) code = cache_visit_files(args, disk, verify_file, &v);
    progress_clear(&v.bar);
    if (!code) code = report(&v);
    if (!code && v.damaged + v.different > 0) code = TOOL_FAILED;
    json_decref(v.faults);
    kiln__disk_close(disk);
    return code;
}

static const option_id options[] = {OPTION_RECOMPILE, OPTION_CACHE_DIR, OPTION_NVRTC, OPTION_JSON,
                                    OPTION_QUIET,     OPTION_COLOR,     OPTION_HELP,  OPTION_COUNT};

const command command_cache_verify = {
    .name = "cache verify",
    .summary = "Checks every entry of the disk cache, by its checksum or by compiling",
    .usage = "[--recompile] [OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details =
        "\nComputes each entry's checksum and compares its key with its name; files that were moved aside count as\n"
        "damaged. With --recompile each source is also compiled again and the kernels are compared; entries of\n"
        "another NVRTC, or of a Kiln with other options, are skipped. Nothing is changed: 'kiln cache clear'\n"
        "removes damaged entries.\n"
        "\nJSON: entries, damaged, recompiled, different, left_out (null without --recompile), faults (key, fault).\n"
        "\nexample:\n"
        "  kiln cache verify --recompile\n"
        "\nexit codes: 0 all is well, 1 an entry is damaged or different, 2 the command line is wrong, 3 no NVRTC.\n",
    .run = verify_command,
};
