/* Which folder the disk cache is. */
#ifndef KILN_CACHE_WHERE_H
#define KILN_CACHE_WHERE_H

#include "base/status.h"

/* dir, else KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln: an absolute path in new memory. "" where dir
 * is "" or nothing names a folder. Variables that are empty, and XDG_CACHE_HOME and HOME where they are relative,
 * count as not set. */
kiln_status kiln__cache_where(const char *dir, char **path);

#endif
