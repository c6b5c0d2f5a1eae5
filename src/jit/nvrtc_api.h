/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVRTC that Kiln uses, declared here so that it builds without the toolkit. tests/gpu/test_abi.c compares
 * it with the real nvrtc.h. */
#ifndef KILN_JIT_NVRTC_API_H
#define KILN_JIT_NVRTC_API_H

#include <stddef.h>

typedef struct kiln__nvrtcProgram_st *kiln__nvrtcProgram; /* _nvrtcProgram * */
typedef int kiln__nvrtcResult;
#define KILN__NVRTC_SUCCESS 0
#define KILN__NVRTC_ERROR_OUT_OF_MEMORY 1
#define KILN__NVRTC_ERROR_INVALID_OPTION 5
#define KILN__NVRTC_ERROR_COMPILATION 6

/* X(return, name, parameters): symbol nvrtc<name> */
#define KILN__NVRTC_FUNCTIONS(X) \
    X(const char *, GetErrorString, (kiln__nvrtcResult)) \
    X(kiln__nvrtcResult, Version, (int *, int *)) \
    X(kiln__nvrtcResult, GetNumSupportedArchs, (int *)) \
    X(kiln__nvrtcResult, GetSupportedArchs, (int *)) \
    X(kiln__nvrtcResult, CreateProgram, \
      (kiln__nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(kiln__nvrtcResult, DestroyProgram, (kiln__nvrtcProgram *)) \
    X(kiln__nvrtcResult, CompileProgram, (kiln__nvrtcProgram, int, const char *const *)) \
    X(kiln__nvrtcResult, GetPTXSize, (kiln__nvrtcProgram, size_t *)) \
    X(kiln__nvrtcResult, GetPTX, (kiln__nvrtcProgram, char *)) \
    X(kiln__nvrtcResult, GetCUBINSize, (kiln__nvrtcProgram, size_t *)) \
    X(kiln__nvrtcResult, GetCUBIN, (kiln__nvrtcProgram, char *)) \
    X(kiln__nvrtcResult, GetProgramLogSize, (kiln__nvrtcProgram, size_t *)) \
    X(kiln__nvrtcResult, GetProgramLog, (kiln__nvrtcProgram, char *))

#endif
