/* SPDX-License-Identifier: Apache-2.0 */
/* What run, compile and explain share: the program text, the names that the command line binds, the program made of
 * them, and its tensors' types and shapes. */
#ifndef KILN_TOOL_REQUEST_H
#define KILN_TOOL_REQUEST_H

#include "lang/graph.h"
#include "tool.h"

typedef struct request {
    const arguments *args;
    char *text; /* the program's */
    kiln__graph *graph;
    kiln_context *context;
    kiln_program *program;
    assignment_list inputs;  /* --in or --tensor */
    assignment_list outputs; /* --out or --out-type */
    assignment_list scalar_texts;
    kiln_scalar scalars[KILN_MAX_SCALARS]; /* in the program's order */
    kiln_tensor tensors[KILN_MAX_TENSORS]; /* inputs, then outputs, in the program's order */
    size_t input_count, output_count, scalar_count;
    option_id inputs_option;
    bool unread_too, may_lack_inputs;
} request;

/* Parses the program and checks each name of the command line against it. Returns an exit code; *out is freed with
 * request_free in any case. values: scalars need values (run), else types do.
 * Outputs are the names given to `outputs`, and where unread_too is set the assigned names that nothing reads. */
int request_open(const arguments *args, option_id inputs, option_id outputs, bool values, bool unread_too,
                 request *out);
/* The program alone: --tensor may be given for all inputs or for none. */
int request_open_program(const arguments *args, request *out);
void request_free(request *r);

/* The same program in another context. Returns an exit code. */
int request_program(const request *r, kiln_context *context, kiln_program **out);

/* What the command line gave to the i-th input or output of the program; NULL where it gave nothing. */
const char *request_input(const request *r, size_t i);
const char *request_output(const request *r, size_t i);
/* Among the inputs, to the i-th output, whose tensor is there before: put(name, i) writes some of its rows. */
const char *request_put(const request *r, size_t i);
bool request_is_put(const request *r, size_t i);
/* Whether input i is itself the index of put(output, i). */
bool request_is_put_index(const request *r, size_t i, size_t output);
/* Whether the input says where rows begin that lie one behind the other. */
bool request_is_offsets(const request *r, size_t i);

/* With the input tensors filled in: gives output i the type, NULL: the one its value has; and the shape that the inputs
 * broadcast to. Its data is left NULL. */
int request_shape_output(request *r, size_t i, const kiln_type *type);

#endif
