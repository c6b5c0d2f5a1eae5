/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are inputs, outputs and scalars. */
#include <string.h>

#include "base/nearest.h"
#include "lang/ir.h"

static bool contains(const uint32_t *items, uint32_t count, uint32_t item) {
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == item) return true;
    return false;
}

/* A list of the options, and what its names must be. */
typedef struct declared {
    const char *names, *what;
    bool assigned; /* by the program, else read as a free name */
    uint32_t most;
} declared;

static kiln_status refuse(const kiln__graph *graph, const declared *list, const char *name, size_t length,
                          const char *problem) {
    char meant[96];
    kiln__nearest nearest = kiln__nearest_begin(name, length);
    for (uint32_t i = 0; i < graph->name_count; i++)
        if (graph->names[i].assigned == list->assigned)
            kiln__nearest_consider(&nearest, graph->names[i].text, strlen(graph->names[i].text));
    kiln__nearest_tell(&nearest, meant);
    return kiln__fail_name(KILN_E_NAME, name, length, "%s '%.*s' %s%s", list->what,
                           length > KILN__MAX_NAME ? KILN__MAX_NAME : (int)length, name, problem,
                           kiln__graph_find(graph, name, length) < 0 ? meant : "");
}

/* Resolves one comma-separated list: assigned names for outputs, free ones for inputs and scalars. */
static kiln_status resolve_list(const kiln__graph *graph, const declared *list, uint32_t *out, uint32_t *count) {
    const char *what = list->what, *names = list->names;
    if (names == NULL || names[strspn(names, " ")] == '\0') return KILN_OK;
    for (const char *at = names, *end;; at = end + 1) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        int shown = length > KILN__MAX_NAME ? KILN__MAX_NAME : (int)length;
        const char *problem = NULL;
        end = at + length + strspn(at + length, " ");
        if (length == 0) return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' has an empty name", what, names);
        if (*end != ',' && *end != '\0')
            return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' lacks a comma after '%.*s'", what, names, shown,
                              at);
        int name = kiln__graph_find(graph, at, length);
        if (name < 0)
            problem = "does not occur in the program";
        else if (graph->names[name].assigned != list->assigned)
            problem = list->assigned ? "is never assigned" : "is assigned by the program";
        else if (contains(out, *count, (uint32_t)name))
            problem = "is listed twice";
        if (problem != NULL) return refuse(graph, list, at, length, problem);
        if (*count == list->most) return kiln__fail(KILN_E_LIMIT, "the program has more than %u %ss", list->most, what);
        out[(*count)++] = (uint32_t)name;
        if (*end == '\0') return KILN_OK;
    }
}

/* The inputs are listed: none of them is a scalar, and none is left out. */
static kiln_status check_inputs(const kiln__graph *graph, const char *inputs, const kiln__signature *s) {
    for (uint32_t i = 0; i < s->input_count; i++)
        if (contains(s->scalars, s->scalar_count, s->inputs[i]))
            return kiln__fail_name(KILN_E_NAME, graph->names[s->inputs[i]].text,
                                   strlen(graph->names[s->inputs[i]].text),
                                   "'%s' is in the list of inputs and in that of scalars, expected one of them",
                                   graph->names[s->inputs[i]].text);
    for (uint32_t i = 0; i < graph->name_count; i++) {
        const kiln__name *name = &graph->names[i];
        if (name->assigned || contains(s->inputs, s->input_count, i) || contains(s->scalars, s->scalar_count, i))
            continue;
        return kiln__fail_name(KILN_E_NAME, name->text, strlen(name->text),
                               "the program reads '%s', which is neither in the list of inputs '%.200s' nor a scalar",
                               name->text, inputs);
    }
    return KILN_OK;
}

/* Whether there are too many tensors, with so many more. */
static kiln_status check_count(const kiln__signature *s, uint32_t more) {
    if (s->input_count + s->output_count + more <= KILN_MAX_TENSORS) return KILN_OK;
    return kiln__fail(KILN_E_LIMIT, "the program has more than %d inputs and outputs", KILN_MAX_TENSORS);
}

/* What the lists leave open: free names are inputs, assigned ones that nothing reads are outputs. */
static kiln_status add_unlisted(const kiln__graph *graph, const kiln__lists *lists, kiln__signature *out) {
    kiln_status status = check_count(out, 0); /* of the lists */
    for (uint32_t i = 0; i < graph->name_count && !status; i++) {
        const kiln__name *name = &graph->names[i];
        const bool output = name->assigned && !name->read && lists->outputs == NULL;
        const bool input = !name->assigned && lists->inputs == NULL && !contains(out->scalars, out->scalar_count, i);
        if (output || input) status = check_count(out, 1);
        if (!status && output) out->outputs[out->output_count++] = i;
        if (!status && input) out->inputs[out->input_count++] = i;
    }
    return status;
}

kiln_status kiln__signature_resolve(const kiln__graph *graph, const kiln__lists *lists, kiln__signature *out) {
    memset(out, 0, sizeof *out);
    const declared scalars = {lists->scalars, "scalar", false, KILN_MAX_SCALARS};
    const declared outputs = {lists->outputs, "output", true, KILN_MAX_TENSORS};
    const declared inputs = {lists->inputs, "input", false, KILN_MAX_TENSORS};
    kiln_status status = resolve_list(graph, &scalars, out->scalars, &out->scalar_count);
    if (status == KILN_OK) status = resolve_list(graph, &outputs, out->outputs, &out->output_count);
    if (status == KILN_OK) status = resolve_list(graph, &inputs, out->inputs, &out->input_count);
    if (status == KILN_OK && lists->inputs != NULL) status = check_inputs(graph, lists->inputs, out);
    if (status == KILN_OK) status = add_unlisted(graph, lists, out);
    if (status != KILN_OK) return status;
    if (out->output_count == 0)
        return kiln__fail(KILN_E_NAME, "the program has no output: it must assign a name, expected at least one");
    return KILN_OK;
}
