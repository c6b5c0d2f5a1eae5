/* SPDX-License-Identifier: Apache-2.0 */
/* The typed program of a request, for what the tool tells of it. */
#ifndef KILN_TOOL_REQUEST_IR_H
#define KILN_TOOL_REQUEST_IR_H

#include "lang/ir.h"
#include "request.h"

/* The program typed for the request's inputs. reduced: which axes of the space are reduced; NULL where types alone are
 * asked for. The caller destroys *out. */
kiln_status request_ir(const request *r, const bool *reduced, kiln__ir **out);

#endif
