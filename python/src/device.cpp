// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "error.hpp"

namespace {

template <typename Function> void find(void *library, const char *symbol, Function *&out) {
    out = reinterpret_cast<Function *>(dlsym(library, symbol));
    if (!out) fail(KILN_E_NO_DRIVER, std::string("the CUDA driver has no function ") + symbol);
}

} // namespace

Driver::Driver(const std::string &path) {
    const char *named = std::getenv("KILN_DRIVER");
    const char *file = !path.empty() ? path.c_str() : named && *named ? named : "libcuda.so.1";
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(KILN_E_NO_DRIVER, std::string("the CUDA driver cannot be opened: ") + dlerror());
    int (*initialize)(unsigned flags) = nullptr;
    find(library, "cuInit", initialize);
    find(library, "cuCtxGetCurrent", get_current_);
    find(library, "cuCtxSetCurrent", set_current_);
    find(library, "cuDevicePrimaryCtxRetain", retain_primary_);
    find(library, "cuCtxSynchronize", synchronize_);
    find(library, "cuMemsetD8Async", memset_);
    const int result = initialize(0);
    if (result) fail(KILN_E_NO_DEVICE, "cuInit failed with " + std::to_string(result));
}

// Retained once and never released: it lives as long as the process, as do the tensors of the library that made it.
void *Driver::primary_context(int ordinal) {
    if (ordinal < 0 || ordinal >= device_limit)
        fail(KILN_E_ARGUMENT, "device " + std::to_string(ordinal) + " is out of range");
    if (!contexts_[ordinal]) {
        const int result = retain_primary_(&contexts_[ordinal], ordinal);
        if (result)
            fail(KILN_E_NO_DEVICE,
                 "device " + std::to_string(ordinal) + " has no context: the driver says " + std::to_string(result));
    }
    return contexts_[ordinal];
}

CurrentDevice::CurrentDevice(Driver &driver, int ordinal) : driver_(driver) {
    void *wanted = driver.primary_context(ordinal);
    driver.get_current_(&former_);
    if (former_ == wanted) return;
    changed_ = driver.set_current_(wanted) == 0;
    if (!changed_) fail(KILN_E_NO_CONTEXT, "the context of device " + std::to_string(ordinal) + " cannot be entered");
}

CurrentDevice::~CurrentDevice() {
    // A thread that had no context keeps this one, as after a call of the runtime API.
    if (changed_ && former_) driver_.set_current_(former_);
}
