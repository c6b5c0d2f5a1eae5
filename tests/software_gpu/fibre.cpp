// SPDX-License-Identifier: Apache-2.0
/* Fibres. On x86-64 a switch saves what the calling convention asks a function to keep; elsewhere ucontext does more.
 */
#include "fibre.hpp"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace simulated {

static size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

Stacks::~Stacks() {
    if (lowest) munmap(lowest - page_bytes(), count * bytes + page_bytes());
}

bool Stacks::reserve(size_t wanted) {
    const size_t page = page_bytes();
    if (wanted <= count) return true;
    void *memory = mmap(nullptr, wanted * bytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    mprotect(memory, page, PROT_NONE);
    if (lowest) munmap(lowest - page, count * bytes + page);
    lowest = static_cast<char *>(memory) + page;
    count = wanted;
    return true;
}

#if defined(__x86_64__)

extern "C" void software_gpu_switch(void **from, void *to) __attribute__((visibility("hidden")));
__asm__(R"(
    .text
    .globl software_gpu_switch
    .hidden software_gpu_switch
    .type software_gpu_switch, @function
software_gpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size software_gpu_switch, . - software_gpu_switch
)");

void fibre_reset(Fibre &fibre, char *stack, void (*start)()) {
    /* As if start's caller had called: six registers, the address to return to, and a return address of none. */
    uintptr_t *slots = reinterpret_cast<uintptr_t *>(stack + Stacks::bytes) - 8;
    for (int i = 0; i < 8; i++) slots[i] = 0;
    slots[6] = reinterpret_cast<uintptr_t>(start);
    fibre.top = slots;
}

void fibre_switch(Fibre &from, Fibre &to) { software_gpu_switch(&from.top, to.top); }

#else

void fibre_reset(Fibre &fibre, char *stack, void (*start)()) {
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stack;
    fibre.context.uc_stack.ss_size = Stacks::bytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, start, 0);
}

void fibre_switch(Fibre &from, Fibre &to) { swapcontext(&from.context, &to.context); }

#endif

} // namespace simulated
