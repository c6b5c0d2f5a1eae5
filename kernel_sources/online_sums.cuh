// SPDX-License-Identifier: Apache-2.0
/* Sums of phases that are reduced together, moved to another centre: of exponentials about v (where v is -infinity
 * nothing has been summed yet that counts), of n distances from v, and of their squares; `distances` is 0 where v is
 * the mean but for its rounding, and that is left alone. */
template <class V> KILN_DEVICE V kiln_move_exp(V sum, V from, V to) {
    return from == to ? sum : sum == V(0) || from == V(-kiln_infinity()) ? V(0) : sum * kiln_exp_beside_one(from - to);
}
KILN_DEVICE float kiln_move_centre(float sum, float from, float to) {
    const kiln_centre a(from), b(to);
    if (from == to) return sum;
    return a.scale != b.scale || from == -kiln_infinity() ? 0.0f : sum * kiln_fast_exp2_flush(b.offset - a.offset);
}
/* The mean of what has been summed, but for its last bits: sums about it are corrected by where it is. The product is
 * never part of another operation: of two such means' difference either could be, and bits would depend on the kernel.
 */
KILN_DEVICE float kiln_near_mean(float sum, float count) { return __fmul_rn(sum, kiln_fast_reciprocal(count)); }
KILN_DEVICE double kiln_near_mean(double sum, double count) { return sum / count; }
template <class V> KILN_DEVICE V kiln_move_distance(V sum, V n, V from, V to) {
    return n == V(0) ? sum : sum + n * (from - to);
}
template <class V> KILN_DEVICE V kiln_move_square(V sum, V n, V from, V to) {
    const V distance = from - to;
    return n == V(0) ? sum : sum + n * distance * distance;
}
template <class V> KILN_DEVICE V kiln_move_square(V sum, V distances, V n, V from, V to) {
    const V distance = from - to;
    return n == V(0) ? sum : sum + distance * (n * distance + V(2) * distances);
}
/* Squares of n elements' distances from `about`, to those from their mean. `about` is the mean of m of them: what
 * cancels is no more than n / m times what stays. Sums that were too large stay infinite. */
template <class V> KILN_DEVICE V kiln_settled(V settled, V sum, V distance) {
    return settled == settled ? (settled < V(0) ? V(0) : settled) : sum + (distance - distance);
}
template <class V> KILN_DEVICE V kiln_settle_square(V sum, V n, V about, V mean) {
    const V distance = mean - about;
    return n == V(0) ? sum : kiln_settled(sum - n * distance * distance, sum, distance);
}
template <class V> KILN_DEVICE V kiln_settle_square(V sum, V distances, V n, V about, V mean) {
    return n == V(0) ? sum : kiln_settled(kiln_move_square(sum, distances, n, about, mean), sum, mean - about);
}
