/* SPDX-License-Identifier: Apache-2.0 */
/* Where the events of a context go. What is above the level costs a comparison: nothing is formatted. */
#ifndef KILN_BASE_LOGGER_H
#define KILN_BASE_LOGGER_H

#include <stdbool.h>

#include "base/status.h"

typedef struct kiln__logger {
    kiln_log_callback tell; /* NULL: nowhere */
    void *user;
    kiln_log_level level; /* the last that is told */
} kiln__logger;

/* Whether events of the level are told: asked first where a sentence takes more than its formatting. */
static inline bool kiln__logs(const kiln__logger *logger, kiln_log_level level) {
    return logger->tell && level <= logger->level;
}

/* One line, printable, cut at 1,023 bytes. Not with a lock held: the callback takes as long as it likes. */
void kiln__log(const kiln__logger *logger, kiln_log_level level, const char *format, ...) KILN_PRINTF(3, 4);

/* A compiler's log: its lines stay. */
void kiln__log_lines(const kiln__logger *logger, kiln_log_level level, const char *text);

#endif
