/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call and each allocation in turn fails: no call crashes, hangs, leaks or comes to a wrong result, what is
 * on disk stays good, and the next call works. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fake_driver.h"
#include "support/faults.h"
#include "jit/nvrtc.h"
#include "npy.h"
#include "support/own_folder.h"
#include "runtime/packing.h"
#include "pack_file.h"
#include "workers.h"

enum { ROWS = 4, COLS = 33 };

typedef struct place {
    own_folder folder, cache;
    char pack[96], record[96], array[96];
    fake_driver *fake;
} place;

/* ---- programs ---- */

static kiln_status refuse_bad_programs(void *user) {
    static const struct {
        const char *text;
        kiln_status status;
    } cases[] = {
        {"y = softmax(x", KILN_E_SYNTAX},
        {"y = unheard_of(x)", KILN_E_NAME},
        {"fn f(a) = f(a); y = f(x)", KILN_E_NAME},
        {"y = x +", KILN_E_SYNTAX},
        {"y = 1e999 * x", KILN_E_SYNTAX},
        {"y = x; y = x", KILN_E_NAME},
        {"m = reduce((a, b) -> a + b, x, 0); y = exp(x - m", KILN_E_SYNTAX},
    };
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    (void)user;
    options.cache_dir = "";
    kiln_status status = kiln_context_create(&options, &context);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++) {
        kiln_program *program = NULL;
        kiln_status refused = kiln_program_create(context, cases[i].text, NULL, &program);
        if (refused == KILN_E_MEMORY) status = refused;
        if (refused != KILN_E_MEMORY && refused != cases[i].status)
            fault_blame("'%s': %s: %s", cases[i].text, kiln_status_name(refused), kiln_last_error());
        if (program) fault_blame("'%s' gave a program", cases[i].text);
    }
    kiln_context_destroy(context);
    return status;
}

static void bad_programs_are_refused_whatever_fails(void **state) {
    fail_each_call(&(fault_scenario){"bad programs", refuse_bad_programs, NULL, NULL, *state, 30});
}

static float x[ROWS * COLS], y[ROWS * COLS], s[ROWS];
static const char *const text = "fn twice(a) = a + a\nm = reduce((a, b) -> maximum(a, b), twice(x) * k, -1e30)\n"
                                "y = exp(x - m) / sum(exp(x - m)); s = logsumexp(x)";

/* y's rows are softmax's, which are not changed by m; x is 0 but for one element of each row. */
static void check_results(void) {
    for (int row = 0; row < ROWS; row++) {
        const double sum = exp((double)x[row * COLS]) + COLS - 1;
        if (fabs((double)s[row] - log(sum)) > 1e-6) fault_blame("s[%d] is %g", row, (double)s[row]);
        for (int col = 0; col < COLS; col++)
            if (fabs((double)y[row * COLS + col] - exp((double)x[row * COLS + col]) / sum) > 1e-6)
                fault_blame("y[%d][%d] is %g", row, col, (double)y[row * COLS + col]);
    }
}

/* Everything that needs neither driver nor NVRTC. */
static kiln_status plan_and_run_on_the_cpu(void *user) {
    const place *p = user;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options more = KILN_PROGRAM_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_tensor tensors[3] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                              kiln_tensor_contiguous(s, KILN_F32, 1, (int64_t[]){ROWS})};
    kiln_scalar k = kiln_scalar_f64(0.5);
    memset(y, 0, sizeof y);
    options.cache_dir = p->cache.path;
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    more.scalars = "k";
    more.outputs = "y,s";
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, text, &more, &program);
    if (!status) status = kiln_compile(program, tensors, 3, &k, 1, 90, 0, 0, &kernel);
    if (!status) status = kiln_run_cpu(program, tensors, 3, &k, 1);
    if (!status) check_results();
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static void planning_and_the_reference_survive_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"planning and the reference", plan_and_run_on_the_cpu, NULL, NULL, *state, 40});
}

static kiln_status derive(void *user) {
    const place *p = user;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options scalars = KILN_PROGRAM_OPTIONS_INIT;
    kiln_gradient_options more = KILN_GRADIENT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL, *gradient = NULL;
    const kiln_tensor inputs[] = {kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                                  kiln_tensor_contiguous(NULL, KILN_F32, 1, (int64_t[]){COLS})};
    options.cache_dir = p->cache.path;
    scalars.scalars = "k";
    more.saved = "y";
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x * w) * k", &scalars, &program);
    if (!status) status = kiln_program_gradient(program, inputs, &more, &gradient);
    if (!status && kiln_program_output_count(gradient) != 2) fault_blame("%s", kiln_program_text(gradient));
    kiln_program_destroy(gradient);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static void gradients_survive_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"gradients", derive, NULL, NULL, *state, 40});
}

/* ---- launches ---- */

static void set_device(const place *p, kiln_context_options *options) {
    options->cache_dir = p->cache.path;
    options->driver_path = KILN_FAKE_DRIVER;
    options->nvrtc_path = KILN_FAKE_NVRTC;
}

/* A plan, a launch by it and one by kiln_run, and what opens NVRTC where the cache has not made that needless;
 * *origin: where the kernel came from. */
static kiln_status launch(const place *p, kiln_origin *origin) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_system_info system_info = {.struct_size = sizeof system_info};
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){ROWS, COLS})};
    void *data[2] = {x, y};
    const long launches = p->fake->launches;
    set_device(p, &options);
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status) status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    if (!status) status = kiln_plan_get_info(plan, &info);
    if (!status) status = kiln_plan_launch(plan, data, 2, NULL, 0, NULL);
    if (!status) status = kiln_run(program, tensors, 2, NULL, 0, NULL);
    if (!status) status = kiln_context_get_system_info(context, &system_info, NULL, NULL);
    *origin = info.origin;
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    if (!status && p->fake->launches - launches != 2) fault_blame("%ld launches", p->fake->launches - launches);
    if (p->fake->loads != p->fake->unloads) fault_blame("a kernel is left loaded");
    return status;
}

static void *allocate(void *user, size_t bytes) {
    (void)user;
    return malloc(bytes);
}

static void release(void *user, void *memory, size_t bytes) {
    (void)user, (void)bytes;
    free(memory);
}

/* By name, with the application's memory, in a primary context. */
static kiln_status launch_as_told(void *user) {
    const place *p = user;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_program_options order = KILN_PROGRAM_OPTIONS_INIT;
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_type type = KILN_BOOL;
    const int64_t sizes[] = {ROWS, COLS};
    const kiln_binding bindings[] = {{"y", kiln_tensor_contiguous(y, KILN_F32, 2, sizes)},
                                     {"x", kiln_tensor_input(x, KILN_F32, 2, sizes)}};
    const kiln_scalar_binding k = {"k", kiln_scalar_f64(0.5)};
    const long primaries = p->fake->primaries;
    set_device(p, &options);
    options.cache_dir = "";
    options.host_allocator = (kiln_host_allocator){allocate, release, NULL};
    options.primary_context = 1;
    order.inputs = "x";
    order.scalars = "k";
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x * k)", &order, &program);
    if (!status) status = kiln_program_output_type(program, &bindings[1].tensor, &k.value, 0, &type);
    if (!status) status = kiln_plan_create_named(program, bindings, 2, &k, 1, NULL, &plan);
    if (!status) status = kiln_plan_launch_named(plan, bindings, 2, &k, 1, NULL, 0, NULL);
    if (!status) status = kiln_run_named(program, bindings, 2, &k, 1, NULL, NULL);
    if (!status) status = kiln_context_get_stats(context, &stats);
    if (!status && (type != KILN_F32 || stats.kernels != 1)) fault_blame("%d kernels", (int)stats.kernels);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    if (p->fake->primaries != primaries) fault_blame("a primary context is left retained");
    return status;
}

static void calls_by_name_survive_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"calls by name", launch_as_told, NULL, NULL, *state, 60});
}

static kiln_status launch_any(void *user) {
    kiln_origin origin;
    return launch(user, &origin);
}

static void empty_cache(void *user) {
    own_folder folder = ((const place *)user)->cache;
    own_folder_remove(&folder);
}

static int inspect_file(const char *path, const struct stat *status, int kind, struct FTW *where) {
    const char *name = path + where->base;
    (void)status, (void)kind;
    if (strncmp(name, ".tmp", 4) == 0 || strstr(name, ".lock") || strstr(name, ".bad"))
        fault_blame("'%s' is left in the cache", path);
    return 0;
}

/* No temporary file, lock or damaged entry is left, but for what could not be removed, or not be known for ours. */
static void inspect_cache(void *user, const char *call) {
    static const char *const excuses[] = {"unlinkat", "fstatat", "fstat", "flock"};
    for (size_t i = 0; i < sizeof excuses / sizeof *excuses; i++)
        if (strcmp(call, excuses[i]) == 0) return;
    nftw(((const place *)user)->cache.path, inspect_file, 8, FTW_PHYS);
}

static void a_kernel_is_compiled_whatever_fails(void **state) {
    fail_each_call(&(fault_scenario){"a cache miss", launch_any, empty_cache, inspect_cache, *state, 200});
}

/* The kernel that was in the cache before the failure is there after it. */
static void inspect_hit(void *user, const char *call) {
    kiln_origin origin = KILN_ORIGIN_MEMORY;
    inspect_cache(user, call);
    if (launch(user, &origin) == KILN_OK && origin != KILN_ORIGIN_DISK) fault_blame("the kernel has left the cache");
}

static void a_cached_kernel_is_launched_and_stays_whatever_fails(void **state) {
    kiln_origin origin;
    empty_cache(*state);
    /* In a process of its own, so that the runs below open driver and NVRTC anew. */
    pid_t child = fork();
    if (child == 0) _exit(launch(*state, &origin) != KILN_OK);
    assert_true(child > 0);
    int end = -1;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    fail_each_call(&(fault_scenario){"a cache hit", launch_any, NULL, inspect_hit, *state, 150});
}

static bool count_entry(void *user, const kiln_cache_entry *entry) {
    (void)entry;
    ++*(int *)user;
    return true;
}

static int visit_entry(void *user, const kiln_cache_entry *entry) { return !count_entry(user, entry); }

/* Puts one kernel, lists what is there, removes all. */
static kiln_status fill_list_and_clear(void *user) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    int entries = 0;
    size_t unreadable = 0, removed = 0;
    int64_t bytes = 0;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS}),
                              kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS})};
    set_device(user, &options);
    options.cache_max_bytes = 1 << 20;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = x * 2", NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status) status = kiln_cache_visit(context, visit_entry, &entries, &unreadable);
    if (!status) status = kiln_cache_clear(context, &removed, &bytes);
    if (!status && (entries > 1 || removed > 1)) fault_blame("%d entries, %zu removed", entries, removed);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static void listing_and_clearing_survive_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"listing and clearing", fill_list_and_clear, empty_cache, NULL, *state, 200});
}

/* ---- compiles elsewhere ---- */

/* A kernel that a worker compiles. */
static kiln_status compile_in_a_worker(void *user) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    size_t size = 0;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS}),
                              kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS})};
    set_device(user, &options);
    options.compile_limit_ms = 20000;
    options.worker_path = KILN_BUILT_WORKER;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = x * 2", NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status && (!kiln_kernel_image(kernel, &size) || size == 0)) fault_blame("the kernel has no image");
    if (status && kernel) fault_blame("%s gave a kernel", kiln_status_name(status));
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* Two kernels, of which one is asked for twice. */
static kiln_status prepare(void *user) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_prepare_options how = KILN_PREPARE_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *programs[2] = {NULL, NULL};
    kiln_preparation *preparation = NULL;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS}),
                              kiln_tensor_contiguous(NULL, KILN_F32, 2, (int64_t[]){-1, COLS})};
    set_device(user, &options);
    how.jobs = 1; /* so that the same call fails each time */
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = x * 2", NULL, &programs[0]);
    if (!status) status = kiln_program_create(context, "y = x * 3", NULL, &programs[1]);
    const kiln_problem problems[] = {{programs[0], tensors, 2, NULL, 0, 90, 0, NULL},
                                     {programs[1], tensors, 2, NULL, 0, 90, 0, NULL},
                                     {programs[0], tensors, 2, NULL, 0, 90, 0, NULL}};
    if (!status) status = kiln_prepare(context, problems, 3, &how, &preparation);
    if (!status) status = kiln_prepare_wait(preparation, -1, NULL);
    if (status && preparation && !*kiln_last_error()) fault_blame("%s has no sentence", kiln_status_name(status));
    kiln_prepare_destroy(preparation);
    for (int i = 0; i < 2; i++) kiln_program_destroy(programs[i]);
    kiln_context_destroy(context);
    return status;
}

static void a_list_is_prepared_or_says_why_not_whatever_fails(void **state) {
    fail_each_call(&(fault_scenario){"preparing", prepare, empty_cache, inspect_cache, *state, 200});
}

/* The worker and the compiler are blamed for nothing that is not theirs: what they are blamed for is not tried again.
 */
static void inspect_worker(void *user, const char *call) {
    const bool gone = strcmp(call, "send") == 0 || strcmp(call, "recv") == 0;
    if (strstr(kiln_last_error(), "ended before it was done") && !gone)
        fault_blame("after %s the worker is said to have ended", call);
    if (strstr(kiln_last_error(), "took longer")) fault_blame("after %s: %s", call, kiln_last_error());
    inspect_cache(user, call);
}

static void a_compile_with_a_time_limit_survives_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"a compile with a time limit", compile_in_a_worker, empty_cache, inspect_worker,
                                     *state, 200});
}

static void processes_are_told_apart_whatever_fails(void **state) {
    fault_refuse_wiping(true);
    fail_each_call(&(fault_scenario){"a kernel that wipes no memory", launch_any, empty_cache, NULL, *state, 200});
    fault_refuse_wiping(false);
}

/* The parent has a thread inside NVRTC, so that its child opens a copy of the library. */
static void a_forked_child_compiles_whatever_fails(void **state) {
    kiln__nvrtc_enter();
    fail_each_call(&(fault_scenario){"a forked child", launch_any, empty_cache, inspect_cache, *state, 200});
    kiln__nvrtc_leave();
}

/* ---- packs and records ---- */

static kiln_status write_pack(void *user) {
    const place *p = user;
    const kiln__device device = kiln__device_typical(90);
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln__pack_writer writer = {NULL, 0, 0};
    size_t size = 0;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){ROWS, COLS})};
    set_device(p, &options);
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    const kiln__call call = {.program = program, .tensors = tensors, .policy = KILN_POLICY_COMPILE};
    if (!status) status = kiln__packing_add(&writer, &call, &device, false);
    if (!status) status = pack_file_save(&writer, p->pack, &size);
    kiln__pack_writer_free(&writer);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* A file that is there is whole. */
static void inspect_pack(void *user, const char *call) {
    const place *p = user;
    kiln__bundle *pack = NULL;
    kiln_status status = access(p->pack, F_OK) == 0 ? kiln__bundle_open(p->pack, NULL, 0, &pack) : KILN_OK;
    if (status) fault_blame("after %s the pack cannot be read: %s", call, kiln_last_error());
    kiln__bundle_close(pack);
}

static void packs_are_written_whole_or_not_at_all(void **state) {
    fail_each_call(&(fault_scenario){"writing a pack", write_pack, empty_cache, inspect_pack, *state, 200});
}

/* A plan from a pack, and a kernel that is missing there and recorded. */
static kiln_status plan_from_a_pack(void *user) {
    const place *p = user;
    const kiln_pack pack = {p->pack, NULL, 0};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_plan *plan = NULL, *missing = NULL;
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){ROWS, COLS})};
    kiln_tensor shorter[2] = {kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS - 1}),
                              kiln_tensor_contiguous(y, KILN_F32, 2, (int64_t[]){ROWS, COLS - 1})};
    set_device(p, &options);
    options.cache_dir = "";
    options.policy = KILN_POLICY_NEVER_COMPILE;
    options.packs = &pack;
    options.pack_count = 1;
    options.record_path = p->record;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, "y = softmax(x)", NULL, &program);
    if (!status) status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    if (!status) status = kiln_plan_get_info(plan, &info);
    if (!status && info.origin != KILN_ORIGIN_PACK) fault_blame("the kernel is not the pack's");
    if (!status) status = kiln_plan_create(program, shorter, 2, NULL, 0, &missing);
    kiln_plan_destroy(plan);
    kiln_plan_destroy(missing);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status == KILN_E_WOULD_COMPILE && plan ? KILN_OK : status;
}

static void reset_record(void *user) { unlink(((const place *)user)->record); }

/* Each line that ends in a brace is a whole one. */
static void inspect_record(void *user, const char *call) {
    char line[4096];
    FILE *file = fopen(((const place *)user)->record, "re");
    while (file && fgets(line, sizeof line, file))
        if (line[0] != '{' || line[strlen(line) - 1] != '\n') fault_blame("after %s a line is '%s'", call, line);
    if (file) fclose(file);
}

static void packs_and_records_survive_every_failure(void **state) {
    empty_cache(*state);
    pid_t child = fork();
    if (child == 0) _exit(write_pack(*state) != KILN_OK);
    int end = -1;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    fail_each_call(
        &(fault_scenario){"a pack and a record", plan_from_a_pack, reset_record, inspect_record, *state, 80});
}

/* ---- the tool's parts ---- */

static kiln_status write_and_read_array(void *user) {
    const place *p = user;
    const kiln_tensor written = kiln_tensor_contiguous(x, KILN_F32, 2, (int64_t[]){ROWS, COLS});
    kiln_tensor read = {.data = NULL};
    output_file file;
    kiln_status status = output_file_open(p->array, &file);
    if (!status) status = npy_write(&file, &written);
    if (!status) status = output_file_finish(&file);
    if (!status) status = output_file_publish(&file);
    output_file_discard(&file);
    if (!status) status = npy_read(p->array, NULL, &read);
    if (!status && memcmp(read.data, x, sizeof x) != 0) fault_blame("other values were read");
    free(read.data);
    return status;
}

static void arrays_are_written_and_read_whatever_fails(void **state) {
    fail_each_call(&(fault_scenario){"an array", write_and_read_array, NULL, NULL, *state, 30});
}

typedef struct tally {
    size_t done, failed;
} tally;

static void *begin(void *user) { return user; }
static void work(void *user, void *own, size_t task, task_result *result) {
    (void)user, (void)own, (void)task, (void)result;
}
static bool done(void *user, size_t task, const task_result *result) {
    tally *all = user;
    (void)task;
    all->done++;
    all->failed += result->status != KILN_OK;
    return true;
}
static void tick(void *user) { (void)user; }

static kiln_status run_workers(void *user) {
    tally all = {0, 0};
    (void)user;
    const worker_pool pool = {2, 5, 5, &all, begin, work, done, tick};
    kiln_status status = workers_run(&pool);
    if (!status && all.done != 5) fault_blame("%zu tasks of 5 are done", all.done);
    if (waitpid(-1, NULL, WNOHANG) != -1) fault_blame("a worker is left");
    return status;
}

static void workers_survive_every_failure(void **state) {
    fail_each_call(&(fault_scenario){"workers", run_workers, NULL, NULL, *state, 10});
}

/* ---- */

static int set_up(void **state) {
    static place p;
    *state = &p;
    if (!own_folder_make(&p.folder)) return -1;
    snprintf(p.cache.path, sizeof p.cache.path, "%.50s/c", p.folder.path);
    snprintf(p.pack, sizeof p.pack, "%s/k.kpack", p.folder.path);
    snprintf(p.record, sizeof p.record, "%s/r.jsonl", p.folder.path);
    snprintf(p.array, sizeof p.array, "%s/a.npy", p.folder.path);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    for (int row = 0; row < ROWS; row++) x[row * COLS] = (float)row;
    /* Kiln opens the driver itself; the context that is current on this thread is the forked processes', too. */
    p.fake = fake_driver_find(KILN_FAKE_DRIVER);
    void *library = dlopen(KILN_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (!p.fake || !library) return -1;
    int (*retain)(void **, int), (*make_current)(void *);
    void *context = NULL, *symbols[2] = {dlsym(library, "cuDevicePrimaryCtxRetain"), dlsym(library, "cuCtxSetCurrent")};
    memcpy(&retain, &symbols[0], sizeof retain);
    memcpy(&make_current, &symbols[1], sizeof make_current);
    return !symbols[0] || !symbols[1] || retain(&context, 0) || make_current(context) ? -1 : 0;
}

static int tear_down(void **state) {
    own_folder_remove(&((place *)*state)->folder);
    return 0;
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_PLACE(bad_programs_are_refused_whatever_fails),
        WITH_PLACE(planning_and_the_reference_survive_every_failure),
        WITH_PLACE(gradients_survive_every_failure),
        WITH_PLACE(calls_by_name_survive_every_failure),
        WITH_PLACE(a_kernel_is_compiled_whatever_fails),
        WITH_PLACE(a_cached_kernel_is_launched_and_stays_whatever_fails),
        WITH_PLACE(listing_and_clearing_survive_every_failure),
        WITH_PLACE(packs_are_written_whole_or_not_at_all),
        WITH_PLACE(packs_and_records_survive_every_failure),
        WITH_PLACE(arrays_are_written_and_read_whatever_fails),
        WITH_PLACE(workers_survive_every_failure),
        WITH_PLACE(a_compile_with_a_time_limit_survives_every_failure),
        WITH_PLACE(a_list_is_prepared_or_says_why_not_whatever_fails),
        WITH_PLACE(processes_are_told_apart_whatever_fails),
        WITH_PLACE(a_forked_child_compiles_whatever_fails), /* last: from here on, this process has its number */
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
