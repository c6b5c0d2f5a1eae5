/* SPDX-License-Identifier: Apache-2.0 */
/* The generated CUDA C++ of a kernel, and the layout of its one argument. */
#ifndef KILN_CODEGEN_SOURCE_H
#define KILN_CODEGEN_SOURCE_H

#include "schedule/any_shape.h"

/* The first kernel; of split rows there is one more for each phase, "kiln_kernel1" and so on. */
#define KILN__KERNEL_NAME "kiln_kernel"

/* The kernel takes one structure by value. What its fields hold, in order; offsets in bytes. */
typedef enum kiln__field_kind {
    KILN__FIELD_POINTER,      /* operand's data */
    KILN__FIELD_ROWS,         /* i64: rows (flat: elements) */
    KILN__FIELD_STRIDE,       /* i64: operand's stride along outer dimension `dim` */
    KILN__FIELD_ROW,          /* i64: operand's stride from row to row */
    KILN__FIELD_STEP,         /* i64: operand's stride along inner dimension `dim` */
    KILN__FIELD_WORKSPACE,    /* pointer: partial results of split rows, or rows that are sorted */
    KILN__FIELD_SCALAR,       /* scalar number `index`, of its compute type, or where it is in memory */
    KILN__FIELD_SIZE,         /* i64: the iteration space's size along axis `dim` */
    KILN__FIELD_TABLE_ROWS,   /* i64: of a tensor whose rows an index chooses: how many it has ... */
    KILN__FIELD_TABLE_PITCH,  /* ... and elements from one to the next */
    KILN__FIELD_COLUMNS,      /* i64: columns, where the kernel serves a range of them */
    KILN__FIELD_SHAPE,        /* kiln_shape: of a kernel that serves any ... */
    KILN__FIELD_STRIDES,      /* ... with kiln_strides of each operand */
    KILN__FIELD_BLOCK,        /* ... and from a block's value to the next one's */
    KILN__FIELD_EXTENT,       /* i64: outer dimension `dim`, where rows are wide */
    KILN__FIELD_DIVISOR,      /* kiln_divisor of outer dimension `dim`: divisor, multiplier, shift, u32 each */
    KILN__FIELD_FILLED,       /* i64: of a pitch the elements that are the tensors' */
    KILN__FIELD_PITCH,        /* i64: elements from row to row, where the array is wide ... */
    KILN__FIELD_PITCH_DIVISOR /* ... or kiln_divisor of them */
} kiln__field_kind;

typedef struct kiln__field {
    kiln__field_kind kind;
    uint8_t index, dim;
    uint16_t offset;
} kiln__field;

#define KILN__MAX_FIELDS 640
#define KILN__MAX_ARGUMENT_BYTES 4096

typedef struct kiln__arguments {
    kiln__field fields[KILN__MAX_FIELDS];
    int count;
    int size;
} kiln__arguments;

/* Which fields the kernel for the problem takes. KILN_E_UNSUPPORTED where they exceed 4,096 bytes. */
kiln_status kiln__arguments_layout(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                                   kiln__arguments *out);

/* Whether a stride is written into the source rather than passed. */
bool kiln__stride_is_constant(const kiln__problem *problem, int64_t stride);

/* Writes the values that do not change from launch to launch (rows, strides, extents, divisors) at their offsets.
 * problem: of the call, also where the kernel serves any shape; shape: NULL where it does not. */
void kiln__arguments_fill(const kiln__arguments *arguments, const kiln__problem *problem, const kiln__shape *shape,
                          unsigned char *bytes);

/* The source in unexpanded: the files of kernel_sources/ are named, not written out, so that it is made and compared in
 * microseconds. programmatic: the first launch waits in the kernel for what is before it in the stream, and the last
 * one lets what is behind it begin. The caller frees it. KILN_E_UNSUPPORTED, KILN_E_MEMORY. */
kiln_status kiln__source_emit(const kiln__ir *ir, const kiln__problem *problem, const kiln__schedule *schedule,
                              const kiln__arguments *arguments, bool programmatic, char **out);

/* A source, unexpanded or whole, without the comment it begins with: what the kernel is made of. Texts that differ in
 * names of values, in comments or in white space have the same. */
const char *kiln__source_code(const char *source);

/* The whole source handed to NVRTC. The caller frees it; NULL without memory. */
char *kiln__source_expand(const char *unexpanded);

#endif
