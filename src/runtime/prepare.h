/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of kernels that are compiled before they are needed, several at a time. */
#ifndef KILN_RUNTIME_PREPARE_H
#define KILN_RUNTIME_PREPARE_H

#include "runtime/context.h"

/* The compiles of each preparation that has not been destroyed; with the context's lock held. */
void kiln__preparations_visit(kiln_context *context, void visit(kiln_context *context, kiln__compile_group *group));
/* Before a context is destroyed: all come to an end, and know no context any more. */
void kiln__preparations_end(kiln_context *context);

#endif
