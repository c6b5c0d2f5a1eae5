/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side: one request, one reply, and an end as soon as nobody waits for it. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/worker.h"
#include "jit/worker_wire.h"

enum { most_bytes = 1 << 28 }; /* of one text: a source has some hundred KB */

/* Whoever asked has closed the socket, or ended: NVRTC is left in the middle of what it does. */
static void *watch(void *user) {
    struct pollfd socket = {.fd = *(const int *)user, .events = POLLRDHUP};
    while (poll(&socket, 1, -1) <= 0) {
    }
    _exit(3);
}

static char *receive_text(int fd, uint64_t size) {
    char *text = size > 0 && size <= most_bytes ? malloc(size) : NULL;
    if (text && kiln__wire_receive(fd, text, size, 0) && text[size - 1] == '\0') return text;
    free(text);
    return NULL;
}

static kiln_status compile(const char *path, const kiln__compile_request *request, kiln__compile_result *result) {
    const kiln__nvrtc *nvrtc = NULL;
    kiln_status status = kiln__nvrtc_open(path, &nvrtc);
    return status ? status : kiln__nvrtc_compile(nvrtc, request, result);
}

static bool reply(int fd, kiln_status status, const kiln__compile_result *result) {
    kiln__wire_reply head = {.status = (int32_t)status,
                             .refused = result->refused,
                             .facts = result->facts,
                             .log_size = result->log ? strlen(result->log) + 1 : 0,
                             .image_size = result->image ? result->size : 0};
    snprintf(head.message, sizeof head.message, "%s", status ? kiln_last_error() : "");
    return kiln__wire_send(fd, &head, sizeof head, 0) && kiln__wire_send(fd, result->log, head.log_size, 0) &&
           kiln__wire_send(fd, result->image, head.image_size, 0);
}

int kiln__worker_serve(int fd) {
    kiln__wire_request head;
    char build[KILN__WIRE_BUILD_SIZE], other[KILN__WIRE_BUILD_SIZE];
    pthread_t watcher;
    kiln__compile_result result = {0};
    kiln__wire_build(build);
    if (!kiln__wire_receive(fd, other, sizeof other, 0) || !kiln__wire_send(fd, build, sizeof build, 0)) return 2;
    if (memcmp(build, other, sizeof build) || !kiln__wire_receive(fd, &head, sizeof head, 0)) return 2;
    char *path = receive_text(fd, head.path_size), *name = receive_text(fd, head.name_size);
    char *source = receive_text(fd, head.source_size);
    if (!path || !name || !source || pthread_create(&watcher, NULL, watch, &fd)) return 2;
    const kiln__compile_request request = {source, name, head.arch, head.ptx != 0};
    const kiln_status status = compile(path, &request, &result);
    const bool replied = reply(fd, status, &result);
    kiln__compile_result_free(&result);
    free(path);
    free(name);
    free(source);
    return replied ? 0 : 2;
}
