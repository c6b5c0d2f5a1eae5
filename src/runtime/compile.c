/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles of a context: in this process, or, where they have a time limit, in workers, which may be ended. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/prepare.h"
#include "jit/worker.h"

/* One that a thread waits for; in the context's list while others may stop it. */
typedef struct compiling {
    kiln__ring link;
    const kiln__compile_group *group;
    kiln__worker worker;
} compiling;

kiln_status kiln__compile_limit_set(kiln_context *context, const kiln_context_options *options) {
    const char *text = options->compile_limit_ms ? NULL : secure_getenv("KILN_COMPILE_LIMIT");
    char *end = NULL;
    context->compile_limit_ms = text && *text ? strtoll(text, &end, 10) : options->compile_limit_ms;
    if ((end && *end) || context->compile_limit_ms < 0)
        return kiln__fail(KILN_E_ARGUMENT,
                          "the time limit of compiles is '%s' (%lld), expected milliseconds from 1 up, or 0 for none",
                          text ? text : "compile_limit_ms", (long long)context->compile_limit_ms);
    if (!options->worker_path) return KILN_OK;
    context->worker_path = strdup(options->worker_path);
    return context->worker_path ? KILN_OK : kiln__out_of_memory();
}

static kiln_status cancelled(const char *name) {
    return kiln__fail(KILN_E_CANCELLED, "the compile of '%s' was cancelled", name);
}

static kiln_status compile_in_worker(kiln_context *context, const kiln__image *image, const kiln__nvrtc *nvrtc,
                                     const kiln__compile_request *request, kiln__compile_result *out) {
    char file[4096];
    compiling c = {.group = image->group};
    *out = (kiln__compile_result){0};
    kiln_status status = kiln__worker_locate(context->worker_path, file, sizeof file);
    if (!status) status = kiln__worker_start(file, &c.worker);
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    const bool stale = kiln__image_cancelled(image);
    if (!stale) kiln__ring_add(&context->compiling, &c.link);
    pthread_mutex_unlock(&context->lock);
    status = stale ? cancelled(request->name)
                   : kiln__worker_compile(&c.worker, nvrtc->identity.path, request, context->compile_limit_ms, out);
    pthread_mutex_lock(&context->lock);
    if (!stale) kiln__ring_remove(&c.link);
    pthread_mutex_unlock(&context->lock);
    kiln__worker_end(&c.worker);
    return status;
}

kiln_status kiln__context_compile(kiln_context *context, const kiln__image *image, const kiln__nvrtc *nvrtc,
                                  const kiln__compile_request *request, kiln__compile_result *out) {
    kiln_status status = KILN_E_IO;
    *out = (kiln__compile_result){0};
    if (kiln__image_cancelled(image)) return cancelled(request->name);
    if (context->compile_limit_ms || image->group->in_workers)
        status = compile_in_worker(context, image, nvrtc, request, out);
    if (status != KILN_E_IO || context->compile_limit_ms) return status;
    kiln__clear_error(); /* a worker is a means to speed here, which this process does without */
    kiln__compile_result_free(out);
    return kiln__nvrtc_compile(nvrtc, request, out);
}

/* With the lock held. */
static void cancel_group(kiln_context *context, kiln__compile_group *group) {
    atomic_fetch_add(&group->cancels, 1);
    for (kiln__ring *link = context->compiling.next; link != &context->compiling; link = link->next) {
        compiling *c = KILN__OF_RING(link, compiling, link);
        if (c->group == group) kiln__worker_stop(&c->worker);
    }
}

void kiln__compiles_cancel(kiln_context *context, kiln__compile_group *group) {
    pthread_mutex_lock(&context->lock);
    cancel_group(context, group ? group : &context->compiles);
    if (!group) kiln__preparations_visit(context, cancel_group);
    pthread_cond_broadcast(&context->obtained);
    pthread_mutex_unlock(&context->lock);
}

void kiln_context_cancel_compiles(kiln_context *context) {
    kiln__clear_error();
    if (!context) return;
    kiln__context_enter(context);
    kiln__compiles_cancel(context, NULL);
}

/* ---- what took too long, for other contexts and processes that share the disk cache ---- */

enum { name_size = 5 + 32 + 1 };

static void name_slow(const kiln__key *key, char name[name_size]) {
    static const char digits[] = "0123456789abcdef";
    char *at = name + 5;
    memcpy(name, KILN__PASSING_PREFIX, 5);
    for (int i = 0; i < 16; i++) {
        *at++ = digits[key->digest[i] >> 4];
        *at++ = digits[key->digest[i] & 15];
    }
    *at = '\0';
}

kiln_status kiln__slow_check(const kiln_context *context, const kiln__key *key, const char *what) {
    char name[name_size];
    int64_t limit;
    size_t size = sizeof limit;
    name_slow(key, name);
    if (!context->compile_limit_ms || !context->disk || !kiln__disk_record_get(context->disk, name, &limit, &size) ||
        size != sizeof limit || limit < context->compile_limit_ms)
        return KILN_OK;
    return kiln__fail(KILN_E_TIMEOUT,
                      "the kernel for '%s' took longer than %lld ms to compile before; the limit is %lld ms", what,
                      (long long)limit, (long long)context->compile_limit_ms);
}

void kiln__slow_remember(const kiln_context *context, const kiln__key *key) {
    char name[name_size];
    name_slow(key, name);
    if (context->disk) kiln__disk_record_put(context->disk, name, &context->compile_limit_ms, sizeof(int64_t));
}
