// SPDX-License-Identifier: Apache-2.0
// Programs as targets of XLA's custom calls: XLA calls a handler with device pointers and its stream, from any thread
// and without the interpreter.
#ifndef KILN_PYTHON_XLA_CALLS_HPP
#define KILN_PYTHON_XLA_CALLS_HPP

#include "program.hpp"

// Custom calls whose attribute `program` is this key run the program, whose parameters are all arrays. The program has
// to live as long as they do.
void add_xla_program(nb::object program, const std::string &key);

// Capsules of the handlers, by platform: "cpu" computes on the CPU reference, "CUDA" launches.
nb::dict xla_handlers();

#endif
