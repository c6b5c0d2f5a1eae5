/* printf whose numbers never follow the process's locale.
 * Only the calling thread's locale is switched, for the length of one call. */
#define _GNU_SOURCE
#include "base/format.h"

#include <locale.h>
#include <stdio.h>

int kiln__format(char *buffer, size_t size, const char *format, va_list arguments)
{
    /* The C locale is a constant object of the C library: newlocale allocates nothing for it. */
    locale_t numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (numbers == (locale_t)0)
        return vsnprintf(buffer, size, format, arguments);
    locale_t before = uselocale(numbers);
    int length = vsnprintf(buffer, size, format, arguments);
    uselocale(before);
    freelocale(numbers);
    return length;
}
