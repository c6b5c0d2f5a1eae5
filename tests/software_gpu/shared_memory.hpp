// SPDX-License-Identifier: Apache-2.0
/* A block's shared memory: where its variables lie, and who touched each byte last, so that accesses out of bounds, of
 * bytes never written, of bytes still being copied, and races between barriers are seen whatever order threads ran in.
 */
#ifndef KILN_SOFTWARE_GPU_SHARED_MEMORY_HPP
#define KILN_SOFTWARE_GPU_SHARED_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simulated {

/* Threads of a cluster are numbered through: a thread's number in its block and the rank of that. */
constexpr unsigned cluster_limit = 16, thread_bits = 10, max_threads = 1u << thread_bits;

struct SharedVariable {
    std::string name;
    uintptr_t address;
    size_t bytes;
    size_t declared_bytes; /* more where a launch asks for less than the most */
};

/* Atomic ones change what is there, and do not get in each other's way. */
enum class Access { read, write, atomic };

class SharedMemory {
  public:
    /* For the launches of one grid. */
    void configure(std::vector<SharedVariable> variables);
    /* A new block: everything is poisoned and unwritten. Elsewhere: put_away comes before anything else. */
    void begin_block(unsigned char poison, bool elsewhere, unsigned warps);
    /* All threads have passed a barrier. */
    void pass_barrier() { epoch++; }
    /* All threads of the cluster have. */
    void pass_cluster_barrier() {
        cluster_start = ++epoch;
        written_from_afar = false;
    }

    /* Blocks that run together have their variables at the same addresses in turn. */
    void put_away();
    void bring_back();

    /* Whether the address is near enough to be meant for shared memory. */
    bool contains(uintptr_t address) const { return high && address - (low - margin) < high - low + 2 * margin; }
    /* False for a byte of the block's variables that no thread of it has written. */
    bool is_written(uintptr_t address) const;
    /* What is wrong with an access by a thread, NULL if nothing is. Valid until the next call. */
    const char *access(uintptr_t address, size_t bytes, Access how, unsigned thread);
    /* These lanes of a warp of the block have met: what each did is done for the others. */
    void meet(unsigned warp, uint32_t lanes);
    /* The same for a write of 4 bytes by a thread of another block of the cluster, which is done if it is right. */
    const char *write_from_afar(uintptr_t address, uint32_t word, unsigned thread);
    /* A warp of the block sends to a block of the cluster what that waits for: all that the warp has read before it has
     * been read when that block goes on. */
    void send(unsigned rank, unsigned warp);
    /* Whether that happened after the last cluster barrier. */
    bool waits_for_cluster_barrier() const { return written_from_afar; }
    /* The bytes are being copied until finish_copy; nobody may touch them. Returns as access does. */
    const char *begin_copy(uintptr_t address, size_t bytes, unsigned thread);
    void finish_copy(uintptr_t address, const unsigned char *from, size_t bytes, unsigned thread);

  private:
    /* By lanes of one warp of the cluster, or of several. */
    struct Use {
        uint32_t epoch, moment, lanes;
        uint16_t warp;
    };
    struct Cell {
        Use written, read;
        bool atomically; /* written */
        bool copying;
    };
    static constexpr uint16_t several_warps = 0xffff;
    static constexpr unsigned lane_bits = 5, lanes_of_warp = 1u << lane_bits;
    static constexpr uintptr_t margin = 256; /* no more than device memory's canaries */

    Cell *find(uintptr_t address, size_t bytes, const char **name);
    /* Whether the thread knows of all of a use, which others had a part in: they have met since. */
    bool knows(const Use &use, unsigned thread) const;
    void add(Use &use, unsigned thread) const;
    void note_read(uintptr_t address, unsigned thread);
    /* Whether each warp of the block that has read the byte since it was first sent to has sent to that block since. */
    bool is_read_before_sends(uintptr_t address, unsigned rank) const;
    const char *blame(const char *variable, const char *what);

    std::vector<SharedVariable> variables;
    std::vector<size_t> first_cell; /* of each variable */
    std::vector<Cell> cells;
    uintptr_t low = 0, high = 0;
    std::vector<unsigned char> away; /* all variables' bytes while another block runs */
    uint32_t epoch = 1, block_start = 1, cluster_start = 1;
    uint32_t moment = 1;       /* grows when lanes meet */
    std::vector<uint32_t> met; /* when each thread of the block last met each lane of its warp */
    bool written_from_afar = false;
    uint32_t sends = 0;
    std::vector<uint32_t> sent[cluster_limit];        /* to each block, by each warp: the number of its last one */
    std::map<uintptr_t, std::vector<uint32_t>> reads; /* of a byte that is sent to, by each warp: 1 + the number of the
                                                         block's sends before the last one; 0: none */
    std::string fault;
    unsigned char poison = 0;
};

} // namespace simulated

#endif
