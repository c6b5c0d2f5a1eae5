/* Reads NVRTC's log: what ptxas tells of the kernel, the messages that are left, the first error. */
#ifndef KILN_JIT_LOG_H
#define KILN_JIT_LOG_H

#include <stddef.h>
#include <stdint.h>

/* -1 where the log does not tell. Where it tells of several functions, the largest. */
typedef struct kiln__log_facts {
    int registers, spill_bytes;
    int64_t shared_bytes;
} kiln__log_facts;

/* Takes ptxas's information lines out of log, in place, and reads them. Warnings and errors stay. */
void kiln__log_take_facts(char *log, kiln__log_facts *facts);

/* The first line that tells an error, else the first that is not empty, else "no message"; cut to fit. */
void kiln__log_first_error(const char *log, char *line, size_t capacity);

#endif
