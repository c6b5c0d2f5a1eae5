/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for an old NVRTC: version 11.1, sm_50 to sm_70, or to FAKE_NVRTC_ARCH of the environment (90, say, and
 * then sm_80 and sm_86, too). It compiles nothing: the image repeats the source. A word in the source makes the call
 * of that name fail, so that tests reach every failure. FAKE_NVRTC_REFUSE, FAKE_NVRTC_CRASH and FAKE_NVRTC_HANG are
 * such words that make a compile fail, end its process or never return; FAKE_NVRTC_MS is how long a compile takes,
 * FAKE_NVRTC_OPEN_MS how long opening does, and with FAKE_NVRTC_LOCK one compiles at a time, as with the real one;
 * FAKE_NVRTC_CHANGE makes images of other bytes. Sources with the word FAKE_NVRTC_SPILL spill. A compile appends a line
 * with the source's sum and the process to the file FAKE_NVRTC_COUNT.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jit/nvrtc_api.h"

enum { code_internal = 11 };

struct kiln__nvrtcProgram_st {
    char *source;
};

#define DECLARE(ret, name, params) ret nvrtc##name params;
KILN__NVRTC_FUNCTIONS(DECLARE)

const char *nvrtcGetErrorString(kiln__nvrtcResult code) {
    switch (code) {
    case KILN__NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case KILN__NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case KILN__NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}

/* How often this library was opened; tests look it up by its name. */
atomic_int fake_nvrtc_opens;

static void take_ms(const char *variable) {
    const char *ms = getenv(variable);
    if (ms != NULL)
        nanosleep(&(struct timespec){.tv_sec = atol(ms) / 1000, .tv_nsec = atol(ms) % 1000 * 1000000}, NULL);
}

kiln__nvrtcResult nvrtcVersion(int *major, int *minor) {
    fake_nvrtc_opens++;
    take_ms("FAKE_NVRTC_OPEN_MS");
    *major = 11;
    *minor = 1;
    return KILN__NVRTC_SUCCESS;
}

static const int archs[] = {50, 52, 60, 61, 70}, newer_archs[] = {50, 70, 80, 86, 90};

kiln__nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = (int)(sizeof archs / sizeof archs[0]);
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetSupportedArchs(int *out) {
    const char *newest = getenv("FAKE_NVRTC_ARCH");
    memcpy(out, newest != NULL && atoi(newest) > 86 ? newer_archs : archs, sizeof archs);
    if (newest != NULL) out[sizeof archs / sizeof archs[0] - 1] = atoi(newest);
    return KILN__NVRTC_SUCCESS;
}

static kiln__nvrtcResult result_of(const char *source, const char *word) {
    if (strstr(source, "no_memory") != NULL) return KILN__NVRTC_ERROR_OUT_OF_MEMORY;
    return strstr(source, word) != NULL ? code_internal : KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcCreateProgram(kiln__nvrtcProgram *out, const char *source, const char *name, int header_count,
                                     const char *const *headers, const char *const *include_names) {
    (void)name;
    (void)header_count;
    (void)headers;
    (void)include_names;
    if (strstr(source, "create_fails") != NULL) return code_internal;
    kiln__nvrtcProgram program = calloc(1, sizeof *program);
    if (program != NULL) program->source = strdup(source);
    if (program == NULL || program->source == NULL) {
        free(program);
        return KILN__NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *out = program;
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcDestroyProgram(kiln__nvrtcProgram *program) {
    free((*program)->source);
    free(*program);
    *program = NULL;
    return KILN__NVRTC_SUCCESS;
}

static void tell_compile(const char *source) {
    const char *path = getenv("FAKE_NVRTC_COUNT");
    uint64_t sum = 0xcbf29ce484222325u;
    char line[64];
    for (const char *c = source; *c != '\0'; c++) sum = (sum ^ (unsigned char)*c) * 0x100000001b3u;
    int size = snprintf(line, sizeof line, "%016llx %d\n", (unsigned long long)sum, (int)getpid());
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && write(fd, line, (size_t)size) != size) abort();
    if (fd >= 0) close(fd);
}

/* How often this library was asked to compile; tests look it up by its name. */
atomic_int fake_nvrtc_compiles;

kiln__nvrtcResult nvrtcCompileProgram(kiln__nvrtcProgram program, int option_count, const char *const *options) {
    (void)option_count;
    (void)options;
    const char *crash = getenv("FAKE_NVRTC_CRASH"), *hang = getenv("FAKE_NVRTC_HANG");
    const char *deep = getenv("FAKE_NVRTC_STACK");
    fake_nvrtc_compiles++;
    tell_compile(program->source);
    if (deep != NULL) {
        size_t size = (size_t)atol(deep);
        volatile char *stack = __builtin_alloca(size);
        for (size_t i = size; i > 0; i -= i < 4096 ? i : 4096) /* page by page, from the side that is in use */
            stack[i - 1] = 1;
    }
    if (crash != NULL && strstr(program->source, crash) != NULL) abort();
    while (hang != NULL && strstr(program->source, hang) != NULL) pause();
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    const int alone = getenv("FAKE_NVRTC_LOCK") != NULL;
    if (alone) pthread_mutex_lock(&one);
    take_ms("FAKE_NVRTC_MS");
    if (alone) pthread_mutex_unlock(&one);
    const char *refuse = getenv("FAKE_NVRTC_REFUSE");
    if (refuse != NULL && strstr(program->source, refuse) != NULL) return KILN__NVRTC_ERROR_COMPILATION;
    if (strstr(program->source, "source_refused") != NULL) return KILN__NVRTC_ERROR_COMPILATION;
    return result_of(program->source, "compile_fails");
}

kiln__nvrtcResult nvrtcGetPTXSize(kiln__nvrtcProgram program, size_t *size) {
    *size = strlen(program->source) + 1;
    return result_of(program->source, "size_fails");
}

kiln__nvrtcResult nvrtcGetPTX(kiln__nvrtcProgram program, char *image) {
    strcpy(image, program->source);
    if (getenv("FAKE_NVRTC_CHANGE") != NULL) image[0] ^= 1;
    return result_of(program->source, "image_fails");
}

kiln__nvrtcResult nvrtcGetCUBINSize(kiln__nvrtcProgram program, size_t *size) { return nvrtcGetPTXSize(program, size); }

kiln__nvrtcResult nvrtcGetCUBIN(kiln__nvrtcProgram program, char *image) { return nvrtcGetPTX(program, image); }

static const char *log_of(kiln__nvrtcProgram program) {
    const char *spill = getenv("FAKE_NVRTC_SPILL");
    return spill != NULL && strstr(program->source, spill) != NULL ? "ptxas info    : 8 bytes spill stores\n" : "";
}

kiln__nvrtcResult nvrtcGetProgramLogSize(kiln__nvrtcProgram program, size_t *size) {
    *size = strlen(log_of(program)) + 1;
    return strstr(program->source, "log_size_fails") != NULL ? code_internal : KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetProgramLog(kiln__nvrtcProgram program, char *log) {
    strcpy(log, log_of(program));
    return strstr(program->source, "log_fails") != NULL ? code_internal : KILN__NVRTC_SUCCESS;
}
