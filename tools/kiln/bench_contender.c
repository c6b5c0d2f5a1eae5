/* SPDX-License-Identifier: Apache-2.0 */
/* Plans under pinned schedules. Schedules that the library refuses for the problem are left out, and so are those that
 * give the same kernel and grid. */
#include "bench_contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/source.h"

static kiln_status plan(const bench_data *data, bench_contender *contender) {
    const request *r = data->request;
    const kiln_program *program = contender->program ? contender->program : r->program;
    kiln_status status = kiln_plan_create(program, data->device, r->input_count + r->output_count, r->scalars,
                                          r->scalar_count, &contender->plan);
    contender->info = (kiln_plan_info)KILN_PLAN_INFO_INIT;
    return status ? status : kiln_plan_get_info(contender->plan, &contender->info);
}

static void free_contender(bench_contender *contender) {
    kiln_plan_destroy(contender->plan);
    kiln_program_destroy(contender->program);
    kiln_context_destroy(contender->context);
    *contender = (bench_contender){0};
}

static bool is_same(const kiln_plan_info *a, const kiln_plan_info *b) {
    return a->blocks == b->blocks && a->threads == b->threads && a->launches == b->launches &&
           a->shared_bytes == b->shared_bytes &&
           strcmp(kiln__source_code(a->source), kiln__source_code(b->source)) == 0;
}

/* KILN_E_UNSUPPORTED where the words are no schedule for the problem: it is left out. */
static kiln_status try_pins(const bench_data *data, const char *pins, bench_contenders *out) {
    bench_contender *contender = &out->items[out->count];
    (void)snprintf(contender->pins, sizeof contender->pins, "%s", pins);
    kiln_status status = tool_context_create_pinned(data->request->args, pins, &contender->context);
    if (!status && request_program(data->request, contender->context, &contender->program)) status = KILN_E_INTERNAL;
    if (!status) status = plan(data, contender);
    bool another = status == KILN_OK;
    for (size_t i = 0; i < out->count && another; i++) another = !is_same(&out->items[i].info, &contender->info);
    if (another)
        out->count++;
    else
        free_contender(contender);
    return status == KILN_E_UNSUPPORTED ? KILN_OK : status;
}

kiln_status bench_contenders_create(const bench_data *data, bench_contenders *out) {
    const arguments *args = data->request->args;
    *out = (bench_contenders){.items = calloc(BENCH_MAX_CONTENDERS, sizeof *out->items)};
    if (!out->items) return kiln__out_of_memory();
    kiln_status status = plan(data, &out->items[0]);
    if (!status)
        out->count = 1;
    else
        free_contender(&out->items[0]);
    for (size_t i = 0; i < args->given_count && !status && out->count < BENCH_MAX_CONTENDERS; i++)
        if (args->given[i].id == OPTION_SCHEDULE) status = try_pins(data, args->given[i].value, out);
    if (status || !arguments_has(args, OPTION_CANDIDATES)) return status;
    bench_neighbours *list = malloc(sizeof *list);
    if (!list) return kiln__out_of_memory();
    bench_neighbours_find(out->items[0].info.schedule, list);
    for (size_t i = 0; i < list->count && !status && out->count < BENCH_MAX_CONTENDERS; i++) {
        status = try_pins(data, list->pins[i], out);
        if (status == KILN_E_ARGUMENT) status = KILN_OK; /* words of a newer or older library */
    }
    free(list);
    return status;
}

void bench_contenders_free(bench_contenders *contenders) {
    for (size_t i = 0; i < contenders->count; i++) free_contender(&contenders->items[i]);
    free(contenders->items);
}

static kiln_status check(bench_contender *contender, const bench_data *data, void *const *addresses) {
    const request *r = data->request;
    kiln_status status = bench_data_poison(data);
    if (!status) {
        status = kiln_plan_launch(contender->plan, addresses, r->input_count + r->output_count, r->scalars,
                                  r->scalar_count, NULL);
    }
    if (!status) status = gpu_status(data->gpu, data->gpu->driver->CtxSynchronize(), "waiting for a kernel");
    return status ? status : bench_data_check(data, &contender->error);
}

kiln_status bench_contenders_measure(bench_contenders *contenders, const bench_data *data, const bench_clock *clock,
                                     int rounds) {
    const request *r = data->request;
    const size_t count = contenders->count;
    void *addresses[KILN_MAX_TENSORS];
    bench_run *runs = calloc(count + 1, sizeof *runs);
    kiln_status status = runs ? KILN_OK : kiln__out_of_memory();
    for (size_t i = 0; i < KILN_MAX_TENSORS; i++) addresses[i] = data->device[i].data;
    for (size_t i = 0; i < count && !status; i++) {
        status = check(&contenders->items[i], data, addresses);
        runs[i] = (bench_run){contenders->items[i].plan,
                              addresses,
                              r->input_count + r->output_count,
                              r->scalars,
                              r->scalar_count,
                              0,
                              {0, 0, 0}};
    }
    if (!status) {
        runs[count].copied = data->which->bytes;
        status = bench_clock_time(clock, runs, count + 1, rounds);
    }
    for (size_t i = 0; i < count && !status; i++) contenders->items[i].time = runs[i].time;
    if (!status) contenders->copy = runs[count].time;
    free(runs);
    return status;
}

const bench_contender *bench_contenders_fastest(const bench_contenders *contenders) {
    const bench_contender *fastest = &contenders->items[0];
    for (size_t i = 1; i < contenders->count; i++) {
        const bench_contender *other = &contenders->items[i];
        if (other->error.right && (!fastest->error.right || other->time.median < fastest->time.median)) fastest = other;
    }
    return fastest;
}
