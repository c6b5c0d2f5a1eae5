/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a compiled kernel besides its bytes: from NVRTC's log, through the caches, to those who ask. */
#ifndef KILN_BASE_FACTS_H
#define KILN_BASE_FACTS_H

#include <stdint.h>

/* Lies in an entry's file as it does here: no padding, and no change without another entry format. */
typedef struct kiln__facts {
    uint32_t format; /* of the entry; set by whoever writes one */
    int32_t arch, is_ptx;
    int32_t registers, spill_bytes; /* per thread; -1 where not known */
    uint32_t zero;
    int64_t shared_bytes;                   /* static */
    double create_ms, compile_ms, fetch_ms; /* NVRTC's steps */
    int64_t created_unix;
} kiln__facts;

#endif
