/* SPDX-License-Identifier: Apache-2.0 */
/* The context, programs and what is prepared from them: the only files that know all the stages (src, top level). */
#ifndef KILN_RUNTIME_CONTEXT_H
#define KILN_RUNTIME_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/logger.h"
#include "base/process.h"
#include "base/readers.h"
#include "base/ring.h"
#include "base/text.h"
#include "cache/disk.h"
#include "cache/bundle.h"
#include "codegen/source.h"
#include "gpu/driver.h"
#include "jit/nvrtc.h"
#include "problem/shaped.h"
#include "runtime/threads.h"
#include "base/extent.h"

/* ---- context ---- */

typedef struct kiln__dispatch kiln__dispatch;
typedef struct kiln__pending kiln__pending;
typedef struct kiln__kernel_entry kiln__kernel_entry;
typedef struct kiln__known_device kiln__known_device;

/* A device's stream-ordered memory pool, for the workspaces of launches; created when first needed. */
typedef struct kiln__pool {
    struct kiln__pool *next;
    kiln__CUdevice device;
    kiln__CUmemoryPool handle;
} kiln__pool;

/* The kernels of one device that the context has loaded; device -1: bytes alone, prepared or of a parent process. */
typedef struct kiln__shelf {
    struct kiln__shelf *next;
    int device;
    kiln__ring kernels;
    int64_t count, bytes; /* of all in the ring, their images' and names' */
} kiln__shelf;

/* What is counted of a context and of each program; before these the kernels obtained, by their kiln_origin. */
typedef enum kiln__counted {
    KILN__REFUSED = KILN_ORIGIN_CALLBACKS + 1,
    KILN__ANY_SHAPE_OBTAINED, /* of all those that were obtained */
    KILN__FAILED_COMPILES,
    KILN__LOADS,
    KILN__COMPILE_NS,
    KILN__WAIT_NS,
    KILN__PREPARE_NS,
    KILN__COUNTED
} kiln__counted;

typedef struct kiln__counters {
    struct kiln__counters *whole; /* of a program's the context's, where all is counted as well */
    _Atomic int64_t of[KILN__COUNTED];
} kiln__counters;

/* Exact kernels that are compiled behind those for any shape: background.c. Guarded by the context's lock. */
typedef struct kiln__background {
    kiln__threads threads;
    kiln__ring done;
} kiln__background;

/* Compiles that are cancelled together: those of the context's own calls, or of one preparation. */
typedef struct kiln__compile_group {
    atomic_uint cancels; /* how often they were cancelled */
    bool in_workers;     /* each has a process of its own, also where there is no time limit */
} kiln__compile_group;

/* One of them, for whoever launches what stands in for it. */
typedef struct kiln__awaited {
    atomic_int references;
    atomic_bool done;   /* it is there, and has not been asked for yet; then ... */
    atomic_int attempt; /* ... of the candidates that it is: those before it spill */
} kiln__awaited;

struct kiln_context {
    kiln__disk *disk;               /* NULL: no disk cache */
    kiln__bundle *bundles;          /* in the order of looking */
    char *driver_path, *nvrtc_path; /* NULL: the default search */
    char *worker_path;              /* NULL: the default search */
    int64_t compile_limit_ms;       /* 0: none */
    kiln__compile_group compiles;   /* of its calls */
    kiln_policy policy;
    kiln__pins pins;
    kiln__logger logger;
    int64_t max_kernels, max_kernel_bytes; /* loaded for a device; negative: no limit */
    bool explain;                          /* KILN_LOG asks why entries are missed */
    atomic_bool nvrtc_told;                /* the log knows which NVRTC compiles */
    atomic_int owner;                      /* the process that the driver's handles belong to */
    _Atomic(const kiln__driver *) driver;  /* set once opened */
    _Atomic(kiln__dispatch *) dispatch;    /* what kiln_run has seen; readers take no lock, writers this one */
    _Atomic uint64_t clock;                /* counts what was new to kiln_run or was loaded: the time of last use */
    kiln__readers readers;                 /* of dispatch */
    kiln__counters counters;
    kiln_host_allocator host_allocator;                /* allocate NULL: the C library's memory */
    kiln_device_allocator device_allocator;            /* allocate NULL: a pool of the driver's */
    kiln_cache_callbacks own_cache;                    /* the application's, or NULLs */
    _Atomic(const kiln__own_function *) own_functions; /* device functions, the latest first; they stay to the end */
    bool uses_primary; /* of the device primary_ordinal; else the thread's current CUDA context */
    int primary_ordinal;
    char *record_path;             /* NULL: nothing is recorded */
    pthread_mutex_t lock;          /* guards what follows, and what is retired from the readers */
    kiln__text recorded;           /* digests of the lines written, 8 bytes each */
    bool record_told;              /* the log knows that a line could not be written */
    kiln__nvrtc_identity nvrtc;    /* its path is "" until it is known; the library may not be open yet */
    kiln__hash kernels;            /* loaded, by name; shared by plans */
    kiln__shelf *shelves;          /* the same by device */
    kiln__ring dropped;            /* no longer found, by no launch either, and still to be unloaded */
    kiln__hash tuned;              /* what is known of tuned records, by key: tuned.c */
    kiln__hash pending;            /* kernels that a thread is obtaining, or that were refused, by name */
    kiln__ring obtaining, refused; /* the same, oldest first */
    kiln__ring compiling;          /* in workers */
    int refused_count;
    pthread_cond_t obtained; /* something pending is done */
    kiln__background background;
    kiln__ring preparations; /* that have not been destroyed: prepare.c */
    atomic_uint prepared;    /* how many of them have come to an end */
    kiln__pool *pools;
    kiln__known_device *devices;
    kiln__CUcontext primary; /* NULL while it is not retained */
    kiln__CUdevice primary_device;
    char driver_error[1024], nvrtc_error[1024];
};

/* Each public call comes through here. A forked child has none of its parent's threads, which may have held the lock,
 * and may use none of its driver's handles: it keeps the bytes of kernels and drops the rest. */
void kiln__context_adopt(kiln_context *context);
static inline void kiln__context_enter(kiln_context *context) {
    if (atomic_load_explicit(&context->owner, memory_order_acquire) != kiln__process()) kiln__context_adopt(context);
}
kiln_status kiln__context_driver(kiln_context *context, const kiln__driver **out);

/* devices.c: a device's numbers, which the driver is asked for once. KILN_E_NO_DEVICE. */
kiln_status kiln__context_device(kiln_context *context, const kiln__driver *driver, kiln__CUdevice ordinal,
                                 kiln__device *out);
void kiln__devices_free(kiln_context *context);

/* host_memory.c: zeroed; NULL without memory. What is released has the bytes that were asked for, or is NULL. */
void *kiln__host_allocate(const kiln_context *context, size_t bytes);
void kiln__host_release(const kiln_context *context, void *memory, size_t bytes);

/* stats.c */
void kiln__count(kiln__counters *counters, int what, int64_t more); /* what: a kiln__counted, or a kiln_origin */
/* Counts the time since then by kiln__now_ms, in nanoseconds, and gives it in milliseconds. */
double kiln__count_ms(kiln__counters *counters, int what, double since_ms);

/* current.c: what was current before a call that works in a primary context. */
typedef struct kiln__current {
    const kiln__driver *driver; /* NULL: nothing was changed */
    kiln__CUcontext before;
} kiln__current;

kiln_status kiln__primary_enter(kiln_context *context, kiln__current *out);
/* Makes the primary context current, where the options ask for it. On success kiln__current_leave is called at the end
 * on the same thread. KILN_E_NO_DEVICE, KILN_E_NO_CONTEXT. */
static inline kiln_status kiln__current_enter(kiln_context *context, kiln__current *out) {
    out->driver = NULL;
    return context->uses_primary ? kiln__primary_enter(context, out) : KILN_OK;
}
/* The thread had this context before, so that setting it again fails only where it was destroyed meanwhile. */
static inline void kiln__current_leave(const kiln__current *current) {
    if (current->driver) current->driver->CtxSetCurrent(current->before);
}
/* driver NULL: it is another process's. */
void kiln__primary_release(kiln_context *context, const kiln__driver *driver);

/* ---- programs ---- */

/* Threads count launches in places of their own, as far as there are enough, so that none waits for another's cache
 * line. */
enum { KILN__LAUNCH_PLACES = 16 };
typedef struct kiln__launch_place {
    _Alignas(64) _Atomic int64_t launches;
} kiln__launch_place;

/* What of a program changes while it is used. */
typedef struct kiln__usage {
    kiln__launch_place places[KILN__LAUNCH_PLACES];
    kiln__counters counters;
    atomic_int references; /* of the program: its creator's, and of what is compiled in the background */
    kiln__ring shapes;     /* that kiln_run remembers; guarded by the context's lock, as the next two */
    int64_t shape_count;
    int process; /* whose the ring is: in a forked child it is taken to be empty */
} kiln__usage;

struct kiln_program {
    kiln_context *context;
    kiln__usage *usage;
    uint64_t id; /* unique in the process */
    kiln__graph *graph;
    kiln__signature signature;
    kiln__axes axes;
    const char *names[KILN_MAX_TENSORS]; /* inputs, then outputs */
    double parse_ms;
};

/* It lives on while it is held, though its creator destroys it. */
void kiln__program_hold(const kiln_program *program);
void kiln__program_release(const kiln_program *program);
/* Checks counts and scalar types. */
kiln_status kiln__program_check_counts(const kiln_program *program, const void *tensors, size_t tensor_count,
                                       const kiln_scalar *scalars, size_t scalar_count);
kiln__tensors kiln__program_tensors(const kiln_program *program, const kiln_tensor *tensors);
/* Space, tensors as they lie in it, and typed program for a binding; the caller destroys *ir. The same for a kernel
 * that serves any shape, for which no axis is cut into blocks. */
kiln_status kiln__program_bind(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                               kiln__shaped *shaped, kiln__ir **ir);
kiln_status kiln__program_bind_any(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                   kiln__shaped *shaped, kiln__ir **ir);

/* The typed program of a binding that has been shaped for any shape: blocks have the columns that the text says,
 * however few there are. all_columns: as if each input had a value for each column. */
kiln_status kiln__program_type_any(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                   const kiln__shaped *shaped, bool all_columns, kiln__ir **ir);

/* ---- from tensors to an image ---- */

/* What is asked for: a program for these tensors, and what may be done to have its kernel. */
typedef struct kiln__call {
    const kiln_program *program;
    const kiln_tensor *tensors;
    const kiln_scalar *scalars; /* their types */
    kiln_policy policy;         /* not KILN_POLICY_CONTEXT */
    int attempt;                /* of the candidates, the first that will do: 0, unless what is before it will not */
    const kiln__compile_group *group; /* that its compiles are of; NULL: the context's */
    bool dependent;                   /* programmatic dependent launch is asked for */
    bool range;                       /* the kernel of a range of columns will do, in place of the exact one */
    bool hurries;  /* what is there will do, rather than a choice among schedules; KILN_E_WOULD_COMPILE without one */
    int loaded_on; /* a kernel that is loaded on the device of this number less 1 will do, without its bytes; 0: none */
} kiln__call;

/* Whether the kernel of a range is prepared, where the program has one. */
static inline bool kiln__call_takes_range(const kiln__call *call) {
    return call->range || call->policy == KILN_POLICY_RANGE;
}

/* Older architectures have no such launch. */
static inline bool kiln__call_is_programmatic(const kiln__call *call, int arch) {
    return call->dependent && arch >= 90;
}

/* Device memory of the caller's for one launch; memory NULL: none. */
typedef struct kiln__workspace {
    void *memory;
    int64_t bytes;
} kiln__workspace;

static inline bool kiln__policy_valid(kiln_policy policy) {
    return (int)policy >= KILN_POLICY_COMPILE && policy <= KILN_POLICY_RANGE;
}

/* *policy, the context's, becomes a call's own where its options have one. KILN_E_ARGUMENT. */
kiln_status kiln__call_options_read(const kiln_call_options *options, kiln_policy *policy, bool *dependent,
                                    kiln__workspace *workspace);
/* Counts, scalar types and options (NULL: the defaults) of a call. KILN_E_ARGUMENT, KILN_E_BINDING, KILN_E_TYPE. */
kiln_status kiln__call_make(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                            const kiln_scalar *scalars, size_t scalar_count, const kiln_call_options *options,
                            kiln__call *out);
/* The same of a call that compiles for an architecture, and the alignment of data pointers. KILN_E_ARCH,
 * KILN_E_POINTER. */
kiln_status kiln__compile_check(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                const kiln_scalar *scalars, size_t scalar_count, int arch,
                                const kiln_call_options *options, kiln__call *call);

/* All stages up to the source. */
typedef struct kiln__prepared {
    kiln__ir *ir;
    kiln__problem problem; /* of the call, also where ... */
    kiln__schedule schedule;
    bool any_shape;                /* ... the kernel serves any shape: */
    kiln__shape shape;             /* of this one */
    int64_t least_cols, most_cols; /* that the kernel serves; 0: those of the problem alone */
    int attempt;                   /* of the candidates that the schedule is */
    kiln_schedule_origin origin;
    bool hurries;      /* as the call does */
    bool programmatic; /* the kernel is one for programmatic dependent launch */
    kiln__arguments arguments;
    char *unexpanded, *source; /* the source before and after the files it names are written out */
    double schedule_ms, emit_ms;
    kiln__counters *counters;         /* the program's */
    const kiln__compile_group *group; /* the call's, or NULL */
    int loaded_on;                    /* as of the call */
} kiln__prepared;

/* The kernel's bytes and what is known of them. */
typedef struct kiln__image {
    kiln__key name; /* of the kernel, whichever NVRTC made it: what it is found by in memory and in packs */
    kiln__key key;  /* of the disk cache; material NULL where that was not asked */
    void *bytes;
    size_t size;
    char *log;
    kiln__facts facts; /* arch and is_ptx from the start */
    kiln_origin origin;
    bool refused; /* by the compiler, where obtaining failed; log tells why */
    bool hosted;  /* bytes and the name's material are from the context's host allocator */
    const kiln__compile_group *group;
    unsigned cancels; /* of the group, when obtaining began */
    kiln_policy policy;
    double lookup_ms, wait_ms;  /* wait: of lookup, for others who were compiling it */
    kiln__counters *counters;   /* of the program that it is obtained for */
    kiln__pending *pending;     /* others find these bytes by it, until they are freed or loaded; NULL: not by it */
    int loaded_on;              /* as of the call */
    kiln__kernel_entry *loaded; /* in place of bytes: a kernel that is there already, with a reference; else NULL */
} kiln__image;

kiln_status kiln__prepare_for(const kiln__call *call, const kiln__device *device, int attempt, kiln__prepared *out);
kiln_status kiln__prepare_any_shape_for(const kiln__call *call, int arch, kiln__prepared *out);
/* The same of calls that ask for nothing. */
kiln_status kiln__prepare(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                          const kiln__device *device, int attempt, kiln__prepared *out);
/* Of the kernel that serves any shape of the program and these types, whatever the device. KILN_E_UNSUPPORTED. */
kiln_status kiln__prepare_any_shape(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                                    kiln__prepared *out);
/* Writes the source and lays out its arguments, for the problem that its schedule was chosen for. */
kiln_status kiln__prepared_write(kiln__prepared *prepared, const kiln__problem *problem);
/* Bytes; 0: it needs none. */
int64_t kiln__prepared_workspace(const kiln__prepared *prepared);
int kiln__prepared_launches(const kiln__prepared *prepared);
/* The blocks of its first launch; false where a device has no such grid. */
bool kiln__prepared_grid(const kiln__prepared *prepared, kiln__grid *grid);
void kiln__prepared_free(kiln__prepared *prepared);
/* "y = softmax(x) | x f16, y f16 | 1024 columns": what `kiln cache ls` shows. The caller frees it; NULL without memory.
 */
char *kiln__prepared_describe(const kiln__prepared *prepared);
/* The kernel's name for an architecture, whichever NVRTC makes it. The caller frees it with kiln__key_free. */
kiln_status kiln__prepared_name(const kiln__prepared *prepared, int arch, bool ptx, kiln__key *out);

/* Where a kernel is looked for first. The driver may have refused what was found before that. */
typedef enum kiln__place { KILN__IN_MEMORY, KILN__ON_DISK, KILN__NOWHERE } kiln__place;

/* Takes the kernel that the context has loaded, or finds in a pack or on disk, or compiles and publishes it. */
kiln_status kiln__image_obtain(kiln_context *context, kiln_policy policy, const kiln__prepared *prepared, int arch,
                               bool ptx, kiln__place first, kiln__image *out);
static inline bool kiln__image_cancelled(const kiln__image *image) {
    return image->cancels != atomic_load(&image->group->cancels);
}
/* Whether the compiler had too few registers. A few values that the call of a function leaves in memory, where not all
 * registers are used, are no shortage; many are: calls preserve few registers. */
bool kiln__image_lacks_registers(const kiln__image *image, const kiln__prepared *prepared, const kiln__device *device);
void kiln__image_free(kiln__image *image);
void kiln__image_free_bytes(kiln__image *image); /* and the names; what describes the kernel stays */
/* Fills *out, besides its name and key, with a copy of what others own. */
kiln_status kiln__image_copy(kiln__image *out, const void *bytes, size_t size, const char *log,
                             const kiln__facts *facts, kiln_origin origin);
/* What caches keep of the image, as views. */
kiln__entry kiln__image_entry(const kiln__image *image, const kiln__prepared *prepared, const char *description);

/* Prepares and obtains; where the compiler spilled registers, the next schedules are tried. */
kiln_status kiln__compile_call(const kiln__call *call, const kiln__device *device, bool ptx, kiln__prepared *prepared,
                               kiln__image *image);
/* The same for a device that may be newer than NVRTC: then it is PTX. */
kiln_status kiln__compile_for(const kiln__call *call, const kiln__device *device, kiln__prepared *prepared,
                              kiln__image *image);

void kiln__info_fill(const kiln__prepared *prepared, const kiln__image *image, int arch, double parse_ms,
                     kiln_plan_info *info);
kiln_status kiln__info_copy(const kiln_plan_info *from, kiln_plan_info *to);

/* record_path of the options. KILN_E_MEMORY. */
kiln_status kiln__record_open(kiln_context *context, const char *given);
/* Appends the request to the context's record, once in the context's life. Leaves the thread's error as it is. */
void kiln__record(const kiln__call *call, const kiln__device *device, bool ptx);

/* ---- launching ---- */

/* A kernel loaded for one device, shared by everything that launches it. */
struct kiln__kernel_entry {
    kiln__retired retired;
    kiln_context *context;
    kiln__hash_link by_name;
    kiln__ring on_shelf;   /* or among the dropped */
    kiln__ring shapes;     /* of kiln_run, launches of this kernel */
    kiln__image image;     /* the name, and the bytes: for other devices and for forked children */
    int device;            /* -1: bytes alone */
    kiln__loaded loaded;   /* not loaded where the bytes are alone */
    int references;        /* of plans, and of calls at work on it */
    _Atomic uint64_t used; /* by the context's clock */
    atomic_bool captured;  /* into a graph, which may launch it at any time: it stays loaded */
};

/* One of the kernels that are launched one after another. */
typedef struct kiln__stage {
    kiln__CUfunction function;
    bool ends; /* it combines what blocks have, or stores one value per row: by the last grid */
} kiln__stage;

/* Everything a launch needs and nothing else: integers and one template of the kernel's argument. */
typedef struct kiln__launch {
    kiln_context *context;
    const kiln_program *program; /* for its names */
    kiln__usage *usage;          /* the program's */
    const kiln__driver *driver;
    kiln__kernel_entry *kernel;
    int process; /* that it was made in; a forked child is another */
    int stage_count;
    kiln__stage *stages;     /* behind the arguments */
    kiln__CUmemoryPool pool; /* of the workspace, where there is one */
    int64_t workspace_bytes;
    uint16_t workspace_offset;
    uint16_t stage_offset;          /* of which stage a kernel is launched for, where one has all of them; else 0 */
    kiln__grid grid, last_grid;     /* last: of stages that end */
    unsigned threads, last_threads; /* of a block, as are ... */
    unsigned shared_bytes, last_shared_bytes; /* ... those of its dynamic shared memory */
    int scalar_count;
    bool empty;             /* nothing to do */
    bool unusual;           /* it is empty, or has scalars in memory */
    kiln__awaited *awaited; /* the exact kernel in whose place it stands, where that is being compiled; else NULL */
    bool stands_in;         /* its kernel serves any shape, in place of the exact one that the call asked for ... */
    kiln_policy asked;      /* ... by this policy, when ... */
    unsigned prepared;      /* ... so many preparations of the context had come to an end */
    bool cooperative;       /* all blocks run together, and the workspace begins with a counter that must be 0 */
    int first_attribute;    /* that the first kernel is launched with, 0: none ... */
    int later_attribute;    /* ... and those behind it: whether it may begin before what is before it has ended */
    uint16_t pointer_offset[KILN_MAX_TENSORS], scalar_offset[KILN_MAX_SCALARS];
    kiln__ctype scalar_types[KILN_MAX_SCALARS];
    kiln__memory_rules memory;
    int argument_size;
    unsigned char arguments[];
} kiln__launch;

/* Opens the packs of the options and of KILN_PACKS; the log is told of those that cannot be used. KILN_E_MEMORY. */
kiln_status kiln__bundles_open(kiln_context *context, const kiln_context_options *options);
void kiln__bundles_close(kiln_context *context);
/* The first pack's entry of the name, as views into the pack; false if no pack has it. */
bool kiln__bundles_find(kiln_context *context, const kiln__key *name, kiln__entry *entry);

/* own_functions.c */
void kiln__own_functions_free(kiln_context *context);

/* own_cache.c: from kiln_context_options.cache; the caller frees a found entry. */
bool kiln__own_cache_find(kiln_context *context, const kiln__key *name, kiln__entry *out);
/* Tells it of an image that was compiled or on disk. */
void kiln__own_cache_keep(kiln_context *context, const kiln__prepared *prepared, const kiln__image *image);

/* Settles what the context's memory knows of out->name: *out has its bytes, or *status is why the compiler refused it.
 * Waits where another thread is obtaining the same, unless out->policy forbids compiling. False: the caller obtains it,
 * and calls kiln__memory_obtained. */
bool kiln__memory_enter(kiln_context *context, kiln__image *out, kiln_status *status);
void kiln__memory_obtained(kiln__image *image, kiln_status status);
/* events.c: what the log is told of kernels. ms: how long it took. */
void kiln__event_compiling(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image);
void kiln__event_compiled(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image,
                          kiln_status status, double ms);
void kiln__event_obtained(const kiln_context *context, const kiln__prepared *prepared, const kiln__image *image,
                          kiln_status status);
void kiln__event_stands_in(const kiln_context *context, const kiln__prepared *prepared);
void kiln__event_loaded(const kiln_context *context, const kiln__prepared *prepared, const kiln__kernel_entry *kernel,
                        double ms);

/* The image's bytes are about to be freed. */
void kiln__memory_leave(kiln__image *image);
/* The same with the context's lock held. */
void kiln__memory_remove(kiln__image *image);
/* Forgets what is pending; in a forked child only what its parent's other threads were obtaining. */
void kiln__memory_free(kiln_context *context, bool forked);

/* With the context's lock held: the loaded kernel of the name, for a device or (-1) any; NULL if there is none. */
kiln__kernel_entry *kiln__kernels_find(const kiln_context *context, const kiln__key *name, int device);
bool kiln__same_name(const kiln__key *a, const kiln__key *b);
uint64_t kiln__name_hash(const kiln__key *name);
/* The kernel of the name on a device, with a reference; NULL if there is none. */
kiln__kernel_entry *kiln__kernels_take(kiln_context *context, const kiln__key *name, int device);
/* The same with the lock held. */
kiln__kernel_entry *kiln__kernels_hold(kiln_context *context, const kiln__key *name, int device);
/* compile.c: the limit and the worker of the options. KILN_E_ARGUMENT, KILN_E_MEMORY. */
kiln_status kiln__compile_limit_set(kiln_context *context, const kiln_context_options *options);
/* Compiles here, or in a worker where there is a limit, or where the image's group wants it and there is one.
 * KILN_E_TIMEOUT, KILN_E_CANCELLED, and as kiln__nvrtc_compile. */
kiln_status kiln__context_compile(kiln_context *context, const kiln__image *image, const kiln__nvrtc *nvrtc,
                                  const kiln__compile_request *request, kiln__compile_result *out);
/* Compiles of a group, or (NULL) of all of the context's, come to an end. */
void kiln__compiles_cancel(kiln_context *context, kiln__compile_group *group);
/* KILN_E_TIMEOUT where a compile of the key has taken longer than the context's limit before; what it is for is in the
 * sentence. Remembering that, in the disk cache. */
kiln_status kiln__slow_check(const kiln_context *context, const kiln__key *key, const char *what);
void kiln__slow_remember(const kiln_context *context, const kiln__key *key);

/* Adds a loaded kernel, with a reference; the context owns it from now on. False without memory. */
bool kiln__kernels_keep(kiln_context *context, kiln__kernel_entry *loaded);
void kiln__kernels_release(kiln__kernel_entry *kernel); /* NULL: does nothing */
/* Keeps the bytes, for whichever device is to have them, until there is one that has them loaded: *image lacks them and
 * the name afterwards. Where the context has the kernel, or there is no memory, it stays as it is. */
void kiln__kernels_keep_bytes(kiln_context *context, kiln__image *image);
/* Drops the least recently used kernels of a device that is above its limits: no plan has them, no graph was captured
 * with them. Waits for the device, as unloading does; leaves streams that are being captured as they are. driver NULL:
 * bytes alone are dropped, device is -1. */
void kiln__kernels_trim(kiln_context *context, const kiln__driver *driver, int device);
/* Frees all of them, and what was retired from the readers, while nobody uses any. driver: NULL where none was opened.
 */
void kiln__kernels_free(kiln_context *context, const kiln__driver *driver);
/* In a forked child, which keeps the bytes alone. */
void kiln__kernels_disown(kiln_context *context);

kiln_status kiln__launch_create(const kiln_program *program, const kiln_tensor *tensors, const kiln__prepared *prepared,
                                const kiln__driver *driver, kiln__kernel_entry *kernel, kiln__launch **out);
void kiln__launch_free(kiln__launch *launch); /* NULL: does nothing. The kernel may be gone */
/* Checks pointers, overlap, fills the argument, launches. workspace: the caller's, or NULL: from the
 * device's pool. Scalars have the types that the launch was made for. */
kiln_status kiln__launch_run(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars, void *workspace,
                             void *stream);
/* The same with a workspace that may be too small or crooked. KILN_E_SIZE, KILN_E_POINTER. */
kiln_status kiln__launch_run_with(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars,
                                  kiln__workspace workspace, void *stream);

/* Bakes, loads for the current context's device and describes (info may be NULL). The caller frees the launch and
 * releases its kernel. */
kiln_status kiln__launch_prepare(const kiln__call *call, kiln__launch **launch, kiln__prepared *prepared,
                                 kiln__image *image, kiln_plan_info *info);

/* Whether the stream is being captured into a graph, or may be: the driver does not tell. */
bool kiln__is_captured(const kiln__driver *driver, void *stream);

/* Forgets what kiln_run has seen: of a program that nobody runs any more; with the context's lock held of a kernel; of
 * all, while nobody looks anything up. */
void kiln__dispatch_forget(const kiln_program *program);
void kiln__dispatch_forget_kernel(kiln__kernel_entry *kernel);
void kiln__dispatch_clear(kiln_context *context);
/* How many shapes it remembers, of all programs or of one; with the context's lock held. */
int64_t kiln__dispatch_count(const kiln_context *context);
int64_t kiln__dispatch_count_of(const kiln_program *program);

#endif
