/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a cache and its users: killed and stopped processes, damaged, missing and foreign files, full disks,
 * other modes and owners, times of the past and the future, locks that nobody gives back. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

double torture_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

uint32_t torture_draw(uint64_t *random, uint32_t limit) {
    *random += 0x9e3779b97f4a7c15u;
    uint64_t z = *random;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % limit);
}

static uint32_t draw(torture *t, uint32_t limit) { return torture_draw(&t->random, limit); }

/* ---- processes ---- */

static void strike_worker(torture *t) {
    torture_worker *worker = &t->shared->workers[draw(t, TORTURE_WORKERS)];
    if (worker->stopped) return;
    if (draw(t, 3) > 0) {
        kill(worker->pid, SIGKILL); /* it is reaped, and another started, by who waits for workers */
        t->kills++;
    } else {
        worker->stopped = true;
        worker->resume_ms = torture_now_ms() + draw(t, 1500);
        kill(worker->pid, SIGSTOP);
        t->stops++;
    }
}

static void resume_workers(torture *t, bool all) {
    for (int i = 0; i < TORTURE_WORKERS; i++) {
        torture_worker *worker = &t->shared->workers[i];
        if (!worker->stopped || (!all && torture_now_ms() < worker->resume_ms)) continue;
        kill(worker->pid, SIGCONT);
        worker->stopped = false;
        if (atomic_load(&worker->request_began) > 0) atomic_store(&worker->request_began, torture_now_ms());
    }
}

/* ---- files ---- */

/* One name of a folder at random, "" where it is empty. */
static void draw_name(torture *t, const char *folder, char name[256]) {
    DIR *names = opendir(folder);
    uint32_t seen = 0;
    *name = '\0';
    for (const struct dirent *entry = names ? readdir(names) : NULL; entry; entry = readdir(names))
        if (entry->d_name[0] != '.' || strncmp(entry->d_name, ".tmp", 4) == 0)
            if (draw(t, ++seen) == 0) snprintf(name, 256, "%s", entry->d_name);
    if (names) closedir(names);
}

/* A folder of the cache, and a file in it, at random. */
static bool draw_file(torture *t, char folder[256], char path[512]) {
    char name[256];
    draw_name(t, t->cache, name);
    if (!*name) return false;
    snprintf(folder, 256, "%.120s/%.100s", t->cache, name);
    draw_name(t, folder, name);
    snprintf(path, 512, "%s/%s", folder, name);
    return *name != '\0';
}

static void damage(torture *t, const char *path) {
    unsigned char byte = 0;
    struct stat status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        off_t at = (off_t)draw(t, (uint32_t)status.st_size);
        if (draw(t, 2) == 0) {
            if (ftruncate(fd, at) != 0) errno = 0;
        } else if (pread(fd, &byte, 1, at) == 1) {
            byte = (unsigned char)(byte ^ 1u << draw(t, 8));
            if (pwrite(fd, &byte, 1, at) != 1) errno = 0;
        }
    }
    close(fd);
}

/* Any time within two years of now. */
static void set_time(torture *t, const char *path) {
    time_t when = time(NULL) + (time_t)draw(t, 4 * 365 * 86400) - 2 * 365 * 86400;
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static void strike_file(torture *t) {
    char folder[256], path[512], other[512], other_folder[256];
    if (!draw_file(t, folder, path)) return;
    t->files++;
    int result = 0;
    switch (draw(t, 10)) {
    case 0:
    case 1:
    case 2: damage(t, path); break;
    case 3: result = unlink(path); break;
    case 4: /* another key's entry */
        if (draw_file(t, other_folder, other)) result = rename(path, other);
        break;
    case 5: result = chmod(path, draw(t, 2) ? 0666 : 0); break;
    case 6: result = chown(path, 12345, (gid_t)-1); break;
    case 7:
    case 8: set_time(t, path); break;
    default:
        result = unlink(path);
        if (result == 0) result = draw(t, 2) ? mkfifo(path, 0600) : symlink("/dev/zero", path);
    }
    (void)result; /* workers are at it, too: some of it fails */
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

static void strike_folder(torture *t) {
    char name[256], path[256], away[300];
    if (*t->shut) return;
    draw_name(t, t->cache, name);
    bool whole = !*name || draw(t, 4) == 0;
    snprintf(path, sizeof path, "%.120s%s%.100s", t->cache, whole ? "" : "/", whole ? "" : name);
    t->folders++;
    switch (draw(t, 4)) {
    case 0: nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS); break;
    case 1:
        snprintf(away, sizeof away, "%s/away", t->folder.path);
        nftw(away, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        (void)!rename(path, away);
        break;
    default:
        if (chmod(path, (mode_t[]){0777, 0500, 0, 0720}[draw(t, 4)]) != 0) return;
        snprintf(t->shut, sizeof t->shut, "%s", path);
        t->shut_until = torture_now_ms() + draw(t, 200);
    }
}

/* ---- disks, leftovers, locks ---- */

static void fill_disk(torture *t) {
    static const char zeros[65536];
    int fd = t->tmpfs ? open(t->filler, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    while (write(fd, zeros, sizeof zeros) > 0) {
    }
    close(fd);
    t->fills++;
    t->filled_until = torture_now_ms() + draw(t, 300);
}

/* A file as a process leaves it that was killed, hours ago or now. */
static void plant(torture *t) {
    char folder[256], path[512], planted[600];
    if (!draw_file(t, folder, path)) return;
    if (strlen(path) < strlen(folder) + 33) return;
    const uint32_t kind = draw(t, 3);
    if (kind == 0)
        snprintf(planted, sizeof planted, "%s/.tmp-%08x", folder, draw(t, UINT32_MAX));
    else
        snprintf(planted, sizeof planted, "%.*s%s", (int)strlen(folder) + 33, path, kind == 1 ? ".lock" : ".k1.bad");
    int fd = open(planted, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return;
    t->plants++;
    if (kind == 1 && t->held_lock < 0 && draw(t, 2) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        t->held_lock = fd; /* held, and never marked as alive */
        t->held_until = torture_now_ms() + draw(t, 3000);
        return;
    }
    if (draw(t, 2) == 0) set_time(t, planted);
    close(fd);
}

static void undo(torture *t, bool all) {
    double now = torture_now_ms();
    resume_workers(t, all);
    if (*t->shut && (all || now >= t->shut_until)) {
        (void)!chmod(t->shut, 0700);
        *t->shut = '\0';
    }
    if (t->filled_until > 0 && (all || now >= t->filled_until)) {
        unlink(t->filler);
        t->filled_until = 0;
    }
    if (t->held_lock >= 0 && (all || now >= t->held_until)) {
        close(t->held_lock);
        t->held_lock = -1;
    }
}

void torture_calm(torture *t) { undo(t, true); }

void torture_chaos(torture *t) {
    undo(t, false);
    switch (draw(t, 24)) {
    case 0:
    case 1: strike_worker(t); break;
    case 2: fill_disk(t); break;
    case 3: strike_folder(t); break;
    case 4:
    case 5: plant(t); break;
    default:
        if (draw(t, 3) == 0) strike_file(t);
    }
}
