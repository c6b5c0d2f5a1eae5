/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make the typed program share: instructions and values on the way to them. */
#ifndef KILN_LANG_TYPING_H
#define KILN_LANG_TYPING_H

#include "lang/ir.h"
#include "lang/nodes.h"

#define KILN__MAX_INSTS (4 * KILN__MAX_NODES)

/* A node's value: a literal that has no type yet, or an instruction. */
typedef struct kiln__value {
    bool is_literal;
    kiln__node literal;
    uint32_t inst;
} kiln__value;

/* Types one list of nodes: the program, or the combine of a reduce. */
typedef struct kiln__typer {
    const kiln__graph *graph;
    const kiln__binding *binding;
    kiln__ir *ir;
    kiln__work *work;
    const kiln__node *node;   /* the one being typed, for messages */
    const kiln__inst *leaves; /* of each free name of the graph: its INPUT or SCALAR */
    uint32_t *combines;       /* of each reducer and type: its combine in ir + 1, 0 before it is typed */
    kiln__nodes insts;
    kiln__value *values;          /* of each node */
    kiln__ctype param_type;       /* in a combine */
    bool counts;                  /* the elements of a row ... */
    const kiln__node *sums_first; /* ... and adds up its first columns, here; NULL: it does not */
} kiln__typer;

/* emit.c */
/* Adds the instruction unless an equal one is there; works out phase, per_element and constant. */
kiln__value kiln__emit(kiln__typer *typer, kiln__inst inst);
/* The value as an instruction of the type: literals take it, others are cast where they differ. */
kiln__value kiln__emit_as(kiln__typer *typer, const kiln__value *value, kiln__ctype type);
/* The value, in the type, through the storage type and back. */
kiln__value kiln__emit_round(kiln__typer *typer, const kiln__value *value, kiln__ctype type, kiln_type storage);
/* The literal in the type: rounded to nearest even, but truncated to integers; saturating. */
kiln__inst kiln__literal_as(const kiln__node *literal, kiln__ctype type);
/* Of literals: i32 for integers where they fit, else i64, else u64; the program's float type for floats. */
kiln__ctype kiln__value_type(const kiln__typer *typer, const kiln__value *value);

/* What the text calls the node, for messages. */
const char *kiln__name_called(const kiln__typer *typer, const kiln__node *node);

/* promotion.c */
/* What values of several types become where they meet. KILN_E_TYPE, at the node, where there is no such type. */
kiln__ctype kiln__common_type(const kiln__typer *typer, const kiln__node *node, const kiln__value *values,
                              uint32_t count);
/* What sum and prod combine. */
kiln__ctype kiln__sum_type(kiln__ctype type);

/* take.c */
/* The value where 0 <= index < count, both i64; else NaN, or 0 where the type has none. */
kiln__value kiln__where_inside(kiln__typer *typer, const kiln__value *index, const kiln__value *count,
                               const kiln__value *value);
kiln__value kiln__type_take(kiln__typer *typer, const kiln__node *node, const kiln__value *values);

/* rows.c */
kiln__value kiln__type_rows(kiln__typer *typer, const kiln__value *values);
/* The row that put writes, as i64: an integer that a row has one of. */
kiln__value kiln__type_put_row(kiln__typer *typer, const kiln__value *index);
/* Whether rows have lengths where the typer is, which is behind what says them. */
bool kiln__has_length(const kiln__typer *typer);
/* Which input says where rows begin and end, where offsets do: one of integers. */
void kiln__type_offsets(kiln__typer *typer);
/* How many columns a row then has, as i64: 0 to those of the tensors. */
kiln__value kiln__type_length(kiln__typer *typer);

/* order.c */
/* sort and what is like it; first(x, k). */
kiln__value kiln__type_order(kiln__typer *typer, const kiln__node *node, const kiln__value *values);
kiln__value kiln__type_first(kiln__typer *typer, const kiln__node *node, const kiln__value *values);
/* The reduction of a row's first columns becomes one of all, of which the others have what changes nothing. */
void kiln__mask_first(kiln__typer *typer, kiln__inst *reduction);

/* typing.c */
/* Whether the node runs over rows, as what is not combined from parts does. */
bool kiln__check_whole_rows(kiln__typer *typer, const kiln__node *node);
/* Types count nodes of the list into typer->values and typer->insts; needed: which of them, NULL for all. */
void kiln__type_nodes(kiln__typer *typer, const kiln__node *nodes, uint32_t count, const bool *needed);

#endif
