/* SPDX-License-Identifier: Apache-2.0 */
/* Why an entry was missed: what of the key differs from the nearest entry that is there. Reads the whole cache; only
 * where the log was asked for it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"
#include "cache/entry.h"

typedef enum part { PART_SOURCE, PART_ARCH, PART_KIND, PART_NVRTC, PART_OPTIONS, PART_COUNT } part;

typedef struct search {
    kiln__disk *disk;
    kiln__key_view wanted;
    const char *description;
    kiln__entry nearest;
    char hex[33];
    int score; /* of the nearest, -1 while there is none */
    size_t entries;
} search;

static bool same_bytes(const void *a, size_t a_size, const void *b, size_t b_size) {
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

static void compare(const kiln__key_view *a, const kiln__key_view *b, bool same[PART_COUNT]) {
    same[PART_SOURCE] = same_bytes(a->source, a->source_size, b->source, b->source_size);
    same[PART_ARCH] = a->arch == b->arch;
    same[PART_KIND] = a->ptx == b->ptx;
    same[PART_NVRTC] = a->nvrtc_major == b->nvrtc_major && a->nvrtc_minor == b->nvrtc_minor &&
                       same_bytes(a->build, a->build_size, b->build, b->build_size);
    same[PART_OPTIONS] = same_bytes(a->options, a->options_size, b->options, b->options_size);
}

/* Entries of another source and another program are no neighbours. */
static int score_of(const search *all, const kiln__entry *found, const kiln__key_view *key) {
    bool same[PART_COUNT], described = strcmp(found->description, all->description) == 0;
    compare(&all->wanted, key, same);
    if (!same[PART_SOURCE] && !described) return -1;
    int score = 16 * same[PART_SOURCE] + 8 * described;
    for (int i = PART_ARCH; i < PART_COUNT; i++) score += same[i];
    return score;
}

static bool consider(void *user, int folder, const char *sub, const char *name) {
    search *all = user;
    struct stat status;
    kiln__entry found;
    kiln__key_view key;
    if (kiln__folder_kind(sub, name) != KILN__FILE_ENTRY ||
        kiln__entry_read(all->disk, folder, name, &status, &found) != KILN__READ)
        return true;
    all->entries++;
    int score = kiln__key_decode(found.material, found.material_size, &key) ? score_of(all, &found, &key) : -1;
    if (score > all->score) {
        kiln__entry_free(&all->nearest);
        all->nearest = found;
        all->score = score;
        memcpy(all->hex, name, 32);
    } else
        kiln__entry_free(&found);
    return true;
}

/* Of a source the line that begins at byte `line`. */
static void tell_value(kiln__text *text, part which, const kiln__key_view *key, size_t line) {
    const uint8_t *at = key->options;
    const char *start = key->source + line, *end = memchr(start, '\n', key->source_size - line);
    if (end == NULL) end = key->source + key->source_size;
    if (which == PART_SOURCE) kiln__text_printf(text, "\"%.*s\"", (int)(end - start), start);
    if (which == PART_ARCH) kiln__text_printf(text, "sm_%d", key->arch);
    if (which == PART_KIND) kiln__text_puts(text, key->ptx ? "PTX" : "cubin");
    if (which == PART_NVRTC)
        kiln__text_printf(text, "%d.%d build %.*s", key->nvrtc_major, key->nvrtc_minor, (int)key->build_size,
                          key->build);
    for (uint32_t i = 0; which == PART_OPTIONS && i < key->option_count; i++) {
        size_t size = 0;
        const char *option = kiln__key_next_option(key, &at, &size);
        kiln__text_printf(text, "%s%.*s", i ? " " : "", (int)size, option);
    }
}

/* Of sources the first line in which they differ. */
static void tell_part(kiln__text *text, part which, const kiln__key_view *is, const kiln__key_view *wanted) {
    static const char *const names[PART_COUNT] = {"source text", "architecture", "kind", "NVRTC", "options"};
    size_t size = is->source_size < wanted->source_size ? is->source_size : wanted->source_size, line = 0;
    int number = 1;
    for (size_t at = 0; at < size && is->source[at] == wanted->source[at]; at++)
        if (is->source[at] == '\n') line = at + 1, number++;
    kiln__text_printf(text, "%s (", names[which]);
    if (which == PART_SOURCE) kiln__text_printf(text, "line %d: ", number);
    tell_value(text, which, is, line);
    kiln__text_puts(text, ", asked for ");
    tell_value(text, which, wanted, line);
    kiln__text_puts(text, ")");
}

char *kiln__disk_explain(kiln__disk *disk, const kiln__key *key, const char *description) {
    search all = {.disk = disk, .description = description, .score = -1};
    kiln__text text = {0};
    if (!kiln__key_decode(key->material, key->size, &all.wanted)) return NULL;
    kiln__folder_walk(disk, consider, &all);
    kiln__text_printf(&text, "cache: no entry %.12s in '%s' for %s: ", key->hex, disk->path, description);
    if (all.score < 0) {
        kiln__text_printf(&text, "none of its %zu entries is of this program, types and shape", all.entries);
    } else {
        kiln__key_view nearest;
        bool same[PART_COUNT], first = true;
        kiln__key_decode(all.nearest.material, all.nearest.material_size, &nearest);
        compare(&nearest, &all.wanted, same);
        kiln__text_printf(&text, "the nearest, %.12s (%s), differs in ", all.hex, all.nearest.schedule);
        for (int i = 0; i < PART_COUNT; i++) {
            if (same[i]) continue;
            if (!first) kiln__text_puts(&text, "; ");
            tell_part(&text, (part)i, &nearest, &all.wanted);
            first = false;
        }
        if (first) kiln__text_puts(&text, "nothing: it has appeared meanwhile, or its file is not trusted");
    }
    kiln__entry_free(&all.nearest);
    char *told = kiln__text_take(&text), *printable = told != NULL ? kiln__printable_copy(told, false) : NULL;
    free(told);
    return printable;
}
