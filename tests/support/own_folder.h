/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own. */
#ifndef KILN_TESTS_OWN_FOLDER_H
#define KILN_TESTS_OWN_FOLDER_H

#include <stdbool.h>

typedef struct own_folder {
    char path[64];
} own_folder;

/* A new empty folder under /tmp. */
bool own_folder_make(own_folder *folder);
/* Removes it with all that is in it; nothing where none was made. */
void own_folder_remove(own_folder *folder);

#endif
