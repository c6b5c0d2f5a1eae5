/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles in a process of its own, kiln-worker, which ends when whoever asked gives up: after a time limit, or because
 * another thread stopped it. */
#ifndef KILN_JIT_WORKER_H
#define KILN_JIT_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "jit/nvrtc.h"

/* A worker that was started: one compile, then its end. */
typedef struct kiln__worker {
    int fd; /* a stream socket; what the worker has of it at its other end is its standard input */
    pid_t pid;
    int process; /* a descriptor of it; -1: the system has none */
    atomic_bool stopped;
} kiln__worker;

/* The worker's file: path (option), else KILN_WORKER, else beside this library, or where it is installed. KILN_E_IO
 * names what was tried. */
kiln_status kiln__worker_locate(const char *path, char *out, size_t size);

/* Starts the file, in a process group of its own; it closes whatever else this process left open. KILN_E_IO. */
kiln_status kiln__worker_start(const char *file, kiln__worker *out);

/* Compiles as kiln__nvrtc_compile does, with the NVRTC at nvrtc_path, within so many milliseconds (0: however long it
 * takes). KILN_E_TIMEOUT, KILN_E_CANCELLED where the worker was stopped; KILN_E_COMPILE where it ended by itself;
 * KILN_E_MEMORY and KILN_E_IO where its answer cannot be taken. */
kiln_status kiln__worker_compile(kiln__worker *worker, const char *nvrtc_path, const kiln__compile_request *request,
                                 int64_t limit_ms, kiln__compile_result *out);

/* Makes the compile end soon: the worker sees its socket closed. From any thread, before kiln__worker_end. */
void kiln__worker_stop(kiln__worker *worker);

/* Ends the worker, whatever it is doing, and waits for it. */
void kiln__worker_end(kiln__worker *worker);

/* What the worker's program does: serves the request that comes through the socket. Its exit status. */
int kiln__worker_serve(int fd);

#endif
