// SPDX-License-Identifier: Apache-2.0
// One way to fail: a status and a sentence become the exception that kiln._errors makes of them.
#ifndef KILN_PYTHON_ERROR_HPP
#define KILN_PYTHON_ERROR_HPP

#include <string>

#include <nanobind/nanobind.h>

#include <kiln/kiln.h>

namespace nb = nanobind;

[[noreturn]] void fail(kiln_status status, const std::string &sentence);

// Raises what the library said where status is not KILN_OK. The calling thread's last call must be the one that failed.
inline void check(kiln_status status) {
    if (status != KILN_OK) fail(status, kiln_last_error());
}

#endif
