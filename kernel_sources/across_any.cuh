// SPDX-License-Identifier: Apache-2.0
/* Values of all rows, of any number of columns: a team is the threads that work on a row, of which each goes on to
 * other rows. What a team's rows come to lies in the workspace, in a slice of its own; at the end a block's teams are
 * combined in their order. */

template <class Total> KILN_DEVICE kiln_i64 kiln_columns_of_total(const kiln_arguments &args) {
    return Total::columns ? args.shape.cols : 1;
}
KILN_DEVICE int kiln_teams(const kiln_arguments &args) { return KILN_THREADS >> args.shape.row_shift; }
/* The columns of a vector lie apart: those that threads of a warp add to at a time are neighbours. */
template <class Total>
KILN_DEVICE typename Total::type &kiln_sum(const kiln_arguments &args, kiln_i64 team, kiln_i64 at) {
    const kiln_i64 padded = args.shape.padded_cols;
    unsigned char *const from = args.workspace + team * args.shape.slice + Total::before * padded + Total::beside;
    const kiln_i64 place = at % KILN_VECTOR_WIDTH * (padded / KILN_VECTOR_WIDTH) + at / KILN_VECTOR_WIDTH;
    return reinterpret_cast<typename Total::type *>(from)[Total::columns ? place : 0];
}
KILN_DEVICE kiln_i64 kiln_team(const kiln_arguments &args) {
    return (kiln_i64)blockIdx.x * kiln_teams(args) + (threadIdx.x >> args.shape.row_shift);
}

/* What a column of the row, or the row, adds; a thread adds to no other column that another adds to at the time. */
template <class Total> KILN_DEVICE void kiln_add(const kiln_row &row, kiln_i64 at, typename Total::type value) {
    typename Total::type &sum = kiln_sum<Total>(row.args, kiln_team(row.args), at);
    sum = Total::combine(sum, value);
}

template <class Total> KILN_DEVICE void kiln_clear_total(const kiln_arguments &args) {
    const kiln_i64 count = kiln_columns_of_total<Total>(args), team = kiln_team(args);
    const int threads = 1 << args.shape.row_shift;
    for (kiln_i64 i = threadIdx.x & (threads - 1); i < count; i += threads)
        kiln_sum<Total>(args, team, i) = Total::identity();
}

/* Of a block's teams, in the place of the first. */
template <class Total> KILN_DEVICE void kiln_publish_total(const kiln_arguments &args) {
    const kiln_i64 count = kiln_columns_of_total<Total>(args), first = (kiln_i64)blockIdx.x * kiln_teams(args);
    for (kiln_i64 i = threadIdx.x; i < count; i += KILN_THREADS) {
        typename Total::type all = kiln_sum<Total>(args, first, i);
        for (int team = 1; team < kiln_teams(args); ++team)
            all = Total::combine(all, kiln_sum<Total>(args, first + team, i));
        kiln_sum<Total>(args, first, i) = all;
    }
}

KILN_DEVICE kiln_i64 kiln_across_blocks(const kiln_arguments &args) { return args.shape.blocks; }
template <class Total>
KILN_DEVICE typename Total::type kiln_published(const kiln_arguments &args, kiln_i64 block, kiln_i64 at) {
    return kiln_sum<Total>(args, block * kiln_teams(args), at);
}
