// SPDX-License-Identifier: Apache-2.0
/* Global memory in a cooperative grid: which block touched each byte last, so that blocks which use the same bytes with
 * no grid barrier between are seen whatever order they ran in. */
#ifndef KILN_SOFTWARE_GPU_RACES_HPP
#define KILN_SOFTWARE_GPU_RACES_HPP

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "memory.hpp"

namespace simulated {

class Races {
  public:
    /* A new grid. */
    void begin();
    /* All threads of the grid have passed a barrier. */
    void pass_barrier();
    /* What is wrong with an access by a block, "" if nothing is. */
    std::string access(const Memory::Allocation &allocation, uintptr_t address, size_t bytes, bool write,
                       unsigned block);

  private:
    struct Cell {
        uint16_t written, read, writer, reader;
    }; /* epochs, and blocks counted from 1 */
    static constexpr uint16_t many = 0xffff;
    struct Release {
        void operator()(Cell *memory) const { free(memory); }
    };
    std::map<uintptr_t, std::unique_ptr<Cell[], Release>> cells; /* by the address of the allocation */
    uint16_t epoch = 1;
};

} // namespace simulated

#endif
