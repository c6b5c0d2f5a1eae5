// SPDX-License-Identifier: Apache-2.0
/* Shared memory byte by byte. Epochs grow with each barrier and each block, so that no cell is cleared between them. */
#include "shared_memory.hpp"

#include <algorithm>
#include <cstring>

#include "failure.hpp"

namespace simulated {

void SharedMemory::configure(std::vector<SharedVariable> given) {
    variables = std::move(given);
    first_cell.clear();
    size_t count = 0;
    low = high = 0;
    for (const SharedVariable &v : variables) {
        first_cell.push_back(count);
        count += v.bytes;
        low = low ? std::min(low, v.address) : v.address;
        high = std::max(high, v.address + v.declared_bytes);
    }
    cells.assign(count, Cell());
    epoch = block_start = cluster_start = 1;
    away.clear();
}

void SharedMemory::begin_block(unsigned char with, bool elsewhere, unsigned warps) {
    sends = 0;
    for (std::vector<uint32_t> &to : sent) to.assign(elsewhere ? warps : 0, 0);
    poison = with;
    cluster_start = block_start = ++epoch;
    written_from_afar = false;
    if (elsewhere)
        away.assign(cells.size(), poison);
    else
        for (const SharedVariable &v : variables) memset(reinterpret_cast<void *>(v.address), poison, v.bytes);
}

void SharedMemory::put_away() {
    for (size_t i = 0; i < variables.size(); i++)
        memcpy(&away[first_cell[i]], reinterpret_cast<const void *>(variables[i].address), variables[i].bytes);
}

void SharedMemory::bring_back() {
    for (size_t i = 0; i < variables.size(); i++)
        memcpy(reinterpret_cast<void *>(variables[i].address), &away[first_cell[i]], variables[i].bytes);
}

SharedMemory::Cell *SharedMemory::find(uintptr_t address, size_t bytes, const char **name) {
    for (size_t i = 0; i < variables.size(); i++) {
        const SharedVariable &v = variables[i];
        if (address - v.address >= v.bytes) continue;
        *name = v.name.c_str();
        return v.bytes - (address - v.address) >= bytes ? &cells[first_cell[i] + (address - v.address)] : nullptr;
    }
    return nullptr;
}

bool SharedMemory::is_written(uintptr_t address) const {
    for (size_t i = 0; i < variables.size(); i++)
        if (address - variables[i].address < variables[i].bytes)
            return cells[first_cell[i] + (address - variables[i].address)].written >= block_start;
    return true;
}

const char *SharedMemory::blame(const char *variable, const char *what) {
    fault = format("shared variable '%s', %s", variable, what);
    return fault.c_str();
}

const char *SharedMemory::access(uintptr_t address, size_t bytes, bool write, unsigned thread) {
    const char *name = "";
    Cell *cell = find(address, bytes, &name);
    if (!cell) return "shared memory outside of its variables";
    for (Cell *end = cell + bytes; cell < end; cell++) {
        if (cell->copying) return blame(name, "whose asynchronous copy has not been waited for");
        if (!write && cell->written < block_start) return blame(name, "which no thread of the block has written");
        if (written_from_afar && cell->written >= cluster_start && (cell->writer ^ thread) >> thread_bits)
            return blame(name, "which another block wrote with no cluster barrier between");
        if (cell->written == epoch && cell->writer != thread)
            return blame(name, "which another thread wrote with no barrier between");
        if (!write) {
            cell->reader = cell->read == epoch && cell->reader != thread ? many_readers : static_cast<uint16_t>(thread);
            cell->read = epoch;
            cell->read_at = sends;
            continue;
        }
        if (cell->read == epoch && cell->reader != thread)
            return blame(name, "which another thread read with no barrier between");
        cell->written = epoch;
        cell->writer = static_cast<uint16_t>(thread);
    }
    return nullptr;
}

void SharedMemory::send(unsigned rank, unsigned warp) { sent[rank][warp] = ++sends; }

bool SharedMemory::is_read_before_sends(const Cell &cell, unsigned rank) const {
    bool all = !sent[rank].empty();
    for (uint32_t last : sent[rank]) all = all && last > cell.read_at;
    return all;
}

const char *SharedMemory::write_from_afar(uintptr_t address, uint32_t word, unsigned thread) {
    const char *name = "";
    Cell *cell = find(address, sizeof word, &name);
    if (!cell) return "shared memory outside of its variables";
    if (cluster_start == block_start) return blame(name, "of a block that no cluster barrier has shown to have begun");
    memcpy(&away[static_cast<size_t>(cell - cells.data())], &word, sizeof word);
    written_from_afar = true;
    for (Cell *end = cell + sizeof word; cell < end; cell++) {
        if (cell->copying) return blame(name, "whose asynchronous copy has not been waited for");
        if (cell->written >= cluster_start && cell->writer != thread)
            return blame(name, "which another thread wrote with no cluster barrier between");
        if (cell->read >= cluster_start && !is_read_before_sends(*cell, thread >> thread_bits))
            return blame(name, "which a thread of that block read with no cluster barrier between");
        cell->written = epoch;
        cell->writer = static_cast<uint16_t>(thread);
    }
    return nullptr;
}

const char *SharedMemory::begin_copy(uintptr_t address, size_t bytes, unsigned thread) {
    const char *wrong = access(address, bytes, true, thread), *name = "";
    if (wrong) return wrong;
    memset(reinterpret_cast<void *>(address), poison, bytes);
    Cell *cell = find(address, bytes, &name);
    for (size_t i = 0; i < bytes; i++) cell[i].copying = true;
    return nullptr;
}

void SharedMemory::finish_copy(uintptr_t address, const unsigned char *from, size_t bytes, unsigned thread) {
    const char *name = "";
    Cell *cell = find(address, bytes, &name);
    memcpy(reinterpret_cast<void *>(address), from, bytes);
    for (size_t i = 0; i < bytes; i++) {
        cell[i].copying = false;
        cell[i].written = epoch;
        cell[i].writer = static_cast<uint16_t>(thread);
    }
}

} // namespace simulated
