// SPDX-License-Identifier: Apache-2.0
/* A loaded image: the shared object that NVRTC's stand-in made, opened, with the places of its shared variables. */
#ifndef KILN_SOFTWARE_GPU_MODULE_HPP
#define KILN_SOFTWARE_GPU_MODULE_HPP

#include <string>
#include <vector>

#include "device_interface.hpp"
#include "shared_memory.hpp"

namespace simulated {

class Module {
  public:
    Module() = default;
    Module(const Module &) = delete;
    ~Module();

    /* A CUresult. */
    int load(const void *bytes, int device_arch);
    /* NULL if there is none of this name. */
    const kiln_software_kernel *find(const char *name) const;
    /* The static shared variables. */
    size_t static_shared_bytes() const;
    /* All shared variables as the calling thread has them, with so many bytes of dynamic shared memory. */
    std::vector<SharedVariable> shared_variables(size_t dynamic_bytes) const;

  private:
    struct Static {
        std::string name;
        size_t offset, bytes; /* in the thread-local block */
    };
    bool read_symbols(const unsigned char *object, size_t size);

    void *handle = nullptr;
    const kiln_software_image *image = nullptr;
    std::vector<Static> statics;
};

} // namespace simulated

#endif
