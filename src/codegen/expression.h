/* Typed instructions as CUDA C++ expressions. */
#ifndef KILN_CODEGEN_EXPRESSION_H
#define KILN_CODEGEN_EXPRESSION_H

#include "base/text.h"
#include "lang/ir.h"

/* "float", "kiln_i64": the C++ type of a compute type, and of a storage type. */
const char *kiln__cxx_ctype(kiln__ctype type);
const char *kiln__cxx_storage(kiln_type type);

/* A literal of the type: "0.5f", "-kiln_infinity()". */
void kiln__cxx_float(kiln__text *out, kiln__ctype type, double value);
void kiln__cxx_int(kiln__text *out, kiln__ctype type, int64_t value);

/* The expression of one instruction over its arguments' names or literals. row_divisor: the name of a kiln_quotient that
 * stands for args[1] of a DIV, else NULL. False for operators that have no expression (leaves, reductions). */
bool kiln__cxx_expression(kiln__text *out, const kiln__inst *inst, const kiln__inst *insts, const char *const args[3],
                          const char *row_divisor);

/* The type of what a reduction carries: its result's, or for argmax and argmin a value with its index. */
const char *kiln__cxx_state(const kiln__ir *ir, const kiln__inst *reduction);

/* acc = acc combined with value, for a reduction. user: the name of the user's combine function. */
void kiln__cxx_combine(kiln__text *out, const kiln__inst *reduction, const char *a, const char *b);
/* The reduction's identity. */
void kiln__cxx_identity(kiln__text *out, const kiln__ir *ir, const kiln__inst *reduction);

#endif
