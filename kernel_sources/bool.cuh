// SPDX-License-Identifier: Apache-2.0
/* Bools as they are stored. Every byte but 0 is true, while a C++ bool holds 0 or 1 alone: a byte becomes one where it
 * is read, which costs nothing where it is only tested. */

struct kiln_bool {
    unsigned char byte;
};

KILN_DEVICE bool kiln_widen(kiln_bool b) { return b.byte != 0; }
template <class V> KILN_DEVICE void kiln_narrow(V v, kiln_bool &out) { out.byte = v != 0; }

KILN_DEVICE bool kiln_vector_any(const kiln_vector<kiln_bool, 1> &vector) { return kiln_widen(vector.get(0)); }
KILN_DEVICE bool kiln_vector_all(const kiln_vector<kiln_bool, 1> &vector) { return kiln_widen(vector.get(0)); }

/* Whether any bool of a vector is true; whether all are. */
template <int N> KILN_DEVICE bool kiln_vector_any(const kiln_vector<kiln_bool, N> &vector) {
    kiln_u32 some = 0;
#pragma unroll
    for (int w = 0; w < N / 4; ++w) some |= reinterpret_cast<const kiln_u32 *>(vector.at)[w];
    return some != 0;
}
template <int N> KILN_DEVICE bool kiln_vector_all(const kiln_vector<kiln_bool, N> &vector) {
    kiln_u32 none = 0;
#pragma unroll
    for (int w = 0; w < N / 4; ++w) {
        const kiln_u32 word = reinterpret_cast<const kiln_u32 *>(vector.at)[w];
        none |= (word - 0x01010101u) & ~word & 0x80808080u; /* a byte that is 0 */
    }
    return none == 0;
}
