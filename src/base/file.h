/* SPDX-License-Identifier: Apache-2.0 */
/* Writing without signals: what a library writes must not end the process that it is part of. SIGPIPE and SIGXFSZ are
 * held back in the thread that writes, and taken. Other threads, and what the process does about them, stay as they
 * are. */
#ifndef KILN_BASE_FILE_H
#define KILN_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* One write, as write(2) does it: EPIPE or EFBIG instead of their signals. */
ssize_t kiln__file_write(int fd, const void *bytes, size_t size);

/* Writes all; false with errno. */
bool kiln__file_write_all(int fd, const void *bytes, size_t size);

/* Prints "kiln: ", the message and the end of the line. */
void kiln__file_print(FILE *to, const char *message);

#endif
