// SPDX-License-Identifier: Apache-2.0
/* Sorting, stable: a row's values lie in shared memory, one for each column, and what moves are the numbers of columns.
 * A thread brings its share of neighbours into order by insertion; then runs of twice as many are merged until one is
 * left. A share begins in the middle of a merge: how many elements of either run come before it is found by bisection
 * along the diagonal of the merge's path (Green, McColl and Bader, GPU Merge Path, 2012). */

typedef unsigned short kiln_number;

/* Shared memory of the row, of which a block may have several. */
KILN_DEVICE unsigned char *kiln_row_memory(int place) {
    return kiln_shared + place + (int)threadIdx.x / KILN_THREADS_PER_ROW * KILN_ROW_BYTES;
}
template <class T> KILN_DEVICE T &kiln_carried(int place, int at) {
    return reinterpret_cast<T *>(kiln_row_memory(place))[at];
}
/* Of those that are chosen, which columns they are. */
template <class Order> KILN_DEVICE kiln_u32 &kiln_chosen(int at) {
    return kiln_carried<kiln_u32>(Order::columns_at, at);
}

/* Whether a stands before b, wherever they were. NaN is the largest. */
template <bool DESCENDING, class V> KILN_DEVICE bool kiln_precedes(V a, V b) {
    if constexpr (DESCENDING) return b < a || (a != a && b == b);
    return a < b || (b != b && a == a);
}

/* How often runs of so many columns are merged, two each, until one is left. */
KILN_DEVICE constexpr int kiln_merges(int run, int columns) {
    return run < columns ? 1 + kiln_merges(2 * run, columns) : 0;
}

/* Of a row, whose values are there before and whose numbers are when it returns. */
template <class Order> struct kiln_sorting {
    typedef typename Order::value value;
    static constexpr int columns = Order::columns;
    static constexpr int threads = KILN_THREADS_PER_ROW;
    static constexpr int share = (columns + threads - 1) / threads | 1; /* odd: they begin in all banks */
    static constexpr int turns = kiln_merges(share, columns);

    static KILN_MEMBER value *values() { return &kiln_carried<value>(Order::place, 0); }
    static KILN_MEMBER kiln_number *numbers(int turn) {
        return &kiln_carried<kiln_number>(Order::numbers, turn % 2 * Order::room);
    }
    static KILN_MEMBER bool precedes(kiln_number a, kiln_number b) {
        const value x = values()[a], y = values()[b];
        if constexpr (Order::chosen) /* which came in no order */
            if (!kiln_precedes<Order::descending>(y, x))
                return kiln_precedes<Order::descending>(x, y) || kiln_chosen<Order>(a) < kiln_chosen<Order>(b);
        return kiln_precedes<Order::descending>(x, y);
    }
    static KILN_MEMBER int least(int a, int b) { return a < b ? a : b; }

    static KILN_MEMBER void insert(kiln_number *order, int begin, int end) {
#pragma unroll 1
        for (int i = begin; i < end; ++i) {
            int at = i;
            for (; at > begin && precedes((kiln_number)i, order[at - 1]); --at) order[at] = order[at - 1];
            order[at] = (kiln_number)i;
        }
    }

    /* The elements begin ... end - 1 of the merge of the run they are in with the one beside it. */
    static KILN_MEMBER void merge(const kiln_number *from, kiln_number *to, int run, int begin, int end, int count) {
        const int first = begin / (2 * run) * (2 * run), middle = least(first + run, count);
        const int last = least(middle + run, count), before = begin - first;
        int low = before - (last - middle) > 0 ? before - (last - middle) : 0, high = least(before, middle - first);
        while (low < high) {
            const int half = (low + high) / 2;
            if (precedes(from[middle + before - 1 - half], from[first + half]))
                high = half;
            else
                low = half + 1;
        }
        int a = first + low, b = middle + before - low;
#pragma unroll 1
        for (int i = begin; i < end; ++i) {
            const bool second = a == middle || (b < last && precedes(from[b], from[a]));
            to[i] = from[second ? b++ : a++];
        }
    }

    static KILN_MEMBER void sort(int count) {
        const int begin = least(kiln_rank() * share, count), end = least(begin + share, count);
        int turn = 0;
        kiln_row_barrier();
        insert(numbers(0), begin, end);
#pragma unroll 1
        for (int run = share; run < columns; run *= 2, ++turn) {
            kiln_row_barrier();
            merge(numbers(turn), numbers(turn + 1), run, begin, end, count);
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
