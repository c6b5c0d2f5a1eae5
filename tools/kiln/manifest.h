/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: a line of JSON for each kernel that shall be made beforehand, as src/record.c appends them and as people
 * write them. docs/packs.md has the format. */
#ifndef KILN_TOOL_MANIFEST_H
#define KILN_TOOL_MANIFEST_H

#include <stdbool.h>

#include "base/status.h"
#include "column_range.h"
#include "schedule/device.h"

typedef struct manifest_tensor {
    char *name;
    kiln_tensor tensor;
} manifest_tensor;

/* One line. */
typedef struct manifest_entry {
    char *program;
    char *outputs; /* "m,y"; NULL: those that no statement reads */
    char *scalars; /* names: "eps,k"; NULL: none */
    kiln_type scalar_types[KILN_MAX_SCALARS];
    size_t scalar_count;
    bool has_axes, all_axes;
    int axes[KILN_MAX_RANK];
    size_t axis_count;
    manifest_tensor tensors[KILN_MAX_TENSORS];
    size_t tensor_count;
    column_range range; /* of columns that tensors leave open; most 0: none does */
    int arch;           /* 0: none is told */
    bool ptx;
    bool has_device;
    kiln__device device; /* arch's, where the line tells it */
    bool dependent;      /* for calls that ask for programmatic dependent launch */
} manifest_entry;

/* KILN_E_FORMAT with a sentence for a line that is no request; KILN_E_MEMORY. *out is freed in any case. */
kiln_status manifest_parse(const char *line, size_t size, manifest_entry *out);
void manifest_entry_free(manifest_entry *entry);

/* The device that a kernel for the architecture is planned for: the line's where it is the line's architecture. */
kiln__device manifest_device(const manifest_entry *entry, int arch);

/* The entry's program, and its tensors and scalars in the program's order. The caller destroys *program.
 * KILN_E_BINDING for a tensor that is missing or not of the program, and what kiln_program_create returns. */
kiln_status manifest_bind(const manifest_entry *entry, kiln_context *context, kiln_program **program,
                          kiln_tensor tensors[KILN_MAX_TENSORS], kiln_scalar scalars[KILN_MAX_SCALARS]);

#endif
