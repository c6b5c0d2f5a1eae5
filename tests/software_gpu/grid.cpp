// SPDX-License-Identifier: Apache-2.0
/* Grids and blocks. Of the blocks that run together and their threads, which goes on next is drawn. When none can,
 * those that wait do so for threads that will never come: the launch fails. */
#include "grid.hpp"

#include <cstring>

#include "running.hpp"

namespace simulated {

namespace {

/* Blocks that are kept for later launches, with their stacks. */
constexpr size_t kept_blocks = cluster_limit;

void begin_block(Running *r, unsigned number, kiln_software_index index) {
    const kiln_software_index &n = r->grid->threads;
    static const unsigned char poisons[] = {0xff, 0x7f, 0xa5, 0xfe, 0x55};
    Block &block = *r->blocks[number];
    block.index = index;
    block.number = number;
    block.at_barrier = block.left = 0;
    block.ready.clear();
    block.arrivals.clear();
    memset(block.warp_waits, 0, sizeof block.warp_waits);
    memset(block.warp_lanes, 0, sizeof block.warp_lanes);
    for (unsigned t = 0; t < r->thread_count; t++) {
        Thread &thread = block.threads[t];
        fibre_reset(thread.fibre, block.stacks.at(t), start_thread);
        thread.index = {t % n.x, t / n.x % n.y, t / n.x / n.y};
        thread.waits = Waits::nowhere;
        thread.copies.clear();
        thread.copy_groups = 0;
        thread.launch_waited = false;
        block.warp_lanes[t / warp_size] |= 1u << t % warp_size;
        block.ready.push_back(static_cast<uint16_t>(t));
    }
    r->random.shuffle(block.ready);
    block.shared.begin_block(poisons[r->grid->seed % sizeof poisons], r->together > 1,
                             (r->thread_count + warp_size - 1) / warp_size);
}

/* Mostly the block that ran last, since another one's shared memory has to be brought; now and then any. NULL if none
 * can go on. */
Block *choose_block(Running *r) {
    if (r->together == 1) return r->blocks[0]->ready.empty() ? nullptr : r->blocks[0].get();
    if (r->block && !r->block->ready.empty() && r->random.below(128)) return r->block;
    const unsigned start = r->random.below(r->together);
    for (unsigned i = 0; i < r->together; i++) {
        Block *block = r->blocks[(start + i) % r->together].get();
        if (!block->ready.empty()) return block;
    }
    return nullptr;
}

void enter_block(Running *r, Block *block) {
    if (block == r->block) return;
    if (r->together > 1) {
        if (r->block) r->block->shared.put_away();
        block->shared.bring_back();
    }
    r->block = block;
    r->device.block = block->index;
    r->device.cluster_rank = r->rank();
}

/* Mostly the thread that became ready last, which keeps warps together; now and then any. */
unsigned choose_thread(Running *r) {
    std::vector<uint16_t> &ready = r->block->ready;
    const uint32_t count = static_cast<uint32_t>(ready.size());
    if (r->random.below(8) == 0) std::swap(ready[count - 1], ready[r->random.below(count)]);
    const unsigned chosen = ready.back();
    ready.pop_back();
    return chosen;
}

/* What the threads of the first few blocks that have not ended wait for. */
std::string describe_waiting(const Running *r) {
    std::string text;
    unsigned told = 0, ended = 0;
    for (unsigned b = 0; b < r->together; b++) {
        const Block &block = *r->blocks[b];
        const bool all_left = block.left == r->thread_count;
        unsigned counts[] = {0, 0, 0, 0, 0, 0, 0};
        ended += all_left;
        if (all_left || told++ >= 3) continue;
        for (unsigned t = 0; t < r->thread_count; t++) counts[static_cast<int>(block.threads[t].waits)]++;
        text += format(", block (%u, %u, %u): %u threads wait at a barrier", block.index.x, block.index.y,
                       block.index.z, counts[static_cast<int>(Waits::barrier)]);
        if (const unsigned n = counts[static_cast<int>(Waits::cluster_barrier)])
            text += format(", %u at one of the cluster", n);
        if (const unsigned n = counts[static_cast<int>(Waits::grid_barrier)])
            text += format(", %u at one of the grid", n);
        if (const unsigned n = counts[static_cast<int>(Waits::arrivals)])
            text += format(", %u for what their block is sent", n);
        text += format(", %u in a shuffle and %u have left", counts[static_cast<int>(Waits::shuffle)], block.left);
    }
    if (r->together > 1) text += format("; of %u blocks that run together %u have exited", r->together, ended);
    return text;
}

/* The first r->together blocks, from `first` on along x. */
void run_together(Running *r, kiln_software_index first) {
    const kiln_software_index &n = r->grid->blocks;
    r->block = nullptr;
    r->at_grid_barrier = 0;
    r->clusters.assign(r->together / r->grid->cluster, {0, 0});
    for (unsigned b = 0; b < r->together; b++) {
        const unsigned x = first.x + b;
        begin_block(r, b, {x % n.x, first.y + x / n.x % n.y, first.z + x / n.x / n.y});
    }
    Block *block;
    while (!r->failure.code && (block = choose_block(r))) {
        enter_block(r, block);
        r->current = choose_thread(r);
        Thread &thread = block->threads[r->current];
        r->device.thread = thread.index;
        r->device.stack_low = reinterpret_cast<uintptr_t>(block->stacks.at(r->current));
        fibre_switch(r->host, thread.fibre);
    }
    if (r->failure.code) return;
    unsigned left = 0;
    for (const Running::Cluster &cluster : r->clusters) left += cluster.left;
    if (left < r->together * r->thread_count)
        r->failure = {CODE_LAUNCH_FAILED, format("kernel '%s'", r->grid->kernel_name) + describe_waiting(r)};
}

/* All of 0 .. count - 1 in some order: a step that shares no factor with the count. */
uint64_t order_step(Random *random, uint64_t count) {
    for (;;) {
        const uint64_t step = random->next() % count;
        uint64_t a = step, b = count;
        while (a) {
            const uint64_t rest = b % a;
            b = a;
            a = rest;
        }
        if (b == 1) return step;
    }
}

bool prepare(Running *r, const Grid &grid, const Memory &memory) {
    r->grid = &grid;
    r->memory = &memory;
    r->thread_count = grid.threads.x * grid.threads.y * grid.threads.z;
    r->together = grid.cooperative ? grid.blocks.x * grid.blocks.y * grid.blocks.z : grid.cluster;
    r->random = Random(grid.seed);
    r->races.begin();
    r->failure = Failure();
    memset(r->recent, 0, sizeof r->recent);
    while (r->blocks.size() < r->together) r->blocks.emplace_back(new Block);
    for (unsigned b = 0; b < r->together; b++) {
        Block &block = *r->blocks[b];
        if (!block.stacks.reserve(r->thread_count)) return false;
        if (block.threads.size() < r->thread_count) block.threads.resize(r->thread_count);
        block.shared.configure(grid.shared);
    }
    r->device.threads = grid.threads;
    r->device.blocks = grid.blocks;
    r->device.stack_bytes = Stacks::bytes;
    r->device.near_bytes = 0;
    return true;
}

} // namespace

Failure run_grid(const Grid &grid, const Memory &memory) {
    Running *r = running();
    const uint64_t x = grid.blocks.x / grid.cluster, y = grid.blocks.y, count = x * y * grid.blocks.z;
    if (!prepare(r, grid, memory)) return {2, "no memory for the stacks of a block's threads"};
    if (grid.cooperative) {
        run_together(r, {0, 0, 0});
    } else {
        const uint64_t step = order_step(&r->random, count);
        uint64_t cluster = r->random.next() % count;
        for (uint64_t i = 0; i < count && !r->failure.code; i++) {
            const unsigned along_x = static_cast<unsigned>(cluster % x) * grid.cluster;
            run_together(r, {along_x, static_cast<unsigned>(cluster / x % y), static_cast<unsigned>(cluster / x / y)});
            cluster = (cluster + step) % count;
        }
    }
    r->races.begin();
    if (r->blocks.size() > kept_blocks) r->blocks.resize(kept_blocks);
    return r->failure;
}

} // namespace simulated
