// SPDX-License-Identifier: Apache-2.0
#include "array.hpp"

#include <memory>
#include <string>
#include <unordered_map>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace {

const DLDataType dlpack_types[KILN_TYPE_COUNT] = {
    {2, 64, 1}, {2, 32, 1}, {2, 16, 1}, {4, 16, 1}, {10, 8, 1}, {12, 8, 1}, {0, 64, 1}, {0, 32, 1}, {0, 16, 1},
    {0, 8, 1},  {1, 8, 1},  {6, 8, 1},  {1, 16, 1}, {1, 32, 1}, {1, 64, 1}, {14, 8, 1}, {17, 4, 2},
};

[[noreturn]] void fail_named(const char *name, kiln_status status, const std::string &sentence) {
    fail(status, "'" + std::string(name) + "': " + sentence);
}

Place place_of(const DLDevice &device) {
    const bool gpu = device.type == dlpack::CUDA || device.type == dlpack::CUDA_MANAGED;
    return {gpu, gpu ? device.id : 0};
}

void read_dlpack(const DLTensor &source, const char *name, ArrayView &out) {
    const kiln_status status = kiln_tensor_from_dlpack(&source, &out.tensor);
    if (status) fail_named(name, status, kiln_last_error());
    out.place = place_of(source.device);
}

// The last error of a function of an exchange table, which has set it.
[[noreturn]] void raise_set_error() {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a function of DLPack's exchange table failed");
    nb::raise_python_error();
}

void set_allocation_error(void *, const char *, const char *message) { PyErr_SetString(PyExc_MemoryError, message); }

const dlpack::Exchange *exchange_table(nb::handle capsule) {
    if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
    auto *table = static_cast<dlpack::Exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (table && table->version.major != 1) table = table->older;
    return table && table->view_object && table->allocate ? table : nullptr;
}

nb::object optional_attribute(nb::handle object, const char *name) {
    nb::object value = nb::getattr(object, name, nb::none());
    return value.is_none() ? nb::object() : value;
}

} // namespace

std::vector<int64_t> read_sizes(nb::handle sequence) { return nb::cast<std::vector<int64_t>>(sequence); }

ArrayLibrary::ArrayLibrary(nb::object adapter)
    : adapter_(adapter), view_(optional_attribute(adapter, "view")), empty_(optional_attribute(adapter, "empty")),
      stream_(optional_attribute(adapter, "stream")), finish_(optional_attribute(adapter, "finish")),
      is_number_(nb::cast<bool>(adapter.attr("is_number"))),
      synchronizes_(nb::cast<bool>(adapter.attr("synchronizes"))),
      has_gradients_(nb::cast<bool>(adapter.attr("has_gradients"))) {
    nb::object capsule = optional_attribute(adapter, "exchange");
    if (capsule) exchange_ = exchange_table(capsule);
}

void ArrayLibrary::view(nb::handle array, const char *name, bool written, ArrayView &out) const {
    if (has_gradients_ && nb::getattr(array, "requires_grad").ptr() == Py_True)
        adapter_.attr("refuse_gradient")(array, name);
    if (!exchange_) return view_described(array, name, written, out);
    DLTensor tensor;
    if (exchange_->view_object(array.ptr(), &tensor)) raise_set_error();
    read_dlpack(tensor, name, out);
}

// The adapter describes an array by a tuple (address, type's number, sizes, strides, on a GPU, device), or by a
// capsule.
void ArrayLibrary::view_described(nb::handle array, const char *name, bool written, ArrayView &out) const {
    nb::object description = view_(array, name, written);
    if (!nb::isinstance<nb::tuple>(description)) {
        out.keeper = description;
        return view_capsule(description, name, out);
    }
    const nb::tuple fields = nb::borrow<nb::tuple>(description);
    const std::vector<int64_t> sizes = read_sizes(fields[2]), strides = read_sizes(fields[3]);
    if (sizes.size() > KILN_MAX_RANK)
        fail_named(name, KILN_E_SHAPE,
                   "has rank " + std::to_string(sizes.size()) + ", expected 0 to " + std::to_string(KILN_MAX_RANK));
    void *data = reinterpret_cast<void *>(nb::cast<uintptr_t>(fields[0]));
    const auto type = static_cast<kiln_type>(nb::cast<int>(fields[1]));
    out.tensor = kiln_tensor_contiguous(data, type, static_cast<int>(sizes.size()), sizes.data());
    for (size_t i = 0; i < strides.size() && i < KILN_MAX_RANK; i++) out.tensor.strides[i] = strides[i];
    out.place = {nb::cast<bool>(fields[4]), nb::cast<int>(fields[5])};
}

// The capsule is not consumed: it lives as long as `keeper`, and its own destructor gives the tensor back.
void ArrayLibrary::view_capsule(nb::handle capsule, const char *name, ArrayView &out) const {
    PyObject *object = capsule.ptr();
    if (PyCapsule_IsValid(object, "dltensor_versioned")) {
        const void *pointer = PyCapsule_GetPointer(object, "dltensor_versioned");
        read_dlpack(static_cast<const dlpack::ManagedVersioned *>(pointer)->tensor, name, out);
    } else if (PyCapsule_IsValid(object, "dltensor")) {
        const void *pointer = PyCapsule_GetPointer(object, "dltensor");
        read_dlpack(static_cast<const dlpack::Managed *>(pointer)->tensor, name, out);
    } else {
        fail_named(name, KILN_E_ARGUMENT, "__dlpack__ returned no capsule with a tensor");
    }
}

nb::object ArrayLibrary::allocate(const ArraySpec &spec, nb::handle like, const Place &place, ArrayView &view) const {
    if (!exchange_) {
        nb::object array = empty_(spec.shape, spec.type_name, like);
        view_described(array, "out", false, view);
        return array;
    }
    DLTensor prototype = {nullptr,
                          {place.gpu ? dlpack::CUDA : dlpack::CPU, place.device},
                          static_cast<int32_t>(spec.sizes.size()),
                          dlpack_types[spec.type],
                          const_cast<int64_t *>(spec.sizes.data()),
                          nullptr,
                          0};
    dlpack::ManagedVersioned *managed = nullptr;
    if (exchange_->allocate(&prototype, &managed, nullptr, set_allocation_error)) raise_set_error();
    read_dlpack(managed->tensor, "out", view);
    void *object = nullptr;
    if (exchange_->object_from_managed(managed, &object)) raise_set_error();
    return nb::steal(static_cast<PyObject *>(object));
}

void *ArrayLibrary::stream(const Place &place) const {
    if (!place.gpu) return nullptr;
    void *stream = nullptr;
    if (exchange_ && exchange_->current_stream) {
        if (exchange_->current_stream(dlpack::CUDA, place.device, &stream)) raise_set_error();
    } else if (stream_) {
        stream = reinterpret_cast<void *>(nb::cast<uintptr_t>(stream_(place.device)));
    }
    return stream;
}

nb::object ArrayLibrary::finished(nb::object array) const { return finish_ ? finish_(array) : array; }

// Types are few and stay: each is kept for good, so that its address names it.
const ArrayLibrary &library_of(nb::handle object, const std::string &name) {
    static auto *libraries = new std::unordered_map<PyTypeObject *, std::unique_ptr<ArrayLibrary>>();
    PyTypeObject *type = Py_TYPE(object.ptr());
    const auto found = libraries->find(type);
    if (found != libraries->end()) return *found->second;
    nb::object adapter = nb::module_::import_("kiln._arrays").attr("library_of")(nb::handle(object), name);
    Py_INCREF(reinterpret_cast<PyObject *>(type));
    return *libraries->emplace(type, std::make_unique<ArrayLibrary>(adapter)).first->second;
}
