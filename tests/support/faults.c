/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-ins for system calls and allocations, and the loop that fails one after the other. */
#define _GNU_SOURCE
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/status.h"

/* ---- which call fails ---- */

/* How it fails: with the usual error, in a call's second way (interrupted, cut short), or from then on. */
typedef enum manner { USUAL, OTHER, LASTING, MANNERS } manner;

static const char *const manners[MANNERS] = {"failing", "failing another way", "failing from then on"};

enum { SITES = 16384, EACH_SITE = 12 };

/* What a process tells the test. */
typedef struct verdict {
    char call[48]; /* the one that failed; "" where none was left to fail */
    char blame[1024];
    long live;               /* allocations that the library keeps for the life of the process */
    long calls;              /* those of which one could have failed */
    const void *site[SITES]; /* where each is in the code */
} verdict;

static verdict *told;
static bool counting;
static manner how;
static atomic_long countdown; /* 0: nothing fails */
static const char *lasting;   /* the name of the calls that fail from now on */
static bool unwiped;          /* the kernel refuses to wipe memory at a fork, always */

void fault_blame(const char *format, ...) {
    va_list arguments;
    if (*told->blame) return;
    va_start(arguments, format);
    vsnprintf(told->blame, sizeof told->blame, format, arguments);
    va_end(arguments);
}

void fault_refuse_wiping(bool refused) { unwiped = refused; }

/* A call without another way to fail is not counted among those that have one. */
static bool fails_at(const char *call, bool has_other_way, const void *site) {
    if (lasting) return strcmp(lasting, call) == 0;
    if (how == OTHER && !has_other_way) return false;
    if (counting && told->calls < SITES) told->site[told->calls++] = site;
    if (countdown == 0 || atomic_fetch_sub(&countdown, 1) != 1) return false;
    snprintf(told->call, sizeof told->call, "%s", call);
    if (how == LASTING) lasting = call;
    return true;
}
#define fails_now(call, has_other_way) fails_at(call, has_other_way, __builtin_return_address(0))

/* STAND_IN(type, name, parameters, arguments, result of a failure, its errno): for calls that fail in one way. */
#define STAND_IN(type, name, parameters, arguments, result, code) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { \
        if (!fails_now(#name, false)) return __real_##name arguments; \
        errno = code; \
        return result; \
    }
/* ... for those with another way: `other` is an expression. */
#define STAND_IN_OTHER(type, name, parameters, arguments, result, code, other) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { \
        if (!fails_now(#name, true)) return __real_##name arguments; \
        if (how == OTHER) return other; \
        errno = code; \
        return result; \
    }

static int failing(int code, int result) {
    errno = code;
    return result;
}

/* ---- allocations, each with its block ---- */

static void *live[65536];
static size_t live_count;

static void *add(void *memory) {
    if (memory && live_count < sizeof live / sizeof *live) live[live_count++] = memory;
    return memory;
}

static void forget(const void *memory) {
    size_t i = live_count;
    while (i > 0 && live[i - 1] != memory) i--;
    if (i > 0) live[i - 1] = live[--live_count];
}

static bool is_allocation(const char *call) {
    static const char *const calls[] = {"malloc", "calloc", "realloc", "strdup", "strndup", "aligned_alloc"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i], call) == 0) return true;
    return false;
}

#define ALLOCATION(name, parameters, arguments, type) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters { return fails_now(#name, false) ? NULL : add(__real_##name arguments); }

ALLOCATION(malloc, (size_t size), (size), void *)
ALLOCATION(calloc, (size_t number, size_t size), (number, size), void *)
ALLOCATION(aligned_alloc, (size_t alignment, size_t size), (alignment, size), void *)
ALLOCATION(strdup, (const char *text), (text), char *)
ALLOCATION(strndup, (const char *text, size_t size), (text, size), char *)

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size) {
    if (fails_now("realloc", false)) return NULL;
    forget(old);
    return add(__real_realloc(old, size));
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
    forget(memory);
    __real_free(memory);
}

/* Memory of the C library's that the caller frees. */
char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved) {
    if (fails_now("realpath", false)) return errno = ENOMEM, NULL;
    char *given = __real_realpath(path, resolved);
    return resolved ? given : add(given);
}

char *__real_getcwd(char *path, size_t size);
char *__wrap_getcwd(char *path, size_t size);
char *__wrap_getcwd(char *path, size_t size) {
    if (fails_now("getcwd", false)) return errno = ENOENT, NULL;
    char *given = __real_getcwd(path, size);
    return path ? given : add(given);
}

/* ---- files ---- */

#define OPENING(name, parameters, arguments) \
    STAND_IN_OTHER(int, name, parameters, arguments, -1, EMFILE, failing(EACCES, -1))
/* Without a mode there is none to hand on; any number is as good. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!fails_now("open", true)) return __real_open(path, flags, mode);
    return failing(how == OTHER ? EACCES : EMFILE, -1);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!fails_now("openat", true)) return __real_openat(folder, path, flags, mode);
    return failing(how == OTHER ? EACCES : EMFILE, -1);
}

OPENING(__open_2, (const char *path, int flags), (path, flags))
OPENING(__openat_2, (int folder, const char *path, int flags), (folder, path, flags))

/* What is read or written is cut short in the middle. */
STAND_IN_OTHER(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), -1, EIO,
               __real_read(fd, bytes, (size + 1) / 2))
STAND_IN_OTHER(ssize_t, __read_chk, (int fd, void *bytes, size_t size, size_t room), (fd, bytes, size, room), -1, EIO,
               __real_read(fd, bytes, (size + 1) / 2))
STAND_IN_OTHER(ssize_t, pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at), -1, EIO,
               __real_pread(fd, bytes, (size + 1) / 2, at))
STAND_IN_OTHER(ssize_t, __pread_chk, (int fd, void *bytes, size_t size, off_t at, size_t room),
               (fd, bytes, size, at, room), -1, EIO, __real_pread(fd, bytes, (size + 1) / 2, at))
STAND_IN_OTHER(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size), -1, ENOSPC,
               __real_write(fd, bytes, size / 2))
STAND_IN(int, flock, (int fd, int operation), (fd, operation), -1, ENOLCK)
STAND_IN(int, fstat, (int fd, struct stat *status), (fd, status), -1, EIO)
STAND_IN(int, stat, (const char *path, struct stat *status), (path, status), -1, EACCES)
STAND_IN(int, fstatat, (int folder, const char *path, struct stat *status, int flags), (folder, path, status, flags),
         -1, EIO)
STAND_IN(int, access, (const char *path, int mode), (path, mode), -1, EACCES)
STAND_IN(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), -1, EACCES)
STAND_IN(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EPERM)
STAND_IN(int, futimens, (int fd, const struct timespec times[2]), (fd, times), -1, EPERM)
STAND_IN(int, utimensat, (int folder, const char *path, const struct timespec times[2], int flags),
         (folder, path, times, flags), -1, EPERM)
STAND_IN(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), -1, ENOSPC)
STAND_IN(int, rename, (const char *from, const char *to), (from, to), -1, EACCES)
STAND_IN(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1, ENOSPC)
STAND_IN(int, unlink, (const char *path), (path), -1, EACCES)
STAND_IN(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), -1, EACCES)
STAND_IN(DIR *, fdopendir, (int fd), (fd), NULL, ENOMEM)
STAND_IN(struct dirent *, readdir, (DIR * folder), (folder), NULL, EIO)
STAND_IN(void *, mmap, (void *at, size_t size, int rights, int flags, int fd, off_t offset),
         (at, size, rights, flags, fd, offset), MAP_FAILED, ENOMEM)
STAND_IN(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags), -1, EINTR)
STAND_IN(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
STAND_IN_OTHER(size_t, fread, (void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file), 0, EIO,
               __real_fread(bytes, size, count / 2, file))
STAND_IN_OTHER(size_t, __fread_chk, (void *bytes, size_t room, size_t size, size_t count, FILE *file),
               (bytes, room, size, count, file), 0, EIO, __real_fread(bytes, size, count / 2, file))
STAND_IN(int, glob, (const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *found),
         (pattern, flags, on_error, found), GLOB_NOSPACE, ENOMEM)

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice) {
    if (unwiped && advice == MADV_WIPEONFORK) return failing(EINVAL, -1);
    return fails_now("madvise", false) ? failing(EINVAL, -1) : __real_madvise(at, size, advice);
}

STAND_IN(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, ENOSYS)
STAND_IN_OTHER(ssize_t, sendfile, (int to, int from, off_t *at, size_t size), (to, from, at, size), -1, EIO,
               __real_sendfile(to, from, at, (size + 1) / 2))

/* Nothing here outlives the power, and waiting for the disk takes most of the time. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    (void)fd;
    return fails_now("fsync", false) ? failing(EIO, -1) : 0;
}

/* A close that tells of an error has closed all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    const int result = __real_close(fd);
    return fails_now("close", false) ? failing(EIO, -1) : result;
}

/* ---- threads, processes, libraries, time ---- */

STAND_IN(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE)
STAND_IN_OTHER(int, poll, (struct pollfd * polled, nfds_t count, int ms), (polled, count, ms), -1, ENOMEM,
               failing(EINTR, -1))
STAND_IN(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left), -1, EINTR)
STAND_IN(int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t *set), (process, size, set), -1, EINVAL)
STAND_IN(unsigned long, getauxval, (unsigned long type), (type), 0, ENOENT)
STAND_IN(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends), -1, EMFILE)
STAND_IN(pid_t, fork, (void), (), -1, EAGAIN)
STAND_IN_OTHER(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags), -1, EPIPE,
               __real_send(fd, bytes, (size + 1) / 2, flags))
STAND_IN_OTHER(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags), -1, ECONNRESET,
               __real_recv(fd, bytes, (size + 1) / 2, flags))

/* Those that return their error and leave errno alone. */
#define RETURNING(name, parameters, arguments, code) STAND_IN(int, name, parameters, arguments, code, errno)
RETURNING(pthread_create,
          (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
          (thread, attributes, start, argument), EAGAIN)
RETURNING(pthread_attr_init, (pthread_attr_t * attributes), (attributes), ENOMEM)
RETURNING(pthread_atfork, (void (*prepare)(void), void (*parent)(void), void (*child)(void)), (prepare, parent, child),
          ENOMEM)
RETURNING(posix_spawn,
          (pid_t * pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes,
           char *const arguments[], char *const variables[]),
          (pid, path, files, attributes, arguments, variables), EAGAIN)
RETURNING(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * files), (files), ENOMEM)
RETURNING(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * files, int from, int to), (files, from, to),
          ENOMEM)
RETURNING(posix_spawn_file_actions_addopen,
          (posix_spawn_file_actions_t * files, int fd, const char *path, int flags, mode_t mode),
          (files, fd, path, flags, mode), ENOMEM)
RETURNING(posix_spawnattr_init, (posix_spawnattr_t * attributes), (attributes), ENOMEM)

/* Attributes that could not be made may not be used. */
static const pthread_condattr_t *unmade;

int __real_pthread_condattr_init(pthread_condattr_t *attributes);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes) {
    const bool fails = fails_now("pthread_condattr_init", false);
    unmade = fails ? attributes : NULL;
    return fails ? ENOMEM : __real_pthread_condattr_init(attributes);
}

int __real_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t which);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t which);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t which) {
    if (attributes == unmade) fault_blame("attributes of a condition are used that could not be made");
    return __real_pthread_condattr_setclock(attributes, which);
}

/* A signal comes while it waits; or, from the second on, the process has gone without leaving its end, as where
 * SIGCHLD is ignored. */
pid_t __real_waitpid(pid_t process, int *end, int options);
pid_t __wrap_waitpid(pid_t process, int *end, int options);
pid_t __wrap_waitpid(pid_t process, int *end, int options) {
    if (!fails_now("waitpid", true)) return __real_waitpid(process, end, options);
    if (how == USUAL) return failing(EINTR, -1);
    __real_waitpid(process, NULL, options);
    return failing(ECHILD, -1);
}

/* The sentence of a failure comes from dlerror, so that the failure is a real one. */
void *__real_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode) {
    return __real_dlopen(fails_now("dlopen", false) ? "/nowhere/library.so" : path, mode);
}

/* ---- the loop ---- */

/* New descriptors are the lowest that are free, so that a leak shows among the first. */
static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 48; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void arm(manner in, long n) {
    how = in;
    lasting = NULL;
    countdown = n;
    counting = n == 0;
}

static void disarm(void) {
    countdown = 0;
    lasting = NULL;
    counting = false;
}

/* What a lack of the host's memory is told by; a thread that compiles lacks more than memory. */
static bool tells_of_memory(const char *sentence) {
    if (strcmp(sentence, "the host's memory ran out") == 0) return true;
    return strcmp(told->call, "pthread_create") == 0 &&
           (strcmp(sentence, "no thread can be had to prepare kernels in") == 0 ||
            strcmp(sentence, "no thread can be had to compile on, with a stack of 8388608 bytes: "
                             "Resource temporarily unavailable") == 0);
}

static void judge(kiln_status status) {
    if (status && !*kiln_last_error()) fault_blame("%s came without a sentence", kiln_status_name(status));
    if (status == KILN_E_INTERNAL) fault_blame("%s: %s", kiln_status_name(status), kiln_last_error());
    if (status && is_allocation(told->call) && status != KILN_E_MEMORY)
        fault_blame("%s: %s, expected KILN_E_MEMORY", kiln_status_name(status), kiln_last_error());
    if (status == KILN_E_MEMORY && !tells_of_memory(kiln_last_error()))
        fault_blame("%s: %s", kiln_status_name(status), kiln_last_error());
}

static void blame_processes(void) {
    if (__real_waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) fault_blame("a process is left");
}

/* In a process of its own: the nth call fails, then none does. Never returns. */
static void run_with_failure(const fault_scenario *scenario, manner in, long n) {
    const int before = count_descriptors();
    alarm(30); /* a hang is a failure, too */
    live_count = 0;
    arm(in, n);
    kiln_status status = scenario->run(scenario->user);
    disarm();
    judge(status);
    if (count_descriptors() != before) fault_blame("%d descriptors are left open", count_descriptors() - before);
    blame_processes();
    if (scenario->inspect) scenario->inspect(scenario->user, told->call);
    status = scenario->run(scenario->user);
    if (status) fault_blame("the next run ends with %s: %s", kiln_status_name(status), kiln_last_error());
    blame_processes();
    told->live = (long)live_count;
    _exit(0);
}

static void run_apart(const fault_scenario *scenario, manner in, long n) {
    int end = 0;
    memset(told, 0, offsetof(verdict, site));
    if (scenario->reset) scenario->reset(scenario->user);
    pid_t child = __real_fork();
    if (child == 0) run_with_failure(scenario, in, n);
    assert_int_equal(__real_waitpid(child, &end, 0), child);
    if (WIFSIGNALED(end)) fault_blame("the process was killed by %s", strsignal(WTERMSIG(end)));
    if (!WIFSIGNALED(end) && WEXITSTATUS(end)) fault_blame("the process ended with %d", WEXITSTATUS(end));
}

/* Whether this place in the code has failed often enough: a loop over folders makes hundreds of the same call. */
static bool is_one_of_many(const verdict *clean, long n) {
    int seen = 0;
    for (long i = 0; i < n - 1 && n <= clean->calls; i++) seen += clean->site[i] == clean->site[n - 1];
    return seen >= EACH_SITE;
}

static long fail_in_manner(const fault_scenario *scenario, manner in, verdict *clean) {
    long runs = 0;
    run_apart(scenario, in, 0);
    if (*told->blame) fail_msg("%s, without a failure: %s", scenario->name, told->blame);
    *clean = *told;
    assert_true(clean->calls < SITES);
    for (long n = 1;; n++) {
        if (is_one_of_many(clean, n)) continue;
        run_apart(scenario, in, n);
        if (told->live != clean->live)
            fault_blame("%ld allocations are left, %ld without a failure", told->live, clean->live);
        if (*told->blame) fail_msg("%s, call %ld (%s) %s: %s", scenario->name, n, told->call, manners[in], told->blame);
        if (!*told->call) return runs;
        runs++;
    }
}

void fail_each_call(const fault_scenario *scenario) {
    long runs = 0;
    verdict *clean = __real_malloc(sizeof *clean);
    told = __real_mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_non_null(clean);
    assert_ptr_not_equal(told, MAP_FAILED);
    for (manner in = USUAL; in < MANNERS; in++) runs += fail_in_manner(scenario, in, clean);
    print_message("%s: %ld failures\n", scenario->name, runs);
    if (runs < scenario->least) fail_msg("%s: %ld failures, expected %d", scenario->name, runs, scenario->least);
    munmap(told, sizeof *told);
    __real_free(clean);
}
