/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as the commands print it: jansson's objects, with strings and times made safe for it. */
#ifndef KILN_TOOL_JSON_OUTPUT_H
#define KILN_TOOL_JSON_OUTPUT_H

#include <jansson.h>

#include "tool.h"

/* A string whose bytes may be no UTF-8 (a path, say): those that are none become '?'. NULL gives null. */
json_t *json_text(const char *text);
/* Milliseconds, rounded to nanoseconds. */
json_t *json_ms(double ms);
/* A number of which -1 means unknown: null then. */
json_t *json_known(int64_t value);
/* "sm_90" or "compute_90". */
json_t *json_arch(int arch, int is_ptx);
/* {"name":, "type":, "shape": [...]}; a size left open is null. */
json_t *json_tensor(const char *name, const kiln_tensor *tensor);
/* What a plan or kernel is: schedule, reason, sizes, registers; -1 where not known becomes null. */
json_t *json_plan(const kiln_plan_info *info);

const char *origin_name(kiln_origin origin); /* "memory", "pack", "disk", "compiled" */

const char *schedule_origin_name(kiln_schedule_origin origin);  /* "model", "record", "pin" */
const char *schedule_origin_words(kiln_schedule_origin origin); /* "the library's model" */
/* Prints the object on standard output and releases it. Returns an exit code. */
int json_print(const arguments *args, json_t *object);

#endif
