/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NVRTC at run time: one table of functions for each library file, kept for the life of the process.
 * NVRTC starts threads and keeps thread-local data, so that closing it again is not safe. */
#define _GNU_SOURCE
#include "jit/nvrtc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"

/* --target works where a distribution manages Python's own folders, and locate.c knows the folder. */
#define ADVICE \
    "install it with 'pip install --target ~/.local/share/kiln nvidia-cuda-nvrtc' (nvidia-cuda-nvrtc-cu12 for a " \
    "driver " \
    "of CUDA 12) or as part of the CUDA toolkit, and name its file or folder in KILN_NVRTC if it is elsewhere"

typedef struct opened {
    kiln__nvrtc nvrtc;
    struct opened *next;
} opened;

static kiln__process_lock opened_lock = KILN__PROCESS_LOCK_INIT;
static opened *opened_first;

/* Threads inside of NVRTC. In a child they are gone, and what NVRTC has locked for them stays so. */
static struct {
    atomic_int owner, inside;
    atomic_bool
        stuck; /* a parent's thread was inside: this process takes a copy of the library, which has its own state */
} users;

static void adopt_users(void) {
    if (!kiln__process_adopts(&users.owner)) return;
    if (atomic_exchange(&users.inside, 0) > 0) {
        atomic_store(&users.stuck, true);
        opened_first = NULL; /* what is in it may be needed by name: it stays open */
    }
    atomic_store(&users.owner, kiln__process());
}

void kiln__nvrtc_enter(void) {
    adopt_users();
    atomic_fetch_add(&users.inside, 1);
}

void kiln__nvrtc_leave(void) { atomic_fetch_sub(&users.inside, 1); }

static kiln_status not_found(const char *name) {
    const char *source = "";
    if (name == NULL || *name == '\0') name = secure_getenv("KILN_NVRTC"), source = " (from KILN_NVRTC)";
    if (name == NULL || *name == '\0')
        return kiln__fail(KILN_E_NO_NVRTC, "no NVRTC library was found in CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, "
                                           "~/.local/share/kiln, /usr/local/cuda*, the system's library folders and "
                                           "LD_LIBRARY_PATH; " ADVICE);
    if (access(name, R_OK) != 0)
        return kiln__fail(KILN_E_NO_NVRTC, "the NVRTC library '%s'%s cannot be read: %s; " ADVICE, name, source,
                          strerror(errno));
    return kiln__fail(KILN_E_NO_NVRTC,
                      "'%s'%s is neither an NVRTC library nor a folder with a libnvrtc.so for this machine; " ADVICE,
                      name, source);
}

/* The name of the first function that the library lacks, NULL if it has all. */
static const char *read_symbols(void *library, kiln__nvrtc *nvrtc) {
    void *symbol;
#define READ_SYMBOL(ret, name, params) \
    symbol = dlsym(library, "nvrtc" #name); \
    if (symbol == NULL) return "nvrtc" #name; \
    memcpy(&nvrtc->name, &symbol, sizeof symbol);
    KILN__NVRTC_FUNCTIONS(READ_SYMBOL)
#undef READ_SYMBOL
    return NULL;
}

static kiln_status read_version(kiln__nvrtc *nvrtc) {
    kiln__nvrtc_identity *identity = &nvrtc->identity;
    int *count = &nvrtc->arch_count, room = (int)(sizeof nvrtc->archs / sizeof nvrtc->archs[0]);
    kiln__nvrtcResult result = nvrtc->Version(&identity->major, &identity->minor);
    if (result == KILN__NVRTC_SUCCESS) result = nvrtc->GetNumSupportedArchs(count);
    if (result == KILN__NVRTC_SUCCESS && *count > 0 && *count <= room) result = nvrtc->GetSupportedArchs(nvrtc->archs);
    if (result == KILN__NVRTC_SUCCESS && *count > 0 && *count <= room) return KILN_OK;
    return kiln__fail(KILN_E_NO_NVRTC, "NVRTC library '%s' does not tell its version and architectures: %s, %d of them",
                      identity->path, nvrtc->GetErrorString(result), *count);
}

/* NVRTC opens its builtins by their bare name at the first compile. Toolkits rely on the system's library path for
 * that, so a toolkit outside it compiles nothing unless the builtins beside the library are open before. */
static void open_builtins(const kiln__nvrtc_identity *identity) {
    char path[PATH_MAX];
    int folder = (int)(strrchr(identity->path, '/') - identity->path);
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", folder, identity->path, identity->major,
             identity->minor);
    if (access(path, R_OK) == 0) dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The loader knows files by their inode, so that a copy is another library. NULL where there is no memory for it. */
static void *open_copy(const char *path) {
    char name[64];
    struct stat status;
    void *library = NULL;
    int from = open(path, O_RDONLY | O_CLOEXEC), copy = memfd_create("libnvrtc", MFD_CLOEXEC);
    off_t at = 0;
    bool whole = from >= 0 && copy >= 0 && fstat(from, &status) == 0;
    while (whole && at < status.st_size) whole = sendfile(copy, from, &at, (size_t)(status.st_size - at)) > 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
    if (whole) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (from >= 0) close(from);
    if (copy >= 0) close(copy);
    return library;
}

/* Fills *nvrtc, whose identity tells the file. */
static kiln_status open_library(kiln__nvrtc *nvrtc) {
    const char *path = nvrtc->identity.path;
    void *library = atomic_load(&users.stuck) ? open_copy(path) : NULL;
    if (library == NULL) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return kiln__fail(KILN_E_NO_NVRTC, "NVRTC library '%s' cannot be opened: %s; " ADVICE, path, dlerror());
    const char *missing = read_symbols(library, nvrtc);
    kiln_status status =
        missing == NULL
            ? read_version(nvrtc)
            : kiln__fail(KILN_E_NO_NVRTC, "'%s' has no function %s; NVRTC 11.2 or newer is needed", path, missing);
    if (status != KILN_OK) {
        dlclose(library);
        return status;
    }
    kiln__nvrtc_read_build(&nvrtc->identity);
    open_builtins(&nvrtc->identity);
    return KILN_OK;
}

bool kiln__nvrtc_same_file(const kiln__nvrtc_identity *a, const kiln__nvrtc_identity *b) {
    return strcmp(a->path, b->path) == 0 && a->file_inode == b->file_inode && a->file_device == b->file_device &&
           a->file_size == b->file_size && a->file_mtime_ns == b->file_mtime_ns;
}

/* With the lock held. */
static kiln_status open_new(const kiln__nvrtc_identity *identity, opened **out) {
    opened *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) return kiln__out_of_memory();
    fresh->nvrtc.identity = *identity;
    kiln__nvrtc_enter(); /* its initialisers run: what a child would find is half made */
    kiln_status status = open_library(&fresh->nvrtc);
    kiln__nvrtc_leave();
    if (status != KILN_OK) {
        free(fresh);
        return status;
    }
    fresh->next = opened_first;
    *out = opened_first = fresh;
    return KILN_OK;
}

kiln_status kiln__nvrtc_open(const char *path, const kiln__nvrtc **out) {
    kiln__nvrtc_identity identity;
    *out = NULL;
    if (!kiln__nvrtc_locate(path, &identity)) return not_found(path);
    kiln__process_lock_take(&opened_lock);
    adopt_users();
    opened *known = opened_first;
    while (known != NULL && !kiln__nvrtc_same_file(&known->nvrtc.identity, &identity)) known = known->next;
    kiln_status status = known != NULL ? KILN_OK : open_new(&identity, &known);
    kiln__process_lock_leave(&opened_lock);
    if (status == KILN_OK) *out = &known->nvrtc;
    return status;
}
