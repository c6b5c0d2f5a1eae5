// SPDX-License-Identifier: Apache-2.0
/* Device memory. Kernels' accesses are checked to the byte; canaries see what host code writes. */
#include "memory.hpp"

#include <cstdlib>
#include <cstring>

#include "failure.hpp"

namespace simulated {

static constexpr size_t margin = 256; /* of canaries on each side, and the alignment */

static size_t padded(size_t bytes) { return (bytes + margin - 1) / margin * margin; }

uintptr_t Memory::allocate(size_t bytes, unsigned char poison) {
    if (bytes > SIZE_MAX / 2) return 0;
    unsigned char *memory = static_cast<unsigned char *>(aligned_alloc(margin, padded(bytes) + 2 * margin));
    if (!memory) return 0;
    const unsigned char canary = static_cast<unsigned char>(0xc5 ^ poison);
    memset(memory, canary, margin);
    memset(memory + margin, poison, bytes);
    memset(memory + margin + bytes, canary, padded(bytes) - bytes + margin);
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory) + margin;
    allocations[address] = {address, bytes, canary};
    return address;
}

static bool is_whole(const Memory::Allocation &a) {
    const unsigned char *data = reinterpret_cast<const unsigned char *>(a.address);
    for (size_t i = 1; i <= margin; i++)
        if (data[-static_cast<ptrdiff_t>(i)] != a.canary) return false;
    for (size_t i = a.bytes; i < padded(a.bytes) + margin; i++)
        if (data[i] != a.canary) return false;
    return true;
}

bool Memory::release(uintptr_t address, bool *whole) {
    auto found = allocations.find(address);
    if (found == allocations.end()) return false;
    *whole = is_whole(found->second);
    free(reinterpret_cast<void *>(address - margin));
    allocations.erase(found);
    return true;
}

const Memory::Allocation *Memory::find(uintptr_t address, size_t bytes) const {
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return nullptr;
    const Allocation &a = std::prev(after)->second;
    return address - a.address <= a.bytes && a.bytes - (address - a.address) >= bytes ? &a : nullptr;
}

std::string Memory::locate(uintptr_t address) const {
    constexpr size_t far = 1 << 20;
    auto after = allocations.upper_bound(address);
    if (after != allocations.begin()) {
        const Allocation &a = std::prev(after)->second;
        if (address - a.address < a.bytes)
            return format("at byte %zu of an allocation of %zu bytes", address - a.address, a.bytes);
        const size_t past = address - a.address - a.bytes;
        const bool nearest = after == allocations.end() || past <= after->first - address;
        if (past < far && nearest)
            return format("%zu bytes after the end of an allocation of %zu bytes", past, a.bytes);
    }
    if (after != allocations.end() && after->first - address < far)
        return format("%zu bytes before the start of an allocation of %zu bytes", after->first - address,
                      after->second.bytes);
    return "far from any allocation";
}

std::string Memory::damage() const {
    for (const auto &entry : allocations)
        if (!is_whole(entry.second))
            return format("the bytes around an allocation of %zu bytes were written", entry.second.bytes);
    return "";
}

} // namespace simulated
