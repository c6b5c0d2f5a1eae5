// SPDX-License-Identifier: Apache-2.0
// A program's text with its options, parsed for one choice of which parameters are scalars.
#ifndef KILN_PYTHON_SIGNATURE_HPP
#define KILN_PYTHON_SIGNATURE_HPP

#include <optional>
#include <string>
#include <vector>

#include "error.hpp"

struct ProgramText {
    std::string text;
    std::optional<std::string> outputs; // names, comma-separated
    std::vector<int> axes;
    bool all_axes = false;
    bool keep_dims = false;
};

// An owned kiln_program. `scalars` are names, comma-separated.
class ParsedProgram {
  public:
    ParsedProgram(kiln_context *context, const ProgramText &program, const std::string &scalars);
    ~ParsedProgram();
    ParsedProgram(const ParsedProgram &) = delete;
    ParsedProgram &operator=(const ParsedProgram &) = delete;

    const kiln_program *handle() const { return handle_; }
    std::vector<std::string> input_names() const;
    std::vector<std::string> output_names() const;
    std::vector<std::string> scalar_names() const;

  private:
    kiln_program *handle_ = nullptr;
};

std::string joined(const std::vector<std::string> &names);

#endif
