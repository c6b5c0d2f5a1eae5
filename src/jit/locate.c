/* SPDX-License-Identifier: Apache-2.0 */
/* Where NVRTC's file is. Nothing is loaded here: names are looked up, and the start of a candidate is read.
 * System folders are asked for names rather than listed, because they hold thousands of files. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "jit/nvrtc.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MULTIARCH "aarch64-linux-gnu"
#define TARGET "targets/sbsa-linux/lib"
#else
#define MACHINE EM_X86_64
#define MULTIARCH "x86_64-linux-gnu"
#define TARGET "targets/x86_64-linux/lib"
#endif

/* How the names that an installed NVRTC always has end: its soname, or the link for compilers. Lists end with NULL. */
static const char *const name_ends[] = {"", ".11.2", ".12", ".13", ".14", ".15", ".16", ".17", ".18", ".19", NULL};
#define TOOLKIT "/lib64", "/lib", "/" TARGET
static const char *const toolkit_folders[] = {TOOLKIT, NULL};
/* Below the prefix of a Python: PyPI's wheels, and conda's packages. */
static const char *const python_folders[] = {"/lib", "/lib/python3*/site-packages/nvidia/cu*/lib",
                                             "/lib/python3*/dist-packages/nvidia/cu*/lib", NULL};
/* Below a folder that the user named: a toolkit's, or what wheels were installed into. */
static const char *const named_folders[] = {TOOLKIT, "/lib/" MULTIARCH, "/cu*/lib", "/nvidia/cu*/lib", NULL};
static const char *const itself[] = {"", NULL};
static const char *const system_folders[] = {"/usr/local/cuda*/lib64",
                                             "/opt/cuda/lib64",
                                             "/usr/lib/cuda/lib64",
                                             "/usr/local/lib",
                                             "/usr/local/lib/" MULTIARCH,
                                             "/lib/" MULTIARCH,
                                             "/usr/lib/" MULTIARCH,
                                             "/usr/lib64",
                                             "/usr/lib",
                                             NULL};

enum { newest_minor = 15 };

/* The newest library so far; rank is major * 100 + minor, -1 before the first. */
typedef struct search {
    kiln__nvrtc_identity best;
    int rank;
} search;

/* Fills path, with links resolved, and the stat fields; false for what is not a file that can be read. */
static bool identify(const char *path, kiln__nvrtc_identity *out) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || access(path, R_OK) != 0) return false;
    char *resolved = realpath(path, NULL);
    bool fits = resolved != NULL && strlen(resolved) < sizeof out->path;
    if (fits) {
        memset(out, 0, sizeof *out);
        strcpy(out->path, resolved);
        out->file_size = (uint64_t)status.st_size;
        out->file_inode = (uint64_t)status.st_ino;
        out->file_device = (uint64_t)status.st_dev;
        out->file_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    }
    free(resolved);
    return fits;
}

/* A whole ELF header of this machine. */
static bool is_native(const char *path) {
    Elf64_Ehdr header;
    FILE *file = fopen(path, "rbe");
    bool native = file != NULL && fread(&header, sizeof header, 1, file) == 1 &&
                  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                  header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == MACHINE;
    if (file != NULL) fclose(file);
    return native;
}

/* The file's name tells the major version, the builtins beside it the minor one: libnvrtc.so.11.2 is 11.2 to 11.8. */
static int rank_of(const char *path) {
    int major = 0, minor = 0;
    const char *base = strrchr(path, '/') + 1;
    if (sscanf(base, "libnvrtc.so.%d.%d", &major, &minor) < 1 || major < 0 || major > 99) return 0;
    for (int i = newest_minor; i > 0; i--) {
        char builtins[PATH_MAX];
        snprintf(builtins, sizeof builtins, "%.*slibnvrtc-builtins.so.%d.%d", (int)(base - path), path, major, i);
        if (access(builtins, F_OK) == 0) return major * 100 + i;
    }
    return major * 100 + (minor >= 0 && minor < 100 ? minor : 0);
}

static void consider(search *found, const char *path) {
    kiln__nvrtc_identity candidate;
    /* "libnvrtc.so.12.4.127", but not "libnvrtc.so.12.backup" */
    const char *version = strrchr(path, '/') + strlen("/libnvrtc.so");
    if (version[strspn(version, ".0123456789")] != '\0' || !identify(path, &candidate)) return;
    bool known = strcmp(candidate.path, found->best.path) == 0; /* by another name: a link */
    int rank = known ? found->rank : rank_of(candidate.path);
    if (rank > found->rank && is_native(candidate.path)) {
        found->best = candidate;
        found->rank = rank;
    }
}

/* Writes the first `length` bytes of folder so that glob takes them as they stand; their number, 0 where the rest of a
 * path may not fit. */
static size_t quote(const char *folder, size_t length, char path[PATH_MAX]) {
    size_t size = 0;
    if (2 * length + NAME_MAX >= PATH_MAX) return 0;
    for (size_t i = 0; i < length; i++) {
        if (strchr("*?[]\\", folder[i]) != NULL) path[size++] = '\\';
        path[size++] = folder[i];
    }
    return size;
}

static void search_pattern(search *found, const char *pattern) {
    glob_t matches;
    if (glob(pattern, GLOB_NOSORT, NULL, &matches) == 0) {
        for (size_t i = 0; i < matches.gl_pathc; i++) consider(found, matches.gl_pathv[i]);
        globfree(&matches);
    }
}

/* Considers every name in each of the list's folders, behind the first `length` bytes of folder. */
static void search_below(search *found, const char *folder, size_t length, const char *const *folders) {
    char path[PATH_MAX];
    const size_t size = quote(folder, length, path);
    if (length > 0 && size == 0) return;
    for (; *folders != NULL; folders++) {
        for (const char *const *end = name_ends; *end != NULL; end++) {
            snprintf(path + size, sizeof path - size, "%s/libnvrtc.so%s", *folders, *end);
            search_pattern(found, path);
        }
    }
}

/* A folder that the user named: it may be the library's own, whatever the library is called there. */
static void search_folder(search *found, const char *folder) {
    char path[PATH_MAX];
    const size_t size = quote(folder, strlen(folder), path);
    if (size > 0) {
        strcpy(path + size, "/libnvrtc.so*");
        search_pattern(found, path);
    }
    if (found->rank < 0) search_below(found, folder, strlen(folder), named_folders);
}

/* Below the folder that a variable names. */
static void search_named(search *found, const char *variable, const char *const *folders) {
    const char *folder = secure_getenv(variable);
    if (folder != NULL && *folder != '\0') search_below(found, folder, strlen(folder), folders);
}

/* Where <prefix>/bin/python3 is the program: below the prefix. */
static void search_beside_python(search *found, const char *program) {
    const char *base = program != NULL ? strrchr(program, '/') : NULL;
    if (base == NULL || strncmp(base, "/python", 7) != 0) return;
    char folder[PATH_MAX];
    int size = snprintf(folder, sizeof folder, "%.*s/..", (int)(base - program), program);
    if (size < (int)sizeof folder) search_below(found, folder, (size_t)size, python_folders);
}

/* A virtual environment's program is a link, which tells where the environment is, to one that tells where Python is.
 */
static void search_running_python(search *found) {
    if (getauxval(AT_SECURE) != 0) return; /* whoever started the program chose its name */
    char *program = realpath("/proc/self/exe", NULL);
    search_beside_python(found, program_invocation_name);
    search_beside_python(found, program);
    free(program);
}

/* What was installed for Kiln: where its advice says. */
static void search_data_folder(search *found) {
    const char *data = secure_getenv("XDG_DATA_HOME"), *home = secure_getenv("HOME");
    char folder[PATH_MAX];
    int size = 0;
    if (data != NULL && *data == '/')
        size = snprintf(folder, sizeof folder, "%s/kiln", data);
    else if (home != NULL && *home == '/')
        size = snprintf(folder, sizeof folder, "%s/.local/share/kiln", home);
    if (size > 0 && size < (int)sizeof folder) search_folder(found, folder);
}

/* A toolkit or environment that the user chose comes before what is installed for all. */
static void search_usual_places(search *found) {
    search_named(found, "CUDA_HOME", toolkit_folders);
    search_named(found, "CUDA_PATH", toolkit_folders);
    if (found->rank >= 0) return;
    search_named(found, "VIRTUAL_ENV", python_folders);
    search_named(found, "CONDA_PREFIX", python_folders);
    search_running_python(found);
    if (found->rank < 0) search_data_folder(found);
    if (found->rank >= 0) return;
    search_below(found, "", 0, system_folders);
    const char *folders = secure_getenv("LD_LIBRARY_PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        if (length > 0) search_below(found, folders, length, itself);
        folders += length + (folders[length] == ':');
    }
#ifdef KILN_NVRTC_FALLBACK_DIR
    if (found->rank < 0) search_folder(found, KILN_NVRTC_FALLBACK_DIR);
#endif
}

bool kiln__nvrtc_locate(const char *path, kiln__nvrtc_identity *out) {
    search found = {.rank = -1};
    if (path == NULL || *path == '\0') path = secure_getenv("KILN_NVRTC");
    if (path == NULL || *path == '\0')
        search_usual_places(&found);
    else if (identify(path, &found.best)) /* the file itself, whatever its name is */
        found.rank = 0;
    else
        search_folder(&found, path);
    *out = found.best;
    return found.rank >= 0;
}

void kiln__nvrtc_read_build(kiln__nvrtc_identity *identity) {
    char bytes[4096];
    uint64_t hash = identity->file_size;
    FILE *file = fopen(identity->path, "rbe");
    for (int i = 0; i < 16 && file != NULL; i++)
        hash = XXH3_64bits_withSeed(bytes, fread(bytes, 1, sizeof bytes, file), hash);
    if (file != NULL) fclose(file);
    snprintf(identity->build, sizeof identity->build, "%016llx", (unsigned long long)hash);
}
