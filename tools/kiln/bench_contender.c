/* Plans under pinned schedules. The neighbours are drawn from the words of the chosen schedule's own description; what
 * the library refuses, because it is no schedule for the problem, is left out, and so is what comes to the same. */
#include "bench_contender.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct neighbours {
    char pins[BENCH_MAX_CONTENDERS][BENCH_PINS_SIZE];
    size_t count;
} neighbours;

static void add(neighbours *list, const char *format, ...) KILN_PRINTF(2, 3);

static void add(neighbours *list, const char *format, ...)
{
    va_list values;
    if (list->count + 1 >= BENCH_MAX_CONTENDERS) return; /* the chosen one has a place, too */
    va_start(values, format);
    (void)vsnprintf(list->pins[list->count++], BENCH_PINS_SIZE, format, values);
    va_end(values);
}

/* The number behind a word of a schedule's description; 0 where the word is not there. */
static long number_of(const char *schedule, const char *word)
{
    const char *at = strstr(schedule, word);
    return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

static void add_threads(neighbours *list, long threads, const char *residency)
{
    for (long t = threads / 4 > 0 ? threads / 4 : 1; t <= 4 * threads && t <= 1024; t *= 2) {
        if (residency)
            add(list, "%s %ld, %s", t <= 32 ? "lanes" : "block", t, residency);
        else
            add(list, "threads %ld", t);
    }
}

static void add_halves(neighbours *list, const char *word, long number, const char *more)
{
    if (number > 1) add(list, "%s %ld%s", word, number / 2, more);
    if (number > 0) add(list, "%s %ld%s", word, number * 2, more);
}

static void add_row_neighbours(neighbours *list, const char *schedule)
{
    static const char *const residencies[] = {"registers", "shared", "tile", "stream"};
    const long lanes = number_of(schedule, "lanes "), block = number_of(schedule, "block ");
    const long rows = number_of(schedule, "x ") ? number_of(schedule, "rows ") : 0;
    for (size_t i = 0; i < sizeof residencies / sizeof *residencies; i++) {
        add_threads(list, lanes ? lanes : block ? block : 32, residencies[i]);
    }
    for (long cluster = 2; cluster <= 16; cluster *= 2) add(list, "cluster %ld", cluster);
    add_halves(list, "rows", rows, "");
    for (long batch = 1; batch <= 8; batch *= 2) add(list, "stream, batch %ld", batch);
}

static void find_neighbours(const char *schedule, neighbours *list)
{
    const long threads = number_of(schedule, "threads "), columns = number_of(schedule, "columns ");
    const long pack = number_of(schedule, "pack "), splits = number_of(schedule, "splits ");
    list->count = 0;
    if (strstr(schedule, "flat")) {
        add_threads(list, threads ? threads : 256, NULL);
        for (long steps = 1; steps <= 8; steps *= 2) add(list, "steps %ld", steps);
        for (long steps = 1; steps <= 4; steps *= 2) add(list, "threads 128, steps %ld", steps);
    } else if (strstr(schedule, "outer")) {
        add_threads(list, columns ? columns : 8, NULL);
        add(list, "registers");
        add(list, "stream");
        for (long batch = 2; batch <= 32; batch *= 2) add(list, "batch %ld", batch);
        add_halves(list, "splits", splits, "");
    } else {
        add_row_neighbours(list, schedule);
        if (splits > 0 || strstr(schedule, "stream")) add_halves(list, "splits", splits > 1 ? splits : 2, "");
    }
    if (pack > 1) add(list, "pack %ld", pack / 2);
}

static kiln_status plan(const bench_data *data, bench_contender *contender)
{
    const request *r = data->request;
    const kiln_program *program = contender->program ? contender->program : r->program;
    kiln_status status = kiln_plan_create(program, data->device, r->input_count + r->output_count, r->scalars,
                                          r->scalar_count, &contender->plan);
    contender->info = (kiln_plan_info)KILN_PLAN_INFO_INIT;
    return status ? status : kiln_plan_get_info(contender->plan, &contender->info);
}

static void free_contender(bench_contender *contender)
{
    kiln_plan_destroy(contender->plan);
    kiln_program_destroy(contender->program);
    kiln_context_destroy(contender->context);
    *contender = (bench_contender){0};
}

/* KILN_E_ARGUMENT where the words pin nothing that this library knows, KILN_E_UNSUPPORTED where that is no schedule for
 * the problem: there is no such neighbour then. */
static kiln_status try_neighbour(const bench_data *data, const char *pins, bench_contenders *out)
{
    bench_contender *contender = &out->items[out->count];
    (void)snprintf(contender->pins, sizeof contender->pins, "%s", pins);
    kiln_status status = tool_context_create_pinned(data->request->args, pins, &contender->context);
    if (!status && request_program(data->request, contender->context, &contender->program)) status = KILN_E_INTERNAL;
    if (!status) status = plan(data, contender);
    bool known = status == KILN_OK;
    for (size_t i = 0; i < out->count && known; i++) {
        known = strcmp(out->items[i].info.schedule, contender->info.schedule) != 0;
    }
    if (known)
        out->count++;
    else
        free_contender(contender);
    return status == KILN_E_ARGUMENT || status == KILN_E_UNSUPPORTED ? KILN_OK : status;
}

kiln_status bench_contenders_create(const bench_data *data, bool around, bench_contenders *out)
{
    *out = (bench_contenders){.items = calloc(BENCH_MAX_CONTENDERS, sizeof *out->items)};
    if (!out->items) return kiln__out_of_memory();
    kiln_status status = plan(data, &out->items[0]);
    if (!status)
        out->count = 1;
    else
        free_contender(&out->items[0]);
    if (status || !around) return status;
    neighbours *list = malloc(sizeof *list);
    if (!list) return kiln__out_of_memory();
    find_neighbours(out->items[0].info.schedule, list);
    for (size_t i = 0; i < list->count && !status; i++) status = try_neighbour(data, list->pins[i], out);
    free(list);
    return status;
}

void bench_contenders_free(bench_contenders *contenders)
{
    for (size_t i = 0; i < contenders->count; i++) free_contender(&contenders->items[i]);
    free(contenders->items);
}

static kiln_status check(bench_contender *contender, const bench_data *data, void *const *addresses)
{
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
                                     int rounds)
{
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

const bench_contender *bench_contenders_fastest(const bench_contenders *contenders)
{
    const bench_contender *fastest = &contenders->items[0];
    for (size_t i = 1; i < contenders->count; i++) {
        const bench_contender *other = &contenders->items[i];
        if (other->error.right && (!fastest->error.right || other->time.median < fastest->time.median)) fastest = other;
    }
    return fastest;
}
