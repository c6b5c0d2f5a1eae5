/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others on a terminal: characters are shown, and nothing in it is obeyed. */
#ifndef KILN_BASE_PRINTABLE_H
#define KILN_BASE_PRINTABLE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The bytes of the UTF-8 character at text; 0 if it is none, or a control character. */
size_t kiln__character_length(const char *text);

/* Writes text with each byte that is no character, or part of a control character, as \xNN; with `lines` the ends of
 * lines and tabs stay. Cut between characters where capacity, at least 1, does not hold all. Gives the length. */
size_t kiln__printable(char *out, size_t capacity, const char *text, bool lines);

/* The same in new memory, which the caller frees; NULL without memory. */
char *kiln__printable_copy(const char *text, bool lines);

/* Formats in the C locale's numbers, and writes that as kiln__printable does. Needs no memory; at most 1,023 bytes. */
void kiln__printable_format(char *out, size_t capacity, bool lines, const char *format, va_list arguments)
    KILN_PRINTF(4, 0);

#endif
