/* SPDX-License-Identifier: Apache-2.0 */
/* Tuned records: what `kiln tune` measured to be the fastest schedule of a problem, as pins. A record is kept like a
 * kernel, in the disk cache and in packs: an entry whose image is the text of its pins. docs/tuning.md */
#ifndef KILN_RUNTIME_TUNED_H
#define KILN_RUNTIME_TUNED_H

#include "runtime/context.h"

/* Encodes all that a schedule is chosen by: the typed program without its names, the layout, columns, types and
 * alignments, the device's numbers, the library's version and kernels. Never how many rows there are: all numbers of
 * them have one record, so that a row has the same bits among any others. The caller frees it. KILN_E_MEMORY. */
kiln_status kiln__tuned_key(const kiln__ir *ir, const kiln__problem *problem, const kiln__device *device,
                            kiln__key *out);

/* Whether the context's memory, its disk cache or one of its packs has a record that can be read; *out: its pins. What
 * was looked for is remembered, be it there or not. KILN_E_MEMORY. */
kiln_status kiln__tuned_find(kiln_context *context, const kiln__key *key, bool *found, kiln__pins *out);
/* What the model chose for the key's problem before: to be chosen again at once. False: nothing is remembered. */
bool kiln__tuned_recall(kiln_context *context, const kiln__key *key, kiln__pins *out);
void kiln__tuned_remember(kiln_context *context, const kiln__key *key, const kiln__pins *chosen);
/* From now on the context takes this to be the record (NULL: there is none), whatever caches say. KILN_E_MEMORY. */
kiln_status kiln__tuned_set(kiln_context *context, const kiln__key *key, const kiln__pins *pins);
/* Forgets what was looked for. */
void kiln__tuned_forget(kiln_context *context);

/* A record as caches keep it: views of the texts. description: as of a kernel; measured: what was measured, for people.
 */
kiln__entry kiln__tuned_entry(const char *pins, const char *description, const char *measured, int arch);
/* The text of an entry's pins; NULL where it is no record's. */
const char *kiln__tuned_text(const kiln__entry *entry);

#endif
