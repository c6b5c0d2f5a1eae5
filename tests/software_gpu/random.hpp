// SPDX-License-Identifier: Apache-2.0
/* Random numbers for the order of events: quick, and the same for the same seed on every machine. */
#ifndef KILN_SOFTWARE_GPU_RANDOM_HPP
#define KILN_SOFTWARE_GPU_RANDOM_HPP

#include <cstdint>
#include <utility>

namespace simulated {

/* splitmix64 */
class Random {
  public:
    explicit Random(uint64_t seed = 0) : state(seed) {}
    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /* 0 <= result < n; n fits 32 bits */
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }
    template <class Sequence> void shuffle(Sequence &items) {
        for (uint32_t i = static_cast<uint32_t>(items.size()); i > 1; i--) std::swap(items[i - 1], items[below(i)]);
    }

  private:
    uint64_t state;
};

} // namespace simulated

#endif
