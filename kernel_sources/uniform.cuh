// SPDX-License-Identifier: Apache-2.0
/* Uniform in [0, 1) from Philox 4x32-10 (Salmon et al., 2011): seed is the key, (index, offset) the counter; the first
 * word's upper 24 bits. */
KILN_DEVICE float kiln_uniform(kiln_i64 seed, kiln_i64 offset, kiln_i64 index) {
    kiln_u32 c0 = (kiln_u32)index, c1 = (kiln_u32)(index >> 32), c2 = (kiln_u32)offset, c3 = (kiln_u32)(offset >> 32);
    kiln_u32 k0 = (kiln_u32)seed, k1 = (kiln_u32)(seed >> 32);
#pragma unroll 1
    for (int round = 0; round < 10; ++round) {
        const kiln_u64 p0 = (kiln_u64)0xd2511f53u * c0, p1 = (kiln_u64)0xcd9e8d57u * c2;
        c0 = (kiln_u32)(p1 >> 32) ^ c1 ^ k0;
        c1 = (kiln_u32)p1;
        c2 = (kiln_u32)(p0 >> 32) ^ c3 ^ k1;
        c3 = (kiln_u32)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return (float)(c0 >> 8) * 5.9604644775390625e-8f;
}
