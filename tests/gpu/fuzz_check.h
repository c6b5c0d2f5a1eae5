/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one random case on the current device and compares every byte that it may and may not have written. */
#ifndef KILN_TESTS_FUZZ_CHECK_H
#define KILN_TESTS_FUZZ_CHECK_H

#include "support/fuzz_draw.h"
#include "gpu/driver.h"

typedef struct fuzz_runner {
    const kiln__driver *driver;
    kiln_context *contexts[FUZZ_SCHEDULE_COUNT]; /* by pinned schedule; made when first needed */
    const char *cache_dir;                       /* of the contexts */
    void (*reorder)(uint64_t seed);              /* of a software GPU, which checks every access; else NULL */
    kiln_policy policy; /* 0: exact kernels; else those of the policy, where programs have any */
} fuzz_runner;

typedef enum fuzz_verdict { FUZZ_PASSED, FUZZ_REFUSED, FUZZ_FAILED } fuzz_verdict;

typedef struct fuzz_outcome {
    fuzz_verdict verdict;
    bool broken; /* the CUDA context cannot be used any more */
    char schedule[160];
    char why[512]; /* of a failure, or the sentence of the refusal */
} fuzz_outcome;

void fuzz_case_run(fuzz_runner *runner, const fuzz_case *c, fuzz_outcome *outcome);

/* The context for a pinned schedule; NULL with kiln_last_error() saying why. */
kiln_context *fuzz_runner_context(fuzz_runner *runner, int schedule);
void fuzz_runner_finish(fuzz_runner *runner);

#endif
