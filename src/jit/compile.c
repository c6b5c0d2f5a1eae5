/* One compile with NVRTC: options, image, log, and what each step took.
 * NVRTC serialises most of the work of its threads by itself; no lock is held here. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit/log.h"
#include "jit/nvrtc.h"

/* NVRTC 11.2 and newer know all of these. -v puts registers and spills into the log and costs no time to speak of. */
static const char *const keyed_options[] = {
    "--std=c++17", "--no-source-include", "--modify-stack-limit=false", "-default-device", "--ptxas-options=-v", NULL,
};

enum { max_options = 16 };

const char *const *kiln__nvrtc_options(void) { return keyed_options; }

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Options that newer versions alone know. They change how long a compile takes and none of its bytes, and a key
 * has the version that they depend on.
 *   --minimal leaves out what kernels without headers do not use: textures, device-side runtime calls.
 *   --no-cache: a cache of NVRTC's own would only store again what ours does. */
static int add_version_options(const kiln__nvrtc_identity *identity, const char **options, int count) {
    int version = identity->major * 100 + identity->minor;
    if (version >= 1204) options[count++] = "--minimal";
    if (version >= 1209) options[count++] = "--no-cache";
    return count;
}

static kiln_status check_arch(const kiln__nvrtc *nvrtc, const kiln__compile_request *request) {
    for (int i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] == request->arch) return KILN_OK;
    const char *kind = request->ptx ? "compute" : "sm";
    return kiln__fail(KILN_E_ARCH, "%s_%d is not supported by NVRTC %d.%d (it has sm_%d to sm_%d)", kind, request->arch,
                      nvrtc->identity.major, nvrtc->identity.minor, nvrtc->archs[0],
                      nvrtc->archs[nvrtc->arch_count - 1]);
}

static kiln_status fail_call(const kiln__nvrtc *nvrtc, const char *name, const char *call, const char *part,
                             kiln__nvrtcResult result) {
    if (result == KILN__NVRTC_ERROR_OUT_OF_MEMORY) return kiln__out_of_memory();
    return kiln__fail(KILN_E_COMPILE, "NVRTC %d.%d failed at nvrtc%s%s for '%s': %s", nvrtc->identity.major,
                      nvrtc->identity.minor, call, part, name, nvrtc->GetErrorString(result));
}

/* Something that the program is asked for in two calls: its size, then its bytes. They are followed by a NUL. */
static kiln_status fetch(const kiln__nvrtc *nvrtc, kiln__nvrtcProgram program, const char *name, const char *call,
                         kiln__nvrtcResult (*get_size)(kiln__nvrtcProgram, size_t *),
                         kiln__nvrtcResult (*get)(kiln__nvrtcProgram, char *), char **out, size_t *size) {
    kiln__nvrtcResult code = get_size(program, size);
    if (code != KILN__NVRTC_SUCCESS) return fail_call(nvrtc, name, call, "Size", code);
    char *bytes = calloc(1, *size + 1);
    if (bytes == NULL) return kiln__out_of_memory();
    code = get(program, bytes);
    if (code != KILN__NVRTC_SUCCESS) {
        free(bytes);
        return fail_call(nvrtc, name, call, "", code);
    }
    *out = bytes;
    return KILN_OK;
}

/* Reads the log, whatever the compile came to. */
static kiln_status fetch_log(const kiln__nvrtc *nvrtc, kiln__nvrtcProgram program, const char *name,
                             kiln__compile_result *result) {
    size_t size;
    kiln_status status = fetch(nvrtc, program, name, "GetProgramLog", nvrtc->GetProgramLogSize, nvrtc->GetProgramLog,
                               &result->log, &size);
    if (status != KILN_OK) return status;
    kiln__log_facts facts;
    kiln__log_take_facts(result->log, &facts);
    result->registers = facts.registers;
    result->spill_bytes = facts.spill_bytes;
    result->shared_bytes = facts.shared_bytes > 0 ? facts.shared_bytes : 0;
    return KILN_OK;
}

static kiln_status fetch_image(const kiln__nvrtc *nvrtc, kiln__nvrtcProgram program, const char *name, bool ptx,
                               kiln__compile_result *result) {
    char *image;
    kiln_status status =
        ptx ? fetch(nvrtc, program, name, "GetPTX", nvrtc->GetPTXSize, nvrtc->GetPTX, &image, &result->size)
            : fetch(nvrtc, program, name, "GetCUBIN", nvrtc->GetCUBINSize, nvrtc->GetCUBIN, &image, &result->size);
    if (status == KILN_OK) result->image = image;
    return status;
}

static kiln_status fail_compile(const kiln__nvrtc *nvrtc, const char *name, kiln__nvrtcResult code, const char *log) {
    char line[512];
    if (code == KILN__NVRTC_ERROR_OUT_OF_MEMORY) return kiln__out_of_memory();
    kiln__log_first_error(log, line, sizeof line);
    return kiln__fail(KILN_E_COMPILE, "NVRTC %d.%d refused '%s' (%s): %s", nvrtc->identity.major, nvrtc->identity.minor,
                      name, nvrtc->GetErrorString(code), line);
}

static kiln_status compile_program(const kiln__nvrtc *nvrtc, kiln__nvrtcProgram program,
                                   const kiln__compile_request *request, kiln__compile_result *result) {
    const char *options[max_options];
    char arch[48];
    snprintf(arch, sizeof arch, "--gpu-architecture=%s_%d", request->ptx ? "compute" : "sm", request->arch);
    int count = 0;
    for (; keyed_options[count] != NULL; count++) options[count] = keyed_options[count];
    options[count++] = arch;
    count = add_version_options(&nvrtc->identity, options, count);

    double start = now_ms();
    kiln__nvrtcResult code = nvrtc->CompileProgram(program, count, options);
    double compiled = now_ms();
    result->compile_ms = compiled - start;
    kiln_status status = fetch_log(nvrtc, program, request->name, result);
    result->refused = status == KILN_OK && code == KILN__NVRTC_ERROR_COMPILATION;
    if (status == KILN_OK)
        status = code == KILN__NVRTC_SUCCESS ? fetch_image(nvrtc, program, request->name, request->ptx, result)
                                             : fail_compile(nvrtc, request->name, code, result->log);
    result->fetch_ms = now_ms() - compiled;
    return status;
}

kiln_status kiln__nvrtc_compile(const kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                kiln__compile_result *out) {
    *out = (kiln__compile_result){.registers = -1, .spill_bytes = -1};
    kiln_status status = check_arch(nvrtc, request);
    if (status != KILN_OK) return status;
    kiln__nvrtcProgram program = NULL;
    double start = now_ms();
    kiln__nvrtcResult code = nvrtc->CreateProgram(&program, request->source, request->name, 0, NULL, NULL);
    out->create_ms = now_ms() - start;
    if (code != KILN__NVRTC_SUCCESS) return fail_call(nvrtc, request->name, "CreateProgram", "", code);
    status = compile_program(nvrtc, program, request, out);
    nvrtc->DestroyProgram(&program);
    return status;
}

void kiln__compile_result_free(kiln__compile_result *result) {
    if (result == NULL) return;
    free(result->image);
    free(result->log);
    *result = (kiln__compile_result){.registers = -1, .spill_bytes = -1};
}
