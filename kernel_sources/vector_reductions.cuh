// SPDX-License-Identifier: Apache-2.0
/* Reductions of a whole vector at once, as it is stored. */

template <class T> KILN_DEVICE float kiln_vector_maximum(const kiln_vector<T, 1> &vector) {
    return kiln_widen(vector.get(0));
}
template <class T> KILN_DEVICE float kiln_vector_minimum(const kiln_vector<T, 1> &vector) {
    return kiln_widen(vector.get(0));
}

/* The largest and the smallest half of a vector, two compared at a time. */
KILN_DEVICE kiln_u32 kiln_pair_maximum(kiln_f16, kiln_u32 a, kiln_u32 b) { return kiln_f16_pair_maximum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_minimum(kiln_f16, kiln_u32 a, kiln_u32 b) { return kiln_f16_pair_minimum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_maximum(kiln_bf16, kiln_u32 a, kiln_u32 b) { return kiln_bf16_pair_maximum(a, b); }
KILN_DEVICE kiln_u32 kiln_pair_minimum(kiln_bf16, kiln_u32 a, kiln_u32 b) { return kiln_bf16_pair_minimum(a, b); }
template <class T, int N> KILN_DEVICE float kiln_vector_maximum(const kiln_vector<T, N, true> &vector) {
    kiln_vector<T, 2> most = {{vector.words[0]}};
#pragma unroll
    for (int w = 1; w < N / 2; ++w) most.words[0] = kiln_pair_maximum(T(), most.words[0], vector.words[w]);
    return kiln_maximum(kiln_widen(most.get(0)), kiln_widen(most.get(1)));
}
template <class T, int N> KILN_DEVICE float kiln_vector_minimum(const kiln_vector<T, N, true> &vector) {
    kiln_vector<T, 2> least = {{vector.words[0]}};
#pragma unroll
    for (int w = 1; w < N / 2; ++w) least.words[0] = kiln_pair_minimum(T(), least.words[0], vector.words[w]);
    return kiln_minimum(kiln_widen(least.get(0)), kiln_widen(least.get(1)));
}
