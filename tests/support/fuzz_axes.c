/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of reductions over blocks of columns, over axes of their own and across rows, and of inputs that have a
 * value for several columns. In a text $ stands for a number of columns, & for a multiple of it, @ for the axes that
 * rows keep. Inputs are as in fuzz_programs.c; what is measured is a whole output, not a row of it. */
#include "fuzz_axes.h"

#include <inttypes.h>
#include <string.h>

#define F FUZZ_FLOATS
#define I FUZZ_INTS
#define E FUZZ_EVERY
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const fuzz_program programs[] = {
    /* ---- blocks alone ---- */
    {"s = absmax(x, block = $)", .inputs = {{FUZZ_ANY, true, F}}, {F}, .specials = FUZZ_ALL_KINDS},
    {"y = softmax(x, block = $)", .inputs = {{FUZZ_ANY, true, F}}, {F}, .specials = FUZZ_ALL_KINDS},
    {"a = argmax(x, block = $); b = argmin(x, block = $)",
     .inputs = {{FUZZ_ANY, true, F}},
     {FUZZ_I64_I32, FUZZ_I64_I32},
     .specials = FUZZ_ALL_KINDS},
    {"s = var(x, block = $); y = x + index(-1)", .inputs = {{FUZZ_SPLIT, true, F}}, {F, F}, .terms = 6},
    {"a = nansum(x, block = $); b = nanmax(x, block = $)",
     .inputs = {{FUZZ_ONE_SIGN, true, F}},
     {F, F},
     .specials = FUZZ_NANS},
    {"s = reduce((a, b) -> b != 0 ? b : a, x, 0, block = $)", .inputs = {{FUZZ_SPARSE, true, F}}, {F}},
    {"s = cross_entropy(x, t, block = $)", .inputs = {{FUZZ_SMALL, true, F}, {FUZZ_TARGET, true, F}}, {F}, .terms = 1},
    {"q = quantize_e4m3(x, block = $); s = scale_e4m3(x, block = $)", .inputs = {{FUZZ_ANY, true, F}}, {FUZZ_E4M3, F}},
    {"s = scale_mx_e4m3(x); q = quantize_mx_e4m3(x)", .inputs = {{FUZZ_ANY, true, F}}, {F, FUZZ_E4M3}},
    {"s = scale_mx_e5m2_up(x); q = quantize_mx_e5m2_up(x)", .inputs = {{FUZZ_ANY, true, F}}, {F, FUZZ_E5M2}},
    {"s = scale_mx_e2m1(x); q = quantize_mx_e2m1_up(x)", .inputs = {{FUZZ_ANY, true, F}}, {F, F}},
    {"s = sum(x, block = $); y = x - min(x, block = $)", .inputs = {{FUZZ_COUNTS, true, I}}, {I, I}},
    {"c = count_nonzero(x, block = $); a = any(x, block = $); b = all(x, block = $)",
     .inputs = {{FUZZ_SPARSE, true, I}},
     {I, E, E}},
    /* ---- blocks beside rows, and of two sizes ---- */
    {"y = rms_norm(x, w); s = scale_e4m3(y, block = $); q = quantize_e4m3(y, block = $)",
     "y,s,q",
     .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}},
     {F, F, FUZZ_E4M3}},
    {"y = x - mean(x, block = $) + max(x)", .inputs = {{FUZZ_SPLIT, true, F}}, {F}, .terms = 12},
    {"y = softmax(x, block = $) * mean(x * x)", .inputs = {{FUZZ_SMALL, true, F}}, {F}},
    {"y = softmax(x); s = max(y, block = $); t = max(s)", "y,s,t", .inputs = {{FUZZ_ANY, true, F}}, {F, F, F}},
    {"y = x + reduce((a, b) -> b != 0 ? b : a, x, 0, block = $) * max(x)", .inputs = {{FUZZ_SPARSE, true, F}}, {F}},
    {"y = layer_norm(x, w, b); s = norm2(y, block = $); m = mean(s, block = &)",
     "y,s,m",
     .inputs = {{FUZZ_SPLIT, true, F}, {FUZZ_POSITIVE, false, F}, {FUZZ_ANY, false, F}},
     {F, F, F},
     .terms = 16},
    {"a = sumsq(x, block = $); b = absmax(x, block = &); y = x / (b + 1) + a",
     "a,b,y",
     .inputs = {{FUZZ_ANY, true, F}},
     {F, F, F}},
    {"a = sum(x, block = $); b = prod(where(x > 1, -1, 1), block = &); c = min(x)",
     .inputs = {{FUZZ_ONE_SIGN, true, F}},
     {F, F, F}},
    {"s = any(x > 1.9, block = $); y = where(s, x, 0); n = count_nonzero(x)",
     "s,y,n",
     .inputs = {{FUZZ_ANY, true, F}},
     {E, F, FUZZ_I64_I32},
     .specials = FUZZ_ALL_KINDS},
    {"y = x - max(x, block = $) + sum(x)", .inputs = {{FUZZ_COUNTS, true, I}}, {I}},
    {"a = max(x, block = $); b = min(x); y = x - a", "a,b,y", .inputs = {{FUZZ_WIDE, true, I}}, {I, I, I}},
    /* ---- a value for several columns ---- */
    {"y = x * repeat(r, $)", .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}}, {F}, .repeats = 1},
    {"y = x * repeat(r, $) + max(x)",
     .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}},
     {F},
     .terms = 16,
     .repeats = 1},
    {"y = rms_norm(x * repeat(r, $), w)",
     .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}, {FUZZ_POSITIVE, false, F}},
     {F},
     .repeats = 1},
    {"y = x * repeat(r, $); t = absmax(y, block = &); q = y / (t + 1)",
     "y,t,q",
     .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}},
     {F, F, F},
     .repeats = 1},
    {"y = softmax(x * repeat(r, &), block = $) - mean(x)",
     .inputs = {{FUZZ_SMALL, true, F}, {FUZZ_SMALL, false, F}},
     {F},
     .terms = 1,
     .repeats = 1},
    {"y = x + repeat(r, $); s = sum(y)",
     "y,s",
     .inputs = {{FUZZ_COUNTS, true, I}, {FUZZ_COUNTS, false, I}},
     {I, I},
     .repeats = 1},
    /* ---- axes of the text ---- */
    {"s = sum(x, axes = all)", .inputs = {{FUZZ_POSITIVE, true, F}}, {F}},
    {"y = x / (1 + sumsq(x, axes = 0))", .inputs = {{FUZZ_ANY, true, F}}, {F}},
    {"y = x - mean(x, axes = (0, -1))", .inputs = {{FUZZ_SPLIT, true, F}}, {F}, .terms = 6},
    /* ---- across rows ---- */
    {"y = rms_norm(x, w); d = sum(g * y, axes = @)",
     "y,d",
     .inputs = {{FUZZ_POSITIVE, true, F}, {FUZZ_POSITIVE, false, F}, {FUZZ_POSITIVE, false, F}},
     {F, F}},
    {"dx = layer_norm_grad(x, w, g, 1); dw = sum(g * layer_norm(x), axes = @); db = sum(g, axes = @)",
     .inputs = {{FUZZ_SPLIT, true, F}, {FUZZ_POSITIVE, false, F}, {FUZZ_POSITIVE, false, F}},
     {F, F, F},
     .terms = 24},
    {"dx = silu_grad(x, g); db = sum(dx, axes = @); s = max(x)",
     "dx,db,s",
     .inputs = {{FUZZ_SMALL, true, F}, {FUZZ_POSITIVE, false, F}},
     {F, F, F}},
    {"m = absmax(x); t = max(m, axes = @); s = max(x, axes = all)",
     "m,t,s",
     .inputs = {{FUZZ_ANY, true, F}},
     {F, F, F},
     .specials = FUZZ_ALL_KINDS},
    {"c = mean(x, axes = @); v = mean(x * x, axes = @) - c * c; y = softmax(x)",
     "c,v,y",
     .inputs = {{FUZZ_ANY, true, F}},
     {F, F, F},
     .terms = 16},
    {"a = any(x > 1.9, axes = @); n = count_nonzero(x > 1, axes = all); s = sum(x)",
     .inputs = {{FUZZ_ONE_SIGN, true, F}},
     {E, FUZZ_I64_I32, F}},
    {"p = prod(where(x > 2, -1, 1), axes = @); l = min(x, axes = all) - max(x, axes = all); y = x - mean(x)",
     .inputs = {{FUZZ_SPLIT, true, F}},
     {F, F, F},
     .terms = 12},
    {"y = layer_norm(x, w, b); t = sqrt(sum(y * y, axes = all)); e = max(y, axes = @) / 3",
     "y,t,e",
     .inputs = {{FUZZ_SPLIT, true, F}, {FUZZ_POSITIVE, false, F}, {FUZZ_ANY, false, F}},
     {F, F, F},
     .terms = 16},
    {"share = mean(argmax(x) == index(-1), axes = @); chance = mean(softmax(x), axes = @)",
     .inputs = {{FUZZ_ANY, true, F}},
     {F, F}},
    {"y = rms_norm(x, w); q = e4m3(16 * y); t = absmax(y, axes = all)",
     "q,t",
     .inputs = {{FUZZ_ANY, true, F}, {FUZZ_POSITIVE, false, F}},
     {FUZZ_E4M3, F}},
    /* No reduction of a row. */
    {"y = x * w; a = sum(y, axes = @); b = max(y, axes = all)",
     "y,a,b",
     .inputs = {{FUZZ_POSITIVE, true, F}, {FUZZ_POSITIVE, false, F}},
     {F, F, F}},
    {"i = max(x, axes = @); k = argmax(x); s = sum(x, axes = all)",
     .inputs = {{FUZZ_COUNTS, true, I}},
     {I, FUZZ_I64_I32, I}},
    {"a = min(x, axes = @); b = max(x, axes = all); y = max(x)", .inputs = {{FUZZ_WIDE, true, I}}, {I, I, I}},
};

static int below(fuzz_random *random, int n) { return (int)fuzz_random_below(random, n); }
static bool percent(fuzz_random *random, int chance) { return below(random, 100) < chance; }

/* ---- the space ---- */

/* Axes of rows: at least one of them is reduced, and one is kept where something runs across rows. */
static void draw_rows(fuzz_random *random, bool across, fuzz_case *c) {
    static const int ranks[] = {1, 2, 2, 2, 2, 3, 3, 3, 4};
    const int rank = ranks[below(random, (int)COUNT(ranks))], way = below(random, 100);
    c->rank = across && rank < 2 ? 2 : rank;
    c->last_axis = way < 50;
    c->all_axes = way >= 92 && !across;
    const int sure = below(random, c->rank), kept = (sure + 1 + below(random, c->rank)) % c->rank;
    for (int i = 0; i < c->rank; i++) {
        const bool chosen = (percent(random, 30) || i == sure) && !(across && i == kept && i != sure);
        const bool from_the_end = percent(random, 50);
        c->reduced[i] = c->all_axes || (c->last_axis ? i == c->rank - 1 : chosen);
        if (!c->last_axis && !c->all_axes && chosen) c->axes[c->axis_count++] = from_the_end ? i - c->rank : i;
    }
    if (!across || c->last_axis || c->axis_count < c->rank) return;
    c->reduced[c->rank - 1 - c->rank / 2] = false; /* of all axes: one less */
    c->axis_count = 0;
    for (int i = 0; i < c->rank; i++)
        if (c->reduced[i]) c->axes[c->axis_count++] = i;
}

static int block_axis(const fuzz_case *c) {
    int last = 0;
    for (int i = 0; i < c->rank; i++)
        if (c->reduced[i]) last = i;
    return last;
}

/* Few rows or many, and a number of columns that has no pattern, or as many blocks as fit. */
static void draw_sizes(fuzz_random *structure, fuzz_random *instance, bool across, fuzz_case *c) {
    static const int64_t columns[] = {1, 7, 32, 33, 64, 100, 257, 1000};
    const int axis = block_axis(c);
    int64_t most = percent(structure, 20) ? 20000 : 4000;
    const int64_t any = columns[below(structure, (int)COUNT(columns))], blocks = 1 + below(structure, 20);
    const bool ragged = percent(structure, 3), empty = percent(structure, 2), many = percent(structure, 50);
    c->sizes[axis] = across ? any : c->larger * (c->larger > 64 ? 1 + blocks % 3 : blocks) + ragged;
    most /= c->sizes[axis];
    for (int i = 0; i < c->rank; i++) {
        if (i == axis) continue;
        const int64_t largest = across && many && most > 9 ? (most < 600 ? most : 600) : 9;
        const int64_t size = 1 + fuzz_random_below(c->reduced[i] ? structure : instance, largest);
        c->sizes[i] = size < most ? size : most < 1 ? 1 : most;
        most /= c->sizes[i];
    }
    if (empty) c->sizes[below(structure, c->rank)] = 0;
}

/* ---- the text ---- */

static size_t write_kept(const fuzz_case *c, char *out, size_t room) {
    size_t used = (size_t)snprintf(out, room, "(");
    for (int i = 0; i < c->rank; i++)
        if (!c->reduced[i]) used += (size_t)snprintf(out + used, room - used, "%s%d", used > 1 ? ", " : "", i);
    return used + (size_t)snprintf(out + used, room - used, ")");
}

static void write_text(fuzz_case *c) {
    size_t used = 0;
    for (const char *at = c->program->text; *at && used + 32 < sizeof c->text; at++) {
        char *to = c->text + used;
        const size_t room = sizeof c->text - used;
        if (*at == '@')
            used += write_kept(c, to, room);
        else if (*at == '$' || *at == '&')
            used += (size_t)snprintf(to, room, "%" PRId64, *at == '$' ? c->block : c->larger);
        else
            c->text[used++] = *at;
    }
    c->text[used] = '\0';
}

/* ---- the case ---- */

static bool is_a_warps(int64_t block) { return block <= 512 && (block & (block - 1)) == 0; }

static void draw_blocks(fuzz_random *random, fuzz_case *c) {
    static const int64_t usual[] = {1, 2, 4, 8, 16, 32, 64, 128}, others[] = {3, 7, 100, 256, 1000};
    const int64_t some = usual[below(random, (int)COUNT(usual))], other = others[below(random, (int)COUNT(others))];
    const bool odd = percent(random, 12), fixed = strstr(c->program->text, "_mx_") != NULL;
    c->block = fixed ? 32 : odd ? other : some;
    c->larger = c->block << below(random, fixed ? 1 : 3);
}

/* Whether two values of all rows, of eight bytes for each column, may have no room in a block's shared memory. */
static bool are_many_columns(const fuzz_case *c) {
    int64_t columns = 1;
    for (int i = 0; i < c->rank; i++) columns *= c->reduced[i] ? c->sizes[i] : 1;
    return columns > 227 * 1024 / (2 * 8);
}

void fuzz_axes_draw(fuzz_random *structure, fuzz_random *instance, fuzz_case *c) {
    c->program = &programs[below(structure, (int)COUNT(programs))];
    c->own_axes = true;
    const bool across = strchr(c->program->text, '@') != NULL;
    draw_blocks(structure, c);
    draw_rows(structure, across, c);
    draw_sizes(structure, instance, across, c);
    write_text(c);
    /* A block of all columns, beside rows, is one of any size to a kernel. */
    const bool odd = !is_a_warps(c->block) || !is_a_warps(c->larger) || c->sizes[block_axis(c)] <= c->larger;
    c->may_lack_schedule = across ? are_many_columns(c) : odd;
}

void fuzz_axes_shrink(const fuzz_case *c, int input, kiln_tensor *tensor) {
    const int axis = block_axis(c) - (c->rank - tensor->rank);
    if (!input || input != c->program->repeats || axis < 0) return;
    const int64_t columns = strstr(c->program->text, "repeat(r, &)") ? c->larger : c->block;
    int64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, tensor->sizes, sizeof sizes);
    if (sizes[axis] > 1) sizes[axis] = sizes[axis] / columns > 1 ? sizes[axis] / columns : 1;
    *tensor = kiln_tensor_contiguous(NULL, KILN_F32, tensor->rank, sizes);
}
