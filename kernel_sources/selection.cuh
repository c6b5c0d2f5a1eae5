// SPDX-License-Identifier: Apache-2.0
/* Selection: the least value that k values of the row are not above. The key of the one that is meant is found bit by
 * bit, the highest first: each pass over the row counts how many values are not above the last one whose bit is 0. Keys
 * are those of passes alone: elements are compared as they are, so that NaN counts for nothing, and comes last. */

template <class S, class V> struct kiln_selection {
    typedef kiln_order<S> order;
    typedef typename order::key key;
    V bound;   /* the last value whose bit is 0 */
    key found; /* the bits so far, and 0 behind them */
    int bit;   /* the one that is looked for; below 0: there is none */
    KILN_MEMBER kiln_selection() : found(0), bit(order::bits - 1) { find_bound(); }
    KILN_MEMBER void find_bound() { bound = (V)order::value(found + ((key)1 << bit) - 1); }
    /* By how many elements are not above the bound: to the k-th of n values, or for k < 0 the -k-th from the last. The
     * result is the one that is meant after the last pass. */
    KILN_MEMBER V narrow(kiln_index count, kiln_i64 k, kiln_i64 n) {
        if (k < 0) k += n + 1;
        if (bit >= 0) {
            found += (key)(count < k) << bit;
            if (--bit >= 0) find_bound();
        }
        return k < 1 || k > n ? (V)order::none() : (V)order::result(found);
    }
};
