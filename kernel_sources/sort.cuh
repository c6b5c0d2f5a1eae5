// SPDX-License-Identifier: Apache-2.0
/* Sorting, stable: a row's values lie in its memory, one for each column, and what moves are the numbers of columns.
 * A thread brings its share of neighbours into order in registers; then runs of twice as many are merged until one is
 * left. A share begins in the middle of a merge: how many elements of either run come before it is found by bisection
 * along the diagonal of the merge's path (Green, McColl and Bader, GPU Merge Path, 2012). */

template <class T> KILN_DEVICE T &kiln_carried(int place, int at) {
    return reinterpret_cast<T *>(kiln_row_memory(place))[at];
}
/* Of those that are chosen, which columns they are. */
template <class Order> KILN_DEVICE kiln_u32 &kiln_chosen(int at) {
    return kiln_carried<kiln_u32>(Order::columns_at, at);
}

/* Whether a stands before b, wherever they were. NaN is the largest: it is not at most anything. */
template <bool DESCENDING, class V> KILN_DEVICE bool kiln_precedes(V a, V b) {
    if constexpr (DESCENDING) return !(a <= b) && b == b;
    return !(b <= a) && a == a;
}

/* A value's key and its column, or what else tells equal ones apart: of two values the one that comes first is larger.
 */
template <class Key> struct kiln_composite { /* of 64 bits */
    Key key;
    kiln_u64 behind;
    static KILN_MEMBER kiln_composite of(Key key, kiln_u32 column) { return {key, ~column}; }
    KILN_MEMBER Key get() const { return key; }
    KILN_MEMBER kiln_u32 column() const { return ~(kiln_u32)behind; }
    KILN_MEMBER bool operator>(const kiln_composite &b) const {
        return key > b.key || (key == b.key && behind > b.behind);
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

/* Into how many parts, a power of 2, what a thread has is cut, so that `most` of it are together in registers. */
KILN_DEVICE constexpr int kiln_parts(int each, int most) {
    return each > most ? 2 * kiln_parts((each + 1) / 2, most) : 1;
}
/* How often runs of so many columns are merged, two each, until one is left. */
KILN_DEVICE constexpr int kiln_merges(int run, int columns) {
    return run < columns ? 1 + kiln_merges(2 * run, columns) : 0;
}

/* Of a row, whose values are there before and whose numbers are when it returns. */
template <class Order> struct kiln_sorting {
    typedef typename Order::value value;
    typedef typename Order::label label; /* a column's number */
    typedef typename kiln_order<value>::key key;
    typedef kiln_composite<key> composite;
    static constexpr int columns = Order::columns;
    static constexpr int threads = KILN_THREADS_PER_ROW;
    static constexpr int each = (columns + threads - 1) / threads, parts = kiln_parts(each, Order::together);
    static constexpr int own = (each + parts - 1) / parts | 1; /* odd: they begin in all banks */
    static constexpr int share = own * parts, turns = kiln_merges(own, columns);

    static KILN_MEMBER value *values() { return &kiln_carried<value>(Order::place, 0); }
    static KILN_MEMBER label *numbers(int turn) { return &kiln_carried<label>(Order::numbers, turn % 2 * Order::room); }
    /* Whether a value stands before another, of those that came in no order the first column's. */
    static KILN_MEMBER bool precedes(value x, label a, value y, label b) {
        if constexpr (Order::chosen)
            if (!kiln_precedes<Order::descending>(y, x))
                return kiln_precedes<Order::descending>(x, y) || kiln_chosen<Order>(a) < kiln_chosen<Order>(b);
        return kiln_precedes<Order::descending>(x, y);
    }
    static KILN_MEMBER bool precedes(label a, label b) { return precedes(values()[a], a, values()[b], b); }
    static KILN_MEMBER int least(int a, int b) { return a < b ? a : b; }

    static KILN_MEMBER composite composite_of(int number) {
        const key k = kiln_key_of(values()[number]);
        const kiln_u32 column = Order::chosen ? kiln_chosen<Order>(number) : (kiln_u32)number;
        return composite::of(Order::descending ? k : ~k, column);
    }
    /* A network of exchanges (Batcher, Sorting networks and their applications, 1968; Knuth, The Art of Computer
     * Programming 5.2.2, algorithm M): runs of RUN elements are merged, by those at DISTANCE and less. */
    template <int RUN, int DISTANCE> static KILN_MEMBER void exchange_all(composite (&at)[own], int (&number)[own]) {
#pragma unroll
        for (int i = DISTANCE % RUN; i < own - DISTANCE; ++i)
            if ((i - DISTANCE % RUN) / DISTANCE % 2 == 0 && i / (2 * RUN) == (i + DISTANCE) / (2 * RUN))
                exchange(at[i], at[i + DISTANCE], number[i], number[i + DISTANCE]);
        if constexpr (DISTANCE > 1)
            exchange_all<RUN, DISTANCE / 2>(at, number);
        else if constexpr (2 * RUN < own)
            exchange_all<2 * RUN, 2 * RUN>(at, number);
    }
    static KILN_MEMBER void exchange(composite &a, composite &b, int &number_a, int &number_b) {
        const bool behind = b > a;
        const composite x = a;
        const int number = number_a;
        if (behind) a = b, b = x, number_a = number_b, number_b = number;
    }
    /* Neighbours, by a thread, in registers. */
    static KILN_MEMBER void arrange(label *to, int begin, int end) {
        composite at[own];
        int number[own];
#pragma unroll
        for (int i = 0; i < own; ++i) {
            number[i] = begin + i;
            at[i] = begin + i < end ? composite_of(begin + i) : composite::of(0, 0xffffffffu); /* behind all others */
        }
        if constexpr (own > 1) exchange_all<1, 1>(at, number);
#pragma unroll
        for (int i = 0; i < own; ++i)
            if (begin + i < end) to[begin + i] = (label)(Order::chosen ? number[i] : (int)at[i].column());
    }

    /* The elements begin ... end - 1 of the merge of the run they are in with the one beside it; runs have been merged
     * `turn` times. */
    static KILN_MEMBER void merge(int turn, int begin, int end, int count) {
        const label *const from = numbers(0);
        label *const to = numbers(turn + 1);
        const int all = turn % 2 * Order::room, behind = all + count; /* where those of this turn begin and end */
        const int run = own << turn, first = all + (begin / own >> (turn + 1) << (turn + 1)) * own;
        const int middle = least(first + run, behind), last = least(middle + run, behind);
        const int before = all + begin - first;
        int low = before - (last - middle) > 0 ? before - (last - middle) : 0, high = least(before, middle - first);
        while (low < high) {
            const int half = (low + high) / 2;
            if (precedes(from[middle + before - 1 - half], from[first + half]))
                high = half;
            else
                low = half + 1;
        }
        int a = first + low, b = middle + before - low;
        label at_a = from[least(a, behind - 1)], at_b = from[least(b, behind - 1)];
        value of_a = values()[at_a], of_b = values()[at_b];
#pragma unroll 1
        for (int i = begin; i < end; ++i) {
            const bool second = (a == middle) | ((b < last) & precedes(of_b, at_b, of_a, at_a)); /* without a branch */
            to[i] = second ? at_b : at_a;
            const int next = second ? ++b : ++a;
            const label at = from[least(next, behind - 1)];
            const value of = values()[at];
            if (second)
                at_b = at, of_b = of;
            else
                at_a = at, of_a = of;
        }
    }

    static KILN_MEMBER void sort(int count) {
        const int begin = least(kiln_rank() * share, count), end = least(begin + share, count);
        int turn = 0;
        kiln_row_barrier();
#pragma unroll 1
        for (int part = begin; part < end; part += own) arrange(numbers(0), part, least(part + own, end));
#pragma unroll 1
        for (int run = own; run < columns; run *= 2, ++turn) {
            kiln_row_barrier();
#pragma unroll 1
            for (int part = begin; part < end; part += 2 * run) merge(turn, part, least(part + 2 * run, end), count);
        }
        kiln_row_barrier();
    }
};

template <class Order> KILN_DEVICE void kiln_sort(kiln_index count) {
    kiln_sorting<Order>::sort(count < Order::columns ? (int)count : Order::columns);
}

/* Goes over the first places of the row's order, of which a thread has one at a time. */
template <int PLACES, class Body> KILN_DEVICE void kiln_each_in_order(const kiln_row &row, Body &body) {
#pragma unroll 1
    for (kiln_index col = kiln_rank(); col < PLACES && col < KILN_END; col += KILN_THREADS_PER_ROW)
        body.place(row, col);
}

/* The number that stands at the place in the order of `count` columns; below 0: a vector reaches out of them. */
template <class Order> KILN_DEVICE int kiln_number_in_order(kiln_index place, kiln_index count) {
    typedef kiln_sorting<Order> sorting;
    const bool all = !KILN_MASKED && !Order::chosen; /* vectors are whole */
    if (!all && (place < 0 || place >= count || place >= Order::first)) return -1;
    return sorting::numbers(sorting::turns)[place];
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
