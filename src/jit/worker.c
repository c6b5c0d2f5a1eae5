/* SPDX-License-Identifier: Apache-2.0 */
/* The process that asks a kiln-worker to compile. */
#define _GNU_SOURCE
#include "jit/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/worker_wire.h"

extern char **environ;

#define NAME "kiln-worker"
/* From the folders of an installed library and of an installed program to the worker; the build sets them. */
#ifndef KILN_WORKER_FROM_LIBRARY
#define KILN_WORKER_FROM_LIBRARY "../libexec/kiln/" NAME
#define KILN_WORKER_FROM_PROGRAM KILN_WORKER_FROM_LIBRARY
#endif

/* The file of the library, or of the program that it is part of. The loader knows a program by the name that it was
 * called by, which has no folder where the shell looked for it. */
static void find_own_file(char out[PATH_MAX]) {
    Dl_info library;
    const void *here = (const void *)(uintptr_t)&kiln__worker_locate;
    const char *file = dladdr(here, &library) && library.dli_fname ? library.dli_fname : "";
    char *program = strchr(file, '/') ? NULL : realpath("/proc/self/exe", NULL);
    snprintf(out, PATH_MAX, "%s", program ? program : file);
    free(program);
}

kiln_status kiln__worker_locate(const char *path, char *out, size_t size) {
    static const char *const places[] = {NAME, KILN_WORKER_FROM_LIBRARY, KILN_WORKER_FROM_PROGRAM};
    const char *given = path ? path : secure_getenv("KILN_WORKER");
    char file[PATH_MAX];
    if (given && *given) {
        errno = ENAMETOOLONG;
        const int length = snprintf(out, size, "%s", given);
        if (length >= 0 && (size_t)length < size && access(out, X_OK) == 0) return KILN_OK;
        return kiln__fail(KILN_E_IO, "the compile worker '%s' cannot be run: %s", given, strerror(errno));
    }
    find_own_file(file);
    const char *slash = strrchr(file, '/');
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(out, size, "%.*s/%s", slash ? (int)(slash - file) : 1, slash ? file : ".", places[i]);
        if (length >= 0 && (size_t)length < size && access(out, X_OK) == 0) return KILN_OK;
    }
    return kiln__fail(KILN_E_IO,
                      "compiles have a time limit, and " NAME
                      ", which compiles where that holds, is neither beside '%s' nor at " KILN_WORKER_FROM_LIBRARY
                      " or " KILN_WORKER_FROM_PROGRAM " from there; KILN_WORKER may name it",
                      file);
}

/* Signals as a new process expects them, input from the socket, output to nowhere. */
static int spawn(const char *file, int socket, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *const arguments[] = {(char[]){NAME}, NULL};
    int code = posix_spawn_file_actions_init(&files);
    if (code) return code;
    if ((code = posix_spawnattr_init(&attributes)) == 0) {
        sigemptyset(&none);
        sigfillset(&all);
        code = posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
        if (!code) code = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (!code) code = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (!code) code = posix_spawnattr_setsigmask(&attributes, &none);
        if (!code) code = posix_spawnattr_setsigdefault(&attributes, &all);
        if (!code)
            code = posix_spawnattr_setflags(&attributes,
                                            POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        if (!code) code = posix_spawn(pid, file, &files, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return code;
}

kiln_status kiln__worker_start(const char *file, kiln__worker *out) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return kiln__fail(KILN_E_IO, "no socket to a compile worker can be had: %s", strerror(errno));
    const int code = spawn(file, ends[1], &out->pid);
    close(ends[1]);
    out->fd = ends[0];
    out->process = code ? -1 : (int)syscall(SYS_pidfd_open, out->pid, 0);
    atomic_init(&out->stopped, false);
    if (!code) return KILN_OK;
    close(ends[0]);
    return kiln__fail(KILN_E_IO, "the compile worker '%s' cannot be run: %s", file, strerror(code));
}

/* Whether the program there is this library's worker: nothing is known of the kernel before. */
static kiln_status greet(const kiln__worker *worker, double deadline) {
    char own[KILN__WIRE_BUILD_SIZE], other[KILN__WIRE_BUILD_SIZE];
    kiln__wire_build(own);
    if (!kiln__wire_send(worker->fd, own, sizeof own, deadline) ||
        !kiln__wire_receive(worker->fd, other, sizeof other, deadline)) {
        const int code = errno;
        if (atomic_load(&worker->stopped)) return kiln__fail(KILN_E_CANCELLED, "the compile was cancelled");
        return kiln__fail(KILN_E_IO, "the compile worker does not answer: %s", strerror(code));
    }
    other[sizeof other - 1] = '\0';
    if (memcmp(own, other, sizeof own) == 0) return KILN_OK;
    return kiln__fail(KILN_E_IO, "the compile worker is '%s', expected '%s': another build's", other, own);
}

static bool send_request(int fd, const char *nvrtc_path, const kiln__compile_request *request, double deadline) {
    kiln__wire_request head = {.arch = request->arch,
                               .ptx = request->ptx,
                               .path_size = strlen(nvrtc_path) + 1,
                               .name_size = strlen(request->name) + 1,
                               .source_size = strlen(request->source) + 1};
    return kiln__wire_send(fd, &head, sizeof head, deadline) &&
           kiln__wire_send(fd, nvrtc_path, head.path_size, deadline) &&
           kiln__wire_send(fd, request->name, head.name_size, deadline) &&
           kiln__wire_send(fd, request->source, head.source_size, deadline);
}

/* The log and the image. */
static bool receive_bytes(int fd, uint64_t size, char **out, double deadline) {
    if (size == 0) return true;
    *out = malloc(size + 1);
    if (!*out) {
        errno = ENOMEM;
        return false;
    }
    if (!kiln__wire_receive(fd, *out, size, deadline)) return false;
    (*out)[size] = '\0';
    return true;
}

/* code: the errno of what failed. */
static kiln_status fail_exchange(const kiln__worker *worker, const kiln__compile_request *request, int64_t limit_ms,
                                 int code, kiln__compile_result *out) {
    if (atomic_load(&worker->stopped))
        return kiln__fail(KILN_E_CANCELLED, "the compile of '%s' was cancelled", request->name);
    if (code == ENOMEM) return kiln__out_of_memory();
    const bool late = code == ETIMEDOUT, gone = code == EPIPE || code == ECONNRESET;
    out->refused = late || gone; /* it would take as long again, or end its worker again */
    if (late)
        return kiln__fail(KILN_E_TIMEOUT, "the compile of '%s' took longer than %lld ms and was ended", request->name,
                          (long long)limit_ms);
    if (gone)
        return kiln__fail(KILN_E_COMPILE, "the worker that compiled '%s' ended before it was done", request->name);
    return kiln__fail(KILN_E_IO, "the worker that compiles '%s' cannot be talked to: %s", request->name,
                      strerror(code));
}

kiln_status kiln__worker_compile(kiln__worker *worker, const char *nvrtc_path, const kiln__compile_request *request,
                                 int64_t limit_ms, kiln__compile_result *out) {
    const double deadline = limit_ms > 0 ? kiln__now_ms() + (double)limit_ms : 0;
    kiln__wire_reply reply;
    *out = (kiln__compile_result){.facts = {.registers = -1, .spill_bytes = -1}};
    const kiln_status greeted = greet(worker, deadline);
    if (greeted) return greeted;
    if (!send_request(worker->fd, nvrtc_path, request, deadline) ||
        !kiln__wire_receive(worker->fd, &reply, sizeof reply, deadline) ||
        !receive_bytes(worker->fd, reply.log_size, &out->log, deadline) ||
        !receive_bytes(worker->fd, reply.image_size, &out->image, deadline)) {
        const int code = errno;
        kiln__compile_result_free(out);
        return fail_exchange(worker, request, limit_ms, code, out);
    }
    out->size = reply.image_size;
    out->facts = reply.facts;
    out->refused = reply.refused;
    reply.message[sizeof reply.message - 1] = '\0';
    return reply.status ? kiln__fail((kiln_status)reply.status, "%s", reply.message) : KILN_OK;
}

void kiln__worker_stop(kiln__worker *worker) {
    atomic_store(&worker->stopped, true);
    shutdown(worker->fd, SHUT_RDWR);
}

void kiln__worker_end(kiln__worker *worker) {
    shutdown(worker->fd, SHUT_RDWR); /* which the worker sees, also where a forked child has the socket, too */
    close(worker->fd);
    if (worker->process >= 0) { /* also one that is stopped, or no worker; by its number another might be meant */
        syscall(SYS_pidfd_send_signal, worker->process, SIGKILL, NULL, 0);
        close(worker->process);
    }
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
