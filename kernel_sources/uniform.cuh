// SPDX-License-Identifier: Apache-2.0
/* Uniform in [0, 1) from Philox 4x32-10 (Salmon et al., 2011): seed is the key, (index / 4, offset) the counter;
 * element index has word number index % 4 of the four that come of it, its upper 24 bits. */
struct kiln_numbers {
    kiln_u32 a, b, c, d;
};
KILN_DEVICE kiln_numbers kiln_philox(kiln_i64 seed, kiln_i64 offset, kiln_u64 block) {
    kiln_u32 c0 = (kiln_u32)block, c1 = (kiln_u32)(block >> 32), c2 = (kiln_u32)offset, c3 = (kiln_u32)(offset >> 32);
    kiln_u32 k0 = (kiln_u32)seed, k1 = (kiln_u32)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const kiln_u64 p0 = (kiln_u64)0xd2511f53u * c0, p1 = (kiln_u64)0xcd9e8d57u * c2;
        c0 = (kiln_u32)(p1 >> 32) ^ c1 ^ k0;
        c1 = (kiln_u32)p1;
        c2 = (kiln_u32)(p0 >> 32) ^ c3 ^ k1;
        c3 = (kiln_u32)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return {c0, c1, c2, c3};
}

KILN_DEVICE float kiln_uniform_of(const kiln_numbers &words, kiln_i64 index) {
    const kiln_u32 low = index & 1 ? words.b : words.a, high = index & 1 ? words.d : words.c;
    return (float)((index & 2 ? high : low) >> 8) * 5.9604644775390625e-8f;
}

KILN_DEVICE float kiln_uniform(kiln_i64 seed, kiln_i64 offset, kiln_i64 index) {
    return kiln_uniform_of(kiln_philox(seed, offset, (kiln_u64)index >> 2), index);
}

/* Of a vector's elements, one after the other: neighbours share the four words. Asked in these words, it is known while
 * compiling which of an aligned vector's elements have new ones. */
struct kiln_uniforms {
    kiln_numbers words;
    kiln_i64 last;
    KILN_MEMBER float at(int j, kiln_i64 seed, kiln_i64 offset, kiln_i64 index) {
        if (j == 0 || (index & 3) == 0 || index != last + 1) words = kiln_philox(seed, offset, (kiln_u64)index >> 2);
        last = index;
        return kiln_uniform_of(words, index);
    }
};
