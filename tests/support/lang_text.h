/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the language share: graphs and typed programs as text, and the parse of a program in one call. */
#ifndef KILN_TESTS_LANG_TEXT_H
#define KILN_TESTS_LANG_TEXT_H

#include "base/text.h"
#include "lang/ir.h"

/* "(+ x (* y 2))": the value of an assigned name. The caller frees it. */
char *lang_graph_text(const kiln__graph *graph, const char *name);
/* "x:f32e ... max:f32 p1(0) ...": the instructions of a typed program, one word each: operator, type, literal or
 * index, "e" per element, "c" constant, pN phase, arguments. The caller frees it. */
char *lang_ir_text(const kiln__ir *ir);
/* A binding of rank 2 whose last axis is reduced, all tensors per element and of the type, scalars f64. */
kiln__binding lang_binding(kiln_type type);
/* Parses, resolves (every unread assigned name is an output) and types. */
kiln_status lang_build(const char *text, const char *scalars, const kiln__binding *binding, kiln__ir **out);

#endif
