/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, trusts, publishes and walks. Every name is looked up relative to an open folder, so that nothing can be
 * put in a folder's place between the check and the use. */
#define _GNU_SOURCE
#include "cache/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/printable.h"
#include "cache/checksum.h"

void kiln__disk_tell(kiln__disk *disk, bool once, const char *format, ...) {
    if (!kiln__logs(&disk->logger, KILN_LOG_WARNING) || (once && atomic_flag_test_and_set(&disk->told))) return;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    kiln__printable_format(message, sizeof message, false, format, arguments);
    va_end(arguments);
    disk->logger.tell(disk->logger.user, KILN_LOG_WARNING, message);
}

static bool trusted(const struct stat *status) {
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Folders above may exist or be beyond our rights; whether the last one can be opened then is what counts. */
static void make_folders(int at, const char *name) {
    char *path = strdup(name);
    if (path == NULL) return;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdirat(at, path, 0700);
        *slash = '/';
    }
    mkdirat(at, path, 0700);
    free(path);
}

static int open_trusted(kiln__disk *disk, int at, const char *name, int flags, bool create) {
    flags |= O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct stat status = {0};
    int fd = openat(at, name, flags);
    if (fd < 0 && create) {
        if (errno == ENOENT) {
            make_folders(at, name);
            int reason = errno;
            fd = openat(at, name, flags);
            if (fd < 0 && errno == ENOENT) errno = reason;
        }
        if (fd < 0)
            kiln__disk_tell(disk, true, "the disk cache '%s' cannot be written: %s", disk->path, strerror(errno));
    }
    if (fd < 0 || (fstat(fd, &status) == 0 && trusted(&status))) return fd;
    kiln__disk_tell(disk, true,
                    "the disk cache '%s' is not used: the owner of '%s' is user %u, its mode %04o; it must be owned by "
                    "user %u and writable by nobody else",
                    disk->path, name, (unsigned)status.st_uid, (unsigned)status.st_mode & 07777u, (unsigned)geteuid());
    close(fd);
    errno = EPERM;
    return -1;
}

int kiln__folder_open(kiln__disk *disk, const char *sub, bool create) {
    errno = ENOENT;
    int root = disk->path[0] != '\0' ? open_trusted(disk, AT_FDCWD, disk->path, 0, create) : -1;
    if (root < 0 || sub == NULL) return root;
    int fd = open_trusted(disk, root, sub, O_NOFOLLOW, create);
    close(root);
    return fd;
}

int kiln__folder_open_key(kiln__disk *disk, const kiln__key *key, const char *suffix, bool create,
                          char name[KILN__MAX_FILE_NAME]) {
    const char sub[3] = {key->hex[0], key->hex[1], '\0'};
    snprintf(name, KILN__MAX_FILE_NAME, "%s%s", key->hex, suffix);
    return kiln__folder_open(disk, sub, create);
}

int kiln__folder_open_file(kiln__disk *disk, int folder, const char *name, struct stat *status) {
    /* O_NONBLOCK: a named pipe in the file's place must not stop us. */
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && trusted(status))) return fd;
    kiln__disk_tell(disk, true,
                    "the file '%s' of the disk cache '%s' is not used: it must be a regular file, owned by user %u and "
                    "writable by nobody else",
                    name, disk->path, (unsigned)geteuid());
    close(fd);
    return -1;
}

/* A name that no other writer of the folder has, on this machine or another: from what tells processes, threads and
 * moments apart. None of it asks the kernel for random numbers, which sandboxes deny; a file of that name is no harm.
 */
static void name_temporary(char name[KILN__MAX_FILE_NAME]) {
    struct {
        uint64_t process[2]; /* random since its exec */
        struct timespec now, uptime;
        pthread_t thread;
        pid_t pid;
    } origin;
    memset(&origin, 0, sizeof origin);
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (random != NULL) memcpy(origin.process, random, sizeof origin.process);
    clock_gettime(CLOCK_REALTIME, &origin.now);
    clock_gettime(CLOCK_MONOTONIC, &origin.uptime);
    origin.thread = pthread_self();
    origin.pid = getpid();
    uint64_t digest[KILN__CHECKSUM_SIZE / sizeof(uint64_t)];
    kiln__checksum(&origin, sizeof origin, (uint8_t *)digest);
    snprintf(name, KILN__MAX_FILE_NAME, KILN__TEMPORARY_PREFIX "%016llx%016llx", (unsigned long long)digest[0],
             (unsigned long long)digest[1]);
}

bool kiln__folder_publish(kiln__disk *disk, int folder, const char *name, const void *bytes, size_t size,
                          bool durable) {
    char temporary[KILN__MAX_FILE_NAME];
    int fd = -1;
    for (int attempt = 0; attempt < 16 && (attempt == 0 || (fd < 0 && errno == EEXIST)); attempt++) {
        name_temporary(temporary);
        fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    bool done = fd >= 0 && kiln__file_write_all(fd, bytes, size) && (!durable || fsync(fd) == 0);
    int code = errno;
    if (fd >= 0 && close(fd) != 0 && done) done = false, code = errno;
    if (done && renameat(folder, temporary, folder, name) != 0) done = false, code = errno;
    if (!done) {
        kiln__disk_tell(disk, true, "the disk cache '%s' cannot be written: %s", disk->path, strerror(code));
        if (fd >= 0) unlinkat(folder, temporary, 0);
    }
    return done;
}

void kiln__folder_touch(int folder, const char *name) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

void kiln__folder_set_aside(int folder, const char *name, const struct stat *status) {
    struct stat now;
    char aside[KILN__MAX_FILE_NAME + sizeof KILN__BAD_SUFFIX];
    if (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != status->st_ino ||
        now.st_dev != status->st_dev)
        return;
    snprintf(aside, sizeof aside, "%s" KILN__BAD_SUFFIX, name);
    renameat(folder, name, folder, aside);
}

static bool ends_in(const char *name, const char *suffix) {
    size_t length = strlen(name), size = strlen(suffix);
    return length >= size && strcmp(name + length - size, suffix) == 0;
}

kiln__file_kind kiln__folder_kind(const char *sub, const char *name) {
    bool records = strcmp(sub, KILN__RECORDS) == 0, keyed = strspn(name, "0123456789abcdef") == 32;
    if (strncmp(name, KILN__TEMPORARY_PREFIX, strlen(KILN__TEMPORARY_PREFIX)) == 0) return KILN__FILE_TEMPORARY;
    if ((records || keyed) && ends_in(name, KILN__BAD_SUFFIX)) return KILN__FILE_ASIDE;
    if (records && strncmp(name, KILN__PASSING_PREFIX, strlen(KILN__PASSING_PREFIX)) == 0) return KILN__FILE_PASSING;
    if (records) return KILN__FILE_RECORD;
    if (keyed && strcmp(name + 32, KILN__LOCK_SUFFIX) == 0) return KILN__FILE_LOCK;
    if (!keyed || (strncmp(name + 32, ".k", 2) != 0 && strncmp(name + 32, ".t", 2) != 0)) return KILN__FILE_FOREIGN;
    const char *format = name + 34;
    if (*format == '\0' || format[strspn(format, "0123456789")] != '\0') return KILN__FILE_FOREIGN;
    if (strcmp(name + 32, KILN__TUNED_SUFFIX) == 0) return KILN__FILE_TUNED;
    return strcmp(name + 32, KILN__ENTRY_SUFFIX) == 0 ? KILN__FILE_ENTRY : KILN__FILE_OTHER_ENTRY;
}

bool kiln__folder_is_stale(kiln__file_kind kind, const struct stat *status) {
    const int64_t age = (int64_t)time(NULL) - (int64_t)status->st_mtim.tv_sec;
    int64_t most = INT64_MAX;
    if (kind == KILN__FILE_TEMPORARY || kind == KILN__FILE_ASIDE || kind == KILN__FILE_LOCK) most = KILN__STALE_SECONDS;
    if (kind == KILN__FILE_PASSING) most = KILN__PASSING_SECONDS;
    return age > most || age < -most;
}

/* False where visit stopped. */
static bool walk_folder(int fd, const char *sub, kiln__file_visitor *visit, void *user) {
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

void kiln__folder_name(unsigned number, char sub[16]) {
    if (number < KILN__FOLDER_COUNT - 1)
        snprintf(sub, 16, "%02x", number);
    else
        strcpy(sub, KILN__RECORDS);
}

unsigned kiln__folder_number(const kiln__key *key) {
    const char sub[3] = {key->hex[0], key->hex[1], '\0'};
    return (unsigned)strtol(sub, NULL, 16);
}

void kiln__folder_walk_one(kiln__disk *disk, const char *sub, kiln__file_visitor *visit, void *user) {
    int fd = kiln__folder_open(disk, sub, false);
    if (fd >= 0) walk_folder(fd, sub, visit, user);
}

kiln_status kiln__folder_walk(kiln__disk *disk, kiln__file_visitor *visit, void *user) {
    int root = kiln__folder_open(disk, NULL, false);
    if (root < 0 && errno == ENOENT) return KILN_OK;
    if (root < 0)
        return kiln__fail(KILN_E_IO, "the disk cache '%s' cannot be read or is not trusted: %s", disk->path,
                          strerror(errno));
    bool more = true;
    for (unsigned i = 0; i < KILN__FOLDER_COUNT && more; i++) {
        char sub[16];
        kiln__folder_name(i, sub);
        int fd = open_trusted(disk, root, sub, O_NOFOLLOW, false);
        if (fd >= 0) more = walk_folder(fd, sub, visit, user);
    }
    close(root);
    return KILN_OK;
}
