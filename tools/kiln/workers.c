/* SPDX-License-Identifier: Apache-2.0 */
/* One socket per worker: the caller sends a task's number, the worker sends its result. The end of the socket is the
 * end of the worker, whichever side it is on. */
#define _GNU_SOURCE
#include "workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct worker {
    pid_t pid; /* 0: not started */
    int socket;
    bool busy;
    size_t task;
    double start;
} worker;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The worker's life. */
static void serve(const worker_pool *pool, int socket) {
    size_t task;
    void *own = NULL;
    while (recv(socket, &task, sizeof task, MSG_WAITALL) == (ssize_t)sizeof task) {
        task_result result = {.status = KILN_OK};
        double start = now_s();
        if (!own && !(own = pool->begin(pool->user))) {
            result.status = KILN_E_INTERNAL;
            (void)snprintf(result.message, sizeof result.message, "%s", kiln_last_error());
        } else {
            pool->work(pool->user, own, task, &result);
        }
        result.ms = (now_s() - start) * 1e3;
        if (send(socket, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result) break;
    }
    _exit(0);
}

static kiln_status start(const worker_pool *pool, worker *workers, worker *w) {
    int ends[2];
    const pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        return kiln__fail(KILN_E_IO, "a worker process cannot be made: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        const int code = errno;
        close(ends[0]);
        close(ends[1]);
        return kiln__fail(KILN_E_IO, "a worker process cannot be made: %s", strerror(code));
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a hanging compiler does not outlive the tool */
        if (getppid() != parent) _exit(0);
        for (int i = 0; i < pool->jobs; i++) {
            if (workers[i].pid) close(workers[i].socket);
        }
        close(ends[0]);
        serve(pool, ends[1]);
    }
    close(ends[1]);
    *w = (worker){.pid = pid, .socket = ends[0]};
    return KILN_OK;
}

/* Waits for a process that has ended or was killed; the sentence about its end. */
static void reap(worker *w, char *sentence, size_t size) {
    int status = 0;
    close(w->socket);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status)) {
        (void)snprintf(sentence, size, "the compiler was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(sentence, size, "the compiler ended its process with exit code %d", WEXITSTATUS(status));
    }
    w->pid = 0;
}

static bool finish(const worker_pool *pool, worker *w, const task_result *result) {
    w->busy = false;
    return pool->done(pool->user, w->task, result);
}

/* The worker answered, or is gone. */
static bool take_answer(const worker_pool *pool, worker *w) {
    task_result result;
    if (recv(w->socket, &result, sizeof result, MSG_WAITALL) == (ssize_t)sizeof result) return finish(pool, w, &result);
    result = (task_result){.status = KILN_E_COMPILE, .ms = (now_s() - w->start) * 1e3};
    reap(w, result.message, sizeof result.message);
    return finish(pool, w, &result);
}

static bool stop_late(const worker_pool *pool, worker *w) {
    char end[128];
    task_result result = {.status = KILN_E_COMPILE, .ms = (now_s() - w->start) * 1e3};
    (void)snprintf(result.message, sizeof result.message, "the compiler took longer than %g seconds and was stopped",
                   pool->timeout_s);
    kill(w->pid, SIGKILL);
    reap(w, end, sizeof end);
    return finish(pool, w, &result);
}

/* Hands the next tasks to workers that have none; true while some are at work. */
static kiln_status hand_out(const worker_pool *pool, worker *workers, bool more, size_t *next, bool *working) {
    *working = false;
    for (int i = 0; i < pool->jobs; i++) {
        worker *w = &workers[i];
        if (more && !w->busy && *next < pool->count) {
            kiln_status status = w->pid ? KILN_OK : start(pool, workers, w);
            if (status) return status;
            w->task = (*next)++;
            w->start = now_s();
            w->busy = true;
            /* A worker that cannot be sent its task has ended, which reading from it will show. */
            if (send(w->socket, &w->task, sizeof w->task, MSG_NOSIGNAL) != (ssize_t)sizeof w->task)
                kill(w->pid, SIGKILL);
        }
        *working |= w->busy;
    }
    return KILN_OK;
}

/* Waits at most a tenth of a second for answers, and kills workers that are late. *more: false when all is done. */
static kiln_status wait_for_answers(const worker_pool *pool, worker *workers, struct pollfd *polled, bool *more) {
    for (int i = 0; i < pool->jobs; i++) {
        polled[i] = (struct pollfd){.fd = workers[i].busy ? workers[i].socket : -1, .events = POLLIN};
    }
    if (poll(polled, (nfds_t)pool->jobs, 100) < 0)
        return errno == EINTR ? KILN_OK
                              : kiln__fail(KILN_E_IO, "worker processes cannot be waited for: %s", strerror(errno));
    for (int i = 0; i < pool->jobs; i++) {
        worker *w = &workers[i];
        if (!w->busy) continue;
        if (polled[i].revents)
            *more &= take_answer(pool, w);
        else if (pool->timeout_s > 0 && now_s() - w->start > pool->timeout_s)
            *more &= stop_late(pool, w);
    }
    return KILN_OK;
}

kiln_status workers_run(const worker_pool *pool) {
    worker *workers = calloc((size_t)pool->jobs, sizeof *workers);
    struct pollfd *polled = calloc((size_t)pool->jobs, sizeof *polled);
    kiln_status status = workers && polled ? KILN_OK : kiln__out_of_memory();
    size_t next = 0;
    bool more = true, working = true;
    fflush(NULL); /* what is buffered is the caller's to write */
    while (!status && working) {
        status = hand_out(pool, workers, more, &next, &working);
        if (!status && working) status = wait_for_answers(pool, workers, polled, &more);
        if (!status) pool->tick(pool->user);
    }
    for (int i = 0; workers && i < pool->jobs; i++) {
        char end[128];
        if (!workers[i].pid) continue;
        kill(workers[i].pid, SIGKILL);
        reap(&workers[i], end, sizeof end);
    }
    free(workers);
    free(polled);
    return status;
}
