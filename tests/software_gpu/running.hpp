// SPDX-License-Identifier: Apache-2.0
/* The grid that runs: its blocks and their threads, and who waits where. grid.cpp decides who goes on; threads.cpp is
 * what the threads themselves call. */
#ifndef KILN_SOFTWARE_GPU_RUNNING_HPP
#define KILN_SOFTWARE_GPU_RUNNING_HPP

#include <memory>

#include "fibre.hpp"
#include "grid.hpp"
#include "races.hpp"
#include "random.hpp"

namespace simulated {

constexpr unsigned warp_size = 32;

struct Copy {
    uintptr_t to;
    const unsigned char *from;
    unsigned char bytes[16]; /* what arrives, if it was read when the copy was asked for */
    int count;
    bool early;
    int group;
};

enum class Waits { nowhere, barrier, cluster_barrier, grid_barrier, shuffle, left, arrivals };

/* A barrier of one block at which what it is sent counts. A phase ends when it is expected and all of it is there. */
struct Arrivals {
    uintptr_t address;
    int bytes; /* expected, less those that have come */
    bool expected;
    int phase;
};

struct Thread {
    Fibre fibre;
    kiln_software_index index;
    Waits waits;
    uint32_t lanes; /* of the shuffle that it waits in */
    int lane_mask;
    unsigned long long value; /* given to the shuffle, then taken from it; the barrier whose arrivals it waits for */
    std::vector<Copy> copies;
    int copy_groups; /* committed */
    bool launch_waited;
};

struct Block {
    kiln_software_index index;
    unsigned number; /* among those that run together: its cluster is number / grid.cluster */
    SharedMemory shared;
    Stacks stacks;
    std::vector<Thread> threads; /* at least as many as the block has */
    unsigned at_barrier, left;
    std::vector<Arrivals> arrivals;
    std::vector<uint16_t> ready;
    uint32_t warp_lanes[max_threads / warp_size]; /* lanes that have not left */
    uint32_t warp_waits[max_threads / warp_size]; /* lanes that wait in a shuffle */
};

struct Running {
    kiln_software_device device;
    const Grid *grid;
    const Memory *memory;
    Races races;
    Random random;
    Fibre host;
    std::vector<std::unique_ptr<Block>> blocks;
    unsigned thread_count; /* of a block */
    unsigned together;     /* the first so many blocks run together */
    Block *block;          /* whose shared memory is in place; NULL before the first */
    unsigned current;      /* the thread of it that runs */
    struct Cluster {
        unsigned at_barrier, left;
    };
    std::vector<Cluster> clusters;
    unsigned at_grid_barrier;
    unsigned *grid_counter; /* of the barrier at which some wait */
    const Memory::Allocation *recent[4];
    unsigned next_recent;
    std::string where;
    Failure failure;

    unsigned rank() const { return block->number % grid->cluster; }
    /* The running thread's number in its cluster. */
    unsigned thread_of_cluster() const { return rank() << thread_bits | current; }
};

/* On the host thread that launched it. */
Running *running();

/* The start of every fibre: the kernel, from its first line to its last. */
void start_thread();

} // namespace simulated

#endif
