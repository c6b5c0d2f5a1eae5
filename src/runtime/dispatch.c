/* SPDX-License-Identifier: Apache-2.0 */
/* kiln_run: a shape seen before is found by comparing integers, without a lock; a new one is prepared once.
 * Shapes are forgotten with their program, with the kernel that they launch, and the least recently used where there
 * are too many. Readers may still see what is forgotten, so it is retired, and freed once they are gone. */
#include <stdlib.h>
#include <string.h>

#include "runtime/background.h"

/* Program, device, which kernels and whether one that is launched early are asked for, then per tensor one
 * word of type, rank and alignment, its sizes and strides; per four scalars one word. */
#define MAX_WORDS (2 + KILN_MAX_TENSORS * (1 + 2 * KILN_MAX_RANK) + (KILN_MAX_SCALARS + 3) / 4)
#define MAX_SHAPES 65536 /* of one context */

/* What tells one kernel, grid and argument from another. */
typedef struct shape {
    uint64_t hash;
    uint32_t count;
    uint64_t words[MAX_WORDS];
} shape;

typedef struct entry {
    kiln__retired retired;
    kiln__ring of_program, of_kernel;
    uint64_t hash;
    kiln__launch *launch;
    _Atomic uint64_t used; /* by the context's clock */
    uint32_t word_count;
    uint64_t words[];
} entry;

typedef struct kiln__dispatch {
    kiln__retired retired;
    size_t capacity; /* a power of two, at least twice the slots in use */
    size_t living,
        filled; /* entries; slots in use, by entries or by what was forgotten; guarded by the context's lock */
    _Atomic(entry *) slots[];
} table;

/* Stands where an entry was, so that those behind it are still found. No shape has as few words. */
static entry forgotten;

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    return ((hash << 27 | hash >> 37) ^ word) * 0x9e3779b97f4a7c15u;
}

static inline uint64_t put(uint64_t **words, uint64_t hash, uint64_t word) {
    *(*words)++ = word;
    return mix(hash, word);
}

/* Which kernels a call asks for: exact ones, those for any shape, those for a range of columns. */
static unsigned kernels_of(kiln_policy policy) {
    return policy == KILN_POLICY_ANY_SHAPE ? 1 : policy == KILN_POLICY_RANGE ? 2 : 0;
}

/* Bad tensors end here. */
static kiln_status encode(const kiln_program *program, int device, unsigned variant, const kiln_tensor *tensors,
                          const kiln_scalar *scalars, shape *out) {
    const kiln__signature *s = &program->signature;
    uint64_t *words = out->words, h = put(&words, 0, program->id);
    const uint32_t tensor_count = s->input_count + s->output_count;
    h = put(&words, h, (uint64_t)variant << 32 | (uint32_t)device);
    for (uint32_t t = 0; t < tensor_count; t++) {
        const kiln_tensor *tensor = &tensors[t];
        uint64_t low = kiln__alignment_of(tensor->data);
        size_t size = kiln_type_size(tensor->type);
        if (!size)
            return kiln__fail(KILN_E_TYPE, "tensor '%s' has type number %d, which is no kiln_type", program->names[t],
                              (int)tensor->type);
        if (tensor->rank < 0 || tensor->rank > KILN_MAX_RANK)
            return kiln__fail(KILN_E_SHAPE, "tensor '%s' has rank %d, expected 0 to %d", program->names[t],
                              tensor->rank, KILN_MAX_RANK);
        if (low < size)
            return kiln__fail(KILN_E_POINTER, "the data pointer of tensor '%s' is %p, expected a multiple of %zu bytes",
                              program->names[t], tensor->data, size);
        h = put(&words, h, (uint64_t)tensor->type << 32 | (uint64_t)tensor->rank << 16 | low);
        for (int i = 0; i < tensor->rank; i++) {
            h = put(&words, h, (uint64_t)tensor->sizes[i]);
            h = put(&words, h, (uint64_t)tensor->strides[i]);
        }
    }
    for (uint32_t i = 0; i < s->scalar_count; i += 4) {
        uint64_t types = 0;
        for (uint32_t j = i; j < i + 4 && j < s->scalar_count; j++) types = types << 16 | (uint64_t)scalars[j].type;
        h = put(&words, h, types);
    }
    out->hash = h ^ h >> 32;
    out->count = (uint32_t)(words - out->words);
    return KILN_OK;
}

static entry *find(kiln_context *context, const shape *wanted) {
    table *t = atomic_load(&context->dispatch);
    if (!t) return NULL;
    for (size_t i = wanted->hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        entry *e = atomic_load(&t->slots[i]);
        if (!e) return NULL;
        if (e->hash == wanted->hash && e->word_count == wanted->count &&
            !memcmp(e->words, wanted->words, wanted->count * sizeof *e->words))
            return e;
    }
}

static inline void stamp(_Atomic uint64_t *used, uint64_t now) {
    if (atomic_load_explicit(used, memory_order_relaxed) != now) atomic_store_explicit(used, now, memory_order_relaxed);
}

/* Only what is new moves the clock, so that threads which launch what they have seen seldom write here. */
static void touch(const kiln_context *context, entry *e) {
    const uint64_t now = atomic_load_explicit(&context->clock, memory_order_relaxed);
    stamp(&e->used, now);
    stamp(&e->launch->kernel->used, now);
}

/* ---- what follows holds the context's lock ---- */

static void free_entry(kiln__retired *retired) {
    entry *e = (entry *)(void *)retired;
    kiln_context *context = e->launch->context;
    const size_t size = sizeof *e + e->word_count * sizeof *e->words;
    kiln__launch_free(e->launch);
    kiln__host_release(context, e, size);
}

static void free_table(kiln__retired *retired) { free(retired); }

static void place(table *t, entry *e) {
    size_t i = e->hash & (t->capacity - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed)) i = (i + 1) & (t->capacity - 1);
    atomic_store(&t->slots[i], e);
    t->living++;
    t->filled++;
}

static void forget(kiln_context *context, entry *e) {
    table *t = atomic_load_explicit(&context->dispatch, memory_order_relaxed);
    size_t i = e->hash & (t->capacity - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed) != e) i = (i + 1) & (t->capacity - 1);
    atomic_store(&t->slots[i], &forgotten);
    t->living--;
    e->launch->usage->shape_count--;
    kiln__ring_remove(&e->of_program);
    kiln__ring_remove(&e->of_kernel);
    e->retired.destroy = free_entry;
    kiln__readers_retire(&context->readers, &e->retired);
}

static int by_use(const void *a, const void *b) {
    uint64_t x = atomic_load_explicit(&(*(entry *const *)a)->used, memory_order_relaxed);
    uint64_t y = atomic_load_explicit(&(*(entry *const *)b)->used, memory_order_relaxed);
    if (x == y) return 0;
    return x < y ? -1 : 1;
}

/* An eighth at once: then the next time is many shapes away. How many; 0 without memory. */
static size_t forget_oldest(kiln_context *context, table *t) {
    entry **all = malloc(t->living * sizeof *all);
    size_t count = 0;
    if (!all) return 0;
    for (size_t i = 0; i < t->capacity; i++) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
        if (e && e != &forgotten) all[count++] = e;
    }
    qsort(all, count, sizeof *all, by_use);
    for (size_t i = 0; i < count / 8; i++) forget(context, all[i]);
    free(all);
    return count / 8;
}

/* A table with room for one more; NULL where memory ran out. *forgot: entries that had to go for it. */
static table *make_room(kiln_context *context, size_t *forgot) {
    table *t = atomic_load_explicit(&context->dispatch, memory_order_relaxed);
    if (t && t->living >= MAX_SHAPES && !(*forgot = forget_oldest(context, t))) return NULL;
    if (t && 2 * (t->filled + 1) <= t->capacity) return t;
    size_t capacity = 64, living = t ? t->living : 0;
    while (capacity < 4 * living) capacity *= 2;
    table *fresh = calloc(1, sizeof *fresh + capacity * sizeof *fresh->slots);
    if (!fresh) return NULL;
    fresh->capacity = capacity;
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
        if (e && e != &forgotten) place(fresh, e);
    }
    atomic_store(&context->dispatch, fresh);
    if (!t) return fresh;
    t->retired.destroy = free_table;
    kiln__readers_retire(&context->readers, &t->retired);
    return fresh;
}

/* The program's ring; in a forked child it starts anew. */
static kiln__ring *shapes_of(const kiln_program *program) {
    kiln__usage *usage = program->usage;
    if (usage->process != kiln__process()) {
        kiln__ring_init(&usage->shapes);
        usage->shape_count = 0;
    }
    usage->process = kiln__process();
    return &usage->shapes;
}

/* ---- without it ---- */

/* Keeps the launch for later calls; another thread may have been first, then its launch stays. True if it was kept. */
static bool keep(const kiln_program *program, kiln__launch *launch, const shape *seen) {
    kiln_context *context = program->context;
    size_t size = seen->count * sizeof *seen->words;
    entry *e = kiln__host_allocate(context, sizeof *e + size);
    size_t forgot = 0;
    if (!e) return false;
    e->hash = seen->hash;
    e->launch = launch;
    e->word_count = seen->count;
    memcpy(e->words, seen->words, size);
    pthread_mutex_lock(&context->lock);
    entry *known = find(context, seen);
    const bool supersedes =
        known && known->launch->stands_in &&
        (!launch->stands_in || launch->asked != known->launch->asked || launch->prepared != known->launch->prepared);
    table *t = known && !supersedes ? NULL : make_room(context, &forgot);
    if (t) {
        atomic_init(&e->used, atomic_fetch_add(&context->clock, 1) + 1);
        kiln__ring_add(shapes_of(program), &e->of_program);
        program->usage->shape_count++;
        kiln__ring_add(&launch->kernel->shapes, &e->of_kernel);
        place(t, e);
        known = supersedes ? find(context, seen) : NULL; /* unless it was the least recently used */
        if (known && known != e) forget(context, known);
    }
    kiln__readers_reclaim(&context->readers);
    pthread_mutex_unlock(&context->lock);
    if (forgot)
        kiln__log(&context->logger, KILN_LOG_INFO, "forgot the %zu shapes that were used least recently, of %d", forgot,
                  MAX_SHAPES);
    if (!t) kiln__host_release(context, e, sizeof *e + size);
    return t != NULL;
}

/* Whether the exact kernel, in whose place the launch stands, may be had now. A policy that may have it compiled asks
 * for it once, and again where it has been compiled in the background: *awaited, of which the caller then holds a
 * reference. Others ask again after each preparation. Not inlined: few launches stand in for others, and all calls come
 * by here. */
__attribute__((noinline)) static bool is_superseded(const kiln__launch *launch, kiln_policy policy,
                                                    kiln__awaited **awaited) {
    *awaited = NULL;
    if (policy == KILN_POLICY_NEVER_COMPILE) return launch->prepared != atomic_load(&launch->context->prepared);
    if (policy == KILN_POLICY_COMPILE) return launch->asked != KILN_POLICY_COMPILE;
    if (!launch->awaited) return launch->asked == KILN_POLICY_NEVER_COMPILE;
    if (!atomic_load(&launch->awaited->done) || !atomic_exchange(&launch->awaited->done, false)) return false;
    *awaited = launch->awaited;
    atomic_fetch_add(&launch->awaited->references, 1);
    return true;
}

static kiln_status run_new(const kiln__call *call, void *const *data, kiln__workspace workspace, void *stream,
                           const shape *seen) {
    kiln_context *context = call->program->context;
    kiln__launch *launch = NULL;
    kiln__image image;
    kiln__prepared *prepared = malloc(sizeof *prepared); /* large, and the driver wants stack, too */
    if (!prepared) return kiln__out_of_memory();
    kiln_status status = kiln__launch_prepare(call, &launch, prepared, &image, NULL);
    if (!status) {
        kiln__prepared_free(prepared);
        kiln__image_free(&image);
    }
    free(prepared);
    if (status) return status;
    kiln__kernel_entry *kernel = launch->kernel;
    if (!kiln__is_captured(launch->driver, stream)) kiln__kernels_trim(context, launch->driver, kernel->device);
    status = kiln__launch_run_with(launch, data, call->scalars, workspace, stream);
    if (!keep(call->program, launch, seen)) kiln__launch_free(launch);
    kiln__kernels_release(kernel);
    return status;
}

/* In the CUDA context that is current. Inlined into each of the next two, so that calls without options do not ask for
 * them. */
static inline __attribute__((always_inline)) kiln_status run(const kiln_program *program, const kiln_tensor *tensors,
                                                             size_t tensor_count, const kiln_scalar *scalars,
                                                             size_t scalar_count, void *stream,
                                                             const kiln_call_options *options) {
    kiln_status status = kiln__program_check_counts(program, tensors, tensor_count, scalars, scalar_count);
    if (status) return status;
    kiln_policy policy = program->context->policy;
    kiln__workspace workspace = {0};
    bool dependent = false;
    if (options && (status = kiln__call_options_read(options, &policy, &dependent, &workspace))) return status;
    kiln_context *context = program->context;
    kiln__context_enter(context);
    const kiln__driver *driver;
    kiln__CUdevice device;
    status = kiln__context_driver(context, &driver);
    if (status) return status;
    kiln__CUresult result = driver->CtxGetDevice(&device);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuCtxGetDevice");
    shape seen;
    void *data[KILN_MAX_TENSORS];
    status = encode(program, device, kernels_of(policy) + 4u * dependent, tensors, scalars, &seen);
    if (status) return status;
    for (size_t t = 0; t < tensor_count; t++) data[t] = tensors[t].data;
    int cancelled;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled); /* who is inside comes out */
    atomic_uint *inside = kiln__readers_enter(&context->readers);
    entry *known = find(context, &seen);
    kiln__awaited *awaited = NULL;
    if (known && known->launch->stands_in && is_superseded(known->launch, policy, &awaited)) known = NULL;
    if (known) {
        touch(context, known);
        status = workspace.memory ? kiln__launch_run_with(known->launch, data, scalars, workspace, stream)
                                  : kiln__launch_run(known->launch, data, scalars, NULL, stream);
    }
    kiln__readers_leave(inside);
    pthread_setcancelstate(cancelled, NULL);
    if (known) return status;
    const int attempt = awaited ? atomic_load(&awaited->attempt) : 0;
    const kiln__call call = {.program = program,
                             .tensors = tensors,
                             .scalars = scalars,
                             .policy = policy,
                             .attempt = attempt,
                             .dependent = dependent,
                             .hurries = policy == KILN_POLICY_BACKGROUND && !awaited};
    status = run_new(&call, data, workspace, stream, &seen);
    if (awaited) kiln__background_collect(context, awaited);
    kiln__awaited_release(awaited);
    return status;
}

static __attribute__((noinline)) kiln_status run_with(const kiln_program *program, const kiln_tensor *tensors,
                                                      size_t tensor_count, const kiln_scalar *scalars,
                                                      size_t scalar_count, void *stream,
                                                      const kiln_call_options *options) {
    return run(program, tensors, tensor_count, scalars, scalar_count, stream, options);
}

static kiln_status run_in_primary(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                  const kiln_scalar *scalars, size_t scalar_count, void *stream,
                                  const kiln_call_options *options) {
    kiln__current current;
    kiln__context_enter(program->context);
    kiln_status status = kiln__current_enter(program->context, &current);
    if (status) return status;
    status = run_with(program, tensors, tensor_count, scalars, scalar_count, stream, options);
    kiln__current_leave(&current);
    return status;
}

kiln_status kiln_run(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                     const kiln_scalar *scalars, size_t scalar_count, void *stream) {
    kiln__clear_error();
    if (program && program->context->uses_primary)
        return run_in_primary(program, tensors, tensor_count, scalars, scalar_count, stream, NULL);
    return run(program, tensors, tensor_count, scalars, scalar_count, stream, NULL);
}

kiln_status kiln_run_with_options(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                  const kiln_scalar *scalars, size_t scalar_count, void *stream,
                                  const kiln_call_options *options) {
    kiln__clear_error();
    if (program && program->context->uses_primary)
        return run_in_primary(program, tensors, tensor_count, scalars, scalar_count, stream, options);
    return run_with(program, tensors, tensor_count, scalars, scalar_count, stream, options);
}

/* ---- forgetting ---- */

void kiln__dispatch_forget(const kiln_program *program) {
    kiln_context *context = program->context;
    pthread_mutex_lock(&context->lock);
    kiln__ring *ring = shapes_of(program);
    while (!kiln__ring_is_empty(ring)) forget(context, KILN__OF_RING(ring->next, entry, of_program));
    kiln__readers_reclaim(&context->readers);
    pthread_mutex_unlock(&context->lock);
}

void kiln__dispatch_forget_kernel(kiln__kernel_entry *kernel) {
    while (!kiln__ring_is_empty(&kernel->shapes))
        forget(kernel->context, KILN__OF_RING(kernel->shapes.next, entry, of_kernel));
}

void kiln__dispatch_clear(kiln_context *context) {
    table *t = atomic_load(&context->dispatch);
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *e = atomic_load(&t->slots[i]);
        if (!e || e == &forgotten) continue;
        kiln__ring_remove(&e->of_kernel);
        free_entry(&e->retired);
    }
    free(t);
    atomic_store(&context->dispatch, NULL);
}

int64_t kiln__dispatch_count(const kiln_context *context) {
    const table *t = atomic_load_explicit(&context->dispatch, memory_order_relaxed);
    return t ? (int64_t)t->living : 0;
}

int64_t kiln__dispatch_count_of(const kiln_program *program) {
    shapes_of(program);
    return program->usage->shape_count;
}
