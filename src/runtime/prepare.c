/* SPDX-License-Identifier: Apache-2.0 */
/* kiln_prepare: each problem is a task of the preparation's threads. It is planned first, which tells the kernel's
 * name; of the problems that have one name the first obtains the kernel, and the others come back when it is there, so
 * that no thread waits for another. */
#define _GNU_SOURCE
#include "runtime/prepare.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit/worker.h"

/* Guarded by the preparation's lock, but for what the thread that runs it has to itself. */
typedef struct task {
    kiln__ring link; /* among those that wait */
    kiln__hash_link by_name;
    struct task *followers, *next; /* that have the same kernel, while it is obtained */
    kiln_preparation *of;
    kiln_tensor *tensors; /* and behind them the scalars */
    kiln__call call;      /* program NULL: not held */
    kiln__device device;
    bool given_arch, planned;
    char *error; /* result.error, or NULL */
    kiln_prepare_result result;
} task;

struct kiln_preparation {
    kiln__ring link;       /* among the context's, guarded by its lock */
    kiln_context *context; /* NULL: destroyed */
    kiln__compile_group group;
    kiln_prepare_options options;
    int process;
    double start;
    pthread_mutex_t telling; /* held while the callback is called */
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t finished;
    kiln__threads threads;
    kiln__hash leaders;
    size_t total, done, told, failed, compiled;
    task tasks[];
};

static bool is_cancelled(const kiln_preparation *p) { return atomic_load(&p->group.cancels) != 0; }

/* ---- one problem ---- */

/* Keeps the thread's error. */
static void fail(task *t, kiln_status status) {
    t->result.status = status;
    t->error = strdup(kiln_last_error());
    t->result.error = t->error ? t->error : "the host's memory ran out";
}

/* In this order a child that is forked meanwhile frees nothing twice. */
static void let_go(task *t) {
    const kiln_program *program = t->call.program;
    kiln_tensor *tensors = t->tensors;
    t->call.program = NULL;
    t->tensors = NULL;
    if (program) kiln__program_release(program);
    free(tensors);
}

/* A number for each kernel. Two that share one are obtained one after the other, and nothing else is wrong then. */
static kiln_status plan(const task *t, uint64_t *name) {
    const kiln__call *call = &t->call;
    kiln__key key = {0};
    kiln__prepared *prepared = malloc(sizeof *prepared); /* large for a small stack */
    if (!prepared) return kiln__out_of_memory();
    kiln_status status = call->policy == KILN_POLICY_ANY_SHAPE
                             ? kiln__prepare_any_shape_for(call, t->device.arch, prepared)
                             : kiln__prepare_for(call, &t->device, 0, prepared);
    if (!status) {
        status = kiln__prepared_name(prepared, t->device.arch, false, &key);
        kiln__prepared_free(prepared);
    }
    if (!status) *name = kiln__name_hash(&key);
    kiln__key_free(&key);
    free(prepared);
    return status;
}

/* False: another task obtains the kernel, and this one is run again after that. */
static bool lead(task *t) {
    kiln_preparation *p = t->of;
    uint64_t name = 0;
    kiln_status status = plan(t, &name);
    t->planned = true;
    if (status) {
        fail(t, status);
        return true;
    }
    pthread_mutex_lock(&p->lock);
    kiln__hash_link *known = kiln__hash_find(&p->leaders, name);
    task *leader = known ? KILN__OF_RING(known, task, by_name) : NULL;
    const bool waits = leader && !leader->result.done;
    if (waits) {
        t->next = leader->followers;
        leader->followers = t;
    } else if (!leader)
        kiln__hash_add(&p->leaders, &t->by_name, name);
    pthread_mutex_unlock(&p->lock);
    return !waits;
}

static void obtain(task *t) {
    kiln__image image;
    kiln__prepared *prepared = malloc(sizeof *prepared);
    kiln_status status = KILN_E_MEMORY;
    if (!prepared)
        kiln__out_of_memory();
    else if (t->given_arch)
        status = kiln__compile_call(&t->call, &t->device, false, prepared, &image);
    else
        status = kiln__compile_for(&t->call, &t->device, prepared, &image);
    if (status)
        fail(t, status);
    else {
        t->result.origin = image.origin;
        t->result.any_shape = prepared->any_shape;
        if (image.origin != KILN_ORIGIN_PACK) kiln__kernels_keep_bytes(t->of->context, &image);
        kiln__prepared_free(prepared);
        kiln__image_free(&image);
    }
    free(prepared);
}

/* ---- all of them ---- */

static void log_end(const kiln_preparation *p) {
    kiln__log(&p->context->logger, KILN_LOG_INFO, "prepared %zu problems in %.1f ms: %zu compiled, %zu failed",
              p->total, kiln__now_ms() - p->start, p->compiled, p->failed);
}

/* Tells of the task, and lets those come back that waited for its kernel. */
static void finish(task *t) {
    kiln_preparation *p = t->of;
    let_go(t);
    pthread_mutex_lock(&p->telling);
    pthread_mutex_lock(&p->lock);
    t->result.done = 1;
    p->failed += t->result.status != KILN_OK;
    p->compiled += !t->result.status && t->result.origin == KILN_ORIGIN_COMPILED;
    const size_t done = ++p->done;
    while (t->followers) {
        task *follower = t->followers;
        t->followers = follower->next;
        kiln__threads_add(&p->threads, &follower->link, p->threads.count); /* this one is among them */
    }
    pthread_mutex_unlock(&p->lock);
    if (p->options.callback) p->options.callback(p->options.user, done, p->total, &t->result);
    if (done == p->total) {
        atomic_fetch_add(&p->context->prepared, 1);
        log_end(p);
    }
    pthread_mutex_unlock(&p->telling);
    pthread_mutex_lock(&p->lock);
    if (++p->told == p->total) {
        kiln__threads_stop(&p->threads);
        pthread_cond_broadcast(&p->finished);
    }
    pthread_mutex_unlock(&p->lock);
}

static void run(kiln__ring *link) {
    task *t = KILN__OF_RING(link, task, link);
    const double start = kiln__now_ms();
    if (!t->result.status && is_cancelled(t->of))
        fail(t, kiln__fail(KILN_E_CANCELLED, "the preparation was cancelled before this problem's turn"));
    if (!t->result.status && !t->planned && !lead(t)) return;
    if (!t->result.status) obtain(t);
    t->result.ms = kiln__now_ms() - start;
    finish(t);
}

/* ---- its beginning ---- */

/* What is wrong with a problem is that problem's affair. */
static kiln_status take_problem(kiln_preparation *p, const kiln_problem *given, const kiln__device *current, task *t) {
    kiln_status status = KILN_OK;
    const bool another = given->program && given->program->context != p->context;
    if (another) return kiln__fail(KILN_E_ARGUMENT, "the program belongs to another context");
    if (given->reserved) return kiln__fail(KILN_E_ARGUMENT, "kiln_problem.reserved is %d, expected 0", given->reserved);
    t->given_arch = given->arch != 0;
    status =
        kiln__compile_check(given->program, given->tensors, given->tensor_count, given->scalars, given->scalar_count,
                            t->given_arch ? given->arch : current->arch, given->options, &t->call);
    if (status) {
        t->call.program = NULL;
        return status;
    }
    kiln__program_hold(t->call.program);
    const bool own = t->call.policy == KILN_POLICY_ANY_SHAPE || t->call.policy == KILN_POLICY_RANGE;
    if (!own) t->call.policy = KILN_POLICY_COMPILE;
    t->call.group = &p->group;
    t->device = t->given_arch ? kiln__device_typical(given->arch) : *current;
    const size_t tensor_bytes = given->tensor_count * sizeof *given->tensors;
    const size_t scalar_bytes = given->scalar_count * sizeof *given->scalars;
    if (!(t->tensors = malloc(tensor_bytes + scalar_bytes + 1))) return kiln__out_of_memory();
    kiln_scalar *scalars = (kiln_scalar *)(void *)((char *)t->tensors + tensor_bytes);
    if (tensor_bytes) memcpy(t->tensors, given->tensors, tensor_bytes);
    if (scalar_bytes) memcpy(scalars, given->scalars, scalar_bytes);
    t->call.tensors = t->tensors;
    t->call.scalars = scalars;
    return KILN_OK;
}

/* The numbers of the device that calls of this thread launch on. */
static kiln_status read_device(kiln_context *context, kiln__device *out) {
    kiln__current current;
    const kiln__driver *driver;
    kiln__CUdevice device;
    kiln_status status = kiln__context_driver(context, &driver);
    if (!status) status = kiln__current_enter(context, &current);
    if (status) return status;
    const kiln__CUresult result = driver->CtxGetDevice(&device);
    if (result)
        status = kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuCtxGetDevice");
    else
        status = kiln__context_device(context, driver, device, out);
    if (!status && out->arch < 80)
        status = kiln__fail(KILN_E_UNSUPPORTED, "the device has compute capability %d.%d, expected 8.0 or newer",
                            out->arch / 10, out->arch % 10);
    kiln__current_leave(&current);
    return status;
}

static kiln_status read_options(const kiln_prepare_options *given, size_t count, kiln_prepare_options *options) {
    *options = (kiln_prepare_options)KILN_PREPARE_OPTIONS_INIT;
    if (given) {
        kiln_status status =
            kiln__check_struct_size("kiln_prepare_options", given->struct_size, 2 * sizeof(size_t), sizeof *options);
        if (status) return status;
        memcpy(options, given, given->struct_size);
    }
    if (options->jobs < 0 || options->jobs > KILN__MAX_THREADS || options->reserved)
        return kiln__fail(KILN_E_ARGUMENT, "kiln_prepare_options.jobs is %d and reserved %d, expected 0 to %d, and 0",
                          options->jobs, options->reserved, KILN__MAX_THREADS);
    const int processors = kiln__processors();
    if (!options->jobs) options->jobs = processors;
    if (options->jobs > KILN__MAX_THREADS) options->jobs = KILN__MAX_THREADS;
    if ((size_t)options->jobs > count) options->jobs = count ? (int)count : 1;
    return KILN_OK;
}

/* A condition that waits by a clock which nobody sets. */
static bool make_finished(pthread_cond_t *finished) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic)) return false;
    const bool made =
        !pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) && !pthread_cond_init(finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return made;
}

static kiln_preparation *make(kiln_context *context, size_t count, const kiln_prepare_options *options) {
    if (count > (SIZE_MAX - sizeof(kiln_preparation)) / sizeof(task)) return NULL;
    kiln_preparation *p = calloc(1, sizeof *p + count * sizeof *p->tasks);
    if (!p) return NULL;
    if (!make_finished(&p->finished)) {
        free(p);
        return NULL;
    }
    p->context = context;
    p->options = *options;
    p->process = kiln__process();
    p->start = kiln__now_ms();
    p->total = count;
    kiln__ring_init(&p->link);
    pthread_mutex_init(&p->telling, NULL);
    pthread_mutex_init(&p->lock, NULL);
    kiln__threads_begin(&p->threads, &p->lock, run, 0);
    return p;
}

static void set_worker_use(kiln_preparation *p) {
    char *file = malloc(4096);
    p->group.in_workers = p->options.jobs > 1 && file && !kiln__worker_locate(p->context->worker_path, file, 4096);
    if (p->options.jobs > 1 && !p->group.in_workers)
        kiln__log(&p->context->logger, KILN_LOG_INFO,
                  "kernels are prepared in this process, where NVRTC compiles one "
                  "at a time: %s",
                  kiln_last_error());
    kiln__clear_error();
    free(file);
}

/* False: no thread can be had. */
static bool begin(kiln_preparation *p) {
    bool good = true;
    pthread_mutex_lock(&p->context->lock);
    kiln__ring_add(&p->context->preparations, &p->link);
    pthread_mutex_unlock(&p->context->lock);
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->total && good; i++)
        good = kiln__threads_add(&p->threads, &p->tasks[i].link, p->options.jobs);
    pthread_mutex_unlock(&p->lock);
    return good;
}

kiln_status kiln_prepare(kiln_context *context, const kiln_problem *problems, size_t problem_count,
                         const kiln_prepare_options *given, kiln_preparation **out) {
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_preparation pointer");
    *out = NULL;
    if (!context || (!problems && problem_count))
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "problems" : "context");
    kiln_prepare_options options;
    kiln__device current = {0};
    bool asks_current = false;
    kiln_status status = read_options(given, problem_count, &options);
    if (status) return status;
    kiln__context_enter(context);
    for (size_t i = 0; i < problem_count; i++) asks_current |= problems[i].arch == 0;
    if (asks_current && (status = read_device(context, &current))) return status;
    kiln_preparation *p = make(context, problem_count, &options);
    if (!p) return kiln__out_of_memory();
    for (size_t i = 0; i < problem_count; i++) {
        task *t = &p->tasks[i];
        kiln__ring_init(&t->link);
        t->of = p;
        t->result = (kiln_prepare_result)KILN_PREPARE_RESULT_INIT;
        t->result.index = i;
        t->result.error = "";
        status = take_problem(p, &problems[i], &current, t);
        if (status) fail(t, status);
    }
    kiln__clear_error();
    set_worker_use(p);
    if (!begin(p)) {
        kiln_prepare_destroy(p);
        return kiln__fail(KILN_E_MEMORY, "no thread can be had to prepare kernels in");
    }
    *out = p;
    return KILN_OK;
}

/* ---- its end ---- */

/* In a child the preparation's locks may be held by threads that it does not have. */
static bool is_forked(const kiln_preparation *p) { return p->process != kiln__process(); }

static struct timespec after(int64_t ms) {
    struct timespec at;
    const int64_t most = INT64_C(1000) * 3600 * 24 * 365;
    if (ms > most) ms = most;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* The first that failed, in the list's order. */
static kiln_status status_of(const kiln_preparation *p) {
    size_t first = 0;
    while (first < p->total && !p->tasks[first].result.status) first++;
    if (first == p->total) return KILN_OK;
    const kiln_prepare_result *result = &p->tasks[first].result;
    if (result->status == KILN_E_MEMORY) return kiln__fail(result->status, "%s", result->error); /* of no problem's */
    return kiln__fail(result->status, "problem %zu, the first of %zu that failed among %zu: %s", first, p->failed,
                      p->total, result->error);
}

kiln_status kiln_prepare_wait(kiln_preparation *p, int64_t timeout_ms, int *finished) {
    int cancelled, code = 0;
    kiln__clear_error();
    if (!p) return kiln__fail(KILN_E_ARGUMENT, "preparation is NULL");
    if (is_forked(p)) {
        if (finished) *finished = 1;
        return kiln__fail(KILN_E_CANCELLED, "the preparation was begun before a fork; a child process begins its own");
    }
    const struct timespec end = after(timeout_ms < 0 ? 0 : timeout_ms);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
    pthread_mutex_lock(&p->lock);
    while (p->told < p->total && code != ETIMEDOUT)
        code = timeout_ms < 0 ? pthread_cond_wait(&p->finished, &p->lock)
                              : pthread_cond_timedwait(&p->finished, &p->lock, &end);
    const bool all = p->told == p->total;
    pthread_mutex_unlock(&p->lock);
    pthread_setcancelstate(cancelled, NULL);
    if (finished) *finished = all;
    return all ? status_of(p) : KILN_OK;
}

kiln_status kiln_prepare_get_progress(const kiln_preparation *preparation, size_t *done, size_t *total) {
    kiln__clear_error();
    if (!preparation) return kiln__fail(KILN_E_ARGUMENT, "preparation is NULL");
    kiln_preparation *p = (kiln_preparation *)preparation; /* made by us, and not const */
    const bool forked = is_forked(p);
    if (!forked) pthread_mutex_lock(&p->lock);
    if (done) *done = forked ? p->total : p->done;
    if (total) *total = p->total;
    if (!forked) pthread_mutex_unlock(&p->lock);
    return KILN_OK;
}

kiln_status kiln_prepare_get_result(const kiln_preparation *preparation, size_t index, kiln_prepare_result *result) {
    kiln__clear_error();
    if (!preparation || !result)
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", preparation ? "result" : "preparation");
    const size_t size = result->struct_size;
    kiln_status status = kiln__check_struct_size("kiln_prepare_result", size, sizeof *result, sizeof *result);
    if (status) return status;
    if (index >= preparation->total)
        return kiln__fail(KILN_E_ARGUMENT, "problem %zu is asked for, expected one of %zu", index, preparation->total);
    kiln_preparation *p = (kiln_preparation *)preparation; /* made by us, and not const */
    const task *t = &p->tasks[index];
    kiln_prepare_result all = KILN_PREPARE_RESULT_INIT;
    all.index = index;
    all.error = "";
    if (is_forked(p)) {
        all.done = 1;
        all.status = KILN_E_CANCELLED;
        all.error = "the preparation was begun before a fork";
    } else {
        pthread_mutex_lock(&p->lock);
        if (t->result.done) all = t->result;
        pthread_mutex_unlock(&p->lock);
    }
    memcpy(result, &all, size);
    return KILN_OK;
}

void kiln_prepare_cancel(kiln_preparation *p) {
    kiln__clear_error();
    if (p && p->context && !is_forked(p)) kiln__compiles_cancel(p->context, &p->group);
}

void kiln__preparations_visit(kiln_context *context, void visit(kiln_context *context, kiln__compile_group *group)) {
    for (kiln__ring *link = context->preparations.next; link != &context->preparations; link = link->next)
        visit(context, &KILN__OF_RING(link, kiln_preparation, link)->group);
}

/* The last task ends the threads. Afterwards the context does not know the preparation any more. */
static void end(kiln_preparation *p) {
    kiln_context *context = p->context;
    if (!context) return;
    kiln__compiles_cancel(context, &p->group);
    kiln__threads_join(&p->threads);
    pthread_mutex_lock(&context->lock);
    kiln__ring_remove(&p->link);
    pthread_mutex_unlock(&context->lock);
    p->context = NULL;
}

void kiln__preparations_end(kiln_context *context) {
    while (!kiln__ring_is_empty(&context->preparations))
        end(KILN__OF_RING(context->preparations.next, kiln_preparation, link));
}

void kiln_prepare_destroy(kiln_preparation *p) {
    if (!p) return;
    const bool forked = is_forked(p);
    if (!forked) end(p);
    for (size_t i = 0; i < p->total; i++) {
        let_go(&p->tasks[i]);
        free(p->tasks[i].error);
    }
    if (!forked) {
        kiln__hash_free(&p->leaders);
        pthread_cond_destroy(&p->finished);
        pthread_mutex_destroy(&p->telling);
        pthread_mutex_destroy(&p->lock);
    }
    free(p);
}
