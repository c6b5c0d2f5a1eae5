/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes that ask one cache for kernels, with the stand-in for NVRTC, which counts its compiles in a file. */
#ifndef KILN_TESTS_CROWD_H
#define KILN_TESTS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kiln/kiln.h"
#include "own_folder.h"

/* A clock for each processor, kept by a process that wakes there every few milliseconds: it stands still while the
 * machine does. A virtual machine's processors are taken away for hundreds of milliseconds at times. */
enum { CROWD_MAX_CLOCKS = 64 };
typedef struct crowd_clocks {
    int count;
    pid_t keeper[CROWD_MAX_CLOCKS];
    _Atomic double ms[CROWD_MAX_CLOCKS];
} crowd_clocks;

typedef struct crowd {
    own_folder folder;
    char cache[128], count[128]; /* in the folder: the cache, and the file of compiles */
    int gate[2], results[2];     /* pipes: closed to start, and what each process found */
    crowd_clocks *clocks;        /* shared by all processes */
} crowd;

/* What a process found. */
typedef struct crowd_result {
    int right, wrong;
    kiln_status status; /* the first failure */
    double longest_ms;  /* of one request, by the clock that went least */
} crowd_result;

int crowd_set_up(void **state);
int crowd_tear_down(void **state);

/* A process that, once the gate opens, asks for kernels first to first + count - 1, a compile taking so long. */
pid_t crowd_start(crowd *c, int first, int count, int compile_ms);
void crowd_open_gate(crowd *c);
/* Waits for that many processes; right and wrong are summed up, the longest request is the longest of all. */
crowd_result crowd_wait(crowd *c, int processes);

/* Asks for kernel number i: KILN_OK where it is the right one. */
kiln_status crowd_request(kiln_context *context, int i, kiln_plan_info *info);
kiln_context *crowd_context(const char *cache, kiln_policy policy, kiln_log_callback log, void *user);

/* Compiles that were counted, and of how many kernels. */
int crowd_compiles(const crowd *c, int *kernels);
/* Files in the cache whose names contain text. */
int crowd_files(const crowd *c, const char *text);
/* Waits until a lock is there and held. */
void crowd_wait_for_lock(const crowd *c);

#endif
