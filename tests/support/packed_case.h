/* SPDX-License-Identifier: Apache-2.0 */
/* A program over bound tensors on the software GPU, against the CPU reference: what tests of layouts have tables of. */
#ifndef KILN_TESTS_PACKED_CASE_H
#define KILN_TESTS_PACKED_CASE_H

#include "software_fixture.h"

typedef struct packed_case {
    const char *program, *axes, *tensors; /* "@2": at an address that is a multiple of 2 bytes and not of 4 */
    const char *schedule;                 /* part of the description that is expected */
    const char *pins;                     /* or NULL */
    bool in_place;                        /* the output is the first input */
} packed_case;

/* Between open and close, as fixtures of a group of tests; NULL and 0: no state. */
extern software_device packed_device;
int open_packed_device(void **state);
int close_packed_device(void **state);

/* What main begins with: the name of a test, from the command line. True where the software GPU was not built, which it
 * says. */
bool packed_tests_are_skipped(int argc, char **argv);

typedef struct packed_result {
    char schedule[160]; /* its description */
    int64_t most_cols;  /* of the range that its kernel serves, or 0 */
    void *output;       /* of the caller's, or NULL: takes the first so many bytes that the GPU has written */
    size_t bytes;
} packed_result;

/* Fails the test where bytes differ from the reference's, gaps and guards included, but that floats may differ in their
 * last bits. `result` may be NULL. */
void run_packed_case(const packed_case *c, packed_result *result);
void run_packed_case_by(kiln_policy policy, const packed_case *c, packed_result *result); /* of the context */

/* Runs both, and fails the test where the first `bytes` of their outputs differ. of: has their schedules. */
void expect_same_bits(const packed_case *a, const packed_case *b, size_t bytes, packed_result of[2]);

/* Element i of any input. */
double packed_value(kiln_type type, size_t i);

/* Numbers of 24 bits for a case that is drawn; *random: the state. */
void packed_draw(uint32_t *random, size_t count, int draw[]);

#endif
