/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: what they are told and what they count. A part of <kiln/kiln.h>, whose conventions hold here. */
#ifndef KILN_CONTEXT_H
#define KILN_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <kiln/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Caches, options and the log callback; per-device state inside. Works in whatever CUDA context is current on
 * the calling thread when a plan is made or launched, the runtime API's primary context included, unless
 * kiln_context_options.primary_context asks for one of its own.
 * Thread-safety: one context serves any number of threads. A forked child may go on with it, whatever its parent's
 * threads were doing: kernels are loaded again, plans made before the fork give KILN_E_NO_CONTEXT. */
typedef struct kiln_context kiln_context;

/* How much an event of the log matters, the most important first. */
typedef enum kiln_log_level {
    KILN_LOG_ERROR = 0,
    KILN_LOG_WARNING = 1,
    KILN_LOG_INFO = 2,
    KILN_LOG_DEBUG = 3
} kiln_log_level;

/* Called from whichever thread has something to say; must not call back into the same context. docs/observing.md lists
 * the events and their levels. */
typedef void (*kiln_log_callback)(void *user, kiln_log_level level, const char *message);

/* The last level that the log is told. What is beyond it costs nothing: its sentence is not made. */
typedef enum kiln_log_detail {
    KILN_LOG_DETAIL_DEFAULT = 0, /* that of the variable KILN_LOG ("info", or "debug,cache"), else warnings */
    KILN_LOG_DETAIL_ERROR = 1,
    KILN_LOG_DETAIL_WARNING = 2, /* what is wrong and fails no call */
    KILN_LOG_DETAIL_INFO = 3,    /* also what takes time: compiles, waiting, dropping kernels */
    KILN_LOG_DETAIL_DEBUG = 4    /* also each kernel that is found or loaded */
} kiln_log_detail;

/* What to do about a kernel that is in no cache and no pack. Exact ones are made for one shape, others serve a range of
 * columns, or any shape, of a program and its types: docs/packs.md. */
typedef enum kiln_policy {
    KILN_POLICY_COMPILE = 0,       /* compile the exact one and wait; without NVRTC as NEVER_COMPILE */
    KILN_POLICY_NEVER_COMPILE = 1, /* take one for a range or any shape, else return KILN_E_WOULD_COMPILE, without
                                      waiting for a compile of another thread's; needs no NVRTC */
    KILN_POLICY_CONTEXT = 2,       /* in kiln_call_options: as the context's options say */
    KILN_POLICY_ANY_SHAPE = 3,     /* one for any shape in any case; KILN_E_UNSUPPORTED where the program has none */
    KILN_POLICY_BACKGROUND = 4,    /* one for a range or any shape until the exact one is compiled behind it; plans keep
                                      theirs */
    KILN_POLICY_RANGE = 5          /* one for a range of columns, which is compiled once for all of them
                                      (kiln_range_end); the exact one of programs that have none */
} kiln_policy;

/* Kernels made beforehand by `kiln precompile`: a file (path), or where path is NULL size bytes at data, which outlive
 * the context. docs/packs.md */
typedef struct kiln_pack {
    const char *path;
    const void *data;
    size_t size;
} kiln_pack;

/* Host memory that a context keeps from call to call: the images and names of loaded kernels, and the shapes that
 * kiln_run remembers with what launches them. What a call needs while it runs, and programs, are malloc's. allocate
 * gives bytes (more than 0) aligned as malloc does, or NULL, which the call tells as KILN_E_MEMORY or makes do without;
 * release gets them back with their number. Both NULL: calloc and free. Thread-safety: called from whichever thread
 * makes a call, and from threads of the context's, by several at once; must not call Kiln. A forked child uses them as
 * its parent did. */
typedef struct kiln_host_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} kiln_host_allocator;

/* Device memory for workspaces of launches (kiln_plan_info.workspace_bytes). allocate gives bytes (more than 0) at a
 * multiple of 16 bytes, which work that is put into the stream from now on may use, or NULL, which is
 * KILN_E_DEVICE_MEMORY; release gets it back as soon as the launch is in the stream: what is put into the stream after
 * that may have the memory, nothing else before the stream is there. The CUDA context of the launch is current. Both
 * NULL: a stream-ordered pool of the driver's for each device. While the stream is being captured, it is the callbacks'
 * affair to give memory that the graph may keep. Thread-safety: as kiln_host_allocator. */
typedef struct kiln_device_allocator {
    void *(*allocate)(void *user, size_t bytes, void *stream);
    void (*release)(void *user, void *memory, size_t bytes, void *stream);
    void *user;
} kiln_device_allocator;

/* A cache of the caller's own, for kernels: a database, a shared server, an asset of the application. It is asked after
 * packs and before the disk cache. key is 32 hexadecimal digits and names a kernel of this version of Kiln for one
 * architecture, whichever NVRTC compiles it; the bytes are checked when they come back, so that wrong or foreign ones
 * are a miss. They are code that runs on the GPU: let nobody write to the cache who may not do that. get writes the
 * bytes that set was given for the key, if they are at most capacity, and returns how many there are in either case, 0
 * where there are none; it is asked again with more room. set is told of each kernel that a call compiles or finds in
 * the disk cache, and may keep it or not. Either may be NULL. Thread-safety: called from whichever thread makes a call,
 * and from threads of the context's, by several at once; must not call Kiln. */
typedef struct kiln_cache_callbacks {
    size_t (*get)(void *user, const char *key, void *bytes, size_t capacity);
    void (*set)(void *user, const char *key, const void *bytes, size_t size);
    void *user;
} kiln_cache_callbacks;

/* What a context is to do; each field's 0 or NULL is the default. */
typedef struct kiln_context_options {
    size_t struct_size;    /* sizeof(kiln_context_options), as KILN_CONTEXT_OPTIONS_INIT sets it. A smaller one, of an
                              older version, ends between fields; another one is KILN_E_ARGUMENT */
    const char *cache_dir; /* NULL: KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln; "": no disk cache */
    const char *driver_path; /* NULL: KILN_DRIVER, else the system's libcuda.so.1 */
    const char *nvrtc_path;  /* NULL: KILN_NVRTC, else the usual places, newest first */
    kiln_policy policy;
    kiln_log_callback log; /* NULL: silent, or standard error where KILN_LOG is set (its topic "cache": why entries
                              are missed, whatever the level) */
    void *log_user;
    const char *schedule;    /* pins parts of every schedule, for tests and tuning: "block 256, shared, vector 8";
                                docs/performance.md has the words. NULL: KILN_SCHEDULE, else the library chooses */
    int64_t cache_max_bytes; /* of the disk cache; 0: KILN_CACHE_SIZE ("512M"), else 1 GiB; negative: no limit */
    const kiln_pack *packs;  /* where kernels are looked for before the disk cache, in this order; after them the files
                                in KILN_PACKS, separated by colons. One that cannot be used is logged */
    size_t pack_count;
    const char *record_path;  /* a file (no pipe) to which each kernel that is in no cache and no pack appends one line,
                                 for `kiln precompile`. NULL: KILN_RECORD, else none; "": none */
    int64_t loaded_max_count; /* kernels that stay loaded for a device; 0: 4,096; negative: no limit. Beyond this or the
                                 next the least recently used are dropped, but for those that a plan has or that were
                                 launched into a graph; a later call takes them from the caches or compiles them */
    int64_t loaded_max_bytes; /* host memory of their images and names; 0: 256 MiB; negative: no limit */
    int64_t compile_limit_ms; /* of one compile; 0: KILN_COMPILE_LIMIT, else none. With a limit each compile runs in a
                                 process of its own, kiln-worker, which is ended when the limit is passed: the call
                                 gives KILN_E_TIMEOUT, and so does each later one for that kernel that has no more time,
                                 without compiling, through the disk cache also in other processes */
    const char *worker_path;  /* that program; NULL: KILN_WORKER, else next to the library or where it is installed */
    kiln_host_allocator host_allocator;
    kiln_device_allocator device_allocator;
    int primary_context; /* not 0: calls work in the primary context of CUDA device number `device`, whatever is current
                            on the thread, which is current again afterwards. It is retained by the first call that
                            needs it and released with the context. 0: in the thread's current CUDA context */
    int device;          /* from 0; ignored where primary_context is 0 */
    kiln_log_detail log_detail; /* what of it the log is told; ignored where there is none */
    int reserved;               /* 0 */
    kiln_cache_callbacks cache;
} kiln_context_options;
#define KILN_CONTEXT_OPTIONS_INIT \
    { \
        sizeof(kiln_context_options), NULL, NULL, NULL, KILN_POLICY_COMPILE, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, 0, \
            0, NULL, {NULL, NULL, NULL}, {NULL, NULL, NULL}, 0, 0, KILN_LOG_DETAIL_DEFAULT, 0, { \
            NULL, NULL, NULL \
        } \
    }

/* Creates a context; opens packs, no library but that of a profiler which is attached, and touches no GPU. options may
 * be NULL for the defaults. Ownership: the caller destroys *out, after every program and plan made from it.
 * Thread-safe. */
KILN_API kiln_status kiln_context_create(const kiln_context_options *options, kiln_context **out);
/* Unloads its kernels: what was launched has to be done. No other thread may be in a call with the context. */
KILN_API void kiln_context_destroy(kiln_context *context);

/* Calls that are compiling, or wait for a compile, return KILN_E_CANCELLED soon; later ones compile as before. What
 * kiln_prepare has not done yet is cancelled as well. A compile that NVRTC has begun in this process, as it does
 * without compile_limit_ms, is finished first. NULL is ignored. Thread-safe: made for other threads. */
KILN_API void kiln_context_cancel_compiles(kiln_context *context);

/* A function in CUDA C++ of the caller's own, that programs of a context may call by its name, on elements like any
 * function of the language: name(x), name(x, y). The source defines it, a `__device__ float NAME(float, ...)`, and
 * where programs compute in f64 the same for double beside it; it may define others and constants, and calls CUDA's
 * functions. It must give the same for the same arguments, read and write no memory but its own, and not synchronise.
 * Each kernel that calls it has the source in it, in a namespace of its own, and keys of caches are made of it: it
 * includes nothing and leaves no macros behind. It is code that runs on the GPU, as trusted as the program that links
 * Kiln; texts of programs have no way to bring any. */
typedef struct kiln_device_function {
    size_t struct_size;    /* sizeof(kiln_device_function), as KILN_DEVICE_FUNCTION_INIT sets it */
    const char *name;      /* a word that neither the language has nor C++; a prefix keeps it apart from functions of
                              later versions */
    const char *source;    /* 64 KiB at most */
    size_t argument_count; /* 1 to 3 */
    double (*host)(void *user, const double *arguments); /* the same on the CPU, for kiln_run_cpu, from whichever thread
                                                             calls that; NULL: KILN_E_UNSUPPORTED there */
    void *user;                                          /* passed to host */
} kiln_device_function;
#define KILN_DEVICE_FUNCTION_INIT \
    { sizeof(kiln_device_function), NULL, NULL, 1, NULL, NULL }

/* Programs that are created with the context from now on may call the function, unless they define one of that name.
 * What is wrong in the source the compiler tells when the first kernel is compiled: KILN_E_COMPILE, with lines of the
 * source. Programs that call it have no gradient with respect to what it takes, and kiln_context_options.record_path
 * leaves them out. Ownership: name and source are copied; the function stays until the context is destroyed.
 * KILN_E_NAME: the language or C++ has the name, or the context has it already; KILN_E_ARGUMENT, also for a source that
 * includes a file; KILN_E_LIMIT; KILN_E_MEMORY. Thread-safe. */
KILN_API kiln_status kiln_context_add_function(kiln_context *context, const kiln_device_function *function);

/* What a context has done since it was created, and what it holds now. Calls that launch what kiln_run or a plan knows
 * already count nothing. */
typedef struct kiln_context_stats {
    size_t struct_size;                         /* sizeof(kiln_context_stats), as KILN_CONTEXT_STATS_INIT sets it */
    int64_t from_memory, from_packs, from_disk; /* kernels that calls needed, and found there ... */
    int64_t compiled;                           /* ... that they compiled ... */
    int64_t refused;                            /* ... and that they could not have, for any reason */
    int64_t failed_compiles;       /* compiles that gave no kernel, those stopped or cancelled among them */
    int64_t loads;                 /* of a kernel into a device */
    int64_t kernels, kernel_bytes; /* loaded now, on all devices, or prepared for that; host memory of their images and
                                      names */
    int64_t shapes;                /* that kiln_run remembers now */
    double compile_seconds;        /* in all compiles, added up over threads */
    double wait_seconds;           /* for compiles of other threads and other processes, the same */
    double prepare_seconds;        /* in calls that created a plan or met a new shape, up to their launch: these two,
                                      and choosing a schedule, writing the source, looking it up, loading */
    int64_t from_callbacks, any_shape; /* that kiln_context_options.cache had; of all, those that serve any shape */
} kiln_context_stats;
#define KILN_CONTEXT_STATS_INIT \
    { sizeof(kiln_context_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills *stats (struct_size set by the caller). Numbers of calls under way may be there in part. Cheap: some counters,
 * and the context's lock for what it holds now. A forked child goes on from its parent's numbers. KILN_E_ARGUMENT.
 * Thread-safe. */
KILN_API kiln_status kiln_context_get_stats(kiln_context *context, kiln_context_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
