/* Maps entries. The mapping is private: what another process publishes later does not show in it. */
#define _GNU_SOURCE
#include "cache/mapped.h"

#include <string.h>
#include <sys/mman.h>

#include "cache/entry.h"

kiln__mapped kiln__entry_map(int fd, const struct stat *status, kiln__found *out, const uint8_t **material,
                             size_t *material_size)
{
    memset(out, 0, sizeof *out);
    if (status->st_size <= 0)
        return KILN__DAMAGED;
    size_t size = (size_t)status->st_size;
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return KILN__NOT_MAPPED;
    if (!kiln__entry_decode(map, size, &out->entry, material, material_size)) {
        munmap(map, size);
        memset(out, 0, sizeof *out);
        return KILN__DAMAGED;
    }
    out->map = map;
    out->map_size = size;
    return KILN__MAPPED;
}

void kiln__found_free(kiln__found *found)
{
    if (found == NULL)
        return;
    if (found->map != NULL)
        munmap(found->map, found->map_size);
    memset(found, 0, sizeof *found);
}
