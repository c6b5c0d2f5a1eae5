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
    uint32_t format, arch, is_ptx;
    int32_t registers, spill_bytes;
    uint32_t zero;
    int64_t shared_bytes;
    double create_ms, compile_ms, fetch_ms;
    int64_t created_unix;
    uint64_t sizes[part_count];
} entry_head;

static const char magic[8] = {'K', 'I', 'L', 'N', 'E', 'N', 'T', '1'};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys and entries are written as they lie in memory");

static const char zeros[image_alignment] = {0};

static size_t padding_before(int part, size_t at) { return part == part_image ? (0 - at) % image_alignment : 0; }

uint8_t *kiln__entry_encode(const kiln__key *key, const kiln__entry *entry, size_t *size) {
    const void *const parts[] = {key->material,   entry->name, entry->description,
                                 entry->schedule, entry->log,  entry->image};
    entry_head head = {
        .format = KILN__ENTRY_FORMAT,
        .arch = (uint32_t)entry->arch,
        .is_ptx = entry->is_ptx,
        .registers = entry->registers,
        .spill_bytes = entry->spill_bytes,
        .shared_bytes = entry->shared_bytes,
        .create_ms = entry->create_ms,
        .compile_ms = entry->compile_ms,
        .fetch_ms = entry->fetch_ms,
        .created_unix = entry->created_unix,
        .sizes = {key->size, strlen(entry->name) + 1, strlen(entry->description) + 1, strlen(entry->schedule) + 1,
                  strlen(entry->log) + 1, entry->image_size},
    };
    if (entry->image_size == 0) return NULL;
    memcpy(head.magic, magic, sizeof magic);
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

bool kiln__entry_decode(const uint8_t *bytes, size_t size, kiln__entry *entry, const uint8_t **material,
                        size_t *material_size) {
    entry_head head;
    size_t offsets[part_count];
    if (size < sizeof head + KILN__CHECKSUM_SIZE) return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.format != KILN__ENTRY_FORMAT || head.is_ptx > 1 ||
        head.zero != 0 || !place(&head, size, offsets) || !kiln__checksum_holds(bytes, size))
        return false;
    for (int i = part_name; i < part_image; i++)
        if (!is_text(bytes + offsets[i], head.sizes[i])) return false;
    const uint8_t *image = bytes + offsets[part_image], *log_end = bytes + offsets[part_log] + head.sizes[part_log];
    if (memcmp(log_end, zeros, (size_t)(image - log_end)) != 0) return false;
    if (head.sizes[part_image] == 0 || (head.is_ptx && image[head.sizes[part_image] - 1] != '\0')) return false;
    *entry = (kiln__entry){
        .image = image,
        .image_size = (size_t)head.sizes[part_image],
        .is_ptx = head.is_ptx != 0,
        .arch = (int)head.arch,
        .registers = head.registers,
        .spill_bytes = head.spill_bytes,
        .shared_bytes = head.shared_bytes,
        .create_ms = head.create_ms,
        .compile_ms = head.compile_ms,
        .fetch_ms = head.fetch_ms,
        .created_unix = head.created_unix,
        .name = (const char *)bytes + offsets[part_name],
        .description = (const char *)bytes + offsets[part_description],
        .schedule = (const char *)bytes + offsets[part_schedule],
        .log = (const char *)bytes + offsets[part_log],
    };
    *material = bytes + offsets[part_material];
    *material_size = (size_t)head.sizes[part_material];
    return true;
}

/* Not mapped: a file cut short by others, or removed on a file server, would end the process at its first use, and
 * bytes that were checked could change. Copying a kernel's size costs less than a mapping's page faults. */
kiln__read kiln__entry_read(int fd, const struct stat *status, kiln__found *out) {
    memset(out, 0, sizeof *out);
    if (status->st_size <= 0 || status->st_size > max_size) return KILN__DAMAGED;
    size_t size = (size_t)status->st_size, done = 0;
    ssize_t got = 1;
    out->file = malloc(size);
    if (out->file == NULL) return KILN__NOT_READ;
    while (done < size && got > 0) {
        got = pread(fd, out->file + done, size - done, (off_t)done);
        if (got > 0) done += (size_t)got;
        if (got < 0 && errno == EINTR) got = 1;
    }
    if (got >= 0 && kiln__entry_decode(out->file, done, &out->entry, &out->material, &out->material_size))
        return KILN__READ;
    kiln__found_free(out);
    return got < 0 ? KILN__NOT_READ : KILN__DAMAGED;
}

void kiln__found_free(kiln__found *found) {
    if (found == NULL) return;
    free(found->file);
    memset(found, 0, sizeof *found);
}
