/* SPDX-License-Identifier: Apache-2.0 */
/* Reads packs. Numbers in a pack are data of a stranger until each is known to fit. */
#define _GNU_SOURCE
#include "cache/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/checksum.h"
#include "cache/entry.h"

const char kiln__bundle_magic[8] = {'K', 'I', 'L', 'N', 'P', 'A', 'C', 'K'};

_Static_assert(sizeof(kiln__bundle_head) == 48 && sizeof(kiln__bundle_row) == 64, "heads and rows have no padding");

/* The head is summed without its sum: two sums, of the head's first part and of the rows, are mixed. */
void kiln__bundle_checksum(const uint8_t *bytes, uint32_t count, uint8_t out[16]) {
    uint8_t head[16];
    kiln__checksum(bytes, offsetof(kiln__bundle_head, checksum), head);
    kiln__checksum(bytes + sizeof(kiln__bundle_head), (size_t)count * sizeof(kiln__bundle_row), out);
    for (int i = 0; i < 16; i++) out[i] ^= head[i];
}

kiln__bundle_row kiln__bundle_row_at(const kiln__bundle *bundle, uint32_t i) {
    kiln__bundle_row row;
    memcpy(&row, bundle->bytes + sizeof(kiln__bundle_head) + (size_t)i * sizeof row, sizeof row);
    row.nvrtc_build[sizeof row.nvrtc_build - 1] = '\0';
    return row;
}

/* What is wrong with the pack's head or rows, NULL if nothing is. */
static const char *check(kiln__bundle *bundle) {
    kiln__bundle_head head;
    uint8_t checksum[16];
    if (bundle->size < sizeof head || memcmp(bundle->bytes, kiln__bundle_magic, sizeof kiln__bundle_magic) != 0)
        return "is no pack";
    memcpy(&head, bundle->bytes, sizeof head);
    if (head.format != KILN__PACK_FORMAT) return "has a format of another version of Kiln";
    if (head.size != bundle->size) return "is cut short, or longer than it was written";
    if (head.count > (bundle->size - sizeof head) / sizeof(kiln__bundle_row))
        return "is damaged: its index does not fit";
    kiln__bundle_checksum(bundle->bytes, head.count, checksum);
    if (memcmp(checksum, head.checksum, sizeof checksum) != 0) return "is damaged: its index has a wrong checksum";
    bundle->count = head.count;
    return NULL;
}

static kiln_status map_file(kiln__bundle *bundle) {
    struct stat status;
    int fd = open(bundle->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int code = errno;
        if (fd >= 0) close(fd);
        return kiln__fail(KILN_E_IO, "pack '%s' cannot be opened: %s", bundle->name, strerror(code));
    }
    bool fits = S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(kiln__bundle_head);
    void *map = fits ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (!fits) return kiln__fail(KILN_E_FORMAT, "pack '%s' is no pack", bundle->name);
    if (map == MAP_FAILED)
        return kiln__fail(KILN_E_IO, "pack '%s' cannot be mapped: %s", bundle->name, strerror(errno));
    bundle->bytes = map;
    bundle->size = (size_t)status.st_size;
    bundle->mapped = true;
    return KILN_OK;
}

kiln_status kiln__bundle_open(const char *path, const void *data, size_t size, kiln__bundle **out) {
    const char *name = path ? path : "in memory";
    kiln__bundle *bundle = calloc(1, sizeof *bundle + strlen(name) + 1);
    *out = NULL;
    if (bundle == NULL) return kiln__out_of_memory();
    strcpy(bundle->name, name);
    bundle->bytes = data;
    bundle->size = data != NULL ? size : 0;
    kiln_status status = path ? map_file(bundle) : KILN_OK;
    const char *fault = status ? NULL : check(bundle);
    if (fault != NULL) status = kiln__fail(KILN_E_FORMAT, "pack '%s' %s", bundle->name, fault);
    if (status)
        kiln__bundle_close(bundle);
    else
        *out = bundle;
    return status;
}

void kiln__bundle_close(kiln__bundle *bundle) {
    if (bundle == NULL) return;
    if (bundle->mapped) munmap((void *)(uintptr_t)bundle->bytes, bundle->size);
    free(bundle);
}

bool kiln__bundle_entry(const kiln__bundle *bundle, uint32_t i, kiln__entry *out) {
    kiln__bundle_row row = kiln__bundle_row_at(bundle, i);
    return row.offset <= bundle->size && row.size <= bundle->size - row.offset &&
           row.offset % KILN__PACK_ALIGNMENT == 0 &&
           kiln__entry_decode(bundle->bytes + row.offset, (size_t)row.size, out);
}

static int compare_digest(const void *digest, const void *row) { return memcmp(digest, row, 16); }

kiln__bundle_result kiln__bundle_find(kiln__bundle *bundle, const kiln__key *key, kiln__entry *out) {
    const uint8_t *rows = bundle->bytes + sizeof(kiln__bundle_head);
    const uint8_t *row = bsearch(key->digest, rows, bundle->count, sizeof(kiln__bundle_row), compare_digest);
    if (row == NULL || atomic_load(&bundle->damaged)) return KILN__NOT_IN_BUNDLE;
    if (!kiln__bundle_entry(bundle, (uint32_t)((size_t)(row - rows) / sizeof(kiln__bundle_row)), out))
        return atomic_exchange(&bundle->damaged, true) ? KILN__NOT_IN_BUNDLE : KILN__DAMAGED_BUNDLE;
    bool equal = out->material_size == key->size && memcmp(out->material, key->material, key->size) == 0;
    return equal ? KILN__IN_BUNDLE : KILN__NOT_IN_BUNDLE;
}
