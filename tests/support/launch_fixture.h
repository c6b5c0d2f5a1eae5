/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of launches share: a folder for the cache, stand-ins for the driver and NVRTC, what the log was told.
 */
#ifndef KILN_TESTS_LAUNCH_FIXTURE_H
#define KILN_TESTS_LAUNCH_FIXTURE_H

#include "bound.h"
#include "fake_driver.h"

typedef struct launch_fixture {
    char dir[64];      /* the test's own, removed at its end */
    char nvrtc[128];   /* a copy of the stand-in, which no other test has opened; it compiles for sm_90 */
    fake_driver *fake; /* counters at 0, no failures; its context is current on the thread */
    const kiln__driver *driver;
    kiln_log_detail detail; /* of the log of contexts that are created from now on */
    int messages;
    char message[1024]; /* the log's last */
} launch_fixture;

int set_up_launch(void **state);
int tear_down_launch(void **state);
#define WITH_LAUNCHES(test) cmocka_unit_test_setup_teardown(test, set_up_launch, tear_down_launch)

/* A context on the stand-ins whose cache is the test's folder ("" for none). */
kiln_context *launch_context(launch_fixture *f, const char *cache_dir, kiln_policy policy);
/* One that compiles, without a cache, and records what it compiles in a file, whose name *path becomes. */
kiln_context *launch_context_recording(launch_fixture *f, char path[128]);
/* The same with another NVRTC. */
kiln_context *launch_context_nvrtc(launch_fixture *f, const char *cache_dir, kiln_policy policy, const char *nvrtc);
kiln_program *launch_program(kiln_context *context, const char *text);

/* Compiles by the fixture's NVRTC so far; -1 where it was never opened. */
int launch_compiles(const launch_fixture *f);
void launch_copy(const char *from, const char *to);
/* The driver's function of that symbol fails so many times (0: from now on). */
void launch_fail(launch_fixture *f, const char *symbol, int result, int times);
/* Sets the current context of the calling thread. */
void launch_use_device(const launch_fixture *f, int device);

/* kiln_run of tensors written as for bound_tensors, without scalars; those without an address get one. */
kiln_status launch_run(const kiln_program *program, const char *tensors);
/* Whether the library's schedule for them is one of clusters. */
bool launch_in_clusters(const kiln_program *program, const char *tensors);
/* Fails the test unless the last call came to this status and sentence. */
void launch_expect(kiln_status status, kiln_status expected, const char *sentence);

#endif
