/* SPDX-License-Identifier: Apache-2.0 */
/* Typical numbers of each GPU architecture, for planning where the device is not at hand.
 * From NVIDIA's CUDA programming guide (limits per compute capability) and the architecture papers (SMs, L2,
 * memory bandwidth). */
#include "schedule/device.h"

#include <stdbool.h>
#include <stddef.h>

#define KB(n) ((int64_t)(n)*1024)
#define MB(n) ((int64_t)(n)*1024 * 1024)

/* Ascending by architecture. A block gets 1 KB less than the multiprocessor has from 8.0 on: the system keeps it. */
static const kiln__device table[] = {
    /* arch, SMs, threads/SM, registers/SM, shared/SM, shared/block, L2, GB/s */
    {70, 80, 2048, 65536, KB(96), KB(96), MB(6), 900},        /* V100 */
    {75, 40, 1024, 65536, KB(64), KB(64), MB(4), 320},        /* T4 */
    {80, 108, 2048, 65536, KB(164), KB(163), MB(40), 2039},   /* A100 */
    {86, 84, 1536, 65536, KB(100), KB(99), MB(6), 696},       /* A40 */
    {87, 16, 1536, 65536, KB(164), KB(163), MB(4), 205},      /* Jetson AGX Orin */
    {89, 142, 1536, 65536, KB(100), KB(99), MB(96), 864},     /* L40S */
    {90, 132, 2048, 65536, KB(228), KB(227), MB(50), 3352},   /* H100 SXM */
    {100, 148, 2048, 65536, KB(228), KB(227), MB(126), 8000}, /* B200 */
    {103, 148, 2048, 65536, KB(228), KB(227), MB(126), 8000}, /* B300 */
    {110, 20, 1536, 65536, KB(228), KB(227), MB(32), 273},    /* Jetson Thor */
    {120, 188, 1536, 65536, KB(100), KB(99), MB(128), 1792},  /* RTX PRO 6000 Blackwell */
    {121, 48, 1536, 65536, KB(100), KB(99), MB(24), 273},     /* GB10 */
};

kiln__device kiln__device_typical(int arch) {
    kiln__device device = table[0];
    for (size_t i = 0; i < sizeof table / sizeof table[0] && table[i].arch <= arch; i++) device = table[i];
    device.arch = arch;
    return device;
}

/* Multiprocessors of a data-center device from which on some group of them has the sixteen that a cluster of sixteen
 * blocks takes. A guard: devices with fewer are cut down, or slices of one, and might refuse the launch. */
#define WHOLE_DEVICE 100

/* Clusters begin with 9.0. Eight blocks are what every such device promises (CUDA programming guide, Thread block
 * clusters); a kernel may ask for more. */
int kiln__device_most_cluster(const kiln__device *device) {
    const bool data_center = device->arch >= 90 && device->arch < 110 && device->sm_count >= WHOLE_DEVICE;
    if (device->arch < 90) return 1;
    return data_center ? 16 : 8;
}

/* Boost clocks; latencies of 8.0, 8.9 and 9.0 as Luo et al. measured them in clocks (Benchmarking and Dissecting the
 * Nvidia Hopper GPU Architecture via Microbenchmarking, 2024), of the others taken from the nearest of these. */
static const struct {
    int arch;
    double clock_ghz, latency_clocks;
} paces[] = {
    {70, 1.53, 466}, {75, 1.59, 466},  {80, 1.41, 466},  {86, 1.74, 466},  {87, 1.30, 466},  {89, 2.49, 542},
    {90, 1.76, 479}, {100, 1.93, 479}, {103, 1.93, 479}, {110, 1.57, 479}, {120, 2.41, 542}, {121, 2.42, 542},
};

kiln__pace kiln__device_pace(int arch) {
    size_t i = 0;
    while (i + 1 < sizeof paces / sizeof paces[0] && paces[i + 1].arch <= arch) i++;
    return (kiln__pace){paces[i].clock_ghz, paces[i].latency_clocks / paces[i].clock_ghz};
}
