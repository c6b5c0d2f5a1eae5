// SPDX-License-Identifier: Apache-2.0
#include "signature.hpp"

namespace {

using Count = size_t (*)(const kiln_program *);
using Name = const char *(*)(const kiln_program *, size_t);

std::vector<std::string> names_of(const kiln_program *program, Count count, Name name) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count(program); i++) names.emplace_back(name(program, i));
    return names;
}

} // namespace

ParsedProgram::ParsedProgram(kiln_context *context, const ProgramText &program, const std::string &scalars) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    static const int no_axes = 0;
    options.outputs = program.outputs ? program.outputs->c_str() : nullptr;
    options.scalars = scalars.empty() ? nullptr : scalars.c_str();
    options.axes = program.axes.empty() ? &no_axes : program.axes.data();
    options.axis_count = program.axes.size();
    options.all_axes = program.all_axes;
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_program_create(context, program.text.c_str(), &options, &handle_);
    }
    check(status);
}

ParsedProgram::~ParsedProgram() {
    nb::gil_scoped_release unlocked;
    kiln_program_destroy(handle_);
}

std::vector<std::string> ParsedProgram::input_names() const {
    return names_of(handle_, kiln_program_input_count, kiln_program_input_name);
}

std::vector<std::string> ParsedProgram::output_names() const {
    return names_of(handle_, kiln_program_output_count, kiln_program_output_name);
}

std::vector<std::string> ParsedProgram::scalar_names() const {
    return names_of(handle_, kiln_program_scalar_count, kiln_program_scalar_name);
}

std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ",") + name;
    return text;
}
