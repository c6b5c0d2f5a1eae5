/* SPDX-License-Identifier: Apache-2.0 */
/* How a row's columns are combined where neighbouring rows lie side by side: alike in all layouts of as many columns,
 * so that a row has the same bits in all of them. `test_column_order 500 7` draws 500 cases, others than with
 * another 7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/bound.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t seed = 1;
static int cases = 60;

static int draw(uint64_t *state, int from, int to) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return from + (int)((*state * 2685821657736338717u >> 33) % (uint64_t)(to - from + 1));
}

static const struct {
    const char *text;
    bool has_weights, has_columns;
} programs[] = {
    {"s = sum(x)", false, false},
    {"v = var(x)", false, false},
    {"l = logsumexp(x)", false, false},
    {"i = argmax(x)", false, false},
    {"s = sum(x * w) + max(x)", true, false},
    {"y = softmax(x)", false, true},
    {"y = layer_norm(x)", false, true},
    {"y = softmax(x + w)", true, true},
    {"y = (x - mean(x)) / (std(x) + logsumexp(x))", false, true},
};

/* So many runs of so many rows, whose columns lie so many elements further apart than they have to; written with the
 * columns of a row side by side or, as they are read, the rows. */
static void write_tensors(char *out, size_t size, const char *type, int program, int runs, int columns, int rows,
                          int gap, bool turned) {
    const int pitch = rows + gap, written = programs[program].has_columns ? columns : 1;
    int used =
        snprintf(out, size, "%s[%d,%d,%d]{%lld,%d,1} ", type, runs, columns, rows, (long long)columns * pitch, pitch);
    if (programs[program].has_weights) used += snprintf(out + used, size - (size_t)used, "f32[%d,1] ", columns);
    used += snprintf(out + used, size - (size_t)used, "f32[%d,%d,%d]", runs, written, rows);
    if (turned) snprintf(out + used, size - (size_t)used, "{%lld,1,%d}", (long long)written * rows, written);
}

static void choose(const char *text, const char *tensors, int arch, kiln__schedule *out) {
    bound b;
    kiln__prepared prepared;
    if (bound_create(&b, text, "1", NULL, tensors) || bound_prepare(&b, arch, &prepared))
        fail_msg("%s of %s: %s", text, tensors, kiln_last_error());
    *out = prepared.schedule;
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

static void all_layouts_combine_alike(void **state) {
    static const char *const types[] = {"f32", "f16", "bf16", "f64"};
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
    (void)state;
    for (int n = 0; n < cases; n++) {
        const int program = draw(&random, 0, (int)COUNT(programs) - 1), arch = draw(&random, 0, 2) ? 90 : 80;
        const int most = draw(&random, 0, 2) ? 3000 : 20000, columns = draw(&random, 2, most);
        const char *type = types[draw(&random, 0, (int)COUNT(types) - 1)];
        const bool turned = draw(&random, 0, 3) == 0;
        kiln__schedule first, other;
        for (int layout = 0; layout < 4; layout++) {
            char tensors[200];
            const int rows = draw(&random, 2, layout % 2 ? 40 : 3000), runs = layout ? draw(&random, 1, 20) : 1;
            write_tensors(tensors, sizeof tensors, type, program, runs, columns, rows,
                          draw(&random, 0, 1) * draw(&random, 0, 64), turned);
            choose(programs[program].text, tensors, arch, &other);
            if (layout == 0) first = other;
            if (!kiln__schedule_combines_alike(&first, &other))
                fail_msg("%s of %s, sm_%d: %s; first %s (test_column_order %d %llu)", programs[program].text, tensors,
                         arch, other.text, first.text, cases, (unsigned long long)seed);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1) cases = atoi(argv[1]);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_layouts_combine_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
