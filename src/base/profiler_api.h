/* SPDX-License-Identifier: Apache-2.0 */
/* What a profiler and Kiln have to agree on: NVTX 3's injection protocol, as far as ranges need it. The profiler names
 * its library in NVTX_INJECTION64_PATH; its entry point asks for tables of places, and puts its functions there.
 * tests/base/test_profiler.c compares this with the real header. */
#ifndef KILN_BASE_PROFILER_API_H
#define KILN_BASE_PROFILER_API_H

#include <stddef.h>
#include <stdint.h>

#define KILN__NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define KILN__NVTX_ENTRY "InitializeInjectionNvtx2"

enum {
    KILN__NVTX_VERSION = 3,
    KILN__NVTX_TABLE_CALLBACKS = 1, /* what is asked of the export function */
    KILN__NVTX_TABLE_VERSION = 3,
    KILN__NVTX_MESSAGE_ASCII = 1
};

/* Sets of functions, and how many each has; 0 is none, as is place 0 of each set. */
enum { KILN__NVTX_CORE2 = 5, KILN__NVTX_SETS = 7, KILN__NVTX_MOST_PLACES = 16 };
#define KILN__NVTX_SET_SIZES \
    { 0, 16, 9, 15, 7, 16, 7 }

/* Places of CORE2 that Kiln calls. */
enum {
    KILN__NVTX_RANGE_PUSH = 4,
    KILN__NVTX_RANGE_POP = 5,
    KILN__NVTX_DOMAIN_CREATE = 12,
};

typedef struct kiln__nvtx_event {
    uint16_t version, size; /* KILN__NVTX_VERSION, sizeof(kiln__nvtx_event) */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} kiln__nvtx_event;

typedef void *kiln__nvtx_domain;
typedef kiln__nvtx_domain kiln__nvtx_domain_create(const char *name);
typedef int kiln__nvtx_range_push(kiln__nvtx_domain domain, const kiln__nvtx_event *event);
typedef int kiln__nvtx_range_pop(kiln__nvtx_domain domain);

typedef void (*kiln__nvtx_function)(void);       /* any of them */
typedef kiln__nvtx_function **kiln__nvtx_places; /* addresses of places, by number */

typedef struct kiln__nvtx_callbacks {
    size_t struct_size;
    int (*get_set)(int set, kiln__nvtx_places *places, unsigned *count); /* 0: there is none such */
} kiln__nvtx_callbacks;

typedef struct kiln__nvtx_version {
    size_t struct_size;
    uint32_t version, reserved;
    void (*tell)(uint32_t version); /* the profiler's own */
} kiln__nvtx_version;

typedef const void *kiln__nvtx_export(uint32_t table);
typedef int kiln__nvtx_entry(kiln__nvtx_export *export_table); /* 0: it failed */

#endif
