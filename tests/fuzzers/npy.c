/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: any bytes are refused with a sentence, or give a contiguous tensor whose every byte is there. The first
 * byte chooses the type to read them as, and whether a preamble with the right length is put before the rest. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npy.h"

static volatile uint8_t sink;

static void expect(bool holds) {
    if (!holds) abort();
}

static void put(int file, const void *bytes, size_t size) { expect(write(file, bytes, size) == (ssize_t)size); }

static void check(const char *path, const kiln_type *as) {
    kiln_tensor tensor = {.data = NULL};
    kiln_status status = npy_read(path, as, &tensor);
    expect(status == KILN_OK ? tensor.data != NULL : *kiln_last_error() != '\0' && tensor.data == NULL);
    if (status) return;
    size_t bytes = kiln_type_size(tensor.type);
    expect(tensor.rank >= 0 && tensor.rank <= KILN_MAX_RANK);
    for (int32_t i = 0; i < tensor.rank; i++) bytes *= (size_t)tensor.sizes[i];
    for (size_t i = 0; i < bytes; i++) sink = ((const uint8_t *)tensor.data)[i];
    free(tensor.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const kiln_type types[] = {KILN_BF16, KILN_E4M3, KILN_E5M2, KILN_F32, KILN_U16, KILN_U64, KILN_E8M0};
    char path[64];
    if (size == 0) return 0;
    const int choice = *data++;
    size--;
    int file = memfd_create("array", MFD_CLOEXEC);
    expect(file >= 0);
    if (choice & 1) { /* a dictionary up to the first line end, then data */
        const uint8_t *end = memchr(data, '\n', size);
        const size_t length = end ? (size_t)(end - data) + 1 : size;
        put(file, "\x93NUMPY\1\0", 8);
        put(file, (const uint8_t[]){(uint8_t)length, (uint8_t)(length >> 8)}, 2);
    }
    put(file, data, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check(path, choice & 2 ? &types[choice >> 2 & 3] : NULL);
    close(file);
    return 0;
}
