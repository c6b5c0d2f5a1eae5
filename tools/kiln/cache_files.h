/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache's entries as files: opened alone, without a context, driver or NVRTC. */
#ifndef KILN_TOOL_CACHE_FILES_H
#define KILN_TOOL_CACHE_FILES_H

#include "cache/disk.h"
#include "tool.h"

/* The disk cache that --cache-dir or the environment names. Returns an exit code; the caller closes *out in any
 * case. */
int cache_open(const arguments *args, kiln__disk **out);

/* An entry's file, or a tuned record's. found and key are NULL where it is damaged: unreadable, or of another key than
 * its name says. */
typedef struct cache_file {
    const char *name; /* "<32 digits>.k1" or ".t1" */
    bool tuned;       /* a tuned record: no kernel */
    const kiln__entry *found;
    const kiln__key *key; /* made of the entry's own material */
} cache_file;

/* Calls visit for each entry, those moved aside as damaged ones included, in no particular order; not 0 stops and is
 * returned: an exit code. */
typedef int cache_file_visitor(void *user, const cache_file *file);
int cache_visit_files(const arguments *args, kiln__disk *disk, cache_file_visitor *visit, void *user);

#endif
