/* SPDX-License-Identifier: Apache-2.0 */
/* kiln cache ls, stat and clear: what the disk cache holds, how much, and its removal.
 * Other processes may write to the cache meanwhile. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/folder.h"
#include "cache_files.h"
#include "json_output.h"

/* One entry with strings of its own. */
typedef struct cached {
    char *key, *description, *schedule;
    kiln_cache_entry entry;
} cached;

typedef struct cache_list {
    cached *items;
    size_t count, capacity;
    bool out_of_memory;
    size_t unreadable;
    kiln__disk *disk;
} cache_list;

static int collect(void *user, const kiln_cache_entry *entry) {
    cache_list *list = user;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        cached *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            list->out_of_memory = true;
            return 1;
        }
        list->items = items;
        list->capacity = capacity;
    }
    cached *item = &list->items[list->count++];
    *item = (cached){strdup(entry->key), strdup(entry->description), strdup(entry->schedule), *entry};
    list->out_of_memory = !item->key || !item->description || !item->schedule;
    return list->out_of_memory;
}

/* Last used first; the key decides among equals, so that the order is always the same. */
static int by_use(const void *a, const void *b) {
    const cached *x = a, *y = b;
    if (x->entry.used_unix != y->entry.used_unix) return x->entry.used_unix < y->entry.used_unix ? 1 : -1;
    return strcmp(x->key, y->key);
}

static void list_free(cache_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        free(list->items[i].description);
        free(list->items[i].schedule);
    }
    free(list->items);
    kiln__disk_close(list->disk);
}

static int open_cache(const arguments *args, cache_list *list) {
    *list = (cache_list){0};
    return cache_open(args, &list->disk);
}

static int read_cache(const arguments *args, cache_list *list) {
    int code = open_cache(args, list);
    if (code) return code;
    kiln_status status = kiln__disk_visit(list->disk, collect, list, &list->unreadable);
    if (!status && list->out_of_memory) status = kiln__out_of_memory();
    if (status) return tool_failed(args, status);
    if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, by_use);
    return TOOL_OK;
}

static json_t *json_dir(const cache_list *list) {
    const char *path = kiln__disk_path(list->disk);
    return json_text(*path ? path : NULL);
}

static int ls_json(const arguments *args, const cache_list *list) {
    json_t *entries = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const cached *c = &list->items[i];
        const kiln_cache_entry *e = &c->entry;
        json_array_append_new(
            entries, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "key", c->key, "description",
                               json_text(c->description), "schedule", json_text(c->schedule), "arch",
                               json_arch(e->arch, e->is_ptx), "registers", json_known(e->registers), "spill_bytes",
                               json_known(e->spill_bytes), "entry_bytes", (json_int_t)e->entry_bytes, "image_bytes",
                               (json_int_t)e->image_bytes, "created_unix", (json_int_t)e->created_unix, "used_unix",
                               (json_int_t)e->used_unix, "compile_ms", json_ms(e->compile_ms)));
    }
    return json_print(args, json_pack("{s:o, s:I, s:o}", "dir", json_dir(list), "unreadable",
                                      (json_int_t)list->unreadable, "entries", entries));
}

static void format_time(int64_t unix_seconds, char text[32]) {
    const time_t t = (time_t)unix_seconds;
    struct tm local;
    if (!localtime_r(&t, &local) || strftime(text, 32, "%Y-%m-%d %H:%M", &local) == 0) strcpy(text, "?");
}

/* "12s", "45m", "30h", "9d", "8w": the largest unit of which there are two or more. */
static void format_age(int64_t seconds, char text[32]) {
    static const struct {
        int64_t seconds;
        char name;
    } units[] = {{604800, 'w'}, {86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t i = 0;
    if (seconds < 0) seconds = 0;
    while (units[i].seconds > 1 && seconds < 2 * units[i].seconds) i++;
    (void)snprintf(text, 32, "%" PRId64 "%c", seconds / units[i].seconds, units[i].name);
}

static int ls_command(const arguments *args) {
    cache_list list;
    int code = read_cache(args, &list);
    if (!code && arguments_has(args, OPTION_JSON))
        code = ls_json(args, &list);
    else if (!code) {
        for (size_t i = 0; i < list.count; i++) {
            const cached *c = &list.items[i];
            char used[32], age[32], arch[24];
            format_time(c->entry.used_unix, used);
            format_age((int64_t)time(NULL) - c->entry.created_unix, age);
            (void)snprintf(arch, sizeof arch, "%s_%d", c->entry.is_ptx ? "compute" : "sm", c->entry.arch);
            printf("%.12s  %-10s  %8" PRId64 "  %4s  %s  ", c->key, arch, c->entry.entry_bytes, age, used);
            tool_print(c->description);
            printf("  (");
            tool_print(c->schedule);
            printf(")\n");
        }
    }
    list_free(&list);
    return code;
}

static bool count_record(void *user, int folder, const char *sub, const char *name) {
    (void)folder;
    *(size_t *)user += kiln__folder_kind(sub, name) == KILN__FILE_TUNED;
    return true;
}

static int stat_command(const arguments *args) {
    cache_list list;
    int code = read_cache(args, &list);
    int64_t bytes = 0;
    size_t records = 0;
    double compile_ms = 0;
    if (!code) {
        kiln_status status = kiln__folder_walk(list.disk, count_record, &records);
        if (status) code = tool_failed(args, status);
    }
    for (size_t i = 0; i < list.count; i++) {
        bytes += list.items[i].entry.entry_bytes;
        compile_ms += list.items[i].entry.compile_ms;
    }
    if (!code && arguments_has(args, OPTION_JSON)) {
        code = json_print(args,
                          json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "dir", json_dir(&list), "entries",
                                    (json_int_t)list.count, "records", (json_int_t)records, "bytes", (json_int_t)bytes,
                                    "unreadable", (json_int_t)list.unreadable, "compile_ms", json_ms(compile_ms)));
    } else if (!code) {
        const char *path = kiln__disk_path(list.disk);
        printf("%-10s  ", "dir");
        tool_print(*path ? path : "none");
        printf("\n%-10s  %zu\n%-10s  %zu\n", "entries", list.count, "records", records);
        printf("%-10s  %" PRId64 "\n%-10s  %zu\n%-10s  %.1f ms\n", "bytes", bytes, "unreadable", list.unreadable,
               "compiling", compile_ms);
    }
    list_free(&list);
    return code;
}

static int clear_command(const arguments *args) {
    cache_list list;
    size_t removed = 0;
    int64_t bytes = 0;
    int code = open_cache(args, &list);
    if (!code) {
        kiln_status status = kiln__disk_clear(list.disk, &removed, &bytes);
        if (status) code = tool_failed(args, status);
    }
    if (!code && arguments_has(args, OPTION_JSON)) {
        code = json_print(args, json_pack("{s:o, s:I, s:I}", "dir", json_dir(&list), "removed", (json_int_t)removed,
                                          "bytes", (json_int_t)bytes));
    } else if (!code && !arguments_has(args, OPTION_QUIET)) {
        printf("removed %zu %s, %" PRId64 " bytes\n", removed, removed == 1 ? "entry" : "entries", bytes);
    }
    list_free(&list);
    return code;
}

/* 'kiln cache' without one of its commands. */
static int cache_command(const arguments *args) {
    if (args->operand_count == 0)
        return tool_usage(args, "ls, stat, verify, prune, clear, export or import was expected");
    const char *near = command_nearest("cache ", args->operands[0]);
    if (near) return tool_usage(args, "there is no 'kiln cache %s'; did you mean '%s'?", args->operands[0], near);
    return tool_usage(args,
                      "there is no 'kiln cache %s'; ls, stat, verify, prune, clear, export or import was expected",
                      args->operands[0]);
}

static const option_id options[] = {OPTION_CACHE_DIR, OPTION_JSON, OPTION_QUIET,
                                    OPTION_COLOR,     OPTION_HELP, OPTION_COUNT};

const command command_cache = {
    .name = "cache",
    .summary = "Manages the disk cache",
    .usage = "ls|stat|verify|prune|clear|export|import [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details = "\ncommands:\n"
               "  ls      lists the entries\n"
               "  stat    counts entries and bytes\n"
               "  verify  checks the entries\n"
               "  prune   removes entries by age and size\n"
               "  clear   removes all entries\n"
               "  export  writes the kernels to a pack\n"
               "  import  takes kernels from a pack\n"
               "\n'kiln cache ls --help' and so on explain each.\n",
    .run = cache_command,
};

const command command_cache_ls = {
    .name = "cache ls",
    .summary = "Lists the entries of the disk cache, most recently used first",
    .usage = "[OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details = "\nColumns: the key's first 12 digits, architecture, bytes, age, last use, program with types and "
               "shape, schedule.\n"
               "\nJSON: dir, unreadable (files that are no valid entry), entries (key, description, schedule, arch, "
               "registers,\n"
               "spill_bytes, entry_bytes, image_bytes, created_unix, used_unix, compile_ms).\n"
               "\nexample:\n"
               "  kiln cache ls --json\n"
               "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = ls_command,
};

const command command_cache_stat = {
    .name = "cache stat",
    .summary = "Counts the entries of the disk cache and their bytes",
    .usage = "[OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details = "\n'records' are tuned ones ('kiln tune'), 'bytes' those of the entries alone, 'compiling' is the time "
               "that the\nentries took to compile.\n"
               "\nJSON: dir, entries, records, bytes, unreadable (files that are no valid entry), compile_ms.\n"
               "\nexample:\n"
               "  kiln cache stat --cache-dir /var/cache/kiln\n"
               "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = stat_command,
};

const command command_cache_clear = {
    .name = "cache clear",
    .summary = "Removes every entry of the disk cache",
    .usage = "[OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details = "\nRunning processes keep the kernels they have loaded.\n"
               "\nJSON: dir, removed, bytes.\n"
               "\nexample:\n"
               "  kiln cache clear\n"
               "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = clear_command,
};
