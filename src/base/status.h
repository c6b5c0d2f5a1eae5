/* The one way to fail: a status with a sentence, kept per thread. */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include "kiln/kiln.h"

#if defined(__GNUC__)
#define KILN_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define KILN_PRINTF(f, a)
#endif

/* Stores the sentence for the calling thread (cut at 1,023 bytes) and returns status. */
kiln_status kiln__fail(kiln_status status, const char *format, ...) KILN_PRINTF(2, 3);

/* Empties the calling thread's sentence; each public entry calls it first. */
void kiln__clear_error(void);

/* KILN_E_MEMORY with its sentence. */
kiln_status kiln__out_of_memory(void);

#endif
