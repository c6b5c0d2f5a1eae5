/* Encodes a key: a fixed head, then each text behind its length.
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

kiln_status kiln__key_make(const kiln__key_parts *parts, kiln__key *out) {
    struct {
        char magic[8];
        uint32_t format, arch, ptx, nvrtc_major, nvrtc_minor, option_count;
    } head = {"KILNKEY",
              KILN__KEY_FORMAT,
              (uint32_t)parts->arch,
              parts->ptx,
              (uint32_t)parts->nvrtc_major,
              (uint32_t)parts->nvrtc_minor,
              0};
    while (parts->options[head.option_count] != NULL) head.option_count++;
    kiln__text material = {0};
    kiln__text_add(&material, (const char *)&head, sizeof head);
    add_text(&material, parts->nvrtc_build);
    for (uint32_t i = 0; i < head.option_count; i++) add_text(&material, parts->options[i]);
    add_text(&material, parts->source);

    memset(out, 0, sizeof *out);
    size_t size = material.size;
    out->material = (uint8_t *)kiln__text_take(&material);
    if (out->material == NULL) return kiln__out_of_memory();
    out->size = size;
    kiln__checksum(out->material, size, out->digest);
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 2 * sizeof out->digest; i++)
        out->hex[i] = digits[i % 2 == 0 ? out->digest[i / 2] >> 4 : out->digest[i / 2] & 15];
    return KILN_OK;
}

void kiln__key_free(kiln__key *key) {
    if (key == NULL) return;
    free(key->material);
    memset(key, 0, sizeof *key);
}
