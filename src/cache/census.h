/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the cache, or in a folder of it: files by last use, and their bytes. */
#ifndef KILN_CACHE_CENSUS_H
#define KILN_CACHE_CENSUS_H

#include "base/text.h"
#include "cache/folder.h"

/* An entry, or what was moved aside. */
typedef struct kiln__aged {
    int64_t used, size; /* used: seconds since 1970; INT64_MIN: moved aside */
    char sub[16], name[48];
} kiln__aged;

typedef struct kiln__census {
    kiln__text files; /* one kiln__aged behind the other; freed by the caller */
    int64_t now;      /* of the first file */
    int64_t bytes;    /* of all that is ours, but for records */
    int64_t stale;    /* when the next leftover will be one; INT64_MAX: there is none */
} kiln__census;
#define KILN__NO_CENSUS \
    { .stale = INT64_MAX }

/* A kiln__file_visitor. Leftovers of dead processes are removed. False without memory. */
bool kiln__census_add(void *census, int folder, const char *sub, const char *name);

/* The files, least recently used ones first. */
const kiln__aged *kiln__census_sort(kiln__census *census, size_t *count);

#endif
