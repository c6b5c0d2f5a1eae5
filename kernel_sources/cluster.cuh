// SPDX-License-Identifier: Apache-2.0
/* How the blocks of a cluster exchange values: each waits until what is sent to it has arrived, where KILN_ARRIVALS
 * tells how many exchanges there are; else all meet at a barrier. No block may write to another before that one has
 * begun. */
#if defined KILN_ARRIVALS && KILN_COMPILER >= 1201
/* A barrier for each exchange and, in groups that go through many rows, for every other row. */
__shared__ kiln_u64 kiln_arrivals[KILN_ARRIVALS][KILN_TURNS];

KILN_DEVICE void kiln_group_begin() {
    if (threadIdx.x == 0) kiln_cluster_prepare(kiln_arrivals[0], KILN_ARRIVALS * KILN_TURNS);
    kiln_cluster_begin();
}
/* begin: this block expects so many bytes. send: some of those that block `rank` expects. end: this block has all of
 * its own. turn: the row's number modulo 4, whose barrier is that of turn % 2, in phase turn / 2. */
template <class V> KILN_DEVICE void kiln_exchange_begin(int turn, int bytes) {
    if (threadIdx.x == 0) kiln_cluster_expect(&kiln_arrivals[V::exchange][turn % KILN_TURNS], bytes);
}
template <class V, int WORDS>
KILN_DEVICE void kiln_exchange_send(int turn, kiln_u32 *slot, int rank, const kiln_u32 *words) {
    kiln_cluster_send<WORDS>(slot, rank, words, &kiln_arrivals[V::exchange][turn % KILN_TURNS]);
}
template <class V> KILN_DEVICE void kiln_exchange_end(int turn) {
    kiln_cluster_wait(&kiln_arrivals[V::exchange][turn % KILN_TURNS], turn / 2 % 2);
}
#else
KILN_DEVICE void kiln_group_begin() { kiln_cluster_barrier(); }
template <class V> KILN_DEVICE void kiln_exchange_begin(int, int) {}
template <class V, int WORDS>
KILN_DEVICE void kiln_exchange_send(int, kiln_u32 *slot, int rank, const kiln_u32 *words) {
#pragma unroll
    for (int w = 0; w < WORDS; ++w) kiln_cluster_write(slot + w, rank, words[w]);
}
template <class V> KILN_DEVICE void kiln_exchange_end(int) { kiln_cluster_barrier(); }
#endif
