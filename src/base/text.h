/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string. A failed allocation is remembered, so that only the end has to be checked. */
#ifndef KILN_BASE_TEXT_H
#define KILN_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct kiln__text {
    char *data;
    size_t size, capacity;
    bool failed;
} kiln__text;

void kiln__text_add(kiln__text *text, const char *bytes, size_t size);
void kiln__text_puts(kiln__text *text, const char *string);
void kiln__text_printf(kiln__text *text, const char *format, ...) KILN_PRINTF(2, 3); /* in the C locale's numbers */
void kiln__text_vprintf(kiln__text *text, const char *format, va_list arguments) KILN_PRINTF(2, 0);
/* The NUL-ended string, now the caller's to free(); NULL if any addition failed. The text is empty again. */
char *kiln__text_take(kiln__text *text);
void kiln__text_free(kiln__text *text);

/* As vsnprintf, in the C locale's numbers whatever the process's: a decimal point is a point. */
int kiln__format(char *buffer, size_t size, const char *format, va_list arguments) KILN_PRINTF(3, 0);

#endif
