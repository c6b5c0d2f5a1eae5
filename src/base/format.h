/* printf whose numbers never follow the process's locale: a decimal point is a point. */
#ifndef KILN_BASE_FORMAT_H
#define KILN_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/status.h"

/* As vsnprintf, in the C locale's numbers. */
int kiln__format(char *buffer, size_t size, const char *format, va_list arguments) KILN_PRINTF(3, 0);

#endif
