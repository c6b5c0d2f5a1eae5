// SPDX-License-Identifier: Apache-2.0
/* The NVRTC of the software GPU: the functions of Kiln's own table. A compile makes C++ of the kernel and hands it to
 * the system's compiler; cubin and PTX are the same shared object, and differ in what devices take them. */
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "compiler.hpp"
#include "faults.hpp"
#include "image.hpp"
#include "software_gpu.h"

#include "jit/nvrtc_api.h"

#define DECLARE(ret, name, params) SOFTWARE_GPU_EXPORT ret nvrtc##name params;
KILN__NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE

struct kiln__nvrtcProgram_st {
    std::string source, name, log;
    std::vector<unsigned char> image;
    bool is_ptx = false;
};

namespace {

enum { invalid_input = 3, invalid_program = 4 };

std::mutex lock;
/* Never destroyed: what a failing nvrtcDestroyProgram left is still known at exit. */
std::set<kiln__nvrtcProgram> &programs = *new std::set<kiln__nvrtcProgram>;
std::string planted_from, planted_to;
bool planting;

const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

bool is_known(kiln__nvrtcProgram program) {
    std::lock_guard<std::mutex> guard(lock);
    return programs.count(program) != 0;
}

/* "--gpu-architecture=sm_90" or "sm_100f"; the other options that Kiln passes change nothing here. */
int read_options(int count, const char *const *options, int *arch, bool *family, bool *ptx) {
    static const char *const known[] = {"--std=c++17",     "--no-source-include", "--modify-stack-limit=false",
                                        "-default-device", "--ptxas-options=-v",  "--minimal",
                                        "--no-cache",      "--fmad=false"};
    for (int i = 0; i < count; i++) {
        int number = 0;
        char kind[8] = "", suffix[2] = "";
        if (sscanf(options[i], "--gpu-architecture=%7[a-z]_%d%1s", kind, &number, suffix) >= 2) {
            bool supported = false;
            for (int a : archs) supported |= a == number;
            *ptx = !strcmp(kind, "compute");
            if (!supported || (!*ptx && strcmp(kind, "sm"))) return KILN__NVRTC_ERROR_INVALID_OPTION;
            *arch = number;
            *family = number >= 100 && !strcmp(suffix, "f");
            if (*suffix && !*family) return KILN__NVRTC_ERROR_INVALID_OPTION;
            continue;
        }
        bool good = false;
        for (const char *option : known) good |= !strcmp(option, options[i]);
        if (!good) return KILN__NVRTC_ERROR_INVALID_OPTION;
    }
    return KILN__NVRTC_SUCCESS;
}

/* False where the text to replace is not in the source, or more than once. */
bool plant(std::string *source) {
    std::lock_guard<std::mutex> guard(lock);
    if (!planting) return true;
    const size_t at = source->find(planted_from);
    if (at == std::string::npos || source->find(planted_from, at + 1) != std::string::npos) return false;
    source->replace(at, planted_from.size(), planted_to);
    return true;
}

int get_image(kiln__nvrtcProgram program, bool ptx, char *out) {
    if (!is_known(program)) return invalid_program;
    if (program->image.empty() || program->is_ptx != ptx) return invalid_input;
    memcpy(out, program->image.data(), program->image.size());
    return KILN__NVRTC_SUCCESS;
}

int get_image_size(kiln__nvrtcProgram program, bool ptx, size_t *size) {
    if (!is_known(program)) return invalid_program;
    *size = program->is_ptx == ptx ? program->image.size() : 0;
    return *size ? KILN__NVRTC_SUCCESS : invalid_input;
}

} // namespace

#define ENTER(symbol) \
    if (const int fault = software_gpu_fault(symbol)) return fault

const char *nvrtcGetErrorString(kiln__nvrtcResult code) {
    switch (code) {
    case KILN__NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case KILN__NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case invalid_input: return "NVRTC_ERROR_INVALID_INPUT";
    case invalid_program: return "NVRTC_ERROR_INVALID_PROGRAM";
    case KILN__NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case KILN__NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}

kiln__nvrtcResult nvrtcVersion(int *major, int *minor) {
    ENTER("nvrtcVersion");
    *major = 13;
    *minor = 0;
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    ENTER("nvrtcGetNumSupportedArchs");
    *count = static_cast<int>(sizeof archs / sizeof *archs);
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetSupportedArchs(int *out) {
    ENTER("nvrtcGetSupportedArchs");
    memcpy(out, archs, sizeof archs);
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcCreateProgram(kiln__nvrtcProgram *out, const char *source, const char *name, int header_count,
                                     const char *const *, const char *const *) {
    ENTER("nvrtcCreateProgram");
    if (!out || !source || header_count) return invalid_input;
    kiln__nvrtcProgram program = new kiln__nvrtcProgram_st;
    program->source = source;
    program->name = name ? name : "default_program";
    std::lock_guard<std::mutex> guard(lock);
    programs.insert(program);
    *out = program;
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcDestroyProgram(kiln__nvrtcProgram *program) {
    ENTER("nvrtcDestroyProgram");
    std::lock_guard<std::mutex> guard(lock);
    if (!program || !programs.erase(*program)) return invalid_program;
    delete *program;
    *program = nullptr;
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcCompileProgram(kiln__nvrtcProgram program, int option_count, const char *const *options) {
    ENTER("nvrtcCompileProgram");
    if (!is_known(program)) return invalid_program;
    software_gpu_image header = {};
    int arch = 75;
    bool family = false;
    const int result = read_options(option_count, options, &arch, &family, &program->is_ptx);
    if (result) return result;
    std::string source = program->source;
    if (!plant(&source)) {
        program->log = "error: the planted text is not once in this source\n";
        return KILN__NVRTC_ERROR_COMPILATION;
    }
    const simulated::Compiled compiled = simulated::compile_kernel(source, program->name, arch, family);
    program->log = compiled.log;
    program->image.clear();
    if (!compiled.good) return KILN__NVRTC_ERROR_COMPILATION;
    program->log += "ptxas info    : Used 32 registers, 0 bytes spill stores, 0 bytes spill loads\n";
    memcpy(header.magic, software_gpu_magic, sizeof header.magic);
    header.arch = static_cast<uint32_t>(arch);
    header.is_ptx = program->is_ptx;
    header.size = compiled.object.size();
    header.checksum = software_gpu_checksum(compiled.object.data(), compiled.object.size());
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&header);
    program->image.assign(bytes, bytes + sizeof header);
    program->image.insert(program->image.end(), compiled.object.begin(), compiled.object.end());
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetPTXSize(kiln__nvrtcProgram program, size_t *size) {
    ENTER("nvrtcGetPTXSize");
    return get_image_size(program, true, size);
}

kiln__nvrtcResult nvrtcGetPTX(kiln__nvrtcProgram program, char *out) {
    ENTER("nvrtcGetPTX");
    return get_image(program, true, out);
}

kiln__nvrtcResult nvrtcGetCUBINSize(kiln__nvrtcProgram program, size_t *size) {
    ENTER("nvrtcGetCUBINSize");
    return get_image_size(program, false, size);
}

kiln__nvrtcResult nvrtcGetCUBIN(kiln__nvrtcProgram program, char *out) {
    ENTER("nvrtcGetCUBIN");
    return get_image(program, false, out);
}

kiln__nvrtcResult nvrtcGetProgramLogSize(kiln__nvrtcProgram program, size_t *size) {
    ENTER("nvrtcGetProgramLogSize");
    if (!is_known(program)) return invalid_program;
    *size = program->log.size() + 1;
    return KILN__NVRTC_SUCCESS;
}

kiln__nvrtcResult nvrtcGetProgramLog(kiln__nvrtcProgram program, char *out) {
    ENTER("nvrtcGetProgramLog");
    if (!is_known(program)) return invalid_program;
    memcpy(out, program->log.c_str(), program->log.size() + 1);
    return KILN__NVRTC_SUCCESS;
}

/* ---- the knobs -------------------------------------------------------------------------------------------- */

SOFTWARE_GPU_EXPORT void software_gpu_plant(const char *from, const char *to) {
    std::lock_guard<std::mutex> guard(lock);
    planting = from != nullptr;
    planted_from = from ? from : "";
    planted_to = to ? to : "";
}

SOFTWARE_GPU_EXPORT void software_gpu_count(software_gpu_counts *counts) {
    std::lock_guard<std::mutex> guard(lock);
    *counts = {};
    counts->programs = static_cast<long>(programs.size());
}
