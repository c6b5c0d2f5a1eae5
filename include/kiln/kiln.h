/* Kiln: row programs to fused CUDA kernels, at run time.
 * This header and the three that it includes are the whole stable API. C11, usable from C++.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Conventions that hold for every function unless its comment says otherwise:
 *   - A function that can fail returns a kiln_status; on failure nothing is created, no output argument is written
 *     except for NULL into an output handle, and kiln_last_error() has the reason in one sentence.
 *   - Handles are destroyed by the matching ..._destroy function, which accepts NULL.
 *   - The library never exits or aborts, and prints only if the user's KILN_LOG asks for it. It keeps no reference to
 *     memory passed to it after a call returns, except for the device memory that an asynchronous launch works on.
 *   - Sizes and strides count elements, not bytes. Strings are UTF-8 and end in NUL.
 *   - A thread with a stack of 64 KB may make any call, whatever the program's text. Kiln uses less than 32 KB of it;
 *     the rest is left to the CUDA driver, whose needs are not documented, if a call loads or launches. NVRTC runs on a
 *     thread of Kiln's own, which lives as long as a compile, of KILN_POLICY_BACKGROUND as long as its context, of
 *     kiln_prepare as long as there is something to prepare. */
#ifndef KILN_KILN_H
#define KILN_KILN_H

#include <kiln/context.h>
#include <kiln/status.h>
#include <kiln/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The header's version. */
#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 2
#define KILN_VERSION_PATCH 0

/* 200 for 0.2.0: grows with each version, for #if and for comparison with kiln_version_number. */
#define KILN_VERSION_NUMBER (KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH)

/* "0.2.0". Static string. Thread-safe. */
KILN_API const char *kiln_version(void);
/* KILN_VERSION_NUMBER of the library that is loaded, which may be newer than the header. Thread-safe. */
KILN_API int kiln_version_number(void);

/* ---- programs ----------------------------------------------------------------------------------------- */

/* A parsed row program with its signature. Immutable. Thread-safety: any number of threads may use it. */
typedef struct kiln_program kiln_program;

/* How a program's text is to be read. */
typedef struct kiln_program_options {
    size_t struct_size;
    const char *outputs; /* names of the outputs, comma-separated, in the order of their tensors. NULL: every
                            assigned name that no statement reads, in the order of assignment */
    const char *scalars; /* names of the scalars, comma-separated, in the order of their values. NULL: none */
    const int *axes;     /* reduced axes, negative ones count from the last. NULL: the last axis */
    size_t axis_count;   /* entries of axes; ignored where axes is NULL */
    int all_axes;        /* not 0: reduce over all axes, axes is ignored */
    const char *inputs;  /* names of the inputs, comma-separated, in the order of their tensors: however the text is
                            rewritten, a call binds the same. NULL: in the order of their first appearance in it */
} kiln_program_options;
#define KILN_PROGRAM_OPTIONS_INIT \
    { sizeof(kiln_program_options), NULL, NULL, NULL, 0, 0, NULL }

/* Parses text. Names that are read and never assigned, less the scalars, are the inputs, in the order of
 * options->inputs or of their first appearance. Tensors are passed as inputs first, outputs after them. options may be
 * NULL. Returns KILN_E_SYNTAX, KILN_E_NAME, KILN_E_LIMIT with line, column and the offending text in the message;
 * KILN_E_NAME also for a listed name that the program does not have, and for an input that a list of inputs lacks.
 * Ownership: the caller destroys *out before the context. Thread-safe. */
KILN_API kiln_status kiln_program_create(kiln_context *context, const char *text, const kiln_program_options *options,
                                         kiln_program **out);
KILN_API void kiln_program_destroy(kiln_program *program);

/* How many it has. Thread-safe, as are the next. */
KILN_API size_t kiln_program_input_count(const kiln_program *program);
KILN_API size_t kiln_program_output_count(const kiln_program *program);
KILN_API size_t kiln_program_scalar_count(const kiln_program *program);
/* The i-th name, NULL past the end. Owned by the program. */
KILN_API const char *kiln_program_input_name(const kiln_program *program, size_t i);
KILN_API const char *kiln_program_output_name(const kiln_program *program, size_t i);
KILN_API const char *kiln_program_scalar_name(const kiln_program *program, size_t i);

/* The shape that output number `output` has for these inputs, which broadcast as in NumPy to the iteration space. What
 * it depends on outside of reductions decides, by the program's text. It has the reduced axes where that is a tensor
 * with one of them, index() along one of them, or uniform(): with 1 where all these tensors have 1 along them, else
 * with the space's extents. Otherwise it has one value for each row, and keeps its reduced axes as 1 (rank is the
 * space's) or drops them where keep_dims is 0. In a program whose outputs need no reduction each has the whole space.
 * A run takes more: the whole space for any output, and 1 or nothing along the reduced axes for a value that does not
 * vary along them.
 * inputs: the inputs alone. Data pointers and strides play no part, nor do types: a program that has no type for these
 * tensors, or for its scalars, is refused when it runs. *rank and sizes[0..rank) are written. Returns KILN_E_ARGUMENT,
 * KILN_E_BINDING, KILN_E_TYPE, KILN_E_SHAPE, KILN_E_SIZE, KILN_E_AXIS, KILN_E_MEMORY. Thread-safe. */
KILN_API kiln_status kiln_program_output_shape(const kiln_program *program, const kiln_tensor *inputs, size_t output,
                                               int keep_dims, int32_t *rank, int64_t sizes[KILN_MAX_RANK]);

/* The type that suits output number `output` for inputs and scalars of these types; a run takes any other. A truth
 * value is stored as bool, an integer as what it is computed in, i32, i64, u32 or u64, a float as the widest floating
 * type among the inputs: f32 where there is none, where two of one width meet (f16 and bf16), or for e8m0. inputs: the
 * inputs alone, of which types and ranks play a part (NULL where there are none); scalars: their types. *type is
 * written. Returns KILN_E_ARGUMENT, KILN_E_BINDING, KILN_E_TYPE, KILN_E_SHAPE, KILN_E_AXIS, KILN_E_LIMIT,
 * KILN_E_MEMORY. Thread-safe. */
KILN_API kiln_status kiln_program_output_type(const kiln_program *program, const kiln_tensor *inputs,
                                              const kiln_scalar *scalars, size_t output, kiln_type *type);

/* The text that the program was made of. Owned by the program. Thread-safe. */
KILN_API const char *kiln_program_text(const kiln_program *program);

/* What a gradient is to be of. */
typedef struct kiln_gradient_options {
    size_t struct_size; /* sizeof(kiln_gradient_options), as KILN_GRADIENT_OPTIONS_INIT sets it */
    const char *wrt;    /* inputs and scalars to differentiate by, comma-separated, in the order of the gradient's
                           outputs. NULL: all floating inputs that an output depends on smoothly */
    const char *saved;  /* outputs that the gradient may read as inputs instead of computing them again,
                           comma-separated. NULL: none */
} kiln_gradient_options;
#define KILN_GRADIENT_OPTIONS_INIT \
    { sizeof(kiln_gradient_options), NULL, NULL }

/* The program's gradient, by reverse mode, as another program: kiln_program_text has its text, docs/language.md the
 * rules. Its inputs are those of the program that it needs, in their order, then saved outputs, then the gradients of
 * the outputs, 'dy' of an output 'y' ('d_y' where 'dy' is a name of the program), which have the outputs' shapes with
 * reduced axes of size 1 (keep_dims of kiln_program_output_shape). Its outputs are 'dx' for each 'x' of options->wrt.
 * It is reduced over the same axes. inputs: the program's, of which types and sizes count: an axis along which a tensor
 * has one element, or that it lacks, is summed over in its gradient where others have more. Sizes[0] may be -1. NULL:
 * all inputs have all axes and floating types, and no gradient is summed. options may be NULL for the defaults. Returns
 * KILN_E_ARGUMENT, KILN_E_NAME for names that the program does not have or where no output depends on what is asked
 * for, KILN_E_TYPE for what has no floating type, KILN_E_SHAPE, KILN_E_UNSUPPORTED for operators that have no gradient
 * as a program (docs/limits.md), KILN_E_LIMIT, KILN_E_MEMORY. Ownership: the caller destroys *out before the context;
 * it does not need the program. Thread-safe. */
KILN_API kiln_status kiln_program_gradient(const kiln_program *program, const kiln_tensor *inputs,
                                           const kiln_gradient_options *options, kiln_program **out);

/* What was done for one program since it was created; a part of its context's numbers, but for the launches. */
typedef struct kiln_program_stats {
    size_t struct_size; /* sizeof(kiln_program_stats), as KILN_PROGRAM_STATS_INIT sets it */
    int64_t launches;   /* calls of kiln_run and of plans that succeeded, whatever the number of kernels of each */
    int64_t shapes;     /* that kiln_run remembers of it now */
    int64_t from_memory, from_packs, from_disk, compiled, refused, failed_compiles, loads; /* as the context's */
    double compile_seconds, wait_seconds, prepare_seconds;                                 /* the same */
    int64_t from_callbacks, any_shape;                                                     /* the same */
} kiln_program_stats;
#define KILN_PROGRAM_STATS_INIT \
    { sizeof(kiln_program_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills *stats (struct_size set by the caller). Threads count apart, so that counting makes none of them wait; the
 * numbers of calls under way may be there in part. kiln_compile counts as well, kiln_run_cpu nothing. A forked child
 * goes on from its parent's numbers. KILN_E_ARGUMENT. Thread-safe. */
KILN_API kiln_status kiln_program_get_stats(const kiln_program *program, kiln_program_stats *stats);

/* ---- running ------------------------------------------------------------------------------------------ */

/* Runs the program once on the GPU of the current CUDA context, or of kiln_context_options.device.
 *   tensors: inputs, then outputs; device memory. An output may be the very same tensor as an input (in
 *            place), where its elements belong to the same rows and columns: not y = sum(a * x) with y for x.
 *   scalars: kiln_program_scalar_count values, NULL where there are none.
 *   stream:  a CUstream or cudaStream_t, NULL for the default stream. The call is asynchronous to it.
 * The first call for a shape loads or compiles its kernel; later calls only look it up and launch. A first call may
 * drop kernels beyond kiln_context_options.loaded_max_count, and then waits until the device is idle. Returns
 * KILN_E_BINDING, KILN_E_TYPE, KILN_E_SHAPE, KILN_E_AXIS, KILN_E_POINTER, KILN_E_OVERLAP, KILN_E_SIZE,
 * KILN_E_UNSUPPORTED for bad tensors, and the statuses of loading, compiling and launching. Thread-safe. */
KILN_API kiln_status kiln_run(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                              const kiln_scalar *scalars, size_t scalar_count, void *stream);

/* What one call or plan has of its own. */
typedef struct kiln_call_options {
    size_t struct_size;   /* sizeof(kiln_call_options), as KILN_CALL_OPTIONS_INIT sets it */
    kiln_policy policy;   /* instead of the context's. Where the exact one is there, only ANY_SHAPE and RANGE are
                             different */
    int dependent_launch; /* not 0: programmatic dependent launch. The kernel may begin while what is before it in the
                             stream ends, and waits for that before it looks at memory; what is behind it and was
                             launched so, too, may begin likewise. It is another kernel. Architectures before sm_90,
                             drivers before CUDA 12.3 and kernels whose blocks all run together do without */
    void *workspace;      /* of a run: device memory as for kiln_plan_launch_with_workspace, used where the kernel needs
                             some. NULL: taken from the context's device allocator or pool. Plans ignore it: each of
                             their launches has its own */
    int64_t workspace_bytes; /* of it; fewer than the kernel needs is KILN_E_SIZE, with the number that it needs */
} kiln_call_options;
#define KILN_CALL_OPTIONS_INIT \
    { sizeof(kiln_call_options), KILN_POLICY_CONTEXT, 0, NULL, 0 }

/* kiln_run with options, which may be NULL for the defaults. KILN_E_ARGUMENT also for bad options, KILN_E_SIZE and
 * KILN_E_POINTER for their workspace. Thread-safe. */
KILN_API kiln_status kiln_run_with_options(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                           const kiln_scalar *scalars, size_t scalar_count, void *stream,
                                           const kiln_call_options *options);

/* The same as kiln_run on the CPU reference, in double precision (integers exactly), on host memory, any strides. Slow
 * and exact; needs neither driver nor NVRTC. Synchronous. Thread-safe. The most accurate answer is not what a GPU gives
 * where f32 overflows or cancels: exp(100) is finite here and infinite there. To compare with a GPU, use
 * kiln_run_cpu_with_options and KILN_PRECISION_PROGRAM. */
KILN_API kiln_status kiln_run_cpu(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                  const kiln_scalar *scalars, size_t scalar_count);

/* What the CPU reference computes floats in. Integers are computed in the program's types in either case. */
typedef enum kiln_precision {
    KILN_PRECISION_DOUBLE = 0, /* all in double, rounded once where an output is stored or the program converts */
    KILN_PRECISION_PROGRAM = 1 /* in the program's own types (docs/language.md): f32, or f64 where an input is f64. Each
                                  operation is rounded to its type, sums and products are added up as a tree of pairs */
} kiln_precision;

/* How the CPU reference computes. */
typedef struct kiln_cpu_options {
    size_t struct_size; /* sizeof(kiln_cpu_options), as KILN_CPU_OPTIONS_INIT sets it */
    kiln_precision precision;
} kiln_cpu_options;
#define KILN_CPU_OPTIONS_INIT \
    { sizeof(kiln_cpu_options), KILN_PRECISION_DOUBLE }

/* kiln_run_cpu with options, which may be NULL for the defaults. With KILN_PRECISION_PROGRAM it has the types of a
 * kernel: their overflow, cancellation and rounding. It does not have a kernel's bits: sums are added in another order
 * there, functions such as exp are a few units in the last place off, and where outputs are narrow they are
 * approximated; here they are computed in double and rounded once. Thread-safe. */
KILN_API kiln_status kiln_run_cpu_with_options(const kiln_program *program, const kiln_tensor *tensors,
                                               size_t tensor_count, const kiln_scalar *scalars, size_t scalar_count,
                                               const kiln_cpu_options *options);

/* ---- plans -------------------------------------------------------------------------------------------- */

/* A program prepared for tensors of given types, shapes and alignments on the current context's device.
 * Immutable. Thread-safety: any number of threads may launch it at once. */
typedef struct kiln_plan kiln_plan;

/* Where a plan's kernel came from. */
typedef enum kiln_origin {
    KILN_ORIGIN_MEMORY = 0,
    KILN_ORIGIN_DISK = 1,
    KILN_ORIGIN_COMPILED = 2,
    KILN_ORIGIN_PACK = 3,
    KILN_ORIGIN_CALLBACKS = 4 /* kiln_context_options.cache */
} kiln_origin;

/* Prepares and loads; nothing is launched. Its kernel stays loaded while the plan lives. May drop others, as kiln_run.
 * tensors and scalars as for kiln_run: data pointers are read for their alignment only (overlap is looked for at each
 * launch), scalars for their types only. Ownership: the caller destroys *out, before the program. Thread-safe. */
KILN_API kiln_status kiln_plan_create(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                      const kiln_scalar *scalars, size_t scalar_count, kiln_plan **out);
/* The same with options, which may be NULL for the defaults. */
KILN_API kiln_status kiln_plan_create_with_options(const kiln_program *program, const kiln_tensor *tensors,
                                                   size_t tensor_count, const kiln_scalar *scalars, size_t scalar_count,
                                                   const kiln_call_options *options, kiln_plan **out);
KILN_API void kiln_plan_destroy(kiln_plan *plan);

/* Launches with these data pointers (inputs, then outputs; each at least as aligned as the plan's) and scalar
 * values. No look-up; memory is asked for, of a stream-ordered pool, only by plans with a workspace. Thread-safe. */
KILN_API kiln_status kiln_plan_launch(const kiln_plan *plan, void *const *data, size_t data_count,
                                      const kiln_scalar *scalars, size_t scalar_count, void *stream);

/* The same with a workspace of the caller's: device memory of at least kiln_plan_info.workspace_bytes, aligned to 16
 * bytes, whatever it holds, that nothing else uses until the launch is done. Without it a plan that needs one takes it
 * from a stream-ordered pool of the context's. */
KILN_API kiln_status kiln_plan_launch_with_workspace(const kiln_plan *plan, void *const *data, size_t data_count,
                                                     const kiln_scalar *scalars, size_t scalar_count, void *workspace,
                                                     int64_t workspace_bytes, void *stream);

/* Who chose a plan's schedule. */
typedef enum kiln_schedule_origin {
    KILN_SCHEDULE_MODEL = 0,  /* the library, by what it expects of the device */
    KILN_SCHEDULE_RECORD = 1, /* a tuned record: `kiln tune` has measured it on such a device (docs/tuning.md) */
    KILN_SCHEDULE_PIN = 2     /* the caller, by kiln_context_options.schedule or KILN_SCHEDULE */
} kiln_schedule_origin;

/* What a plan is: its schedule, its kernel, and how long it took to make. */
typedef struct kiln_plan_info {
    size_t struct_size;
    const char *schedule; /* one line: group, staging, layout and their numbers */
    const char *reason;   /* why it was chosen, one sentence */
    const char *source;   /* the generated CUDA C++ */
    const char *log;      /* NVRTC's log; "" if empty or not known */
    int arch;             /* 90 for sm_90 */
    int is_ptx;           /* the image is PTX, which the driver compiles at load */
    int registers;        /* per thread; -1 where not known */
    int spill_bytes;      /* per thread; -1 where not known */
    int64_t shared_bytes; /* per block, static and dynamic */
    int64_t image_bytes;  /* cubin or PTX */
    int64_t rows, cols;   /* kept and reduced elements (flat: 1 row) */
    int64_t blocks;       /* of the first launch, before persistent groups are cut to those that run at once */
    int threads;          /* per block */
    kiln_origin origin;
    double parse_ms, schedule_ms, emit_ms, lookup_ms, compile_ms, load_ms; /* wall time of each step, 0 if skipped */
    int64_t workspace_bytes; /* device memory that a launch takes in addition to the tensors; 0: none; -1: as
                                the rows ask, which are open */
    int launches;            /* kernels launched one after another */
    kiln_schedule_origin schedule_origin;
    int any_shape;                 /* not 0: the kernel serves any shape of the program and its types */
    int64_t least_cols, most_cols; /* of a kernel that serves a range of columns; else 0 */
} kiln_plan_info;
#define KILN_PLAN_INFO_INIT \
    { \
        sizeof(kiln_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, KILN_ORIGIN_MEMORY, 0, 0, 0, 0, 0, 0, 0, 0, \
            KILN_SCHEDULE_MODEL, 0, 0, 0 \
    }

/* Fills *info (struct_size set by the caller). Its strings belong to the plan; the source is written out by the first
 * call. KILN_E_ARGUMENT, KILN_E_MEMORY. Thread-safe. */
KILN_API kiln_status kiln_plan_get_info(const kiln_plan *plan, kiln_plan_info *info);

/* ---- preparing ---------------------------------------------------------------------------------------- */

/* A kernel that calls will need: a program for tensors of these types, shapes and alignments. */
typedef struct kiln_problem {
    const kiln_program *program; /* of the context that prepares */
    const kiln_tensor *tensors;  /* as for kiln_compile: data is read for its alignment alone, NULL means 16 bytes */
    size_t tensor_count;
    const kiln_scalar *scalars; /* their types */
    size_t scalar_count;
    int arch;     /* 90 for sm_90, planned for a typical device of it as kiln_compile does, without a driver; 0: for the
                     device of the current CUDA context, or of kiln_context_options.device */
    int reserved; /* 0 */
    const kiln_call_options *options; /* of the calls that it is for; NULL: the defaults. Of their policy only
                                         KILN_POLICY_ANY_SHAPE and KILN_POLICY_RANGE count: otherwise it is the exact
                                         kernel */
} kiln_problem;
#define KILN_PROBLEM_INIT \
    { NULL, NULL, 0, NULL, 0, 0, 0, NULL }

/* Of the range of columns that a kernel of KILN_POLICY_RANGE serves, the last: a power of two from 64 on, from 512 on
 * also half as many more. Rows of 2 to 8,192 columns have 12 kernels: that of 2 columns, and then each of
 * kiln_range_end(columns) + 1. columns: up to 2^30; of more it is INT64_MAX. Thread-safe. */
KILN_API int64_t kiln_range_end(int64_t columns);

/* What a problem has come to. */
typedef struct kiln_prepare_result {
    size_t struct_size; /* sizeof(kiln_prepare_result), as KILN_PREPARE_RESULT_INIT sets it */
    size_t index;       /* of the problem in the list */
    int done;           /* 0: not yet; then what follows means nothing */
    kiln_status status; /* KILN_OK, or why the kernel is not there ... */
    const char *error;  /* ... in a sentence; "" where it is. Lives as long as the preparation */
    kiln_origin origin; /* where the kernel came from */
    int any_shape;      /* not 0: the kernel serves any shape, also in place of an exact one that cannot be compiled */
    double ms;          /* what it took, less the waiting for its turn */
} kiln_prepare_result;
#define KILN_PREPARE_RESULT_INIT \
    { sizeof(kiln_prepare_result), 0, 0, KILN_OK, NULL, KILN_ORIGIN_MEMORY, 0, 0 }

/* Told of each problem that is done, as the done-th of total; *result lives until it returns. Called by threads of the
 * preparation's, one at a time. It may call Kiln, kiln_prepare_cancel of this preparation included, but not wait for
 * it, and not destroy it or the context. */
typedef void (*kiln_prepare_callback)(void *user, size_t done, size_t total, const kiln_prepare_result *result);

/* How a list of problems is prepared. */
typedef struct kiln_prepare_options {
    size_t struct_size; /* sizeof(kiln_prepare_options), as KILN_PREPARE_OPTIONS_INIT sets it */
    int jobs;           /* kernels at a time, up to 256. 0: as many as there are processors for the process. Where there
                           is more than one, each is compiled in a process of its own, kiln-worker, since NVRTC compiles
                           one at a time in a process; without that program, in this one. 1: in this process, which then
                           waits for a compile that has begun also where the rest is cancelled */
    int reserved;       /* 0 */
    kiln_prepare_callback callback; /* NULL: none */
    void *user;                     /* passed to it */
} kiln_prepare_options;
#define KILN_PREPARE_OPTIONS_INIT \
    { sizeof(kiln_prepare_options), 0, 0, NULL, NULL }

/* A list of problems whose kernels are being compiled, or have been. Thread-safety: any number of threads may use it. A
 * forked child may destroy it; to it what was not done then is cancelled. */
typedef struct kiln_preparation kiln_preparation;

/* Begins to compile the kernels of all problems, in threads of the preparation's, and returns: what later calls for
 * them need is then in the context's memory and in its disk cache, and is only loaded, whatever the context's policy.
 * Where calls have run by a kernel for any shape under KILN_POLICY_NEVER_COMPILE, they go over to the exact one at the
 * end. What packs and caches have is not compiled, and what several problems need is compiled once. A problem that
 * fails, for a bad tensor or by the compiler, stops no other. The context keeps the bytes within loaded_max_bytes, the
 * least recently used go first.
 * problems: copied, with their tensors and scalars; programs may be destroyed meanwhile. options may be NULL for the
 * defaults. Returns KILN_E_ARGUMENT, KILN_E_MEMORY; KILN_E_NO_DRIVER, KILN_E_NO_DEVICE, KILN_E_NO_CONTEXT,
 * KILN_E_UNSUPPORTED where a problem asks for the current device and that cannot be had.
 * Ownership: the caller destroys *out. kiln_context_destroy cancels what is left of it, and waits for that. A process
 * may end at any moment, its workers end with it. Thread-safe. */
KILN_API kiln_status kiln_prepare(kiln_context *context, const kiln_problem *problems, size_t problem_count,
                                  const kiln_prepare_options *options, kiln_preparation **out);

/* Waits until all are done, and all callbacks have returned; at most timeout_ms milliseconds, negative: as long as it
 * takes. *finished (may be NULL) is 0 where that time passed first: then the call returns KILN_OK. Otherwise returns
 * the status of the first problem in the list that failed, with a sentence that says which and how many did.
 * KILN_E_CANCELLED in a child that was forked before the end. Thread-safe. */
KILN_API kiln_status kiln_prepare_wait(kiln_preparation *preparation, int64_t timeout_ms, int *finished);
/* How many are done, of how many; either may be NULL. Never waits. Thread-safe, as are the next two. */
KILN_API kiln_status kiln_prepare_get_progress(const kiln_preparation *preparation, size_t *done, size_t *total);
/* Fills *result (struct_size set by the caller) with what problem number index has come to. KILN_E_ARGUMENT. */
KILN_API kiln_status kiln_prepare_get_result(const kiln_preparation *preparation, size_t index,
                                             kiln_prepare_result *result);
/* What is not done becomes KILN_E_CANCELLED soon; calls that wait for one of these kernels compile it themselves. Does
 * not wait. NULL is ignored. kiln_context_cancel_compiles does the same to all of a context's. */
KILN_API void kiln_prepare_cancel(kiln_preparation *preparation);
/* Cancels what is not done, waits for that, and frees. What was prepared stays. */
KILN_API void kiln_prepare_destroy(kiln_preparation *preparation);

/* ---- by name ------------------------------------------------------------------------------------------ */

/* Tensors and scalars with their names, in any order: each input, output and scalar of the program once. In all calls
 * below a name that the program lacks is KILN_E_NAME, with the nearest one that it has in the sentence, and so is one
 * that is bound twice; one that is not bound is KILN_E_BINDING. Names are compared, a few bytes each; else they are as
 * the calls without names. All are thread-safe. */
typedef struct kiln_binding {
    const char *name;
    kiln_tensor tensor;
} kiln_binding;
typedef struct kiln_scalar_binding {
    const char *name;
    kiln_scalar value;
} kiln_scalar_binding;

/* kiln_run_with_options by name. */
KILN_API kiln_status kiln_run_named(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                                    const kiln_scalar_binding *scalars, size_t scalar_count, void *stream,
                                    const kiln_call_options *options);

/* kiln_run_cpu_with_options by name. */
KILN_API kiln_status kiln_run_cpu_named(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                                        const kiln_scalar_binding *scalars, size_t scalar_count,
                                        const kiln_cpu_options *options);

/* kiln_plan_create_with_options by name. Ownership: the caller destroys *out, before the program. */
KILN_API kiln_status kiln_plan_create_named(const kiln_program *program, const kiln_binding *bindings,
                                            size_t binding_count, const kiln_scalar_binding *scalars,
                                            size_t scalar_count, const kiln_call_options *options, kiln_plan **out);

/* kiln_plan_launch_with_workspace by name; workspace may be NULL. Tensors are compared with those that the plan was
 * made for: KILN_E_TYPE, KILN_E_SHAPE where a type, size or stride is another one. */
KILN_API kiln_status kiln_plan_launch_named(const kiln_plan *plan, const kiln_binding *bindings, size_t binding_count,
                                            const kiln_scalar_binding *scalars, size_t scalar_count, void *workspace,
                                            int64_t workspace_bytes, void *stream);

/* Writes the tensors and values in the program's order, for calls that take no names: input_count + output_count and
 * scalar_count of them (NULL where that is 0). */
KILN_API kiln_status kiln_program_bind(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                                       const kiln_scalar_binding *scalars, size_t scalar_count, kiln_tensor *tensors,
                                       kiln_scalar *values);

/* ---- compiling without a GPU -------------------------------------------------------------------------- */

/* What kiln_compile made. All memory belongs to the handle. Immutable. */
typedef struct kiln_kernel kiln_kernel;

/* Generates and compiles (or finds in the cache) the kernel for these tensors and an architecture, with no
 * driver and no GPU. data pointers are read for their alignment alone and may be NULL, which means 16-byte aligned.
 * Where tensors[i].sizes[0] is -1 that size is left open: the kernel is for more than one (docs/packs.md). arch: 90 for
 * sm_90; with ptx not 0 PTX for compute_90 and newer. With compile 0 it only plans and generates the source (image is
 * NULL, needs no NVRTC).
 * Ownership: the caller destroys *out, before the program. Thread-safe. */
KILN_API kiln_status kiln_compile(const kiln_program *program, const kiln_tensor *tensors, size_t tensor_count,
                                  const kiln_scalar *scalars, size_t scalar_count, int arch, int ptx, int compile,
                                  kiln_kernel **out);
KILN_API void kiln_kernel_destroy(kiln_kernel *kernel);
/* The image's bytes (a cubin, or PTX text that ends in NUL), NULL where it was not compiled. Owned by the handle.
 * Thread-safe, as are the next two. */
KILN_API const void *kiln_kernel_image(const kiln_kernel *kernel, size_t *bytes);
/* As kiln_plan_get_info; load_ms is 0, and the strings belong to the handle. */
KILN_API kiln_status kiln_kernel_get_info(const kiln_kernel *kernel, kiln_plan_info *info);
/* The program's phases in words, one line each, for people. Owned by the handle. */
KILN_API const char *kiln_kernel_phases(const kiln_kernel *kernel);

/* Kernels on their way into a pack, as `kiln precompile` makes it (docs/packs.md). Thread-safety: one thread at a time.
 */
typedef struct kiln_pack_writer kiln_pack_writer;

/* Creates one without kernels. Ownership: the caller destroys *out. KILN_E_ARGUMENT, KILN_E_MEMORY. */
KILN_API kiln_status kiln_pack_writer_create(kiln_pack_writer **out);
KILN_API void kiln_pack_writer_destroy(kiln_pack_writer *writer);

/* Adds all kernels that a plan for these tensors looks for, one for most, the one that serves any shape of the program
 * and these types where it has one, and the tuned record that chose the former: from the disk cache of the program's
 * context, or compiled, whatever the context's policy; planned, as kiln_compile does, for a typical device of the
 * architecture. Arguments, open sizes and statuses as for kiln_compile. Where it fails, the kernels that were added
 * before stay. A kernel that is there already is not added twice. The writer keeps copies: program and context may be
 * destroyed. */
KILN_API kiln_status kiln_pack_writer_add(kiln_pack_writer *writer, const kiln_program *program,
                                          const kiln_tensor *tensors, size_t tensor_count, const kiln_scalar *scalars,
                                          size_t scalar_count, int arch, int ptx);

/* The pack with all that was added so far, for a file or for kiln_pack.data: the same kernels give the same bytes, in
 * whatever order they were added. Ownership: the bytes belong to the writer, until the next call with it.
 * KILN_E_ARGUMENT, KILN_E_MEMORY, KILN_E_SIZE for more kernels than a pack can have. */
KILN_API kiln_status kiln_pack_writer_finish(kiln_pack_writer *writer, const void **bytes, size_t *size);

/* ---- system information ------------------------------------------------------------------------------- */

/* What of the machine Kiln works with. */
typedef struct kiln_system_info {
    size_t struct_size;
    char driver_path[512]; /* "" where it cannot be opened */
    int driver_version;    /* 13000 for CUDA 13.0; 0 where unknown */
    char nvrtc_path[512];
    int nvrtc_major, nvrtc_minor;
    int nvrtc_archs[64]; /* ascending, 0 after the last */
    char cache_dir[512]; /* "" where there is no disk cache */
    int device_count;
} kiln_system_info;

/* Opens the libraries if they are not yet open and reports what was found. Missing parts are no failure: their
 * fields are empty and *driver_error / *nvrtc_error (may be NULL) get a sentence owned by the context, which its next
 * such call overwrites; "" where nothing is missing. KILN_E_ARGUMENT. Thread-safe, but for these sentences. */
KILN_API kiln_status kiln_context_get_system_info(kiln_context *context, kiln_system_info *info,
                                                  const char **driver_error, const char **nvrtc_error);

/* A device, as far as schedules depend on it. */
typedef struct kiln_device_info {
    size_t struct_size;
    char name[128];
    int arch; /* 90 for sm_90 */
    int sm_count;
    int64_t shared_per_block; /* bytes, with opt-in */
    int64_t shared_per_sm;
    int64_t l2_bytes;
    int64_t memory_bytes;
} kiln_device_info;

/* The numbers of CUDA device `ordinal`. KILN_E_ARGUMENT, KILN_E_NO_DRIVER, KILN_E_NO_DEVICE. Thread-safe. */
KILN_API kiln_status kiln_context_get_device_info(kiln_context *context, int ordinal, kiln_device_info *info);

/* A kernel in the disk cache. */
typedef struct kiln_cache_entry {
    size_t struct_size;
    const char *key;         /* 32 hexadecimal digits */
    const char *description; /* program, types and shape in one line */
    const char *schedule;
    int arch, is_ptx, registers, spill_bytes;
    int64_t entry_bytes, image_bytes;
    int64_t created_unix, used_unix; /* seconds since 1970 */
    double compile_ms;
} kiln_cache_entry;

/* Called for each entry; its strings live until it returns. Return not 0 to stop. */
typedef int (*kiln_cache_visitor)(void *user, const kiln_cache_entry *entry);
/* Visits every readable entry of the disk cache, in no particular order. *unreadable (may be NULL) counts the files
 * that are no valid entry. Thread-safe, other processes may write meanwhile. */
KILN_API kiln_status kiln_cache_visit(kiln_context *context, kiln_cache_visitor visitor, void *user,
                                      size_t *unreadable);
/* Removes every entry; *removed and *bytes (may be NULL) tell how many. Kernels in use stay loaded. Thread-safe. */
KILN_API kiln_status kiln_cache_clear(kiln_context *context, size_t *removed, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
