/* SPDX-License-Identifier: Apache-2.0 */
#include "explain_candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "schedule/rank.h"

/* ---- finding them ---- */

typedef struct finder {
    const kernel_request *k;
    kiln__device device;
    kiln__prepared prepared;
    kiln__given given;
    size_t most;
    explained_candidates *out;
} finder;

static kiln_status describe(const finder *f, const kiln__schedule *s, int place, explained_candidate *out) {
    *out = (explained_candidate){.place = place, .chosen = !strcmp(s->text, f->k->info.schedule)};
    snprintf(out->schedule, sizeof out->schedule, "%s", s->text);
    return kiln__rank_slowdown(&f->given, s, &out->estimate, &out->slowdown);
}

/* Those behind the first few are counted, and the chosen one is looked for among them. */
static kiln_status add(const finder *f, const kiln__schedule *s, char (*seen)[sizeof s->text]) {
    explained_candidates *out = f->out;
    for (int i = 0; i < out->listed; i++)
        if (!strcmp(seen[i], s->text)) return KILN_OK;
    memcpy(seen[out->listed++], s->text, sizeof s->text);
    explained_candidate c;
    kiln_status status = describe(f, s, out->listed, &c);
    if (!status && (out->count < f->most || c.chosen)) out->items[out->count++] = c;
    return status;
}

static bool has_chosen(const explained_candidates *all) {
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].chosen) return true;
    return false;
}

static kiln_status add_all(const finder *f) {
    kiln__ranked *ranked = NULL;
    int count;
    kiln_status status = kiln__rank(&f->given, &f->k->request.context->pins, &ranked, &count);
    char(*seen)[sizeof f->prepared.schedule.text] = calloc((size_t)count + 1, sizeof *seen);
    if (!status && !seen) status = kiln__out_of_memory();
    for (int i = 0; i < count && !status; i++) {
        kiln__schedule s;
        if (!kiln__schedule_choose(f->given.ir, f->given.problem, &f->device, &ranked[i].point, 0, &s))
            status = add(f, &s, seen);
    }
    if (!status && !has_chosen(f->out)) status = describe(f, &f->prepared.schedule, 0, &f->out->items[f->out->count++]);
    kiln__clear_error();
    free(seen);
    free(ranked);
    return status;
}

int explained_candidates_find(const kernel_request *k, size_t most, explained_candidates *out) {
    const request *r = &k->request;
    finder f = {.k = k, .device = kiln__device_typical(k->arch), .most = most, .out = out};
    *out = (explained_candidates){.items = calloc(most + 2, sizeof *out->items)};
    kiln_status status = out->items ? KILN_OK : kiln__out_of_memory();
    if (!status) status = kiln__prepare(r->program, r->tensors, r->scalars, &f.device, 0, &f.prepared);
    if (!status) {
        f.given = (kiln__given){.ir = f.prepared.ir, .problem = &f.prepared.problem, .device = &f.device};
        status = kiln__traits_find(f.prepared.ir, &f.prepared.problem, &f.given.traits);
    }
    if (!status) status = add_all(&f);
    kiln__prepared_free(&f.prepared);
    for (size_t i = out->count; i-- > 0;) out->items[i].slowdown /= out->items[0].slowdown;
    return status ? tool_failed(r->args, status) : TOOL_OK;
}

void explained_candidates_free(explained_candidates *all) {
    free(all->items);
    *all = (explained_candidates){.count = 0};
}

/* ---- telling of them ---- */

#define LEAST_DIFFERENCE 0.05 /* us: less is printed as 0.0 */

static void print_part(int *printed, int term, double us, bool sign) {
    printf(sign ? "%s%s %+.1f" : "%s%s %.1f", (*printed)++ ? ", " : "", kiln__feature_names[term], us);
}

/* The term by which a candidate is furthest behind the first one, and that by which it is furthest ahead. */
static void print_difference(const explained_candidate *first, const explained_candidate *c) {
    int behind = 0, ahead = 0, printed = 0;
    double parts[KILN__TIMES];
    for (int t = 0; t < KILN__TIMES; t++) {
        parts[t] = kiln__model_time(&c->estimate, t) - kiln__model_time(&first->estimate, t);
        if (parts[t] > parts[behind]) behind = t;
        if (parts[t] < parts[ahead]) ahead = t;
    }
    if (parts[behind] >= LEAST_DIFFERENCE) print_part(&printed, behind, parts[behind], true);
    if (parts[ahead] <= -LEAST_DIFFERENCE) print_part(&printed, ahead, parts[ahead], true);
    if (!printed) printf("no time differs");
}

/* What the first one's time is made of. */
static void print_parts(const explained_candidate *c) {
    int printed = 0;
    for (int t = 0; t < KILN__TIMES; t++) {
        const double part = kiln__model_time(&c->estimate, t);
        if (part >= LEAST_DIFFERENCE) print_part(&printed, t, part, false);
    }
}

static void print_candidate(const explained_candidates *all, size_t i) {
    const explained_candidate *c = &all->items[i];
    char place[16] = "-";
    if (c->place) snprintf(place, sizeof place, "%d", c->place);
    printf("%9s %8.2f  %s%s\n%20s", place, c->slowdown, c->schedule, c->chosen ? " (chosen)" : "", "");
    if (i > 0)
        print_difference(&all->items[0], c);
    else
        print_parts(c);
    printf("\n");
}

void explained_candidates_print(const explained_candidates *all) {
    printf("\nThe model compares %d schedules. Place, times what the first is expected to take,\n"
           "schedule; for rows of 256 MB: us that each resource and each kind of waiting alone would take,\n"
           "and in which of them the others differ most from the first:\n",
           all->listed);
    for (size_t i = 0; i < all->count; i++) print_candidate(all, i);
}

json_t *explained_candidates_json(const explained_candidates *all) {
    json_t *list = json_array();
    for (size_t i = 0; i < all->count; i++) {
        const explained_candidate *c = &all->items[i];
        json_t *parts = json_object();
        for (int t = 0; t < KILN__TIMES; t++)
            json_object_set_new(parts, kiln__feature_names[t], json_real(kiln__model_time(&c->estimate, t)));
        json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:f, s:i, s:i, s:o}", "place", c->place, "schedule",
                                              c->schedule, "chosen", c->chosen, "slowdown", c->slowdown, "registers",
                                              c->estimate.registers, "resident_blocks", c->estimate.resident,
                                              "times_us", parts));
    }
    return json_pack("{s:i, s:o}", "compared", all->listed, "candidates", list);
}
