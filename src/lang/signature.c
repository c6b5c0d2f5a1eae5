/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are inputs, outputs and scalars. */
#include <string.h>

#include "lang/ir.h"

static bool contains(const uint32_t *items, uint32_t count, uint32_t item) {
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == item) return true;
    return false;
}

/* Resolves one comma-separated list: assigned names for outputs, free ones for scalars. */
static kiln_status resolve_list(const kiln__graph *graph, const char *list, const char *what, bool assigned,
                                uint32_t most, uint32_t *out, uint32_t *count) {
    if (list == NULL || list[strspn(list, " ")] == '\0') return KILN_OK;
    for (const char *at = list, *end;; at = end + 1) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        int shown = length > KILN__MAX_NAME ? KILN__MAX_NAME : (int)length;
        const char *problem = NULL;
        end = at + length + strspn(at + length, " ");
        if (length == 0) return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' has an empty name", what, list);
        if (*end != ',' && *end != '\0')
            return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' lacks a comma after '%.*s'", what, list, shown,
                              at);
        int name = kiln__graph_find(graph, at, length);
        if (name < 0)
            problem = "does not occur in the program";
        else if (graph->names[name].assigned != assigned)
            problem = assigned ? "is never assigned" : "is assigned by the program";
        else if (contains(out, *count, (uint32_t)name))
            problem = "is listed twice";
        if (problem != NULL) return kiln__fail(KILN_E_NAME, "%s '%.*s' %s", what, shown, at, problem);
        if (*count == most) return kiln__fail(KILN_E_LIMIT, "the program has more than %u %ss", most, what);
        out[(*count)++] = (uint32_t)name;
        if (*end == '\0') return KILN_OK;
    }
}

kiln_status kiln__signature_resolve(const kiln__graph *graph, const char *outputs, const char *scalars,
                                    kiln__signature *out) {
    memset(out, 0, sizeof *out);
    kiln_status status =
        resolve_list(graph, scalars, "scalar", false, KILN_MAX_SCALARS, out->scalars, &out->scalar_count);
    if (status == KILN_OK)
        status = resolve_list(graph, outputs, "output", true, KILN_MAX_TENSORS, out->outputs, &out->output_count);
    if (status != KILN_OK) return status;
    for (uint32_t i = 0; i < graph->name_count; i++) {
        const kiln__name *name = &graph->names[i];
        if (name->assigned ? outputs != NULL || name->read : contains(out->scalars, out->scalar_count, i)) continue;
        if (out->input_count + out->output_count >= KILN_MAX_TENSORS)
            return kiln__fail(KILN_E_LIMIT, "the program has more than %d inputs and outputs", KILN_MAX_TENSORS);
        if (name->assigned)
            out->outputs[out->output_count++] = i;
        else
            out->inputs[out->input_count++] = i;
    }
    if (out->output_count == 0)
        return kiln__fail(KILN_E_NAME, "the program has no output: it must assign a name, expected at least one");
    return KILN_OK;
}
