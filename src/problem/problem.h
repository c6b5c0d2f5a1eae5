/* SPDX-License-Identifier: Apache-2.0 */
/* A problem: shapes, strides, types and alignments of one binding in canonical form, so that equal work looks equal. */
#ifndef KILN_PROBLEM_PROBLEM_H
#define KILN_PROBLEM_PROBLEM_H

#include "lang/ir.h"
#include "problem/shaped.h"

typedef enum kiln__layout {
    KILN__LAYOUT_FLAT,  /* no reduction: one flat array, every dimension is an outer one */
    KILN__LAYOUT_INNER, /* adjacent columns are contiguous, or nothing is */
    KILN__LAYOUT_OUTER  /* adjacent rows are contiguous */
} kiln__layout;

/* A tensor as the kernel sees it. Strides in elements. */
typedef struct kiln__operand {
    kiln_type type;
    bool output;
    bool per_element;        /* has columns; false: one value per row (inner layout) */
    bool follows_rows;       /* differs from row to row */
    bool linear;             /* at row * row_stride (inner) or element * row_stride (flat) */
    int64_t row_stride;      /* where linear */
    bool contiguous_columns; /* inner: the columns of a row are contiguous, in their order */
    int64_t outer_strides[KILN_MAX_RANK];
    int64_t inner_strides[KILN_MAX_RANK];
    int alignment;        /* elements, a power of two: what the pointer's address is a multiple of, up to 16 bytes */
    bool across;          /* of values of all rows alone, for each column or one: an output, or an input of theirs */
    int64_t run;          /* it has one value for so many neighbouring columns, not all; 0: for one, or for all */
    int64_t first;        /* an output of so many columns, the row's first; 0: of all */
    int64_t block_stride; /* where blocks are uneven: elements from one block's value to the next's */
    kiln__indexed_rows table; /* where its rows are read by an index */
    bool taken;               /* an input that is read at other columns, by take, and perhaps in no other way */
    bool packed_rows;         /* each row begins as far behind the strides' place as the problem's offsets say */
    bool own_columns;         /* each column of each row has a value: per_element, no run, not across */
} kiln__operand;

/* The positions that programs ask for: index() of each axis, and the linear index behind uniform(). Each is in the
 * problem like a tensor whose elements are their own offsets. */
#define KILN__LINEAR_INDEX (-1)
#define KILN__MAX_POSITIONS (KILN_MAX_RANK + 1)

typedef struct kiln__problem {
    kiln__layout layout;
    int outer_rank, inner_rank;   /* after dropping extents of 1 and merging neighbours */
    int64_t outer[KILN_MAX_RANK]; /* kept extents, slowest first */
    int64_t inner[KILN_MAX_RANK]; /* reduced extents, slowest first */
    int64_t rows, cols;           /* flat: rows is the number of elements, cols 1 */
    int64_t longest;              /* columns that a row has at most: cols, but where offsets place rows of any number */
    bool open_rows;
    bool any_shape;                   /* extents, strides and alignments stand for any: a launch tells them */
    bool flat_positions;              /* any_shape: any axis may be that of the columns, as rows are told at a launch */
    bool wide;                        /* rows (flat: elements) do not fit 31 bits */
    bool columns_out;                 /* an output is per_element, or a value of all rows is made of columns */
    bool across;                      /* there are values of all rows */
    uint32_t read, taken, later;      /* of the program (kiln__ir) */
    bool tables;                      /* some input's rows are read by an index */
    bool lengths;                     /* rows may end before `cols`: each where the program says, or, where there are
                                         least_cols, all where the launch does */
    int64_t least_cols;               /* rows have as many columns as the launch says, of so many to `cols`, and lie
                                         anywhere: range.h; 0: cols */
    int offsets;                      /* the input that says where rows begin and end; -1: strides do */
    bool packed;                      /* there are tensors of two elements to a byte */
    int least_vector, most_vector;    /* elements of a vector: of packed tensors whole accesses in every run */
    int64_t blocks[KILN__MAX_BLOCKS]; /* columns of the blocks that are reduced within rows, ascending */
    int block_count;
    bool first;             /* some output has a row's first columns alone */
    bool sorted;            /* rows are brought into order */
    int64_t pitch, filled;  /* flat: of every `pitch` elements the first `filled` are the tensors', and those between
                               rows nobody's; 0: there are none of these */
    bool ordered;           /* a user's combine runs over rows: columns are combined in their order */
    int64_t uneven_columns; /* blocks are along the last so many columns of the row's, and along all before them alike:
                               the last of them may be short; 0: blocks are cut as the columns are */
    int64_t block_run; /* any_shape: the fewest columns along that axis that are whole blocks of all sizes; 0: there
                          are no blocks */
    int input_count, output_count;
    int position_count;
    int position_axes[KILN__MAX_POSITIONS];                         /* an axis, or KILN__LINEAR_INDEX */
    int64_t sizes[KILN_MAX_RANK];                                   /* of the iteration space, as given, for size() */
    int last_axis;                                                  /* of the space */
    kiln__operand operands[KILN_MAX_TENSORS + KILN__MAX_POSITIONS]; /* inputs, outputs, positions */
} kiln__problem;

/* Whether columns wait in shared memory for others of their row, but for reductions of all of it. */
static inline bool kiln__waits(const kiln__problem *problem) { return problem->block_count || problem->sorted; }

/* What is reduced: in blocks of which sizes, whether in the order of columns, whether of all rows. */
void kiln__find_reductions(const kiln__ir *ir, kiln__problem *problem);

/* Whether some value is one of several neighbouring columns. */
bool kiln__has_blocks(const kiln__problem *problem);

/* Whether each row has elements of its own in it. */
static inline bool kiln__has_own_elements(const kiln__operand *operand) {
    return operand->per_element && operand->follows_rows;
}

/* An input that no row reads, only what is made when they are done. */
static inline bool kiln__is_read_later(const kiln__operand *operand) { return operand->across && !operand->output; }

/* The position of an axis, or of KILN__LINEAR_INDEX, which the program asks for. */
const kiln__operand *kiln__position(const kiln__problem *problem, int axis);

/* Whether a type is so narrow that it hides the last bits of a float: f16, bf16, or a float of 8 bits or 4. Whether
 * every output's is. */
bool kiln__hides_last_bits(kiln_type type);
bool kiln__outputs_are_narrow(const kiln__problem *problem);

/* Data pointers are read for their alignment alone (NULL: 16 bytes). KILN_E_SHAPE for outputs that do not fit or a max
 * of nothing; KILN_E_AXIS; KILN_E_UNSUPPORTED names the tensor and the limit. */
kiln_status kiln__problem_build(const kiln__ir *ir, const kiln__shaped *shaped, kiln__problem *out);
/* The same of a kernel of its own, in which rows of one pitch may be one array with the elements between them. */
kiln_status kiln__problem_build_exact(const kiln__ir *ir, const kiln__shaped *shaped, kiln__problem *out);

/* Flat: how many elements the tensors have. */
static inline int64_t kiln__element_count(const kiln__problem *p) {
    return p->pitch ? (p->rows + p->pitch - p->filled) / p->pitch * p->filled : p->rows;
}

#endif
