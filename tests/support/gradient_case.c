/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and its gradient, and the program around each element of its inputs. */
#include "support/gradient_case.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, TENSORS = 16, AXES = 4 };

typedef struct values {
    double f[MOST];
    int64_t i[MOST];
} values;

/* A tensor of the program, of its gradient, or of both. */
typedef struct named {
    char name[80];
    kiln_tensor tensor;
    values *memory;
} named;

typedef struct run {
    const gradient_case *c;
    kiln_context *context;
    const char *written; /* what it is compared with; NULL: with differences */
    kiln_program *program, *gradient;
    named all[3 * TENSORS];
    int count;
    uint64_t state;
    kiln_status status;
} run;

static char sentence[2000];

static const char *fail(const char *what) {
    snprintf(sentence, sizeof sentence, "%s", what);
    return sentence;
}

static const char *fail_with_error(const char *what) {
    snprintf(sentence, sizeof sentence, "%s: %s", what, kiln_last_error());
    return sentence;
}

static double uniform(run *r) {
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(r->state >> 40) / (double)(1 << 24);
}

static int64_t elements(const kiln_tensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
    return count;
}

static named *find(run *r, const char *name) {
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->all[i].name, name) == 0) return &r->all[i];
    return NULL;
}

static named *add(run *r, const char *name, kiln_type type, int rank, const int64_t *sizes) {
    named *n = &r->all[r->count++];
    snprintf(n->name, sizeof n->name, "%s", name);
    n->memory = calloc(1, sizeof *n->memory);
    n->tensor =
        kiln_tensor_contiguous(type == KILN_F64 ? (void *)n->memory->f : (void *)n->memory->i, type, rank, sizes);
    return n;
}

static void draw_input(run *r, const gradient_tensor *input) {
    const bool integers = strchr("ij", input->name) != NULL;
    const char name[2] = {input->name, '\0'};
    named *n = add(r, name, integers ? KILN_I64 : KILN_F64, input->rank, input->sizes);
    for (int64_t i = 0; i < elements(&n->tensor); i++) {
        const double u = uniform(r);
        n->memory->f[i] = input->name == 'p' ? 0.5 + 1.5 * u : input->name == 't' ? 0.1 + 0.9 * u : 4 * u - 2;
        n->memory->i[i] = (int64_t)(u * 4);
    }
}

static kiln_status run_program(run *r, const kiln_program *program) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    size_t count = 0;
    const char *name;
    for (size_t i = 0; (name = kiln_program_input_name(program, i)) != NULL; i++)
        tensors[count++] = find(r, name)->tensor;
    for (size_t i = 0; (name = kiln_program_output_name(program, i)) != NULL; i++)
        tensors[count++] = find(r, name)->tensor;
    return kiln_run_cpu(program, tensors, count, NULL, 0);
}

/* The outputs, the gradients that they are given, and room for those of inputs. */
static kiln_status add_outputs(run *r) {
    kiln_tensor inputs[KILN_MAX_TENSORS];
    const char *name;
    char text[80];
    int64_t sizes[KILN_MAX_RANK];
    int32_t rank;
    for (size_t i = 0; (name = kiln_program_input_name(r->program, i)) != NULL; i++) inputs[i] = find(r, name)->tensor;
    for (size_t i = 0; (name = kiln_program_output_name(r->program, i)) != NULL; i++) {
        kiln_status status = kiln_program_output_shape(r->program, inputs, i, 1, &rank, sizes);
        if (status) return status;
        add(r, name, KILN_F64, rank, sizes);
        snprintf(text, sizeof text, "d%s", name);
        named *g = add(r, text, KILN_F64, rank, sizes);
        for (int64_t k = 0; k < elements(&g->tensor); k++) g->memory->f[k] = 2 * uniform(r) - 1;
    }
    for (size_t i = 0; (name = kiln_program_output_name(r->gradient, i)) != NULL; i++) {
        const named *of = find(r, name + 1);
        add(r, name, KILN_F64, of->tensor.rank, of->tensor.sizes);
    }
    return KILN_OK;
}

/* The sum of the outputs' elements by the gradients they are given. */
static double total(run *r) {
    const char *name;
    char text[80];
    double sum = 0;
    if (run_program(r, r->program)) return NAN;
    for (size_t i = 0; (name = kiln_program_output_name(r->program, i)) != NULL; i++) {
        const named *y = find(r, name);
        snprintf(text, sizeof text, "d%s", name);
        const named *g = find(r, text);
        for (int64_t k = 0; k < elements(&y->tensor); k++) sum += y->memory->f[k] * g->memory->f[k];
    }
    return sum;
}

/* The slope along one element, by differences of two widths, and how far off it may be: steps that disagree are at a
 * kink. */
static bool find_slope(run *r, double *x, double *slope, double *doubt) {
    const double before = *x;
    double slopes[2], size = 0;
    for (int k = 0; k < 2; k++) {
        const double step = k ? 1e-6 : 1e-5;
        *x = before + step;
        const double above = total(r);
        *x = before - step;
        const double below = total(r);
        slopes[k] = (above - below) / (2 * step);
        size = fabs(above);
    }
    *x = before;
    *slope = slopes[0];
    *doubt = 10 * fabs(slopes[0] - slopes[1]) + 1e-9 * size;
    return fabs(slopes[0] - slopes[1]) <= 1e-4 * (1 + fabs(slopes[0]));
}

static const char *compare(run *r, const char *name) {
    named *x = find(r, name + 1), *dx = find(r, name);
    for (int64_t i = 0; i < elements(&x->tensor); i++) {
        double slope, doubt;
        if (!find_slope(r, &x->memory->f[i], &slope, &doubt)) continue;
        const double found = dx->memory->f[i];
        if (fabs(found - slope) <= 1e-5 * (1 + fabs(slope) + fabs(found)) + doubt) continue;
        snprintf(sentence, sizeof sentence, "%s[%lld] is %.10g, expected %.10g; the program is\n%s\nits gradient\n%s",
                 name, (long long)i, found, slope, r->c->text, kiln_program_text(r->gradient));
        return sentence;
    }
    return NULL;
}

static kiln_status make(run *r, kiln_context *context) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_gradient_options gradient = KILN_GRADIENT_OPTIONS_INIT;
    kiln_tensor inputs[KILN_MAX_TENSORS];
    int axes[1] = {0};
    const char *name;
    options.all_axes = r->c->axes && strcmp(r->c->axes, "all") == 0;
    if (r->c->axes && !options.all_axes) {
        axes[0] = atoi(r->c->axes);
        options.axes = axes;
        options.axis_count = 1;
    }
    kiln_status status = kiln_program_create(context, r->c->text, &options, &r->program);
    if (status) return status;
    for (size_t i = 0; (name = kiln_program_input_name(r->program, i)) != NULL; i++) {
        if (!find(r, name)) return KILN_E_BINDING;
        inputs[i] = find(r, name)->tensor;
    }
    gradient.wrt = r->c->wrt;
    gradient.saved = r->c->saved;
    return kiln_program_gradient(r->program, inputs, &gradient, &r->gradient);
}

static const char *differ(run *r, const char *written) {
    const char *name;
    double derived[MOST];
    kiln_program *kept = r->gradient;
    for (size_t i = 0; (name = kiln_program_output_name(kept, i)) != NULL; i++) {
        named *dx = find(r, name);
        memcpy(derived, dx->memory->f, sizeof derived);
        kiln_program *other;
        kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
        options.outputs = name;
        if (kiln_program_create(r->context, written, &options, &other)) return fail_with_error(written);
        const kiln_status status = run_program(r, other);
        kiln_program_destroy(other);
        if (status) return fail_with_error(written);
        for (int64_t k = 0; k < elements(&dx->tensor); k++) {
            if (fabs(derived[k] - dx->memory->f[k]) <= 1e-13 * (1 + fabs(derived[k]))) continue;
            snprintf(sentence, sizeof sentence, "%s[%lld] is %.17g, expected %.17g as of\n%s\nits gradient\n%s", name,
                     (long long)k, derived[k], dx->memory->f[k], written, kiln_program_text(kept));
            return sentence;
        }
    }
    return NULL;
}

static const char *check(run *r, kiln_context *context) {
    const char *name, *problem = NULL;
    for (const gradient_tensor *t = r->c->inputs; t < r->c->inputs + 5 && t->name; t++) draw_input(r, t);
    r->status = make(r, context);
    if (r->status) return fail_with_error(r->c->text);
    r->status = add_outputs(r);
    if (!r->status) r->status = run_program(r, r->program);
    if (r->status) return fail_with_error(r->c->text);
    r->status = run_program(r, r->gradient);
    if (r->status) return fail_with_error(kiln_program_text(r->gradient));
    if (r->written) return differ(r, r->written);
    for (size_t i = 0; (name = kiln_program_output_name(r->gradient, i)) != NULL && !problem; i++)
        problem = compare(r, name);
    return problem;
}

static const char *run_case(kiln_context *context, const gradient_case *c, const char *written, kiln_status *refused) {
    run *r = calloc(1, sizeof *r);
    if (!r) return fail("no memory");
    r->c = c;
    r->context = context;
    r->written = written;
    r->state = c->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const char *problem = check(r, context);
    if (refused) *refused = r->status;
    if (refused && r->status) problem = NULL;
    kiln_program_destroy(r->gradient);
    kiln_program_destroy(r->program);
    for (int i = 0; i < r->count; i++) free(r->all[i].memory);
    free(r);
    return problem;
}

const char *gradient_check(kiln_context *context, const gradient_case *c, kiln_status *refused) {
    return run_case(context, c, NULL, refused);
}

const char *gradient_compare(kiln_context *context, const gradient_case *c, const char *written) {
    return run_case(context, c, written, NULL);
}
