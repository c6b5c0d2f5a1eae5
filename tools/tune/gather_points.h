/* SPDX-License-Identifier: Apache-2.0 */
/* A line of what gather prints: a candidate of a problem, its features and times. README.md tells the members. */
#ifndef KILN_TUNE_GATHER_POINTS_H
#define KILN_TUNE_GATHER_POINTS_H

#include <jansson.h>

#include "base/types.h"
#include "runtime/context.h"
#include "schedule/model.h"

typedef struct gather_point {
    long problem;
    const char *family, *program, *pins;
    const kiln_tensor *tensors;
    size_t tensor_count;
    bool chosen; /* the library's own choice */
    const kiln__device *device;
    const char *device_name;
    const kiln__prepared *prepared;
    const kiln_plan_info *info; /* NULL: it is not compiled */
    const double *us;           /* its time, the second one and a copy's; NULL: it is not timed */
} gather_point;

void gather_print_point(const gather_point *point);

/* The members that another build computes anew; the caller releases them. */
json_t *gather_features(const kiln__estimate *e);
/* What the registers of a thread are thought to depend on. */
json_t *gather_resources(const kiln__given *g, const kiln__schedule *s);

#endif
