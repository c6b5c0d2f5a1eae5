// SPDX-License-Identifier: Apache-2.0
/* Scans of rows whose vectors are dealt out to the ranks one by one, so that neighbours read what lies side by side.
 * A pass goes over the row in rounds of KILN_SCANNED vectors of each rank: what every vector comes to is scanned among
 * the ranks, and then its elements follow one another from what is before it. */

/* For each of the vectors what is before it in the block's part of the round; totals: what all ranks' come to. */
template <class V, int N> KILN_DEVICE void kiln_scan_warps(V (&parts)[N], V (&totals)[N], int turn) {
    constexpr int warps = KILN_THREADS_PER_ROW / 32;
    __shared__ V slots[2][N][warps + 1];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    V(&of_round)[N][warps + 1] = slots[turn % 2];
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (lane == 0) of_round[k][warp].copy(totals[k]);
    kiln_block_barrier();
#pragma unroll 1
    for (int k = warp; k < N; k += warps) {
        V value, before;
        value.clear();
        if (lane < warps) value.copy(of_round[k][lane]);
        value = kiln_scan_lanes<warps>(value, before);
        if (lane < warps) of_round[k][lane].copy(before);
        if (lane == 0) of_round[k][warps].copy(value);
    }
    kiln_block_barrier();
#pragma unroll
    for (int k = 0; k < N; ++k) {
        V before;
        before.copy(of_round[k][warp]);
        parts[k] = V::combine(before, parts[k]);
        totals[k].copy(of_round[k][warps]);
    }
}

/* For each of the vectors what is before it in the row; carried: what the rounds up to this one come to. */
template <class V, int N> KILN_DEVICE void kiln_scan_round(V (&parts)[N], V &carried, int turn) {
    constexpr int lanes = KILN_THREADS_PER_ROW < 32 ? KILN_THREADS_PER_ROW : 32;
    V totals[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        V before;
        totals[k] = kiln_scan_lanes<lanes>(parts[k], before, kiln_lanes_of_row());
        parts[k] = before;
    }
    if constexpr (KILN_THREADS_PER_ROW > 32) kiln_scan_warps(parts, totals, turn);
#pragma unroll
    for (int k = 0; k < N; ++k) {
        parts[k] = V::combine(carried, parts[k]);
        carried = V::combine(carried, totals[k]);
    }
}

/* Whether vector number k behind the step, of `count`, has a column of the row. */
KILN_DEVICE bool kiln_is_scanned(const kiln_row &row, kiln_index col, kiln_index step, int k, int count) {
    return k < count && step + k < KILN_ROW_STEPS(row) && kiln_inside(row, col, step + k);
}

struct kiln_no_scan {
    KILN_MEMBER void clear() {}
    KILN_MEMBER void round(const kiln_row &, kiln_staged *, kiln_index, int) {}
    KILN_MEMBER void start(const kiln_row &, int) const {}
};

/* The scans of a phase, which may be of those before. */
template <class Before, class Phase> struct kiln_scan_of {
    Before before;
    Phase carried, parts[KILN_SCANNED];
    int turn;
    KILN_MEMBER void clear() {
        before.clear();
        carried.clear();
        turn = 0;
    }
    /* Of the vectors that begin with the step, so many at most. */
    KILN_MEMBER void round(const kiln_row &row, kiln_staged *staged, kiln_index step, int count) {
        before.round(row, staged, step, count);
#pragma unroll
        for (int k = 0; k < KILN_SCANNED; ++k) {
            const kiln_index col = kiln_column(row, step + k);
            parts[k].clear();
            if (!kiln_is_scanned(row, col, step, k, count)) continue;
            before.start(row, k);
            parts[k].vector(row, staged[k], col, kiln_span(row, col, step + k));
        }
        kiln_scan_round(parts, carried, turn++);
    }
    KILN_MEMBER void start(const kiln_row &row, int k) const {
        before.start(row, k);
        parts[k].start(row);
    }
};

/* Those that are loaded together, from the step on. */
template <class Scan, class Body>
KILN_DEVICE void kiln_each_of_scanned(const kiln_row &row, kiln_staged (&staged)[KILN_BATCH], kiln_index step,
                                      Scan &scan, Body &body) {
#pragma unroll
    for (int first = 0; first < KILN_BATCH; first += KILN_SCANNED) {
        const int count = KILN_BATCH - first;
        scan.round(row, staged + first, step + first, count);
#pragma unroll
        for (int k = 0; k < KILN_SCANNED; ++k) {
            const kiln_index col = kiln_column(row, step + first + k);
            if (!kiln_is_scanned(row, col, step + first, k, count)) continue;
            scan.start(row, k);
            body.vector(row, staged[first + k], col, kiln_span(row, col, step + first + k));
        }
    }
}

/* A pass over the row. */
template <class Scan, class Body>
KILN_DEVICE void kiln_each_scanned(const kiln_row &row, kiln_staging &staging, Body &body) {
    Scan scan;
    scan.clear();
#if KILN_STREAMS
#pragma unroll 1
    for (kiln_index step = 0; step < KILN_ROW_STEPS(row); step += KILN_BATCH) {
        kiln_staged staged[KILN_BATCH];
        kiln_stream::load<false>(row, step, staged);
        kiln_each_of_scanned(row, staged, step, scan, body);
    }
#else
    kiln_each_of_scanned(row, staging.staged, 0, scan, body);
#endif
}
