// SPDX-License-Identifier: Apache-2.0
#include "xla_calls.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "xla.hpp"

namespace {

struct Target {
    const Program *owner = nullptr;
    const kiln_program *program = nullptr;
};

// By key. Never destroyed: XLA's threads may run until the process ends.
struct Targets {
    std::mutex mutex;
    std::unordered_map<std::string, Target> by_key;
};

Targets &targets() {
    static Targets *const all = new Targets;
    return *all;
}

xla::Error *failed(const xla::CallFrame *frame, int code, const std::string &sentence) {
    xla::ErrorCreate error = {sizeof error, nullptr, sentence.c_str(), code};
    return frame->api->error_create(&error);
}

xla::Error *refused(const xla::CallFrame *frame, const std::string &sentence) {
    return failed(frame, xla::INVALID_ARGUMENT, "kiln: " + sentence);
}

// ---- what is called ---------------------------------------------------------------------------------------

const void *attribute(const xla::CallFrame *frame, const char *name, int type) {
    const xla::Attributes &all = frame->attributes;
    for (int64_t i = 0; i < all.count; i++) {
        const xla::Text &text = *all.names[i];
        if (all.types[i] == type && text.size == strlen(name) && !memcmp(text.data, name, text.size))
            return all.values[i];
    }
    return nullptr;
}

bool find_target(const xla::CallFrame *frame, Target &out) {
    const auto *key = static_cast<const xla::Text *>(attribute(frame, "program", xla::STRING));
    if (!key) return false;
    Targets &all = targets();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_key.find(std::string(key->data, key->size));
    if (found == all.by_key.end()) return false;
    out = found->second;
    return true;
}

// ---- tensors ----------------------------------------------------------------------------------------------

bool find_type(int type, kiln_type &out) {
    static const struct {
        int theirs;
        kiln_type ours;
    } types[] = {
        {xla::PRED, KILN_BOOL}, {xla::S8, KILN_I8},       {xla::S16, KILN_I16},       {xla::S32, KILN_I32},
        {xla::S64, KILN_I64},   {xla::U8, KILN_U8},       {xla::U16, KILN_U16},       {xla::U32, KILN_U32},
        {xla::U64, KILN_U64},   {xla::F16, KILN_F16},     {xla::F32, KILN_F32},       {xla::F64, KILN_F64},
        {xla::BF16, KILN_BF16}, {xla::F8E5M2, KILN_E5M2}, {xla::F8E4M3FN, KILN_E4M3}, {xla::F8E8M0FNU, KILN_E8M0}};
    for (const auto &type_pair : types) {
        if (type_pair.theirs != type) continue;
        out = type_pair.ours;
        return true;
    }
    return false;
}

// The axes of an array: those that vmap has put before, ones that align it with the program's other arrays, its own.
struct Axes {
    int64_t before = 0, ones = 0;
};

xla::Error *read_buffer(const xla::CallFrame *frame, const void *value, const Axes &axes, kiln_tensor &out) {
    const auto &buffer = *static_cast<const xla::Buffer *>(value);
    kiln_type type;
    int64_t sizes[KILN_MAX_RANK];
    const int64_t rank = buffer.rank + axes.ones;
    if (!find_type(buffer.type, type))
        return refused(frame, "XLA's type number " + std::to_string(buffer.type) + " is none of Kiln's");
    if (rank > KILN_MAX_RANK)
        return refused(frame, "an array has rank " + std::to_string(rank) + " with the axes of vmap, expected 0 to " +
                                  std::to_string(KILN_MAX_RANK));
    std::fill(sizes, sizes + rank, 1);
    std::copy(buffer.sizes, buffer.sizes + axes.before, sizes);
    std::copy(buffer.sizes + axes.before, buffer.sizes + buffer.rank, sizes + axes.before + axes.ones);
    out = kiln_tensor_contiguous(buffer.data, type, static_cast<int>(rank), sizes);
    return nullptr;
}

xla::Error *read_tensors(const xla::CallFrame *frame, const Target &target, std::vector<kiln_tensor> &out) {
    const auto *ranks = static_cast<const xla::Array *>(attribute(frame, "ranks", xla::ARRAY));
    const xla::Values &arguments = frame->arguments, &results = frame->results;
    const size_t inputs = kiln_program_input_count(target.program), outputs = kiln_program_output_count(target.program);
    if (static_cast<size_t>(arguments.count) != inputs || static_cast<size_t>(results.count) != outputs || !ranks ||
        ranks->type != xla::S64 || ranks->size != inputs)
        return refused(frame, "a call does not have the arguments and results of its program");
    const auto *rank = static_cast<const int64_t *>(ranks->data);
    const int64_t most = inputs ? *std::max_element(rank, rank + inputs) : 0;
    out.resize(inputs + outputs);
    for (size_t i = 0; i < inputs + outputs; i++) {
        Axes axes;
        const void *value = i < inputs ? arguments.values[i] : results.values[i - inputs];
        if (i < inputs) axes.before = static_cast<const xla::Buffer *>(value)->rank - rank[i];
        if (axes.before > 0) axes.ones = most - rank[i];
        if (xla::Error *error = read_buffer(frame, value, axes, out[i])) return error;
    }
    return nullptr;
}

// ---- running ----------------------------------------------------------------------------------------------

xla::Error *checked(const xla::CallFrame *frame, kiln_status status) {
    if (status == KILN_OK) return nullptr;
    const std::string sentence = std::string("kiln: ") + kiln_status_name(status) + ": " + kiln_last_error();
    return failed(frame, xla::INTERNAL, sentence);
}

bool clear_outputs(const Target &target, const std::vector<kiln_tensor> &tensors, bool gpu, void *stream) {
    const size_t inputs = kiln_program_input_count(target.program);
    if (!target.owner->leaves_parts()) return true;
    nb::gil_scoped_acquire locked; // the driver is opened at its first use
    return target.owner->clear(tensors.data() + inputs, tensors.size() - inputs, gpu, stream);
}

xla::Error *run(const xla::CallFrame *frame, bool gpu) {
    Target target;
    std::vector<kiln_tensor> tensors;
    xla::StreamGet stream = {sizeof stream, nullptr, frame->context, nullptr};
    if (!find_target(frame, target))
        return refused(frame, "the program of a call is unknown in this process: make its kiln.jax.function first");
    if (xla::Error *error = read_tensors(frame, target, tensors)) return error;
    if (gpu)
        if (xla::Error *error = frame->api->stream_get(&stream)) return error;
    if (!clear_outputs(target, tensors, gpu, stream.stream))
        return failed(frame, xla::INTERNAL, "kiln: outputs cannot be filled with zeros");
    if (!gpu) return checked(frame, kiln_run_cpu(target.program, tensors.data(), tensors.size(), nullptr, 0));
    return checked(frame, kiln_run(target.program, tensors.data(), tensors.size(), nullptr, 0, stream.stream));
}

// A runtime accepts handlers of its own version and of some before it. That of the first version asks without a table;
// what is used here has been the same since.
bool tells_metadata(const xla::CallFrame *frame) {
    if (!frame->extensions || frame->extensions->type != xla::METADATA) return false;
    xla::Metadata *metadata = reinterpret_cast<const xla::MetadataExtension *>(frame->extensions)->metadata;
    metadata->version.major = xla::major_version;
    metadata->version.minor = frame->api ? std::min(xla::minor_version, frame->api->version.minor) : 1;
    metadata->traits = 0;
    return true;
}

xla::Error *handle(const xla::CallFrame *frame, bool gpu) {
    if (tells_metadata(frame) || frame->stage != xla::EXECUTE) return nullptr;
    try {
        return run(frame, gpu);
    } catch (const std::exception &error) {
        return failed(frame, xla::INTERNAL, std::string("kiln: ") + error.what());
    }
}

xla::Error *handle_cpu(xla::CallFrame *frame) { return handle(frame, false); }
xla::Error *handle_cuda(xla::CallFrame *frame) { return handle(frame, true); }

nb::object capsule_of(xla::Error *(*handler)(xla::CallFrame *)) {
    return nb::steal(PyCapsule_New(reinterpret_cast<void *>(handler), nullptr, nullptr));
}

} // namespace

void add_xla_program(nb::object program, const std::string &key) {
    auto &owner = nb::cast<Program &>(program);
    const Target target = {&owner, owner.of_arrays()};
    Targets &all = targets();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.by_key[key] = target;
}

nb::dict xla_handlers() {
    nb::dict handlers;
    handlers["cpu"] = capsule_of(handle_cpu);
    handlers["CUDA"] = capsule_of(handle_cuda);
    return handlers;
}
