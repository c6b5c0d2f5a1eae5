/* SPDX-License-Identifier: Apache-2.0 */
/* Lists candidates, leaves out those that are the same or not for all numbers of rows, and ranks them. */
#include "tune_candidates.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/tuned.h"
#include "schedule/candidates.h"
#include "schedule/rank.h"
#include "tensor_spec.h"

/* A candidate's schedule for the tensors that are tuned for. */
typedef struct built {
    tune_candidate candidate;
    char text[sizeof((kiln__schedule *)NULL)->text];
} built;

typedef struct lister {
    const tune_problem *problem;
    kiln__prepared prepared; /* the library's own choice */
    kiln__given given;
    built built[KILN__MOST_CANDIDATES];
    size_t count;
} lister;

/* ---- the problem with other numbers of rows ---- */

static const int64_t other_rows[] = {2, 3, 7, 8, 37, 64, 100, 1000, 1024, 4096, 65537, 1000000};
#define ROWS (sizeof other_rows / sizeof *other_rows)

typedef struct sibling {
    kiln__ir *ir;
    kiln__problem problem;
} sibling;

static int space_rank(const tune_problem *p) {
    int rank = 0;
    for (size_t i = 0; i < p->program->signature.input_count; i++)
        if (p->tensors[i].rank > rank) rank = p->tensors[i].rank;
    return rank;
}

/* The last axis, along which rows lie side by side, gets so many of them; tensors are contiguous. */
static kiln_status bind_sibling(const tune_problem *p, int64_t rows, sibling *out) {
    const size_t inputs = p->program->signature.input_count;
    const int rank = space_rank(p);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln__shaped shaped;
    kiln_status status = KILN_OK;
    memcpy(tensors, p->tensors, sizeof tensors);
    for (size_t i = 0; i < inputs && !status; i++) {
        kiln_tensor *t = &tensors[i];
        if (t->rank > 0 && t->sizes[t->rank - 1] > 1) t->sizes[t->rank - 1] = rows;
        status = tensor_spec_contiguous(t);
    }
    for (size_t i = inputs; i < p->tensor_count && !status; i++) {
        const int keep = tensors[i].rank == rank;
        status = kiln_program_output_shape(p->program, tensors, i - inputs, keep, &tensors[i].rank, tensors[i].sizes);
        if (!status) status = tensor_spec_contiguous(&tensors[i]);
    }
    if (!status) status = kiln__program_bind(p->program, tensors, p->scalars, &shaped, &out->ir);
    return status ? status : kiln__problem_build(out->ir, &shaped, &out->problem);
}

static bool chooses(const sibling *of, const kiln__device *device, const kiln__pins *pins, kiln__schedule *out) {
    const bool chosen = !kiln__schedule_choose(of->ir, &of->problem, device, pins, 0, out);
    kiln__clear_error();
    return chosen;
}

/* Whether the pins are a schedule for all numbers of rows, by which a row has the same bits among all of them. */
static bool holds_for_all_rows(const lister *l, const sibling *siblings, const kiln__pins *pins) {
    const sibling own = {l->prepared.ir, l->prepared.problem};
    kiln__schedule first, other;
    bool holds = chooses(&own, &l->problem->device, pins, &first);
    for (size_t i = 0; i < ROWS && holds; i++) {
        if (!siblings[i].ir || siblings[i].problem.layout != own.problem.layout) continue;
        holds =
            chooses(&siblings[i], &l->problem->device, pins, &other) && kiln__schedule_combines_alike(&first, &other);
    }
    return holds;
}

/* ---- listing ---- */

/* What a record must not say. */
static void leave_rows_open(kiln__pins *pins) {
    pins->vector_width = 0;
    pins->rows_per_block = 0;
    pins->vectors_begin = 0;
}

static bool is_new(const lister *l, const char *text) {
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->built[i].text, text)) return false;
    return strcmp(text, l->prepared.schedule.text) != 0;
}

static void add(lister *l, kiln__pins pins) {
    const sibling own = {l->prepared.ir, l->prepared.problem};
    kiln__schedule s;
    if (own.problem.layout == KILN__LAYOUT_OUTER) leave_rows_open(&pins);
    if (!chooses(&own, &l->problem->device, &pins, &s) || !is_new(l, s.text)) return;
    built *b = &l->built[l->count++];
    b->candidate = (tune_candidate){pins, 0};
    if (kiln__rank_slowdown(&l->given, &s, NULL, &b->candidate.slowdown)) {
        l->count--;
        return;
    }
    memcpy(b->text, s.text, sizeof b->text);
}

static int by_expectation(const void *a, const void *b) {
    const built *x = a, *y = b;
    const double left = x->candidate.slowdown, right = y->candidate.slowdown;
    return left != right ? (left > right) - (left < right) : strcmp(x->text, y->text);
}

/* The best of the list that hold. */
static kiln_status take_best(lister *l, size_t most, tune_candidates *out) {
    const bool outer = l->prepared.problem.layout == KILN__LAYOUT_OUTER;
    sibling *siblings = calloc(ROWS, sizeof *siblings);
    if (!siblings) return kiln__out_of_memory();
    for (size_t i = 0; i < ROWS && outer; i++) {
        if (bind_sibling(l->problem, other_rows[i], &siblings[i])) {
            kiln__ir_destroy(siblings[i].ir);
            siblings[i].ir = NULL;
        }
    }
    for (size_t i = 0; i < l->count && out->count <= most; i++) {
        if (!outer || holds_for_all_rows(l, siblings, &l->built[i].candidate.pins))
            out->items[out->count++] = l->built[i].candidate;
    }
    for (size_t i = 0; i < ROWS; i++) kiln__ir_destroy(siblings[i].ir);
    free(siblings);
    kiln__clear_error();
    return KILN_OK;
}

static size_t place_of(const lister *l, const char *text) {
    size_t i = 0;
    while (i < l->count && strcmp(l->built[i].text, text) != 0) i++;
    return i;
}

/* A record that is there already is a candidate, whatever is expected of it: it goes first. */
static kiln_status put_record_first(lister *l, const kiln__key *key) {
    const sibling own = {l->prepared.ir, l->prepared.problem};
    bool found;
    kiln__pins pins;
    kiln__schedule s;
    kiln_status status = kiln__tuned_find(l->problem->program->context, key, &found, &pins);
    if (status || !found || !chooses(&own, &l->problem->device, &pins, &s)) return status;
    add(l, pins);
    const size_t at = place_of(l, s.text);
    if (at == l->count) return KILN_OK; /* the library's own */
    const built record = l->built[at];
    memmove(l->built + 1, l->built, at * sizeof *l->built);
    l->built[0] = record;
    return KILN_OK;
}

static kiln_status list(lister *l, size_t most, tune_candidates *out) {
    const tune_problem *p = l->problem;
    kiln__prepared *own = &l->prepared;
    const kiln__pins nothing = KILN__PINS_NONE;
    l->given = (kiln__given){.ir = own->ir, .problem = &own->problem, .device = &p->device};
    kiln_status status = kiln__traits_find(own->ir, &own->problem, &l->given.traits);
    if (!status) status = kiln__schedule_choose(own->ir, &own->problem, &p->device, &nothing, 0, &own->schedule);
    if (!status) status = kiln__tuned_key(own->ir, &own->problem, &p->device, &out->key);
    if (!status && !(out->description = kiln__prepared_describe(own))) status = kiln__out_of_memory();
    if (status) return status;
    kiln__ranked *ranked;
    int count;
    status = kiln__rank_all(&l->given, &nothing, &ranked, &count);
    if (status) return status;
    for (int i = 0; i < count; i++) add(l, ranked[i].point);
    free(ranked);
    qsort(l->built, l->count, sizeof *l->built, by_expectation);
    out->listed = l->count + 1;
    tune_candidate *first = &out->items[out->count++];
    first->pins = nothing;
    status = kiln__rank_slowdown(&l->given, &own->schedule, NULL, &first->slowdown);
    if (!status) status = put_record_first(l, &out->key);
    return status ? status : take_best(l, most, out);
}

kiln_status tune_candidates_find(const tune_problem *problem, size_t most, tune_candidates *out) {
    *out = (tune_candidates){.items = calloc(most + 2, sizeof *out->items)};
    lister *l = calloc(1, sizeof *l);
    kiln_status status = l && out->items ? KILN_OK : kiln__out_of_memory();
    if (!status) {
        l->problem = problem;
        status = kiln__prepare(problem->program, problem->tensors, problem->scalars, &problem->device, 0, &l->prepared);
        if (!status) status = list(l, most, out);
        kiln__prepared_free(&l->prepared);
    }
    free(l);
    return status;
}

void tune_candidates_free(tune_candidates *candidates) {
    free(candidates->items);
    free(candidates->description);
    kiln__key_free(&candidates->key);
    *candidates = (tune_candidates){.count = 0};
}
