/* SPDX-License-Identifier: Apache-2.0 */
/* The type an output is stored in where the command line does not say. */
#ifndef KILN_TOOL_OUTPUT_TYPES_H
#define KILN_TOOL_OUTPUT_TYPES_H

#include "lang/ir.h"
#include "request.h"

/* The program typed for the request's inputs. reduced: which axes of the space are reduced; NULL where types alone are
 * asked for. The caller destroys *out. */
kiln_status request_ir(const request *r, const bool *reduced, kiln__ir **out);

/* A truth value is stored as bool and an integer as the i32 or i64 it was computed in. A floating value gets the
 * widest floating type among the inputs; f32 where there is none, or where two types of one width meet. */
kiln_status output_type(const request *r, size_t output, kiln_type *out);

#endif
