// SPDX-License-Identifier: Apache-2.0
// Kernels on their way into a pack. One thread at a time: kiln/_pack_writer.py sees to that.
#ifndef KILN_PYTHON_PACK_WRITER_HPP
#define KILN_PYTHON_PACK_WRITER_HPP

#include "program.hpp"

class PackWriter {
  public:
    PackWriter() { check(kiln_pack_writer_create(&handle_)); }
    ~PackWriter() { kiln_pack_writer_destroy(handle_); }
    PackWriter(const PackWriter &) = delete;
    PackWriter &operator=(const PackWriter &) = delete;

    // As Program::compile.
    void add(Program &program, nb::handle arguments, nb::handle out, nb::handle out_types, int arch, bool ptx) {
        program.add_to(handle_, arguments, out, out_types, arch, ptx);
    }

    nb::bytes finish() {
        const void *bytes = nullptr;
        size_t size = 0;
        kiln_status status;
        {
            nb::gil_scoped_release unlocked;
            status = kiln_pack_writer_finish(handle_, &bytes, &size);
        }
        check(status);
        return nb::bytes(bytes, size);
    }

  private:
    kiln_pack_writer *handle_ = nullptr;
};

#endif
