/* Why an entry was missed: what of the key differs from the nearest entry that is there. Reads the whole cache; only
 * where the log was asked for it. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/entry.h"
#include "cache/folder.h"

typedef enum part { PART_SOURCE, PART_ARCH, PART_KIND, PART_NVRTC, PART_OPTIONS, PART_COUNT } part;

typedef struct search {
    kiln__disk *disk;
    kiln__key_view wanted;
    const char *description;
    kiln__found nearest;
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
static int score_of(const search *all, const kiln__found *found, const kiln__key_view *key) {
    bool same[PART_COUNT], described = strcmp(found->entry.description, all->description) == 0;
    compare(&all->wanted, key, same);
    if (!same[PART_SOURCE] && !described) return -1;
    int score = 16 * same[PART_SOURCE] + 8 * described;
    for (int i = PART_ARCH; i < PART_COUNT; i++) score += same[i];
    return score;
}

static bool consider(void *user, int folder, const char *sub, const char *name) {
    search *all = user;
    struct stat status;
    kiln__found found;
    kiln__key_view key;
    if (kiln__folder_kind(sub, name) != KILN__FILE_ENTRY) return true;
    int fd = kiln__folder_open_file(all->disk, folder, name, &status);
    if (fd < 0) return true;
    bool read = kiln__entry_read(fd, &status, &found) == KILN__READ;
    close(fd);
    if (!read) return true;
    all->entries++;
    int score = kiln__key_decode(found.material, found.material_size, &key) ? score_of(all, &found, &key) : -1;
    if (score > all->score) {
        kiln__found_free(&all->nearest);
        all->nearest = found;
        all->score = score;
        memcpy(all->hex, name, 32);
    } else
        kiln__found_free(&found);
    return true;
}

/* The first line in which two sources differ. */
static void tell_source(kiln__text *text, const kiln__key_view *is, const kiln__key_view *wanted) {
    const char *a = is->source, *b = wanted->source;
    size_t size = is->source_size < wanted->source_size ? is->source_size : wanted->source_size, at = 0, line = 0;
    int number = 1;
    for (; at < size && a[at] == b[at]; at++)
        if (a[at] == '\n') line = at + 1, number++;
    const char *a_end = memchr(a + line, '\n', is->source_size - line);
    const char *b_end = memchr(b + line, '\n', wanted->source_size - line);
    kiln__text_printf(text, "source text (line %d: \"%.*s\", asked for \"%.*s\")", number,
                      (int)(a_end ? a_end - a - (long)line : (long)(is->source_size - line)), a + line,
                      (int)(b_end ? b_end - b - (long)line : (long)(wanted->source_size - line)), b + line);
}

static void tell_options(kiln__text *text, const kiln__key_view *key) {
    const uint8_t *at = key->options;
    for (uint32_t i = 0; i < key->option_count; i++) {
        size_t size = 0;
        const char *option = kiln__key_next_option(key, &at, &size);
        kiln__text_printf(text, "%s%.*s", i ? " " : "", (int)size, option);
    }
}

static void tell_part(kiln__text *text, part which, const kiln__key_view *is, const kiln__key_view *wanted) {
    switch (which) {
    case PART_SOURCE: tell_source(text, is, wanted); return;
    case PART_ARCH: kiln__text_printf(text, "architecture (sm_%d, asked for sm_%d)", is->arch, wanted->arch); return;
    case PART_KIND:
        kiln__text_printf(text, "kind (%s, asked for %s)", is->ptx ? "PTX" : "cubin", wanted->ptx ? "PTX" : "cubin");
        return;
    case PART_NVRTC:
        kiln__text_printf(text, "NVRTC (%d.%d build %.*s, asked for %d.%d build %.*s)", is->nvrtc_major,
                          is->nvrtc_minor, (int)is->build_size, is->build, wanted->nvrtc_major, wanted->nvrtc_minor,
                          (int)wanted->build_size, wanted->build);
        return;
    case PART_OPTIONS:
        kiln__text_puts(text, "options (");
        tell_options(text, is);
        kiln__text_puts(text, ", asked for ");
        tell_options(text, wanted);
        kiln__text_puts(text, ")");
        return;
    case PART_COUNT: return;
    }
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
        kiln__text_printf(&text, "the nearest, %.12s (%s), differs in ", all.hex, all.nearest.entry.schedule);
        for (int i = 0; i < PART_COUNT; i++) {
            if (same[i]) continue;
            if (!first) kiln__text_puts(&text, "; ");
            tell_part(&text, (part)i, &nearest, &all.wanted);
            first = false;
        }
        if (first) kiln__text_puts(&text, "nothing: it has appeared meanwhile, or its file is not trusted");
    }
    kiln__found_free(&all.nearest);
    return kiln__text_take(&text);
}
