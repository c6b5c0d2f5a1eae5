/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes entries. Sizes in a file are data of a stranger until each is known to fit. */
#define _GNU_SOURCE
#include "cache/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/checksum.h"

enum { part_material, part_name, part_description, part_schedule, part_log, part_image, part_count };
enum { image_alignment = 16, max_size = 1 << 28 };

typedef struct entry_head {
    char magic[8];
    kiln__facts facts;
    uint64_t sizes[part_count];
} entry_head;

static const char magic[8] = {'K', 'I', 'L', 'N', 'E', 'N', 'T', '1'};

_Static_assert(sizeof(entry_head) == 72 + 8 * part_count, "heads have no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys and entries are written as they lie in memory");

static const char zeros[image_alignment] = {0};

static size_t padding_before(int part, size_t at) { return part == part_image ? (0 - at) % image_alignment : 0; }

uint8_t *kiln__entry_encode(const kiln__key *key, const kiln__entry *entry, size_t *size) {
    const void *const parts[] = {key->material,   entry->name, entry->description,
                                 entry->schedule, entry->log,  entry->image};
    entry_head head = {.facts = entry->facts,
                       .sizes = {key->size, strlen(entry->name) + 1, strlen(entry->description) + 1,
                                 strlen(entry->schedule) + 1, strlen(entry->log) + 1, entry->image_size}};
    if (entry->image_size == 0) return NULL;
    memcpy(head.magic, magic, sizeof magic);
    head.facts.format = KILN__ENTRY_FORMAT;
    kiln__text file = {0};
    kiln__text_add(&file, (const char *)&head, sizeof head);
    for (int i = 0; i < part_count; i++) {
        kiln__text_add(&file, zeros, padding_before(i, file.size));
        kiln__text_add(&file, parts[i], (size_t)head.sizes[i]);
    }
    uint8_t checksum[KILN__CHECKSUM_SIZE];
    kiln__checksum(file.data, file.size, checksum);
    kiln__text_add(&file, (const char *)checksum, sizeof checksum);
    *size = file.size;
    return (uint8_t *)kiln__text_take(&file);
}

/* Where each part lies; false if they do not fill the file but for the checksum. */
static bool place(const entry_head *head, size_t file_size, size_t offsets[part_count]) {
    size_t at = sizeof *head, end = file_size - KILN__CHECKSUM_SIZE;
    for (int i = 0; i < part_count; i++) {
        at += padding_before(i, at);
        if (at > end || head->sizes[i] > end - at) return false;
        offsets[i] = at;
        at += (size_t)head->sizes[i];
    }
    return at == end;
}

/* Its only NUL is its last byte. */
static bool is_text(const uint8_t *bytes, uint64_t size) {
    return size > 0 && memchr(bytes, '\0', (size_t)size) == bytes + size - 1;
}

bool kiln__entry_decode(const uint8_t *bytes, size_t size, kiln__entry *out) {
    entry_head head;
    size_t offsets[part_count];
    if (size < sizeof head + KILN__CHECKSUM_SIZE) return false;
    memcpy(&head, bytes, sizeof head);
    const kiln__facts *facts = &head.facts;
    if (memcmp(head.magic, magic, sizeof magic) != 0 || facts->format != KILN__ENTRY_FORMAT || facts->is_ptx < 0 ||
        facts->is_ptx > 1 || facts->zero != 0 || !place(&head, size, offsets) || !kiln__checksum_holds(bytes, size))
        return false;
    for (int i = part_name; i < part_image; i++)
        if (!is_text(bytes + offsets[i], head.sizes[i])) return false;
    const uint8_t *image = bytes + offsets[part_image], *log_end = bytes + offsets[part_log] + head.sizes[part_log];
    if (memcmp(log_end, zeros, (size_t)(image - log_end)) != 0) return false;
    if (head.sizes[part_image] == 0 || (facts->is_ptx && image[head.sizes[part_image] - 1] != '\0')) return false;
    *out = (kiln__entry){
        .facts = *facts,
        .image = image,
        .image_size = (size_t)head.sizes[part_image],
        .name = (const char *)bytes + offsets[part_name],
        .description = (const char *)bytes + offsets[part_description],
        .schedule = (const char *)bytes + offsets[part_schedule],
        .log = (const char *)bytes + offsets[part_log],
        .material = bytes + offsets[part_material],
        .material_size = (size_t)head.sizes[part_material],
    };
    return true;
}

/* Not mapped: a file cut short by others, or removed on a file server, would end the process at its first use, and
 * bytes that were checked could change. Copying a kernel's size costs less than a mapping's page faults. */
kiln__read kiln__entry_read(kiln__disk *disk, int folder, const char *name, struct stat *status, kiln__entry *out) {
    memset(out, 0, sizeof *out);
    int fd = kiln__folder_open_file(disk, folder, name, status);
    if (fd < 0) return KILN__NOT_READ;
    size_t size = status->st_size > 0 && status->st_size <= max_size ? (size_t)status->st_size : 0, done = 0;
    ssize_t got = 1;
    uint8_t *file = malloc(size + 1);
    while (file != NULL && done < size && got > 0) {
        got = pread(fd, file + done, size - done, (off_t)done);
        if (got > 0) done += (size_t)got;
        if (got < 0 && errno == EINTR) got = 1;
    }
    close(fd);
    bool read = file != NULL && got >= 0;
    if (read && kiln__entry_decode(file, done, out)) {
        out->file = file;
        return KILN__READ;
    }
    free(file);
    return read ? KILN__DAMAGED : KILN__NOT_READ;
}

void kiln__entry_free(kiln__entry *entry) {
    if (entry == NULL) return;
    free(entry->file);
    memset(entry, 0, sizeof *entry);
}
