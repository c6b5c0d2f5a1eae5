/* SPDX-License-Identifier: Apache-2.0 */
/* Writes packs into files. */
#include "pack_file.h"

#include <stdlib.h>

#include "output_file.h"

kiln_status pack_file_save(kiln__pack_writer *writer, const char *path, size_t *size) {
    uint8_t *bytes = NULL;
    kiln_status status = kiln__pack_writer_finish(writer, &bytes, size);
    if (status) return status;
    output_file file;
    status = output_file_open(path, &file);
    if (!status) status = output_file_write(&file, bytes, *size);
    if (!status) status = output_file_finish(&file);
    if (!status) status = output_file_publish(&file);
    output_file_discard(&file);
    free(bytes);
    return status;
}
