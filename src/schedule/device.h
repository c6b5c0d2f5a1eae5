/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a device that schedules are chosen by; never its name. */
#ifndef KILN_SCHEDULE_DEVICE_H
#define KILN_SCHEDULE_DEVICE_H

#include <stdint.h>

typedef struct kiln__device {
    int arch; /* 90 for compute capability 9.0 */
    int sm_count;
    int threads_per_sm;
    int registers_per_sm;     /* 32-bit ones */
    int64_t shared_per_sm;    /* bytes */
    int64_t shared_per_block; /* bytes, with opt-in */
    int64_t l2_bytes;
    int64_t bandwidth; /* of the memory at its peak, GB/s */
} kiln__device;

/* Typical numbers for an architecture, for compiling without the device: of its data-center or largest part. An
 * unknown architecture gets those of the nearest older one. */
kiln__device kiln__device_typical(int arch);

/* Blocks of a cluster, 1 where there are none. */
int kiln__device_most_cluster(const kiln__device *device);

/* What else the time of a kernel depends on: of the architecture, so that its devices share kernels. */
typedef struct kiln__pace {
    double clock_ghz;  /* of multiprocessors at work */
    double latency_ns; /* of a load from memory, with no other beside it */
} kiln__pace;
kiln__pace kiln__device_pace(int arch);

#endif
