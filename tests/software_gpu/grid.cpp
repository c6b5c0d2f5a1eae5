/* Grids, blocks and threads. A thread runs until it waits at a barrier or in a shuffle; which one goes on next is drawn.
 * When none can, those that wait do so for threads that will never come: the launch fails. */
#include "grid.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "fibre.hpp"
#include "random.hpp"

namespace simulated {

std::string format(const char *pattern, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

namespace {

constexpr size_t stack_bytes = 64 << 10;
constexpr unsigned warp_size = 32;

struct Copy {
    uintptr_t to;
    const unsigned char *from;
    unsigned char bytes[16]; /* what arrives, if it was read when the copy was asked for */
    int count;
    bool early;
};

enum class Waits { nowhere, barrier, shuffle, left };

struct Thread {
    Fibre fibre;
    kiln_software_index index;
    Waits waits;
    uint32_t lanes; /* of the shuffle that it waits in */
    int lane_mask;
    unsigned long long value; /* given to the shuffle, then taken from it */
    std::vector<Copy> copies;
};

/* The grid that runs, on the host thread that launched it. */
struct Running {
    kiln_software_device device;
    const Grid *grid;
    const Memory *memory;
    SharedMemory shared;
    Random random;
    Fibre host;
    Thread threads[max_threads];
    unsigned thread_count, current, at_barrier, left;
    std::vector<uint16_t> ready;
    uint32_t warp_lanes[max_threads / warp_size]; /* lanes that have not left */
    uint32_t warp_waits[max_threads / warp_size]; /* lanes that wait in a shuffle */
    const Memory::Allocation *recent[4];
    unsigned next_recent;
    std::string where;
    Failure failure;
};

Running the_running;
Running *running() { return &the_running; }

void go_to_host()
{
    Running *r = running();
    fibre_switch(r->threads[r->current].fibre, r->host);
}

/* ---- what threads call ---- */

void access_memory(unsigned long address, unsigned long bytes, bool write)
{
    Running *r = running();
    const char *verb = write ? "writes" : "reads";
    if (address % bytes) fail_launch(CODE_MISALIGNED_ADDRESS, "%s %lu bytes at %#lx, no multiple of that", verb, bytes, address);
    if (r->shared.contains(address)) {
        const char *fault = r->shared.access(address, bytes, write, r->current);
        if (fault) fail_launch(CODE_ILLEGAL_ADDRESS, "%s %lu bytes at %#lx, %s", verb, bytes, address, fault);
        return;
    }
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
    r->device.near_low = found->address;
    r->device.near_bytes = found->bytes;
}

void wait_at_barrier()
{
    Running *r = running();
    r->threads[r->current].waits = Waits::barrier;
    if (++r->at_barrier == r->thread_count) {
        r->at_barrier = 0;
        r->shared.pass_barrier();
        for (unsigned t = 0; t < r->thread_count; t++) {
            r->threads[t].waits = Waits::nowhere;
            r->ready.push_back(static_cast<uint16_t>(t));
        }
        r->random.shuffle(r->ready);
    }
    go_to_host();
}

/* All lanes are there: each gets the value of its partner. */
void exchange(Running *r, unsigned warp, uint32_t lanes)
{
    Thread *first = &r->threads[warp * warp_size];
    unsigned long long values[warp_size] = {0};
    for (unsigned lane = 0; lane < warp_size; lane++)
        if (lanes >> lane & 1) values[lane] = first[lane].value;
    for (unsigned lane = 0; lane < warp_size; lane++) {
        if (!(lanes >> lane & 1)) continue;
        first[lane].value = values[lane ^ static_cast<unsigned>(first[lane].lane_mask)];
        first[lane].waits = Waits::nowhere;
        if (warp * warp_size + lane != r->current) r->ready.push_back(static_cast<uint16_t>(warp * warp_size + lane));
    }
    r->warp_waits[warp] &= ~lanes;
}

unsigned long long shuffle_value(unsigned lanes, unsigned long long value, int lane_mask)
{
    Running *r = running();
    const unsigned warp = r->current / warp_size, lane = r->current % warp_size, partner = lane ^ static_cast<unsigned>(lane_mask);
    if (!(lanes >> lane & 1)) fail_launch(CODE_LAUNCH_FAILED, "calls a shuffle of lanes %#x, which lane %u is not one of", lanes, lane);
    if (partner >= warp_size || !(lanes >> partner & 1))
        fail_launch(CODE_LAUNCH_FAILED, "takes the value of lane %u in a shuffle of lanes %#x", partner, lanes);
    if (lanes & ~r->warp_lanes[warp])
        fail_launch(CODE_LAUNCH_FAILED, "calls a shuffle of lanes %#x, of which only %#x are there", lanes, lanes & r->warp_lanes[warp]);
    Thread &self = r->threads[r->current];
    self.waits = Waits::shuffle;
    self.lanes = lanes;
    self.value = value;
    self.lane_mask = lane_mask;
    r->warp_waits[warp] |= 1u << lane;
    if ((r->warp_waits[warp] & lanes) != lanes) {
        go_to_host();
        return self.value;
    }
    for (unsigned other = 0; other < warp_size; other++) {
        const Thread &thread = r->threads[warp * warp_size + other];
        if (lanes >> other & 1 && thread.lanes != lanes)
            fail_launch(CODE_LAUNCH_FAILED, "calls a shuffle of lanes %#x, lane %u one of lanes %#x", lanes, other, thread.lanes);
    }
    exchange(r, warp, lanes);
    return self.value;
}

void copy_later(void *shared, const void *global, int bytes)
{
    Running *r = running();
    const uintptr_t to = reinterpret_cast<uintptr_t>(shared), size = static_cast<uintptr_t>(bytes);
    access_memory(reinterpret_cast<uintptr_t>(global), size, false);
    if (to % size) fail_launch(CODE_MISALIGNED_ADDRESS, "copies %d bytes to %p, no multiple of that", bytes, shared);
    if (r->shared.contains(reinterpret_cast<uintptr_t>(global)) || !r->shared.contains(to))
        fail_launch(CODE_ILLEGAL_ADDRESS, "copies asynchronously other than from global to shared memory");
    const char *fault = r->shared.begin_copy(to, size, r->current);
    if (fault) fail_launch(CODE_ILLEGAL_ADDRESS, "copies %d bytes to %p, %s", bytes, shared, fault);
    Copy copy = {to, static_cast<const unsigned char *>(global), {0}, bytes, r->random.below(2) == 0};
    if (copy.early) memcpy(copy.bytes, global, size);
    r->threads[r->current].copies.push_back(copy);
}

void wait_for_copies()
{
    Running *r = running();
    std::vector<Copy> &copies = r->threads[r->current].copies;
    for (const Copy &copy : copies)
        r->shared.finish_copy(copy.to, copy.early ? copy.bytes : copy.from, static_cast<size_t>(copy.count), r->current);
    copies.clear();
}

void refuse_index() { fail_launch(CODE_ILLEGAL_ADDRESS, "indexes an array beyond its size"); }

/* ---- blocks ---- */

void start_thread()
{
    Running *r = running();
    r->grid->enter(r->grid->parameters);
    Thread &self = r->threads[r->current];
    self.waits = Waits::left;
    r->warp_lanes[r->current / warp_size] &= ~(1u << r->current % warp_size);
    r->left++;
    go_to_host();
    __builtin_unreachable();
}

void begin_block(Running *r, kiln_software_index block)
{
    const kiln_software_index &n = r->grid->threads;
    static const unsigned char poisons[] = {0xff, 0x7f, 0xa5, 0xfe, 0x55};
    r->device.block = block;
    r->thread_count = n.x * n.y * n.z;
    r->at_barrier = r->left = 0;
    r->ready.clear();
    memset(r->warp_waits, 0, sizeof r->warp_waits);
    memset(r->warp_lanes, 0, sizeof r->warp_lanes);
    for (unsigned t = 0; t < r->thread_count; t++) {
        Thread &thread = r->threads[t];
        fibre_reset(thread.fibre, start_thread);
        thread.index = {t % n.x, t / n.x % n.y, t / n.x / n.y};
        thread.waits = Waits::nowhere;
        thread.copies.clear();
        r->warp_lanes[t / warp_size] |= 1u << t % warp_size;
        r->ready.push_back(static_cast<uint16_t>(t));
    }
    r->random.shuffle(r->ready);
    r->shared.begin_block(poisons[r->grid->seed % sizeof poisons]);
}

/* Mostly the thread that became ready last, which keeps warps together; now and then any. */
unsigned choose(Running *r)
{
    const uint32_t count = static_cast<uint32_t>(r->ready.size());
    if (r->random.below(8) == 0) std::swap(r->ready[count - 1], r->ready[r->random.below(count)]);
    const unsigned chosen = r->ready.back();
    r->ready.pop_back();
    return chosen;
}

void run_block(Running *r, kiln_software_index block)
{
    begin_block(r, block);
    while (!r->ready.empty() && !r->failure.code) {
        r->current = choose(r);
        Thread &thread = r->threads[r->current];
        r->device.thread = thread.index;
        r->device.stack_low = reinterpret_cast<uintptr_t>(thread.fibre.stack);
        fibre_switch(r->host, thread.fibre);
    }
    if (r->failure.code || r->left == r->thread_count) return;
    const unsigned in_shuffle = r->thread_count - r->left - r->at_barrier;
    r->failure = {CODE_LAUNCH_FAILED, format("kernel '%s', block (%u, %u, %u): %u threads wait at a barrier, %u in a shuffle and %u have left",
                                             r->grid->kernel_name, block.x, block.y, block.z, r->at_barrier, in_shuffle, r->left)};
}

/* All of 0 .. count - 1 in some order: a step that shares no factor with the count. */
uint64_t order_step(Random *random, uint64_t count)
{
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

bool prepare(Running *r, const Grid &grid, const Memory &memory)
{
    const unsigned count = grid.threads.x * grid.threads.y * grid.threads.z;
    for (unsigned t = 0; t < count; t++)
        if (!r->threads[t].fibre.stack && !fibre_create(r->threads[t].fibre, stack_bytes)) return false;
    r->grid = &grid;
    r->memory = &memory;
    r->random = Random(grid.seed);
    r->failure = Failure();
    memset(r->recent, 0, sizeof r->recent);
    r->shared.configure(grid.shared);
    r->device.threads = grid.threads;
    r->device.blocks = grid.blocks;
    r->device.stack_bytes = stack_bytes;
    r->device.near_bytes = 0;
    return true;
}

} // namespace

void fail_launch(int code, const char *pattern, ...)
{
    Running *r = running();
    const kiln_software_index &b = r->device.block, &t = r->device.thread;
    char what[400];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(what, sizeof what, pattern, arguments);
    va_end(arguments);
    r->failure.code = code;
    r->failure.text = format("kernel '%s', block (%u, %u, %u), thread (%u, %u, %u) %s", r->grid->kernel_name, b.x, b.y, b.z, t.x, t.y, t.z, what);
    for (;;) go_to_host(); /* which never comes back */
}

kiln_software_device *device_state()
{
    kiln_software_device *device = &running()->device;
    device->access = access_memory;
    device->barrier = wait_at_barrier;
    device->shuffle = shuffle_value;
    device->copy_async = copy_later;
    device->copy_wait = wait_for_copies;
    device->index_error = refuse_index;
    return device;
}

Failure run_grid(const Grid &grid, const Memory &memory)
{
    Running *r = running();
    if (!prepare(r, grid, memory)) return {2, "no memory for the stacks of a block's threads"};
    const uint64_t x = grid.blocks.x, y = grid.blocks.y, count = x * y * grid.blocks.z;
    const uint64_t step = order_step(&r->random, count);
    uint64_t block = r->random.next() % count;
    for (uint64_t i = 0; i < count && !r->failure.code; i++) {
        run_block(r, {static_cast<unsigned>(block % x), static_cast<unsigned>(block / x % y), static_cast<unsigned>(block / x / y)});
        block = (block + step) % count;
    }
    return r->failure;
}

} // namespace simulated
