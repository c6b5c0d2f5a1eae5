/* Opens, trusts, publishes and walks. Every name is looked up relative to an open folder, so that nothing can be
 * put in a folder's place between the check and the use. */
#define _GNU_SOURCE
#include "cache/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void kiln__disk_tell_once(kiln__disk *disk, const char *format, ...)
{
    if (disk->log == NULL || atomic_flag_test_and_set(&disk->told))
        return;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    disk->log(disk->log_user, KILN_LOG_WARNING, message);
}

static bool trusted(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Each folder above may exist or be beyond our rights; whether the last one can be made is what counts. */
static int make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

/* fd if it is a trusted folder's; else it is closed and -1. */
static int trust_folder(kiln__disk *disk, int fd, const char *sub)
{
    struct stat status = {0};
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && trusted(&status))
        return fd;
    kiln__disk_tell_once(disk, "the disk cache '%s%s%s' is not used: its owner is user %u, its mode %04o; it must "
                               "be owned by user %u and writable by nobody else",
                         disk->path, sub != NULL ? "/" : "", sub != NULL ? sub : "", (unsigned)status.st_uid,
                         (unsigned)status.st_mode & 07777u, (unsigned)geteuid());
    close(fd);
    return -1;
}

static int open_root(kiln__disk *disk, bool create)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    if (disk->path[0] == '\0')
        return -1;
    int fd = open(disk->path, flags);
    if (fd < 0 && create) {
        int reason = errno;
        char *path = reason == ENOENT ? strdup(disk->path) : NULL;
        if (path != NULL) {
            fd = make_path(path) == 0 ? open(disk->path, flags) : -1;
            reason = errno;
        }
        free(path);
        if (fd < 0)
            kiln__disk_tell_once(disk, "the disk cache '%s' cannot be written: %s", disk->path, strerror(reason));
    }
    return trust_folder(disk, fd, NULL);
}

int kiln__folder_open(kiln__disk *disk, const char *sub, bool create)
{
    int root = open_root(disk, create);
    if (root < 0 || sub == NULL)
        return root;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(root, sub, flags);
    if (fd < 0 && create) {
        if (errno == ENOENT && (mkdirat(root, sub, 0700) == 0 || errno == EEXIST))
            fd = openat(root, sub, flags);
        if (fd < 0)
            kiln__disk_tell_once(disk, "the disk cache '%s/%s' cannot be written: %s", disk->path, sub,
                                 strerror(errno));
    }
    close(root);
    return trust_folder(disk, fd, sub);
}

int kiln__folder_open_file(kiln__disk *disk, int folder, const char *name, struct stat *status)
{
    /* O_NONBLOCK: a named pipe in the file's place must not stop us. */
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, status) != 0 || !S_ISREG(status->st_mode) || !trusted(status)) {
        kiln__disk_tell_once(disk, "the file '%s' of the disk cache '%s' is not used: it must be a regular file, owned "
                                   "by user %u and writable by nobody else", name, disk->path, (unsigned)geteuid());
        close(fd);
        return -1;
    }
    return fd;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool remove_stale(void *user, int folder, const char *sub, const char *name)
{
    (void)user;
    (void)sub;
    if (kiln__folder_is_stale(folder, name))
        unlinkat(folder, name, 0);
    return true;
}

bool kiln__folder_publish(kiln__disk *disk, int folder, const char *name, const void *bytes, size_t size)
{
    if (!atomic_flag_test_and_set(&disk->swept))
        kiln__folder_walk(disk, remove_stale, NULL);
    /* Threads' names differ by the count, processes' by the id, those of machines that share a disk by the rest. */
    char temporary[KILN__MAX_FILE_NAME];
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (uint64_t)clock();
    snprintf(temporary, sizeof temporary, KILN__TEMPORARY_PREFIX "%ld-%u-%016llx", (long)getpid(),
             atomic_fetch_add(&disk->temporaries, 1), (unsigned long long)random);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = fd >= 0 && write_all(fd, bytes, size) && fsync(fd) == 0;
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && done) {
        reason = errno;
        done = false;
    }
    if (done && renameat(folder, temporary, folder, name) != 0) {
        reason = errno;
        done = false;
    }
    if (!done) {
        if (fd >= 0)
            unlinkat(folder, temporary, 0);
        kiln__disk_tell_once(disk, "the disk cache '%s' cannot be written: %s", disk->path, strerror(reason));
    }
    return done;
}

void kiln__folder_set_aside(int folder, const char *name, const struct stat *status)
{
    struct stat now;
    char aside[KILN__MAX_FILE_NAME + sizeof KILN__BAD_SUFFIX];
    if (status != NULL && (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != status->st_ino ||
                           now.st_dev != status->st_dev))
        return;
    int length = snprintf(aside, sizeof aside, "%s" KILN__BAD_SUFFIX, name);
    if (length > 0 && (size_t)length < sizeof aside)
        renameat(folder, name, folder, aside);
}

bool kiln__folder_is_stale(int folder, const char *name)
{
    struct stat status;
    return strncmp(name, KILN__TEMPORARY_PREFIX, sizeof KILN__TEMPORARY_PREFIX - 1) == 0 &&
           fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           time(NULL) - status.st_mtim.tv_sec > KILN__STALE_SECONDS;
}

static bool is_our_folder(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    return strcmp(name, KILN__RECORDS) == 0 || (strspn(name, digits) == 2 && name[2] == '\0');
}

/* False where visit stopped. */
static bool walk_folder(int fd, const char *sub, kiln__file_visitor *visit, void *user)
{
    DIR *names = fdopendir(fd);
    if (names == NULL) {
        close(fd);
        return true;
    }
    bool more = true;
    for (const struct dirent *entry = readdir(names); more && entry != NULL; entry = readdir(names))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = visit(user, dirfd(names), sub, entry->d_name);
    closedir(names);
    return more;
}

kiln_status kiln__folder_walk(kiln__disk *disk, kiln__file_visitor *visit, void *user)
{
    struct stat status;
    if (disk->path[0] == '\0' || (stat(disk->path, &status) != 0 && errno == ENOENT))
        return KILN_OK;
    errno = EPERM; /* what an untrusted folder leaves */
    int root = kiln__folder_open(disk, NULL, false);
    DIR *names = root >= 0 ? fdopendir(root) : NULL;
    if (names == NULL) {
        kiln_status failed = kiln__fail(KILN_E_IO, "the disk cache '%s' cannot be read or is not trusted: %s",
                                        disk->path, strerror(errno));
        if (root >= 0)
            close(root);
        return failed;
    }
    bool more = true;
    for (const struct dirent *entry = readdir(names); more && entry != NULL; entry = readdir(names)) {
        int fd = is_our_folder(entry->d_name) ? kiln__folder_open(disk, entry->d_name, false) : -1;
        if (fd >= 0)
            more = walk_folder(fd, entry->d_name, visit, user);
    }
    closedir(names);
    return KILN_OK;
}
