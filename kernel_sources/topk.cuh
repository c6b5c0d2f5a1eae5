// SPDX-License-Identifier: Apache-2.0
/* The largest values of a row: Order::first of them, of equal ones those of the first columns. What may be among them
 * is put down in the row's memory, each with its column, and sorted in the end; there is room for Order::columns.
 * Nothing below the floor may, a value that at least Order::first of the row's values reach:
 *
 * - At first one of the largest values of each of some groups of threads: the one that Order::first of them reach. Of k
 *   among g groups some -g ln(1 - k / g) values of the row reach it.
 * - Where more do than there is room for, the floor rises to what Order::first of those that have room reach, and the
 *   row is gone over again. Room have the columns that a hash of their numbers admits, so that the smaller values do
 *   not fill it wherever in the row they are.
 * - As many values as there are groups, or nearly, have no such first floor, and so little room that this would take
 * dozens of passes: the floor is guessed from a sample, and the pass after it counts how many reach it.
 *
 * A row that is not staged is gone over in rounds of KILN_ROUND steps, the vectors that are loaded together, each as
 * often as it takes while it is near. */

/* Loaded 16 bytes at a time. */
template <class Key> struct alignas(16) kiln_four_composites { kiln_composite<Key> at[4]; };

/* What the row's threads tell each other. */
template <class Key> struct kiln_choice {
    Key floor;
    int count; /* of what is put down */
};

/* The largest value of a thread. */
template <class Order> struct kiln_thread_maximum {
    typename Order::value best;
    KILN_MEMBER kiln_thread_maximum() : best(kiln_order<typename Order::value>::least()) {}
    template <int N> KILN_MEMBER void take(const typename Order::value (&v)[N], kiln_index, const kiln_span &span) {
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (span.has(j)) best = kiln_maximum(best, v[j]);
    }
};

template <class Order> struct kiln_choosing {
    typedef typename Order::value value;
    typedef kiln_order<value> order;
    typedef typename order::key key;
    typedef kiln_composite<key> composite;
    typedef kiln_sorting<Order> sorting;
    static constexpr int first = Order::first, most = Order::columns, threads = KILN_THREADS_PER_ROW;
    static_assert(threads % 4 == 0 && (KILN_ROUND == KILN_STEPS || most >= KILN_COLS || most >= 2 * first + 2), "");

    static constexpr int groups = Order::groups, lanes = threads / groups;
    static constexpr bool guesses = Order::guesses;

    key floor;             /* none of those that are wanted is below it ... */
    value floor_value;     /* ... or below that, which NaN is not */
    kiln_u32 last;         /* of those at the floor, none is behind this column */
    kiln_u32 sample_mask;  /* of a column's hash: those with any of these bits are left out for now */
    bool exact;            /* only what may be among them is put down; else some of what is at the floor besides */
    int kept;              /* put down by rounds before */
    kiln_choice<key> sure; /* of guesses: the highest floor that enough are known to reach, how many do ... */
    kiln_u32 sure_last;    /* ... and to which column */
    int failures;          /* since that floor was found */

    KILN_MEMBER kiln_choosing(const kiln_row &row) : sample_mask(0), exact(false), kept(0) {
        raise(0, 0xffffffffu);
        floor_value = order::least();
        sure = {0, (int)KILN_END};
        sure_last = 0xffffffffu;
        failures = 0;
        if (!Order::looks && KILN_END > most) admit((float)KILN_END * KILN_ROUND, (float)KILN_STEPS);
    }

    static KILN_MEMBER kiln_choice<key> &state() { return kiln_row_state<Order, kiln_choice<key>>(); }
    static KILN_MEMBER composite *composites() { return sorting::composites(); }
    /* The number of the value at a place of their order. */
    static KILN_MEMBER int number_at(int place) { return (int)composites()[place].column(); }
    static KILN_MEMBER key key_at(int at) { return kiln_key_of(sorting::values()[at]); }

    /* How many of `count`, or of as many as make whole fours, stand before each of a thread's own. */
    template <int OWN>
    static KILN_MEMBER void count_before(int (&before)[OWN], const composite (&mine)[OWN], int count) {
#pragma unroll
        for (int k = 0; k < OWN; ++k) before[k] = 0;
#pragma unroll 1
        for (int i = 0; i < count; i += 4) {
            const kiln_four_composites<key> four =
                *reinterpret_cast<const kiln_four_composites<key> *>(composites() + i);
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int k = 0; k < OWN; ++k) before[k] = four.at[j].count_larger(before[k], mine[k]);
        }
    }

    /* Multiplicative hashing (Knuth, The Art of Computer Programming 6.4), by 2^32 over the golden ratio. */
    static constexpr kiln_u32 hash_bits = 0xffffu;
    static KILN_MEMBER kiln_u32 hash_of(kiln_u32 column) { return column * 0x9e3779b1u >> 16; }

    /* So few of values / of values as are a sample. */
    KILN_MEMBER void admit(float values, float of) {
        for (sample_mask = 0; values > of * Order::sampled && sample_mask < hash_bits; of *= 2)
            sample_mask = 2 * sample_mask + 1;
        exact |= sample_mask != 0;
    }
    KILN_MEMBER void raise(key to, kiln_u32 column) {
        floor = to;
        floor_value = order::value(to);
        last = column;
    }
    /* Called, so that the compiler does not compute it where nobody asks. */
    static KILN_CALL bool reaches(value v, kiln_u32 column, key floor, kiln_u32 last) {
        const key k = kiln_key_of(v);
        return k > floor || (k == floor && column <= last);
    }
    KILN_MEMBER bool reaches(value v, kiln_u32 column) const { return reaches(v, column, floor, last); }

    /* Rows of a warp have diverged while some of them are gone over again. */
    template <bool DIVERGED> static KILN_MEMBER void barrier() {
        if constexpr (DIVERGED)
            kiln_row_barrier();
        else
            kiln_rows_barrier();
    }

    /* What the threads have looked at. */
    KILN_MEMBER void look(value best) {
        const int rank = kiln_rank();
#pragma unroll
        for (int mask = 1; mask < lanes; mask *= 2)
            best = kiln_maximum(best, kiln_shuffle(best, mask, kiln_lanes_of_row()));
        if (rank % lanes == 0) composites()[rank / lanes] = composite::of(kiln_key_of(best), rank);
        kiln_rows_barrier();
        if (rank < groups) {
            const composite mine[1] = {composites()[rank]};
            int before[1];
            count_before(before, mine, groups);
            if (before[0] == first - 1) state().floor = mine[0].get();
        }
        kiln_rows_barrier();
        raise(state().floor, 0xffffffffu);
    }

    /* Called before the vectors are gone over; a barrier must follow. */
    KILN_MEMBER void start() const {
        if (kiln_rank() == 0) state().count = kept;
    }
    /* Those of a vector take one addition to what the row's threads share. */
    template <int N> KILN_MEMBER void take(const value (&v)[N], kiln_index col, const kiln_span &span) {
        const kiln_u32 column = (kiln_u32)col;
        kiln_u32 taken = 0;
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (span.has(j) && !(v[j] < floor_value)) taken |= 1u << j;
        if (exact) {
            kiln_u32 first_column = column;
            kiln_rematerialise(first_column); /* so that rows which ask for no hash compute none */
#pragma unroll
            for (int j = 0; j < N; ++j)
                if ((hash_of(first_column + j) & sample_mask) || !reaches(v[j], column + j)) taken &= ~(1u << j);
        }
        if (taken == 0) return;
        int at = atomicAdd(&state().count, __popc(taken));
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (taken >> j & 1 && at < most) {
                sorting::values()[at] = v[j];
                kiln_chosen<Order>(at) = column + j;
            }
            at += taken >> j & 1;
        }
    }
    /* Called when they have been: once more where something was left out. That comes to an end: of those that are there
     * at most half are of earlier rounds, so that where the hash admits all more than are wanted are new, and the floor
     * rises beyond the last of these; where it does not rise the hash admits more. Guesses end when some have failed.
     */
    KILN_MEMBER bool again() {
        kiln_row_barrier();
        const int found = state().count, there = found < most ? found : most;
        if (sample_mask == 0 && found <= most && !is_too_high(found)) {
            kept = found;
            return false;
        }
        kiln_row_barrier();
        exact = true;
        if (guesses && failures < Order::failures) {
            guess(found);
        } else if (there > first && rises(there)) {
            if (KILN_ROUND < KILN_STEPS && kept > 0) drop();
            /* Where all that were found are there, so many of them reach the new floor. Of more than there was room for
             * the first to come are there, which in an ascending row are the smallest: all others may reach it. */
            admit((float)found * (sample_mask + 1) * (found <= most ? first : there), (float)there);
        } else {
            sample_mask >>= 1; /* twice as many */
        }
        start();
        kiln_row_barrier();
        return true;
    }
    /* To the last one that is wanted of as many as are there, if that stands before the floor. */
    KILN_MEMBER bool rises(int there) { return rises_to(number_of(first, there)); }
    KILN_MEMBER bool rises_to(int number) {
        const key to = key_at(number);
        const kiln_u32 column = kiln_chosen<Order>(number);
        kiln_row_barrier();
        const bool higher = to > floor || (to == floor && column < last);
        if (higher) raise(to, column);
        return higher;
    }

    /* Whether fewer than are wanted reach the floor, of a row that has as many. */
    KILN_MEMBER bool is_too_high(int found) const {
        return guesses && found < first && (floor != sure.floor || last != sure_last);
    }
    /* Of a sample of those that reach the sure floor the one that Order::wanted of the row reach. The same columns are
     * a sample again: after a failure it is one further behind. */
    KILN_MEMBER void guess(int found) {
        if (sample_mask == 0) { /* all that reach the floor are counted: it is sure, or it was too high */
            if (found >= first && found < sure.count) {
                sure = {floor, found};
                sure_last = last;
                failures = 0;
            } else {
                failures++;
                raise(sure.floor, sure_last);
            }
            return admit((float)sure.count, 1.0f);
        }
        const int wanted = Order::wanted + failures * Order::wider;
        const int place = wanted / (int)(sample_mask + 1) + failures;
        if (found <= most && place < found) {
            rises_to(number_of(place > 0 ? place : 1, found));
            sample_mask = 0;
        } else { /* the hash is no sample of these */
            failures++;
            sample_mask = found > most ? 2 * sample_mask + 1 : sample_mask >> 1;
        }
    }
    /* Of what rounds before have put down, what reaches the floor is moved to the front. */
    KILN_MEMBER void drop() {
        if (kiln_rank() == 0) state().count = 0;
#pragma unroll 1
        for (int begin = 0; begin < kept; begin += threads) {
            const int at = begin + kiln_rank();
            const value v = at < kept ? sorting::values()[at] : value(0);
            const kiln_u32 column = at < kept ? kiln_chosen<Order>(at) : 0;
            kiln_row_barrier();
            if (at >= kept || !reaches(v, column)) continue;
            const int to = atomicAdd(&state().count, 1);
            sorting::values()[to] = v;
            kiln_chosen<Order>(to) = column;
        }
        kiln_row_barrier();
        kept = state().count;
        kiln_row_barrier();
    }
    /* For the next round, half at least. */
    KILN_MEMBER void make_room() {
        if (kept <= most / 2 || kept <= first) return kiln_row_barrier();
        rises(kept);
        drop();
    }

    /* Each thread has so many of those that are there, and counts what stands before them. */
    template <int OWN, bool DIVERGED> static KILN_MEMBER void sort_by_counting(int count) {
        composite mine[OWN];
        int before[OWN];
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            const int at = kiln_rank() + k * threads;
            mine[k] = composite::of(0, 0xffffffffu); /* behind all others */
            if (at < count) mine[k] = composite::of(key_at(at), kiln_chosen<Order>(at));
            if (at < (count + 3) / 4 * 4) composites()[at] = mine[k];
        }
        barrier<DIVERGED>();
        if (kiln_rank() < count) count_before(before, mine, count);
        barrier<DIVERGED>();
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            const int at = kiln_rank() + k * threads;
            if (at < count) composites()[before[k]] = composite::of(mine[k].get(), (kiln_u32)at);
        }
        barrier<DIVERGED>();
    }
    static KILN_CALL void sort_any(int count) {
        if (Order::counted == 1 || (count <= threads && most > Order::counted * threads))
            sort_by_counting<1, true>(count);
        else if (most <= Order::counted * threads || count <= Order::counted * threads)
            sort_by_counting<Order::counted, true>(count);
        else
            sorting::sort(count);
    }
    /* The number of the one at a place, from 1 on, of those that are there. */
    static KILN_CALL int number_of(int place, int there) {
        sort_any(there);
        return number_at(place - 1);
    }
    KILN_MEMBER void sort() const {
        if (most > threads && kiln_any_of_rows(kept > threads))
            sort_any(kept);
        else
            sort_by_counting<1, false>(kept);
    }
    /* Before it is asked what is carried: fewer are looked for. */
    KILN_MEMBER void settle() {
        if (kept > first) rises_to(number_at(first - 1));
    }

    /* Of a column that may be among those that are chosen, what else is wanted of it. */
    template <class T> KILN_MEMBER void carry(int place, value v, kiln_index col, T carried) const {
        if (v < floor_value) return;
        const int number = number_if_chosen(v, (kiln_u32)col, floor, last, kept < first ? kept : first);
        if (number >= 0) kiln_carried<T>(place, number) = carried;
    }
    /* The number of a value, which is at the column, among the first `count` of those that are sorted; -1: it is none.
     */
    static KILN_CALL int number_if_chosen(value v, kiln_u32 column, key floor, kiln_u32 last, int count) {
        if (!reaches(v, column, floor, last)) return -1;
        const composite mine = composite::of(kiln_key_of(v), column);
        int before = 0; /* of those that stand before it */
#pragma unroll 1
        for (int behind = count; before < behind;) {
            const int middle = (before + behind) / 2, number = number_at(middle);
            if (composite::of(key_at(number), kiln_chosen<Order>(number)) > mine)
                before = middle + 1;
            else
                behind = middle;
        }
        const bool chosen = before < count && kiln_chosen<Order>(number_at(before)) == column;
        return chosen ? number_at(before) : -1;
    }
};

/* Goes over the vectors of the round that begins with the step. */
template <class Body>
KILN_DEVICE void kiln_each_of_round(const kiln_row &row, kiln_staging &staging, kiln_index step, Body &body) {
#if KILN_ROUND < KILN_STEPS
    kiln_staged staged[KILN_BATCH];
    kiln_stream::load<false>(row, step, staged);
    kiln_stream::each_loaded<false>(row, step, staged, body);
#else
    staging.each_vector(row, body);
#endif
}

/* Values: what takes a vector's keys to one of the two above. restart: before each pass. */
template <template <class> class Values, class Order, class Restart>
KILN_DEVICE void kiln_choose(const kiln_row &row, kiln_staging &staging, kiln_choosing<Order> &choosing,
                             const Restart &restart) {
    if constexpr (Order::looks) {
        Values<kiln_thread_maximum<Order>> looking;
        restart();
        kiln_each_of_round(row, staging, 0, looking);
        choosing.look(looking.consumer.best);
    }
#pragma unroll 1
    for (kiln_index step = 0; step < KILN_STEPS; step += KILN_ROUND) {
        choosing.start();
        kiln_rows_barrier();
        do {
            Values<kiln_choosing<Order> &> appending = {choosing};
            restart();
            kiln_each_of_round(row, staging, step, appending);
        } while (choosing.again());
        if (KILN_ROUND < KILN_STEPS) choosing.make_room();
    }
    choosing.sort();
}
