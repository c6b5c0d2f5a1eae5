/* SPDX-License-Identifier: Apache-2.0 */
/* Packs as files. */
#ifndef KILN_TOOL_PACK_FILE_H
#define KILN_TOOL_PACK_FILE_H

#include "cache/pack_writer.h"

/* The pack into a file, which appears whole; *size: its bytes. */
kiln_status pack_file_save(kiln__pack_writer *writer, const char *path, size_t *size);

#endif
