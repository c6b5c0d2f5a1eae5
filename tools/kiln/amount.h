/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers on the command line, with units: 30, 256M, 12h. */
#ifndef KILN_TOOL_AMOUNT_H
#define KILN_TOOL_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, no sign and no space. Where they end; NULL where there are none or they do not fit. */
const char *amount_digits(const char *text, int64_t *out);
/* False for anything else, and for what does not fit 64 bits. */
bool amount_number(const char *text, int64_t *out);  /* "30" */
bool amount_bytes(const char *text, int64_t *out);   /* "30", and "64K", "256M", "1G", "2T" by powers of 1,024 */
bool amount_seconds(const char *text, int64_t *out); /* "90s", "30m", "12h", "7d", "4w" */

#endif
