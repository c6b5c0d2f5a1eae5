/* SPDX-License-Identifier: Apache-2.0 */
/* Launches through the public API: what is compiled, loaded and launched how often, where kernels are found again, and
 * what happens where a part of the machine fails. A stand-in driver counts; a stand-in NVRTC compiles. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/launch_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { INVALID_IMAGE = 200, OUT_OF_MEMORY = 2, NO_DEVICE = 100, LAUNCH_FAILED = 719 };

/* ---- what a launch is ---- */

static kiln_context *context_with_pins(launch_fixture *f, const char *dir, const char *pins) {
    setenv("KILN_SCHEDULE", pins, 1);
    kiln_context *context = launch_context(f, dir, KILN_POLICY_COMPILE);
    unsetenv("KILN_SCHEDULE");
    return context;
}
/* The same without a disk cache. */
static kiln_context *pinned_context(launch_fixture *f, const char *pins) { return context_with_pins(f, "", pins); }

static void the_second_run_only_looks_up(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = context_with_pins(f, f->dir, "block 128, single");
    kiln_program *program = launch_program(context, "y = softmax(x)");
    for (int i = 0; i < 3; i++) launch_expect(launch_run(program, "f16[8,1024] f16[8,1024]"), KILN_OK, "");
    assert_int_equal(f->fake->loads, 1);
    assert_int_equal(f->fake->launches, 3);
    assert_int_equal(launch_compiles(f), 1);
    assert_int_equal(f->fake->last_grid[0], 8); /* one for each row */
    assert_int_equal(f->fake->last_grid[1], 1);
    assert_int_equal(f->fake->last_block[0], 128);
    launch_expect(launch_run(program, "f16[5000,1024] f16[5000,1024]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[5,1000,1024] f16[5,1000,1024]"), KILN_OK, "");
    assert_int_equal(f->fake->last_grid[0], 5000);
    assert_int_equal(f->fake->loads, 1); /* rows are no part of a kernel */
    assert_int_equal(launch_compiles(f), 1);
    launch_expect(launch_run(program, "f16[8,2048] f16[8,2048]"), KILN_OK, "");
    assert_int_equal(f->fake->loads, 2);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(f->fake->unloads, 2);
}

static void without_a_disk_cache_a_kernel_is_still_compiled_once(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)"),
                 *same = launch_program(context, "y = softmax(x)");
    for (int rows = 1; rows <= 20; rows++) {
        char tensors[64];
        snprintf(tensors, sizeof tensors, "f16[%d,64] f16[%d,64]", rows, rows);
        launch_expect(launch_run(rows % 2 ? program : same, tensors), KILN_OK, "");
    }
    assert_int_equal(launch_compiles(f), 1);
    assert_int_equal(f->fake->loads, 1);
    assert_int_equal(f->fake->launches, 20);
    kiln_program_destroy(program);
    kiln_program_destroy(same);
    kiln_context_destroy(context);
}

/* The argument: pointers, rows, strides, then scalars of 8 and of 4 bytes. */
static void the_argument_has_the_pointers_rows_and_scalars(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    kiln_program *program = NULL;
    options.scalars = "scale,bias,count";
    assert_int_equal(kiln_program_create(context, "y = softmax(x * scale + bias) + count", &options, &program),
                     KILN_OK);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    bound_tensors("f32[7,32]@64 f32[7,32]@64", tensors);
    kiln_scalar scalars[3] = {kiln_scalar_f64(0.5), {KILN_I32, {.i64 = -3}}, kiln_scalar_i64(INT64_C(1) << 40)};
    f->fake->argument_bytes = 40;
    launch_expect(kiln_run(program, tensors, 2, scalars, 3, NULL), KILN_OK, "");
    struct {
        void *x, *y;
        int64_t rows, count;
        float scale;
        int32_t bias;
    } got;
    assert_int_equal(sizeof got, 40);
    memcpy(&got, f->fake->last_argument, sizeof got);
    assert_ptr_equal(got.x, tensors[0].data);
    assert_ptr_equal(got.y, tensors[1].data);
    assert_int_equal(got.rows, 7);
    assert_true(got.scale == 0.5f);
    assert_int_equal(got.bias, -3);
    assert_int_equal(got.count, INT64_C(1) << 40);
    scalars[0] = kiln_scalar_f64(1e300); /* beyond f32 */
    launch_expect(kiln_run(program, tensors, 2, scalars, 3, NULL), KILN_OK, "");
    memcpy(&got, f->fake->last_argument, sizeof got);
    assert_true(got.scale > 3.4e38f);
    assert_int_equal(f->fake->loads, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void empty_tensors_launch_nothing(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *softmax = launch_program(context, "y = softmax(x)"), *sum = launch_program(context, "y = sum(x)");
    launch_expect(launch_run(softmax, "f16[0,64] f16[0,64]"), KILN_OK, "");
    launch_expect(launch_run(softmax, "f16[0,64] f16[0,64]"), KILN_OK, "");
    kiln_tensor null[KILN_MAX_TENSORS];
    bound_tensors("f16[0,64] f16[0,64]", null);
    launch_expect(kiln_run(softmax, null, 2, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(f->fake->launches, 0);
    /* A sum over no columns is still a value for each row. */
    bound_tensors("f16[4,0] f16[4]@64", null);
    launch_expect(kiln_run(sum, null, 2, NULL, 0, NULL), KILN_OK, "");
    assert_int_equal(f->fake->launches, 1);
    kiln_program_destroy(softmax);
    kiln_program_destroy(sum);
    kiln_context_destroy(context);
    context = pinned_context(f, "cluster 4, threads 32, shared"); /* whose room is not asked for either */
    softmax = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(softmax, "f16[0,64] f16[0,64]"), KILN_OK, "");
    assert_int_equal(f->fake->launches, 1);
    kiln_program_destroy(softmax);
    kiln_context_destroy(context);
}

typedef struct work {
    const launch_fixture *f;
    const kiln_program *program;
    const kiln_plan *plan;
    int failed;
} work;

static void *launch_many(void *user) {
    work *w = user;
    launch_use_device(w->f, 0);
    void *data[2] = {(void *)((uintptr_t)1 << 40), (void *)((uintptr_t)2 << 40)};
    for (int i = 0; i < 200; i++) {
        char tensors[64];
        snprintf(tensors, sizeof tensors, "f16[%d,64] f16[%d,64]", i % 50 + 1, i % 50 + 1);
        w->failed += launch_run(w->program, tensors) != KILN_OK;
        w->failed += kiln_plan_launch(w->plan, data, 2, NULL, 0, NULL) != KILN_OK;
    }
    return NULL;
}

static void launches_from_threads_share_a_plan_and_a_context(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    bound_tensors("f16[8,1024]@256 f16[8,1024]@256", tensors);
    assert_int_equal(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK);
    pthread_t threads[8];
    work works[8];
    for (size_t i = 0; i < 8; i++) {
        works[i] = (work){f, program, plan, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &works[i]), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(works[i].failed, 0);
    }
    assert_int_equal(f->fake->launches, 8 * 400);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(f->fake->loads, f->fake->unloads);
}

static void each_device_has_its_own_load(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    for (int i = 0; i < 4; i++) {
        launch_use_device(f, i % 2);
        launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    }
    assert_int_equal(f->fake->loads, 2);
    assert_int_equal(launch_compiles(f), 1);
    launch_use_device(f, -1);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_NO_CONTEXT, NULL);
    launch_use_device(f, 0);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void two_contexts_stand_beside_each_other(void **state) {
    launch_fixture *f = *state;
    kiln_context *contexts[2] = {launch_context(f, f->dir, KILN_POLICY_COMPILE),
                                 launch_context(f, f->dir, KILN_POLICY_COMPILE)};
    kiln_program *programs[2] = {launch_program(contexts[0], "y = softmax(x)"),
                                 launch_program(contexts[1], "y = softmax(x)")};
    for (int i = 0; i < 4; i++) launch_expect(launch_run(programs[i % 2], "f16[8,64] f16[8,64]"), KILN_OK, "");
    assert_int_equal(f->fake->loads, 2);
    assert_int_equal(launch_compiles(f), 1); /* the second found it on disk */
    kiln_program_destroy(programs[0]);
    kiln_context_destroy(contexts[0]);
    assert_int_equal(f->fake->unloads, 1);
    launch_expect(launch_run(programs[1], "f16[8,64] f16[8,64]"), KILN_OK, "");
    kiln_program_destroy(programs[1]);
    kiln_context_destroy(contexts[1]);
    assert_int_equal(f->fake->unloads, 2);
}

/* ---- where kernels are found again ---- */

/* Runs the program in another process, which compiles and publishes it. */
static void compile_elsewhere(launch_fixture *f) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        kiln_status status = launch_run(program, "f16[8,64] f16[8,64]");
        _exit(status == KILN_OK && launch_compiles(f) == 1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static kiln_origin origin_of(launch_fixture *f, const char *nvrtc, kiln_policy policy) {
    kiln_context *context = launch_context_nvrtc(f, f->dir, policy, nvrtc);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
    launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), KILN_OK, "");
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return info.origin;
}

static void a_second_process_opens_no_nvrtc(void **state) {
    launch_fixture *f = *state;
    compile_elsewhere(f);
    assert_int_equal(origin_of(f, f->nvrtc, KILN_POLICY_COMPILE), KILN_ORIGIN_DISK);
    assert_int_equal(launch_compiles(f), -1);
    assert_int_equal(origin_of(f, f->nvrtc, KILN_POLICY_NEVER_COMPILE), KILN_ORIGIN_DISK);
    assert_int_equal(launch_compiles(f), -1);
}

static void a_replaced_nvrtc_is_opened_to_be_asked(void **state) {
    launch_fixture *f = *state;
    compile_elsewhere(f);
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, f->nvrtc, times, 0), 0);
    assert_int_equal(origin_of(f, f->nvrtc, KILN_POLICY_COMPILE), KILN_ORIGIN_DISK); /* the same version and build */
    assert_int_equal(launch_compiles(f), 0);
}

static void without_nvrtc_the_cache_serves_what_it_has(void **state) {
    launch_fixture *f = *state;
    compile_elsewhere(f);
    assert_int_equal(origin_of(f, "/nowhere/libnvrtc.so", KILN_POLICY_COMPILE), KILN_ORIGIN_DISK);
    assert_int_equal(origin_of(f, "/nowhere/libnvrtc.so", KILN_POLICY_NEVER_COMPILE), KILN_ORIGIN_DISK);
    assert_int_equal(origin_of(f, KILN_FAKE_DRIVER, KILN_POLICY_NEVER_COMPILE), KILN_ORIGIN_DISK); /* no NVRTC */
    kiln_context *context = launch_context_nvrtc(f, f->dir, KILN_POLICY_COMPILE, "/nowhere/libnvrtc.so");
    kiln_program *program = launch_program(context, "y = log_softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_NO_NVRTC, NULL);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(launch_compiles(f), -1);
}

static void a_policy_forbids_compiling(void **state) {
    launch_fixture *f = *state;
    static const char *const caches[] = {"", NULL, "", NULL};
    const char *const nvrtcs[] = {"/nowhere/libnvrtc.so", f->nvrtc, KILN_FAKE_DRIVER, KILN_FAKE_DRIVER /* no NVRTC */};
    for (size_t i = 0; i < COUNT(caches); i++) {
        kiln_context *context =
            launch_context_nvrtc(f, caches[i] ? caches[i] : f->dir, KILN_POLICY_NEVER_COMPILE, nvrtcs[i]);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        launch_expect(
            launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_WOULD_COMPILE,
            "the kernel for 'y = softmax(x)' (lanes 8, registers, inner, vector 4 x 2, 16 rows per block, sm_90) is "
            "in no cache, and the policy forbids compiling");
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    assert_true(launch_compiles(f) <= 0);
    assert_int_equal(f->fake->launches, 0);
}

/* ---- what fails ---- */

static int files_with_suffix(const char *dir, const char *suffix) {
    int count = 0;
    DIR *folder = opendir(dir);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (entry->d_name[0] == '.') continue;
        if (entry->d_type == DT_DIR)
            count += files_with_suffix(path, suffix);
        else
            count += strlen(path) > strlen(suffix) && !strcmp(path + strlen(path) - strlen(suffix), suffix);
    }
    if (folder) closedir(folder);
    return count;
}

static void a_cached_kernel_that_the_driver_refuses_is_compiled_again(void **state) {
    launch_fixture *f = *state;
    compile_elsewhere(f);
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_fail(f, "cuLibraryLoadData", INVALID_IMAGE, 1);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    assert_int_equal(f->fake->launches, 1);
    assert_int_equal(launch_compiles(f), 1);
    assert_int_equal(f->messages, 1);
    assert_non_null(strstr(f->message, "the driver refused cached kernel"));
    assert_int_equal(files_with_suffix(f->dir, ".bad"), 1);
    assert_int_equal(files_with_suffix(f->dir, ".k1"), 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    assert_int_equal(origin_of(f, f->nvrtc, KILN_POLICY_COMPILE), KILN_ORIGIN_DISK);
}

static void cached_ptx_that_the_driver_refuses_is_compiled_again(void **state) {
    launch_fixture *f = *state;
    char nvrtc[160];
    snprintf(nvrtc, sizeof nvrtc, "%s/libnvrtc-80.so", f->dir);
    launch_copy(KILN_FAKE_NVRTC, nvrtc);
    setenv("FAKE_NVRTC_ARCH", "80", 1); /* knows no sm_90 */
    for (int i = 0; i < 2; i++) {
        kiln_context *context = launch_context_nvrtc(f, f->dir, KILN_POLICY_COMPILE, nvrtc);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        if (i) launch_fail(f, "cuLibraryLoadData", INVALID_IMAGE, 1);
        launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    assert_int_equal(f->messages, 1);
    assert_int_equal(files_with_suffix(f->dir, ".bad"), 1);
    assert_int_equal(files_with_suffix(f->dir, ".k1"), 1);
}

static const struct {
    const char *symbol;
    int result;
    kiln_status status;
} driver_faults[] = {
    {"cuLibraryLoadData", INVALID_IMAGE, KILN_E_LOAD},
    {"cuLibraryLoadData", OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY},
    {"cuLibraryGetKernel", 500, KILN_E_LOAD},
    {"cuKernelGetFunction", OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY},
    {"cuKernelGetAttribute", 1, KILN_E_LOAD},
    {"cuLaunchKernel", LAUNCH_FAILED, KILN_E_LAUNCH},
    {"cuLaunchKernel", OUT_OF_MEMORY, KILN_E_DEVICE_MEMORY},
    {"cuCtxGetDevice", 201, KILN_E_NO_CONTEXT},
    {"cuDeviceGetAttribute", NO_DEVICE, KILN_E_NO_DEVICE},
};

static void after_a_fault_of_the_driver_the_next_launch_works(void **state) {
    launch_fixture *f = *state;
    for (size_t i = 0; i < COUNT(driver_faults); i++) {
        kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        launch_fail(f, driver_faults[i].symbol, driver_faults[i].result, 0);
        launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), driver_faults[i].status, NULL);
        f->fake->fail_symbol[0] = '\0';
        launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    assert_int_equal(f->fake->loads, f->fake->unloads);
}

static void a_folder_that_cannot_be_written_is_told_once(void **state) {
    launch_fixture *f = *state;
    char file[128];
    snprintf(file, sizeof file, "%s/file", f->dir);
    launch_copy("/dev/null", file);
    kiln_context *context = launch_context(f, file, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[8,128] f16[8,128]"), KILN_OK, "");
    assert_int_equal(f->fake->launches, 2);
    assert_int_equal(f->messages, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void an_nvrtc_without_the_architecture_gives_ptx_or_says_so(void **state) {
    launch_fixture *f = *state;
    static const struct {
        const char *newest;
        kiln_status status;
    } cases[] = {{"80", KILN_OK}, {"75", KILN_E_ARCH}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char nvrtc[160];
        snprintf(nvrtc, sizeof nvrtc, "%s/libnvrtc-%s.so", f->dir, cases[i].newest);
        launch_copy(KILN_FAKE_NVRTC, nvrtc);
        setenv("FAKE_NVRTC_ARCH", cases[i].newest, 1);
        kiln_context *context = launch_context_nvrtc(f, "", KILN_POLICY_COMPILE, nvrtc);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_plan *plan = NULL;
        kiln_plan_info info = KILN_PLAN_INFO_INIT;
        bound_tensors("f16[8,64]@256 f16[8,64]@256", tensors);
        launch_expect(kiln_plan_create(program, tensors, 2, NULL, 0, &plan), cases[i].status,
                      cases[i].status ? "sm_90 is not supported by NVRTC 11.1 (it has sm_50 to sm_75)" : "");
        if (plan) {
            assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
            assert_true(info.is_ptx);
        }
        kiln_plan_destroy(plan);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
}

static void a_machine_without_driver_or_device_says_so(void **state) {
    launch_fixture *f = *state;
    char driver[128];
    snprintf(driver, sizeof driver, "%s/libcuda.so.1", f->dir);
    launch_copy(KILN_FAKE_DRIVER, driver);
    const struct {
        const char *driver;
        kiln_status status;
        const char *part;
    } cases[] = {
        {"/nowhere/libcuda.so.1", KILN_E_NO_DRIVER, "the CUDA driver cannot be opened"},
        {f->nvrtc, KILN_E_NO_DRIVER, "has no function"},
        {driver, KILN_E_NO_DEVICE, "finds no device"},
    };
    fake_driver *fake = fake_driver_find(driver);
    assert_non_null(fake);
    fake->device_count = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *context = NULL;
        options.cache_dir = "";
        options.driver_path = cases[i].driver;
        assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
        kiln_program *program = launch_program(context, "y = softmax(x)");
        launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), cases[i].status, NULL);
        if (!strstr(kiln_last_error(), cases[i].part)) fail_msg("%s", kiln_last_error());
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
}

static void an_old_device_is_refused_by_its_number(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    f->fake->arch = 75;
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_UNSUPPORTED,
                  "the device has compute capability 7.5, expected 8.0 or newer");
    kiln_program_destroy(program);
    kiln_context_destroy(context); /* which knows the device's numbers */
    f->fake->arch = 90;
    context = launch_context(f, "", KILN_POLICY_COMPILE);
    program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_grid_of_one_multiprocessor_is_told_as_one(void **state) {
    launch_fixture *f = *state;
    const int sm_count = f->fake->sm_count;
    kiln_context *context = pinned_context(f, "grid, threads 64, shared, phased");
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    f->fake->sm_count = 1;
    bound_tensors("f16[3,4096] f16[3,4096]", tensors);
    kiln_status status = kiln_plan_create(program, tensors, 2, NULL, 0, &plan);
    f->fake->sm_count = sm_count;
    launch_expect(status, KILN_OK, "");
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    assert_string_equal(info.schedule, "grid 1, block 64, shared, inner, vector 8 x 8, persistent");
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void where_clusters_have_no_room_the_next_schedule_runs(void **state) {
    launch_fixture *f = *state;
    static const char row[] = "f16[8,65536] f16[8,65536]";
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    f->fake->clusters = 0;
    launch_expect(launch_run(program, row), KILN_OK, "");
    const int compiles = launch_compiles(f);
    assert_false(launch_in_clusters(program, row));
    assert_int_equal(f->fake->last_grid[0] % 8, 0); /* as many blocks for each row */
    assert_true(compiles > 1);                      /* clusters come before */
    kiln_program_destroy(program);
    f->fake->clusters = 8;
    program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, row), KILN_OK, "");
    assert_true(launch_in_clusters(program, row));
    assert_true(f->fake->last_grid[0] > 8);
    assert_int_equal(launch_compiles(f), compiles);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void launches_of_split_rows_overlap_where_the_device_can(void **state) {
    launch_fixture *f = *state;
    static const struct { int arch, dependent; } cases[] = {{90, 1}, {80, 0}, {120, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_context *context = pinned_context(f, "stream, splits 4");
        kiln_program *program = launch_program(context, "y = (x - max(x)) / sum(x)");
        f->fake->arch = cases[i].arch;
        f->fake->launches = f->fake->dependent_launches = 0;
        launch_expect(launch_run(program, "f16[8,65536] f16[8,65536]"), KILN_OK, "");
        assert_int_equal(f->fake->launches, 2);
        assert_int_equal(f->fake->dependent_launches, cases[i].dependent);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    f->fake->arch = 90;
}

static void a_pinned_schedule_without_room_is_told(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = pinned_context(f, "cluster 8, block 256, shared");
    kiln_program *program = launch_program(context, "y = softmax(x)");
    f->fake->clusters = 0;
    kiln_status status = launch_run(program, "f16[8,65536] f16[8,65536]");
    f->fake->clusters = 8;
    assert_int_equal(status, KILN_E_UNSUPPORTED);
    assert_non_null(strstr(kiln_last_error(), "the device cannot run schedule 'cluster 8, block 256, shared"));
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void split_rows_take_as_many_launches_as_phases_and_outputs(void **state) {
    launch_fixture *f = *state;
    char text[4096] = "a0 = sum(x)\n";
    kiln_context *context = pinned_context(f, "stream, splits 4, phased");
    for (int i = 1; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%d = sum(x * a%d)\n", i, i - 1);
    strcat(text, "y = x * a59\n");
    kiln_program *program = launch_program(context, text);
    f->fake->launches = 0;
    kiln_status status = launch_run(program, "f16[8,65536] f16[8,65536]");
    if (status) fail_msg("%s", kiln_last_error());
    assert_int_equal(f->fake->launches, 61);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(the_second_run_only_looks_up),
        WITH_LAUNCHES(without_a_disk_cache_a_kernel_is_still_compiled_once),
        WITH_LAUNCHES(the_argument_has_the_pointers_rows_and_scalars),
        WITH_LAUNCHES(empty_tensors_launch_nothing),
        WITH_LAUNCHES(launches_from_threads_share_a_plan_and_a_context),
        WITH_LAUNCHES(each_device_has_its_own_load),
        WITH_LAUNCHES(two_contexts_stand_beside_each_other),
        WITH_LAUNCHES(a_second_process_opens_no_nvrtc),
        WITH_LAUNCHES(a_replaced_nvrtc_is_opened_to_be_asked),
        WITH_LAUNCHES(without_nvrtc_the_cache_serves_what_it_has),
        WITH_LAUNCHES(a_policy_forbids_compiling),
        WITH_LAUNCHES(a_cached_kernel_that_the_driver_refuses_is_compiled_again),
        WITH_LAUNCHES(cached_ptx_that_the_driver_refuses_is_compiled_again),
        WITH_LAUNCHES(after_a_fault_of_the_driver_the_next_launch_works),
        WITH_LAUNCHES(a_folder_that_cannot_be_written_is_told_once),
        WITH_LAUNCHES(an_nvrtc_without_the_architecture_gives_ptx_or_says_so),
        WITH_LAUNCHES(a_machine_without_driver_or_device_says_so),
        WITH_LAUNCHES(an_old_device_is_refused_by_its_number),
        WITH_LAUNCHES(a_grid_of_one_multiprocessor_is_told_as_one),
        WITH_LAUNCHES(where_clusters_have_no_room_the_next_schedule_runs),
        WITH_LAUNCHES(launches_of_split_rows_overlap_where_the_device_can),
        WITH_LAUNCHES(a_pinned_schedule_without_room_is_told),
        WITH_LAUNCHES(split_rows_take_as_many_launches_as_phases_and_outputs),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
