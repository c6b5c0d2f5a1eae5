/* SPDX-License-Identifier: Apache-2.0 */
/* Workers ask one disk cache for kernels while chaos is done to it. Every request must give the right bytes or, where
 * compiling is forbidden, the right status; at the end no lock is held, nothing that the dead left is older than an
 * hour, and the cache is below its limit. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache/folder.h"
#include "codegen/source.h"
#include "support/fake_driver.h"
#include "gpu/driver.h"
#include "runtime/tuned.h"
#include "torture.h"

#define KERNELS 60
#define HANG_MS 30000.0
#define MOST_RECORD_BYTES (32 * 1024) /* what the folders hold, and a kernel or two that killed a compiler */

static void fail_once(torture_shared *shared, const char *what, const char *detail) {
    if (atomic_exchange(&shared->failed, true)) return;
    snprintf(shared->failure, sizeof shared->failure, "%s: %s", what, detail);
}

/* ---- a worker ---- */

typedef struct work {
    torture_shared *shared;
    torture_worker *self;
    kiln_context *context;
    kiln_program *program;
    fake_driver *driver;
    bool never; /* compile */
} work;

static kiln_status compile_kernel(const work *w, const kiln_tensor *tensors, kiln_plan_info *info, bool *right) {
    kiln_kernel *kernel = NULL;
    kiln_status status = kiln_compile(w->program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status) status = kiln_kernel_get_info(kernel, info);
    size_t size = 0;
    const char *image = kiln_kernel_image(kernel, &size);
    /* The stand-in for NVRTC makes of a source its own bytes. */
    const char *code = status ? "" : kiln__source_code(info->source); /* what the compiler gets of it */
    *right = !status && size == strlen(code) + 1 && !memcmp(image, code, size);
    kiln_kernel_destroy(kernel);
    return status;
}

/* Loads it, too; the driver may refuse what was found. */
static kiln_status load_kernel(const work *w, kiln_tensor *tensors, bool refused, kiln_plan_info *info, bool *right) {
    kiln_plan *plan = NULL;
    tensors[0].sizes[0] = tensors[1].sizes[0] = 64;
    tensors[0].data = (void *)((uintptr_t)1 << 40);
    tensors[1].data = (void *)((uintptr_t)2 << 40);
    if (refused) {
        w->driver->fail_result = KILN__CUDA_ERROR_INVALID_IMAGE;
        w->driver->fail_times = 1;
        strcpy(w->driver->fail_symbol, "cuLibraryLoadData");
    }
    kiln_status status = kiln_plan_create(w->program, tensors, 2, NULL, 0, &plan);
    bool struck = refused && !*w->driver->fail_symbol;
    *w->driver->fail_symbol = '\0';
    if (!status) status = kiln_plan_get_info(plan, info);
    *right = !status;
    kiln_plan_destroy(plan);
    atomic_fetch_add(&w->shared->loads, 1);
    if (status == KILN_E_LOAD && struck) { /* a fresh compile that is refused stays so */
        *right = true;
        info->origin = KILN_ORIGIN_COMPILED;
        return KILN_OK;
    }
    return status;
}

static void request(const work *w, uint64_t *random) {
    const int64_t sizes[2] = {-1, 32 + 8 * (int64_t)torture_draw(random, KERNELS)};
    kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes),
                              kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes)};
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bool right = false;
    double start = torture_now_ms();
    atomic_store(&w->self->request_began, start);
    const uint32_t how = torture_draw(random, 8);
    kiln_status status =
        how < 6 ? compile_kernel(w, tensors, &info, &right) : load_kernel(w, tensors, how == 7, &info, &right);
    double ms = torture_now_ms() - start;
    atomic_store(&w->self->request_began, 0);
    torture_shared *s = w->shared;
    atomic_fetch_add(&s->requests, 1);
    if (ms > atomic_load(&s->longest_ms)) atomic_store(&s->longest_ms, ms);
    if (!status && right) {
        atomic_fetch_add(info.origin == KILN_ORIGIN_COMPILED ? &s->compiled
                         : info.origin == KILN_ORIGIN_DISK   ? &s->from_disk
                                                             : &s->from_memory,
                         1);
        if (w->never && info.origin == KILN_ORIGIN_COMPILED) fail_once(s, "a forbidden compile", info.schedule);
    } else if (w->never && status == KILN_E_WOULD_COMPILE) {
        atomic_fetch_add(&s->would_compile, 1);
    } else {
        fail_once(s, status ? kiln_status_name(status) : "wrong bytes", status ? kiln_last_error() : info.schedule);
    }
}

/* Puts a tuned record or asks for one, which is whole and its key's own, or not there. */
static void use_record(const work *w, uint64_t *random) {
    const uint32_t number = torture_draw(random, KERNELS);
    char text[32];
    kiln__key key;
    kiln__entry found;
    snprintf(text, sizeof text, "record %u", number);
    if (kiln__key_of_record(&number, sizeof number, &key)) return;
    if (torture_draw(random, 2)) {
        const kiln__entry entry = kiln__tuned_entry(text, text, "", 90);
        (void)kiln__disk_put_tuned(w->context->disk, &key, &entry);
    } else if (kiln__disk_get_tuned(w->context->disk, &key, &found)) {
        const char *read = kiln__tuned_text(&found);
        if (!read || strcmp(read, text) != 0) fail_once(w->shared, "a tuned record", read ? read : "is no text");
        kiln__entry_free(&found);
    }
    kiln__key_free(&key);
}

/* A context's life: some requests with it. */
static void live(torture_shared *shared, torture_worker *self, const char *cache, fake_driver *driver,
                 uint64_t *random) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    work w = {.shared = shared, .self = self, .driver = driver, .never = torture_draw(random, 5) == 0};
    char ms[16];
    snprintf(ms, sizeof ms, "%u", torture_draw(random, 40));
    setenv("FAKE_NVRTC_MS", ms, 1);
    options.cache_dir = cache;
    options.cache_max_bytes = TORTURE_LIMIT;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = w.never && torture_draw(random, 2) ? "/nowhere/libnvrtc.so" : KILN_FAKE_NVRTC;
    options.policy = w.never ? KILN_POLICY_NEVER_COMPILE : KILN_POLICY_COMPILE;
    kiln_status status = kiln_context_create(&options, &w.context);
    if (!status) status = kiln_program_create(w.context, "y = softmax(x)", NULL, &w.program);
    if (status) fail_once(shared, "a context", kiln_last_error());
    for (uint32_t i = 1 + torture_draw(random, 40); i > 0 && !status && !atomic_load(&shared->finish); i--)
        (torture_draw(random, 8) ? request : use_record)(&w, random);
    kiln_program_destroy(w.program);
    kiln_context_destroy(w.context);
}

static pid_t start_worker(const torture *t, int index, uint64_t seed) {
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const kiln__driver *driver = NULL;
    kiln__CUcontext cuda = NULL;
    fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    if (!fake || kiln__driver_open(KILN_FAKE_DRIVER, &driver) || driver->DevicePrimaryCtxRetain(&cuda, 0) ||
        driver->CtxSetCurrent(cuda)) {
        fail_once(t->shared, "the driver", kiln_last_error());
        _exit(1);
    }
    if (!t->tmpfs && torture_draw(&seed, 4) == 0) { /* in place of a full disk */
        const struct rlimit little = {2000, 2000};
        setrlimit(RLIMIT_FSIZE, &little);
    }
    while (!atomic_load(&t->shared->finish)) live(t->shared, &t->shared->workers[index], t->cache, fake, &seed);
    _exit(0);
}

/* ---- the run ---- */

static bool write_to(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return done;
}

/* A mount namespace that ends with us; for others than root in a user namespace where they stay who they are. */
static bool enter_namespace(void) {
    char users[64], groups[64];
    if (unshare(CLONE_NEWNS) == 0) return true;
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_to("/proc/self/setgroups", "deny") &&
           write_to("/proc/self/uid_map", users) && write_to("/proc/self/gid_map", groups);
}

/* A small file system of our own. */
static bool mount_small(const char *path) {
    return enter_namespace() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("kiln", path, "tmpfs", 0, "size=4m,mode=0700") == 0;
}

static void tend_workers(torture *t, bool restart) {
    for (int i = 0; i < TORTURE_WORKERS; i++) {
        torture_worker *worker = &t->shared->workers[i];
        int status = 0;
        double began = atomic_load(&worker->request_began);
        if (began > 0 && !worker->stopped && torture_now_ms() - began > HANG_MS)
            fail_once(t->shared, "a request", "hangs");
        if (worker->pid > 0 && waitpid(worker->pid, &status, WNOHANG) != worker->pid) continue;
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
            fail_once(t->shared, "a worker", strsignal(WTERMSIG(status)));
        worker->stopped = false;
        atomic_store(&worker->request_began, 0);
        worker->pid = restart ? start_worker(t, i, t->random ^ (uint64_t)(i + 1) << 32) : 0;
        (void)torture_draw(&t->random, 2);
    }
}

static void end_workers(torture *t) {
    atomic_store(&t->shared->finish, true);
    torture_calm(t);
    for (double start = torture_now_ms(); torture_now_ms() - start < HANG_MS; usleep(2000)) {
        bool alive = false;
        tend_workers(t, false);
        for (int i = 0; i < TORTURE_WORKERS; i++) alive |= t->shared->workers[i].pid > 0;
        if (!alive) return;
    }
    fail_once(t->shared, "a worker", "does not end");
    for (int i = 0; i < TORTURE_WORKERS; i++)
        if (t->shared->workers[i].pid > 0) kill(t->shared->workers[i].pid, SIGKILL);
}

/* ---- the end ---- */

typedef struct verdict {
    kiln__disk *disk;
    torture_shared *shared;
    int64_t bytes, record_bytes; /* the limit is on what the cache holds beside records */
    int locks, leftovers;
} verdict;

static bool judge_file(void *user, int folder, const char *sub, const char *name) {
    verdict *v = user;
    struct stat status;
    kiln__file_kind kind = kiln__folder_kind(sub, name);
    if (kind == KILN__FILE_FOREIGN || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    const bool record = kind == KILN__FILE_RECORD || kind == KILN__FILE_PASSING;
    *(record ? &v->record_bytes : &v->bytes) += status.st_size;
    v->leftovers += kind == KILN__FILE_TEMPORARY || kind == KILN__FILE_ASIDE;
    if (kiln__folder_is_stale(kind, &status)) fail_once(v->shared, "older than its hour", name);
    if (kind != KILN__FILE_LOCK || !S_ISREG(status.st_mode)) return true;
    v->locks++;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) fail_once(v->shared, "a lock is held by nobody", name);
    if (fd >= 0) close(fd);
    return true;
}

/* A fresh process asks for every kernel; then the cache is looked at. */
static void judge(torture *t, verdict *v) {
    *v = (verdict){.shared = t->shared};
    atomic_store(&t->shared->finish, false);
    pid_t child = fork();
    if (child == 0) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        work w = {.shared = t->shared, .self = &t->shared->workers[0]};
        options.cache_dir = t->cache;
        options.cache_max_bytes = TORTURE_LIMIT;
        options.nvrtc_path = KILN_FAKE_NVRTC;
        setenv("FAKE_NVRTC_MS", "0", 1);
        kiln_status status = kiln_context_create(&options, &w.context);
        if (!status) status = kiln_program_create(w.context, "y = softmax(x)", NULL, &w.program);
        for (int i = 0; i <= KERNELS && !status; i++) { /* the last is new: it is published, and all is swept */
            const int64_t sizes[2] = {-1, i == KERNELS ? 4096 + getpid() % 4096 : 32 + 8 * i};
            const kiln_tensor tensors[2] = {kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes),
                                            kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes)};
            kiln_plan_info info = KILN_PLAN_INFO_INIT;
            bool right = false;
            double start = torture_now_ms();
            status = compile_kernel(&w, tensors, &info, &right);
            if (status || !right) fail_once(t->shared, "after the chaos", status ? kiln_last_error() : "wrong bytes");
            if (torture_now_ms() - start > 1000) fail_once(t->shared, "after the chaos", "a request waits");
        }
        _exit(status != KILN_OK);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status) fail_once(t->shared, "after the chaos", "a fresh process fails");
    if (kiln__disk_open(t->cache, NULL, &v->disk)) return;
    if (kiln__folder_walk(v->disk, judge_file, v)) fail_once(t->shared, "the cache", kiln_last_error());
    if (v->bytes == 0) fail_once(t->shared, "the cache", "keeps nothing");
    if (v->bytes > TORTURE_LIMIT) fail_once(t->shared, "the cache", "is larger than its limit");
    if (v->record_bytes > MOST_RECORD_BYTES) fail_once(t->shared, "the cache's records", "are large");
    kiln__disk_close(v->disk);
}

static long number(const char *text, const char *option) {
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    if (value > 0 && !*end) return value;
    fprintf(stderr, "torture_cache: %s takes a number from 1 up\n", option);
    exit(2);
}

int main(int argc, char **argv) {
    long seconds = 60, seed = (long)time(NULL);
    for (int i = 1; i < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds"))
            seconds = number(argv[i + 1], argv[i]);
        else if (!strcmp(argv[i], "--seed"))
            seed = number(argv[i + 1], argv[i]);
        else
            return fprintf(stderr, "usage: torture_cache [--seconds N] [--seed N]\n"), 2;
    }
    torture t = {.random = (uint64_t)seed, .held_lock = -1};
    t.shared = mmap(NULL, sizeof *t.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t.shared == MAP_FAILED || !own_folder_make(&t.folder)) return perror("torture_cache"), 1;
    t.tmpfs = mount_small(t.folder.path);
    snprintf(t.cache, sizeof t.cache, "%s/cache", t.folder.path);
    snprintf(t.filler, sizeof t.filler, "%s/filler", t.folder.path);
    setenv("FAKE_NVRTC_ARCH", "90", 1);
    signal(SIGXFSZ, SIG_IGN);
    printf("torture_cache --seconds %ld --seed %ld (%s)\n", seconds, seed,
           t.tmpfs ? "on a tmpfs of its own" : "no tmpfs can be mounted: files of some workers are limited instead");
    fflush(stdout);

    for (double end = torture_now_ms() + (double)seconds * 1e3;
         torture_now_ms() < end && !atomic_load(&t.shared->failed);) {
        tend_workers(&t, true);
        torture_chaos(&t);
        usleep(torture_draw(&t.random, 20000));
    }
    end_workers(&t);
    verdict v = {0};
    if (!atomic_load(&t.shared->failed)) judge(&t, &v);
    const torture_shared *s = t.shared;
    printf(
        "%ld requests: %ld compiled, %ld from disk, %ld from memory, %ld refused to compile; %ld loaded; longest %.0f "
        "ms\n"
        "%ld kills, %ld stops, %ld files struck, %ld folders struck, %ld full disks, %ld leftovers and locks planted\n"
        "at the end %lld bytes of %d and %lld of records, %d lock files, none held, %d leftovers, none older than an "
        "hour\n",
        s->requests, s->compiled, s->from_disk, s->from_memory, s->would_compile, s->loads, s->longest_ms, t.kills,
        t.stops, t.files, t.folders, t.fills, t.plants, (long long)v.bytes, TORTURE_LIMIT, (long long)v.record_bytes,
        v.locks, v.leftovers);
    bool failed = atomic_load(&s->failed);
    if (failed) printf("FAILED: %s\nagain with: torture_cache --seconds %ld --seed %ld\n", s->failure, seconds, seed);
    if (t.tmpfs) (void)umount2(t.folder.path, MNT_DETACH);
    own_folder_remove(&t.folder);
    return failed;
}
