// SPDX-License-Identifier: Apache-2.0
// A kiln_context with what Python adds to it: the driver's contexts, a log and a cache that are Python's functions.
#ifndef KILN_PYTHON_CONTEXT_HPP
#define KILN_PYTHON_CONTEXT_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device.hpp"
#include "error.hpp"

// Methods of a cache in Python: get of a key gives bytes or None, set takes a key and bytes. Either may be none.
struct CacheMethods {
    nb::object get = nb::none(), set = nb::none();
};

// What computes a device function on the CPU: called with so many numbers, it gives one.
struct HostFunction {
    nb::object function;
    size_t arguments;
};

struct ContextSettings {
    std::optional<std::string> cache_dir, driver_path, nvrtc_path, schedule, record_path;
    std::vector<std::string> packs;
    int policy = KILN_POLICY_COMPILE;
    int log_detail = KILN_LOG_DETAIL_DEFAULT;
    int64_t cache_max_bytes = 0, compile_limit_ms = 0;
    bool host_arrays_on_gpu = false;
    nb::object log; // called with a level and a message; none: as the library's default
    CacheMethods cache;
};

class Context {
  public:
    explicit Context(const ContextSettings &settings);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    kiln_context *handle() const { return handle_; }
    bool host_arrays_on_gpu() const { return host_arrays_on_gpu_; }
    Driver &driver();

    nb::dict system_info() const;
    nb::dict device_info(int ordinal) const;
    nb::dict stats() const;
    nb::tuple clear_cache() const;
    void cancel_compiles() const;
    void add_function(const std::string &name, const std::string &source, size_t arguments, nb::object host);

  private:
    kiln_context *handle_ = nullptr;
    std::string driver_path_;
    std::unique_ptr<Driver> driver_;
    bool host_arrays_on_gpu_;
    nb::object log_;
    CacheMethods cache_;
    std::vector<std::unique_ptr<HostFunction>> functions_;
};

#endif
