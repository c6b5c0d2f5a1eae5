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
    met.assign(max_threads * lanes_of_warp, 0);
    moment = 1;
    epoch = block_start = cluster_start = 1;
    away.clear();
}

void SharedMemory::begin_block(unsigned char with, bool elsewhere, unsigned warps) {
    sends = 0;
    for (std::vector<uint32_t> &to : sent) to.assign(elsewhere ? warps : 0, 0);
    reads.clear();
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
            return cells[first_cell[i] + (address - variables[i].address)].written.epoch >= block_start;
    return true;
}

const char *SharedMemory::blame(const char *variable, const char *what) {
    fault = format("shared variable '%s', %s", variable, what);
    return fault.c_str();
}

void SharedMemory::meet(unsigned warp, uint32_t lanes) {
    moment++;
    for (unsigned lane = 0; lane < lanes_of_warp; lane++)
        for (unsigned other = 0; other < lanes_of_warp && lanes >> lane & 1; other++)
            if (lanes >> other & 1) met[(warp << lane_bits | lane) << lane_bits | other] = moment;
}

bool SharedMemory::knows(const Use &use, unsigned thread) const {
    if (use.epoch != epoch) return true;
    const uint32_t others = use.lanes & ~(1u << thread % lanes_of_warp);
    bool all = use.warp == thread >> lane_bits;
    for (unsigned lane = 0; lane < lanes_of_warp && all; lane++)
        all = !(others >> lane & 1) || met[thread % max_threads << lane_bits | lane] > use.moment;
    return all;
}

void SharedMemory::add(Use &use, unsigned thread) const {
    const uint16_t warp = static_cast<uint16_t>(thread >> lane_bits);
    if (use.epoch != epoch) use = {epoch, moment, 0, warp};
    use.lanes |= 1u << thread % lanes_of_warp;
    use.moment = moment;
    if (use.warp != warp) use.warp = several_warps;
}

const char *SharedMemory::access(uintptr_t address, size_t bytes, Access how, unsigned thread) {
    const char *name = "";
    Cell *cell = find(address, bytes, &name);
    if (!cell) return "shared memory outside of its variables";
    for (Cell *end = cell + bytes; cell < end; cell++) {
        Use &written = cell->written;
        if (cell->copying) return blame(name, "whose asynchronous copy has not been waited for");
        if (how != Access::write && written.epoch < block_start)
            return blame(name, "which no thread of the block has written");
        if (written_from_afar && written.epoch >= cluster_start &&
            (written.warp ^ thread >> lane_bits) >> (thread_bits - lane_bits))
            return blame(name, "which another block wrote with no cluster barrier between");
        if (!(how == Access::atomic && cell->atomically) && !knows(written, thread))
            return blame(name, "which another thread wrote with no barrier between");
        if (how == Access::read) {
            add(cell->read, thread);
            note_read(address + bytes - static_cast<size_t>(end - cell), thread);
            continue;
        }
        if (!knows(cell->read, thread)) return blame(name, "which another thread read with no barrier between");
        if (how == Access::write || !cell->atomically) written.epoch = 0;
        cell->atomically = how == Access::atomic;
        add(written, thread);
        if (cell->read.epoch == epoch) cell->read.lanes = 0;
    }
    return nullptr;
}

void SharedMemory::note_read(uintptr_t address, unsigned thread) {
    if (reads.empty()) return;
    const auto found = reads.find(address);
    if (found == reads.end()) return;
    const size_t warp = thread % max_threads >> lane_bits;
    if (found->second.size() <= warp) found->second.resize(warp + 1);
    found->second[warp] = sends + 1;
}

void SharedMemory::send(unsigned rank, unsigned warp) { sent[rank][warp] = ++sends; }

bool SharedMemory::is_read_before_sends(uintptr_t address, unsigned rank) const {
    const std::vector<uint32_t> &by = reads.at(address), &to = sent[rank];
    for (size_t warp = 0; warp < by.size(); warp++)
        if (by[warp] && (warp >= to.size() || to[warp] < by[warp])) return false;
    return true;
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
        if (cell->written.epoch >= cluster_start &&
            (cell->written.warp != thread >> lane_bits || cell->written.lanes != 1u << thread % lanes_of_warp))
            return blame(name, "which another thread wrote with no cluster barrier between");
        const uintptr_t byte = address + sizeof word - static_cast<size_t>(end - cell);
        const bool first = reads.emplace(byte, std::vector<uint32_t>()).second;
        if (cell->read.epoch >= cluster_start && (first || !is_read_before_sends(byte, thread >> thread_bits)))
            return blame(name, "which a thread of that block read with no cluster barrier between");
        cell->written.epoch = 0;
        cell->atomically = false;
        add(cell->written, thread);
    }
    return nullptr;
}

const char *SharedMemory::begin_copy(uintptr_t address, size_t bytes, unsigned thread) {
    const char *wrong = access(address, bytes, Access::write, thread), *name = "";
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
        cell[i].written.epoch = 0;
        add(cell[i].written, thread);
    }
}

} // namespace simulated
