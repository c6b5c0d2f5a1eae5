/* Which names are inputs, outputs and scalars. */
#include <string.h>

#include "lang/ir.h"

static bool contains(const uint32_t *items, uint32_t count, uint32_t item) {
    for (uint32_t i = 0; i < count; i++) {
        if (items[i] == item) return true;
    }
    return false;
}

/* Resolves one comma-separated list: assigned names for outputs, free ones for scalars. */
static kiln_status resolve_list(const kiln__graph *graph, const char *list, const char *what, bool assigned,
                                uint32_t most, uint32_t *out, uint32_t *count) {
    const char *at = list;
    while (*at == ' ') at++;
    if (*at == '\0') return KILN_OK;
    for (;;) {
        while (*at == ' ') at++;
        size_t length = strcspn(at, ", ");
        const char *end = at + length;
        while (*end == ' ') end++;
        int shown = length > KILN__MAX_NAME ? KILN__MAX_NAME : (int)length;
        if (length == 0) return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' has an empty name", what, list);
        if (*end != ',' && *end != '\0')
            return kiln__fail(KILN_E_NAME, "the list of %ss '%.200s' lacks a comma after '%.*s'", what, list, shown,
                              at);
        int name = kiln__graph_find(graph, at, length);
        if (name < 0) return kiln__fail(KILN_E_NAME, "%s '%.*s' does not occur in the program", what, shown, at);
        if (graph->names[name].assigned != assigned) {
            return kiln__fail(KILN_E_NAME,
                              assigned ? "%s '%.*s' is never assigned" : "%s '%.*s' is assigned by the program", what,
                              shown, at);
        }
        if (contains(out, *count, (uint32_t)name))
            return kiln__fail(KILN_E_NAME, "%s '%.*s' is listed twice", what, shown, at);
        if (*count == most) return kiln__fail(KILN_E_LIMIT, "the program has more than %u %ss", most, what);
        out[(*count)++] = (uint32_t)name;
        if (*end == '\0') return KILN_OK;
        at = end + 1;
    }
}

kiln_status kiln__signature_resolve(const kiln__graph *graph, const char *outputs, const char *scalars,
                                    kiln__signature *out) {
    kiln_status status = KILN_OK;
    memset(out, 0, sizeof *out);
    if (scalars != NULL)
        status = resolve_list(graph, scalars, "scalar", false, KILN_MAX_SCALARS, out->scalars, &out->scalar_count);
    if (status == KILN_OK && outputs != NULL)
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
