/* What the files that make the typed program share: instructions, each once, and values on the way to them. */
#ifndef KILN_LANG_TYPING_H
#define KILN_LANG_TYPING_H

#include "lang/fold.h"
#include "lang/intern.h"
#include "lang/ir.h"

#define KILN__MAX_INSTS (4 * KILN__MAX_NODES)
#define KILN__MAX_PHASES 100

/* Instructions under construction. */
typedef struct kiln__insts {
    kiln__inst *items;
    uint32_t count, capacity;
    kiln__intern intern;
} kiln__insts;

/* A node's value: a constant that has no type yet, or an instruction. */
typedef struct kiln__value {
    bool is_constant;
    kiln__constant constant;
    uint32_t inst;
} kiln__value;

/* Types one list of nodes: the program, or the combine of a reduce. */
typedef struct kiln__typer {
    const kiln__graph *graph;
    const kiln__signature *signature;
    const kiln__binding *binding;
    kiln__ir *ir;
    kiln__arena *scratch;
    kiln_status status;     /* the first failure */
    const kiln__node *node; /* the one being typed, for messages */
    kiln__insts insts;
    kiln__value *values;        /* of each node */
    kiln__ctype param_type;     /* in a combine */
    uint32_t *combine_reducers; /* of each combine of ir: the reducer it was made from */
    uint32_t combine_capacity;
} kiln__typer;

/* emit.c */
/* Adds the instruction unless an equal one is there; works out phase, per_element and constant. A limit or lack of
 * memory is the typer's failure and gives 0. */
uint32_t kiln__emit(kiln__typer *typer, kiln__inst inst);
uint32_t kiln__emit_op(kiln__typer *typer, kiln__op op, kiln__ctype type, const uint32_t *args, uint32_t arg_count);
/* The value as an instruction of the type: constants take it, others are cast where they differ. */
uint32_t kiln__emit_as(kiln__typer *typer, const kiln__value *value, kiln__ctype type);
/* inst's value through the storage type and back. */
uint32_t kiln__emit_round(kiln__typer *typer, uint32_t inst, kiln_type storage);
kiln__value kiln__value_of(uint32_t inst);
/* Constants: i32 for integers where they fit, else i64; the program's float type for floats. */
kiln__ctype kiln__value_type(const kiln__typer *typer, const kiln__value *value);

/* typing.c */
/* Types count nodes of the list into typer->values and typer->insts; needed: which of them, NULL for all. */
void kiln__type_nodes(kiln__typer *typer, const kiln__node *nodes, uint32_t count, const bool *needed);
/* "2:7: ..." at the node being typed. */
void kiln__typer_fail(kiln__typer *typer, kiln_status status, const char *format, ...) KILN_PRINTF(3, 4);
void kiln__typer_out_of_memory(kiln__typer *typer);

/* combine.c */
/* The typed combine of the reducer for values of the type: its index among ir->combines. */
uint32_t kiln__type_combine(kiln__typer *typer, uint32_t reducer, kiln__ctype type);

#endif
