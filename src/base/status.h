/* SPDX-License-Identifier: Apache-2.0 */
/* The one way to fail: a status with a sentence, kept per thread. */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include "kiln/kiln.h"

#if defined(__GNUC__)
#define KILN_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define KILN_PRINTF(f, a)
#endif

/* Stores the sentence for the calling thread (cut at 1,023 bytes, control characters as \xNN) and returns status. */
kiln_status kiln__fail(kiln_status status, const char *format, ...) KILN_PRINTF(2, 3);

/* Where the failure just told is: a place in the program's text (line 0: none) and the bytes that are meant. */
void kiln__error_place(uint32_t line, uint32_t column, const char *text, size_t length);

/* kiln__fail with the name that is meant. */
kiln_status kiln__fail_name(kiln_status status, const char *name, size_t length, const char *format, ...)
    KILN_PRINTF(4, 5);

/* Empties the calling thread's sentence; each public entry calls it first. */
void kiln__clear_error(void);

/* KILN_E_MEMORY with its sentence. */
kiln_status kiln__out_of_memory(void);

/* KILN_E_ARGUMENT where a caller's struct_size is that of no version of the struct `name`: versions end between fields,
 * all of which are as large as size_t or pairs of halves, from the first version's size to today's. */
kiln_status kiln__check_struct_size(const char *name, size_t given, size_t first, size_t size);

#endif
