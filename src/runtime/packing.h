/* SPDX-License-Identifier: Apache-2.0 */
/* From a program bound to tensors to kernels in a pack: all that making its plan will look for. */
#ifndef KILN_RUNTIME_PACKING_H
#define KILN_RUNTIME_PACKING_H

#include "runtime/context.h"
#include "cache/pack_writer.h"

/* Takes the kernel, where a tuned record chose it the record and the library's own choice, too, and where the compiler
 * spilled registers its alternatives, from the disk cache of the program's
 * context, or compiles them there. The call's tensors and scalars are as for kiln_compile, its policy is ignored.
 * device: what it is planned for. */
kiln_status kiln__packing_add(kiln__pack_writer *writer, const kiln__call *call, const kiln__device *device, bool ptx);

/* The same of the kernel that serves any shape. A program that has none adds nothing. */
kiln_status kiln__packing_add_any_shape(kiln__pack_writer *writer, const kiln__call *call, int arch, bool ptx);

#endif
