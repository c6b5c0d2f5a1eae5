/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that tests work in, and their removal with everything below. */
#define _GNU_SOURCE
#include "own_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool own_folder_make(own_folder *folder) {
    strcpy(folder->path, "/tmp/kiln-test-XXXXXX");
    if (mkdtemp(folder->path)) return true;
    *folder->path = '\0';
    return false;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void own_folder_remove(own_folder *folder) {
    if (*folder->path) nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    *folder->path = '\0';
}
