// SPDX-License-Identifier: Apache-2.0
/* Fibres: stacks that one host thread switches between. A fibre is left for good by never being switched to again. */
#ifndef KILN_SOFTWARE_GPU_FIBRE_HPP
#define KILN_SOFTWARE_GPU_FIBRE_HPP

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace simulated {

/* Stacks side by side, below all of them a page that faults. Their memory is there once it is used. */
class Stacks {
  public:
    static constexpr size_t bytes = 64 << 10; /* of one */
    Stacks() = default;
    Stacks(const Stacks &) = delete;
    ~Stacks();
    /* At least so many; no fibre lives on one. False where memory ran out. */
    bool reserve(size_t count);
    /* The lowest address. */
    char *at(size_t i) const { return lowest + i * bytes; }

  private:
    char *lowest = nullptr;
    size_t count = 0;
};

struct Fibre {
#if defined(__x86_64__)
    void *top = nullptr;
#else
    ucontext_t context;
#endif
};

/* The next switch to it calls start() on this stack, empty; start never returns. */
void fibre_reset(Fibre &fibre, char *stack, void (*start)());
/* Goes on in `to`; returns when something switches back to `from`, which may be the host thread's own stack. */
void fibre_switch(Fibre &from, Fibre &to);

} // namespace simulated

#endif
