/* Encodes a key: a name and a format, numbers of fixed width, then each text behind its length.
 * Lengths before texts make the encoding unambiguous: no two different sets of parts share one. */
#include "cache/key.h"

#include <stdlib.h>
#include <string.h>

#include "cache/bytes.h"
#include "cache/checksum.h"

static const char magic[8] = {'K', 'I', 'L', 'N', 'K', 'E', 'Y', '\0'};

enum { fixed_size = sizeof magic + 6 * 4 };

static bool add_text(size_t *size, const char *text)
{
    size_t length = strlen(text);
    return !__builtin_add_overflow(*size, 8, size) && !__builtin_add_overflow(*size, length, size);
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
    size_t length = strlen(text);
    return kiln__put_bytes(kiln__put_u64(at, length), text, length);
}

static void write_hex(kiln__key *key)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof key->digest; i++) {
        key->hex[2 * i] = digits[key->digest[i] >> 4];
        key->hex[2 * i + 1] = digits[key->digest[i] & 15];
    }
    key->hex[2 * sizeof key->digest] = '\0';
}

kiln_status kiln__key_make(const kiln__key_parts *parts, kiln__key *out)
{
    memset(out, 0, sizeof *out);
    size_t size = fixed_size;
    uint32_t option_count = 0;
    bool fits = add_text(&size, parts->source) && add_text(&size, parts->nvrtc_build);
    for (; fits && parts->options[option_count] != NULL; option_count++)
        fits = add_text(&size, parts->options[option_count]);
    out->material = fits ? malloc(size) : NULL;
    if (out->material == NULL)
        return kiln__out_of_memory();
    out->size = size;

    uint8_t *at = kiln__put_bytes(out->material, magic, sizeof magic);
    at = kiln__put_u32(at, KILN__KEY_FORMAT);
    at = kiln__put_u32(at, (uint32_t)parts->arch);
    at = kiln__put_u32(at, parts->ptx ? 1 : 0);
    at = kiln__put_u32(at, (uint32_t)parts->nvrtc_major);
    at = kiln__put_u32(at, (uint32_t)parts->nvrtc_minor);
    at = kiln__put_u32(at, option_count);
    at = put_text(at, parts->nvrtc_build);
    for (uint32_t i = 0; i < option_count; i++)
        at = put_text(at, parts->options[i]);
    put_text(at, parts->source);

    kiln__checksum(out->material, size, out->digest);
    write_hex(out);
    return KILN_OK;
}

void kiln__key_free(kiln__key *key)
{
    if (key == NULL)
        return;
    free(key->material);
    memset(key, 0, sizeof *key);
}
