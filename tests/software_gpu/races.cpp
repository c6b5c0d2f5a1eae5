// SPDX-License-Identifier: Apache-2.0
/* Races between blocks. Cells are there once their allocation is used, and grow old with each barrier. */
#include "races.hpp"

#include "failure.hpp"

namespace simulated {

void Races::begin() {
    cells.clear();
    epoch = 1;
}

void Races::pass_barrier() {
    if (epoch == UINT16_MAX)
        begin();
    else
        epoch++;
}

std::string Races::access(const Memory::Allocation &allocation, uintptr_t address, size_t bytes, bool write,
                          unsigned block) {
    const uint16_t self = static_cast<uint16_t>(block % (many - 1) + 1);
    std::unique_ptr<Cell[], Release> &all = cells[allocation.address];
    if (!all) all.reset(static_cast<Cell *>(calloc(allocation.bytes, sizeof(Cell))));
    if (!all) return "whose bytes there is no memory to watch";
    Cell *cell = &all[address - allocation.address];
    for (Cell *end = cell + bytes; cell < end; cell++) {
        const bool written = cell->written == epoch && cell->writer != self,
                   read = cell->read == epoch && cell->reader != self;
        if (written || (write && read))
            return format("byte %zu of an allocation of %zu bytes, which another block %s with no grid barrier between",
                          static_cast<size_t>(cell - &all[0]), allocation.bytes, written ? "wrote" : "read");
        if (write) {
            cell->written = epoch;
            cell->writer = self;
        } else {
            cell->reader = read ? many : self;
            cell->read = epoch;
        }
    }
    return "";
}

} // namespace simulated
