/* Encodes and decodes entries. Sizes in a file are data of a stranger until each is known to fit. */
#include "cache/entry.h"

#include <stdlib.h>
#include <string.h>

#include "cache/bytes.h"
#include "cache/checksum.h"

static const char magic[8] = {'K', 'I', 'L', 'N', 'E', 'N', 'T', '1'};

enum { part_material, part_name, part_description, part_schedule, part_log, part_image, part_count };
enum { fixed_size = sizeof magic + 6 * 4 + 5 * 8 + part_count * 8, image_alignment = 16 };

/* Where each part lies in the file. */
typedef struct parts {
    uint64_t sizes[part_count];
    size_t offsets[part_count];
    size_t total; /* the whole file, checksum included */
} parts;

/* Fills offsets and total from sizes; false on overflow. */
static bool place(parts *file)
{
    size_t at = fixed_size;
    for (int i = 0; i < part_count; i++) {
        size_t padding = i == part_image ? (image_alignment - at % image_alignment) % image_alignment : 0;
        if (__builtin_add_overflow(at, padding, &at))
            return false;
        file->offsets[i] = at;
        if (file->sizes[i] > SIZE_MAX || __builtin_add_overflow(at, (size_t)file->sizes[i], &at))
            return false;
    }
    return !__builtin_add_overflow(at, KILN__CHECKSUM_SIZE, &file->total);
}

uint8_t *kiln__entry_encode(const kiln__key *key, const kiln__entry *entry, size_t *size)
{
    const void *const sources[part_count] = {key->material, entry->name, entry->description, entry->schedule,
                                             entry->log, entry->image};
    parts file = {.sizes = {key->size, strlen(entry->name) + 1, strlen(entry->description) + 1,
                            strlen(entry->schedule) + 1, strlen(entry->log) + 1, entry->image_size}};
    uint8_t *bytes = entry->image_size > 0 && place(&file) ? calloc(1, file.total) : NULL;
    if (bytes == NULL)
        return NULL;
    uint8_t *at = kiln__put_bytes(bytes, magic, sizeof magic);
    at = kiln__put_u32(at, KILN__ENTRY_FORMAT);
    at = kiln__put_u32(at, (uint32_t)entry->arch);
    at = kiln__put_u32(at, entry->is_ptx ? 1 : 0);
    at = kiln__put_u32(at, (uint32_t)entry->registers);
    at = kiln__put_u32(at, (uint32_t)entry->spill_bytes);
    at = kiln__put_u32(at, 0);
    at = kiln__put_u64(at, (uint64_t)entry->shared_bytes);
    at = kiln__put_f64(at, entry->create_ms);
    at = kiln__put_f64(at, entry->compile_ms);
    at = kiln__put_f64(at, entry->fetch_ms);
    at = kiln__put_u64(at, (uint64_t)entry->created_unix);
    for (int i = 0; i < part_count; i++)
        at = kiln__put_u64(at, file.sizes[i]);
    for (int i = 0; i < part_count; i++)
        kiln__put_bytes(bytes + file.offsets[i], sources[i], (size_t)file.sizes[i]);
    kiln__checksum(bytes, file.total - KILN__CHECKSUM_SIZE, bytes + file.total - KILN__CHECKSUM_SIZE);
    *size = file.total;
    return bytes;
}

/* A part that is one text: its only NUL is its last byte. */
static const char *text_at(const uint8_t *bytes, const parts *file, int part)
{
    const uint8_t *text = bytes + file->offsets[part];
    size_t size = (size_t)file->sizes[part];
    if (size == 0 || memchr(text, '\0', size) != text + size - 1)
        return NULL;
    return (const char *)text;
}

static bool decode_parts(const uint8_t *bytes, size_t size, parts *file)
{
    const uint8_t *at = bytes + fixed_size - part_count * 8;
    for (int i = 0; i < part_count; i++, at += 8)
        file->sizes[i] = kiln__get_u64(at);
    return place(file) && file->total == size;
}

bool kiln__entry_decode(const uint8_t *bytes, size_t size, kiln__entry *entry, const uint8_t **material,
                        size_t *material_size)
{
    parts file;
    if (size < fixed_size + KILN__CHECKSUM_SIZE || memcmp(bytes, magic, sizeof magic) != 0 ||
        kiln__get_u32(bytes + 8) != KILN__ENTRY_FORMAT || !decode_parts(bytes, size, &file) ||
        !kiln__checksum_holds(bytes, size))
        return false;
    *entry = (kiln__entry){
        .image = bytes + file.offsets[part_image],
        .image_size = (size_t)file.sizes[part_image],
        .arch = (int)kiln__get_u32(bytes + 12),
        .is_ptx = kiln__get_u32(bytes + 16) != 0,
        .registers = (int)kiln__get_u32(bytes + 20),
        .spill_bytes = (int)kiln__get_u32(bytes + 24),
        .shared_bytes = (int64_t)kiln__get_u64(bytes + 32),
        .create_ms = kiln__get_f64(bytes + 40),
        .compile_ms = kiln__get_f64(bytes + 48),
        .fetch_ms = kiln__get_f64(bytes + 56),
        .created_unix = (int64_t)kiln__get_u64(bytes + 64),
        .name = text_at(bytes, &file, part_name),
        .description = text_at(bytes, &file, part_description),
        .schedule = text_at(bytes, &file, part_schedule),
        .log = text_at(bytes, &file, part_log),
    };
    *material = bytes + file.offsets[part_material];
    *material_size = (size_t)file.sizes[part_material];
    if (entry->image_size == 0 || (entry->is_ptx && bytes[file.offsets[part_image] + entry->image_size - 1] != 0))
        return false;
    return entry->name != NULL && entry->description != NULL &&
           entry->schedule != NULL && entry->log != NULL;
}
