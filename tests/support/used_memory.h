/* SPDX-License-Identifier: Apache-2.0 */
/* How much malloc has given out, where the C library tells. */
#ifndef KILN_TESTS_USED_MEMORY_H
#define KILN_TESTS_USED_MEMORY_H

#include <malloc.h>
#include <stddef.h>

/* In bytes; 0 where nobody knows, as with musl, so that nothing seems to grow. */
static inline size_t used_memory(void) {
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

#endif
