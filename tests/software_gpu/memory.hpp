// SPDX-License-Identifier: Apache-2.0
/* Device memory: allocations with canaries at both ends, poisoned until written, and the check of every access. */
#ifndef KILN_SOFTWARE_GPU_MEMORY_HPP
#define KILN_SOFTWARE_GPU_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace simulated {

class Memory {
  public:
    struct Allocation {
        uintptr_t address;
        size_t bytes;
        unsigned char canary;
    };

    /* 0 where memory ran out; aligned to 256 bytes as cuMemAlloc's. */
    uintptr_t allocate(size_t bytes, unsigned char poison);
    /* False for an address that no allocation begins at. *whole: no canary was written over. */
    bool release(uintptr_t address, bool *whole);
    /* The allocation that holds all bytes of [address, address + bytes); NULL for none. */
    const Allocation *find(uintptr_t address, size_t bytes) const;
    /* "12 bytes after the end of an allocation of 4096 bytes" */
    std::string locate(uintptr_t address) const;
    /* The first allocation whose canaries were written over, "" if none was. */
    std::string damage() const;
    long count() const { return static_cast<long>(allocations.size()); }

  private:
    std::map<uintptr_t, Allocation> allocations;
};

} // namespace simulated

#endif
