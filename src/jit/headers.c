/* SPDX-License-Identifier: Apache-2.0 */
/* Where CUB's headers are: a kernel includes them where a pinned schedule asks for CUB. */
#define _GNU_SOURCE
#include "jit/headers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "cub/block/block_reduce.cuh"

/* From NVRTC's own folder, of a toolkit, a wheel or a package. */
static const char *const beside[] = {
    "../include/cccl",    "../include",   "../targets/x86_64-linux/include/cccl", "../targets/sbsa-linux/include/cccl",
    "../../include/cccl", "../../include"};

static bool has_header(const char *folder) {
    char path[PATH_MAX];
    const int size = snprintf(path, sizeof path, "%s/" HEADER, folder);
    return size > 0 && size < (int)sizeof path && access(path, R_OK) == 0;
}

kiln_status kiln__cub_locate(const kiln__nvrtc_identity *nvrtc, char folder[KILN__CUB_FOLDER_SIZE]) {
    const char *named = secure_getenv("KILN_CUB");
    const size_t length = strlen(nvrtc->path) - strlen(strrchr(nvrtc->path, '/'));
    if (named && *named) {
        snprintf(folder, KILN__CUB_FOLDER_SIZE, "%s", named);
        if (has_header(folder)) return KILN_OK;
        return kiln__fail(KILN_E_COMPILE, "KILN_CUB is '%s', expected a folder that has " HEADER, named);
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(folder, KILN__CUB_FOLDER_SIZE, "%.*s/%s", (int)length, nvrtc->path, beside[i]);
        if (has_header(folder)) return KILN_OK;
    }
    return kiln__fail(KILN_E_COMPILE,
                      "the schedule combines by CUB, whose headers are in no include folder beside '%s'; KILN_CUB may "
                      "name the one that has " HEADER,
                      nvrtc->path);
}
