/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a source: what is written into it, and what is spelled to be written. */
#include "codegen/emitter.h"

#include <stdarg.h>

void kiln__write(const kiln__emitter *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(e->out, format, arguments);
    va_end(arguments);
}

const char *kiln__spell(const kiln__emitter *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    e->scratch->size = 0;
    kiln__text_vprintf(e->scratch, format, arguments);
    va_end(arguments);
    const char *copy = e->scratch->failed ? NULL : kiln__arena_copy(e->arena, e->scratch->data, e->scratch->size);
    e->out->failed |= !copy;
    return copy ? copy : "";
}
