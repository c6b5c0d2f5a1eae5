/* A block's shared memory: where its variables lie, and who touched each byte last, so that accesses out of bounds, of
 * bytes never written, of bytes still being copied, and races between barriers are seen whatever order threads ran in. */
#ifndef KILN_SOFTWARE_GPU_SHARED_MEMORY_HPP
#define KILN_SOFTWARE_GPU_SHARED_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simulated {

struct SharedVariable {
    std::string name;
    uintptr_t address;
    size_t bytes;
};

class SharedMemory {
public:
    /* For the launches of one grid. */
    void configure(std::vector<SharedVariable> variables);
    /* A new block: everything is poisoned and unwritten. */
    void begin_block(unsigned char poison);
    /* All threads have passed a barrier. */
    void pass_barrier() { epoch++; }

    /* Whether the address is near enough to be meant for shared memory. */
    bool contains(uintptr_t address) const { return address - low < high - low; }
    /* What is wrong with an access by a thread, NULL if nothing is. Valid until the next call. */
    const char *access(uintptr_t address, size_t bytes, bool write, unsigned thread);
    /* The bytes are being copied until finish_copy; nobody may touch them. Returns as access does. */
    const char *begin_copy(uintptr_t address, size_t bytes, unsigned thread);
    void finish_copy(uintptr_t address, const unsigned char *from, size_t bytes, unsigned thread);

private:
    struct Cell {
        uint32_t written, read; /* epochs */
        uint16_t writer, reader; /* reader: many_readers if there are several */
        bool copying;
    };
    static constexpr uint16_t many_readers = 0xffff;

    Cell *find(uintptr_t address, size_t bytes, const char **name);
    const char *blame(const char *variable, const char *what);

    std::vector<SharedVariable> variables;
    std::vector<size_t> first_cell; /* of each variable */
    std::vector<Cell> cells;
    uintptr_t low = 0, high = 0;
    uint32_t epoch = 1, block_start = 1;
    std::string fault;
    unsigned char poison = 0;
};

} // namespace simulated

#endif
