/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that manifests ask for: each once, however many lines ask for it. */
#ifndef KILN_TOOL_KERNEL_LIST_H
#define KILN_TOOL_KERNEL_LIST_H

#include "runtime/context.h"
#include "manifest.h"
#include "tool.h"

/* A line that could be read. */
typedef struct listed_line {
    manifest_entry entry;
    const char *file;
    size_t number; /* from 1 */
} listed_line;

/* What of a line a kernel is for. */
typedef enum listed_kind {
    LISTED_USUAL,
    LISTED_ANY_SHAPE, /* any shape of the program and its types */
    LISTED_RANGE,     /* a range of columns */
    LISTED_SINGLE     /* of a size left open a size of 1, where that has a kernel of its own */
} listed_kind;

typedef struct listed_kernel {
    const listed_line *line; /* the first that asks for it */
    listed_kind kind;
    int64_t columns; /* where the line leaves them open: any of the range that it is for; else 0 */
    int arch;
    bool ptx;
    kiln__key name;
    uint8_t record[16]; /* the digest of the tuned record that chose it, or zeros: kernels differ by it, too */
} listed_kernel;

typedef struct listed_arch {
    int arch;
    int ptx;
} listed_arch;

typedef struct kernel_list {
    listed_line *lines;
    size_t line_count, line_capacity;
    listed_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    size_t request_count; /* lines times architectures, before what is asked for twice is left out */
    size_t faults;        /* lines that ask for nothing that can be made */
    listed_arch *archs;   /* empty: each line has its own */
    size_t arch_count;
    unsigned shard, shards; /* from 1; 0: all */
    bool exact;             /* without those for any shape */
} kernel_list;

/* Reads --arch and --shard. Returns an exit code; *out is freed in any case. */
int kernel_list_open(const arguments *args, kernel_list *out);
/* Reads the manifests that the command line names, '-' for standard input, and plans each kernel. A line that asks for
 * nothing that can be made is told of on standard error and counted. context: compiles nothing. */
int kernel_list_read(const arguments *args, kiln_context *context, kernel_list *list);
/* Appends a manifest's lines alone. Returns an exit code. */
int kernel_list_read_lines(const arguments *args, const char *path, kernel_list *list);
/* manifest_bind for the kernel's line. */
kiln_status kernel_list_bind(const listed_kernel *kernel, kiln_context *context, kiln_program **program,
                             kiln_tensor tensors[KILN_MAX_TENSORS], kiln_scalar scalars[KILN_MAX_SCALARS]);
/* By which the kernel is compiled. */
kiln_policy kernel_list_policy(const listed_kernel *kernel);
void kernel_list_free(kernel_list *list);

#endif
