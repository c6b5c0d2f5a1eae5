/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and reads a key: a fixed head, then each text behind its length.
 * Lengths before texts make the encoding unambiguous: no two different sets of parts share one. */
#include "cache/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/checksum.h"

static void add_text(kiln__text *material, const char *text) {
    uint64_t length = strlen(text);
    kiln__text_add(material, (const char *)&length, sizeof length);
    kiln__text_add(material, text, length);
}

#define MAGIC "KILNKEY" /* and the NUL behind it */
#define RECORD_MAGIC "KILNTUN"

typedef struct key_head {
    char magic[8];
    uint32_t format, arch, ptx, nvrtc_major, nvrtc_minor, option_count;
} key_head;

/* Takes the material, and names the key by its digest. */
static kiln_status finish(kiln__text *material, kiln__key *out) {
    static const char digits[] = "0123456789abcdef";
    const size_t size = material->size;
    memset(out, 0, sizeof *out);
    out->material = (uint8_t *)kiln__text_take(material);
    if (out->material == NULL) return kiln__out_of_memory();
    out->size = size;
    kiln__checksum(out->material, size, out->digest);
    for (size_t i = 0; i < 2 * sizeof out->digest; i++)
        out->hex[i] = digits[i % 2 == 0 ? out->digest[i / 2] >> 4 : out->digest[i / 2] & 15];
    return KILN_OK;
}

kiln_status kiln__key_make(const kiln__key_parts *parts, kiln__key *out) {
    const uint32_t major = (uint32_t)parts->nvrtc_major, minor = (uint32_t)parts->nvrtc_minor;
    key_head head = {MAGIC, KILN__KEY_FORMAT, (uint32_t)parts->arch, parts->ptx, major, minor, 0};
    while (parts->options[head.option_count] != NULL) head.option_count++;
    kiln__text material = {0};
    kiln__text_add(&material, (const char *)&head, sizeof head);
    add_text(&material, parts->nvrtc_build);
    for (uint32_t i = 0; i < head.option_count; i++) add_text(&material, parts->options[i]);
    add_text(&material, parts->source);

    return finish(&material, out);
}

kiln_status kiln__key_of_record(const void *bytes, size_t size, kiln__key *out) {
    kiln__text material = {0};
    kiln__text_add(&material, RECORD_MAGIC, sizeof RECORD_MAGIC);
    kiln__text_add(&material, bytes, size);
    return finish(&material, out);
}

kiln_status kiln__key_of_material(const uint8_t *material, size_t size, kiln__key *out) {
    kiln__text copy = {0};
    kiln__text_add(&copy, (const char *)material, size);
    return finish(&copy, out);
}

bool kiln__key_is_record(const uint8_t *material, size_t size) {
    return size >= sizeof RECORD_MAGIC && memcmp(material, RECORD_MAGIC, sizeof RECORD_MAGIC) == 0;
}

/* The text at *at, behind its length; NULL if it does not end before end. */
static const char *take_text(const uint8_t **at, const uint8_t *end, size_t *size) {
    uint64_t length;
    if ((size_t)(end - *at) < sizeof length) return NULL;
    memcpy(&length, *at, sizeof length);
    const uint8_t *text = *at + sizeof length;
    if (length > (size_t)(end - text)) return NULL;
    *size = (size_t)length;
    *at = text + length;
    return (const char *)text;
}

bool kiln__key_decode(const uint8_t *material, size_t size, kiln__key_view *out) {
    key_head head;
    const uint8_t *at = material + sizeof head, *end = material + size;
    size_t option_size;
    if (size < sizeof head) return false;
    memcpy(&head, material, sizeof head);
    if (memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || head.format != KILN__KEY_FORMAT || head.ptx > 1) return false;
    *out = (kiln__key_view){.arch = (int)head.arch,
                            .ptx = head.ptx != 0,
                            .nvrtc_major = (int)head.nvrtc_major,
                            .nvrtc_minor = (int)head.nvrtc_minor,
                            .option_count = head.option_count};
    out->build = take_text(&at, end, &out->build_size);
    if (out->build == NULL) return false;
    out->options = at;
    for (uint32_t i = 0; i < head.option_count; i++)
        if (take_text(&at, end, &option_size) == NULL) return false;
    out->options_size = (size_t)(at - out->options);
    out->source = take_text(&at, end, &out->source_size);
    return out->source != NULL && at == end;
}

const char *kiln__key_next_option(const kiln__key_view *view, const uint8_t **at, size_t *size) {
    return take_text(at, view->options + view->options_size, size);
}

void kiln__key_free(kiln__key *key) {
    if (key == NULL) return;
    free(key->material);
    memset(key, 0, sizeof *key);
}
