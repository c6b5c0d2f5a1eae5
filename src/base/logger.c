/* SPDX-License-Identifier: Apache-2.0 */
/* Formats what the log is told. */
#include "base/logger.h"

#include <stdarg.h>

#include "base/printable.h"

enum { capacity = 1024 };

void kiln__log(const kiln__logger *logger, kiln_log_level level, const char *format, ...) {
    if (!kiln__logs(logger, level)) return;
    char message[capacity];
    va_list arguments;
    va_start(arguments, format);
    kiln__printable_format(message, sizeof message, false, format, arguments);
    va_end(arguments);
    logger->tell(logger->user, level, message);
}

void kiln__log_lines(const kiln__logger *logger, kiln_log_level level, const char *text) {
    if (!kiln__logs(logger, level)) return;
    char message[capacity];
    kiln__printable(message, sizeof message, text, true);
    logger->tell(logger->user, level, message);
}
