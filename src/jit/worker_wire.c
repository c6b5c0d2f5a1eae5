/* SPDX-License-Identifier: Apache-2.0 */
/* Whole messages over a stream socket, up to a deadline. */
#define _GNU_SOURCE
#include "jit/worker_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <xxhash.h>

void kiln__wire_build(char out[KILN__WIRE_BUILD_SIZE]) {
    memset(out, 0, KILN__WIRE_BUILD_SIZE);
    uint64_t options = 0;
    for (const char *const *option = kiln__nvrtc_options(); *option; option++)
        options = XXH3_64bits_withSeed(*option, strlen(*option), options);
    snprintf(out, KILN__WIRE_BUILD_SIZE, "kiln %s, request %zu, reply %zu, options %016" PRIx64, kiln_version(),
             sizeof(kiln__wire_request), sizeof(kiln__wire_reply), options);
}

/* Tells why. */
static bool fail_with(int code) {
    errno = code;
    return false;
}

/* Until the socket can be read or written. */
static bool wait_for(int fd, short events, double deadline) {
    struct pollfd ready = {.fd = fd, .events = events};
    for (;;) {
        /* What has come counts, however late this thread is: it may have been stopped meanwhile. */
        const double left = deadline > 0 ? deadline - kiln__now_ms() : 1000;
        const int count = poll(&ready, 1, left <= 0 ? 0 : left < 1000 ? (int)left + 1 : 1000);
        if (count > 0) return true;
        if (count < 0 && errno != EINTR) return false;
        if (left <= 0) return fail_with(ETIMEDOUT);
    }
}

bool kiln__wire_send(int fd, const void *bytes, size_t size, double deadline) {
    for (const char *at = bytes; size > 0;) {
        if (!wait_for(fd, POLLOUT, deadline)) return false;
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (sent <= 0) continue;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool kiln__wire_receive(int fd, void *bytes, size_t size, double deadline) {
    for (char *at = bytes; size > 0;) {
        if (!wait_for(fd, POLLIN, deadline)) return false;
        ssize_t got = recv(fd, at, size, MSG_DONTWAIT);
        if (got == 0) return fail_with(EPIPE);
        if (got < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (got < 0) continue;
        at += got;
        size -= (size_t)got;
    }
    return true;
}
