/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a program as a program's text, and the lists of its names. */
#include "lang/gradient.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "lang/reverse.h"

static void add_name(kiln__text *list, const char *name) {
    kiln__text_printf(list, "%s%s", list->size ? "," : "", name);
}

/* Of each node the name that the program has for it. */
static const char **find_names(kiln__reverse *r) {
    kiln__work *work = &r->rewriter.work;
    const char **names = kiln__work_alloc(work, &work->scratch, KILN__MAX_REWRITTEN, sizeof *names);
    for (uint32_t i = 0; i < r->from->name_count && names != NULL; i++) {
        const kiln__name *name = &r->from->names[i];
        if (name->assigned && !r->saved[i]) names[r->copies[name->node]] = name->text;
    }
    return names;
}

/* "dx"; "d_x" where that is taken. */
static const char *name_result(kiln__reverse *r, uint32_t of, uint32_t node) {
    char wanted[KILN__MAX_NAME + 3];
    const char *name = r->from->names[of].text;
    const size_t length = (size_t)snprintf(wanted, sizeof wanted, "d%s", name);
    if (kiln__graph_find(&r->rewriter.graph, wanted, length) >= 0) snprintf(wanted, sizeof wanted, "d_%s", name);
    return kiln__rewrite_assigned(&r->rewriter, wanted, false, node);
}

/* Inputs of the program, then outputs that are read, then the gradients of outputs. */
static void list_names(const kiln__reverse *r, const bool *read, const kiln__root *roots, kiln__text lists[3]) {
    const kiln__signature *s = r->signature;
    for (uint32_t i = 0; i < s->input_count; i++)
        if (read[s->inputs[i]]) add_name(&lists[0], r->from->names[s->inputs[i]].text);
    for (uint32_t o = 0; o < s->output_count; o++)
        if (read[s->outputs[o]]) add_name(&lists[0], r->from->names[s->outputs[o]].text);
    for (uint32_t i = 0; i < r->cotangent_count; i++)
        if (read[r->cotangents[i]]) add_name(&lists[0], r->rewriter.graph.names[r->cotangents[i]].text);
    for (uint32_t i = 0; i < r->wrt_count; i++) add_name(&lists[1], roots[i].name);
    for (uint32_t i = 0; i < s->scalar_count; i++)
        if (read[s->scalars[i]]) add_name(&lists[2], r->from->names[s->scalars[i]].text);
}

static char *take(kiln__text *list) {
    kiln__text_puts(list, "");
    return kiln__text_take(list);
}

static void write_all(kiln__reverse *r, kiln__gradient *out) {
    kiln__work *work = &r->rewriter.work;
    kiln__root roots[KILN__MAX_WRT];
    kiln__text lists[3] = {{0}};
    uint32_t values[KILN__MAX_WRT];
    for (uint32_t i = 0; i < r->wrt_count; i++) values[i] = kiln__reverse_result(r, r->wrt[i]);
    kiln__reverse_keep_space(r, values, r->wrt_count);
    if (work->status == KILN_OK) kiln__reverse_check_rows(r, values, r->wrt_count);
    const char **names = find_names(r);
    for (uint32_t i = 0; i < r->wrt_count && work->status == KILN_OK; i++)
        roots[i] = (kiln__root){name_result(r, r->wrt[i], values[i]), values[i]};
    if (work->status != KILN_OK) return;
    bool *read = kiln__work_alloc(work, &work->scratch, r->rewriter.graph.name_count + 1, sizeof *read);
    if (read == NULL) return;
    out->text = kiln__program_text(r, roots, r->wrt_count, names, read);
    list_names(r, read, roots, lists);
    out->inputs = take(&lists[0]);
    out->outputs = take(&lists[1]);
    out->scalars = take(&lists[2]);
    if (work->status == KILN_OK && (!out->text || !out->inputs || !out->outputs || !out->scalars))
        work->status = kiln__out_of_memory();
}

/* Where nothing was asked for by name: inputs that no gradient has come to are left out. */
static void leave_out(kiln__reverse *r) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->wrt_count && r->request->wrt == NULL; i++)
        if (r->adjoints[r->from->names[r->wrt[i]].node].count) r->wrt[count++] = r->wrt[i];
    if (r->request->wrt != NULL) return;
    r->wrt_count = count;
    if (count == 0) kiln__reverse_fail_constant(r);
}

kiln_status kiln__gradient_make(const kiln__graph *graph, const kiln__signature *signature,
                                const kiln__gradient_request *request, kiln__gradient *out) {
    *out = (kiln__gradient){NULL, NULL, NULL, NULL};
    kiln__reverse *reverse = calloc(1, sizeof *reverse);
    if (reverse == NULL) return kiln__out_of_memory();
    reverse->from = graph;
    reverse->signature = signature;
    reverse->request = request;
    kiln_status status = kiln__rewriter_begin(&reverse->rewriter, graph);
    if (status == KILN_OK) {
        kiln__reverse_set_up(reverse);
        kiln__reverse_seed(reverse);
        kiln__reverse_run(reverse);
        if (reverse->rewriter.work.status == KILN_OK) leave_out(reverse);
        if (reverse->rewriter.work.status == KILN_OK) write_all(reverse, out);
        status = reverse->rewriter.work.status;
    }
    if (status != KILN_OK) kiln__gradient_free(out);
    kiln__rewriter_end(&reverse->rewriter);
    free(reverse);
    return status;
}

void kiln__gradient_free(kiln__gradient *gradient) {
    free(gradient->text);
    free(gradient->inputs);
    free(gradient->outputs);
    free(gradient->scalars);
    *gradient = (kiln__gradient){NULL, NULL, NULL, NULL};
}
