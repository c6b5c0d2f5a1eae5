/* SPDX-License-Identifier: Apache-2.0 */
/* kiln bench: how close a program's kernels come to the memory's speed, for lists of shapes and types.
 * Every case is checked, then timed in turns with a copy of the same bytes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amount.h"
#include "bench_report.h"
#include "progress.h"

typedef struct bench {
    request request;
    bench_lists lists;
    bench_case *cases;
    size_t case_count;
    int64_t traffic;
    int ordinal, rounds;
    uint64_t seed;
    double at_least;
    bool json, csv;
    progress progress;
    int label_width;
    gpu gpu;
    bench_clock clock;
    kiln_device_info device;
    json_t *results;
} bench;

static int read_options(bench *b, const arguments *args) {
    int64_t ordinal = 0, rounds = 30, seed = -1;
    b->json = arguments_has(args, OPTION_JSON);
    b->csv = arguments_has(args, OPTION_CSV);
    if (b->json && b->csv) return tool_usage(args, "--json and --csv are both given");
    b->traffic = (int64_t)256 << 20;
    int code = arguments_bytes(args, OPTION_TRAFFIC, &b->traffic);
    if (!code) code = arguments_number(args, OPTION_ORDINAL, 0, 1023, &ordinal);
    if (!code) code = arguments_number(args, OPTION_RUNS, 1, 100000, &rounds);
    if (!code) code = arguments_number(args, OPTION_SEED, 0, INT64_MAX, &seed);
    if (code) return code;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    b->ordinal = (int)ordinal;
    b->rounds = (int)rounds;
    b->seed = seed >= 0 ? (uint64_t)seed : (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec;
    const char *at_least = arguments_value(args, OPTION_AT_LEAST);
    char *end = NULL;
    if (at_least) b->at_least = strtod(at_least, &end);
    if (at_least && (end == at_least || *end || !(b->at_least > 0 && b->at_least < 1e9))) {
        return tool_usage(args, "--at-least %s: a ratio such as 0.95 was expected", at_least);
    }
    return TOOL_OK;
}

/* The lists in the tensors that rows are put into. */
static int add_puts(bench *b) {
    const request *r = &b->request;
    for (size_t i = 0; i < r->output_count; i++) {
        if (!request_is_put(r, i)) continue;
        const char *text = request_put(r, i), *name = kiln_program_output_name(r->program, i);
        if (!text)
            return tool_usage(r->args,
                              "put(%s, i) writes rows of a tensor that is there before: --tensor %s=... was "
                              "expected",
                              name, name);
        if (bench_lists_add(&b->lists, text))
            return tool_usage(r->args, "--tensor %s=%s: %s", name, text, kiln_last_error());
    }
    return TOOL_OK;
}

/* All cases are worked out before the first is measured: a wrong size is told at once. */
static int make_cases(bench *b) {
    request *r = &b->request;
    for (size_t i = 0; i < r->input_count; i++) {
        if (bench_lists_add(&b->lists, request_input(r, i))) {
            return tool_usage(r->args, "--tensor %s=%s: %s", kiln_program_input_name(r->program, i),
                              request_input(r, i), kiln_last_error());
        }
    }
    int code = add_puts(b);
    if (!code) code = bench_check_output_types(r);
    if (code) return code;
    if (arguments_has(r->args, OPTION_CANDIDATES) || arguments_has(r->args, OPTION_SCHEDULE))
        b->label_width = 26; /* of most pins, two words */
    b->cases = calloc(b->lists.cases, sizeof *b->cases);
    if (!b->cases) return tool_failed(r->args, kiln__out_of_memory());
    for (size_t i = 0; i < b->lists.cases; i++) {
        b->case_count++;
        code = bench_case_make(r, &b->lists, i, b->traffic, &b->cases[i]);
        if (code) return code;
        const int width = (int)strlen(b->cases[i].label);
        if (width > b->label_width) b->label_width = width;
    }
    return TOOL_OK;
}

static int open_device(bench *b) {
    const arguments *args = b->request.args;
    b->device.struct_size = sizeof b->device;
    kiln_status status = gpu_open(arguments_value(args, OPTION_DRIVER), b->ordinal, &b->gpu);
    if (!status) status = kiln_context_get_device_info(b->request.context, b->ordinal, &b->device);
    if (!status) status = bench_clock_create(&b->gpu, b->device.l2_bytes, &b->clock);
    return status ? tool_failed(args, status) : TOOL_OK;
}

static void report_case(bench *b, const bench_result *result) {
    progress_clear(&b->progress);
    if (b->json)
        json_array_append_new(b->results, bench_json(&b->request, result));
    else if (b->csv)
        bench_print_csv_row(result);
    else
        bench_print_row(result, b->label_width);
    fflush(stdout);
}

static bench_verdict judge(const bench *b, const bench_contenders *contenders) {
    const bench_contender *chosen = &contenders->items[0];
    if (!chosen->error.right) return BENCH_WRONG;
    return chosen->time.median * b->at_least > contenders->copy.median ? BENCH_SLOW : BENCH_OK;
}

/* *lost: the device answers no more. */
static bench_verdict measure_case(bench *b, size_t i, bool *lost) {
    bench_data data = {0};
    bench_contenders contenders = {0};
    request *r = &b->request;
    char failure[1024];
    memcpy(r->tensors, b->cases[i].tensors, sizeof r->tensors);
    kiln_status status = bench_data_create(&b->gpu, r, &b->cases[i], b->seed + i, &data);
    if (!status) status = bench_contenders_create(&data, &contenders);
    if (!status) status = bench_contenders_measure(&contenders, &data, &b->clock, b->rounds);
    bench_result result = {&b->cases[i], &data, &contenders, BENCH_FAILED, NULL};
    if (status) {
        (void)snprintf(failure, sizeof failure, "%s", kiln_last_error());
        result.failure = failure;
    } else {
        result.verdict = judge(b, &contenders);
    }
    report_case(b, &result);
    *lost = status && b->gpu.driver->CtxSynchronize() != KILN__CUDA_SUCCESS;
    bench_contenders_free(&contenders);
    bench_data_free(&data);
    return result.verdict;
}

static int print_json(bench *b) {
    const arguments *args = b->request.args;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:i, s:I, s:I, s:O}", "program", json_text(b->request.text), "device",
                  json_text(b->device.name), "arch", json_arch(b->device.arch, 0), "runs", b->rounds, "seed",
                  (json_int_t)b->seed, "flush_bytes", (json_int_t)b->clock.flush_bytes, "cases", b->results);
    return json_print(args, object);
}

static int measure(bench *b) {
    bool lost = false;
    size_t bad = 0, i = 0;
    b->results = json_array();
    if (b->csv) {
        bench_print_csv_head();
    } else if (!b->json) {
        printf("%s, sm_%d, medians of %d, seed %" PRIu64 "\n", b->device.name, b->device.arch, b->rounds, b->seed);
        bench_print_head(b->label_width);
    }
    b->progress = progress_begin(b->case_count, arguments_has(b->request.args, OPTION_QUIET));
    for (; i < b->case_count && !lost; i++) {
        progress_show(&b->progress, i, bad);
        bad += measure_case(b, i, &lost) != BENCH_OK;
    }
    int code = b->json ? print_json(b) : TOOL_OK;
    json_decref(b->results);
    if (lost && i < b->case_count) {
        tool_note(b->request.args, "the device answers no more; %zu cases were not measured", b->case_count - i);
    }
    return code ? code : bad || i < b->case_count ? TOOL_FAILED : TOOL_OK;
}

static int bench_command(const arguments *args) {
    bench b = {0};
    int code = read_options(&b, args);
    if (!code) code = request_open(args, OPTION_TENSOR, OPTION_OUT_TYPE, true, true, &b.request);
    if (!code) code = make_cases(&b);
    if (!code) code = open_device(&b);
    if (!code) code = measure(&b);
    for (size_t i = 0; i < b.case_count; i++) bench_case_free(&b.cases[i]);
    free(b.cases);
    bench_lists_free(&b.lists);
    bench_clock_free(&b.clock);
    request_free(&b.request);
    gpu_close(&b.gpu);
    return code;
}

static const option_id options[] = {
    OPTION_TENSOR,   OPTION_OUT_TYPE, OPTION_SCALAR, OPTION_AXES,    OPTION_TRAFFIC, OPTION_CANDIDATES, OPTION_SCHEDULE,
    OPTION_AT_LEAST, OPTION_RUNS,     OPTION_SEED,   OPTION_ORDINAL, OPTION_PROGRAM, OPTION_CACHE_DIR,  OPTION_NVRTC,
    OPTION_DRIVER,   OPTION_JSON,     OPTION_CSV,    OPTION_QUIET,   OPTION_COLOR,   OPTION_HELP,       OPTION_COUNT,
};

const command command_bench = {
    .name = "bench",
    .summary = "Measures a program's kernels against the memory's speed",
    .usage = "PROGRAM --tensor NAME=TYPE[DIMS] ... [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nSizes and types may be lists in braces: {128,1000}, {3..17} (every number), {128..1024..128} (in steps\n"
        "of 128), {2^7..2^17} (every power of two), {2^7-1..2^17-1}, {f16,f32}. All combinations of the lists are\n"
        "measured; two tensors with exactly the same list vary together. '*' leaves the first size open: each\n"
        "case gets as many rows as it takes to move --traffic bytes.\n"
        "\nFor each case the kernel writes poisoned outputs from fresh random inputs; they are compared with the\n"
        "CPU reference in double precision, for all rows or a sample of many. Then kernel and copy take turns,\n"
        "each between two events, with the L2 flushed before. us is the median; roof is the time of a\n"
        "device-to-device copy that moves the same bytes (half read, half written) over the kernel's time; GB/s\n"
        "counts the bytes that must move (each input once, each output once); error is the largest difference\n"
        "over the largest magnitude of an output, or over that of the terms of its sums where they cancel; spill\n"
        "is in bytes per thread. The verdict is ok, slow (below --at-least), wrong, or failed.\n"
        "\nJSON: program, device, arch, runs, seed, flush_bytes, cases: case, inputs, outputs, bytes, verdict,\n"
        "checked of elements, copy_us, copy_gbps, chosen (us, low_us and high_us, the quartiles, gbps,\n"
        "roof_ratio, error, unwritten, right, kernel), with --candidates or --schedule also candidates (the same,\n"
        "and the pins) and fastest; failure where it failed.\n"
        "\nexamples:\n"
        "  kiln bench 'y = softmax(x)' --tensor 'x=f16[49152,{128,1000,1024,50257}]'\n"
        "  kiln bench 'y = rms_norm(x, w)' --tensor 'x={f16,bf16}[*,{2^7..2^17}]' --tensor 'w=f32[{2^7..2^17}]'\n"
        "  kiln bench 's = sum(x)' --tensor 'x=f32[65536,1024]' --axes 0 --candidates\n"
        "  kiln bench 'y = softmax(x)' --tensor 'x=f16[*,4096]' --schedule 'block 256, shared' --schedule stream\n"
        "\nexit codes: 0 all cases are ok, 1 one is not, 2 the command line is wrong, 3 no GPU, driver or NVRTC.\n",
    .run = bench_command,
};
