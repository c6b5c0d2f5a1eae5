/* SPDX-License-Identifier: Apache-2.0 */
/* Draws random cases. Two generators: one for what a kernel is made for, which a run of cases has in common, and one
 * for kept extents, which differ from case to case. */
#include "fuzz_draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "fuzz_axes.h"

#define RUN_LENGTH 4 /* cases that share what their kernel is made for */

const char *const fuzz_schedules[FUZZ_SCHEDULE_COUNT] = {
    NULL,
    "stream",
    "shared",
    "registers",
    "vector 2",
    "vector 1",
    "lanes 8, stream",
    "block 64, shared",
    "block 64, stream",
    "threads 4",
    "stream, splits 2",
    "stream, splits 7",
    "block 64, stream, splits 3",
    "threads 2, vector 4, stream",
    "threads 8, rows 32, shared",
    "threads 64, vector 8, registers",
    "threads 16, vector 8, splits 3",
    "tile",
    "tile, lanes 4",
    "stream, phased",
    "lanes 16, registers, online",
    "cluster 2, threads 64, shared",
    "cluster 4, threads 32, shared, single",
    "cluster 2, threads 32, registers, phased",
    "cluster 16, threads 32, shared",
    "grid, threads 64, shared",
    "grid, threads 32, shared, phased",
    "block 64, shared, persistent, online",
    "block 32, shared, persistent, phased",
    "calls",
    "outlined",
    "loops",
    "loops, stream, splits 3",
    "outlined, cluster 2, threads 64, shared",
    "block 32, shared, rows 2",
    "cluster 2, block 32, shared, rows 3",
};

/* ---- chance ---- */

uint64_t fuzz_random_next(fuzz_random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t fuzz_random_below(fuzz_random *random, int64_t n) { return (int64_t)(fuzz_random_next(random) % (uint64_t)n); }

static int below(fuzz_random *random, int n) { return (int)fuzz_random_below(random, n); }
static bool percent(fuzz_random *random, int chance) { return below(random, 100) < chance; }

#define PICK(random, array) ((array)[below(random, (int)(sizeof(array) / sizeof(array)[0]))])

/* ---- the space ---- */

static int draw_rank(fuzz_random *random) {
    static const int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 8};
    return PICK(random, ranks);
}

static int64_t draw_small(fuzz_random *random) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 33, 40};
    return PICK(random, sizes);
}

static int64_t draw_large(fuzz_random *random) {
    static const int64_t sizes[] = {64,  100, 127,  128,  129,  255,  256,  257,  500,
                                    512, 777, 1000, 1023, 1024, 2048, 3001, 4096, 5000};
    return PICK(random, sizes);
}

static int64_t total_of(int rank, const int64_t *sizes) {
    int64_t total = 1;
    for (int i = 0; i < rank; i++) total *= sizes[i];
    return total;
}

/* Makes the largest of the dimensions that may change smaller until no more than `limit` elements are left. */
static void shrink(int rank, int64_t *sizes, const bool *fixed, int64_t limit) {
    while (total_of(rank, sizes) > limit) {
        int largest = -1;
        for (int i = 0; i < rank; i++)
            if (!(fixed && fixed[i]) && (largest < 0 || sizes[i] > sizes[largest])) largest = i;
        if (largest < 0 || sizes[largest] <= 2) return;
        sizes[largest] = sizes[largest] / 2 > 2 ? sizes[largest] / 2 : 2;
    }
}

static void draw_axes(fuzz_random *random, fuzz_case *c) {
    int way = below(random, 100);
    c->last_axis = way < 35;
    c->all_axes = way >= 88;
    for (int i = 0; i < c->rank; i++) {
        bool chosen = percent(random, 45), from_the_end = percent(random, 50);
        c->reduced[i] = c->all_axes || (c->last_axis ? i == c->rank - 1 : chosen);
        if (c->last_axis || c->all_axes || !chosen) continue;
        int at = c->axis_count++, other = below(random, at + 1);
        c->axes[at] = c->axes[other]; /* in any order */
        c->axes[other] = from_the_end ? i - c->rank : i;
    }
}

static void draw_space(fuzz_random *structure, fuzz_random *instance, fuzz_case *c) {
    static const int64_t limits[] = {3000, 3000, 3000, 3000, 3000, 3000, 20000, 20000, 20000, 200000};
    int64_t limit = PICK(structure, limits);
    c->rank = draw_rank(structure);
    for (int i = 0; i < c->rank; i++) c->sizes[i] = draw_small(structure);
    if (c->rank) {
        int at = below(structure, c->rank);
        int64_t large = draw_large(structure);
        if (percent(structure, 40)) c->sizes[at] = large;
    }
    shrink(c->rank, c->sizes, NULL, limit);
    draw_axes(structure, c);
    for (int i = 0; i < c->rank; i++) {
        int64_t other = draw_small(instance);
        if (!c->reduced[i] && c->sizes[i] > 1 && percent(instance, 60)) c->sizes[i] = other > 1 ? other : 2;
    }
    const bool beside = percent(structure, 40); /* a long reduced axis, and rows beside each other in most numbers */
    for (int i = 0; beside && i + 1 < c->rank; i++) {
        if (!c->reduced[i] || c->reduced[i + 1]) continue;
        for (int j = 0; j < c->rank; j++) c->sizes[j] = j == i ? 17 + below(structure, 300) : 1 + c->sizes[j] % 2;
        c->sizes[i + 1] = 16 + below(instance, 100);
        limit = 40000;
        break;
    }
    shrink(c->rank, c->sizes, c->reduced, limit);
    if (c->rank && percent(structure, 2)) c->sizes[below(structure, c->rank)] = 0;
}

/* ---- types ---- */

static kiln_type draw_float(fuzz_random *random) {
    static const kiln_type types[] = {KILN_F32,  KILN_F32,  KILN_F32,  KILN_F32, KILN_F32, KILN_F32,
                                      KILN_F16,  KILN_F16,  KILN_F16,  KILN_F16, KILN_F16, KILN_BF16,
                                      KILN_BF16, KILN_BF16, KILN_BF16, KILN_F64, KILN_F64, KILN_F64};
    static const kiln_type eighths[] = {KILN_E4M3, KILN_E5M2};
    kiln_type eighth = PICK(random, eighths), type = PICK(random, types);
    return percent(random, 3) ? eighth : type;
}

static kiln_type draw_integer(fuzz_random *random) {
    static const kiln_type types[] = {KILN_I64, KILN_I32, KILN_I32, KILN_I16, KILN_I8, KILN_U8, KILN_BOOL};
    return PICK(random, types);
}

/* Mostly the type that the case's tensors have in common. */
static kiln_type draw_type(fuzz_random *random, fuzz_class class, kiln_type usual_float, kiln_type usual_integer) {
    kiln_type other_float = draw_float(random), other_integer = draw_integer(random);
    bool usual = percent(random, 65), other = percent(random, 50);
    switch (class) {
    case FUZZ_FLOATS: return usual ? usual_float : other_float;
    case FUZZ_INTS: return usual ? usual_integer : other_integer;
    case FUZZ_I8: return KILN_I8;
    case FUZZ_I64_I32: return other ? KILN_I64 : KILN_I32;
    case FUZZ_E4M3: return KILN_E4M3;
    case FUZZ_E5M2: return KILN_E5M2;
    case FUZZ_EVERY: return usual ? usual_float : other ? other_float : other_integer;
    }
    return KILN_F32;
}

/* ---- shapes and strides ---- */

static void draw_input_shape(fuzz_random *random, const fuzz_case *c, int input, kiln_tensor *out) {
    int way = below(random, 100), dropped = below(random, KILN_MAX_RANK);
    if (input && input == c->program->row_output && way % 2) way = 60 + way % 15; /* of rows */
    bool whole = c->program->inputs[input].whole || way < 45;
    int first = 0;
    int64_t sizes[KILN_MAX_RANK] = {0};
    for (int i = 0; i < c->rank; i++) {
        bool one = percent(random, 40);
        if (way < 60)
            one = !c->reduced[i];
        else if (way < 75)
            one = c->reduced[i];
        else if (way >= 95)
            one = true;
        sizes[i] = !whole && one ? 1 : c->sizes[i];
    }
    while (input > 0 && !whole && first < c->rank && first < dropped && sizes[first] == 1) first++;
    *out = kiln_tensor_contiguous(NULL, KILN_F32, c->rank - first, sizes + first);
    fuzz_axes_shrink(c, input, out);
}

/* What the inputs broadcast to. */
static void settle_space(fuzz_case *c) {
    for (int i = 0; i < c->rank; i++) {
        int64_t size = 1;
        for (int t = 0; t < c->input_count; t++) {
            if (t && t == c->program->repeats) continue;
            const kiln_tensor *tensor = &c->tensors[t].view;
            int axis = i - (c->rank - tensor->rank);
            if (axis >= 0 && tensor->sizes[axis] != 1) size = tensor->sizes[axis];
        }
        c->sizes[i] = size;
    }
}

/* An order of the dimensions in memory, fastest first. */
static void draw_order(fuzz_random *random, int rank, int order[KILN_MAX_RANK]) {
    bool reversed = percent(random, 25), shuffled = percent(random, 25);
    for (int i = 0; i < rank; i++) order[i] = reversed ? i : rank - 1 - i;
    for (int i = rank - 1; i > 0; i--) {
        int other = below(random, i + 1), kept = order[i];
        if (!shuffled) continue;
        order[i] = order[other];
        order[other] = kept;
    }
}

static bool may_overlap(fuzz_recipe recipe) {
    return recipe == FUZZ_ANY || recipe == FUZZ_SMALL || recipe == FUZZ_POSITIVE || recipe == FUZZ_WIDE ||
           recipe == FUZZ_INTEGERS || recipe == FUZZ_COUNTS;
}

/* Strides of any kind but contiguous ones. */
static void draw_strides(fuzz_random *random, bool input, fuzz_recipe recipe, fuzz_tensor *t) {
    static const int64_t gaps[] = {1, 2, 3, 7, 8, 16, 64}, unused[] = {0, 1, -7, 1000003};
    int order[KILN_MAX_RANK];
    int64_t span = 1, step = 2 + below(random, 2);
    bool steps = percent(random, 20), windows = percent(random, 6);
    t->overlaps = windows && input && may_overlap(recipe);
    draw_order(random, t->view.rank, order);
    for (int k = 0; k < t->view.rank; k++) {
        int i = order[k];
        int64_t size = t->view.sizes[i], gap = PICK(random, gaps), garbage = PICK(random, unused);
        bool negative = percent(random, 10), repeats = percent(random, 5), wider = percent(random, 25),
             is_unused = percent(random, 50);
        if (gap == 64) gap = (span + 15) / 16 * 16 - span; /* to where vectors begin, as allocators do */
        int64_t stride = k == 0 && steps ? step : k > 0 && wider ? span + gap : span;
        if (size > 0) span = stride * size;
        if (t->overlaps) stride = 1 + gap % 3;
        if (negative) stride = -stride;
        /* A row of one value has no spread: what norms divide by it is the rounding of its mean. In a product of one
         * value all roundings go the same way. */
        if (input && repeats && size > 1 && recipe != FUZZ_SPLIT && recipe != FUZZ_FACTORS) stride = 0;
        if (size == 1 && is_unused) stride = garbage;
        t->view.strides[i] = stride;
    }
}

static void measure(fuzz_tensor *t) {
    t->low = 0;
    t->high = 1;
    if (fuzz_element_count(&t->view) == 0) {
        t->high = 0;
        return;
    }
    for (int i = 0; i < t->view.rank; i++)
        *(t->view.strides[i] < 0 ? &t->low : &t->high) += (t->view.sizes[i] - 1) * t->view.strides[i];
}

static bool each_element_once(const fuzz_tensor *t) {
    for (int i = 0; i < t->view.rank; i++)
        if (t->view.sizes[i] != 1 && t->view.strides[i] == 0) return false;
    return !t->overlaps && fuzz_element_count(&t->view) > 0;
}

/* Input and output as two slices of one array that lie in turns: [in out] [in out] ... */
static void interleave(fuzz_random *random, fuzz_tensor *input, fuzz_tensor *output) {
    int rank = input->view.rank, where = rank ? below(random, rank) : 0;
    int64_t span = 1;
    for (int i = rank - 1; i >= 0; i--) {
        if (i == where) {
            output->ahead = span;
            span *= 2;
        }
        input->view.strides[i] = span;
        span *= input->view.sizes[i];
    }
    if (!rank) output->ahead = 1;
}

/* Whether the output may lie beside the input, or `same`: be it, element for element of the same row and column. */
static bool may_share(const fuzz_case *c, const fuzz_tensor *input, const fuzz_tensor *output, bool same) {
    const kiln_tensor *a = &input->view, *b = &output->view;
    if (!each_element_once(input) || a->rank != b->rank || kiln_type_size(a->type) != kiln_type_size(b->type) ||
        memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes))
        return false;
    bool alike = true;
    if (c->own_axes) return a->rank == c->rank && !memcmp(a->sizes, c->sizes, (size_t)a->rank * sizeof *a->sizes);
    for (int64_t i = 0; same && alike && i < fuzz_element_count(a); i++) {
        int64_t row, col, own_row, own_col;
        fuzz_element_position(c, a, false, i, &row, &col);
        fuzz_element_position(c, b, fuzz_drops_axes(c, b), i, &own_row, &own_col);
        alike = row == own_row && col == own_col;
    }
    return alike;
}

/* An output may lie in the memory of an input. */
static void draw_sharing(fuzz_random *random, fuzz_case *c) {
    const int row_output = c->program->row_output;
    bool same = percent(random, row_output ? 60 : 20), beside = percent(random, 8);
    int first = below(random, c->input_count), o = below(random, c->output_count);
    if (row_output && same) o = row_output;
    fuzz_tensor *output = &c->tensors[c->input_count + o];
    for (int i = 0; (same || beside) && i < c->input_count; i++) {
        int t = (first + i) % c->input_count;
        fuzz_tensor *input = &c->tensors[t];
        if (!may_share(c, input, output, same)) continue;
        output->lies_in = t;
        if (!same) interleave(random, input, output);
        memcpy(output->view.strides, input->view.strides, sizeof output->view.strides);
        measure(input);
        measure(output);
        return;
    }
}

/* ---- the case ---- */

static int count_words(const char *text) {
    int count = text != NULL;
    for (; text && *text; text++) count += *text == ',';
    return count;
}

/* plain: contiguous and aligned, as tensors mostly are, so that packs are as wide as they can be. */
static void draw_tensor(fuzz_random *random, bool input, bool plain, fuzz_recipe recipe, fuzz_tensor *t) {
    fuzz_tensor strided = *t;
    bool contiguous = percent(random, 35), aligned = percent(random, 50);
    int64_t shift = below(random, 16);
    draw_strides(random, input, recipe, &strided);
    if (!contiguous && !plain) *t = strided;
    t->shift = aligned || plain ? 0 : shift;
    t->lies_in = -1;
    t->ahead = 0;
    measure(t);
}

/* Whether the tensor has one value for each row. */
static bool is_of_rows(const fuzz_case *c, const kiln_tensor *tensor) {
    bool one = true;
    for (int i = 0; i < tensor->rank; i++) one &= tensor->sizes[i] == 1 || !c->reduced[c->rank - tensor->rank + i];
    return one;
}

/* Dropped, kept as 1, or, for a value that does not vary along the row, stored in every element. */
static kiln_status draw_output_shape(fuzz_random *random, const fuzz_case *c, const kiln_program *program, int output,
                                     kiln_tensor *out) {
    kiln_tensor inputs[FUZZ_INPUT_LIMIT];
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK] = {0};
    bool keeps = percent(random, 50), full = percent(random, 10);
    if (strchr(c->program->text, '@') && output) full = false; /* values of all rows are never stored in all elements */
    for (int t = 0; t < c->input_count; t++) inputs[t] = c->tensors[t].view;
    kiln_status status = kiln_program_output_shape(program, inputs, (size_t)output, keeps, &rank, sizes);
    if (c->program->row_output == output && output && keeps && is_of_rows(c, &inputs[output]))
        for (int i = 0; i < rank; i++) sizes[i] = c->reduced[i] ? 1 : c->sizes[i];
    *out = full || status ? kiln_tensor_contiguous(NULL, KILN_F32, c->rank, c->sizes)
                          : kiln_tensor_contiguous(NULL, KILN_F32, rank, sizes);
    return status;
}

kiln_status fuzz_case_program(const fuzz_case *c, kiln_context *context, kiln_program **out) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.outputs = c->program->outputs;
    options.scalars = c->program->scalars;
    options.all_axes = c->all_axes;
    options.axes = c->last_axis ? NULL : c->axes;
    options.axis_count = (size_t)c->axis_count;
    return kiln_program_create(context, c->text, &options, out);
}

static void draw_details(fuzz_random *structure, fuzz_random *instance, fuzz_case *c) {
    static const int rarities[] = {0, 0, 3, 16, 200};
    int rarity = PICK(structure, rarities), schedule = below(structure, FUZZ_SCHEDULE_COUNT);
    c->specials = c->program->specials ? rarity : 0;
    c->schedule = percent(structure, 35) ? schedule : 0;
    c->poison = percent(instance, 50) ? 0xff : (unsigned char)below(instance, 256);
    c->scalar_count = count_words(c->program->scalars);
    for (int i = 0; i < c->scalar_count; i++) {
        double value = c->program->scalar_values[i];
        c->scalars[i] = value == (double)(int64_t)value ? kiln_scalar_i64((int64_t)value) : kiln_scalar_f64(value);
    }
}

/* What comes after program and space. */
static kiln_status draw_tensors(fuzz_random *structure, fuzz_random *instance, kiln_context *context, fuzz_case *out) {
    draw_details(structure, instance, out);
    kiln_program *program = NULL;
    kiln_status status = fuzz_case_program(out, context, &program);
    if (status) return status;
    out->input_count = (int)kiln_program_input_count(program);
    out->output_count = (int)kiln_program_output_count(program);
    kiln_type usual_float = draw_float(structure), usual_integer = draw_integer(structure);
    bool tidy = percent(structure, 40); /* but for one tensor */
    int other = below(structure, out->input_count + out->output_count);
    for (int t = 0; t < out->input_count; t++) draw_input_shape(structure, out, t, &out->tensors[t].view);
    settle_space(out);
    for (int t = 0; t < out->input_count + out->output_count; t++) {
        fuzz_tensor *tensor = &out->tensors[t];
        bool input = t < out->input_count;
        int o = t - out->input_count;
        /* What the library refuses here it refuses again, in one way on the GPU and on the CPU, when the case is run.
         */
        if (!input) draw_output_shape(structure, out, program, o, &tensor->view);
        tensor->view.type = draw_type(structure, input ? out->program->inputs[t].types : out->program->output_types[o],
                                      usual_float, usual_integer);
        draw_tensor(structure, input, tidy && t != other, input ? out->program->inputs[t].recipe : FUZZ_ANY, tensor);
    }
    draw_sharing(structure, out);
    kiln_program_destroy(program);
    return KILN_OK;
}

static void begin(uint64_t seed, long index, fuzz_random *structure, fuzz_random *instance, fuzz_case *out) {
    *structure = (fuzz_random){seed * 0xd1b54a32d192ed03u + (uint64_t)(index / RUN_LENGTH)};
    *instance = (fuzz_random){~seed * 0x8cb92ba72f3d8dd7u + (uint64_t)index};
    fuzz_random_next(structure); /* neighbouring states are far apart after one step */
    fuzz_random_next(instance);
    structure->state = fuzz_random_next(structure);
    instance->state = fuzz_random_next(instance);
    memset(out, 0, sizeof *out);
    out->seed = seed;
    out->index = index;
}

kiln_status fuzz_case_draw(kiln_context *context, uint64_t seed, long index, fuzz_case *out) {
    fuzz_random structure, instance;
    begin(seed, index, &structure, &instance, out);
    out->program = &fuzz_programs[below(&structure, (int)fuzz_program_count)];
    snprintf(out->text, sizeof out->text, "%s", out->program->text);
    draw_space(&structure, &instance, out);
    return draw_tensors(&structure, &instance, context, out);
}

static kiln_status draw_with_axes(kiln_context *context, uint64_t seed, long index, fuzz_case *out) {
    fuzz_random structure, instance;
    begin(seed, index, &structure, &instance, out);
    fuzz_axes_draw(&structure, &instance, out);
    return draw_tensors(&structure, &instance, context, out);
}

/* Of one size, so that tensors that share memory still may. */
static kiln_type newer_type(kiln_type type) {
    switch (type) {
    case KILN_I64: return KILN_U64;
    case KILN_I32: return KILN_U32;
    case KILN_I16: return KILN_U16;
    case KILN_E4M3:
    case KILN_E5M2: return KILN_E8M0;
    default: return type;
    }
}

kiln_status fuzz_case_draw_any(kiln_context *context, uint64_t seed, long index, fuzz_case *out) {
    fuzz_random random = {seed ^ (uint64_t)(index / RUN_LENGTH)};
    bool all = percent(&random, 35), some = percent(&random, 30), axes = percent(&random, 40);
    kiln_status status = axes ? draw_with_axes(context, seed, index, out) : fuzz_case_draw(context, seed, index, out);
    for (int t = 0; !status && t < out->input_count + out->output_count; t++) {
        bool chosen = percent(&random, 50);
        bool input = t < out->input_count;
        fuzz_class class = input ? out->program->inputs[t].types : out->program->output_types[t - out->input_count];
        if (class == FUZZ_E4M3 || class == FUZZ_E5M2) continue; /* the program is of that type */
        if (all || (some && chosen)) out->tensors[t].view.type = newer_type(out->tensors[t].view.type);
    }
    return status;
}

/* ---- telling it ---- */

static void print_list(FILE *to, const char *open, int count, const int64_t *values, const char *close) {
    fputs(open, to);
    for (int i = 0; i < count; i++) fprintf(to, "%s%" PRId64, i ? "," : "", values[i]);
    fputs(close, to);
}

void fuzz_case_print(FILE *to, const fuzz_case *c) {
    fprintf(to, "gpu_fuzz --seed %" PRIu64 " --case %ld   # %s;", c->seed, c->index, c->text);
    for (int t = 0; t < c->input_count + c->output_count; t++) {
        const fuzz_tensor *tensor = &c->tensors[t];
        fprintf(to, " %s%d=%s", t < c->input_count ? "in" : "out", t < c->input_count ? t : t - c->input_count,
                kiln_type_name(tensor->view.type));
        print_list(to, "[", tensor->view.rank, tensor->view.sizes, "]");
        print_list(to, "{", tensor->view.rank, tensor->view.strides, "}");
        if (tensor->lies_in >= 0)
            fprintf(to, "@in%d+%" PRId64, tensor->lies_in, tensor->ahead);
        else if (tensor->shift)
            fprintf(to, "@+%" PRId64, tensor->shift);
    }
    fputs("; axes ", to);
    if (c->last_axis || c->all_axes) fputs(c->last_axis ? "last" : "all", to);
    for (int i = 0; i < c->axis_count && !c->last_axis && !c->all_axes; i++)
        fprintf(to, "%s%d", i ? "," : "", c->axes[i]);
    if (c->specials) fprintf(to, "; specials 1/%d", c->specials);
    if (c->schedule) fprintf(to, "; pinned %s", fuzz_schedules[c->schedule]);
}
