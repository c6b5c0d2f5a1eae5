/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the code generator share while one source is written. */
#ifndef KILN_CODEGEN_EMITTER_H
#define KILN_CODEGEN_EMITTER_H

#include "base/arena.h"
#include "base/text.h"
#include "codegen/source.h"
#include "schedule/kept.h"

#define KILN__MAX_OPERANDS (KILN_MAX_TENSORS + KILN__MAX_POSITIONS)

/* Some of the operands, and some of the instructions, in their order. */
typedef struct kiln__operand_list {
    int at[KILN_MAX_TENSORS], count;
} kiln__operand_list;
typedef struct kiln__inst_list {
    uint32_t *at, count;
} kiln__inst_list;

typedef struct kiln__emitter {
    const kiln__ir *ir;
    const kiln__problem *problem;
    const kiln__schedule *schedule;
    const kiln__arguments *arguments;
    bool programmatic; /* the first launch waits for what is before it, the last one lets what is behind it begin */
    kiln__text *out, *scratch;
    kiln__arena *arena; /* of what is spelled */
    bool *element;      /* per instruction: has a value for each element, computed inside the loop over a vector */
    bool *divides;      /* per instruction: a row's or a block's value that elements are divided by (f32) */
    bool *hidden;       /* per instruction: part of nothing but outputs whose type hides its last bits */
    bool *is_short;     /* per instruction: i64, and known to fit 32 bits */
    bool *folded;       /* per instruction: exp(u - v) in one step from u, by what is prepared of v */
    bool *centre;       /* per instruction: such a v */
    bool *needed;       /* per instruction: scratch of one function */
    bool *sines;        /* per instruction: stands before the loop that is written, for all elements of the vector */
    bool *exact;        /* per needed instruction: what is under 2^-126 beside 1 is not to become 0 */
    kiln__inst_list *reductions; /* of each phase */
    bool *scans;                 /* of each pass, per phase: its loop needs scans of that phase */
    kiln__kept kept;             /* values that a pass keeps for later ones ... */
    uint32_t pass;               /* ... and the pass whose loop is written: a phase, or that of the outputs */
    /* Inputs that stay with the row: all, those of the row's own, those that all rows share; outputs that have columns.
     */
    kiln__operand_list staged, staged_own, staged_invariant, column_outputs;
    bool flat;
    bool narrow; /* every output's type hides the last bits of a float: f16, bf16, fp8 */
    /* Rows lie side by side: a vector is then rows at one column, its element j is of row j, and what a row has one of
     * is an array over them. */
    bool rows_in_vectors;
    bool adds_columns;             /* to values of all rows */
    bool finish, finish_row;       /* there are outputs that have columns; that have one value per row */
    int inputs, tensors, operands; /* how many: inputs; with outputs; with positions */
    /* "in_x", "out_y"; "kiln_f16". A user's name ends each identifier that holds it. Before it stands in_, out_ or
     * scalar_, and before these may stand what is meant of the tensor: row_in_x, step0_in_x, kiln_offset_in_x. No
     * other identifier begins like that: whatever tensors are called, none is a keyword or a macro, and no two are
     * alike. */
    const char *name[KILN__MAX_OPERANDS], *type[KILN__MAX_OPERANDS];
    const char *width; /* of vectors: "KILN_VECTOR_WIDTH", or "N" where elements beside them are vectors of one */
    const char *vector[KILN__MAX_OPERANDS]; /* "kiln_vector<kiln_f16, KILN_VECTOR_WIDTH>" */
} kiln__emitter;

/* Below, each file calls those above it. */

/* ---- emitter.c ---- */

/* Into the source. */
void kiln__write(const kiln__emitter *e, const char *format, ...) KILN_PRINTF(2, 3);
/* A text to be written into others, which lives as long as the emitter. */
const char *kiln__spell(const kiln__emitter *e, const char *format, ...) KILN_PRINTF(2, 3);

/* ---- definitions.c ---- */

/* The comment that a source begins with; macros of the schedule. */
void kiln__emit_header(const kiln__emitter *e);
void kiln__emit_definitions(const kiln__emitter *e);

/* ---- runs.c ---- */

/* Whether neighbouring columns share the value, a vector of them at least: it is then computed once for a vector. */
bool kiln__is_block_value(const kiln__emitter *e, uint32_t inst);
/* The same of a value that so many columns share. */
bool kiln__is_whole_run(const kiln__emitter *e, int64_t run);
/* What is true of the first of the columns that share an output's value: "col % 7 == 0". */
const char *kiln__spell_run_begins(const kiln__emitter *e, int64_t run, const char *column);
/* "col % 24 / 7": which of an operand's values the column has, where blocks are uneven. */
const char *kiln__spell_block_number(const kiln__emitter *e, int64_t run, const char *column);
/* Whether the instruction's values have slots in shared memory, or in their row's part of the workspace. */
bool kiln__has_slots(const kiln__emitter *e, uint32_t inst);
/* The ORDER that an ORDER or a SORTED is by; where an instruction's part of that memory begins, in bytes. */
uint32_t kiln__sorted_by(const kiln__emitter *e, uint32_t inst);
int64_t kiln__slots_begin(const kiln__emitter *e, uint32_t inst);
/* Whether a loop over the row puts down what it is made of. */
bool kiln__is_put_down(const kiln__emitter *e, uint32_t inst);

/* ---- address.c ---- */

/* c0, c1, ...: the coordinates of `index` along the outer dimensions; how far elements there lie from the first. */
void kiln__emit_coordinates(const kiln__emitter *e, const char *index);
void kiln__emit_strided_sum(const kiln__emitter *e, int o);
/* Whether it takes a function, kiln_offset_<operand>, to tell where a column of the row lies; all those functions. */
bool kiln__has_offset(const kiln__emitter *e, int o);
void kiln__emit_offsets(const kiln__emitter *e);
/* "row.in_x + col", or as two arguments where rows are in vectors: where the vector's runs start, and how far `col` is.
 */
const char *kiln__spell_vector_address(const kiln__emitter *e, int o);
/* The address of element j alone, `column` being its column; NULL: in the loop over a vector at col. */
const char *kiln__spell_element_address(const kiln__emitter *e, int o, const char *column);
/* " + j * row.args.row_in_x": how far so many rows lie behind another, where rows are in vectors. */
const char *kiln__spell_row_step(const kiln__emitter *e, int o, const char *rows);
/* " + j * row.args.stride1_in_x", "row.args.stride1_in_x": how far elements of a run lie apart. */
const char *kiln__spell_run_step(const kiln__emitter *e, int o);
const char *kiln__spell_run_stride(const kiln__emitter *e, int o);
/* The places of a vector that crosses runs. */
const char *kiln__spell_crossing(const kiln__emitter *e, int o);

/* ---- short_integers.c ---- */

/* Whether an axis' indices, and its size, are known to fit 32 bits. */
bool kiln__is_short_axis(const kiln__emitter *e, int axis);
/* Finds which i64 values fit 32 bits; whether an instruction takes such, and is computed in 32 bits. */
void kiln__find_short(kiln__emitter *e);
bool kiln__is_computed_short(const kiln__emitter *e, uint32_t inst);

/* ---- expression.c ---- */

/* "float", "kiln_i64": the C++ type of a compute type, and of a storage type. */
const char *kiln__cxx_ctype(kiln__ctype type);
/* "const kiln_f16 *": what a tensor's place in memory is; of packed elements a class of its own. */
const char *kiln__cxx_pointer(const kiln__emitter *e, int o);
const char *kiln__cxx_storage(kiln_type type);
/* The type of what a reduction carries: its result's, or for argmax and argmin a value with its index. */
const char *kiln__spell_state(const kiln__emitter *e, const kiln__inst *reduction);
/* Two values combined; the reduction's identity. */
const char *kiln__spell_combine(const kiln__emitter *e, const kiln__inst *reduction, const char *a, const char *b);
const char *kiln__spell_identity(const kiln__emitter *e, const kiln__inst *reduction);
/* "v7", "row.v7" or a literal. */
const char *kiln__spell_value(const kiln__emitter *e, uint32_t inst);
/* What the instruction's value is defined as. */
const char *kiln__spell_definition(const kiln__emitter *e, uint32_t inst);
/* What a column finds in shared memory of its block: what it comes to, or how many columns it has. */
const char *kiln__spell_slot(const kiln__emitter *e, uint32_t inst, const char *column);
/* The type of a prepared divisor. */
const char *kiln__cxx_divisor(const kiln__emitter *e, uint32_t divisor);
/* Whether the operator is written where it is used, and has no name. */
bool kiln__op_is_literal(kiln__op op);
/* Whether it is a random number whose seed all of a vector's elements have: neighbours are made together. */
bool kiln__shares_numbers(const kiln__emitter *e, uint32_t i);
/* The functions that the program calls. */
void kiln__emit_called(const kiln__emitter *e);

/* Whether the pass that is written loads the value, which one before it has kept. */
static inline bool kiln__is_loaded(const kiln__emitter *e, uint32_t value) {
    return e->kept.value[value] && e->kept.first[value] < e->pass;
}
/* What stands before a reference to a vector's staged inputs, which the values it keeps are beside. */
static inline const char *kiln__const_staged(const kiln__emitter *e) {
    return e->schedule->passes.keep_weight ? "" : "const ";
}

/* Whether the work on a vector, and on the values of a row, is a function that is called; what stands before a loop
 * over a vector's elements. */
static inline bool kiln__vectors_are_called(const kiln__emitter *e) {
    return e->schedule->code.inlining >= KILN__INLINE_OUTLINED;
}
static inline const char *kiln__unrolled(const kiln__emitter *e) {
    return e->schedule->code.inlining == KILN__INLINE_NOTHING ? "#pragma unroll 1\n" : "#pragma unroll\n";
}

/* ---- needs.c ---- */

/* Finds which instructions have a value per element, which row values elements are divided by, and what outputs hide;
 * exponentials that
 * may be folded: those of which nothing is to be exact. */
void kiln__classify(kiln__emitter *e);
void kiln__fold_exponentials(kiln__emitter *e);
/* The function that reduces a whole vector at once, as it is staged: the largest or the smallest of halves, whether any
 * or all of bools are true; or NULL. */
const char *kiln__find_vector_reduction(const kiln__emitter *e, uint32_t reduction, bool masked);
/* Finds what the loop of a phase needs, and what that of the outputs does. */
void kiln__need_phase(kiln__emitter *e, uint32_t phase);
/* The value that is stored for an output. */
uint32_t kiln__stored_value(const kiln__emitter *e, int o);
void kiln__need_outputs(kiln__emitter *e);
/* The same of what one reduction of blocks takes. */
void kiln__need_block(kiln__emitter *e, uint32_t inst);
/* Whether each column adds to a value of all rows. */
bool kiln__adds_columns(const kiln__inst *inst);
/* Whether the loop of a pass, once it was written, needs the scans of a phase. */
bool kiln__scans_in(const kiln__emitter *e, uint32_t pass, uint32_t phase);

/* ---- order.c ---- */

/* Whether it is the order of a row's largest alone. */
bool kiln__chooses(const kiln__emitter *e, uint32_t inst);
/* kiln_order<i> of each row that is sorted: where its values and numbers lie. */
void kiln__emit_orders(const kiln__emitter *e);
/* Puts an element's value where it waits to be sorted, or to be read in order. */
void kiln__emit_put_down(const kiln__emitter *e, uint32_t inst);

/* ---- tile.c ---- */

/* Where the operand has the row's vector at col in the tile; members of kiln_staged. */
const char *kiln__spell_tile_place(const kiln__emitter *e, int o);
void kiln__emit_tile_access(const kiln__emitter *e);

/* ---- tile_outer.c: where neighbouring rows lie side by side ---- */

/* Members of kiln_staged; statements that put the operand's vector, named after it, into the tile. */
void kiln__emit_tile_outer(const kiln__emitter *e);
void kiln__emit_tile_put(const kiln__emitter *e, int o);

/* ---- vectors.c ---- */

/* Statements that fill the vector named after the operand; the same with its declaration. */
void kiln__emit_fetch(const kiln__emitter *e, int o, const char *indent);
void kiln__emit_fetched(const kiln__emitter *e, int o, const char *indent);
/* Of an output: what its elements are computed into, declared; its name, "y0", before an index; statements that round
 * it to the output's type and store it. */
void kiln__emit_computed(const kiln__emitter *e, int o);
const char *kiln__spell_computed(const kiln__emitter *e, int o);
void kiln__emit_put(const kiln__emitter *e, int o);
/* The same of a block's value, by the thread that has the block's first columns; of element j, where a condition
 * holds. */
void kiln__emit_put_block(const kiln__emitter *e, int o, const char *value);
void kiln__emit_put_element(const kiln__emitter *e, int o, const char *in, const char *stores, const char *value);
/* struct kiln_staged: a vector of the inputs that stay with the row. */
void kiln__emit_staged(const kiln__emitter *e);

/* ---- any_shape.c ---- */

/* Of a kernel that serves any shape: what a row knows besides; kiln_enter_run. */
void kiln__emit_any_members(const kiln__emitter *e);
/* Where a row lies in each tensor, of all in one go over its dimensions. */
void kiln__emit_any_places(const kiln__emitter *e);
void kiln__emit_any_run(const kiln__emitter *e);
/* Of a struct that works on vectors: the function that reduces a run's blocks for what the loop needs. */
void kiln__emit_needed_blocks(const kiln__emitter *e);

/* ---- row.c ---- */

/* struct kiln_arguments; struct kiln_row; kiln_begin. */
void kiln__emit_arguments(const kiln__emitter *e);
void kiln__emit_row(const kiln__emitter *e);
void kiln__emit_begin(const kiln__emitter *e);
/* kiln_after<phase>: what follows for the row from a phase's reductions. */
void kiln__emit_after(const kiln__emitter *e, uint32_t phase);
/* kiln_finish_row: outputs of one value per row. False if there is none. */
bool kiln__emit_finish_row(const kiln__emitter *e);

/* ---- blocks.c ---- */

/* The reduction of blocks as one of rows would be. struct kiln_block<instruction>: what a thread has of a block; its
 * beginning. */
kiln__inst kiln__reduction_of_block(const kiln__inst *inst);
void kiln__emit_block_states(const kiln__emitter *e);
void kiln__emit_block_head(const kiln__emitter *e, uint32_t inst);
/* Marks the values of elements that a value is made of, up to those of blocks. */
void kiln__mark_elements(const kiln__emitter *e, uint32_t value, bool *marked);
/* Before the loop over a vector's elements: the needed values of the block that they are in. */
void kiln__emit_block_values(const kiln__emitter *e);
/* Before it, too: what the needed random numbers of the vector's elements share. */
void kiln__emit_shared_numbers(const kiln__emitter *e, const bool *which);
/* Of element j: definitions of those that elements have; keeps: also into what later passes load. */
void kiln__emit_element_values(const kiln__emitter *e, const bool *which, bool keeps, const char *in);

/* ---- sines.c ---- */

/* Before the loop over a vector's elements: the needed sines, where they are taken of all elements at once; they stand
 * for their definitions until the end. */
void kiln__emit_sines(const kiln__emitter *e);
void kiln__end_sines(const kiln__emitter *e);

/* ---- online.c, phases.c ---- */

/* Whether partial results of the phase carry a count of elements. struct kiln_online, where the schedule has it. */
bool kiln__phase_counts(const kiln__emitter *e, uint32_t phase);
void kiln__emit_online(const kiln__emitter *e);
/* Of a struct that works on vectors: its function's head, with vectors of the needed inputs that do not stay with the
 * row; the head of the loop over elements, with what each needs. */
void kiln__emit_vector_head(const kiln__emitter *e, const char *name);
void kiln__emit_elements(const kiln__emitter *e);
/* struct kiln_phase<phase>; struct kiln_finish (false if no output has columns, and no value of all rows). */
void kiln__emit_phase(kiln__emitter *e, uint32_t phase);
bool kiln__emit_finish(kiln__emitter *e);
/* struct kiln_stored: the work of phase 0 and that of the outputs on each vector. */
void kiln__emit_stored(const kiln__emitter *e);

/* ---- blocks_any.c ---- */

/* struct kiln_block<instruction> of a kernel that serves any shape, which works on vectors. */
void kiln__emit_any_blocks(kiln__emitter *e);

/* ---- slots.c ---- */

/* struct kiln_values<instruction>: the work on a vector that puts down what is reduced. */
void kiln__emit_block_loops(kiln__emitter *e);

#endif
