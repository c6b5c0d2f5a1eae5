/* Where NVRTC's file is. Nothing is loaded here: names are looked up, and a candidate's ELF header is read.
 * Folders are asked for names rather than listed, because a distribution's library folder holds thousands of files. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit/elf.h"
#include "jit/nvrtc.h"

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#define TARGET "targets/sbsa-linux/lib"
#else
#define MULTIARCH "x86_64-linux-gnu"
#define TARGET "targets/x86_64-linux/lib"
#endif

enum { oldest_major = 11, newest_major = 19, newest_minor = 15 };

/* The newest library so far; rank is major * 100 + minor, -1 before the first. */
typedef struct search {
    kiln__nvrtc_identity best;
    int rank;
} search;

static bool is_readable_file(const char *path, struct stat *status)
{
    return stat(path, status) == 0 && S_ISREG(status->st_mode) && access(path, R_OK) == 0;
}

/* Resolves the links of a file whose status is known. */
static bool identify(const char *path, const struct stat *status, kiln__nvrtc_identity *out)
{
    char *resolved = realpath(path, NULL);
    bool fits = resolved != NULL && strlen(resolved) < sizeof out->path;
    if (fits) {
        memset(out, 0, sizeof *out);
        strcpy(out->path, resolved);
        out->file_size = (uint64_t)status->st_size;
        out->file_inode = (uint64_t)status->st_ino;
        out->file_device = (uint64_t)status->st_dev;
        out->file_mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
    }
    free(resolved);
    return fits;
}

/* "libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.12.4.127"; neither the builtins nor libnvrtc.alt.so. */
static bool is_library_name(const char *name)
{
    static const char stem[] = "libnvrtc.so";
    if (strncmp(name, stem, sizeof stem - 1) != 0)
        return false;
    name += sizeof stem - 1;
    while (*name == '.' && isdigit((unsigned char)name[1])) {
        name++;
        while (isdigit((unsigned char)*name))
            name++;
    }
    return *name == '\0';
}

/* The file's name tells the major version, the builtins beside it the minor one: libnvrtc.so.11.2 is 11.2 to 11.8. */
static int rank_of(const char *path)
{
    int major = 0, minor = 0;
    const char *base = strrchr(path, '/') + 1;
    if (sscanf(base, "libnvrtc.so.%d.%d", &major, &minor) < 1 || major < 0 || major > 99)
        return 0;
    char builtins[PATH_MAX];
    for (int i = newest_minor; i > 0; i--) {
        int length = snprintf(builtins, sizeof builtins, "%.*slibnvrtc-builtins.so.%d.%d", (int)(base - path), path,
                              major, i);
        if (length > 0 && (size_t)length < sizeof builtins && access(builtins, F_OK) == 0) {
            minor = i;
            break;
        }
    }
    return major * 100 + (minor >= 0 && minor < 100 ? minor : 0);
}

static void consider(search *found, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    kiln__nvrtc_identity candidate;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || !is_readable_file(path, &status))
        return;
    bool known = found->rank >= 0 && status.st_ino == found->best.file_inode &&
                 status.st_dev == found->best.file_device;
    if (known || !identify(path, &status, &candidate))
        return;
    int rank = rank_of(candidate.path);
    if (rank > found->rank && kiln__elf_is_native(candidate.path)) {
        found->best = candidate;
        found->rank = rank;
    }
}

/* The names that an installed NVRTC always has: its soname, or the link for compilers. */
static void probe(search *found, const char *folder)
{
    if (access(folder, X_OK) != 0)
        return;
    char name[32];
    for (int major = newest_major; major >= oldest_major; major--) {
        snprintf(name, sizeof name, "libnvrtc.so.%d", major);
        consider(found, folder, name);
    }
    consider(found, folder, "libnvrtc.so.11.2");
    consider(found, folder, "libnvrtc.so");
}

static void probe_under(search *found, const char *folder, const char *below)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, below);
    if (length > 0 && (size_t)length < sizeof path)
        probe(found, path);
}

/* Calls probe for <folder>/<name><below> for each name that starts with prefix. */
static void probe_each(search *found, const char *folder, const char *prefix, const char *below)
{
    DIR *names = opendir(folder);
    if (names == NULL)
        return;
    char path[PATH_MAX];
    for (const struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names)) {
        int length = snprintf(path, sizeof path, "%s%s", entry->d_name, below);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && length > 0 && (size_t)length < sizeof path)
            probe_under(found, folder, path);
    }
    closedir(names);
}

static void probe_toolkit(search *found, const char *folder)
{
    probe_under(found, folder, "lib64");
    probe_under(found, folder, "lib");
    probe_under(found, folder, TARGET);
}

/* A folder that the user named: it may be the library's own, a toolkit's, or what wheels were installed into. */
static void scan_folder(search *found, const char *folder)
{
    DIR *names = opendir(folder);
    if (names == NULL)
        return;
    for (const struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names))
        if (is_library_name(entry->d_name))
            consider(found, folder, entry->d_name);
    closedir(names);
    if (found->rank >= 0)
        return;
    probe_toolkit(found, folder);
    probe_under(found, folder, "lib/" MULTIARCH);
    probe_each(found, folder, "cu", "/lib");
    char wheels[PATH_MAX];
    int length = snprintf(wheels, sizeof wheels, "%s/nvidia", folder);
    if (length > 0 && (size_t)length < sizeof wheels)
        probe_each(found, wheels, "cu", "/lib");
}

static void probe_list(search *found, const char *folders)
{
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        char folder[PATH_MAX];
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, folders, length);
            folder[length] = '\0';
            probe(found, folder);
        }
        folders += length + (folders[length] == ':');
    }
}

static void search_usual_places(search *found)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < 2; i++) {
        const char *toolkit = secure_getenv(variables[i]);
        if (toolkit != NULL && *toolkit != '\0')
            probe_toolkit(found, toolkit);
    }
    if (found->rank >= 0)
        return;
    static const char *const folders[] = {
        "/opt/cuda/lib64",    "/usr/lib/cuda/lib64", "/usr/local/lib", "/usr/local/lib/" MULTIARCH,
        "/lib/" MULTIARCH,    "/usr/lib/" MULTIARCH, "/usr/lib64",     "/usr/lib",
    };
    probe_each(found, "/usr/local", "cuda", "/lib64");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        probe(found, folders[i]);
    probe_list(found, secure_getenv("LD_LIBRARY_PATH"));
#ifdef KILN_NVRTC_FALLBACK_DIR
    if (found->rank < 0)
        scan_folder(found, KILN_NVRTC_FALLBACK_DIR);
#endif
}

bool kiln__nvrtc_locate(const char *path, kiln__nvrtc_identity *out)
{
    memset(out, 0, sizeof *out);
    search found = {.rank = -1};
    if (path == NULL || *path == '\0')
        path = secure_getenv("KILN_NVRTC");
    if (path != NULL && *path != '\0') {
        struct stat status;
        if (is_readable_file(path, &status))
            return identify(path, &status, out);
        scan_folder(&found, path);
    } else {
        search_usual_places(&found);
    }
    if (found.rank < 0)
        return false;
    *out = found.best;
    return true;
}
