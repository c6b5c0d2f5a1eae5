// SPDX-License-Identifier: Apache-2.0
/* One compile of a kernel's source with the system's C++ compiler. */
#ifndef KILN_SOFTWARE_GPU_COMPILER_HPP
#define KILN_SOFTWARE_GPU_COMPILER_HPP

#include <string>
#include <vector>

namespace simulated {

struct Compiled {
    bool good = false;
    std::vector<unsigned char> object; /* a shared object */
    std::string log;
};

/* The source as NVRTC would take it for sm_<arch>; name: the file that messages speak of. */
Compiled compile_kernel(const std::string &source, const std::string &name, int arch, bool family);

} // namespace simulated

#endif
