/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call and each allocation of a scenario fails in turn. The linker puts the functions of faults.c in the
 * place of the C library's, for the objects of Kiln and of the test; tests/checks/fault_calls.txt lists them. */
#ifndef KILN_TESTS_FAULTS_H
#define KILN_TESTS_FAULTS_H

#include <stdbool.h>

#include <kiln/kiln.h>

/* What a scenario is, run in processes of their own which have opened nothing yet. */
typedef struct fault_scenario {
    const char *name;
    /* Does all of it and frees what it took; calls fault_blame where a result is wrong. Its status needs a sentence. */
    kiln_status (*run)(void *user);
    /* Before each failure, where what is on disk is to be as at first; may be NULL. */
    void (*reset)(void *user);
    /* After the run with the failure: whether all is left as it should be on disk; may be NULL. call: which failed. */
    void (*inspect)(void *user, const char *call);
    void *user;
    int least; /* calls that are failed at least */
} fault_scenario;

/* Fails the test unless, with the nth call failing once, another way, or from there on with all later calls of its
 * name, n = 1, 2, ..., the scenario ends with KILN_OK or a sentence, leaves no memory, descriptors or processes behind,
 * and succeeds the next time. Of calls from one place in the code the first few are failed. */
void fail_each_call(const fault_scenario *scenario);

/* From now on the kernel refuses to wipe memory at a fork, as old ones do; or no longer. */
void fault_refuse_wiping(bool refused);

/* Says, in a scenario, what is wrong; the first word counts. */
void fault_blame(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
