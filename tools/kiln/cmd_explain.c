/* SPDX-License-Identifier: Apache-2.0 */
/* kiln explain: a program's phases, schedule and source for given tensors.
 * Only plans; needs neither NVRTC nor a GPU. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_candidates.h"
#include "json_output.h"
#include "kernel_request.h"
#include "tensor_spec.h"

static const char *tensor_name(const request *r, size_t i) {
    return i < r->input_count ? kiln_program_input_name(r->program, i)
                              : kiln_program_output_name(r->program, i - r->input_count);
}

static json_t *describe_tensors(const request *r, size_t first, size_t count) {
    json_t *list = json_array();
    for (size_t i = first; i < first + count; i++)
        json_array_append_new(list, json_tensor(tensor_name(r, i), &r->tensors[i]));
    return list;
}

static json_t *describe_lines(const char *text) {
    json_t *list = json_array();
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > 0) json_array_append_new(list, json_stringn(text, length));
        text += length + (text[length] == '\n');
    }
    return list;
}

/* all: NULL where none are asked for. */
static int report_json(const kernel_request *k, const explained_candidates *all) {
    const request *r = &k->request;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o}", "program", json_text(r->text), "inputs",
                               describe_tensors(r, 0, r->input_count), "outputs",
                               describe_tensors(r, r->input_count, r->output_count), "phases",
                               describe_lines(kiln_kernel_phases(k->kernel)), "kernel", json_plan(&k->info));
    if (arguments_has(r->args, OPTION_SOURCE)) json_object_set_new(object, "source", json_text(k->info.source));
    if (all) json_object_set_new(object, "ranking", explained_candidates_json(all));
    return json_print(r->args, object);
}

/* Lines after the first are indented to the text of the first. */
static void print_lines(const char *title, const char *text) {
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);
        printf("%-10s", first ? title : "");
        tool_print(line ? line : "");
        printf("\n");
        free(line);
        text += length + (text[length] == '\n');
    }
}

static void report(const kernel_request *k, const explained_candidates *all) {
    const request *r = &k->request;
    const kiln_plan_info *info = &k->info;
    print_lines("program", r->text);
    for (size_t i = 0; i < r->input_count + r->output_count; i++) {
        char text[TENSOR_SPEC_SIZE];
        tensor_spec_format(&r->tensors[i], text);
        printf("%-10s%s %s\n", i == 0 ? "inputs" : i == r->input_count ? "outputs" : "", tensor_name(r, i), text);
    }
    print_lines("phases", kiln_kernel_phases(k->kernel));
    printf("%-10s%s_%d\n", "arch", k->ptx ? "compute" : "sm", k->arch);
    print_lines("schedule", info->schedule);
    if (info->most_cols)
        printf("%-10s%" PRId64 " to %" PRId64 " columns have this kernel\n", "range", info->least_cols,
               info->most_cols);
    print_lines("why", info->reason);
    printf("%-10s%s\n", "chosen by", schedule_origin_words(info->schedule_origin));
    printf("%-10s", "launch");
    if (info->blocks >= 0)
        printf("%" PRId64 " blocks of %d threads", info->blocks, info->threads);
    else
        printf("as many blocks of %d threads as the rows need", info->threads);
    printf(", %" PRId64 " bytes of shared memory each", info->shared_bytes);
    if (info->workspace_bytes > 0) printf(", a workspace of %" PRId64 " bytes", info->workspace_bytes);
    if (info->workspace_bytes < 0) printf(", a workspace of as many bytes as the rows need");
    printf("\n");
    if (all) explained_candidates_print(all);
}

static int explain(const kernel_request *k) {
    const arguments *args = k->request.args;
    explained_candidates all = {0};
    int64_t most = 0;
    int code = arguments_number(args, OPTION_LISTED_CANDIDATES, 1, 1000, &most);
    if (!code && most && k->any_shape)
        code = tool_usage(args, "--candidates: a kernel for any shape has one schedule; sizes were expected");
    if (!code && most && k->info.most_cols)
        code = tool_usage(args,
                          "--candidates: a kernel for a range of columns is compared with none; sizes were expected");
    if (!code && most) code = explained_candidates_find(k, (size_t)most, &all);
    const explained_candidates *listed = most ? &all : NULL;
    if (!code && arguments_has(args, OPTION_JSON))
        code = report_json(k, listed);
    else if (!code && arguments_has(args, OPTION_SOURCE))
        fputs(k->info.source, stdout);
    else if (!code)
        report(k, listed);
    explained_candidates_free(&all);
    return code;
}

static int explain_command(const arguments *args) {
    kernel_request k;
    int code = kernel_request_open(args, false, false, &k);
    if (!code) code = explain(&k);
    kernel_request_free(&k);
    return code;
}

static const option_id options[] = {
    OPTION_TENSOR,  OPTION_OUT_TYPE,  OPTION_SCALAR,
    OPTION_AXES,    OPTION_KEEP_DIMS, OPTION_DROP_DIMS,
    OPTION_ARCH,    OPTION_SOURCE,    OPTION_LISTED_CANDIDATES,
    OPTION_PROGRAM, OPTION_CACHE_DIR, OPTION_NVRTC,
    OPTION_DRIVER,  OPTION_JSON,      OPTION_QUIET,
    OPTION_COLOR,   OPTION_HELP,      OPTION_COUNT,
};

const command command_explain = {
    .name = "explain",
    .summary = "Prints a program's phases, its schedule and why, or its generated source",
    .usage = "PROGRAM --tensor NAME=TYPE[DIMS] ... [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nNothing is compiled; neither GPU nor NVRTC is needed. Without --arch it explains the kernel for this\n"
        "machine's GPU, or for sm_90 if there is none.\n"
        "\nJSON: program, inputs and outputs (name, type, shape with null for an open size), phases, kernel (as in\n"
        "'kiln compile'), with --source also source, with --candidates also ranking: how many schedules were\n"
        "compared, and of each candidate place (0: not compared), schedule, chosen, slowdown, registers,\n"
        "resident_blocks and times_us, of rows of 256 MB.\n"
        "\nexamples:\n"
        "  kiln explain 'y = softmax(x)' --tensor 'x=f16[49152,1024]'\n"
        "  kiln explain 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90 --source > softmax.cu\n"
        "  kiln explain 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90 --candidates 10\n"
        "  kiln explain 'y = softmax(x)' --tensor 'x=f16[*,*]'   # the kernel that serves any shape\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = explain_command,
};
