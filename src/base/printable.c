/* SPDX-License-Identifier: Apache-2.0 */
/* What of a text a terminal may be given. Names, programs, descriptions and paths come from anywhere, and a terminal
 * takes escape sequences in them for orders. */
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { longest = 1023 };

/* Overlong forms, surrogates and what is beyond U+10FFFF are no characters, U+0080 to U+009F control characters: all
 * are told by their first two bytes. */
static bool begins_character(const unsigned char *byte) {
    switch (byte[0]) {
    case 0xc2:
    case 0xe0: return byte[1] >= 0xa0;
    case 0xed: return byte[1] < 0xa0;
    case 0xf0: return byte[1] >= 0x90;
    case 0xf4: return byte[1] < 0x90;
    default: return byte[0] > 0xc2 && byte[0] < 0xf4;
    }
}

size_t kiln__character_length(const char *text) {
    const unsigned char *byte = (const unsigned char *)text;
    if (byte[0] < 0x7f) return byte[0] >= 0x20;
    const size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (!begins_character(byte)) return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80) return 0;
    return length;
}

size_t kiln__printable(char *out, size_t capacity, const char *text, bool lines) {
    static const char digits[] = "0123456789abcdef";
    size_t size = 0;
    while (*text != '\0') {
        const unsigned char byte = (unsigned char)*text;
        size_t length = lines && (byte == '\n' || byte == '\t') ? 1 : kiln__character_length(text);
        const char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        const size_t written = length > 0 ? length : sizeof escaped;
        if (written >= capacity - size) break;
        memcpy(out + size, length > 0 ? text : escaped, written);
        size += written;
        text += length > 0 ? length : 1;
    }
    out[size] = '\0';
    return size;
}

char *kiln__printable_copy(const char *text, bool lines) {
    const size_t length = strlen(text);
    char *out = length < SIZE_MAX / 4 ? malloc(4 * length + 1) : NULL;
    if (out != NULL) kiln__printable(out, 4 * length + 1, text, lines);
    return out;
}

void kiln__printable_format(char *out, size_t capacity, bool lines, const char *format, va_list arguments) {
    /* Aside: the arguments may be what is in out. A byte more shows where a character ends. */
    char text[longest + 2] = "";
    kiln__format(text, sizeof text, format, arguments);
    size_t end = strlen(text);
    if (end > longest) {
        end--;
        while (end > longest - 3 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    }
    text[end] = '\0';
    kiln__printable(out, capacity, text, lines);
}
