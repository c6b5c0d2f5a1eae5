/* kiln_run: a shape seen before is found by comparing integers, without a lock; a new one is prepared once.
 * A full table is replaced by one without the shapes of destroyed programs; readers may still hold the old one, which is
 * freed with the context. */
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* Program, device, then per tensor one word of type, rank and alignment, its sizes and strides; per four scalars one
 * word. */
#define MAX_WORDS (2 + KILN_MAX_TENSORS * (1 + 2 * KILN_MAX_RANK) + (KILN_MAX_SCALARS + 3) / 4)
#define MAX_SHAPES 65536 /* of one context; beyond them each call prepares anew */

/* What tells one kernel, grid and argument from another. */
typedef struct shape {
    uint64_t hash;
    uint32_t count;
    uint64_t words[MAX_WORDS];
} shape;

typedef struct entry {
    struct entry *next; /* among those that were left out of a table */
    uint64_t hash;
    kiln__launch *launch; /* NULL: its program was destroyed, and nobody can ask for it */
    uint32_t word_count;
    uint64_t words[];
} entry;

typedef struct kiln__dispatch {
    kiln__dispatch *older;
    entry *left_out;    /* of the older one's */
    size_t capacity;    /* a power of two, at least twice the entries */
    size_t count, dead; /* entries, and those of destroyed programs; guarded by the context's lock */
    _Atomic(entry *) slots[];
} table;

static inline uint64_t mix(uint64_t hash, uint64_t word) {
    return ((hash << 27 | hash >> 37) ^ word) * 0x9e3779b97f4a7c15u;
}

/* Bad tensors end here. */
static kiln_status encode(const kiln_program *program, int device, const kiln_tensor *tensors,
                          const kiln_scalar *scalars, shape *out) {
    const kiln__signature *s = &program->signature;
    uint64_t *words = out->words;
    uint32_t n = 0, tensor_count = s->input_count + s->output_count;
    words[n++] = program->id;
    words[n++] = (uint64_t)device;
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
    out->hash = h ^ h >> 32;
    out->count = n;
    return KILN_OK;
}

static kiln__launch *find(kiln_context *context, const shape *wanted) {
    table *t = atomic_load_explicit(&context->dispatch, memory_order_acquire);
    if (!t) return NULL;
    for (size_t i = wanted->hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!e) return NULL;
        if (e->hash == wanted->hash && e->word_count == wanted->count &&
            !memcmp(e->words, wanted->words, wanted->count * sizeof *e->words))
            return e->launch;
    }
}

static void place(table *t, entry *e) {
    size_t i = e->hash & (t->capacity - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed)) i = (i + 1) & (t->capacity - 1);
    atomic_store_explicit(&t->slots[i], e, memory_order_release);
    t->count++;
}

/* With the context's lock held: a table with room for one more. NULL where memory ran out or it is full. */
static table *make_room(kiln_context *context) {
    table *t = atomic_load_explicit(&context->dispatch, memory_order_relaxed);
    size_t capacity = 64, living = t ? t->count - t->dead : 0;
    if (living >= MAX_SHAPES) return NULL;
    if (t && 2 * (t->count + 1) <= t->capacity) return t;
    while (capacity < 4 * living) capacity *= 2;
    table *larger = calloc(1, sizeof *larger + capacity * sizeof *larger->slots);
    if (!larger) return NULL;
    larger->older = t;
    larger->capacity = capacity;
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *old = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
        if (old && old->launch) place(larger, old);
        if (old && !old->launch) old->next = larger->left_out, larger->left_out = old;
    }
    atomic_store_explicit(&context->dispatch, larger, memory_order_release);
    return larger;
}

/* Keeps the launch for later calls; another thread may have been first, then its launch stays. True if it was kept. */
static bool keep(kiln_context *context, kiln__launch *launch, const shape *seen) {
    size_t size = seen->count * sizeof *seen->words;
    entry *e = malloc(sizeof *e + size);
    if (!e) return false;
    e->hash = seen->hash;
    e->launch = launch;
    e->word_count = seen->count;
    memcpy(e->words, seen->words, size);
    pthread_mutex_lock(&context->lock);
    table *t = find(context, seen) ? NULL : make_room(context);
    if (t) place(t, e);
    pthread_mutex_unlock(&context->lock);
    if (!t) free(e);
    return t != NULL;
}

static kiln_status run_new(const kiln_program *program, const kiln_tensor *tensors, void *const *data,
                           const kiln_scalar *scalars, void *stream, const shape *seen) {
    kiln__launch *launch = NULL;
    kiln__image image;
    kiln__prepared *prepared = malloc(sizeof *prepared); /* large, and the driver wants stack, too */
    if (!prepared) return kiln__out_of_memory();
    kiln_status status = kiln__launch_prepare(program, tensors, scalars, &launch, prepared, &image, NULL);
    if (!status) {
        kiln__prepared_free(prepared);
        kiln__image_free(&image);
    }
    free(prepared);
    if (status) return status;
    bool kept = keep(program->context, launch, seen);
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
    shape seen;
    void *data[KILN_MAX_TENSORS];
    status = encode(program, device, tensors, scalars, &seen);
    if (status) return status;
    for (size_t t = 0; t < tensor_count; t++) data[t] = tensors[t].data;
    const kiln__launch *launch = find(program->context, &seen);
    return launch ? kiln__launch_run(launch, data, scalars, NULL, stream)
                  : run_new(program, tensors, data, scalars, stream, &seen);
}

void kiln__dispatch_forget(kiln_context *context, uint64_t program) {
    pthread_mutex_lock(&context->lock);
    table *t = atomic_load_explicit(&context->dispatch, memory_order_relaxed);
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *e = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
        if (!e || !e->launch || e->words[0] != program) continue;
        free(e->launch);
        e->launch = NULL;
        t->dead++;
    }
    pthread_mutex_unlock(&context->lock);
}

void kiln__dispatch_clear(kiln_context *context) {
    table *t = atomic_load(&context->dispatch);
    for (size_t i = 0; t && i < t->capacity; i++) {
        entry *e = atomic_load(&t->slots[i]);
        if (e) free(e->launch);
        free(e);
    }
    while (t) {
        table *older = t->older;
        for (entry *e = t->left_out, *next; e; e = next) next = e->next, free(e);
        free(t);
        t = older;
    }
    atomic_store(&context->dispatch, NULL);
}
