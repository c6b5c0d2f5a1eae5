// SPDX-License-Identifier: Apache-2.0
/* Faults on demand, set by software_gpu_fail() or by KILN_SOFTWARE_GPU_FAIL=<function>:<nth>:<code>. */
#include "faults.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

struct Fault {
    std::string function;
    long left = 0; /* calls until it fails, that one included; 0: none */
    int code = 0;
    bool reached = false;

    Fault() {
        const char *text = getenv("KILN_SOFTWARE_GPU_FAIL"), *colon = text ? strchr(text, ':') : nullptr;
        if (!colon) return;
        function.assign(text, static_cast<size_t>(colon - text));
        char *end = nullptr;
        left = strtol(colon + 1, &end, 10);
        code = *end == ':' ? atoi(end + 1) : 0;
    }
};

std::mutex lock;
Fault &fault() {
    static Fault instance;
    return instance;
}

} // namespace

int software_gpu_fault(const char *function) {
    std::lock_guard<std::mutex> guard(lock);
    Fault &f = fault();
    if (f.left == 0 || f.function != function || --f.left > 0) return 0;
    f.reached = true;
    return f.code;
}

SOFTWARE_GPU_EXPORT void software_gpu_fail(const char *function, long nth, int code) {
    std::lock_guard<std::mutex> guard(lock);
    Fault &f = fault();
    f.function = function ? function : "";
    f.left = function ? nth : 0;
    f.code = code;
    f.reached = false;
}

SOFTWARE_GPU_EXPORT bool software_gpu_failed() {
    std::lock_guard<std::mutex> guard(lock);
    return fault().reached;
}
