/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of random programs against differences, on the CPU reference.
 *   gradient_fuzz [--seed N] [--cases N] [--case N]
 * A case that fails is told with the line that runs it alone. Those that Kiln refuses are counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fuzz_draw.h"
#include "support/gradient_case.h"

enum { DEPTH = 4, ROOM = 1500 };

typedef struct drawing {
    fuzz_random random;
    char text[ROOM * 3];
    size_t size;
    bool blocks, across, takes; /* the program may have them */
} drawing;

static int below(drawing *d, int n) { return (int)fuzz_random_below(&d->random, n); }

static void put(drawing *d, const char *text) {
    const size_t length = strlen(text);
    if (d->size + length + 1 > sizeof d->text) return;
    memcpy(d->text + d->size, text, length + 1);
    d->size += length;
}

static void draw(drawing *d, int depth);

/* Columns that an index chooses. */
static void draw_take(drawing *d, int depth) {
    static const char *const indices[] = {", i)", ", 2)", ", argmax(x))", ", i - 1)", ", size(-1) - 1 - i)"};
    put(d, "take(");
    draw(d, depth - 1);
    put(d, indices[below(d, 5)]);
}

static void draw_leaf(drawing *d) {
    static const char *const leaves[] = {"x", "x",   "x", "w",    "w",         "r",       "p",
                                         "c", "0.7", "2", "-1.5", "index(-1)", "size(-1)"};
    const char *leaf = leaves[below(d, (int)(sizeof leaves / sizeof leaves[0]))];
    put(d, d->takes && leaf[0] == 'p' ? "i" : leaf);
}

static void draw_reduction(drawing *d, int depth) {
    static const char *const names[] = {"sum",      "mean",         "max",          "min",         "sumsq",
                                        "norm1",    "norm2",        "var",          "std",         "absmax",
                                        "prod",     "logsumexp",    "softmax",      "log_softmax", "layer_norm",
                                        "rms_norm", "l2_normalize", "safe_softmax", "nansum",      "reduce_scale"};
    static const char *const blocks[] = {", block = 2", ", block = 3", ", block = 4"};
    put(d, names[below(d, (int)(sizeof names / sizeof names[0]))]);
    put(d, "(");
    draw(d, depth - 1);
    if (d->blocks && below(d, 2)) put(d, blocks[below(d, 3)]);
    if (d->across && below(d, 2)) put(d, ", axes = 0");
    put(d, ")");
}

static void draw_function(drawing *d, int depth) {
    static const char *const names[] = {"exp(0.3 * ",   "tanh(",           "sigmoid(",   "silu(",
                                        "gelu(",        "gelu_tanh(",      "abs(",       "relu(",
                                        "log(1 + abs(", "sqrt(0.1 + abs(", "softplus(",  "sin(",
                                        "cos(",         "atan(",           "erf(",       "elu(",
                                        "selu(",        "mish(",           "hardswish(", "floor(",
                                        "normcdf(",     "logsigmoid(",     "softsign(",  "rsqrt(0.5 + abs(",
                                        "leaky_relu(",  "f32(1.5) * (",    "round(",     "celu("};
    const char *name = names[below(d, (int)(sizeof names / sizeof names[0]))];
    put(d, name);
    draw(d, depth - 1);
    put(d, strstr(name, "abs(") && name[0] != 'a' ? "))" : ")");
}

static void draw_operator(drawing *d, int depth) {
    static const char *const operators[] = {" + ", " - ", " * ", " * ", " / "};
    const char *symbol = operators[below(d, 5)];
    put(d, "(");
    draw(d, depth - 1);
    put(d, symbol);
    put(d, symbol[1] == '/' ? "(1.2 + abs(" : "");
    draw(d, depth - 1);
    put(d, symbol[1] == '/' ? ")))" : ")");
}

static void draw_choice(drawing *d, int depth) {
    static const char *const names[] = {"minimum(", "maximum(",        "fmin(",        "fmax(",
                                        "lerp(x, ", "where(x > 0.1, ", "where(r > w, "};
    put(d, names[below(d, 7)]);
    draw(d, depth - 1);
    put(d, ", ");
    draw(d, depth - 1);
    put(d, ")");
}

static void draw(drawing *d, int depth) {
    const int kind = depth ? below(d, 10) : 0;
    if (d->size > ROOM || kind == 0)
        draw_leaf(d);
    else if (kind <= 3)
        draw_operator(d, depth);
    else if (kind <= 5)
        draw_function(d, depth);
    else if (kind == 6)
        draw_choice(d, depth);
    else if (kind == 7 && d->takes)
        draw_take(d, depth);
    else
        draw_reduction(d, depth);
}

static void draw_program(drawing *d, uint64_t seed, long index) {
    *d = (drawing){.random = {seed * UINT64_C(1000003) + (uint64_t)index}};
    const int kind = below(d, 6);
    d->blocks = kind == 0;
    d->across = kind == 1;
    d->takes = !d->across && below(d, 3) == 0;
    put(d, "a = ");
    draw(d, DEPTH - 1);
    put(d, "\ny = x * 0.1 + a + ");
    draw(d, DEPTH);
    if (below(d, 3) == 0) {
        put(d, "\nz = a * ");
        draw(d, DEPTH - 1);
    }
}

/* false: the gradient is wrong. */
static bool run_case(kiln_context *context, uint64_t seed, long index, long *refused) {
    drawing *d = malloc(sizeof *d);
    if (!d) return false;
    draw_program(d, seed, index);
    const gradient_case c = {.text = d->text,
                             .inputs = {{'x', 2, {3, 6}},
                                        {'w', 1, {6}},
                                        {'r', 2, {3, 1}},
                                        {d->takes ? 'i' : 'p', 2, {3, d->takes ? 1 : 6}},
                                        {'c', 0, {0}}},
                             .seed = (uint32_t)(seed + (uint64_t)index)};
    kiln_status status = KILN_OK;
    const char *problem = gradient_check(context, &c, &status);
    const bool may_be = status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT || status == KILN_OK;
    if (!may_be) problem = kiln_last_error();
    if (problem)
        printf("gradient_fuzz --seed %llu --case %ld\n%s\n%s\n", (unsigned long long)seed, index, problem,
               may_be ? "" : d->text);
    *refused += status != KILN_OK;
    free(d);
    return !problem;
}

static const char *option(int argc, char **argv, const char *name, const char *other) {
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return other;
}

int main(int argc, char **argv) {
    const uint64_t seed = strtoull(option(argc, argv, "--seed", "1"), NULL, 10);
    const char *only = option(argc, argv, "--case", NULL);
    const long first = only ? strtol(only, NULL, 10) : 0;
    const long count = only ? 1 : strtol(option(argc, argv, "--cases", "300"), NULL, 10);
    long wrong = 0, refused = 0;
    kiln_context *context;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    if (kiln_context_create(&options, &context)) return 1;
    for (long i = first; i < first + count; i++) wrong += !run_case(context, seed, i, &refused);
    kiln_context_destroy(context);
    printf("%ld cases of seed %llu: %ld wrong, %ld refused\n", count, (unsigned long long)seed, wrong, refused);
    return wrong > 0 || refused > count / 2;
}
