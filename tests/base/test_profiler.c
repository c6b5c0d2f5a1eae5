/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges reach a profiler that is attached through NVTX's protocol, and the protocol is that of the real header. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
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

#include "base/profiler_api.h"
#include "support/fake_profiler.h"
#include "support/launch_fixture.h"

#ifdef KILN_HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " differs from " #theirs)
#define SAME_FIELD(ours, theirs) \
    SAME(offsetof(kiln__nvtx_event, ours), offsetof(nvtxEventAttributes_t, theirs)); \
    SAME(sizeof((kiln__nvtx_event *)0)->ours, sizeof((nvtxEventAttributes_t *)0)->theirs)

SAME(KILN__NVTX_VERSION, NVTX_VERSION);
SAME(KILN__NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(KILN__NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(KILN__NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(KILN__NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(KILN__NVTX_SETS, NVTX_CB_MODULE_SIZE);
SAME(KILN__NVTX_RANGE_PUSH, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(KILN__NVTX_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(KILN__NVTX_DOMAIN_CREATE, NVTX_CBID_CORE2_DomainCreateA);
SAME(sizeof(kiln__nvtx_event), sizeof(nvtxEventAttributes_t));
SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(sizeof(kiln__nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(kiln__nvtx_callbacks, get_set), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(kiln__nvtx_version), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(kiln__nvtx_version, version), offsetof(NvtxExportTableVersionInfo, version));
SAME(offsetof(kiln__nvtx_version, tell), offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));

static void sets_have_the_sizes_of_the_header(void **state) {
    (void)state;
    static const unsigned ours[KILN__NVTX_SETS] = KILN__NVTX_SET_SIZES;
    static const unsigned theirs[KILN__NVTX_SETS] = {
        0,
        NVTX_CBID_CORE_SIZE,
        NVTX_CBID_CUDA_SIZE,
        NVTX_CBID_OPENCL_SIZE,
        NVTX_CBID_CUDART_SIZE,
        NVTX_CBID_CORE2_SIZE,
        NVTX_CBID_SYNC_SIZE,
    };
    for (int i = 0; i < KILN__NVTX_SETS; i++) {
        assert_int_equal(ours[i], theirs[i]);
        assert_true(ours[i] <= KILN__NVTX_MOST_PLACES);
    }
}
#endif

static fake_profiler *profiler(void) {
    void *library = dlopen(KILN_FAKE_PROFILER, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "fake_profiler_state") : NULL;
    fake_profiler_function *function = NULL;
    memcpy(&function, &address, sizeof address);
    assert_non_null(function);
    return function();
}

static void expect_ranges(int first, const char *const *expected, int count) {
    const fake_profiler *seen = profiler();
    for (int i = 0; i < count; i++) assert_string_equal(seen->ranges[first + i], expected[i]);
    assert_int_equal(seen->pushes, first + count);
    assert_int_equal(seen->pops, seen->pushes);
    assert_int_equal(seen->foreign, 0);
}

static void preparing_and_launching_are_ranges(void **state) {
    launch_fixture *f = *state;
    const int first = profiler()->pushes;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x - max(x);\nz = x * 2");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64] f16[8,64]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64] f16[8,64]"), KILN_OK, "");
    static const char *const expected[] = {
        "prepare: y = x - max(x);\\x0az = x * 2",
        "  compile: y = x - max(x);\\x0az = x * 2",
        "  load: y = x - max(x);\\x0az = x * 2",
        "launch: y, z",
        "launch: y, z",
    };
    expect_ranges(first, expected, 5);
    assert_string_equal(profiler()->domain, "Kiln");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void what_fails_ends_its_ranges(void **state) {
    launch_fixture *f = *state;
    const int first = profiler()->pushes;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x + 1");
    launch_fail(f, "cuLibraryLoadData", KILN__CUDA_ERROR_INVALID_VALUE, 1);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_LOAD, NULL);
    launch_fail(f, "cuLaunchKernel", KILN__CUDA_ERROR_INVALID_VALUE, 1);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_LAUNCH, NULL);
    static const char *const expected[] = {
        "prepare: y = x + 1",   "  compile: y = x + 1", "  load: y = x + 1", "prepare: y = x + 1",
        "  compile: y = x + 1", "  load: y = x + 1",    "launch: y",
    };
    expect_ranges(first, expected, 7);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* As CUPTI does, whose users say at any time what they want to hear. */
static void a_profiler_may_begin_and_end_at_any_time(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x + 1");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    const int first = profiler()->pushes;
    profiler()->enable(0);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[9,64] f16[9,64]"), KILN_OK, "");
    expect_ranges(first, NULL, 0);
    profiler()->enable(1);
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    static const char *const expected[] = {"launch: y"};
    expect_ranges(first, expected, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void long_texts_and_names_are_cut(void **state) {
    launch_fixture *f = *state;
    const int first = profiler()->pushes;
    char text[1024] = "", *at = text;
    for (int i = 0; i < 12; i++) at += sprintf(at, "an_output_with_a_long_name_%d = x + %d;", i, i);
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, text);
    char tensors[1024] = "";
    for (int i = 0; i < 13; i++) strcat(tensors, i ? " f32[64]" : "f32[64]");
    launch_expect(launch_run(program, tensors), KILN_OK, "");
    const fake_profiler *seen = profiler();
    assert_int_equal(strlen(seen->ranges[first]), strlen("prepare: ") + 199);
    assert_memory_equal(seen->ranges[first + 3], "launch: an_output_with_a_long_name_0, an_output", 46);
    assert_int_equal(seen->pops, seen->pushes);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

#ifdef KILN_HAVE_NVTX_H
/* The header, as another library of the process has it, drives the same profiler with the same calls: the stand-in is
 * one that real clients accept. */
static void the_header_is_a_client_of_the_same_kind(void **state) {
    (void)state;
    const int first = profiler()->pushes, clients = profiler()->clients;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("another");
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "of the header";
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    static const char *const expected[] = {"of the header"};
    expect_ranges(first, expected, 1);
    assert_string_equal(profiler()->domain, "another");
    assert_int_equal(profiler()->clients, clients + 1);
}
#endif

/* In a process with another environment, since each looks once. */
static int run_alone(void) {
    void *state = NULL;
    const bool late = getenv("FAKE_PROFILER_LATE") != NULL;
    if (set_up_launch(&state)) return 2;
    launch_fixture *f = state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = x + 1");
    const fake_profiler *seen = profiler();
    kiln_status status = launch_run(program, "f16[8,64] f16[8,64]");
    bool wrong = status != KILN_OK || seen->pushes != 0;
    if (late) seen->enable(1);
    status = launch_run(program, "f16[8,64] f16[8,64]");
    wrong |= status != KILN_OK || seen->pushes != late || seen->pops != late || seen->foreign;
    wrong |= late && (strcmp(seen->domain, "Kiln") != 0 || strcmp(seen->ranges[0], "launch: y") != 0);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return tear_down_launch(&state) || wrong;
}

static void expect_alone(const char *path, const char *variable) {
    char command[1024];
    snprintf(command, sizeof command, KILN__NVTX_VARIABLE "='%s' %s=1 /proc/%d/exe alone", path, variable,
             (int)getpid());
    const int result = system(command);
    if (!WIFEXITED(result) || WEXITSTATUS(result)) fail_msg("with '%s', %s: %d", path, variable, result);
}

static void what_is_no_profiler_does_no_harm(void **state) {
    (void)state;
    static const char *const paths[] = {"/nowhere/libprofiler.so", KILN_FAKE_NVRTC, "", KILN_FAKE_PROFILER};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) expect_alone(paths[i], "FAKE_PROFILER_REFUSES");
}

static void a_profiler_that_begins_late_gets_the_domain(void **state) {
    (void)state;
    expect_alone(KILN_FAKE_PROFILER, "FAKE_PROFILER_LATE");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "alone") == 0) return run_alone();
    setenv(KILN__NVTX_VARIABLE, KILN_FAKE_PROFILER, 1);
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(preparing_and_launching_are_ranges),
        WITH_LAUNCHES(what_fails_ends_its_ranges),
        WITH_LAUNCHES(a_profiler_may_begin_and_end_at_any_time),
        WITH_LAUNCHES(long_texts_and_names_are_cut),
        cmocka_unit_test(what_is_no_profiler_does_no_harm),
        cmocka_unit_test(a_profiler_that_begins_late_gets_the_domain),
#ifdef KILN_HAVE_NVTX_H
        cmocka_unit_test(sets_have_the_sizes_of_the_header),
        cmocka_unit_test(the_header_is_a_client_of_the_same_kind),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
