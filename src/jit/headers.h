/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_JIT_HEADERS_H
#define KILN_JIT_HEADERS_H

#include "jit/nvrtc.h"

#define KILN__CUB_FOLDER_SIZE 640

/* The folder to include CUB's headers from: KILN_CUB's, else the first beside this NVRTC that has them. KILN_E_COMPILE
 * with a sentence where there is none. */
kiln_status kiln__cub_locate(const kiln__nvrtc_identity *nvrtc, char folder[KILN__CUB_FOLDER_SIZE]);

#endif
