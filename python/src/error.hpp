// SPDX-License-Identifier: Apache-2.0
// One way to fail: a status and a sentence become the exception that kiln._errors makes of them.
#ifndef KILN_PYTHON_ERROR_HPP
#define KILN_PYTHON_ERROR_HPP

#include <string>

#include <nanobind/nanobind.h>

#include <kiln/kiln.h>

namespace nb = nanobind;

// line, column: the place in the program's text, from 1; 0 where there is none.
[[noreturn]] void fail(kiln_status status, const std::string &sentence, int line = 0, int column = 0);

// Raises what the library said where status is not KILN_OK. The calling thread's last call must be the one that failed.
inline void check(kiln_status status) {
    if (status == KILN_OK) return;
    kiln_error_info info = KILN_ERROR_INFO_INIT;
    kiln_last_error_info(&info);
    fail(status, info.message, info.line, info.column);
}

#endif
