/* Pinned schedules: the words of a schedule's own description, read back. */
#include <stdlib.h>
#include <string.h>

#include "plan/schedule.h"

static const struct {
    const char *word;
    bool number;
    int group, residency;
    size_t field; /* where the number, or the choice, goes */
    int choice;
} words[] = {
    {"lanes", true, KILN__GROUP_LANES, -1, offsetof(kiln__pins, threads), 0},
    {"block", true, KILN__GROUP_BLOCK, -1, offsetof(kiln__pins, threads), 0},
    {"grid", false, KILN__GROUP_GRID, -1, 0, 0},
    {"threads", true, -1, -1, offsetof(kiln__pins, threads), 0},
    {"registers", false, -1, KILN__RESIDENCY_REGISTERS, 0, 0},
    {"shared", false, -1, KILN__RESIDENCY_SHARED, 0, 0},
    {"stream", false, -1, KILN__RESIDENCY_STREAM, 0, 0},
    {"tile", false, -1, KILN__RESIDENCY_TILE, 0, 0},
    {"pack", true, -1, -1, offsetof(kiln__pins, pack_size), 0},
    {"steps", true, -1, -1, offsetof(kiln__pins, steps), 0},
    {"batch", true, -1, -1, offsetof(kiln__pins, batch), 0},
    {"splits", true, -1, -1, offsetof(kiln__pins, splits), 0},
    {"rows", true, -1, -1, offsetof(kiln__pins, rows_per_block), 0},
    {"cluster", true, -1, -1, offsetof(kiln__pins, cluster), 0},
    {"online", false, -1, -1, offsetof(kiln__pins, online), 1},
    {"phased", false, -1, -1, offsetof(kiln__pins, online), -1},
    {"persistent", false, -1, -1, offsetof(kiln__pins, persistent), 1},
    {"single", false, -1, -1, offsetof(kiln__pins, persistent), -1},
    {"dependent", false, -1, -1, offsetof(kiln__pins, dependent), 1},
};

static bool pin(const char *text, size_t length, kiln__pins *out) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if (length < size || strncmp(text, words[i].word, size)) continue;
        if (words[i].group >= 0) out->group = words[i].group;
        if (words[i].residency >= 0) out->residency = words[i].residency;
        if (words[i].choice) memcpy((char *)out + words[i].field, &words[i].choice, sizeof(int));
        if (!words[i].number) return length == size;
        char *end;
        long number = strtol(text + size, &end, 10);
        if (end != text + length || number < 1 || number > 4096) return false;
        memcpy((char *)out + words[i].field, &(int){(int)number}, sizeof(int));
        return true;
    }
    return false;
}

kiln_status kiln__pins_parse(const char *text, kiln__pins *out) {
    *out = (kiln__pins){.group = -1, .residency = -1};
    while (text && *text) {
        text += strspn(text, " ,");
        size_t length = strcspn(text, ",");
        while (length && text[length - 1] == ' ') length--;
        if (length && !pin(text, length, out))
            return kiln__fail(
                KILN_E_ARGUMENT,
                "'%.*s' pins nothing of a schedule, expected lanes N, block N, threads N, registers, "
                "shared, stream, tile, pack N, rows N, steps N, batch N, splits N, cluster N, grid, online, "
                "phased, persistent, single or dependent",
                (int)length, text);
        text += length;
    }
    return KILN_OK;
}
