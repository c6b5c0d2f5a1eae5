// SPDX-License-Identifier: Apache-2.0
/* Reductions of a whole pack at once, as it is stored. */

template <class T> KILN_DEVICE float kiln_pack_maximum(const kiln_pack<T, 1> &pack) { return kiln_widen(pack.get(0)); }
template <class T> KILN_DEVICE float kiln_pack_minimum(const kiln_pack<T, 1> &pack) { return kiln_widen(pack.get(0)); }

/* The largest and the smallest half of a pack, two compared at a time. */
KILN_DEVICE kiln_u32 kiln_pair_maximum(kiln_f16, kiln_u32 a, kiln_u32 b) { return kiln_f16_pair_maximum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_minimum(kiln_f16, kiln_u32 a, kiln_u32 b) { return kiln_f16_pair_minimum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_maximum(kiln_bf16, kiln_u32 a, kiln_u32 b) { return kiln_bf16_pair_maximum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_minimum(kiln_bf16, kiln_u32 a, kiln_u32 b) { return kiln_bf16_pair_minimum(a, b); }
template <class T, int N> KILN_DEVICE float kiln_pack_maximum(const kiln_pack<T, N, true> &pack) {
    kiln_pack<T, 2> most = {{pack.words[0]}};
#pragma unroll
    for (int w = 1; w < N / 2; ++w) most.words[0] = kiln_pair_maximum(T(), most.words[0], pack.words[w]);
    return kiln_maximum(kiln_widen(most.get(0)), kiln_widen(most.get(1)));
}
template <class T, int N> KILN_DEVICE float kiln_pack_minimum(const kiln_pack<T, N, true> &pack) {
    kiln_pack<T, 2> least = {{pack.words[0]}};
#pragma unroll
    for (int w = 1; w < N / 2; ++w) least.words[0] = kiln_pair_minimum(T(), least.words[0], pack.words[w]);
    return kiln_minimum(kiln_widen(least.get(0)), kiln_widen(least.get(1)));
}
