/* SPDX-License-Identifier: Apache-2.0 */
/* Writing without signals. The kernel sends them to the thread that writes, so that thread's mask is enough. */
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The thread's signals before they were held back. */
typedef struct held {
    sigset_t mask, pending;
} held;

static void raised_by_writes(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
    sigaddset(set, SIGXFSZ);
}

static void hold_signals(held *before) {
    sigset_t raised;
    raised_by_writes(&raised);
    pthread_sigmask(SIG_BLOCK, &raised, &before->mask);
    sigpending(&before->pending);
}

/* Keeps errno. */
static void release_signals(const held *before) {
    const int code = errno;
    const struct timespec at_once = {0, 0};
    sigset_t raised;
    raised_by_writes(&raised);
    /* One that was pending before is the caller's, and would not be told from ours. */
    if (sigismember(&before->pending, SIGPIPE)) sigdelset(&raised, SIGPIPE);
    if (sigismember(&before->pending, SIGXFSZ)) sigdelset(&raised, SIGXFSZ);
    int taken = 1;
    while (taken > 0 || (taken < 0 && errno == EINTR)) taken = sigtimedwait(&raised, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
    errno = code;
}

ssize_t kiln__file_write(int fd, const void *bytes, size_t size) {
    held before;
    hold_signals(&before);
    ssize_t written = write(fd, bytes, size);
    release_signals(&before);
    return written;
}

bool kiln__file_write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = kiln__file_write(fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

void kiln__file_print(FILE *to, const char *message) {
    held before;
    hold_signals(&before);
    fprintf(to, "kiln: %s\n", message);
    release_signals(&before);
}
