/* SPDX-License-Identifier: Apache-2.0 */
/* What passes between a process and its kiln-worker, both of one build: structs as they lie in memory. */
#ifndef KILN_JIT_WORKER_WIRE_H
#define KILN_JIT_WORKER_WIRE_H

#include "jit/nvrtc.h"

#define KILN__WIRE_BUILD_SIZE 96 /* bytes of what tells builds apart */

/* Both sides begin with their build, the one that asks first. Then the request: behind it the NVRTC's path, the
 * source's name, the source, each with its NUL. */
typedef struct kiln__wire_request {
    int32_t arch, ptx;
    uint64_t path_size, name_size, source_size;
} kiln__wire_request;

/* Then the log (0: none) with its NUL, the image. */
typedef struct kiln__wire_reply {
    int32_t status, refused;
    kiln__facts facts;
    char message[1024];
    uint64_t log_size, image_size;
} kiln__wire_reply;

/* The library's version, and what else the structs above follow from. */
void kiln__wire_build(char out[KILN__WIRE_BUILD_SIZE]);

/* All of the bytes, or false with errno: EPIPE or ECONNRESET where the other side has gone, ETIMEDOUT where the
 * deadline (kiln__now_ms(); 0: none) has passed. */
bool kiln__wire_send(int fd, const void *bytes, size_t size, double deadline);
bool kiln__wire_receive(int fd, void *bytes, size_t size, double deadline);

#endif
