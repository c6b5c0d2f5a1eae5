/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files: read into host memory in row-major order, and written.
 * The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef KILN_TOOL_NPY_H
#define KILN_TOOL_NPY_H

#include <stdbool.h>

#include "base/status.h"
#include "output_file.h"

#define NPY_MAX_HEADER (1u << 20) /* bytes; NumPy's own headers take 128 */

/* What a header says. */
typedef struct npy_header {
    char kind; /* NumPy's: 'f' 'i' 'u' 'b' 'V' */
    int width; /* bytes of an element */
    bool big_endian;
    bool fortran_order;
    int32_t rank;
    int64_t sizes[KILN_MAX_RANK];
    int64_t elements, bytes; /* of all the data */
} npy_header;

/* Parses the dictionary of a header, length bytes of text. path is named in messages. KILN_E_FORMAT for what is no such
 * dictionary, KILN_E_UNSUPPORTED for more than KILN_MAX_RANK dimensions, KILN_E_SIZE for a shape that fits no memory.
 */
kiln_status npy_header_parse(const char *path, const char *text, size_t length, npy_header *out);

/* The stored type that elements of this kind and width have. as: the type to read them as, NULL: their own; bf16 and
 * fp8, which NumPy lacks, are read from integers of their width. KILN_E_TYPE where they have none. A byte
 * is two elements of e2m1 along the last axis. */
kiln_status npy_header_type(const char *path, const npy_header *header, const kiln_type *as, kiln_type *out);

/* Reads a file of format 1.0, 2.0 or 3.0, either byte order, C or Fortran order. *out gets a contiguous view.
 * Ownership: the caller frees out->data, which is never NULL. KILN_E_IO, KILN_E_MEMORY in addition to the codes above.
 */
kiln_status npy_read(const char *path, const kiln_type *as, kiln_tensor *out);

/* Writes a contiguous tensor in format 1.0. bf16 becomes uint16, fp8 uint8; e2m1 uint8, too, half as
 * many along the last axis. */
kiln_status npy_write(output_file *file, const kiln_tensor *tensor);

#endif
