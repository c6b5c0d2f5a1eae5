// SPDX-License-Identifier: Apache-2.0
/* How a launch fails: a code, and a sentence that names kernel, block and thread. */
#ifndef KILN_SOFTWARE_GPU_FAILURE_HPP
#define KILN_SOFTWARE_GPU_FAILURE_HPP

#include <string>

namespace simulated {

/* CUresult values that kiln's own table has no use for. */
enum {
    CODE_ILLEGAL_ADDRESS = 700,
    CODE_OUT_OF_RESOURCES = 701,
    CODE_MISALIGNED_ADDRESS = 716,
    CODE_LAUNCH_FAILED = 719,
    CODE_COOPERATIVE_TOO_LARGE = 720,
    CODE_INVALID_CLUSTER_SIZE = 912,
};

struct Failure {
    int code = 0;
    std::string text;
};

std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Called by a running thread of a grid: ends the launch. The thread is left where it stands, so it must own nothing. */
[[noreturn]] void fail_launch(int code, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

} // namespace simulated

#endif
