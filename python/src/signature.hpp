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

// The type that output number `output` has by the library's rule: that of its expression, where a float is as wide as
// the widest float among the inputs. Only types and ranks of the inputs matter.
kiln_type output_type(kiln_context *context, const ProgramText &program, const ParsedProgram &parsed, size_t output,
                      const std::vector<kiln_tensor> &inputs, const std::vector<kiln_scalar> &scalars);

std::string joined(const std::vector<std::string> &names);

#endif
