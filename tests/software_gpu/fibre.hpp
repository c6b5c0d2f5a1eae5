/* Fibres: stacks that one host thread switches between. A fibre is left for good by never being switched to again. */
#ifndef KILN_SOFTWARE_GPU_FIBRE_HPP
#define KILN_SOFTWARE_GPU_FIBRE_HPP

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace simulated {

struct Fibre {
    char *stack = nullptr; /* lowest address */
    size_t stack_bytes = 0;
#if defined(__x86_64__)
    void *top = nullptr;
#else
    ucontext_t context;
#endif
};

/* A fibre with a stack of its own, below which lies a page that faults. False where memory ran out. */
bool fibre_create(Fibre &fibre, size_t stack_bytes);
/* The next switch to it calls start() on an empty stack; start never returns. */
void fibre_reset(Fibre &fibre, void (*start)());
/* Goes on in `to`; returns when something switches back to `from`, which may be the host thread's own stack. */
void fibre_switch(Fibre &from, Fibre &to);

} // namespace simulated

#endif
