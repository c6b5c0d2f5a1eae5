/* SPDX-License-Identifier: Apache-2.0 */
/* One piece of work described in many ways: with dimensions of one element, in another order of axes, with dimensions
 * split, broadcast by stride 0, by size 1 or by missing dimensions, axes counted from the end. All have one source, and
 * so one key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DRAWS = 2000, CHANGES = 6, TENSORS = 3 };

/* The program's tensors over the whole space: inputs x and, where `weights`, w, then the output. */
typedef struct description {
    const char *program;
    int rank, tensors;
    int broadcast; /* the input that does not move along every axis; -1: none */
    int64_t sizes[KILN_MAX_RANK], strides[TENSORS][KILN_MAX_RANK];
    bool reduced[KILN_MAX_RANK];
    bool reduces; /* the output has no columns */
} description;

static const struct {
    const char *program;
    bool weights, reduces;
} programs[] = {
    {"y = sum(x)", false, true},     {"y = softmax(x)", false, false}, {"y = rms_norm(x, w)", true, false},
    {"y = x * 2 + w", true, false},  {"y = mean(x * w)", true, true},  {"y = exp(x)", false, false},
    {"y = x + sum(w)", true, false},
};

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* One of x and w contiguous, the other broadcast along some axes; y contiguous but for what is reduced. An axis of more
 * than one element is kept: to a single row the order of the axes tells what more rows would be like. */
static description draw_base(uint64_t *state) {
    static const int64_t extents[] = {2, 3, 4, 6, 8, 12};
    description d = {.rank = 2 + (int)draw(state, 3)};
    size_t which = draw(state, COUNT(programs));
    d.program = programs[which].program;
    d.reduces = programs[which].reduces;
    d.tensors = programs[which].weights ? 3 : 2;
    d.broadcast = programs[which].weights ? (int)draw(state, 2) : -1;
    int64_t step[TENSORS] = {1, 1, 1};
    uint32_t along = draw(state, (uint32_t)d.rank), kept = (along + 1) % (uint32_t)d.rank,
             where = draw(state, 1u << d.rank);
    for (int i = d.rank - 1; i >= 0; i--) {
        d.sizes[i] = extents[draw(state, COUNT(extents))];
        d.reduced[i] = i == (int)along || (i != (int)kept && draw(state, 4) == 0);
        for (int t = 0; t < d.tensors; t++) {
            bool output = t == d.tensors - 1;
            bool missing = output ? d.reduces && d.reduced[i] : t == d.broadcast && !(where >> i & 1);
            d.strides[t][i] = missing ? 0 : step[t];
            if (!missing) step[t] *= d.sizes[i];
        }
    }
    return d;
}

static void move_axis(description *d, int from, int to) {
    for (int i = from; i != to; i += from < to ? 1 : -1) {
        int j = from < to ? i + 1 : i - 1;
        int64_t size = d->sizes[i];
        bool reduced = d->reduced[i];
        d->sizes[i] = d->sizes[j], d->sizes[j] = size;
        d->reduced[i] = d->reduced[j], d->reduced[j] = reduced;
        for (int t = 0; t < d->tensors; t++) {
            int64_t stride = d->strides[t][i];
            d->strides[t][i] = d->strides[t][j], d->strides[t][j] = stride;
        }
    }
}

/* A dimension of one element or a part of another one, at the end. */
static void add_axis(description *d, int of, int64_t size, uint64_t *state) {
    if (d->rank == KILN_MAX_RANK) return;
    int last = d->rank++;
    d->sizes[last] = size;
    d->reduced[last] = size == 1 ? draw(state, 2) != 0 : d->reduced[of];
    for (int t = 0; t < d->tensors; t++) {
        d->strides[t][last] = size == 1 ? (int64_t)draw(state, 50) - 9 : d->strides[t][of];
        if (size > 1) d->strides[t][of] *= size;
    }
    if (size > 1) d->sizes[of] /= size;
}

static void change(description *d, uint64_t *state) {
    int axis = (int)draw(state, (uint32_t)d->rank), to = (int)draw(state, (uint32_t)d->rank);
    int64_t part = d->sizes[axis] % 2 == 0 ? 2 : 3;
    switch (draw(state, 3)) {
    case 0: add_axis(d, axis, 1, state); break;
    case 1:
        if (d->sizes[axis] % part == 0 && d->sizes[axis] > part) add_axis(d, axis, part, state);
        break;
    default: move_axis(d, axis, to);
    }
}

/* One tensor of the binding. A dimension that it does not move along is of size 1, of stride 0, or not there. */
static kiln_tensor tensor_of(const description *d, int t, bool vary, uint64_t *state) {
    bool output = t == d->tensors - 1, leading = true, drops = output && d->reduces && vary && draw(state, 2);
    kiln_tensor tensor = kiln_tensor_contiguous(NULL, KILN_F16, 0, NULL);
    for (int i = 0; i < d->rank; i++) {
        bool still = d->strides[t][i] == 0 && !(output && !d->reduced[i]);
        if (output && d->reduces) still = d->reduced[i];
        if (drops && still) continue;
        if (t == d->broadcast && still && leading && vary && draw(state, 2)) continue;
        leading = false;
        bool repeats = still && !output && vary && draw(state, 2);
        tensor.sizes[tensor.rank] = still && !repeats ? 1 : d->sizes[i];
        tensor.strides[tensor.rank++] = d->strides[t][i];
    }
    return tensor;
}

static char *source_of(const description *d, bool vary, uint64_t *state, kiln__text *told) {
    bound b;
    kiln__prepared prepared;
    kiln__text axes = {0};
    for (int i = 0; i < d->rank; i++)
        if (d->reduced[i])
            kiln__text_printf(&axes, "%s%d", axes.size ? "," : "", vary && draw(state, 2) ? i - d->rank : i);
    char *list = kiln__text_take(&axes);
    assert_int_equal(bound_create(&b, d->program, list, NULL, ""), KILN_OK);
    for (int t = 0; t < d->tensors; t++) {
        b.tensors[t] = tensor_of(d, t, vary, state);
        kiln__text_printf(told, " f16[");
        for (int i = 0; i < b.tensors[t].rank; i++)
            kiln__text_printf(told, "%s%d", i ? "," : "", (int)b.tensors[t].sizes[i]);
        kiln__text_printf(told, "]{");
        for (int i = 0; i < b.tensors[t].rank; i++)
            kiln__text_printf(told, "%s%d", i ? "," : "", (int)b.tensors[t].strides[i]);
        kiln__text_printf(told, "}");
    }
    kiln__text_printf(told, " axes %s", list);
    b.tensor_count = (size_t)d->tensors;
    if (bound_prepare(&b, 90, &prepared)) fail_msg("%s of%s: %s", d->program, told->data, kiln_last_error());
    char *source = prepared.source;
    prepared.source = NULL;
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
    free(list);
    return source;
}

static void every_description_of_the_same_work_gives_the_same_source(void **unused) {
    (void)unused;
    uint64_t state = 1;
    for (int i = 0; i < DRAWS; i++) {
        kiln__text first = {0}, second = {0};
        description base = draw_base(&state), other = base;
        char *source = source_of(&base, false, &state, &first);
        for (int c = 0; c < CHANGES; c++) change(&other, &state);
        char *again = source_of(&other, true, &state, &second);
        if (strcmp(source, again))
            fail_msg("draw %d, %s: other sources for\n%s and\n%s", i, base.program, first.data, second.data);
        free(source);
        free(again);
        kiln__text_free(&first);
        kiln__text_free(&second);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_description_of_the_same_work_gives_the_same_source),
    };
    return cmocka_run_group_tests_name("equivalent", tests, NULL, NULL);
}
