/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and scalars bound by their names: put into the order that a program takes them in. */
#ifndef KILN_RUNTIME_NAMED_H
#define KILN_RUNTIME_NAMED_H

#include "runtime/context.h"

typedef struct kiln__bound {
    kiln_tensor tensors[KILN_MAX_TENSORS]; /* inputs, then outputs */
    kiln_scalar scalars[KILN_MAX_SCALARS];
    size_t tensor_count, scalar_count;
} kiln__bound;

/* KILN_E_ARGUMENT for NULL, KILN_E_NAME for a name that is unknown or bound twice, KILN_E_BINDING for one that is not
 * bound. */
kiln_status kiln__bind(const kiln_program *program, const kiln_binding *bindings, size_t binding_count,
                       const kiln_scalar_binding *scalars, size_t scalar_count, kiln__bound *out);

#endif
