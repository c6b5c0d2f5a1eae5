/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear complete or not at all: written next to the old one, which stays until the new one is complete. */
#ifndef KILN_TOOL_OUTPUT_FILE_H
#define KILN_TOOL_OUTPUT_FILE_H

#include "base/status.h"

typedef struct output_file {
    const char *path; /* as the user wrote it */
    char *target;     /* with links resolved */
    char *temporary;  /* NULL: a device or a pipe, written in place */
    int fd;
} output_file;

/* All fail with KILN_E_IO and a sentence that names the path. path must live as long as *out. After a failure of
 * write, finish or publish, output_file_discard is still to be called; it is harmless after publish. */
kiln_status output_file_open(const char *path, output_file *out);
kiln_status output_file_write(output_file *file, const void *bytes, size_t size);
kiln_status output_file_finish(output_file *file);  /* everything written is on the disk */
kiln_status output_file_publish(output_file *file); /* takes the old file's place */
void output_file_discard(output_file *file);

#endif
