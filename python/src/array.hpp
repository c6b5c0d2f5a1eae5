// SPDX-License-Identifier: Apache-2.0
// Arrays of other libraries as tensors: read, and allocated in their turn. What a library's arrays need is told by an
// object of kiln._arrays, which is asked for once for each type of array.
#ifndef KILN_PYTHON_ARRAY_HPP
#define KILN_PYTHON_ARRAY_HPP

#include <optional>
#include <vector>

#include "dlpack.hpp"
#include "error.hpp"

// Where an array is. GPU memory that the host reads too (managed) counts as the GPU's.
struct Place {
    bool gpu = false;
    int device = 0;
};

// A shape and a type, with what allocating an array of them takes.
struct ArraySpec {
    kiln_type type;
    std::vector<int64_t> sizes;
    nb::object shape;     // a tuple of Python's
    nb::object type_name; // "f16"
};

struct ArrayView {
    kiln_tensor tensor;
    Place place;
    nb::object keeper; // what has to live while the tensor is used, where that is not the array itself
};

// How arrays of one Python type are handled.
class ArrayLibrary {
  public:
    // adapter: an object with the attributes of kiln._arrays.Library.
    explicit ArrayLibrary(nb::object adapter);

    // Whether objects of the type are numbers, not arrays.
    bool is_number() const { return is_number_; }
    nb::object number(nb::handle value) const { return adapter_.attr("number")(value); }

    // name: the parameter, for messages. written: the array is an output.
    void view(nb::handle array, const char *name, bool written, ArrayView &out) const;
    nb::object allocate(const ArraySpec &spec, nb::handle like, const Place &place, ArrayView &view) const;
    void *stream(const Place &place) const;
    nb::object finished(nb::object array) const;
    bool synchronizes() const { return synchronizes_; }

  private:
    void view_described(nb::handle array, const char *name, bool written, ArrayView &out) const;
    void view_capsule(nb::handle capsule, const char *name, ArrayView &out) const;

    nb::object adapter_, view_, empty_, stream_, finish_;
    const dlpack::Exchange *exchange_ = nullptr;
    bool is_number_, synchronizes_, has_gradients_;
};

// The library of an object's type, made at the first object of it.
const ArrayLibrary &library_of(nb::handle object, const std::string &name);

std::vector<int64_t> read_sizes(nb::handle sequence);

#endif
