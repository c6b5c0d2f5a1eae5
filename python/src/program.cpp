// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <cstring>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace {

constexpr size_t parameter_limit = 64, spec_limit = 4096;

// The sentence that names what a program takes: "'x', 'w' and 'eps'".
std::string listed(const std::vector<std::string> &names) {
    std::string text;
    for (size_t i = 0; i < names.size(); i++) {
        if (i > 0) text += i + 1 < names.size() ? ", " : " and ";
        text += "'" + names[i] + "'";
    }
    return text.empty() ? "no arguments" : text;
}

bool is_plain_number(nb::handle value) {
    return PyFloat_CheckExact(value.ptr()) || PyLong_CheckExact(value.ptr()) || PyBool_Check(value.ptr());
}

kiln_scalar scalar_of(nb::handle number) {
    if (PyFloat_Check(number.ptr())) return kiln_scalar_f64(PyFloat_AsDouble(number.ptr()));
    const long long value = PyLong_AsLongLong(number.ptr());
    if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
    return kiln_scalar_i64(value);
}

std::string class_name(nb::handle object) {
    return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()))).attr("__name__"));
}

void *stream_of(nb::handle stream) {
    nb::object address = nb::module_::import_("kiln._arrays").attr("stream_address")(stream);
    return reinterpret_cast<void *>(nb::cast<uintptr_t>(address));
}

nb::object one_or_tuple(const std::vector<nb::object> &results) {
    if (results.size() == 1) return results[0];
    nb::list list;
    for (const nb::object &result : results) list.append(result);
    return nb::tuple(list);
}

// Whether a statement may be the word's, lengths(n), behind functions. One too many, as in a comment, costs zeros that
// are not needed.
bool may_have(const std::string &word, const std::string &text) {
    const std::string blanks = " \t";
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t before = at ? text.find_last_not_of(blanks, at - 1) : std::string::npos;
        const size_t after = text.find_first_not_of(blanks, at + word.size());
        const bool begins = before == std::string::npos || text[before] == '\n' || text[before] == ';';
        if (begins && after != std::string::npos && text[after] == '(') return true;
    }
    return false;
}

size_t bytes_of(const kiln_tensor &tensor) {
    size_t bytes = kiln_type_size(tensor.type);
    for (int32_t i = 0; i < tensor.rank; i++) bytes *= static_cast<size_t>(tensor.sizes[i]);
    return bytes;
}

uint64_t mask_of(const std::vector<nb::object> &given) {
    uint64_t mask = 0;
    for (size_t i = 0; i < given.size(); i++)
        if (given[i]) mask |= uint64_t{1} << i;
    return mask;
}

// A description (type's number, sizes, strides or None) as a tensor without data.
kiln_tensor described_tensor(const nb::tuple &fields) {
    const std::vector<int64_t> sizes = read_sizes(fields[1]);
    const auto type = static_cast<kiln_type>(nb::cast<int>(fields[0]));
    kiln_tensor tensor = kiln_tensor_contiguous(nullptr, type, static_cast<int>(sizes.size()), sizes.data());
    if (fields[2].is_none()) return tensor;
    const std::vector<int64_t> strides = read_sizes(fields[2]);
    for (int axis = 0; axis < tensor.rank; axis++) tensor.strides[axis] = strides.at(static_cast<size_t>(axis));
    return tensor;
}

// (type's name, sizes) of each.
nb::list described(const std::vector<kiln_tensor> &tensors) {
    nb::list list;
    for (const kiln_tensor &tensor : tensors) {
        const std::vector<int64_t> sizes(tensor.sizes, tensor.sizes + tensor.rank);
        list.append(nb::make_tuple(kiln_type_name(tensor.type), nb::tuple(nb::cast(sizes))));
    }
    return list;
}

} // namespace

size_t Program::SpecHash::operator()(const SpecKey &key) const {
    uint64_t hash = 14695981039346656037u;
    for (int64_t number : key.numbers) hash = (hash ^ static_cast<uint64_t>(number)) * 1099511628211u;
    return static_cast<size_t>(hash ^ hash >> 32);
}

// ---- names ------------------------------------------------------------------------------------------------

Program::Program(nb::object context, const ProgramText &text, const std::vector<std::string> &scalars)
    : context_object_(context), context_(nb::cast<Context &>(context)), text_(text),
      has_lengths_(may_have("lengths", text.text) || may_have("offsets", text.text)) {
    // Without scalars every parameter is an input, in the order of first appearance.
    {
        const ParsedProgram plain(context_.handle(), text_, "");
        parameters_ = plain.input_names();
        outputs_ = plain.output_names();
    }
    if (parameters_.size() > parameter_limit) fail(KILN_E_LIMIT, "the program has more than 64 parameters");
    for (const std::string &name : parameters_) {
        PyObject *object = PyUnicode_InternFromString(name.c_str());
        parameter_objects_.push_back(nb::steal(object));
    }
    if (!scalars.empty()) { // the library says what is wrong with a name
        const ParsedProgram declared(context_.handle(), text_, joined(scalars));
        for (const std::string &name : declared.scalar_names()) {
            const auto found = std::find(parameters_.begin(), parameters_.end(), name);
            if (found == parameters_.end()) fail(KILN_E_NAME, "the scalar '" + name + "' is not read by the program");
            declared_mask_ |= uint64_t{1} << (found - parameters_.begin());
        }
    }
}

std::vector<std::string> Program::declared_scalars() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < parameters_.size(); i++)
        if (declared_mask_ >> i & 1) names.push_back(parameters_[i]);
    return names;
}

nb::dict Program::stats() const {
    std::vector<const kiln_program *> programs;
    for (const auto &entry : variants_)
        if (entry.second) programs.push_back(entry.second->parsed.handle());
    kiln_program_stats sum = KILN_PROGRAM_STATS_INIT;
    kiln_status status = KILN_OK;
    {
        nb::gil_scoped_release unlocked;
        for (size_t i = 0; i < programs.size() && status == KILN_OK; i++) {
            kiln_program_stats one = KILN_PROGRAM_STATS_INIT;
            status = kiln_program_get_stats(programs[i], &one);
            sum.launches += one.launches;
            sum.shapes += one.shapes;
            sum.from_memory += one.from_memory;
            sum.from_packs += one.from_packs;
            sum.from_disk += one.from_disk;
            sum.from_callbacks += one.from_callbacks;
            sum.any_shape += one.any_shape;
            sum.compiled += one.compiled;
            sum.refused += one.refused;
            sum.failed_compiles += one.failed_compiles;
            sum.loads += one.loads;
            sum.compile_seconds += one.compile_seconds;
            sum.wait_seconds += one.wait_seconds;
            sum.prepare_seconds += one.prepare_seconds;
        }
    }
    check(status);
    nb::dict out;
    out["launches"] = sum.launches;
    out["shapes"] = sum.shapes;
    out["from_memory"] = sum.from_memory;
    out["from_packs"] = sum.from_packs;
    out["from_disk"] = sum.from_disk;
    out["from_callbacks"] = sum.from_callbacks;
    out["any_shape"] = sum.any_shape;
    out["compiled"] = sum.compiled;
    out["refused"] = sum.refused;
    out["failed_compiles"] = sum.failed_compiles;
    out["loads"] = sum.loads;
    out["compile_seconds"] = sum.compile_seconds;
    out["wait_seconds"] = sum.wait_seconds;
    out["prepare_seconds"] = sum.prepare_seconds;
    return out;
}

Variant &Program::variant(uint64_t scalar_mask) {
    std::unique_ptr<Variant> &slot = variants_[scalar_mask];
    if (slot) return *slot;
    std::vector<std::string> names;
    for (size_t i = 0; i < parameters_.size(); i++)
        if (scalar_mask >> i & 1) names.push_back(parameters_[i]);
    auto made = std::make_unique<Variant>(context_.handle(), text_, joined(names));
    for (size_t i = 0; i < parameters_.size(); i++)
        if (!(scalar_mask >> i & 1)) made->inputs.push_back(i);
    if (!slot) slot = std::move(made); // another thread may have been here meanwhile, and uses its own
    return *slot;
}

// ---- arguments --------------------------------------------------------------------------------------------

size_t Program::parameter(nb::handle name) const {
    for (size_t i = 0; i < parameter_objects_.size(); i++)
        if (parameter_objects_[i].ptr() == name.ptr()) return i;
    const std::string text = nb::cast<std::string>(name);
    const auto found = std::find(parameters_.begin(), parameters_.end(), text);
    return static_cast<size_t>(found - parameters_.begin());
}

bool Program::bind_option(nb::handle name, nb::handle value, Call &call) const {
    const std::string text = nb::cast<std::string>(name);
    nb::handle *option = nullptr;
    if (text == "out") option = &call.out;
    if (text == "dtype") option = &call.dtype;
    if (text == "stream") option = &call.stream;
    if (option && !value.is_none()) *option = value;
    return option != nullptr;
}

void Program::bind(nb::args args, nb::kwargs kwargs, Call &call) const {
    const size_t count = parameters_.size();
    if (args.size() > count)
        fail(KILN_E_BINDING, std::to_string(args.size()) + " arguments are given, expected " + listed(parameters_));
    call.values.resize(count);
    for (size_t i = 0; i < args.size(); i++) call.values[i] = args[i];
    for (auto [name, value] : kwargs) {
        const size_t i = parameter(name);
        if (i == count && bind_option(name, value, call)) continue;
        const std::string text = nb::cast<std::string>(name);
        if (i == count)
            fail(KILN_E_NAME, "the program has no parameter '" + text + "', expected " + listed(parameters_) +
                                  ", or out, dtype, stream");
        if (call.values[i]) fail(KILN_E_BINDING, "'" + text + "' is given twice, by position and by name");
        call.values[i] = value;
    }
    for (size_t i = 0; i < count; i++)
        if (!call.values[i])
            fail(KILN_E_BINDING, "'" + parameters_[i] + "' is missing, expected " + listed(parameters_));
}

// Which parameters are scalars, and what they are.
void Program::classify(Call &call) const {
    for (size_t i = 0; i < call.values.size(); i++) {
        const nb::handle value = call.values[i];
        if (is_plain_number(value)) {
            add_scalar(i, value, call);
            continue;
        }
        const ArrayLibrary &library = library_of(value, parameters_[i]);
        if (library.is_number()) {
            add_scalar(i, library.number(value), call);
            continue;
        }
        if (declared_mask_ >> i & 1)
            fail(KILN_E_BINDING,
                 "the scalar '" + parameters_[i] + "' is a " + class_name(value) + ", expected a number");
        if (call.library) continue;
        call.library = &library;
        call.first_array = value;
        call.first_name = parameters_[i].c_str();
    }
}

// A pair of a number and True is a 32-bit integer.
void Program::add_scalar(size_t parameter, nb::handle value, Call &call) const {
    call.scalar_mask |= uint64_t{1} << parameter;
    if (!nb::isinstance<nb::tuple>(value)) {
        call.scalars.push_back(scalar_of(value));
        return;
    }
    call.scalars.push_back(scalar_of(nb::borrow<nb::tuple>(value)[0]));
    call.scalars.back().type = KILN_I32;
}

void Program::add_view(ArrayView &view, const char *name, Call &call) const {
    if (call.tensors.empty()) call.place = view.place;
    if (view.place.gpu != call.place.gpu || view.place.device != call.place.device) {
        const auto where = [](const Place &place) {
            return place.gpu ? "on GPU " + std::to_string(place.device) : std::string("in host memory");
        };
        fail(KILN_E_ARGUMENT, "'" + std::string(name) + "' is " + where(view.place) + ", expected " +
                                  where(call.place) + " as the first array");
    }
    call.tensors.push_back(view.tensor);
    if (view.keeper) call.keepers.push_back(std::move(view.keeper));
}

void Program::view_inputs(const Variant &variant, Call &call) const {
    call.tensors.reserve(variant.inputs.size() + outputs_.size());
    for (size_t i : variant.inputs) {
        ArrayView view;
        const char *name = parameters_[i].c_str();
        library_of(call.values[i], parameters_[i]).view(call.values[i], name, false, view);
        add_view(view, name, call);
    }
}

// ---- outputs ----------------------------------------------------------------------------------------------

std::vector<ArraySpec> Program::make_specs(const Variant &variant, const std::vector<kiln_tensor> &inputs,
                                           const std::vector<kiln_scalar> &scalars, nb::handle dtype,
                                           uint64_t given_mask) const {
    std::vector<ArraySpec> specs;
    nb::object named;
    if (dtype) named = nb::module_::import_("kiln._types").attr("output_types")(dtype, outputs_);
    for (size_t i = 0; i < outputs_.size(); i++) {
        if (given_mask >> i & 1) {
            specs.emplace_back(); // its array tells
            continue;
        }
        int32_t rank = 0;
        int64_t sizes[KILN_MAX_RANK];
        check(kiln_program_output_shape(variant.parsed.handle(), inputs.data(), i, text_.keep_dims, &rank, sizes));
        ArraySpec spec;
        nb::object given = named ? nb::object(named[i]) : nb::none();
        if (given.is_none())
            check(kiln_program_output_type(variant.parsed.handle(), inputs.data(), scalars.data(), i, &spec.type));
        else
            spec.type = static_cast<kiln_type>(nb::cast<int>(given));
        spec.sizes.assign(sizes, sizes + rank);
        spec.shape = nb::tuple(nb::cast(spec.sizes));
        spec.type_name = nb::str(kiln_type_name(spec.type));
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::shared_ptr<const Program::Specs> Program::specs(const Variant &variant, const Call &call) {
    SpecKey key;
    const uint64_t given_mask = mask_of(call.given);
    key.numbers.reserve(3 + call.scalars.size() + call.tensors.size() * 5);
    key.numbers.push_back(static_cast<int64_t>(call.scalar_mask));
    key.numbers.push_back(static_cast<int64_t>(given_mask));
    key.numbers.push_back(reinterpret_cast<intptr_t>(call.dtype.ptr()));
    for (const kiln_scalar &scalar : call.scalars) key.numbers.push_back(scalar.type);
    for (const kiln_tensor &tensor : call.tensors) {
        key.numbers.push_back(tensor.type << 8 | tensor.rank);
        key.numbers.insert(key.numbers.end(), tensor.sizes, tensor.sizes + tensor.rank);
    }
    const auto found = specs_.find(key);
    if (found != specs_.end()) return found->second;
    if (specs_.size() >= spec_limit) specs_.clear(); // others may hold what they found
    auto made = std::make_shared<Specs>();
    made->outputs = make_specs(variant, call.tensors, call.scalars, call.dtype, given_mask);
    if (call.dtype) made->dtype = nb::borrow(call.dtype);
    specs_[std::move(key)] = made;
    return made;
}

void Program::read_named_out(Call &call) const {
    for (auto [name, array] : nb::borrow<nb::dict>(call.out)) {
        const std::string text = nb::cast<std::string>(nb::str(name));
        const auto found = std::find(outputs_.begin(), outputs_.end(), text);
        if (found == outputs_.end())
            fail(KILN_E_NAME, "out names '" + text + "', which is no output; the outputs are " + listed(outputs_));
        if (!array.is_none()) call.given[static_cast<size_t>(found - outputs_.begin())] = nb::borrow(array);
    }
}

// An array for the only output, a tuple or a list of one for each, or a dictionary by name; None is as if not there.
void Program::read_out(Call &call) const {
    call.given.resize(outputs_.size());
    if (!call.out) return;
    if (nb::isinstance<nb::dict>(call.out)) return read_named_out(call);
    const bool several = nb::isinstance<nb::tuple>(call.out) || nb::isinstance<nb::list>(call.out);
    nb::object arrays = several ? nb::borrow(call.out) : nb::object(nb::make_tuple(call.out));
    if (nb::len(arrays) != outputs_.size())
        fail(KILN_E_BINDING, "out has " + std::to_string(nb::len(arrays)) + " arrays, expected " +
                                 std::to_string(outputs_.size()) + ": " + listed(outputs_));
    for (size_t i = 0; i < outputs_.size(); i++) {
        nb::object array = arrays[i];
        if (!array.is_none()) call.given[i] = array;
    }
}

nb::object Program::view_given_output(size_t output, Call &call) const {
    const std::string &name = outputs_[output];
    nb::object array = call.given[output];
    const ArrayLibrary &library = library_of(array, "out");
    if (library.is_number()) fail(KILN_E_ARGUMENT, "out for '" + name + "' is a number, expected an array");
    ArrayView view;
    library.view(array, name.c_str(), true, view);
    add_view(view, name.c_str(), call);
    if (!call.library) call.library = &library;
    return array;
}

nb::object Program::allocate_output(const ArraySpec &spec, Call &call) const {
    ArrayView view;
    nb::object array = call.library->allocate(spec, call.first_array, call.place, view);
    call.tensors.push_back(view.tensor);
    if (view.keeper) call.keepers.push_back(std::move(view.keeper));
    if (has_lengths_) call.zeroed.push_back(view.tensor);
    return array;
}

// ---- running ----------------------------------------------------------------------------------------------

bool Program::clear(const kiln_tensor *outputs, size_t count, bool gpu, void *stream) const {
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = bytes_of(outputs[i]);
        if (bytes > 0 && !gpu) memset(outputs[i].data, 0, bytes);
        if (bytes > 0 && gpu && !context_.driver().zero(outputs[i].data, bytes, stream)) return false;
    }
    return true;
}

// A caller that gave no array has nothing behind the ends of rows that it wants kept.
void Program::fill_zeros(const Call &call, void *stream) const {
    if (!clear(call.zeroed.data(), call.zeroed.size(), call.place.gpu, stream))
        fail(KILN_E_LAUNCH, "an output cannot be filled with zeros: earlier work on its device failed");
}

void Program::launch(const Variant &variant, const Call &call) const {
    const kiln_program *program = variant.parsed.handle();
    const kiln_tensor *tensors = call.tensors.data();
    const kiln_scalar *scalars = call.scalars.data();
    const bool host_on_gpu = !call.place.gpu && context_.host_arrays_on_gpu();
    if (!call.place.gpu && !host_on_gpu) {
        fill_zeros(call, nullptr);
        kiln_status status;
        {
            nb::gil_scoped_release unlocked;
            status = kiln_run_cpu(program, tensors, call.tensors.size(), scalars, call.scalars.size());
        }
        return check(status);
    }
    void *stream = call.stream ? stream_of(call.stream) : call.library ? call.library->stream(call.place) : nullptr;
    Driver &driver = context_.driver();
    const CurrentDevice current(driver, call.place.device);
    fill_zeros(call, stream);
    const bool waits = host_on_gpu || (call.library && call.library->synchronizes());
    kiln_status status;
    bool done = true;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_run(program, tensors, call.tensors.size(), scalars, call.scalars.size(), stream);
        if (status == KILN_OK && waits) done = driver.synchronize();
    }
    check(status);
    if (!done) fail(KILN_E_LAUNCH, "the launched kernel or earlier work on its device failed");
}

nb::object Program::call(nb::args args, nb::kwargs kwargs) {
    Call call;
    bind(args, kwargs, call);
    classify(call);
    const Variant &chosen = variant(call.scalar_mask);
    view_inputs(chosen, call);
    read_out(call);
    const size_t given = static_cast<size_t>(
        std::count_if(call.given.begin(), call.given.end(), [](const nb::object &array) { return array.is_valid(); }));
    if (given == outputs_.size() && call.dtype)
        fail(KILN_E_ARGUMENT, "both out and dtype are given; out has types of its own");
    std::shared_ptr<const Specs> made;
    if (given < outputs_.size()) {
        if (!call.library)
            fail(KILN_E_BINDING, "no argument is an array, so that nothing tells what the outputs are: give out");
        made = specs(chosen, call);
    }
    std::vector<nb::object> results;
    for (size_t i = 0; i < outputs_.size(); i++)
        results.push_back(call.given[i] ? view_given_output(i, call) : allocate_output(made->outputs[i], call));
    launch(chosen, call);
    for (size_t i = 0; i < outputs_.size(); i++)
        if (!call.given[i]) results[i] = call.library->finished(std::move(results[i]));
    return one_or_tuple(results);
}

// ---- without data -----------------------------------------------------------------------------------------

// Reads arguments that are (type's number, sizes, strides or None) or numbers.
Variant &Program::describe(nb::handle arguments, Call &call) {
    std::vector<kiln_tensor> tensors;
    size_t i = 0;
    for (nb::handle argument : arguments) {
        nb::tuple fields = nb::isinstance<nb::tuple>(argument) ? nb::borrow<nb::tuple>(argument) : nb::make_tuple();
        if (fields.size() != 3) {
            add_scalar(i++, argument, call);
            continue;
        }
        tensors.push_back(described_tensor(fields));
        i++;
    }
    if (i != parameters_.size())
        fail(KILN_E_BINDING, std::to_string(i) + " arguments are given, expected " + listed(parameters_));
    call.tensors = std::move(tensors);
    return variant(call.scalar_mask);
}

// Outputs without data: as out describes them, the others as they follow from the inputs.
std::vector<kiln_tensor> Program::described_outputs(const Variant &variant, const Call &call, nb::handle out,
                                                    nb::handle dtype) const {
    std::vector<nb::object> given(outputs_.size());
    for (size_t i = 0; i < outputs_.size() && !out.is_none(); i++)
        if (nb::object one = out[i]; !one.is_none()) given[i] = one;
    const std::vector<ArraySpec> specs = make_specs(variant, call.tensors, call.scalars, dtype, mask_of(given));
    std::vector<kiln_tensor> tensors;
    for (size_t i = 0; i < outputs_.size(); i++) {
        const ArraySpec &spec = specs[i];
        tensors.push_back(given[i] ? described_tensor(nb::borrow<nb::tuple>(given[i]))
                                   : kiln_tensor_contiguous(nullptr, spec.type, static_cast<int>(spec.sizes.size()),
                                                            spec.sizes.data()));
    }
    return tensors;
}

nb::list Program::infer(nb::handle arguments, nb::handle out) {
    Call call;
    const Variant &chosen = describe(arguments, call);
    return described(described_outputs(chosen, call, out, nb::handle()));
}

nb::tuple Program::derive(nb::handle arguments, const std::optional<std::string> &wrt,
                          const std::optional<std::string> &saved) {
    Call call;
    const bool known = !arguments.is_none();
    const Variant &chosen = known ? describe(arguments, call) : variant(declared_mask_);
    kiln_gradient_options options = KILN_GRADIENT_OPTIONS_INIT;
    options.wrt = wrt ? wrt->c_str() : nullptr;
    options.saved = saved ? saved->c_str() : nullptr;
    kiln_program *made = nullptr;
    check(kiln_program_gradient(chosen.parsed.handle(), known ? call.tensors.data() : nullptr, &options, &made));
    const std::unique_ptr<kiln_program, void (*)(kiln_program *)> owner(made, kiln_program_destroy);
    nb::list outputs, scalars;
    for (size_t i = 0; i < kiln_program_output_count(made); i++) outputs.append(kiln_program_output_name(made, i));
    for (size_t i = 0; i < kiln_program_scalar_count(made); i++) scalars.append(kiln_program_scalar_name(made, i));
    return nb::make_tuple(kiln_program_text(made), outputs, scalars);
}

// The outputs' tensors come after the inputs'.
Variant &Program::describe_all(nb::handle arguments, nb::handle out, nb::handle out_types, Call &call) {
    Variant &chosen = describe(arguments, call);
    const nb::handle dtype = out_types.is_none() ? nb::handle() : out_types;
    const std::vector<kiln_tensor> outputs = described_outputs(chosen, call, out, dtype);
    call.tensors.insert(call.tensors.end(), outputs.begin(), outputs.end());
    return chosen;
}

const kiln_program *Program::describe_problem(nb::handle arguments, nb::handle out, nb::handle out_types,
                                              std::vector<kiln_tensor> &tensors, std::vector<kiln_scalar> &scalars) {
    Call call;
    const Variant &chosen = describe_all(arguments, out, out_types, call);
    tensors = std::move(call.tensors);
    scalars = std::move(call.scalars);
    return chosen.parsed.handle();
}

void Program::add_to(kiln_pack_writer *writer, nb::handle arguments, nb::handle out, nb::handle out_types, int arch,
                     bool ptx) {
    Call call;
    const Variant &chosen = describe_all(arguments, out, out_types, call);
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_pack_writer_add(writer, chosen.parsed.handle(), call.tensors.data(), call.tensors.size(),
                                      call.scalars.data(), call.scalars.size(), arch, ptx);
    }
    check(status);
}

nb::dict Program::compile(nb::handle arguments, nb::handle out_arrays, nb::handle out_types, int arch, bool ptx,
                          bool compile) {
    Call call;
    const Variant &chosen = describe_all(arguments, out_arrays, out_types, call);
    kiln_kernel *kernel = nullptr;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_compile(chosen.parsed.handle(), call.tensors.data(), call.tensors.size(), call.scalars.data(),
                              call.scalars.size(), arch, ptx, compile, &kernel);
    }
    check(status);
    const std::unique_ptr<kiln_kernel, void (*)(kiln_kernel *)> owner(kernel, kiln_kernel_destroy);
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    check(kiln_kernel_get_info(kernel, &info));
    nb::dict out;
    const auto outputs = call.tensors.end() - static_cast<std::ptrdiff_t>(outputs_.size());
    out["outputs"] = described({outputs, call.tensors.end()});
    out["phases"] = nb::str(kiln_kernel_phases(kernel));
    out["schedule"] = nb::str(info.schedule);
    out["reason"] = nb::str(info.reason);
    out["source"] = nb::str(info.source);
    out["log"] = nb::str(info.log ? info.log : "");
    out["arch"] = info.arch;
    out["rows"] = info.rows;
    out["cols"] = info.cols;
    out["blocks"] = info.blocks;
    out["threads"] = info.threads;
    out["shared_bytes"] = info.shared_bytes;
    out["workspace_bytes"] = info.workspace_bytes;
    out["registers"] = info.registers;
    out["compile_ms"] = info.compile_ms;
    size_t bytes = 0;
    const void *image = kiln_kernel_image(kernel, &bytes);
    out["image"] = image ? nb::object(nb::bytes(image, bytes)) : nb::none();
    return out;
}
