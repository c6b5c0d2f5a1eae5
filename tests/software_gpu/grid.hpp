// SPDX-License-Identifier: Apache-2.0
/* Runs one grid: clusters one after another, or all blocks together, each thread on a fibre, in an order drawn from a
 * seed. */
#ifndef KILN_SOFTWARE_GPU_GRID_HPP
#define KILN_SOFTWARE_GPU_GRID_HPP

#include <cstdint>
#include <vector>

#include "device_interface.hpp"
#include "failure.hpp"
#include "memory.hpp"
#include "shared_memory.hpp"

namespace simulated {

struct Grid {
    const char *kernel_name;
    void (*enter)(void **parameters);
    void **parameters;
    kiln_software_index blocks, threads;
    unsigned cluster; /* blocks of one; blocks.x is a multiple of it */
    bool cooperative; /* all blocks run together */
    bool dependent;   /* may begin before the grid launched before it has ended: threads wait for that */
    std::vector<SharedVariable> shared;
    uint64_t seed;
};

/* The device as compiled kernels see it; each loaded image is told its address. */
kiln_software_device *device_state();

/* Returns when the grid has ended. One at a time: the caller holds the device's lock. */
Failure run_grid(const Grid &grid, const Memory &memory);

} // namespace simulated

#endif
