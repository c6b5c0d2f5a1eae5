// SPDX-License-Identifier: Apache-2.0
/* What running threads call: every access, barriers, shuffles, asynchronous copies, writes to other blocks of the
 * cluster. A thread runs until it waits; what it waits for, the last one to arrive brings. */
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "running.hpp"

namespace simulated {

std::string format(const char *pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

/* Lives on: host programs may launch until their very end. */
static Running *const the_running = new Running;
Running *running() { return the_running; }

static void go_to_host() {
    Running *r = running();
    fibre_switch(r->block->threads[r->current].fibre, r->host);
}

void fail_launch(int code, const char *pattern, ...) {
    Running *r = running();
    const kiln_software_index &b = r->device.block, &t = r->device.thread;
    char what[400];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(what, sizeof what, pattern, arguments);
    va_end(arguments);
    r->failure.code = code;
    r->failure.text = format("kernel '%s', block (%u, %u, %u), thread (%u, %u, %u) %s", r->grid->kernel_name, b.x, b.y,
                             b.z, t.x, t.y, t.z, what);
    for (;;) go_to_host(); /* which never comes back */
}

namespace {

void access_shared(unsigned long address, unsigned long bytes, Access how, const char *verb) {
    Running *r = running();
    const char *fault = r->block->shared.access(address, bytes, how, r->thread_of_cluster());
    if (fault) fail_launch(CODE_ILLEGAL_ADDRESS, "%s %lu bytes at %#lx, %s", verb, bytes, address, fault);
}

void access_memory(unsigned long address, unsigned long bytes, bool write) {
    Running *r = running();
    const char *verb = write ? "writes" : "reads";
    if (address % bytes)
        fail_launch(CODE_MISALIGNED_ADDRESS, "%s %lu bytes at %#lx, no multiple of that", verb, bytes, address);
    if (r->block->shared.contains(address))
        return access_shared(address, bytes, write ? Access::write : Access::read, verb);
    const Memory::Allocation *found = nullptr;
    for (const Memory::Allocation *a : r->recent)
        if (a && address - a->address <= a->bytes && a->bytes - (address - a->address) >= bytes) found = a;
    if (!found) {
        found = r->memory->find(address, bytes);
        if (!found) {
            r->where = r->memory->locate(address);
            fail_launch(CODE_ILLEGAL_ADDRESS, "%s %lu bytes at %#lx, %s", verb, bytes, address, r->where.c_str());
        }
        r->recent[r->next_recent++ % 4] = found;
    }
    if (r->grid->dependent) { /* every access is looked at */
        if (!r->block->threads[r->current].launch_waited)
            fail_launch(CODE_ILLEGAL_ADDRESS, "%s %lu bytes at %#lx, and has not waited for the kernel launched before",
                        verb, bytes, address);
        return;
    }
    if (r->grid->cooperative) { /* every access is looked at */
        r->where = r->races.access(*found, address, bytes, write, r->block->number);
        if (!r->where.empty())
            fail_launch(CODE_ILLEGAL_ADDRESS, "%s %lu bytes at %#lx, %s", verb, bytes, address, r->where.c_str());
        return;
    }
    r->device.near_low = found->address;
    r->device.near_bytes = found->bytes;
}

void read_object(unsigned long address, unsigned long bytes) {
    const SharedMemory &shared = running()->block->shared;
    bool any = false;
    for (unsigned long i = 0; i < bytes; i++) any |= shared.is_written(address + i);
    for (unsigned long i = 0; i < bytes; i++)
        if (!any || shared.is_written(address + i)) access_memory(address + i, 1, false);
}

/* Grids run one after another: the one before has ended. */
void wait_for_launch() { running()->block->threads[running()->current].launch_waited = true; }

/* ---- barriers ---- */

/* Those of the block that wait there, for what is at an address if it is not 0, go on. */
void release(Running *r, Block &block, Waits there, uintptr_t address = 0) {
    for (unsigned t = 0; t < r->thread_count; t++) {
        if (block.threads[t].waits != there || (address && block.threads[t].value != address)) continue;
        block.threads[t].waits = Waits::nowhere;
        block.ready.push_back(static_cast<uint16_t>(t));
    }
    r->random.shuffle(block.ready);
}

void wait_at_barrier() {
    Running *r = running();
    Block &block = *r->block;
    block.threads[r->current].waits = Waits::barrier;
    if (++block.at_barrier == r->thread_count) {
        block.at_barrier = 0;
        block.shared.pass_barrier();
        release(r, block, Waits::barrier);
    }
    go_to_host();
}

/* Where all threads of the running one's cluster have arrived: those that have left count as such. */
void pass_cluster_barrier(Running *r) {
    const unsigned size = r->grid->cluster, number = r->block->number / size;
    Running::Cluster &cluster = r->clusters[number];
    if (cluster.at_barrier == 0 || cluster.at_barrier + cluster.left < size * r->thread_count) return;
    cluster.at_barrier = 0;
    for (unsigned rank = 0; rank < size; rank++) {
        Block &block = *r->blocks[number * size + rank];
        block.shared.pass_cluster_barrier();
        release(r, block, Waits::cluster_barrier);
    }
}

void wait_at_cluster_barrier() {
    Running *r = running();
    r->block->threads[r->current].waits = Waits::cluster_barrier;
    r->clusters[r->block->number / r->grid->cluster].at_barrier++;
    pass_cluster_barrier(r);
    go_to_host();
}

void check_grid_counter(const Running *r, unsigned *counter) {
    const kiln_software_index &n = r->device.threads, &m = r->device.blocks;
    const uintptr_t address = reinterpret_cast<uintptr_t>(counter);
    if (!r->grid->cooperative)
        fail_launch(CODE_LAUNCH_FAILED, "calls a grid barrier in a launch that is not cooperative");
    if (n.y * n.z * m.y * m.z != 1)
        fail_launch(CODE_LAUNCH_FAILED, "calls a grid barrier in blocks or a grid of more than one dimension");
    if (address % sizeof *counter)
        fail_launch(CODE_MISALIGNED_ADDRESS, "has a grid barrier's counter at %p, no multiple of 4",
                    static_cast<void *>(counter));
    if (!r->memory->find(address, sizeof *counter))
        fail_launch(CODE_ILLEGAL_ADDRESS, "has a grid barrier's counter at %p, %s", static_cast<void *>(counter),
                    r->block->shared.contains(address) ? "in shared memory" : r->memory->locate(address).c_str());
    if (*counter & 0x7fffffff)
        fail_launch(CODE_LAUNCH_FAILED, "has %#x in a grid barrier's counter, whose low 31 bits are to be 0", *counter);
    if (r->at_grid_barrier && r->grid_counter != counter)
        fail_launch(CODE_LAUNCH_FAILED, "has a grid barrier's counter at %p, where other threads have it at %p",
                    static_cast<void *>(counter), static_cast<void *>(r->grid_counter));
}

void wait_at_grid_barrier(unsigned *counter) {
    Running *r = running();
    check_grid_counter(r, counter);
    r->grid_counter = counter;
    r->block->threads[r->current].waits = Waits::grid_barrier;
    if (++r->at_grid_barrier == r->together * r->thread_count) {
        r->at_grid_barrier = 0;
        *counter ^= 0x80000000u;
        r->races.pass_barrier();
        for (unsigned b = 0; b < r->together; b++) {
            r->blocks[b]->shared.pass_cluster_barrier();
            release(r, *r->blocks[b], Waits::grid_barrier);
        }
    }
    go_to_host();
}

/* ---- clusters ---- */

void check_alignment_of_send(const unsigned *slot, int words) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(slot), bytes = words * sizeof *slot;
    if (address % bytes)
        fail_launch(CODE_MISALIGNED_ADDRESS, "sends %lu bytes to its cluster at %p, no multiple of that",
                    static_cast<unsigned long>(bytes), static_cast<const void *>(slot));
}

void write_to_cluster(unsigned *slot, unsigned rank, unsigned word) {
    Running *r = running();
    const uintptr_t address = reinterpret_cast<uintptr_t>(slot);
    if (rank >= r->grid->cluster)
        fail_launch(CODE_LAUNCH_FAILED, "writes to block %u of its cluster of %u", rank, r->grid->cluster);
    if (!r->block->shared.contains(address))
        fail_launch(CODE_ILLEGAL_ADDRESS, "writes to its cluster at %p, not in shared memory",
                    static_cast<void *>(slot));
    if (rank == r->rank()) {
        access_memory(address, sizeof word, true);
        *slot = word;
        return;
    }
    if (address % sizeof word)
        fail_launch(CODE_MISALIGNED_ADDRESS, "writes to its cluster at %p, no multiple of 4",
                    static_cast<void *>(slot));
    Block &other = *r->blocks[r->block->number - r->rank() + rank];
    const kiln_software_index &to = other.index;
    if (other.left == r->thread_count)
        fail_launch(CODE_LAUNCH_FAILED, "writes to shared memory of block (%u, %u, %u), which has exited", to.x, to.y,
                    to.z);
    const char *fault = other.shared.write_from_afar(address, word, r->thread_of_cluster());
    if (fault) fail_launch(CODE_ILLEGAL_ADDRESS, "writes 4 bytes to block (%u, %u, %u), %s", to.x, to.y, to.z, fault);
}

Arrivals *find_arrivals(Block &block, const unsigned long long *at) {
    for (Arrivals &a : block.arrivals)
        if (a.address == reinterpret_cast<uintptr_t>(at)) return &a;
    fail_launch(CODE_LAUNCH_FAILED,
                "uses %p of block (%u, %u, %u), where no barrier for what is sent has been prepared",
                static_cast<const void *>(at), block.index.x, block.index.y, block.index.z);
    return nullptr;
}

/* What was sent to the block before its phase ended can be read by all of its threads. */
void end_phase(Running *r, Block &block, Arrivals &a) {
    if (!a.expected || a.bytes) return;
    a.expected = false;
    a.phase ^= 1;
    block.shared.pass_cluster_barrier();
    release(r, block, Waits::arrivals, a.address);
}

void prepare_arrivals(unsigned long long *arrivals, int count) {
    for (int i = 0; i < count; i++)
        running()->block->arrivals.push_back({reinterpret_cast<uintptr_t>(arrivals + i), 0, false, 0});
}

void expect_arrivals(unsigned long long *arrivals, int bytes) {
    Running *r = running();
    Arrivals *a = find_arrivals(*r->block, arrivals);
    if (a->expected) fail_launch(CODE_LAUNCH_FAILED, "expects %d bytes in a phase that expects some already", bytes);
    a->expected = true;
    a->bytes += bytes;
    end_phase(r, *r->block, *a);
}

void send_to_cluster(unsigned *slot, unsigned rank, unsigned word, unsigned long long *arrivals) {
    Running *r = running();
    write_to_cluster(slot, rank, word);
    Block &other = *r->blocks[r->block->number - r->rank() + rank];
    Arrivals *a = find_arrivals(other, arrivals);
    a->bytes -= static_cast<int>(sizeof word);
    r->block->shared.send(rank, r->current / warp_size);
    end_phase(r, other, *a);
}

void wait_for_arrivals(unsigned long long *arrivals, int phase) {
    Running *r = running();
    Thread &thread = r->block->threads[r->current];
    if (find_arrivals(*r->block, arrivals)->phase != phase) return;
    thread.waits = Waits::arrivals;
    thread.value = reinterpret_cast<uintptr_t>(arrivals);
    go_to_host();
}

/* ---- shuffles and copies ---- */

/* What lanes are there for, in the place of a shuffle's mask. */
constexpr int barrier_of_lanes = 0, vote_of_lanes = warp_size;

std::string called(int lane_mask) {
    if (lane_mask == vote_of_lanes) return "a vote";
    return lane_mask == barrier_of_lanes ? "a barrier" : format("a shuffle by %d", lane_mask);
}

/* Those that a lane waits for: lanes that have left count as there, as CUDA has it. */
uint32_t awaited(const Block &block, unsigned warp, const Thread &thread) {
    return thread.lanes & block.warp_lanes[warp];
}

/* All lanes are there: each gets the value of its partner, or of none, where they are there for a barrier; or what is
 * set in any lane's. */
void exchange(Running *r, unsigned warp, uint32_t lanes) {
    Block &block = *r->block;
    Thread *first = &block.threads[warp * warp_size];
    if (first[__builtin_ctz(lanes)].lane_mask == barrier_of_lanes) block.shared.meet(warp, lanes);
    unsigned long long values[warp_size] = {0}, any = 0;
    for (unsigned lane = 0; lane < warp_size; lane++)
        if (lanes >> lane & 1) any |= values[lane] = first[lane].value;
    for (unsigned lane = 0; lane < warp_size; lane++) {
        if (!(lanes >> lane & 1)) continue;
        const int mask = first[lane].lane_mask;
        const unsigned partner = lane ^ static_cast<unsigned>(mask);
        if (mask != vote_of_lanes && !(lanes >> partner & 1))
            fail_launch(CODE_LAUNCH_FAILED, "is where lane %u takes the value of lane %u, which has left", lane,
                        partner);
        first[lane].value = mask == vote_of_lanes ? any : values[partner % warp_size];
        first[lane].waits = Waits::nowhere;
        if (warp * warp_size + lane != r->current)
            block.ready.push_back(static_cast<uint16_t>(warp * warp_size + lane));
    }
    block.warp_waits[warp] &= ~lanes;
}

/* Whether all that the lane waits for are there, who must wait for the same: then they go on. */
bool pass_together(Running *r, unsigned warp, unsigned lane) {
    const Block &block = *r->block;
    const Thread *first = &block.threads[warp * warp_size], &own = first[lane];
    const uint32_t there = awaited(block, warp, own);
    if ((block.warp_waits[warp] & there) != there) return false;
    for (unsigned other = 0; other < warp_size; other++) {
        const Thread &thread = first[other];
        const bool alike = thread.lanes == own.lanes && thread.lane_mask == own.lane_mask;
        if (there >> other & 1 && !alike)
            fail_launch(CODE_LAUNCH_FAILED, "is where lane %u calls %s of lanes %#x, and lane %u %s of lanes %#x", lane,
                        called(own.lane_mask).c_str(), own.lanes, other, called(thread.lane_mask).c_str(),
                        thread.lanes);
    }
    exchange(r, warp, there);
    return true;
}

/* The value that the thread goes on with when all of the lanes have come here, too. */
unsigned long long meet_lanes(unsigned lanes, unsigned long long value, int lane_mask) {
    Running *r = running();
    Block &block = *r->block;
    const unsigned warp = r->current / warp_size, lane = r->current % warp_size;
    Thread &self = block.threads[r->current];
    if (!(lanes >> lane & 1))
        fail_launch(CODE_LAUNCH_FAILED, "calls %s of lanes %#x, which lane %u is not one of", called(lane_mask).c_str(),
                    lanes, lane);
    self.waits = Waits::shuffle;
    self.lanes = lanes;
    self.value = value;
    self.lane_mask = lane_mask;
    block.warp_waits[warp] |= 1u << lane;
    if (!pass_together(r, warp, lane)) go_to_host();
    return self.value;
}

unsigned long long shuffle_value(unsigned lanes, unsigned long long value, int lane_mask) {
    const Running *r = running();
    const unsigned partner = r->current % warp_size ^ static_cast<unsigned>(lane_mask);
    const bool own = lanes >> r->current % warp_size & 1; /* else it is told where lanes meet */
    if (own && (partner >= warp_size || !(lanes >> partner & 1)))
        fail_launch(CODE_LAUNCH_FAILED, "takes the value of lane %u in a shuffle of lanes %#x", partner, lanes);
    return meet_lanes(lanes, value, lane_mask);
}

void wait_for_lanes(unsigned lanes) { meet_lanes(lanes, 0, barrier_of_lanes); }

bool ask_lanes(unsigned lanes, bool value) { return meet_lanes(lanes, value, vote_of_lanes) != 0; }

/* A lane leaves, for which others of its warp may have waited. */
void leave_warp(Running *r) {
    Block &block = *r->block;
    const unsigned warp = r->current / warp_size, lane = r->current % warp_size;
    block.warp_lanes[warp] &= ~(1u << lane);
    for (unsigned other = 0; other < warp_size; other++) {
        if (!(block.warp_waits[warp] >> other & 1)) continue;
        if (block.threads[warp * warp_size + other].lanes >> lane & 1) pass_together(r, warp, other);
    }
}

int add_atomically(int *address, int value) {
    Running *r = running();
    const uintptr_t at = reinterpret_cast<uintptr_t>(address);
    if (!r->block->shared.contains(at))
        fail_launch(CODE_ILLEGAL_ADDRESS, "adds atomically to other than shared memory");
    access_shared(at, sizeof value, Access::atomic, "adds to");
    const int before = *address;
    *address = before + value;
    return before;
}

void copy_later(void *shared, const void *global, int bytes) {
    Running *r = running();
    const uintptr_t to = reinterpret_cast<uintptr_t>(shared), size = static_cast<uintptr_t>(bytes);
    access_memory(reinterpret_cast<uintptr_t>(global), size, false);
    if (to % size) fail_launch(CODE_MISALIGNED_ADDRESS, "copies %d bytes to %p, no multiple of that", bytes, shared);
    if (r->block->shared.contains(reinterpret_cast<uintptr_t>(global)) || !r->block->shared.contains(to))
        fail_launch(CODE_ILLEGAL_ADDRESS, "copies asynchronously other than from global to shared memory");
    const char *fault = r->block->shared.begin_copy(to, size, r->thread_of_cluster());
    if (fault) fail_launch(CODE_ILLEGAL_ADDRESS, "copies %d bytes to %p, %s", bytes, shared, fault);
    Copy copy = {to,
                 static_cast<const unsigned char *>(global),
                 {0},
                 bytes,
                 r->random.below(2) == 0,
                 r->block->threads[r->current].copy_groups};
    if (copy.early) memcpy(copy.bytes, global, size);
    r->block->threads[r->current].copies.push_back(copy);
}

void wait_for_copies(int latest) {
    Running *r = running();
    Thread &self = r->block->threads[r->current];
    std::vector<Copy> rest;
    for (const Copy &copy : self.copies)
        if (latest >= 0 && copy.group >= self.copy_groups - latest)
            rest.push_back(copy);
        else
            r->block->shared.finish_copy(copy.to, copy.early ? copy.bytes : copy.from, static_cast<size_t>(copy.count),
                                         r->thread_of_cluster());
    self.copies.swap(rest);
}

void commit_copies() {
    Running *r = running();
    r->block->threads[r->current].copy_groups++;
}

void refuse_index() { fail_launch(CODE_ILLEGAL_ADDRESS, "indexes an array beyond its size"); }

} // namespace

void start_thread() {
    Running *r = running();
    r->grid->enter(r->grid->parameters);
    Block &block = *r->block;
    block.threads[r->current].waits = Waits::left;
    leave_warp(r);
    r->clusters[block.number / r->grid->cluster].left++;
    if (++block.left == r->thread_count && block.shared.waits_for_cluster_barrier())
        fail_launch(CODE_LAUNCH_FAILED, "exits as the last of its block, whose shared memory another block wrote to "
                                        "with no cluster barrier between");
    pass_cluster_barrier(r);
    go_to_host();
    __builtin_unreachable();
}

kiln_software_device *device_state() {
    kiln_software_device *device = &running()->device;
    device->access = access_memory;
    device->read_object = read_object;
    device->barrier = wait_at_barrier;
    device->warp_barrier = wait_for_lanes;
    device->warp_vote = ask_lanes;
    device->atomic_add = add_atomically;
    device->shuffle = shuffle_value;
    device->copy_async = copy_later;
    device->copy_wait = wait_for_copies;
    device->copy_commit = commit_copies;
    device->index_error = refuse_index;
    device->cluster_barrier = wait_at_cluster_barrier;
    device->cluster_write = write_to_cluster;
    device->cluster_prepare = prepare_arrivals;
    device->cluster_expect = expect_arrivals;
    device->cluster_align = check_alignment_of_send;
    device->cluster_send = send_to_cluster;
    device->cluster_wait = wait_for_arrivals;
    device->grid_barrier = wait_at_grid_barrier;
    device->launch_wait = wait_for_launch;
    return device;
}

} // namespace simulated
