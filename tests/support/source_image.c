/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "support/source_image.h"
#include "codegen/source.h"
#include "jit/unused.h"

bool image_is_of_source(const void *image, size_t size, const char *source) {
    char *compiled = kiln__without_unused(kiln__source_code(source));
    const bool same = compiled && size == strlen(compiled) + 1 && memcmp(image, compiled, size) == 0;
    free(compiled);
    return same;
}
