/* SPDX-License-Identifier: Apache-2.0 */
/* The knobs and counters of the stand-in for the CUDA driver, tests/support/fake_driver.c.
 * A test opens the library's file itself and asks it for fake_driver_state(). */
#ifndef KILN_TESTS_FAKE_DRIVER_H
#define KILN_TESTS_FAKE_DRIVER_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

typedef struct fake_driver {
    /* What it is. cuInit reads FAKE_DRIVER_ARCH, FAKE_DRIVER_INIT (its result) and FAKE_DRIVER_INIT_MS (how long it
     * takes) from the environment, cuEventElapsedTime FAKE_DRIVER_FAST_BLOCK: launches with so many threads in a block
     * take half a millisecond, others a whole one. */
    int arch, sm_count, device_count, version;
    int clusters; /* that run at once; 0: the device has no room for one */
    int shared_per_block, shared_per_sm, static_shared;
    /* The function of this symbol returns fail_result instead of working; "" for none. */
    char fail_symbol[48];
    int fail_result;
    int fail_times;        /* how often; 0: always */
    atomic_int hold;       /* 1: the next launch makes it 2 and waits until it is 0 */
    int keep_unloaded;     /* not 0: libraries that were unloaded are still known as such */
    void *captured_stream; /* is being captured into a graph */
    int argument_bytes;    /* of the kernel's one argument: how many a launch copies */
    /* What happened. */
    atomic_long loads, unloads, launches, cooperative_launches, dependent_launches, allocations, frees, function_loads;
    atomic_long launches_of_unloaded, attribute_reads, inits;
    atomic_long primaries;          /* retained, less those released */
    atomic_int last_device;         /* whose context was current at the last launch */
    atomic_int unload_capture_mode; /* the thread's at the last cuLibraryUnload */
    atomic_int load_capture_mode;   /* the thread's capture mode at the last cuLibraryLoadData */
    atomic_int last_dynamic_limit;  /* the last value of the maximum dynamic shared memory attribute */
    unsigned last_grid[3], last_block[3], last_shared;
    unsigned char last_argument[4096];
} fake_driver;

typedef fake_driver *fake_driver_function(void);

/* NULL if path is not the stand-in. */
static inline fake_driver *fake_driver_find(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, "fake_driver_state") : NULL;
    fake_driver_function *function = NULL;
    memcpy(&function, &address, sizeof address);
    return function ? function() : NULL;
}

#endif
