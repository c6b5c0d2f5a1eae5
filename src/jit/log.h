/* SPDX-License-Identifier: Apache-2.0 */
/* Reads NVRTC's log: what ptxas tells of the kernel, the messages that are left, the first error. */
#ifndef KILN_JIT_LOG_H
#define KILN_JIT_LOG_H

#include <stddef.h>

#include "base/facts.h"

/* Takes ptxas's information lines out of log, in place: registers, spills and shared memory of *facts become what they
 * tell where that is more. Warnings and errors stay. */
void kiln__log_take_facts(char *log, kiln__facts *facts);

/* The first line that tells an error, else the first that is not empty; cut to fit. Beside its information ptxas tells
 * no error: what of the facts is too much for a kernel is one, else there is "no message". */
void kiln__log_first_error(const char *log, const kiln__facts *facts, char *line, size_t capacity);

#endif
