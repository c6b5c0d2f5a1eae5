/* An entry's file, mapped and checked. */
#ifndef KILN_CACHE_MAPPED_H
#define KILN_CACHE_MAPPED_H

#include <sys/stat.h>

#include "cache/disk.h"

typedef enum kiln__mapped { KILN__MAPPED, KILN__NOT_MAPPED, KILN__DAMAGED } kiln__mapped;

/* Maps the file of a descriptor (which stays the caller's) and decodes it. The mapping is *out's where the result is
 * KILN__MAPPED; KILN__DAMAGED: the file was read and is no entry. */
kiln__mapped kiln__entry_map(int fd, const struct stat *status, kiln__found *out, const uint8_t **material,
                             size_t *material_size);

#endif
