/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions of the caller's own: what programs of a context may call besides Kiln's. */
#ifndef KILN_LANG_OWN_H
#define KILN_LANG_OWN_H

#include <stddef.h>
#include <stdint.h>

#define KILN__MAX_OWN_ARGUMENTS 3

typedef struct kiln__own_function {
    const struct kiln__own_function *next;
    const char *name, *source; /* CUDA C++ that defines it */
    uint32_t argument_count;
    double (*host)(void *user, const double *arguments); /* the same for the CPU reference; NULL: it has none */
    void *user;
    uint64_t checksum; /* of its name and its source */
} kiln__own_function;

/* call.c: NULL where none has the name. */
const kiln__own_function *kiln__own_find(const kiln__own_function *first, const char *name, size_t length);

#endif
