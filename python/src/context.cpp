// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <cstring>
#include <limits>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace {

// Called from any thread, as the next two are. Whatever may call back or wait in the library is called without the
// interpreter's lock, so that taking it here waits for no thread that waits for the library.
void write_log(void *user, kiln_log_level level, const char *message) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire lock;
    try {
        nb::handle(static_cast<PyObject *>(user))(static_cast<int>(level), message);
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("kiln's log");
    }
}

// The bytes that a cache's get answers with; none for None, and for an exception, which no call of Kiln's can raise.
nb::object ask_cache(nb::handle get, const char *key) {
    try {
        nb::object answer = get(key);
        if (answer.is_none()) return nb::object();
        PyObject *bytes = PyBytes_FromObject(answer.ptr());
        if (!bytes) nb::raise_python_error();
        return nb::steal(bytes);
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("the get of kiln's cache");
    }
    return nb::object();
}

size_t get_from_cache(void *user, const char *key, void *bytes, size_t capacity) {
    if (!Py_IsInitialized()) return 0;
    nb::gil_scoped_acquire lock;
    const nb::object found = ask_cache(static_cast<const CacheMethods *>(user)->get, key);
    if (!found) return 0;
    const auto size = static_cast<size_t>(PyBytes_Size(found.ptr()));
    if (size <= capacity) memcpy(bytes, PyBytes_AsString(found.ptr()), size);
    return size;
}

void set_in_cache(void *user, const char *key, const void *bytes, size_t size) {
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire lock;
    try {
        static_cast<const CacheMethods *>(user)->set(key, nb::bytes(bytes, size));
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("the set of kiln's cache");
    }
}

double call_host_function(void *user, const double *arguments) {
    if (!Py_IsInitialized()) return std::numeric_limits<double>::quiet_NaN();
    nb::gil_scoped_acquire lock;
    const auto *host = static_cast<const HostFunction *>(user);
    try {
        nb::list numbers;
        for (size_t i = 0; i < host->arguments; i++) numbers.append(arguments[i]);
        return nb::cast<double>(host->function(*nb::tuple(numbers)));
    } catch (nb::python_error &error) {
        error.discard_as_unraisable("the host function of a device function");
    } catch (const nb::cast_error &) {
        PyErr_SetString(PyExc_TypeError, "the host function of a device function gave no float");
        PyErr_WriteUnraisable(host->function.ptr());
    }
    return std::numeric_limits<double>::quiet_NaN();
}

const char *text_or_null(const std::optional<std::string> &text) { return text ? text->c_str() : nullptr; }

} // namespace

Context::Context(const ContextSettings &settings)
    : driver_path_(settings.driver_path.value_or("")), host_arrays_on_gpu_(settings.host_arrays_on_gpu),
      log_(settings.log), cache_(settings.cache) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = text_or_null(settings.cache_dir);
    options.driver_path = text_or_null(settings.driver_path);
    options.nvrtc_path = text_or_null(settings.nvrtc_path);
    options.schedule = text_or_null(settings.schedule);
    options.record_path = text_or_null(settings.record_path);
    options.policy = static_cast<kiln_policy>(settings.policy);
    options.log_detail = static_cast<kiln_log_detail>(settings.log_detail);
    options.cache_max_bytes = settings.cache_max_bytes;
    options.compile_limit_ms = settings.compile_limit_ms;
    std::vector<kiln_pack> packs;
    for (const std::string &path : settings.packs) packs.push_back({path.c_str(), nullptr, 0});
    options.packs = packs.empty() ? nullptr : packs.data();
    options.pack_count = packs.size();
    if (!log_.is_none()) {
        options.log = write_log;
        options.log_user = log_.ptr();
    }
    options.cache.get = cache_.get.is_none() ? nullptr : get_from_cache;
    options.cache.set = cache_.set.is_none() ? nullptr : set_in_cache;
    options.cache.user = &cache_;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_context_create(&options, &handle_);
    }
    check(status);
}

Context::~Context() {
    nb::gil_scoped_release unlocked;
    kiln_context_destroy(handle_);
}

Driver &Context::driver() {
    if (!driver_) driver_ = std::make_unique<Driver>(driver_path_);
    return *driver_;
}

nb::dict Context::system_info() const {
    kiln_system_info info = {};
    info.struct_size = sizeof info;
    const char *driver_error = nullptr, *nvrtc_error = nullptr;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_context_get_system_info(handle_, &info, &driver_error, &nvrtc_error);
    }
    check(status);
    nb::list architectures;
    for (int i = 0; i < 64 && info.nvrtc_archs[i]; i++) architectures.append(info.nvrtc_archs[i]);
    nb::dict out;
    out["driver_path"] = nb::str(info.driver_path);
    out["driver_version"] = info.driver_version;
    out["driver_error"] = nb::str(driver_error ? driver_error : "");
    out["nvrtc_path"] = nb::str(info.nvrtc_path);
    out["nvrtc_version"] = nb::make_tuple(info.nvrtc_major, info.nvrtc_minor);
    out["nvrtc_archs"] = nb::tuple(architectures);
    out["nvrtc_error"] = nb::str(nvrtc_error ? nvrtc_error : "");
    out["cache_dir"] = nb::str(info.cache_dir);
    out["device_count"] = info.device_count;
    return out;
}

nb::dict Context::device_info(int ordinal) const {
    kiln_device_info info = {};
    info.struct_size = sizeof info;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_context_get_device_info(handle_, ordinal, &info);
    }
    check(status);
    nb::dict out;
    out["name"] = nb::str(info.name);
    out["arch"] = info.arch;
    out["sm_count"] = info.sm_count;
    out["shared_per_block"] = info.shared_per_block;
    out["l2_bytes"] = info.l2_bytes;
    out["memory_bytes"] = info.memory_bytes;
    return out;
}

nb::dict Context::stats() const {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_context_get_stats(handle_, &stats);
    }
    check(status);
    nb::dict out;
    out["from_memory"] = stats.from_memory;
    out["from_packs"] = stats.from_packs;
    out["from_disk"] = stats.from_disk;
    out["from_callbacks"] = stats.from_callbacks;
    out["any_shape"] = stats.any_shape;
    out["compiled"] = stats.compiled;
    out["refused"] = stats.refused;
    out["failed_compiles"] = stats.failed_compiles;
    out["loads"] = stats.loads;
    out["kernels"] = stats.kernels;
    out["kernel_bytes"] = stats.kernel_bytes;
    out["shapes"] = stats.shapes;
    out["compile_seconds"] = stats.compile_seconds;
    out["wait_seconds"] = stats.wait_seconds;
    out["prepare_seconds"] = stats.prepare_seconds;
    return out;
}

nb::tuple Context::clear_cache() const {
    size_t removed = 0;
    int64_t bytes = 0;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_cache_clear(handle_, &removed, &bytes);
    }
    check(status);
    return nb::make_tuple(removed, bytes);
}

void Context::cancel_compiles() const {
    nb::gil_scoped_release unlocked;
    kiln_context_cancel_compiles(handle_);
}

void Context::add_function(const std::string &name, const std::string &source, size_t arguments, nb::object host) {
    kiln_device_function function = KILN_DEVICE_FUNCTION_INIT;
    auto kept = std::make_unique<HostFunction>(HostFunction{std::move(host), arguments});
    function.name = name.c_str();
    function.source = source.c_str();
    function.argument_count = arguments;
    if (!kept->function.is_none()) {
        function.host = call_host_function;
        function.user = kept.get();
    }
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_context_add_function(handle_, &function);
    }
    check(status);
    functions_.push_back(std::move(kept));
}
