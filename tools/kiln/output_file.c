/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a temporary file in the target's folder, fsync, rename: a failure on the way leaves the old file as it was.
 * Devices and pipes have nothing to keep and are written in place. */
#define _GNU_SOURCE
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kiln_status failed(const output_file *file, const char *what) {
    return kiln__fail(KILN_E_IO, "%s: cannot be %s: %s", file->path, what, strerror(errno));
}

static kiln_status open_temporary(output_file *file, const struct stat *old) {
    for (int attempt = 0; attempt < 100; attempt++) {
        if (asprintf(&file->temporary, "%s.%ld.%d.tmp", file->target, (long)getpid(), attempt) < 0) {
            file->temporary = NULL;
            return kiln__out_of_memory();
        }
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0) {
            if (old) (void)fchmod(file->fd, old->st_mode & 07777);
            return KILN_OK;
        }
        free(file->temporary);
        file->temporary = NULL;
        if (errno != EEXIST) break;
    }
    return failed(file, "written");
}

kiln_status output_file_open(const char *path, output_file *out) {
    struct stat old;
    *out = (output_file){.path = path, .fd = -1};
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        return kiln__fail(KILN_E_IO, "%s: is a directory; a file to write was expected", path);
    }
    if (exists && !S_ISREG(old.st_mode)) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd >= 0 ? KILN_OK : failed(out, "written");
    }
    if (exists && access(path, W_OK)) return failed(out, "replaced");
    out->target = exists ? realpath(path, NULL) : strdup(path);
    if (!out->target) return exists ? failed(out, "replaced") : kiln__out_of_memory();
    return open_temporary(out, exists ? &old : NULL);
}

kiln_status output_file_write(output_file *file, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(file->fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed(file, "written");
        at += n;
        size -= (size_t)n;
    }
    return KILN_OK;
}

kiln_status output_file_finish(output_file *file) {
    if (file->temporary && fsync(file->fd)) return failed(file, "written");
    int fd = file->fd;
    file->fd = -1;
    return close(fd) ? failed(file, "written") : KILN_OK;
}

/* The rename itself is on the disk only once the folder is. The file is right either way, so failures are let go. */
static void sync_folder(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

kiln_status output_file_publish(output_file *file) {
    if (!file->temporary) return KILN_OK;
    if (rename(file->temporary, file->target)) return failed(file, "replaced");
    free(file->temporary);
    file->temporary = NULL;
    sync_folder(file->target);
    return KILN_OK;
}

void output_file_discard(output_file *file) {
    if (file->fd >= 0) close(file->fd);
    if (file->temporary) {
        (void)unlink(file->temporary);
        free(file->temporary);
    }
    free(file->target);
    *file = (output_file){.path = file->path, .fd = -1};
}
