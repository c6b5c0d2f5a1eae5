/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and prints the JSON of all commands. Key order is the order of insertion, so output is stable.
 * A failed allocation anywhere leaves a NULL that jansson propagates; json_print reports it. */
#define _GNU_SOURCE
#include "json_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text) {
    if (!text) return json_null();
    json_t *string = json_string(text);
    if (string) return string;
    char *copy = strdup(text);
    if (!copy) return NULL;
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c >= 0x80) *c = '?';
    }
    string = json_string(copy);
    free(copy);
    return string;
}

json_t *json_ms(double ms) { return json_real(round(ms * 1e6) / 1e6); }

json_t *json_arch(int arch, int is_ptx) { return json_sprintf("%s_%d", is_ptx ? "compute" : "sm", arch); }

json_t *json_tensor(const char *name, const kiln_tensor *tensor) {
    json_t *shape = json_array();
    for (int32_t i = 0; i < tensor->rank; i++) {
        json_array_append_new(shape, tensor->sizes[i] < 0 ? json_null() : json_integer(tensor->sizes[i]));
    }
    return json_pack("{s:o, s:s, s:o}", "name", json_text(name), "type", kiln_type_name(tensor->type), "shape", shape);
}

json_t *json_known(int64_t value) { return value < 0 ? json_null() : json_integer(value); }

const char *origin_name(kiln_origin origin) {
    switch (origin) {
    case KILN_ORIGIN_MEMORY: return "memory";
    case KILN_ORIGIN_DISK: return "disk";
    case KILN_ORIGIN_COMPILED: return "compiled";
    case KILN_ORIGIN_PACK: return "pack";
    case KILN_ORIGIN_CALLBACKS: return "callbacks";
    }
    return "unknown";
}

const char *schedule_origin_name(kiln_schedule_origin origin) {
    static const char *const names[] = {"model", "record", "pin"};
    return names[origin];
}

const char *schedule_origin_words(kiln_schedule_origin origin) {
    static const char *const words[] = {"the library's model", "a tuned record", "the caller's pins"};
    return words[origin];
}

json_t *json_plan(const kiln_plan_info *info) {
    json_t *times =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "parse", json_ms(info->parse_ms), "schedule",
                  json_ms(info->schedule_ms), "emit", json_ms(info->emit_ms), "lookup", json_ms(info->lookup_ms),
                  "compile", json_ms(info->compile_ms), "load", json_ms(info->load_ms));
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:i, s:o}", "arch",
        json_arch(info->arch, info->is_ptx), "schedule", json_text(info->schedule), "reason", json_text(info->reason),
        "schedule_origin", schedule_origin_name(info->schedule_origin), "registers", json_known(info->registers),
        "spill_bytes", json_known(info->spill_bytes), "shared_bytes", (json_int_t)info->shared_bytes, "workspace_bytes",
        json_known(info->workspace_bytes), "image_bytes", json_known(info->image_bytes > 0 ? info->image_bytes : -1),
        "rows", json_known(info->rows), "cols", (json_int_t)info->cols, "cols_served",
        info->most_cols ? json_pack("[I, I]", (json_int_t)info->least_cols, (json_int_t)info->most_cols) : json_null(),
        "blocks", json_known(info->blocks), "threads", info->threads, "step_ms", times);
}

int json_print(const arguments *args, json_t *object) {
    int code = TOOL_OK;
    if (!object)
        code = tool_failed(args, kiln__out_of_memory());
    else if (json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12))) {
        code = tool_failed(args, kiln__fail(KILN_E_IO, "JSON cannot be written to standard output"));
    } else
        putchar('\n');
    json_decref(object);
    return code;
}
