/* SPDX-License-Identifier: Apache-2.0 */
/* kiln tune: times schedules of a program, or of a manifest's lines, on this machine's GPU, and keeps the fastest of
 * each as a tuned record, which the library then takes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/extent.h"
#include "base/types.h"
#include "json_output.h"
#include "kernel_list.h"
#include "pack_file.h"
#include "runtime/packing.h"
#include "request.h"
#include "runtime/tuned.h"
#include "tensor_spec.h"
#include "tune_measure.h"

typedef struct tuner {
    const arguments *args;
    int64_t ordinal, traffic;
    tune_limits limits;
    kiln_context *context;
    gpu gpu;
    bench_clock clock;
    kiln_device_info device;
    kiln__device numbers;
    kiln__pack_writer pack;
    size_t tuned, kept, failed;
    json_t *results;
    kiln__text done; /* digests of the keys so far, 16 bytes each */
} tuner;

/* ---- the command line ---- */

static int read_options(tuner *t) {
    int64_t candidates = 24, seconds = 60, rounds = 30;
    t->traffic = (int64_t)256 << 20;
    int code = arguments_bytes(t->args, OPTION_TRAFFIC, &t->traffic);
    if (!code) code = arguments_number(t->args, OPTION_MOST_CANDIDATES, 1, 1000, &candidates);
    if (!code) code = arguments_number(t->args, OPTION_SECONDS, 1, 86400, &seconds);
    if (!code) code = arguments_number(t->args, OPTION_RUNS, 1, 100000, &rounds);
    if (!code) code = arguments_number(t->args, OPTION_ORDINAL, 0, 1023, &t->ordinal);
    t->limits = (tune_limits){(size_t)candidates, (double)seconds, (int)rounds};
    if (!code && arguments_has(t->args, OPTION_MANIFEST) &&
        (t->args->operand_count || arguments_has(t->args, OPTION_PROGRAM)))
        code = tool_usage(t->args, "--manifest and a program are both given");
    return code;
}

static int open_device(tuner *t) {
    t->device.struct_size = sizeof t->device;
    kiln_status status = gpu_open(arguments_value(t->args, OPTION_DRIVER), (int)t->ordinal, &t->gpu);
    if (!status) status = kiln_context_get_device_info(t->context, (int)t->ordinal, &t->device);
    if (!status) status = kiln__driver_device(t->gpu.driver, t->gpu.device, &t->numbers);
    if (!status) status = bench_clock_create(&t->gpu, t->device.l2_bytes, &t->clock);
    return status ? tool_failed(t->args, status) : TOOL_OK;
}

/* ---- rows that are left open ---- */

static int64_t bytes_of(const tune_problem *p) {
    int64_t bytes = 0;
    for (size_t i = 0; i < p->tensor_count; i++) bytes += kiln__extent_of(&p->tensors[i]).high;
    return bytes;
}

static void set_rows(tune_problem *p, const bool *open, int64_t rows) {
    for (size_t i = 0; i < p->tensor_count; i++)
        if (open[i]) p->tensors[i].sizes[0] = rows;
}

/* As many as it takes to move so many bytes. */
static void choose_rows(tune_problem *p, int64_t traffic) {
    bool open[KILN_MAX_TENSORS] = {false}, any = false;
    for (size_t i = 0; i < p->tensor_count; i++) {
        open[i] = p->tensors[i].rank > 0 && p->tensors[i].sizes[0] < 0;
        any |= open[i];
    }
    if (!any) return;
    set_rows(p, open, 1);
    const int64_t one = bytes_of(p);
    set_rows(p, open, 2);
    const int64_t each = bytes_of(p) - one, rows = each > 0 ? (traffic - one) / each + 1 : 1;
    set_rows(p, open, rows > 1 ? rows : 1);
}

/* ---- what it came to ---- */

static const char *verdict_of(const tune_result *r) {
    if (r->winner) return "kept";
    if (r->different) return "the fastest has other results and is not kept";
    return "the library's own choice stays";
}

static json_t *json_contender(const tune_contender *c) {
    return json_pack("{s:s, s:f, s:f, s:f, s:b, s:o}", "pins", c->words, "us", c->time.median, "low_us", c->time.low,
                     "high_us", c->time.high, "final", (int)c->final, "kernel", json_plan(&c->info));
}

static json_t *json_result(const char *label, const tune_result *r) {
    json_t *all = json_array();
    for (size_t i = 0; i < r->count; i++) json_array_append_new(all, json_contender(&r->items[i]));
    json_t *record = r->winner ? json_text(r->items[r->winner].words) : json_null();
    return json_pack("{s:o, s:o, s:s, s:I, s:I, s:o, s:s, s:o}", "problem", json_text(label), "description",
                     json_text(r->description), "key", r->key.hex, "schedules", (json_int_t)r->listed, "failed",
                     (json_int_t)r->failed, "record", record, "verdict", verdict_of(r), "contenders", all);
}

static void print_contender(const tune_result *r, size_t i) {
    const tune_contender *c = &r->items[i], *own = &r->items[0];
    const double gain = own->time.median > 0 ? 100 * (1 - c->time.median / own->time.median) : 0;
    printf("%10.2f %8.2f %8.2f", c->time.median, c->time.low, c->time.high);
    if (i > 0)
        printf(" %5.1f %%", gain);
    else
        printf(" %7s", "");
    printf("  %s%s%s\n", c->info.schedule, i == 0 ? "  (the library's own)" : "",
           r->winner && i == r->winner ? "  <- kept" : "");
}

static void report(tuner *t, const char *label, const tune_result *r) {
    if (arguments_has(t->args, OPTION_JSON)) {
        json_array_append_new(t->results, json_result(label, r));
        return;
    }
    if (arguments_has(t->args, OPTION_QUIET)) return;
    tool_print(label);
    printf("\n%10s %8s %8s %7s  schedule\n", "us", "from", "to", "gain");
    for (size_t i = 0; i < r->count && r->items[i].final; i++) print_contender(r, i);
    if (r->count == 1) print_contender(r, 0);
    printf("%10s of %zu schedules %zu were timed", "", r->listed, r->count);
    if (r->failed) printf(", %zu could not be made", r->failed);
    printf("; %s\n", verdict_of(r));
    fflush(stdout);
}

/* ---- one problem ---- */

/* Whether a line before asked for the same record. */
static bool is_done(tuner *t, const kiln__key *key) {
    const size_t size = sizeof key->digest;
    for (size_t at = 0; at < t->done.size; at += size)
        if (!memcmp(t->done.data + at, key->digest, size)) return true;
    kiln__text_add(&t->done, (const char *)key->digest, size);
    return false;
}

static kiln_status key_of(const tune_problem *p, kiln__key *out) {
    kiln__prepared prepared;
    *out = (kiln__key){.size = 0};
    kiln_status status = kiln__prepare(p->program, p->tensors, p->scalars, &p->device, 0, &prepared);
    if (status) return status;
    status = kiln__tuned_key(prepared.ir, &prepared.problem, &p->device, out);
    kiln__prepared_free(&prepared);
    return status;
}

static kiln_status tune(tuner *t, tune_problem *p, const char *label) {
    kiln__key key;
    tune_result result = {.count = 0};
    choose_rows(p, t->traffic);
    p->device = t->numbers;
    kiln_status status =
        kiln__program_check_counts(p->program, p->tensors, p->tensor_count, p->scalars, p->scalar_count);
    if (!status) status = key_of(p, &key);
    if (status) return status;
    const bool again = is_done(t, &key);
    kiln__key_free(&key);
    if (again) return KILN_OK;
    status = tune_measure(&t->gpu, &t->clock, p, &t->limits, &result);
    if (!status) status = tune_keep(p, &result);
    if (!status) report(t, label, &result);
    t->tuned += !status;
    t->kept += !status && result.winner;
    tune_result_free(&result);
    const kiln__call call = {
        .program = p->program, .tensors = p->tensors, .scalars = p->scalars, .policy = KILN_POLICY_COMPILE};
    if (!status && arguments_has(t->args, OPTION_PACK)) status = kiln__packing_add(&t->pack, &call, &p->device, false);
    return status;
}

/* ---- problems from the command line, and from manifests ---- */

static int read_tensors(request *r) {
    for (size_t i = 0; i < r->input_count; i++) {
        if (tensor_spec_parse(request_input(r, i), &r->tensors[i]))
            return tool_usage(r->args, "--tensor %s=%s: %s", kiln_program_input_name(r->program, i),
                              request_input(r, i), kiln_last_error());
    }
    for (size_t i = 0; i < r->output_count; i++) {
        const char *text = request_output(r, i);
        kiln_type type;
        if (text && tensor_spec_type(text, &type))
            return tool_usage(r->args, "--out-type %s=%s: %s", kiln_program_output_name(r->program, i), text,
                              kiln_last_error());
        int code = request_shape_output(r, i, text ? &type : NULL);
        if (code) return code;
    }
    return TOOL_OK;
}

static int tune_request(tuner *t, request *r) {
    tune_problem p = {
        .program = r->program, .tensor_count = r->input_count + r->output_count, .scalar_count = r->scalar_count};
    kiln__text label = {0};
    memcpy(p.tensors, r->tensors, sizeof p.tensors);
    memcpy(p.scalars, r->scalars, sizeof p.scalars);
    kiln__text_puts(&label, r->text);
    for (size_t i = 0; i < r->input_count; i++)
        kiln__text_printf(&label, " %s=%s", kiln_program_input_name(r->program, i), request_input(r, i));
    char *text = kiln__text_take(&label);
    kiln_status status = text ? tune(t, &p, text) : kiln__out_of_memory();
    free(text);
    return status ? tool_failed(t->args, status) : TOOL_OK;
}

static kiln_status tune_line(tuner *t, const listed_line *line) {
    tune_problem p = {.tensor_count = line->entry.tensor_count, .scalar_count = line->entry.scalar_count};
    kiln__text label = {0};
    kiln_status status = line->entry.range.most
                             ? kiln__fail(KILN_E_UNSUPPORTED, "kernels for ranges of columns are not tuned")
                             : manifest_bind(&line->entry, t->context, &p.program, p.tensors, p.scalars);
    if (status) return status;
    kiln__text_printf(&label, "%s:%zu: %s", line->file, line->number, line->entry.program);
    char *text = kiln__text_take(&label);
    status = text ? tune(t, &p, text) : kiln__out_of_memory();
    free(text);
    kiln_program_destroy(p.program);
    return status;
}

/* A line that fails costs itself alone, but for a device that answers no more. */
static int tune_manifest(tuner *t, const kernel_list *list) {
    for (size_t i = 0; i < list->line_count; i++) {
        const listed_line *line = &list->lines[i];
        if (!tune_line(t, line)) continue;
        t->failed++;
        tool_say(t->args, "%s:%zu: %s", line->file, line->number, kiln_last_error());
        if (t->gpu.driver->CtxSynchronize() == KILN__CUDA_SUCCESS) continue;
        tool_say(t->args, "the device answers no more; %zu lines were not tuned", list->line_count - i - 1);
        break;
    }
    return t->failed || list->faults ? TOOL_FAILED : TOOL_OK;
}

/* ---- together ---- */

static int finish(tuner *t) {
    const char *pack = arguments_value(t->args, OPTION_PACK);
    size_t bytes = 0;
    kiln_status status = pack ? pack_file_save(&t->pack, pack, &bytes) : KILN_OK;
    if (status) return tool_failed_at(t->args, status, "pack '%s': ", pack);
    if (arguments_has(t->args, OPTION_JSON))
        return json_print(t->args, json_pack("{s:o, s:o, s:i, s:I, s:I, s:I, s:O}", "device", json_text(t->device.name),
                                             "arch", json_arch(t->device.arch, 0), "runs", t->limits.rounds, "tuned",
                                             (json_int_t)t->tuned, "kept", (json_int_t)t->kept, "failed",
                                             (json_int_t)t->failed, "problems", t->results));
    if (!arguments_has(t->args, OPTION_QUIET)) {
        printf("%zu tuned, %zu %s kept in ", t->tuned, t->kept, t->kept == 1 ? "record" : "records");
        tool_print(kiln__disk_path(t->context->disk));
        printf("\n");
    }
    return TOOL_OK;
}

static int begin(tuner *t) {
    if (!t->context->disk || !*kiln__disk_path(t->context->disk))
        return tool_usage(t->args, "there is no disk cache to keep records in; --cache-dir DIR was expected");
    int code = open_device(t);
    if (!code && !arguments_has(t->args, OPTION_JSON) && !arguments_has(t->args, OPTION_QUIET))
        printf("%s, sm_%d, medians of %d\n", t->device.name, t->device.arch, t->limits.rounds);
    return code;
}

static int tune_program(tuner *t) {
    request r;
    int code = request_open(t->args, OPTION_TENSOR, OPTION_OUT_TYPE, false, true, &r);
    t->context = r.context;
    if (!code) code = read_tensors(&r);
    if (!code) code = begin(t);
    if (!code) code = tune_request(t, &r);
    if (!code) code = finish(t);
    bench_clock_free(&t->clock);
    request_free(&r);
    return code;
}

static int tune_lines(tuner *t, const char *path) {
    kernel_list list = {0};
    int code = tool_context_create(t->args, &t->context);
    if (!code) code = kernel_list_read_lines(t->args, path, &list);
    if (!code) code = begin(t);
    if (!code) {
        const int tuned = tune_manifest(t, &list);
        code = finish(t);
        if (!code) code = tuned;
    }
    bench_clock_free(&t->clock);
    kernel_list_free(&list);
    kiln_context_destroy(t->context);
    return code;
}

static int tune_command(const arguments *args) {
    tuner t = {.args = args, .results = json_array()};
    const char *manifest = arguments_value(args, OPTION_MANIFEST);
    unsetenv("KILN_SCHEDULE"); /* pins would stand for all candidates, and what is in packs not get into the cache */
    unsetenv("KILN_PACKS");
    int code = read_options(&t);
    if (!code) code = manifest ? tune_lines(&t, manifest) : tune_program(&t);
    gpu_close(&t.gpu);
    kiln__pack_writer_free(&t.pack);
    kiln__text_free(&t.done);
    json_decref(t.results);
    return code;
}

static const option_id options[] = {
    OPTION_TENSOR,    OPTION_OUT_TYPE, OPTION_SCALAR, OPTION_AXES,    OPTION_MANIFEST, OPTION_MOST_CANDIDATES,
    OPTION_SECONDS,   OPTION_RUNS,     OPTION_PACK,   OPTION_TRAFFIC, OPTION_ORDINAL,  OPTION_PROGRAM,
    OPTION_CACHE_DIR, OPTION_NVRTC,    OPTION_DRIVER, OPTION_JSON,    OPTION_QUIET,    OPTION_COLOR,
    OPTION_HELP,      OPTION_COUNT,
};

const command command_tune = {
    .name = "tune",
    .summary = "Times schedules of programs on this GPU and keeps the fastest for the library",
    .usage = "PROGRAM --tensor NAME=TYPE[DIMS] ... | --manifest FILE [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nLists the schedules that the program can have, compiles those that are expected to be the fastest, and "
        "times\n"
        "them as 'kiln bench' does: between two events, with the L2 flushed before, in turns. The best few are timed\n"
        "once more with the library's own choice, --runs times each. One is kept if it is faster by more than the\n"
        "noise: the upper quartile of its times is below the lower quartile of the library's own, and its median is\n"
        "at least 1 % less. 'from' and 'to' are the quartiles.\n"
        "\nA record is kept in the disk cache, with --pack in a pack, too, beside the kernels. It holds for the\n"
        "program, its types, columns and alignments on such a device and with this version of Kiln, and for any\n"
        "number of rows. Programs obey it when they start the next time. Where the library's own choice stays, a\n"
        "record from before goes. docs/tuning.md says more.\n"
        "\n'*' leaves the first size open: as many rows are taken as it takes to move --traffic bytes. A scalar may "
        "be\n"
        "given as its type alone: --scalar eps=f64.\n"
        "\nJSON: device, arch, runs, tuned, kept, failed, problems: problem, description, key, schedules, failed,\n"
        "record (the pins that were kept, or null), verdict, contenders (pins, us, low_us and high_us, the quartiles,\n"
        "final: timed --runs times, kernel).\n"
        "\nexamples:\n"
        "  kiln tune 'y = softmax(x)' --tensor 'x=f16[*,4096]'\n"
        "  kiln tune --manifest kernels.jsonl --candidates 48 --pack tuned.kpack\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong, 3 no GPU, driver or NVRTC.\n",
    .run = tune_command,
};
