/* SPDX-License-Identifier: Apache-2.0 */
/* Reads packs. Numbers in a pack are data of a stranger until each is known to fit. */
#define _GNU_SOURCE
#include "cache/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/checksum.h"
#include "cache/entry.h"

const char kiln__pack_magic[8] = {'K', 'I', 'L', 'N', 'P', 'A', 'C', 'K'};

_Static_assert(sizeof(kiln__pack_head) == 48 && sizeof(kiln__pack_row) == 64, "heads and rows have no padding");

/* The head is summed without its sum: two sums, of the head's first part and of the rows, are mixed. */
void kiln__pack_checksum(const uint8_t *bytes, uint32_t count, uint8_t out[16]) {
    uint8_t head[16];
    kiln__checksum(bytes, offsetof(kiln__pack_head, checksum), head);
    kiln__checksum(bytes + sizeof(kiln__pack_head), (size_t)count * sizeof(kiln__pack_row), out);
    for (int i = 0; i < 16; i++) out[i] ^= head[i];
}

kiln__pack_row kiln__pack_row_at(const kiln__pack *pack, uint32_t i) {
    kiln__pack_row row;
    memcpy(&row, pack->bytes + sizeof(kiln__pack_head) + (size_t)i * sizeof row, sizeof row);
    row.nvrtc_build[sizeof row.nvrtc_build - 1] = '\0';
    return row;
}

/* What is wrong with the pack's head or rows, NULL if nothing is. */
static const char *check(kiln__pack *pack) {
    kiln__pack_head head;
    uint8_t checksum[16];
    if (pack->size < sizeof head || memcmp(pack->bytes, kiln__pack_magic, sizeof kiln__pack_magic) != 0)
        return "is no pack";
    memcpy(&head, pack->bytes, sizeof head);
    if (head.format != KILN__PACK_FORMAT) return "has a format of another version of Kiln";
    if (head.size != pack->size) return "is cut short, or longer than it was written";
    if (head.count > (pack->size - sizeof head) / sizeof(kiln__pack_row)) return "is damaged: its index does not fit";
    kiln__pack_checksum(pack->bytes, head.count, checksum);
    if (memcmp(checksum, head.checksum, sizeof checksum) != 0) return "is damaged: its index has a wrong checksum";
    pack->count = head.count;
    return NULL;
}

static kiln_status map_file(kiln__pack *pack) {
    struct stat status;
    int fd = open(pack->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int code = errno;
        if (fd >= 0) close(fd);
        return kiln__fail(KILN_E_IO, "pack '%s' cannot be opened: %s", pack->name, strerror(code));
    }
    bool fits = S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(kiln__pack_head);
    void *map = fits ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (!fits) return kiln__fail(KILN_E_FORMAT, "pack '%s' is no pack", pack->name);
    if (map == MAP_FAILED) return kiln__fail(KILN_E_IO, "pack '%s' cannot be mapped: %s", pack->name, strerror(errno));
    pack->bytes = map;
    pack->size = (size_t)status.st_size;
    pack->mapped = true;
    return KILN_OK;
}

kiln_status kiln__pack_open(const char *path, const void *data, size_t size, kiln__pack **out) {
    const char *name = path ? path : "in memory";
    kiln__pack *pack = calloc(1, sizeof *pack + strlen(name) + 1);
    *out = NULL;
    if (pack == NULL) return kiln__out_of_memory();
    strcpy(pack->name, name);
    pack->bytes = data;
    pack->size = data != NULL ? size : 0;
    kiln_status status = path ? map_file(pack) : KILN_OK;
    const char *fault = status ? NULL : check(pack);
    if (fault != NULL) status = kiln__fail(KILN_E_FORMAT, "pack '%s' %s", pack->name, fault);
    if (status)
        kiln__pack_close(pack);
    else
        *out = pack;
    return status;
}

void kiln__pack_close(kiln__pack *pack) {
    if (pack == NULL) return;
    if (pack->mapped) munmap((void *)(uintptr_t)pack->bytes, pack->size);
    free(pack);
}

bool kiln__pack_entry(const kiln__pack *pack, uint32_t i, kiln__entry *out) {
    kiln__pack_row row = kiln__pack_row_at(pack, i);
    return row.offset <= pack->size && row.size <= pack->size - row.offset && row.offset % KILN__PACK_ALIGNMENT == 0 &&
           kiln__entry_decode(pack->bytes + row.offset, (size_t)row.size, out);
}

static int compare_digest(const void *digest, const void *row) { return memcmp(digest, row, 16); }

kiln__pack_result kiln__pack_find(kiln__pack *pack, const kiln__key *key, kiln__entry *out) {
    const uint8_t *rows = pack->bytes + sizeof(kiln__pack_head);
    const uint8_t *row = bsearch(key->digest, rows, pack->count, sizeof(kiln__pack_row), compare_digest);
    if (row == NULL || atomic_load(&pack->damaged)) return KILN__NOT_IN_PACK;
    if (!kiln__pack_entry(pack, (uint32_t)((size_t)(row - rows) / sizeof(kiln__pack_row)), out))
        return atomic_exchange(&pack->damaged, true) ? KILN__NOT_IN_PACK : KILN__DAMAGED_PACK;
    bool equal = out->material_size == key->size && memcmp(out->material, key->material, key->size) == 0;
    return equal ? KILN__IN_PACK : KILN__NOT_IN_PACK;
}
