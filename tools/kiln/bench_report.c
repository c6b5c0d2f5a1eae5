/* SPDX-License-Identifier: Apache-2.0 */
/* The table, CSV and JSON of kiln bench. Each case is printed as soon as it is measured, but for JSON. */
#include "bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *bench_verdict_name(bench_verdict verdict) {
    static const char *const names[] = {"ok", "slow", "wrong", "failed"};
    return names[verdict];
}

static double speed(const bench_result *result, double us) {
    return us > 0 ? (double)result->which->bytes / us / 1e3 : 0;
}

static double ratio(const bench_result *result, const bench_contender *contender) {
    return contender->time.median > 0 ? result->contenders->copy.median / contender->time.median : 0;
}

void bench_print_head(int label_width) {
    printf("%-*s %10s %7s %7s %10s %6s %9s  %-7s schedule\n", label_width, "case", "us", "GB/s", "roof", "registers",
           "spill", "error", "verdict");
}

/* Fastest first. */
static int by_time(const void *a, const void *b) {
    const bench_contender *const *x = a, *const *y = b;
    return ((*x)->time.median > (*y)->time.median) - ((*x)->time.median < (*y)->time.median);
}

static const bench_contender **sorted(const bench_contenders *contenders) {
    const bench_contender **list = calloc(contenders->count + 1, sizeof *list);
    for (size_t i = 0; i < contenders->count && list; i++) list[i] = &contenders->items[i];
    if (list) qsort(list, contenders->count, sizeof *list, by_time);
    return list;
}

static void print_candidates(const bench_result *result, int label_width) {
    const bench_contender *chosen = &result->contenders->items[0], *best = bench_contenders_fastest(result->contenders);
    const bench_contender **list = sorted(result->contenders);
    for (size_t i = 0; i < result->contenders->count && list; i++) {
        const bench_contender *c = list[i];
        char label[BENCH_PINS_SIZE + 8];
        (void)snprintf(label, sizeof label, "  %s", c == chosen ? "chosen" : c->pins);
        printf("%-*s %10.2f %7.0f %7.3f %10d %6d %9.1e  %-7s %s%s\n", label_width, label, c->time.median,
               speed(result, c->time.median), ratio(result, c), c->info.registers, c->info.spill_bytes, c->error.error,
               c->error.right ? "ok" : "wrong", c->info.schedule, c == best ? "  <- fastest" : "");
    }
    free(list);
    if (best == chosen) {
        printf("  of %zu schedules the chosen one is the fastest\n", result->contenders->count);
    } else {
        printf("  of %zu schedules \"%s\" is the fastest, in %.1f %% less time than the chosen one\n",
               result->contenders->count, best->pins, 100 * (1 - best->time.median / chosen->time.median));
    }
}

void bench_print_row(const bench_result *result, int label_width) {
    if (result->verdict == BENCH_FAILED) {
        printf("%-*s %10s %7s %7s %10s %6s %9s  %-7s %s\n", label_width, result->which->label, "-", "-", "-", "-", "-",
               "-", "failed", result->failure);
        return;
    }
    const bench_contender *c = &result->contenders->items[0];
    printf("%-*s %10.2f %7.0f %7.3f %10d %6d %9.1e  %-7s %s\n", label_width, result->which->label, c->time.median,
           speed(result, c->time.median), ratio(result, c), c->info.registers, c->info.spill_bytes, c->error.error,
           bench_verdict_name(result->verdict), c->info.schedule);
    if (c->error.unwritten) printf("  %" PRId64 " elements of its outputs were not written\n", c->error.unwritten);
    if (result->contenders->count > 1) print_candidates(result, label_width);
}

static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

void bench_print_csv_head(void) {
    puts("case,pins,bytes,us,low_us,high_us,gbps,copy_us,roof_ratio,registers,spill_bytes,error,verdict,schedule");
}

void bench_print_csv_row(const bench_result *result) {
    if (result->verdict == BENCH_FAILED) {
        print_quoted(result->which->label);
        printf(",,%" PRId64 ",,,,,,,,,,failed,", result->which->bytes);
        print_quoted(result->failure);
        putchar('\n');
        return;
    }
    for (size_t i = 0; i < result->contenders->count; i++) {
        const bench_contender *c = &result->contenders->items[i];
        print_quoted(result->which->label);
        putchar(',');
        print_quoted(c->pins);
        printf(",%" PRId64 ",%.3f,%.3f,%.3f,%.1f,%.3f,%.4f,%d,%d,%.3g,%s,", result->which->bytes, c->time.median,
               c->time.low, c->time.high, speed(result, c->time.median), result->contenders->copy.median,
               ratio(result, c), c->info.registers, c->info.spill_bytes, c->error.error,
               i == 0           ? bench_verdict_name(result->verdict)
               : c->error.right ? "ok"
                                : "wrong");
        print_quoted(c->info.schedule);
        putchar('\n');
    }
}

static json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *json_contender(const bench_result *result, const bench_contender *c) {
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:I, s:b, s:o}", "pins", c->pins, "us", c->time.median,
                     "low_us", c->time.low, "high_us", c->time.high, "gbps", speed(result, c->time.median),
                     "roof_ratio", ratio(result, c), "error", json_number(c->error.error), "unwritten",
                     (json_int_t)c->error.unwritten, "right", (int)c->error.right, "kernel", json_plan(&c->info));
}

static json_t *json_tensors(const request *r, const bench_case *which, bool outputs) {
    json_t *list = json_array();
    const size_t first = outputs ? r->input_count : 0, count = outputs ? r->output_count : r->input_count;
    for (size_t i = 0; i < count; i++) {
        const char *name = outputs ? kiln_program_output_name(r->program, i) : kiln_program_input_name(r->program, i);
        json_array_append_new(list, json_tensor(name, &which->tensors[first + i]));
    }
    return list;
}

json_t *bench_json(const request *r, const bench_result *result) {
    const bench_case *which = result->which;
    json_t *object = json_pack("{s:o, s:o, s:o, s:I, s:s}", "case", json_text(which->label), "inputs",
                               json_tensors(r, which, false), "outputs", json_tensors(r, which, true), "bytes",
                               (json_int_t)which->bytes, "verdict", bench_verdict_name(result->verdict));
    if (result->verdict == BENCH_FAILED) {
        json_object_set_new(object, "failure", json_text(result->failure));
        return object;
    }
    const bench_contenders *all = result->contenders;
    json_object_set_new(object, "checked", json_integer(result->data->checked));
    json_object_set_new(object, "elements", json_integer(result->data->elements));
    json_object_set_new(object, "copy_us", json_real(all->copy.median));
    json_object_set_new(object, "copy_gbps", json_real(speed(result, all->copy.median)));
    json_object_set_new(object, "chosen", json_contender(result, &all->items[0]));
    if (all->count == 1) return object;
    json_t *others = json_array();
    for (size_t i = 1; i < all->count; i++) json_array_append_new(others, json_contender(result, &all->items[i]));
    json_object_set_new(object, "candidates", others);
    const bench_contender *best = bench_contenders_fastest(all);
    json_object_set_new(object, "fastest", json_text(best->info.schedule));
    return object;
}
