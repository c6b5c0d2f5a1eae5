// SPDX-License-Identifier: Apache-2.0
// A callable program. Which of its parameters are scalars follows from a call's arguments: Python's numbers are.
#ifndef KILN_PYTHON_PROGRAM_HPP
#define KILN_PYTHON_PROGRAM_HPP

#include <map>
#include <memory>
#include <unordered_map>

#include "array.hpp"
#include "context.hpp"
#include "signature.hpp"

// The program for one choice of scalars, and what is known of its outputs.
struct Variant {
    Variant(kiln_context *context, const ProgramText &program, const std::string &scalar_names)
        : parsed(context, program, scalar_names) {}
    ParsedProgram parsed;
    std::vector<size_t> inputs; // the parameters that they are
};

// One call's arguments, in the order of the parameters, then in the library's.
struct Call {
    std::vector<nb::handle> values; // of each parameter; empty where it is not given yet
    uint64_t scalar_mask = 0;       // bit i: parameter i is a scalar
    nb::handle out, dtype, stream;
    std::vector<nb::object> given;   // for each output, from out; empty where it is to be allocated
    std::vector<kiln_tensor> zeroed; // outputs that the kernel leaves parts of as they are
    std::vector<kiln_tensor> tensors;
    std::vector<kiln_scalar> scalars;
    std::vector<nb::object> keepers;
    Place place;
    const ArrayLibrary *library = nullptr; // of the first array
    nb::handle first_array;
    const char *first_name = nullptr;
};

class Program {
  public:
    Program(nb::object context, const ProgramText &text, const std::vector<std::string> &scalars);

    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;

    nb::object call(nb::args args, nb::kwargs kwargs);

    // Of what is called without the interpreter: the program whose parameters are all arrays, as long as this one
    // lives; whether outputs have to be cleared before it runs, and that. False where the driver reports a failure.
    const kiln_program *of_arrays() { return variant(0).parsed.handle(); }
    bool leaves_parts() const { return has_lengths_; }
    bool clear(const kiln_tensor *outputs, size_t count, bool gpu, void *stream) const;

    // Types and shapes of the outputs for inputs of (type, sizes) in the order of the parameters; a number is a scalar.
    // out: the same of each output, or None where they follow from the inputs.
    nb::list infer(nb::handle arguments, nb::handle out);
    // What the library makes of the program for such inputs, without a GPU.
    nb::dict compile(nb::handle arguments, nb::handle out_arrays, nb::handle out_types, int arch, bool ptx,
                     bool compile);

    // Adds the kernels for such inputs to a pack.
    void add_to(kiln_pack_writer *writer, nb::handle arguments, nb::handle out, nb::handle out_types, int arch,
                bool ptx);

    // The program for such inputs, and what a call of it binds.
    const kiln_program *describe_problem(nb::handle arguments, nb::handle out, nb::handle out_types,
                                         std::vector<kiln_tensor> &tensors, std::vector<kiln_scalar> &scalars);

    // The gradient's text, its outputs and its scalars. arguments: as infer's, or None; names: comma-separated, or
    // None.
    nb::tuple derive(nb::handle arguments, const std::optional<std::string> &wrt,
                     const std::optional<std::string> &saved);

    const std::vector<std::string> &parameters() const { return parameters_; }
    const std::vector<std::string> &output_names() const { return outputs_; }
    std::vector<std::string> declared_scalars() const;
    nb::dict stats() const; // of all choices of scalars together
    nb::object context() const { return context_object_; }

  private:
    struct SpecKey {
        std::vector<int64_t> numbers;
        bool operator==(const SpecKey &other) const { return numbers == other.numbers; }
    };
    struct SpecHash {
        size_t operator()(const SpecKey &key) const;
    };
    struct Specs {
        std::vector<ArraySpec> outputs;
        nb::object dtype; // kept, since its address is part of the key
    };

    size_t parameter(nb::handle name) const;
    void bind(nb::args args, nb::kwargs kwargs, Call &call) const;
    bool bind_option(nb::handle name, nb::handle value, Call &call) const;
    void classify(Call &call) const;
    void add_scalar(size_t parameter, nb::handle value, Call &call) const;
    Variant &variant(uint64_t scalar_mask);
    void view_inputs(const Variant &variant, Call &call) const;
    void add_view(ArrayView &view, const char *name, Call &call) const;
    std::shared_ptr<const Specs> specs(const Variant &variant, const Call &call);
    std::vector<ArraySpec> make_specs(const Variant &variant, const std::vector<kiln_tensor> &inputs,
                                      const std::vector<kiln_scalar> &scalars, nb::handle dtype,
                                      uint64_t given_mask) const;
    void read_out(Call &call) const;
    void read_named_out(Call &call) const;
    nb::object view_given_output(size_t output, Call &call) const;
    nb::object allocate_output(const ArraySpec &spec, Call &call) const;
    void fill_zeros(const Call &call, void *stream) const;
    std::vector<kiln_tensor> described_outputs(const Variant &variant, const Call &call, nb::handle out,
                                               nb::handle dtype) const;
    void launch(const Variant &variant, const Call &call) const;
    Variant &describe(nb::handle arguments, Call &call);
    Variant &describe_all(nb::handle arguments, nb::handle out, nb::handle out_types, Call &call);

    nb::object context_object_;
    Context &context_;
    ProgramText text_;
    std::vector<std::string> parameters_, outputs_;
    std::vector<nb::object> parameter_objects_; // interned, as the names of keyword arguments are
    uint64_t declared_mask_ = 0;
    bool has_lengths_; // rows may end before the tensors do
    std::map<uint64_t, std::unique_ptr<Variant>> variants_;
    std::unordered_map<SpecKey, std::shared_ptr<const Specs>, SpecHash> specs_;
};

#endif
