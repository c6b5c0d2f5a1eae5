/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: their names, and the sentence that each thread keeps of its last failure.
 * The sentence has a fixed size, so that failing never needs memory. */
#include "base/status.h"

#include <stdarg.h>
#include <string.h>

#include "base/printable.h"

typedef struct error {
    kiln_status status;
    uint32_t line, column, length;
    char text[64], message[1024];
} error;

static _Thread_local error last;

static kiln_status fail(kiln_status status, const char *format, va_list arguments) {
    kiln__printable_format(last.message, sizeof last.message, false, format, arguments);
    last.status = status;
    kiln__error_place(0, 0, "", 0);
    return status;
}

kiln_status kiln__fail(kiln_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(status, format, arguments);
    va_end(arguments);
    return status;
}

kiln_status kiln__fail_name(kiln_status status, const char *name, size_t length, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail(status, format, arguments);
    va_end(arguments);
    kiln__error_place(0, 0, name, length);
    return status;
}

void kiln__error_place(uint32_t line, uint32_t column, const char *text, size_t length) {
    size_t kept = length < sizeof last.text ? length : sizeof last.text - 1;
    if (kept < length)
        while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80) kept--; /* within a character */
    memcpy(last.text, text, kept);
    last.text[kept] = '\0';
    last.line = line;
    last.column = column;
    last.length = (uint32_t)length;
}

/* Of calls that succeed this is all that they do about errors: the rest is only told beside a status. */
void kiln__clear_error(void) { last.status = KILN_OK; }

kiln_status kiln__out_of_memory(void) { return kiln__fail(KILN_E_MEMORY, "the host's memory ran out"); }

kiln_status kiln__check_struct_size(const char *name, size_t given, size_t first, size_t size) {
    if (given >= first && given <= size && given % sizeof(size_t) == 0) return KILN_OK;
    if (first == size)
        return kiln__fail(KILN_E_ARGUMENT, "%s.struct_size is %zu, expected sizeof(%s), %zu", name, given, name, size);
    return kiln__fail(KILN_E_ARGUMENT,
                      "%s.struct_size is %zu, expected %zu to %zu, a multiple of %zu: set it to sizeof(%s)", name,
                      given, first, size, sizeof(size_t), name);
}

const char *kiln_last_error(void) { return last.status ? last.message : ""; }

kiln_status kiln_last_error_info(kiln_error_info *info) {
    if (!info) return kiln__fail(KILN_E_ARGUMENT, "info is NULL");
    const size_t size = info->struct_size;
    kiln_status status = kiln__check_struct_size("kiln_error_info", size, sizeof *info, sizeof *info);
    if (status) return status;
    *info = (kiln_error_info){.struct_size = size, .text = "", .message = ""};
    if (!last.status) return KILN_OK;
    info->status = last.status;
    info->line = (int)last.line;
    info->column = (int)last.column;
    info->length = (int)last.length;
    info->text = last.text;
    info->message = last.message;
    return KILN_OK;
}

const char *kiln_status_name(kiln_status status) {
#define NAME(constant) [constant] = #constant
    static const char *const names[] = {
        NAME(KILN_OK),
        NAME(KILN_E_ARGUMENT),
        NAME(KILN_E_SYNTAX),
        NAME(KILN_E_NAME),
        NAME(KILN_E_LIMIT),
        NAME(KILN_E_TYPE),
        NAME(KILN_E_SHAPE),
        NAME(KILN_E_AXIS),
        NAME(KILN_E_BINDING),
        NAME(KILN_E_POINTER),
        NAME(KILN_E_OVERLAP),
        NAME(KILN_E_SIZE),
        NAME(KILN_E_UNSUPPORTED),
        NAME(KILN_E_MEMORY),
        NAME(KILN_E_DEVICE_MEMORY),
        NAME(KILN_E_NO_DRIVER),
        NAME(KILN_E_NO_DEVICE),
        NAME(KILN_E_NO_CONTEXT),
        NAME(KILN_E_NO_NVRTC),
        NAME(KILN_E_ARCH),
        NAME(KILN_E_COMPILE),
        NAME(KILN_E_LOAD),
        NAME(KILN_E_LAUNCH),
        NAME(KILN_E_CAPTURE),
        NAME(KILN_E_WOULD_COMPILE),
        NAME(KILN_E_IO),
        NAME(KILN_E_FORMAT),
        NAME(KILN_E_INTERNAL),
        NAME(KILN_E_TIMEOUT),
        NAME(KILN_E_CANCELLED),
    };
#undef NAME
    return (int)status >= 0 && (size_t)status < sizeof names / sizeof names[0] ? names[status] : "KILN_E_UNKNOWN";
}

#define STRING(x) #x
#define VERSION(major, minor, patch) STRING(major) "." STRING(minor) "." STRING(patch)

const char *kiln_version(void) { return VERSION(KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH); }

int kiln_version_number(void) { return KILN_VERSION_NUMBER; }
