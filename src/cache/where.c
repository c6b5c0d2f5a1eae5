/* Reads the environment for the cache's folder; a program with raised rights reads none of it.
 * A relative folder is fixed when the cache is opened: a later chdir does not move it. */
#define _GNU_SOURCE
#include "cache/where.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static const char *variable(const char *name, bool absolute)
{
    const char *value = secure_getenv(name);
    return value != NULL && (absolute ? *value == '/' : *value != '\0') ? value : NULL;
}

kiln_status kiln__cache_where(const char *dir, char **path)
{
    kiln__text text = {0};
    const char *base = dir != NULL ? dir : variable("KILN_CACHE_DIR", false), *below = "";
    if (base == NULL) {
        base = variable("XDG_CACHE_HOME", true);
        below = "/kiln";
    }
    if (base == NULL) {
        base = variable("HOME", true);
        below = "/.cache/kiln";
    }
    if (base == NULL || *base == '\0')
        base = below = "";
    else if (*base != '/') {
        char *here = getcwd(NULL, 0);
        if (here != NULL) {
            kiln__text_puts(&text, here);
            kiln__text_puts(&text, "/");
        } else { /* the current folder is gone: so is any cache in it */
            base = below = "";
        }
        free(here);
    }
    kiln__text_puts(&text, base);
    kiln__text_puts(&text, below);
    *path = kiln__text_take(&text);
    return *path != NULL ? KILN_OK : kiln__out_of_memory();
}
