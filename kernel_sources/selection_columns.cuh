// SPDX-License-Identifier: Apache-2.0
/* Selections from neighbouring rows that lie side by side. */

/* Of a phase that is repeated: no value takes a slot's place before all have read what the pass before left there. */
template <class V> KILN_EXCHANGE V kiln_all_reduce(const V &value, const kiln_row &row, int) {
    if (KILN_SLOTS > 1) kiln_block_barrier();
    return kiln_all_reduce(value, row);
}
