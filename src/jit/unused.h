/* SPDX-License-Identifier: Apache-2.0 */
/* What of a source nothing uses: a kernel takes some of the functions of kernel_sources/, and the compiler's front end
 * would read them all. */
#ifndef KILN_JIT_UNUSED_H
#define KILN_JIT_UNUSED_H

/* A copy of the source, of the same lines, without the functions and structs that no other text leads to, as far as
 * they are sure to be unused: those at the top level whose names begin with kiln_, defined by text that begins with
 * KILN_DEVICE, KILN_CALL, KILN_EXCHANGE, struct or template. Directives stay, and all that is named in them. A source
 * that cannot be followed, for its braces, stays as it is. NULL where there is no memory; the caller frees it. */
char *kiln__without_unused(const char *source);

#endif
