// SPDX-License-Identifier: Apache-2.0
// The CUDA context that a launch needs: the primary context of the tensors' device, which every library of arrays uses.
#ifndef KILN_PYTHON_DEVICE_HPP
#define KILN_PYTHON_DEVICE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// The few functions of the driver that this takes. Opened at the first use; the handle stays open.
class Driver {
  public:
    // path: "" for KILN_DRIVER, else the system's library, as kiln_context_options.driver_path.
    explicit Driver(const std::string &path);

    // Waits for all work of the current context. False where the driver reports a failure.
    bool synchronize() const { return synchronize_() == 0; }

    // Device memory becomes 0 when the stream is there. False where the driver reports a failure.
    bool zero(void *data, size_t bytes, void *stream) const {
        return memset_(reinterpret_cast<uintptr_t>(data), 0, bytes, stream) == 0;
    }

  private:
    friend class CurrentDevice;
    void *primary_context(int ordinal);

    static constexpr int device_limit = 64;
    int (*get_current_)(void **context) = nullptr;
    int (*set_current_)(void *context) = nullptr;
    int (*retain_primary_)(void **context, int device) = nullptr;
    int (*synchronize_)() = nullptr;
    int (*memset_)(unsigned long long data, unsigned char value, size_t bytes, void *stream) = nullptr;
    void *contexts_[device_limit] = {};
};

// Makes a device's primary context current on this thread, and the former one again at the end.
class CurrentDevice {
  public:
    CurrentDevice(Driver &driver, int ordinal);
    ~CurrentDevice();
    CurrentDevice(const CurrentDevice &) = delete;
    CurrentDevice &operator=(const CurrentDevice &) = delete;

  private:
    Driver &driver_;
    void *former_ = nullptr;
    bool changed_ = false;
};

#endif
