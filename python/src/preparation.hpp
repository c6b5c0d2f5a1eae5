// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled before they are needed, several at a time. kiln/_prepare.py is what users see.
#ifndef KILN_PYTHON_PREPARATION_HPP
#define KILN_PYTHON_PREPARATION_HPP

#include "program.hpp"

class Preparation {
  public:
    // problems: of (program, arguments, out, out_types, arch), where arch 0 is the device of that ordinal. tell is
    // called with the numbers of problems done and in all, then index, status, its name and sentence; it may be none.
    Preparation(nb::object context, nb::list problems, int device, int jobs, nb::object tell);
    ~Preparation();
    Preparation(const Preparation &) = delete;
    Preparation &operator=(const Preparation &) = delete;

    // Whether all are done; waits at most that long. Raises what the first that failed came to.
    bool wait(int64_t timeout_ms) const;
    void cancel() const;
    nb::tuple progress() const;           // how many are done, of how many
    nb::tuple result(size_t index) const; // done, status, its name, sentence

  private:
    nb::object context_;
    nb::object *tell_ = nullptr; // not a member, since in one case it lives longer
    kiln_preparation *handle_ = nullptr;
};

#endif
