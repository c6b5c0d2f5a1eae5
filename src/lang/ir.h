/* SPDX-License-Identifier: Apache-2.0 */
/* A typed, phased program: what the later stages read. Made from a graph and the types of its tensors. */
#ifndef KILN_LANG_IR_H
#define KILN_LANG_IR_H

#include "lang/graph.h"

#define KILN__MAX_PHASES 100

/* Which names are what: the binding's part that the language needs. All arrays index by position in the
 * signature. */
typedef struct kiln__signature {
    uint32_t inputs[KILN_MAX_TENSORS], input_count; /* indices into graph->names */
    uint32_t outputs[KILN_MAX_TENSORS], output_count;
    uint32_t scalars[KILN_MAX_SCALARS], scalar_count;
} kiln__signature;

/* Names as kiln_program_options lists them, separated by commas; NULL: the defaults there. */
typedef struct kiln__lists {
    const char *inputs, *outputs, *scalars;
} kiln__lists;

/* KILN_E_NAME names the culprit: unknown (with the nearest name), listed twice, an output that is free, an input or a
 * scalar that is assigned, an input that is not in the list of inputs, no output at all; KILN_E_LIMIT for more than
 * KILN_MAX_TENSORS tensors in all or KILN_MAX_SCALARS scalars. */
kiln_status kiln__signature_resolve(const kiln__graph *graph, const kiln__lists *lists, kiln__signature *out);

/* What reductions over other axes than the rows' come to: a value for each column, or one of all elements. */
typedef enum kiln__across { KILN__ACROSS_NONE, KILN__ACROSS_ROWS, KILN__ACROSS_ALL } kiln__across;

/* Marks the nodes of outputs, of where their rows go, and of where and how long rows are. */
void kiln__outputs_mark(const kiln__graph *graph, const kiln__signature *signature, bool *needed);

/* Those of a program: of each domain that is not the rows', 1 + its index in the graph, what its reductions are. */
#define KILN__MAX_ACROSS 4
typedef struct kiln__across_kinds {
    int count;
    uint32_t domains[KILN__MAX_ACROSS];
    kiln__across kinds[KILN__MAX_ACROSS];
} kiln__across_kinds;

static inline kiln__across kiln__across_of(const kiln__across_kinds *across, uint32_t domain) {
    for (int i = 0; i < across->count; i++)
        if (across->domains[i] == domain) return across->kinds[i];
    return KILN__ACROSS_NONE;
}

/* Blocks that do not divide their columns, or one another: the axis that they lie along stays one, the last block of
 * each size may be short. */
typedef struct kiln__uneven {
    int axis;        /* of the space */
    int64_t columns; /* along it; 0: there are no such blocks */
    int64_t alone; /* where no reduction runs over more than blocks: columns of the largest, for each of which an output
                      has a value that depends on no column; else 0 */
} kiln__uneven;

/* What typing must know of the tensors. */
typedef struct kiln__binding {
    kiln_type input_types[KILN_MAX_TENSORS];
    bool input_per_element[KILN_MAX_TENSORS];   /* has more than one element of its own along the reduced axes */
    bool input_row_invariant[KILN_MAX_TENSORS]; /* has none but one along the axes that rows keep */
    int64_t input_repeats[KILN_MAX_TENSORS];    /* where it has: one for so many neighbouring columns; 0: for each */
    kiln_type output_types[KILN_MAX_TENSORS];
    kiln_type scalar_types[KILN_MAX_SCALARS]; /* as kiln_scalar.type */
    int rank;                                 /* of the iteration space as the text knows it, for index() and size() */
    /* That axis is several in the space, from that place on, which blocks are cut into: the extents of all of them, the
     * columns of the smallest block last. part_count 0: none is. */
    int block_axis, part_count;
    int64_t parts[KILN_MAX_RANK];
    kiln__across_kinds across;
    kiln__uneven uneven;
    int64_t row_block;           /* blocks of so many columns are the rows; 0: rows are more than any block */
    uint32_t packed;             /* bit i: input i has its rows one behind the other */
    bool reduced[KILN_MAX_RANK]; /* of the space's axes */
} kiln__binding;

/* One operation, typed. Types are explicit: where an argument's type is not what the operator computes in, a
 * CAST stands between; so of ADD, all of args and result have one type. A float input or scalar has the
 * program's float type from the start; a FLOAT of type f32 is an f32 exactly.
 *   CAST      from args[0]'s type to type. Float to bool: not equal 0. Float to integer: truncates, saturating, NaN
 *             gives 0. i64 to i32: saturating.
 *   ROUND_TO  through u.storage and back (args[0] is a float for float storage, an integer for integer storage)
 *   STOCHASTIC to one of the two values of u.storage, a float type, that args[0] is between: args[1] says to which
 *   ACROSS_REDUCE what u.block.op makes of args[0] in all rows, for each column if that has columns; what is made of
 *             it is computed when the last row is done
 *   BLOCK_REDUCE what u.block.op makes of args[0] in the block of `domain` columns that a column is in; no phase ends
 *             with it, as the threads of a row that have a block are neighbours
 *   REDUCE_BEFORE what u.block.op makes of args[0] in the columns of the row that lie before those of a thread, which
 *             are neighbours, in their order
 *   SCAN      the same of the columns up to an element: from args[1], a REDUCE_BEFORE, on
 *   ORDER     of each place in the row's order of args[0] the column that stands there: descending or not, of all
 *             places, or of the first u.order.first
 *   SORTED    args[0] of that column: of args[1], an ORDER
 *   FIRST     args[0] in the first u.first columns
 *   BLOCK_COUNT how many columns that block has, which may be the last of its row and short */
typedef kiln__node kiln__inst;

/* A user's combine, typed: instructions over PARAM 0 and 1. */
typedef struct kiln__combine {
    kiln__inst *insts;
    uint32_t count;
    uint32_t result;
    kiln__ctype type;
    double identity;      /* for float types */
    int64_t identity_i64; /* for integer types and bool */
} kiln__combine;

/* One row program. Instructions in topological order, unreachable ones removed. Reductions of one phase are
 * all the reduction instructions whose argument has that phase: the instruction itself has phase + 1. A
 * reduction's argument that is not per_element is still combined once for each column, as the language says. */
typedef struct kiln__ir {
    kiln__arena arena;
    kiln__inst *insts;
    uint32_t count;
    uint32_t phase_count;   /* reduction phases; 0: elementwise */
    uint32_t read, taken;   /* bit i: input i is read where its columns stand; at other columns, by take */
    uint32_t elsewhere;     /* bit i: at other columns, or at other rows, by rows */
    uint32_t later;         /* bit i: when the last row is done, by values of all rows; read: in rows as well */
    uint32_t spread;        /* bit i: then, one value for all columns */
    kiln__ctype float_type; /* F64 if any input is f64, else F32 */
    kiln__uneven uneven;
    int64_t input_runs[KILN_MAX_TENSORS]; /* of inputs that have one value for so many neighbouring columns; else 0 */
    uint32_t input_count, output_count, scalar_count;
    kiln_type input_types[KILN_MAX_TENSORS], output_types[KILN_MAX_TENSORS];
    kiln__ctype scalar_types[KILN_MAX_SCALARS];
    kiln_type scalar_given[KILN_MAX_SCALARS]; /* by the caller, which tells whether it is in memory */
    const char *input_names[KILN_MAX_TENSORS], *output_names[KILN_MAX_TENSORS], *scalar_names[KILN_MAX_SCALARS];
    uint32_t offsets; /* 1 + the input that says where each row begins and ends, among those behind one another; 0: none
                         does, rows lie as strides say */
    uint32_t packed;  /* bit i: such rows are those of input i; of outputs they are where their values have columns */
    uint32_t length;  /* of rows that have lengths of their own: 1 + its instruction, an i64 that is 0 to their columns;
                         0: rows are whole */
    uint32_t places[KILN_MAX_TENSORS];  /* of outputs whose rows go where an index says: 1 + its instruction; 0: none */
    uint32_t outputs[KILN_MAX_TENSORS]; /* the instruction of each; its compute type may still differ from the stored */
    kiln__combine *combines;            /* of REDUCE_USER */
    uint32_t combine_count;
    const kiln__own_function **own; /* device functions of the caller's own that are called, also in combines */
    uint32_t own_count;
    const char *text; /* the program as given */
} kiln__ir;

/* How many neighbouring columns share the value as an output stores it: its run. */
static inline int64_t kiln__stored_run(const kiln__ir *ir, const kiln__inst *value) {
    return value->run == KILN__RUN_OF_ROW && ir->uneven.alone ? ir->uneven.alone : (int64_t)value->run;
}

/* Whether it is one of the reductions of a phase, which are counted from 0. */
static inline bool kiln__reduces_in(const kiln__inst *inst, uint32_t phase) {
    return kiln__op_is_reduction(inst->op) && inst->phase == phase + 1;
}

/* Whether it is of a row's first columns alone. */
static inline bool kiln__has_first(const kiln__inst *value) {
    return value->columns && value->columns != KILN__ANY_COLUMNS;
}

/* ---- selections (selection.c): kth ---- */

/* The storage type whose values a selection chooses among: the least that is known to hold them. */
kiln_type kiln__selection_type(const kiln__ir *ir, const kiln__inst *selection);
/* How often a phase goes over its row: more than once where it selects. */
int kiln__phase_passes(const kiln__ir *ir, uint32_t phase);
int kiln__ir_passes(const kiln__ir *ir); /* of all phases */
bool kiln__phase_selects(const kiln__ir *ir, uint32_t phase);
bool kiln__ir_selects(const kiln__ir *ir);
/* Whether elements that one pass over a row chose are found again by their values: each pass must compute the same
 * bits. */
bool kiln__ir_finds_values(const kiln__ir *ir);

/* ---- scans (selection.c): cumsum, cumprod, cummax, cummin ---- */

bool kiln__phase_scans(const kiln__ir *ir, uint32_t phase);
bool kiln__ir_scans(const kiln__ir *ir);

/* ---- sorting (selection.c): sort, argsort ---- */

bool kiln__ir_sorts(const kiln__ir *ir);
/* Whether a SORTED is of other values than the keys that it is sorted by. */
static inline bool kiln__carries(const kiln__ir *ir, const kiln__inst *sorted) {
    return sorted->op == KILN__OP_SORTED && ir->insts[sorted->args[1]].args[0] != sorted->args[0];
}
/* Whether all columns of a row wait for an instruction: keys to be sorted, others to be read in their order. */
static inline bool kiln__keeps_row(const kiln__ir *ir, const kiln__inst *inst) {
    return inst->op == KILN__OP_ORDER || kiln__carries(ir, inst);
}

/* The reduction that an instruction combines by: of REDUCE_BEFORE and SCAN the one that is scanned. */
kiln__inst kiln__combining(const kiln__inst *inst);

/* Types, checks, folds constants, removes what no output needs, numbers the phases. KILN_E_TYPE with line, column
 * and the operator; KILN_E_AXIS for index or size of an axis that is not there. The graph may be destroyed after. */
kiln_status kiln__ir_build(const kiln__graph *graph, const kiln__signature *signature, const kiln__binding *binding,
                           kiln__ir **out);
void kiln__ir_destroy(kiln__ir *ir);
/* Whether an input is read after the output is stored, so that the output cannot take its place: values of all rows are
 * made when rows have their outputs, and those of the columns in any order. */
bool kiln__ir_reads_after(const kiln__ir *ir, uint32_t input, uint32_t output);
/* The phases in words, for `kiln explain`: one line each. The caller frees it; NULL without memory. */
char *kiln__ir_describe(const kiln__ir *ir);
/* "exp", "input", ...: an operator's name for people and comments. */
const char *kiln__ir_op_name(kiln__op op);

#endif
