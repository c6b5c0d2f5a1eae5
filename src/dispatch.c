/* kiln_run: a shape seen before is found by comparing integers, without a lock; a new one is prepared once.
 * Tables only grow: a larger one replaces the old, which readers may still hold and which is freed with the context. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* Program, device, then per tensor one word of type, rank and alignment, its sizes and strides; per four scalars one
 * word. */
#define MAX_WORDS (2 + KILN_MAX_TENSORS * (1 + 2 * KILN_MAX_RANK) + (KILN_MAX_SCALARS + 3) / 4)
#define MAX_SHAPES 65536 /* of one context; beyond them each call prepares anew */

typedef struct entry {
    uint64_t hash;
    kiln__launch *launch;
    uint32_t word_count;
    uint64_t words[];
} entry;

typedef struct table {
    struct table *older;
    size_t capacity; /* a power of two, more than twice the entries */
    _Atomic(entry *) slots[];
} table;

struct kiln__dispatch {
    _Atomic(table *) current;
    size_t count; /* guarded by the context's lock */
};

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    return ((hash << 27 | hash >> 37) ^ word) * 0x9e3779b97f4a7c15u;
}

/* The words that tell one kernel, grid and argument from another. Bad tensors end here. */
static kiln_status encode(const kiln_program *program, int device, const kiln_tensor *tensors,
                          const kiln_scalar *scalars, uint64_t *words, uint32_t *count, uint64_t *hash) {
    const kiln__signature *s = &program->signature;
    uint32_t n = 0, tensor_count = s->input_count + s->output_count;
    words[n++] = program->id;
    words[n++] = (uint64_t)device;
    for (uint32_t t = 0; t < tensor_count; t++) {
        const kiln_tensor *tensor = &tensors[t];
        uint64_t address = (uintptr_t)tensor->data, low = (address | 16) & (~(address | 16) + 1);
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
        words[n++] = (uint64_t)tensor->type << 32 | (uint64_t)tensor->rank << 16 | low;
        for (int i = 0; i < tensor->rank; i++) {
            words[n++] = (uint64_t)tensor->sizes[i];
            words[n++] = (uint64_t)tensor->strides[i];
        }
    }
    for (uint32_t i = 0; i < s->scalar_count; i += 4) {
        uint64_t types = 0;
        for (uint32_t j = i; j < i + 4 && j < s->scalar_count; j++) types = types << 16 | (uint64_t)scalars[j].type;
        words[n++] = types;
    }
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = mix(h, words[i]);
    *hash = h ^ h >> 32;
    *count = n;
    return KILN_OK;
}

static kiln__launch *find(const kiln__dispatch *dispatch, const uint64_t *words, uint32_t count, uint64_t hash) {
    table *t = atomic_load_explicit(&dispatch->current, memory_order_acquire);
    if (!t) return NULL;
    for (size_t i = hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e) return NULL;
        if (e->hash == hash && e->word_count == count && !memcmp(e->words, words, count * sizeof *words))
            return e->launch;
    }
}

static void place(table *t, entry *e) {
    size_t i = e->hash & (t->capacity - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed)) i = (i + 1) & (t->capacity - 1);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
}

/* With the context's lock held. False where memory ran out or the table is full. */
static bool insert(kiln__dispatch *dispatch, entry *e) {
    table *t = atomic_load_explicit(&dispatch->current, memory_order_relaxed);
    if (dispatch->count >= MAX_SHAPES) return false;
    if (!t || 2 * (dispatch->count + 1) > t->capacity) {
        size_t capacity = t ? 2 * t->capacity : 64;
        table *larger = calloc(1, sizeof *larger + capacity * sizeof *larger->slots);
        if (!larger) return false;
        larger->older = t;
        larger->capacity = capacity;
        for (size_t i = 0; t && i < t->capacity; i++) {
            entry *old = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
            if (old) place(larger, old);
        }
        atomic_store_explicit(&dispatch->current, larger, memory_order_release);
        t = larger;
    }
    place(t, e);
    dispatch->count++;
    return true;
}

/* Keeps the launch for later calls; another thread may have been first, then its launch stays. True if it was kept. */
static bool keep(kiln_context *context, kiln__launch *launch, const uint64_t *words, uint32_t count, uint64_t hash) {
    entry *e = malloc(sizeof *e + count * sizeof *words);
    if (!e) return false;
    e->hash = hash;
    e->launch = launch;
    e->word_count = count;
    memcpy(e->words, words, count * sizeof *words);
    kiln__dispatch *dispatch = context->dispatch;
    pthread_mutex_lock(&context->lock);
    bool kept = !find(dispatch, words, count, hash) && insert(dispatch, e);
    pthread_mutex_unlock(&context->lock);
    if (!kept) free(e);
    return kept;
}

static kiln_status run_new(const kiln_program *program, const kiln_tensor *tensors, void *const *data,
                           const kiln_scalar *scalars, void *stream, const uint64_t *words, uint32_t count,
                           uint64_t hash) {
    kiln__launch *launch = NULL;
    kiln__prepared prepared;
    kiln__image image;
    kiln_status status = kiln__launch_prepare(program, tensors, scalars, &launch, &prepared, &image, NULL);
    if (status) return status;
    kiln__prepared_free(&prepared);
    kiln__image_free(&image);
    bool kept = keep(program->context, launch, words, count, hash);
    status = kiln__launch_run(launch, data, scalars, NULL, stream);
    if (!kept) free(launch);
    return status;
}

kiln_status kiln_run(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                     const kiln_scalar *scalars, size_t scalar_count, void *stream) {
    kiln__clear_error();
    kiln_status status = kiln__program_check_counts(program, tensors, tensor_count, scalars, scalar_count);
    if (status) return status;
    kiln__context_enter(program->context);
    const kiln__driver *driver;
    kiln__CUdevice device;
    status = kiln__context_driver(program->context, &driver);
    if (status) return status;
    kiln__CUresult result = driver->CtxGetDevice(&device);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_CONTEXT, result, "cuCtxGetDevice");
    uint64_t words[MAX_WORDS], hash = 0;
    uint32_t count = 0;
    void *data[KILN_MAX_TENSORS];
    status = encode(program, device, tensors, scalars, words, &count, &hash);
    if (status) return status;
    for (size_t t = 0; t < tensor_count; t++) data[t] = tensors[t].data;
    const kiln__launch *launch = find(program->context->dispatch, words, count, hash);
    return launch ? kiln__launch_run(launch, data, scalars, NULL, stream)
                  : run_new(program, tensors, data, scalars, stream, words, count, hash);
}

kiln__dispatch *kiln__dispatch_create(void) { return calloc(1, sizeof(kiln__dispatch)); }

void kiln__dispatch_clear(kiln__dispatch *dispatch) {
    table *t = atomic_load(&dispatch->current);
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *e = atomic_load(&t->slots[i]);
        if (e) free(e->launch);
        free(e);
    }
    while (t) {
        table *older = t->older;
        free(t);
        t = older;
    }
    atomic_store(&dispatch->current, NULL);
    dispatch->count = 0;
}

void kiln__dispatch_destroy(kiln__dispatch *dispatch) {
    if (dispatch) kiln__dispatch_clear(dispatch);
    free(dispatch);
}
