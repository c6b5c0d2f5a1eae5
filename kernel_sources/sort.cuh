// SPDX-License-Identifier: Apache-2.0
/* Sorting, stable. What moves are composites: a value's key and its number, which is its column's, or says where what
 * was chosen lies. A thread brings its share of neighbours into order in registers; then runs of twice as many are
 * merged through the row's memory until one is left. A share begins in the middle of a merge: how many elements of
 * either run come before it is found by bisection along the diagonal of the merge's path (Green, McColl and Bader, GPU
 * Merge Path, 2012).
 *
 * Where a row has more columns than its threads have room for, such a run is a tile. Tiles lie in the workspace, where
 * they are merged in the same way, each tile of the result by all threads in shared memory. */

template <class T> KILN_DEVICE T &kiln_carried(int place, int at) {
    return reinterpret_cast<T *>(kiln_row_memory(place))[at];
}
/* Of those that are chosen, which columns they are. */
template <class Order> KILN_DEVICE kiln_u32 &kiln_chosen(int at) {
    return kiln_carried<kiln_u32>(Order::columns_at, at);
}

constexpr kiln_u32 kiln_no_number = 0xffffffffu;

/* A value's key and its column, or what else tells equal ones apart: of two values the one that comes first is larger.
 */
template <class Key> struct kiln_composite { /* of 64 bits */
    Key key;
    kiln_u64 behind; /* of as many bytes, though 32 bits are used: moved with the key by one access */
    static KILN_MEMBER kiln_composite of(Key key, kiln_u32 column) { return {key, ~column}; }
    KILN_MEMBER Key get() const { return key; }
    KILN_MEMBER kiln_u32 column() const { return ~(kiln_u32)behind; }
    KILN_MEMBER bool operator>(const kiln_composite &b) const {
        return (key > b.key) | ((key == b.key) & ((kiln_u32)behind > (kiln_u32)b.behind));
    }
    KILN_MEMBER int count_larger(int count, const kiln_composite &b) const { return count + (*this > b); }
};
template <> struct kiln_composite<kiln_u32> {
    kiln_u64 all;
    static KILN_MEMBER kiln_composite of(kiln_u32 key, kiln_u32 column) { return {(kiln_u64)key << 32 | ~column}; }
    KILN_MEMBER kiln_u32 get() const { return (kiln_u32)(all >> 32); }
    KILN_MEMBER kiln_u32 column() const { return ~(kiln_u32)all; }
    KILN_MEMBER bool operator>(const kiln_composite &b) const { return all > b.all; }
    KILN_MEMBER int count_larger(int count, const kiln_composite &b) const {
        return kiln_count_larger(count, all, b.all);
    }
};

/* The same in 4 bytes: keys and numbers are of few bits. */
template <int NUMBER_BITS> struct kiln_small_composite {
    kiln_u32 all;
    static constexpr kiln_u32 numbers = (1u << NUMBER_BITS) - 1;
    static KILN_MEMBER kiln_small_composite of(kiln_u32 key, kiln_u32 number) {
        return {key << NUMBER_BITS | (~number & numbers)};
    }
    KILN_MEMBER kiln_u32 column() const { return ~all & numbers; }
    KILN_MEMBER bool operator>(const kiln_small_composite &b) const { return all > b.all; }
};

/* Of a row, whose values are there before and whose composites are in order when it returns. */
template <class Order> struct kiln_sorting {
    typedef typename Order::value value;
    typedef typename kiln_order<value>::key key;
    typedef typename Order::composite composite;
    static constexpr int threads = KILN_THREADS_PER_ROW, own = Order::own, tile = own * threads;
    static KILN_MEMBER constexpr int tiles() { return Order::tiles(); }
    /* How often runs of tiles are merged, two each, until one is left. */
    static KILN_MEMBER constexpr int merges() { return Order::merges(); }

    static KILN_MEMBER value *values() { return &kiln_carried<value>(Order::place, 0); }
    /* Of the row, in the end; 1: the second array, between which merges of tiles go back and forth. */
    static KILN_MEMBER composite *composites(int array = 0) {
        return &kiln_carried<composite>(Order::composites, array * tiles() * tile);
    }
    static KILN_MEMBER int least(int a, int b) { return a < b ? a : b; }

    static KILN_MEMBER composite composite_of(int number) {
        const key k = kiln_key_of(values()[number]) >> Order::shift ^ Order::flip;
        return composite::of((Order::descending ? k : ~k) & (key)Order::key_mask, (kiln_u32)number);
    }
    static KILN_MEMBER composite none() { return composite::of(0, kiln_no_number); } /* behind all others */

    /* Of equal values the one of the first column, also of those that were chosen in no order. */
    static KILN_MEMBER bool stands_before(const composite &a, const composite &b) {
        if constexpr (Order::chosen)
            if (a.get() == b.get()) return column_of(a) < column_of(b);
        return a > b;
    }
    static KILN_MEMBER kiln_u32 column_of(const composite &a) {
        return a.column() == kiln_no_number ? kiln_no_number : kiln_chosen<Order>(a.column());
    }

    /* A network of exchanges (Batcher, Sorting networks and their applications, 1968; Knuth, The Art of Computer
     * Programming 5.2.2, algorithm M): runs of RUN elements are merged, by those at DISTANCE and less. */
    template <int RUN, int DISTANCE> static KILN_MEMBER void exchange_all(composite (&at)[own]) {
#pragma unroll
        for (int i = DISTANCE % RUN; i < own - DISTANCE; ++i)
            if ((i - DISTANCE % RUN) / DISTANCE % 2 == 0 && i / (2 * RUN) == (i + DISTANCE) / (2 * RUN))
                exchange(at[i], at[i + DISTANCE]);
        if constexpr (DISTANCE > 1)
            exchange_all<RUN, DISTANCE / 2>(at);
        else if constexpr (2 * RUN < own)
            exchange_all<2 * RUN, 2 * RUN>(at);
    }
    static KILN_MEMBER void exchange(composite &a, composite &b) {
        const composite x = a;
        if (stands_before(b, x)) a = b, b = x;
    }
    /* Neighbours, by a thread, in registers. */
    static KILN_MEMBER void arrange(composite (&at)[own], int begin, int end) {
#pragma unroll
        for (int i = 0; i < own; ++i) at[i] = begin + i < end ? composite_of(begin + i) : none();
        if constexpr (own > 1) exchange_all<1, 1>(at);
    }

    /* How many of the first `place` elements of the merge of two runs are of the first one. */
    static KILN_MEMBER int split(const composite *a, int count_a, const composite *b, int count_b, int place) {
        int low = place > count_b ? place - count_b : 0, high = least(place, count_a);
        while (low < high) {
            const int half = (low + high) / 2;
            if (stands_before(b[place - 1 - half], a[half]))
                high = half;
            else
                low = half + 1;
        }
        return low;
    }
    /* The thread's share, from a place on, of the merge of two runs, which lie one behind the other in a tile. Behind a
     * run's end stands what is behind all others. Unrolled, as registers have no numbers. */
    static KILN_MEMBER void merge(composite (&out)[own], const composite *from, int first, int middle, int last,
                                  int place) {
        int a = first + split(from + first, middle - first, from + middle, last - middle, place);
        int b = middle + place - (a - first);
        composite at_a = a < middle ? from[a] : none(), at_b = b < last ? from[b] : none();
#pragma unroll
        for (int i = 0; i < own; ++i) {
            const bool second = stands_before(at_b, at_a);
            out[i] = second ? at_b : at_a;
            const int next = second ? ++b : ++a, end = second ? last : middle;
            composite at = none();
            if (next < end) at = from[next];
            if (second)
                at_b = at;
            else
                at_a = at;
        }
    }

    static KILN_MEMBER void put(composite *to, const composite (&at)[own]) {
#pragma unroll
        for (int i = 0; i < own; ++i) to[kiln_rank() * own + i] = at[i];
        kiln_row_barrier();
    }
    /* Each thread has its share in order, of `count` elements; then all have, in the tile. */
    static KILN_MEMBER void merge_shares(composite *in, composite (&at)[own], int count) {
        const int rank = kiln_rank();
        put(in, at);
#pragma unroll 1
        for (int shares = 1; shares < threads && shares * own < count; shares *= 2) {
            const int first = rank / (2 * shares) * (2 * shares) * own, middle = least(first + shares * own, tile);
            merge(at, in, first, middle, least(middle + shares * own, tile), rank * own - first);
            kiln_row_barrier();
            put(in, at);
        }
    }

    /* Element i of the tile, in which neighbouring threads have neighbours. */
    static KILN_MEMBER int neighbour(int i) { return i * threads + kiln_rank(); }
    static KILN_MEMBER void copy(composite *to, const composite *from) {
#pragma unroll
        for (int i = 0; i < own; ++i) to[neighbour(i)] = from[neighbour(i)];
    }

    /* Merges runs of so many tiles. Where each tile of the result begins in the first run of two is found by a thread.
     */
    static KILN_MEMBER void merge_tiles(composite *in, int run, const composite *from, composite *to) {
        constexpr int group = threads - 1;
        int *const begins = reinterpret_cast<int *>(in + tile);
#pragma unroll 1
        for (int begin = 0; begin < tiles(); begin += group) {
            const int mine = begin + kiln_rank();
            if (mine < tiles()) {
                const pair p(run, mine);
                begins[kiln_rank()] = split(from + p.first, p.middle - p.first, from + p.middle, p.last - p.middle,
                                            mine * tile - p.first);
            }
            kiln_row_barrier();
#pragma unroll 1
            for (int t = begin; t < least(begin + group, tiles()); ++t) {
                const pair p(run, t);
                const int a = begins[t - begin], b = t * tile - p.first - a;
                const int end = (t + 1) * tile == p.last ? p.middle - p.first : begins[t - begin + 1];
                merge_tile(in, from + p.first + a, end - a, from + p.middle + b, to + t * tile);
            }
        }
    }
    /* The two runs of which a tile of the result is made; the last one may be alone. */
    struct pair {
        int first, middle, last;
        KILN_MEMBER pair(int run, int t)
            : first(t / (2 * run) * (2 * run) * tile), middle(least(first + run * tile, tiles() * tile)),
              last(least(middle + run * tile, tiles() * tile)) {}
    };
    static KILN_MEMBER void merge_tile(composite *in, const composite *a, int count_a, const composite *b,
                                       composite *to) {
        composite at[own];
#pragma unroll
        for (int i = 0; i < own; ++i) at[i] = neighbour(i) < count_a ? a[neighbour(i)] : b[neighbour(i) - count_a];
#pragma unroll
        for (int i = 0; i < own; ++i) in[neighbour(i)] = at[i];
        kiln_row_barrier();
        merge(at, in, 0, count_a, tile, kiln_rank() * own);
        kiln_row_barrier();
        put(in, at);
        copy(to, in);
        kiln_row_barrier();
    }

    static KILN_MEMBER void sort(int count) {
        composite *const in = kiln_tile_memory<Order, composite>();
        composite at[own];
        kiln_row_barrier();
#pragma unroll 1
        for (int t = 0; t < tiles(); ++t) {
            arrange(at, t * tile + kiln_rank() * own, count);
            merge_shares(in, at, count - t * tile);
            if constexpr (kiln_row_is_away) {
                copy(composites(merges() % 2) + t * tile, in);
                kiln_row_barrier();
            }
        }
        if (tiles() == 1) return;
#pragma unroll 1
        for (int m = 0; m < merges(); ++m)
            merge_tiles(in, 1 << m, composites((merges() - m) % 2), composites((merges() - m + 1) % 2));
    }
};

template <class Order> KILN_DEVICE void kiln_sort(kiln_index count) {
    kiln_sorting<Order>::sort(count < Order::most() ? (int)count : Order::most());
}

/* Goes over the first places of the row's order, of which a thread has one at a time. */
template <int PLACES, class Body> KILN_DEVICE void kiln_each_in_order(const kiln_row &row, Body &body) {
#pragma unroll 1
    for (kiln_index col = kiln_rank(); col < PLACES && col < KILN_END; col += KILN_THREADS_PER_ROW)
        body.place(row, col);
}

/* The number that stands at the place in the order of `count` columns; below 0: a vector reaches out of them. */
template <class Order> KILN_DEVICE int kiln_number_in_order(kiln_index place, kiln_index count) {
    const bool all = !KILN_MASKED && !Order::chosen; /* vectors are whole */
    if (!all && (place < 0 || place >= count || place >= Order::first)) return -1;
    return (int)kiln_sorting<Order>::composites()[place].column();
}
template <class Order> KILN_DEVICE kiln_i64 kiln_column_in_order(kiln_index place, kiln_index count) {
    const int number = kiln_number_in_order<Order>(place, count);
    if constexpr (Order::chosen) return number < 0 ? number : (kiln_i64)kiln_chosen<Order>(number);
    return number;
}
template <class Order, class T> KILN_DEVICE T kiln_value_in_order(int memory, kiln_index place, kiln_index count) {
    const int number = kiln_number_in_order<Order>(place, count);
    return number < 0 ? T(0) : kiln_carried<T>(memory, number);
}
