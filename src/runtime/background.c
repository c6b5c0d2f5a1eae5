/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/background.h"

#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 4
#define NICE 10 /* of the threads: what is compiled is not waited for */

/* Guarded by the context's lock while it is in one of the rings. */
typedef struct job {
    kiln__ring link; /* among those that wait, or that are done */
    kiln__awaited *awaited;
    const kiln_program *program;
    int attempt; /* from which on */
    bool dependent;
    kiln__device device;
    kiln__image image; /* of one that is done */
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln_tensor tensors[];
} job;

void kiln__awaited_release(kiln__awaited *awaited) {
    if (awaited && atomic_fetch_sub(&awaited->references, 1) == 1) free(awaited);
}

static void free_job(job *j) {
    kiln__image_free(&j->image);
    kiln__program_release(j->program);
    kiln__awaited_release(j->awaited);
    free(j);
}

static void free_all(kiln__ring *jobs) {
    while (!kiln__ring_is_empty(jobs)) {
        job *j = KILN__OF_RING(jobs->next, job, link);
        kiln__ring_remove(&j->link);
        free_job(j);
    }
}

/* True where its kernel is there: in memory, by the bytes that the job has. */
static bool compile(job *j) {
    kiln__prepared *prepared = malloc(sizeof *prepared); /* large for a small stack */
    const kiln__call call = {.program = j->program,
                             .tensors = j->tensors,
                             .scalars = j->scalars,
                             .policy = KILN_POLICY_COMPILE,
                             .attempt = j->attempt,
                             .dependent = j->dependent};
    kiln__call within = call; /* so that its range's schedule is known to later calls, whose kernel may be there */
    within.range = true;
    if (prepared && !kiln__prepare_for(&within, &j->device, 0, prepared)) kiln__prepared_free(prepared);
    const bool compiled = prepared && !kiln__compile_for(&call, &j->device, prepared, &j->image);
    const bool exact = compiled && !prepared->any_shape && !prepared->most_cols;
    if (exact) atomic_store(&j->awaited->attempt, prepared->attempt);
    if (compiled) kiln__prepared_free(prepared);
    free(prepared);
    return exact;
}

/* A failure has been told to the log, and the kernel for any shape stays. */
static void run(kiln__ring *task) {
    job *j = KILN__OF_RING(task, job, link);
    kiln_context *context = j->program->context;
    if (!compile(j)) {
        free_job(j);
        return;
    }
    pthread_mutex_lock(&context->lock);
    kiln__ring_add(&context->background.done, &j->link);
    atomic_store(&j->awaited->done, true);
    pthread_mutex_unlock(&context->lock);
}

/* NVRTC compiles one kernel at a time: only where each has a process of its own do more threads help. */
static int most_threads(const kiln_context *context) { return context->compile_limit_ms ? MAX_THREADS : 1; }

/* Frees what is done and nobody will ask for: what stood in for it is gone. */
static void sweep(kiln_context *context) {
    kiln__ring gone, *done = &context->background.done;
    kiln__ring_init(&gone);
    pthread_mutex_lock(&context->lock);
    for (kiln__ring *link = done->next, *next; link != done; link = next) {
        next = link->next;
        if (atomic_load(&KILN__OF_RING(link, job, link)->awaited->references) > 1) continue;
        kiln__ring_remove(link);
        kiln__ring_add(&gone, link);
    }
    pthread_mutex_unlock(&context->lock);
    free_all(&gone);
}

kiln__awaited *kiln__background_start(const kiln__call *call, const kiln__device *device) {
    const kiln_program *program = call->program;
    kiln_context *context = program->context;
    const size_t tensors = program->signature.input_count + program->signature.output_count;
    sweep(context);
    job *j = calloc(1, sizeof *j + tensors * sizeof *j->tensors);
    kiln__awaited *awaited = calloc(1, sizeof *awaited);
    if (!j || !awaited) {
        free(j);
        free(awaited);
        return NULL;
    }
    atomic_init(&awaited->references, 2);
    j->awaited = awaited;
    j->program = program;
    j->attempt = call->attempt;
    j->dependent = call->dependent;
    j->device = *device;
    memcpy(j->tensors, call->tensors, tensors * sizeof *j->tensors);
    if (program->signature.scalar_count)
        memcpy(j->scalars, call->scalars, program->signature.scalar_count * sizeof *j->scalars);
    kiln__program_hold(program);
    pthread_mutex_lock(&context->lock);
    const bool good = kiln__threads_add(&context->background.threads, &j->link, most_threads(context));
    pthread_mutex_unlock(&context->lock);
    if (good) return awaited;
    free_job(j);
    kiln__awaited_release(awaited);
    return NULL;
}

void kiln__background_collect(kiln_context *context, const kiln__awaited *awaited) {
    job *found = NULL;
    pthread_mutex_lock(&context->lock);
    kiln__ring *done = &context->background.done;
    for (kiln__ring *link = done->next; link != done && !found; link = link->next)
        if (KILN__OF_RING(link, job, link)->awaited == awaited) found = KILN__OF_RING(link, job, link);
    if (found) kiln__ring_remove(&found->link);
    pthread_mutex_unlock(&context->lock);
    if (found) free_job(found);
}

void kiln__background_begin(kiln_context *context) {
    kiln__ring_init(&context->background.done);
    kiln__threads_begin(&context->background.threads, &context->lock, run, NICE);
}

void kiln__background_stop(kiln_context *context) {
    kiln__background *b = &context->background;
    pthread_mutex_lock(&context->lock);
    kiln__threads_stop(&b->threads); /* before what is compiled is cancelled, so that nobody takes another job */
    pthread_mutex_unlock(&context->lock);
    if (b->threads.count) kiln_context_cancel_compiles(context);
    kiln__threads_join(&b->threads);
    free_all(&b->threads.waiting);
    free_all(&b->done);
}

/* What waited is not freed: a thread of the parent's may have been about to take it. */
void kiln__background_forked(kiln_context *context) { kiln__background_begin(context); }
