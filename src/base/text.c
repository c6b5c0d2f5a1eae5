/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string. A failed allocation is remembered, so that only the end has to be checked.
 * data, once there, always ends in NUL. */
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and the NUL behind them. */
static bool reserve(kiln__text *text, size_t more) {
    if (text->failed) return false;
    if (more < text->capacity - text->size) return true;
    size_t needed = more < SIZE_MAX / 2 - text->size ? text->size + more + 1 : 0;
    size_t capacity = text->capacity < 64 ? 64 : text->capacity * 2;
    if (capacity < needed) capacity = needed;
    char *data = needed > 0 ? realloc(text->data, capacity) : NULL;
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void kiln__text_add(kiln__text *text, const char *bytes, size_t size) {
    if (!reserve(text, size)) return;
    if (size > 0) memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void kiln__text_puts(kiln__text *text, const char *string) { kiln__text_add(text, string, strlen(string)); }

/* Only strings and whole numbers: nearly all that is written, and printf takes several times as long over it. */
static bool is_plain(const char *format) {
    while ((format = strchr(format, '%')) != NULL) {
        format += format[1] == 'l' && (format[2] == 'd' || format[2] == 'u') ? 2 : 1;
        if (*format != 's' && *format != 'd' && *format != 'u' && *format != '%') return false;
        format++;
    }
    return true;
}

static void add_number(kiln__text *text, bool negative, unsigned long magnitude) {
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (negative) digits[--at] = '-';
    kiln__text_add(text, digits + at, sizeof digits - at);
}

static void add_plain(kiln__text *text, const char *format, va_list arguments) {
    for (const char *next; (next = strchr(format, '%')) != NULL; format = next + 1) {
        kiln__text_add(text, format, (size_t)(next - format));
        bool wide = *++next == 'l';
        if (wide) next++;
        if (*next == 'd') {
            long value = wide ? va_arg(arguments, long) : va_arg(arguments, int);
            add_number(text, value < 0, value < 0 ? 0 - (unsigned long)value : (unsigned long)value);
        } else if (*next == 'u')
            add_number(text, false, wide ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned));
        else
            kiln__text_puts(text, *next == 's' ? va_arg(arguments, const char *) : "%");
    }
    kiln__text_puts(text, format);
}

void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments) {
    if (is_plain(format)) {
        add_plain(text, format, arguments);
        return;
    }
    va_list again;
    va_copy(again, arguments);
    int length = kiln__format(NULL, 0, format, arguments);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        kiln__format(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

void kiln__text_printf(kiln__text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(text, format, arguments);
    va_end(arguments);
}

char *kiln__text_take(kiln__text *text) {
    kiln__text_add(text, "", 0);
    if (text->failed) kiln__text_free(text);
    char *data = text->data;
    *text = (kiln__text){NULL, 0, 0, false};
    return data;
}

void kiln__text_free(kiln__text *text) {
    free(text->data);
    *text = (kiln__text){NULL, 0, 0, false};
}

/* Only the calling thread's locale is switched, for the length of one call. */
int kiln__format(char *buffer, size_t size, const char *format, va_list arguments) {
    /* The C locale is a constant object of the C library: newlocale allocates nothing for it. */
    locale_t numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (numbers == (locale_t)0) return vsnprintf(buffer, size, format, arguments);
    locale_t before = uselocale(numbers);
    int length = vsnprintf(buffer, size, format, arguments);
    uselocale(before);
    freelocale(numbers);
    return length;
}
