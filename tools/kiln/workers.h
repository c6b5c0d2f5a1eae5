/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of worker processes for work that may crash or hang: each task that does so costs itself alone. */
#ifndef KILN_TOOL_WORKERS_H
#define KILN_TOOL_WORKERS_H

#include <stdbool.h>

#include "base/status.h"

/* What a task came to, sent from the worker as it is. */
typedef struct task_result {
    kiln_status status;
    bool compiled; /* false: it was there already */
    double ms;
    char message[1024]; /* the sentence of a failure, cut to fit */
} task_result;

typedef struct worker_pool {
    int jobs;         /* processes */
    double timeout_s; /* per task; 0: none */
    size_t count;     /* tasks: 0 to count - 1 */
    void *user;
    /* In a worker, once before its first task: NULL where it fails, with the thread's error set. */
    void *(*begin)(void *user);
    void (*work)(void *user, void *own, size_t task, task_result *result); /* in a worker */
    bool (*done)(void *user, size_t task, const task_result *result);      /* in the caller; false: hand out no more */
    void (*tick)(void *user);                                              /* in the caller, ten times a second */
} worker_pool;

/* Forks, so the caller has no threads. Returns when all tasks that were handed out are done. A worker that dies
 * gives its task KILN_E_COMPILE with the signal's name, one that takes too long is killed. KILN_E_IO where no
 * process can be made. */
kiln_status workers_run(const worker_pool *pool);

#endif
