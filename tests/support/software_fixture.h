/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests on the software GPU share: the device, and programs that are run on it and on the CPU reference. */
#ifndef KILN_TESTS_SOFTWARE_FIXTURE_H
#define KILN_TESTS_SOFTWARE_FIXTURE_H

#include "gpu/driver.h"
#include "own_folder.h"
#include "software_gpu/software_gpu.h"

typedef struct software_device {
    software_gpu gpu;
    const kiln__driver *driver;
    kiln_context *kiln;
    own_folder cache;
    kiln__CUcontext previous; /* what was current before */
} software_device;

/* Opens the device and makes its context current; kiln has the disk cache cache_dir, NULL for one of its own. The first
 * failure's status; what was made so far is closed. */
kiln_status software_device_open(const char *cache_dir, software_device *out);
kiln_status software_device_close(software_device *device);

/* A program whose inputs and output are of one type, inputs rows x cols, `w` and `b` without rows; the output lacks an
 * axis where it reduces. Tensors lie at the very start of their allocations, or `shift` elements behind it, and end
 * with them. */
typedef struct software_case {
    const char *program;
    kiln_type type;
    int64_t rows, cols;
    bool reduces;
    int64_t shift;
} software_case;

typedef enum software_result {
    SOFTWARE_RIGHT,
    SOFTWARE_WRONG,  /* it ran, and differs from the reference */
    SOFTWARE_REFUSED /* a call failed; kiln_last_error() tells why */
} software_result;

/* Makes inputs, runs once, compares; *status: of the call that failed. Everything it takes it gives back. */
software_result software_case_run(const software_device *device, const software_case *test, kiln_status *status);

#endif
