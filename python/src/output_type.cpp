// SPDX-License-Identifier: Apache-2.0
// Types of outputs by the library's public calls alone. A program that goes on with `popcount(~(y ^ y))` tells the type
// of y whatever its value: all bits of 0 are counted, 1 of a bool, 32 or 64 of an integer; a float has no `^`. It is
// run on the CPU reference, for one element.
#include "signature.hpp"

namespace {

constexpr const char *probe_name = "kiln_output_type";

kiln_type widest_float(const std::vector<kiln_tensor> &inputs) {
    kiln_type widest = KILN_F32;
    bool found = false;
    for (const kiln_tensor &input : inputs) {
        if (input.type > KILN_E5M2) continue;
        const size_t size = kiln_type_size(input.type), most = kiln_type_size(widest);
        if (!found || size > most)
            widest = input.type;
        else if (size == most && input.type != widest)
            widest = KILN_F32;
        found = true;
    }
    return widest;
}

kiln_tensor one_element(kiln_type type, int rank, void *data) {
    int64_t ones[KILN_MAX_RANK];
    for (int64_t &size : ones) size = 1;
    return kiln_tensor_contiguous(data, type, rank, ones);
}

} // namespace

kiln_type output_type(kiln_context *context, const ProgramText &program, const ParsedProgram &parsed, size_t output,
                      const std::vector<kiln_tensor> &inputs, const std::vector<kiln_scalar> &scalars) {
    const std::string name = parsed.output_names()[output];
    ProgramText probe = program;
    probe.text += std::string("\n") + probe_name + " = popcount(~(" + name + " ^ " + name + "))";
    probe.outputs = joined(parsed.output_names()) + "," + probe_name;
    const ParsedProgram probed(context, probe, joined(parsed.scalar_names()));

    int64_t zeros[KILN_MAX_TENSORS] = {}, bits = 0;
    std::vector<double> values(parsed.output_names().size());
    std::vector<kiln_tensor> tensors;
    int rank = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
        tensors.push_back(one_element(inputs[i].type, inputs[i].rank, &zeros[i]));
        if (inputs[i].rank > rank) rank = inputs[i].rank;
    }
    for (double &value : values) tensors.push_back(one_element(KILN_F64, rank, &value));
    tensors.push_back(one_element(KILN_I64, rank, &bits));
    kiln_status status;
    {
        nb::gil_scoped_release unlocked;
        status = kiln_run_cpu(probed.handle(), tensors.data(), tensors.size(), scalars.data(), scalars.size());
    }
    if (status == KILN_E_TYPE) return widest_float(inputs);
    check(status);
    if (bits == 1) return KILN_BOOL;
    return bits == 32 ? KILN_I32 : KILN_I64;
}
