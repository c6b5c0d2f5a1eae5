/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens NVRTC at run time, and compiles with it. Knows nothing of the cache or the driver. */
#ifndef KILN_JIT_NVRTC_H
#define KILN_JIT_NVRTC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/facts.h"
#include "base/status.h"
#include "jit/nvrtc_api.h"

/* Which NVRTC a kernel came from: part of the cache's key. */
typedef struct kiln__nvrtc_identity {
    char path[512]; /* the file, with links resolved */
    uint64_t file_size, file_inode, file_device;
    int64_t file_mtime_ns;
    int major, minor;
    char build[64]; /* tells builds of one version apart: a hash of the file's size and start, in hex */
} kiln__nvrtc_identity;

/* An opened library. Opened once per path in a process, never closed. */
typedef struct kiln__nvrtc {
#define KILN__NVRTC_MEMBER(ret, name, params) ret(*name) params;
    KILN__NVRTC_FUNCTIONS(KILN__NVRTC_MEMBER)
#undef KILN__NVRTC_MEMBER
    kiln__nvrtc_identity identity;
    int archs[64]; /* ascending */
    int arch_count;
} kiln__nvrtc;

/* Where the library would be opened from, without opening it: path (option), else KILN_NVRTC, each a file or a folder
 * (a toolkit's, a wheel's, or the library's own); else the newest in $CUDA_HOME and $CUDA_PATH; else the newest among
 * the packages of $VIRTUAL_ENV, $CONDA_PREFIX and the Python that is running; else in $XDG_DATA_HOME/kiln
 * (~/.local/share/kiln); else the newest in /usr/local/cuda*, the system's library folders and LD_LIBRARY_PATH; else in
 * the folder that the build names with KILN_NVRTC_FALLBACK_DIR. Fills path and the file's stat fields alone (version 0,
 * build ""). False: there is none. */
bool kiln__nvrtc_locate(const char *path, kiln__nvrtc_identity *out);

/* True where path and the stat fields are equal. */
bool kiln__nvrtc_same_file(const kiln__nvrtc_identity *a, const kiln__nvrtc_identity *b);

/* Fills build from the file, without opening the library. */
void kiln__nvrtc_read_build(kiln__nvrtc_identity *identity);

/* Opens (or returns the open one). KILN_E_NO_NVRTC names what was tried and how to install it. */
kiln_status kiln__nvrtc_open(const char *path, const kiln__nvrtc **out);

/* Around what NVRTC may lock: a child that is forked meanwhile does not wait for it. */
void kiln__nvrtc_enter(void);
void kiln__nvrtc_leave(void);

typedef struct kiln__compile_request {
    const char *source;
    const char *name; /* shown in messages: "kiln_softmax.cu" */
    int arch;         /* 90 */
    bool ptx;         /* PTX for compute_XX instead of a cubin for sm_XX */
} kiln__compile_request;

typedef struct kiln__compile_result {
    char *image; /* cubin, or PTX with its NUL; freed by kiln__compile_result_free */
    size_t size;
    char *log; /* never NULL after a compile that ran, also a failed one; less ptxas's information */
    kiln__facts facts;
    bool refused; /* it failed for the source's sake: it would fail again */
} kiln__compile_result;

/* The options every kernel is compiled with besides the architecture, NULL-ended: part of the cache's key. */
const char *const *kiln__nvrtc_options(void);

/* Compiles. KILN_E_ARCH tells the architectures the library has; KILN_E_COMPILE quotes the log's first error, and the
 * log stays in *out, to be freed after a failure as well. Thread-safe. */
kiln_status kiln__nvrtc_compile(const kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                kiln__compile_result *out);
void kiln__compile_result_free(kiln__compile_result *result);

double kiln__now_ms(void); /* since some moment in the past: for durations */

#endif
