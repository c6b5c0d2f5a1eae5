/* SPDX-License-Identifier: Apache-2.0 */
/* One compile with NVRTC: options, image, log, and what each step took.
 * NVRTC serialises most of the work of its threads by itself; no lock is held here. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit/headers.h"
#include "jit/log.h"
#include "jit/nvrtc.h"

/* NVRTC 11.2 and newer know all of these. -v puts registers and spills into the log and costs no time to speak of. */
static const char *const keyed_options[] = {
    "--std=c++17", "--no-source-include", "--modify-stack-limit=false", "-default-device", "--ptxas-options=-v", NULL,
};

enum { max_options = 16, stack_bytes = 8 << 20 };

const char *const *kiln__nvrtc_options(void) { return keyed_options; }

double kiln__now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* One compile, from NVRTC's program to what is made of it. */
typedef struct job {
    const kiln__nvrtc *nvrtc;
    const kiln__compile_request *request;
    kiln__nvrtcProgram program;
    kiln__compile_result *result;
    kiln_status status;
    char message[1024]; /* of a failure */
} job;

static kiln_status check_arch(const kiln__nvrtc *nvrtc, const kiln__compile_request *request) {
    for (int i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] == request->arch) return KILN_OK;
    const char *kind = request->ptx ? "compute" : "sm";
    return kiln__fail(KILN_E_ARCH, "%s_%d is not supported by NVRTC %d.%d (it has sm_%d to sm_%d)", kind, request->arch,
                      nvrtc->identity.major, nvrtc->identity.minor, nvrtc->archs[0],
                      nvrtc->archs[nvrtc->arch_count - 1]);
}

static kiln_status fail_call(const job *j, const char *call, const char *part, kiln__nvrtcResult result) {
    const kiln__nvrtc_identity *nvrtc = &j->nvrtc->identity;
    if (result == KILN__NVRTC_ERROR_OUT_OF_MEMORY) return kiln__out_of_memory();
    return kiln__fail(KILN_E_COMPILE, "NVRTC %d.%d failed at nvrtc%s%s for '%s': %s", nvrtc->major, nvrtc->minor, call,
                      part, j->request->name, j->nvrtc->GetErrorString(result));
}

static kiln_status fail_compile(const job *j, kiln__nvrtcResult result) {
    const kiln__nvrtc_identity *nvrtc = &j->nvrtc->identity;
    char line[512];
    if (result == KILN__NVRTC_ERROR_OUT_OF_MEMORY) return kiln__out_of_memory();
    kiln__log_first_error(j->result->log, &j->result->facts, line, sizeof line);
    return kiln__fail(KILN_E_COMPILE, "NVRTC %d.%d refused '%s' (%s): %s", nvrtc->major, nvrtc->minor, j->request->name,
                      j->nvrtc->GetErrorString(result), line);
}

/* Something that the program is asked for in two calls: its size, then its bytes. They are followed by a NUL. */
static kiln_status fetch(const job *j, const char *call, kiln__nvrtcResult (*get_size)(kiln__nvrtcProgram, size_t *),
                         kiln__nvrtcResult (*get)(kiln__nvrtcProgram, char *), char **out, size_t *size) {
    kiln__nvrtcResult code = get_size(j->program, size);
    if (code != KILN__NVRTC_SUCCESS) return fail_call(j, call, "Size", code);
    char *bytes = calloc(1, *size + 1);
    if (bytes == NULL) return kiln__out_of_memory();
    code = get(j->program, bytes);
    if (code != KILN__NVRTC_SUCCESS) {
        free(bytes);
        return fail_call(j, call, "", code);
    }
    *out = bytes;
    return KILN_OK;
}

/* The log first, whatever the compile came to. */
static kiln_status fetch_all(const job *j, kiln__nvrtcResult compiled) {
    const kiln__nvrtc *n = j->nvrtc;
    kiln__compile_result *result = j->result;
    size_t size;
    kiln_status status = fetch(j, "GetProgramLog", n->GetProgramLogSize, n->GetProgramLog, &result->log, &size);
    if (status != KILN_OK) return status;
    kiln__log_take_facts(result->log, &result->facts);
    result->refused = compiled == KILN__NVRTC_ERROR_COMPILATION;
    if (compiled != KILN__NVRTC_SUCCESS) return fail_compile(j, compiled);
    return j->request->ptx ? fetch(j, "GetPTX", n->GetPTXSize, n->GetPTX, &result->image, &result->size)
                           : fetch(j, "GetCUBIN", n->GetCUBINSize, n->GetCUBIN, &result->image, &result->size);
}

static bool asks(const kiln__compile_request *request, const char *line) {
    return strstr(request->source, line) != NULL;
}

/* Some instructions are only there for a family of architectures, as sm_100f, whose cubins run wherever sm_100's do;
 * PTX of it would not. The source says that it has a use for them. */
static bool wants_family(const kiln__compile_request *request, int version) {
    return version >= 1209 && request->arch >= 100 && !request->ptx && asks(request, "\n#define KILN_FAMILY_TARGET\n");
}

static kiln_status compile_program(const job *j) {
    const char *options[max_options];
    char arch[48], include[KILN__CUB_FOLDER_SIZE + 16] = "--include-path=";
    const bool cub = asks(j->request, "\n#include <cub/");
    int count = 0, version = j->nvrtc->identity.major * 100 + j->nvrtc->identity.minor;
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d%s", j->request->ptx ? "compute" : "sm", j->request->arch,
             wants_family(j->request, version) ? "f" : "");
    for (; keyed_options[count] != NULL; count++) options[count] = keyed_options[count];
    options[count++] = arch;
    /* Products and sums are rounded one by one, wherever they stand. */
    if (asks(j->request, "\n#define KILN_UNCONTRACTED\n")) options[count++] = "--fmad=false";
    /* Newer versions alone know these. They change how long a compile takes and none of its bytes, and a key has the
     * version that they depend on. --minimal leaves out what kernels without headers do not use: textures, device-side
     * runtime calls. --no-cache: a cache of NVRTC's own would only store again what ours does. */
    if (version >= 1204 && !cub) options[count++] = "--minimal";
    if (version >= 1209) options[count++] = "--no-cache";

    if (cub) {
        kiln_status status = kiln__cub_locate(&j->nvrtc->identity, include + strlen(include));
        if (status) return status;
        options[count++] = include;
    }
    double start = kiln__now_ms();
    kiln__nvrtcResult code = j->nvrtc->CompileProgram(j->program, count, options);
    double compiled = kiln__now_ms();
    j->result->facts.compile_ms = compiled - start;
    kiln_status status = fetch_all(j, code);
    j->result->facts.fetch_ms = kiln__now_ms() - compiled;
    return status;
}

static void *run(void *user) {
    job *j = user;
    double start = kiln__now_ms();
    kiln__nvrtcResult code = j->nvrtc->CreateProgram(&j->program, j->request->source, j->request->name, 0, NULL, NULL);
    j->result->facts.create_ms = kiln__now_ms() - start;
    if (code != KILN__NVRTC_SUCCESS) {
        j->status = fail_call(j, "CreateProgram", "", code);
    } else {
        j->status = compile_program(j);
        j->nvrtc->DestroyProgram(&j->program);
    }
    snprintf(j->message, sizeof j->message, "%s", j->status == KILN_OK ? "" : kiln_last_error());
    return NULL;
}

/* NVRTC nests as deep as a source does, and wants more stack than an application's thread may have: it gets a thread of
 * its own, which takes no signals. */
static kiln_status run_on_large_stack(job *j) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int cancelled, code = pthread_attr_init(&attributes);
    if (code != 0) return kiln__out_of_memory();
    sigfillset(&all);
    code = pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (code == 0) code = pthread_create(&thread, &attributes, run, j);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code != 0)
        return kiln__fail(KILN_E_MEMORY, "no thread can be had to compile on, with a stack of %d bytes: %s",
                          stack_bytes, strerror(code));
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled); /* the thread works on this one's stack */
    pthread_join(thread, NULL);
    pthread_setcancelstate(cancelled, NULL);
    return j->status == KILN_OK ? KILN_OK : kiln__fail(j->status, "%s", j->message);
}

kiln_status kiln__nvrtc_compile(const kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                kiln__compile_result *out) {
    job j = {.nvrtc = nvrtc, .request = request, .result = out};
    *out = (kiln__compile_result){.facts = {.arch = request->arch,
                                            .is_ptx = request->ptx,
                                            .registers = -1,
                                            .spill_bytes = -1,
                                            .created_unix = (int64_t)time(NULL)}};
    kiln_status status = check_arch(nvrtc, request);
    if (status != KILN_OK) return status;
    kiln__nvrtc_enter();
    status = run_on_large_stack(&j);
    kiln__nvrtc_leave();
    return status;
}

void kiln__compile_result_free(kiln__compile_result *result) {
    if (result == NULL) return;
    free(result->image);
    free(result->log);
    *result = (kiln__compile_result){.size = 0};
}
