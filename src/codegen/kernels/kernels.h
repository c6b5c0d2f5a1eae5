/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a kernel is put together, a file for each, and the pieces that several of them have. */
#ifndef KILN_CODEGEN_KERNELS_KERNELS_H
#define KILN_CODEGEN_KERNELS_KERNELS_H

#include "codegen/emitter.h"

/* No reduction: one flat array, whose tiles may be transposed. */
void kiln__emit_pointwise_kernel(const kiln__emitter *e);
/* A group for each row. */
void kiln__emit_row_kernel(const kiln__emitter *e);
/* The same, where extents, strides and the group are arguments. */
void kiln__emit_any_shape_kernel(const kiln__emitter *e);
/* As many groups as run at once go through all rows. */
void kiln__emit_persistent_kernel(const kiln__emitter *e);
/* A group for several rows, which it works on in turns. */
void kiln__emit_rows_in_flight_kernel(const kiln__emitter *e);
/* A block for a tile of whole rows, which it copies flat. */
void kiln__emit_row_tile_kernel(const kiln__emitter *e);
/* Neighbouring rows lie side by side: a group for each vector of them, and the same where a block copies all of them
 * flat. */
void kiln__emit_column_kernel(const kiln__emitter *e);
void kiln__emit_column_tile_kernel(const kiln__emitter *e);
/* A block for each chunk of a row, or of a vector of rows: a kernel for each phase, and one or two for the outputs. */
void kiln__emit_split_kernels(const kiln__emitter *e);
/* Blocks that go through the rows and add up values of all rows, and a launch that combines theirs; the structs of
 * these values, which stand before struct kiln_finish. */
void kiln__emit_across_kernels(const kiln__emitter *e);
void kiln__emit_totals(const kiln__emitter *e);

/* ---- pieces.c ---- */

/* The phase that is reduced after this one; the type of what this one's threads combine. */
uint32_t kiln__next_phase(const kiln__emitter *e, uint32_t phase);
const char *kiln__phase_type(const kiln__emitter *e, uint32_t phase);
/* Whether the phase is reduced together with the next one. */
bool kiln__is_online(const kiln__emitter *e, uint32_t phase);

/* The kernel's head, up to its brace; of launches after the first with their number. bounds: threads of a block. */
void kiln__emit_kernel_head(const kiln__emitter *e, uint32_t number, const char *bounds);
/* In the last kernel, where the launch behind it may begin: what that one waits for is this one's end, so that it is
 * safe anywhere. */
void kiln__emit_launch_dependents(const kiln__emitter *e, uint32_t number);
/* The row's values that no phase gives, and loads of what is staged. */
void kiln__emit_fill(const kiln__emitter *e);
/* What a group waits for before it computes. */
void kiln__emit_arrival(const kiln__emitter *e);
/* Before a row's value is stored, all ranks have loaded those whose place it may take: an exchange sees to that, or
 * else a barrier. `in` stands before each line, here and below: tiles have theirs in a loop. */
void kiln__emit_row_barrier(const kiln__emitter *e, const char *in);

/* A phase's partial result; what follows for the row from its result, which is `value`; the same of all phases before
 * `stage`, whose results are where `how`, a format of their type, has them. */
void kiln__emit_reduce(const kiln__emitter *e, uint32_t phase, const char *in);
void kiln__emit_result(const kiln__emitter *e, uint32_t phase, const char *in, const char *value);
void kiln__emit_results(const kiln__emitter *e, uint32_t stage, const char *in, const char *how);
/* All phases, one after the other; all_reduce: further arguments of the exchange. */
void kiln__emit_phases(const kiln__emitter *e, const char *in, const char *all_reduce);

/* The last pass, if outputs have columns; outputs of one value per row, if there are any, by the threads of whom the
 * condition is true. */
void kiln__emit_last_pass(const kiln__emitter *e, const char *in);
void kiln__emit_row_outputs(const kiln__emitter *e, const char *in, const char *condition);

#endif
