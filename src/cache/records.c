/* SPDX-License-Identifier: Apache-2.0 */
/* Records: small files by name, each its bytes and the checksum of these. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/checksum.h"
#include "cache/disk.h"
#include "cache/folder.h"

enum { max_record = 16384 };

static int open_records(kiln__disk *disk, const char *name, bool create) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    bool valid = length > 0 && name[length] == '\0' && length < KILN__MAX_FILE_NAME;
    return valid ? kiln__folder_open(disk, KILN__RECORDS, create) : -1;
}

bool kiln__disk_record_get(kiln__disk *disk, const char *name, void *bytes, size_t *size) {
    const size_t most = max_record + KILN__CHECKSUM_SIZE + 1; /* a longer file is none of ours */
    struct stat status;
    bool found = false;
    int folder = open_records(disk, name, false);
    if (folder < 0) return false;
    uint8_t *file = malloc(most); /* much for a thread's stack */
    int fd = file ? kiln__folder_open_file(disk, folder, name, &status) : -1;
    ssize_t length = fd >= 0 ? pread(fd, file, most, 0) : -1;
    if (length >= 0 && kiln__folder_is_stale(kiln__folder_kind(KILN__RECORDS, name), &status)) {
        unlinkat(folder, name, 0);
    } else if (length >= 0 && (length == (ssize_t)most || !kiln__checksum_holds(file, (size_t)length))) {
        kiln__folder_set_aside(folder, name, &status);
    } else if (length >= 0 && (size_t)length - KILN__CHECKSUM_SIZE <= *size) {
        found = true;
        *size = (size_t)length - KILN__CHECKSUM_SIZE;
        memcpy(bytes, file, *size);
    }
    if (fd >= 0) close(fd);
    free(file);
    close(folder);
    return found;
}

bool kiln__disk_record_put(kiln__disk *disk, const char *name, const void *bytes, size_t size) {
    int folder = size <= max_record ? open_records(disk, name, true) : -1;
    if (folder < 0) return false;
    uint8_t *file = malloc(size + KILN__CHECKSUM_SIZE);
    bool done = false;
    if (file) {
        memcpy(file, bytes, size);
        kiln__checksum(bytes, size, file + size);
        /* What a record tells can be found out again. */
        done = kiln__folder_publish(disk, folder, name, file, size + KILN__CHECKSUM_SIZE, false);
    }
    free(file);
    close(folder);
    return done;
}
