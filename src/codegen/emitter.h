/* What the parts of the code generator share while one source is written. */
#ifndef KILN_CODEGEN_EMITTER_H
#define KILN_CODEGEN_EMITTER_H

#include "base/text.h"
#include "codegen/expression.h"
#include "codegen/source.h"

typedef struct kiln__emitter {
    const kiln__ir *ir;
    const kiln__problem *problem;
    const kiln__schedule *schedule;
    const kiln__arguments *arguments;
    kiln__text *out;
    bool *element; /* per instruction: has a value for each element, computed inside the loop over a pack */
    bool *divides; /* per instruction: a row's value that elements are divided by (f32) */
    bool *needed;  /* per instruction: scratch of one function */
} kiln__emitter;

/* An operand's name in the source: "in_x", "out_y". */
void kiln__emit_operand_name(const kiln__emitter *e, kiln__text *out, int operand);
/* The same, between two texts, into the source. */
void kiln__emit_name(const kiln__emitter *e, const char *before, int operand, const char *after);

/* The address of the element at `column` of the row: "row.in_x + col". */
void kiln__emit_address(const kiln__emitter *e, int o, const char *column);

/* Marks the element instructions that the given one is made of. */
void kiln__emit_need(kiln__emitter *e, uint32_t inst);
/* Definitions of the needed element instructions, for element j of the pack at col; broadcast inputs first. */
void kiln__emit_broadcasts(const kiln__emitter *e);
void kiln__emit_elements(const kiln__emitter *e);
/* "v7", "row.v7" or a literal. */
void kiln__emit_value(const kiln__emitter *e, kiln__text *out, uint32_t inst);
/* One definition's right-hand side. */
void kiln__emit_definition(const kiln__emitter *e, uint32_t inst);

/* Whether rows lie side by side: a pack is then rows at one column, its element j is of row j, and what a row has one of
 * is an array over them. */
bool kiln__rows_in_packs(const kiln__emitter *e);
/* "in_x + offset", as two arguments where rows are in packs: where the pack's runs start, and the offset of `column`. */
void kiln__emit_pack_address(const kiln__emitter *e, int operand, const char *column);
/* The address of element j alone, `column` being its column. */
void kiln__emit_element_address(const kiln__emitter *e, int operand, const char *column);
/* Statements that fill the pack named after the operand; that store it. */
void kiln__emit_fetch(const kiln__emitter *e, int operand, const char *indent);
void kiln__emit_put(const kiln__emitter *e, int operand);
/* "kiln_pack<T, KILN_PACK>". */
void kiln__emit_pack_type(const kiln__emitter *e, int operand);

/* struct kiln_arguments; struct kiln_row; kiln_begin. */
void kiln__emit_arguments(const kiln__emitter *e);
void kiln__emit_row(const kiln__emitter *e);
void kiln__emit_begin(const kiln__emitter *e);
/* kiln_after<phase>: what follows for the row from a phase's reductions. */
void kiln__emit_after(const kiln__emitter *e, uint32_t phase);
/* kiln_finish_row: outputs of one value per row. False if there is none. */
bool kiln__emit_finish_row(const kiln__emitter *e);

/* struct kiln_kept; struct kiln_phase<phase>; struct kiln_finish (false if no output has columns). */
void kiln__emit_kept(const kiln__emitter *e);
void kiln__emit_phase(kiln__emitter *e, uint32_t phase);
bool kiln__emit_finish(kiln__emitter *e);

/* Whether partial results of the phase carry a count of elements. struct kiln_online, where the schedule has it. */
bool kiln__online_counts(const kiln__ir *ir, int phase);
void kiln__emit_online(const kiln__emitter *e);

/* Of the tile residency: where the operand has the row's pack at col; members of kiln_kept; the kernel. */
void kiln__emit_tile_place(const kiln__emitter *e, int o);
void kiln__emit_tile_access(const kiln__emitter *e);
void kiln__emit_tile_kernel(const kiln__emitter *e, bool finish, bool finish_row);

#endif
