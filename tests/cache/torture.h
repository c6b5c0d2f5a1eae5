/* SPDX-License-Identifier: Apache-2.0 */
/* The torture of the disk cache: what its two halves share, the workers and the chaos that is done to them. */
#ifndef KILN_TESTS_TORTURE_H
#define KILN_TESTS_TORTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/own_folder.h"

#define TORTURE_WORKERS 6
#define TORTURE_LIMIT (1400 * 1024) /* of the cache, in bytes: a part of what the kernels need */

typedef struct torture_worker {
    pid_t pid;
    bool stopped;
    double resume_ms;             /* when a stopped one goes on */
    _Atomic double request_began; /* 0 between requests */
} torture_worker;

/* In memory that all processes share. */
typedef struct torture_shared {
    atomic_bool finish, failed;
    char failure[512];
    atomic_long requests, compiled, from_disk, from_memory, would_compile, loads;
    _Atomic double longest_ms;
    torture_worker workers[TORTURE_WORKERS];
} torture_shared;

typedef struct torture {
    torture_shared *shared;
    own_folder folder;
    char cache[128], filler[128];
    bool tmpfs; /* the folder is a small one, which can be filled */
    uint64_t random;
    long kills, stops, files, folders, fills, plants;
    int held_lock;
    double held_until, filled_until, shut_until;
    char shut[256]; /* a folder whose mode was changed */
} torture;

double torture_now_ms(void);
/* The next number below limit. */
uint32_t torture_draw(uint64_t *random, uint32_t limit);

/* Does one thing to the workers or to the cache, and undoes what has lasted long enough. */
void torture_chaos(torture *t);
/* Undoes what lasts, so that the cache can be judged. */
void torture_calm(torture *t);

#endif
