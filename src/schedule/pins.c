/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned schedules: the words of a schedule's own description, read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"

#define FIELD(name) offsetof(kiln__pins, name)

/* A word sets a field to a value, and the number behind it, where it takes one, a field that is not the first. */
static const struct {
    const char *word;
    size_t field;
    int value;
    size_t number; /* 0: none */
} words[] = {
    {"lanes", FIELD(group), KILN__GROUP_LANES, FIELD(threads)},
    {"block", FIELD(group), KILN__GROUP_BLOCK, FIELD(threads)},
    {"grid", FIELD(group), KILN__GROUP_GRID, 0},
    {"cub", FIELD(group), KILN__GROUP_CUB, FIELD(threads)},
    {"threads", FIELD(threads), 0, FIELD(threads)},
    {"registers", FIELD(staging), KILN__STAGING_REGISTERS, 0},
    {"shared", FIELD(staging), KILN__STAGING_SHARED, 0},
    {"stream", FIELD(staging), KILN__STAGING_NONE, 0},
    {"tile", FIELD(staging), KILN__STAGING_TILE, 0},
    {"vector", FIELD(vector_width), 0, FIELD(vector_width)},
    {"steps", FIELD(steps), 0, FIELD(steps)},
    {"batch", FIELD(batch), 0, FIELD(batch)},
    {"splits", FIELD(splits), 0, FIELD(splits)},
    {"rows", FIELD(rows_per_block), 0, FIELD(rows_per_block)},
    {"cluster", FIELD(cluster), 0, FIELD(cluster)},
    {"online", FIELD(online), 1, 0},
    {"phased", FIELD(online), -1, 0},
    {"persistent", FIELD(persistent), 1, 0},
    {"single", FIELD(persistent), -1, 0},
    {"misaligned", FIELD(vectors_begin), KILN__BEGIN_ALIGNED, 0},
    {"wrapped", FIELD(vectors_begin), KILN__BEGIN_WRAPPED, 0},
    {"runs", FIELD(vectors_begin), KILN__BEGIN_WITH_ROWS, 0},
    {"calls", FIELD(inlining), KILN__INLINE_LIGHT, 0},
    {"outlined", FIELD(inlining), KILN__INLINE_OUTLINED, 0},
    {"loops", FIELD(inlining), KILN__INLINE_NOTHING, 0},
};

static bool pin(const char *text, size_t length, kiln__pins *out) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if (length < size || strncmp(text, words[i].word, size)) continue;
        memcpy((char *)out + words[i].field, &words[i].value, sizeof(int));
        if (!words[i].number) return length == size;
        char *end;
        long number = strtol(text + size, &end, 10);
        if (end != text + length || number < 1 || number > 4096) return false;
        memcpy((char *)out + words[i].number, &(int){(int)number}, sizeof(int));
        return true;
    }
    return false;
}

static int field_of(const kiln__pins *pins, size_t field) {
    int value;
    memcpy(&value, (const char *)pins + field, sizeof value);
    return value;
}

bool kiln__pins_has(const kiln__pins *pins, size_t field) {
    return field_of(pins, field) != field_of(&KILN__PINS_NONE, field);
}

bool kiln__pins_agree(const kiln__pins *pins, const kiln__pins *point) {
    static const size_t fields[] = {FIELD(group),          FIELD(staging),    FIELD(threads),
                                    FIELD(rows_per_block), FIELD(splits),     FIELD(cluster),
                                    FIELD(online),         FIELD(persistent), FIELD(vectors_begin)};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const bool same = field_of(pins, fields[i]) == field_of(point, fields[i]);
        if (kiln__pins_has(pins, fields[i]) && !same) return false;
    }
    return true;
}

_Static_assert(sizeof(kiln__pins) % sizeof(int) == 0, "all members of the pins are ints");

kiln__pins kiln__pins_complete(const kiln__pins *pins, const kiln__pins *others) {
    kiln__pins all = *others;
    for (size_t field = 0; field < sizeof all; field += sizeof(int))
        if (kiln__pins_has(pins, field)) memcpy((char *)&all + field, (const char *)pins + field, sizeof(int));
    return all;
}

bool kiln__pins_any(const kiln__pins *pins) {
    const kiln__pins none = KILN__PINS_NONE;
    return memcmp(pins, &none, sizeof none) != 0;
}

kiln_status kiln__pins_parse(const char *text, kiln__pins *out) {
    *out = KILN__PINS_NONE;
    while (text && *text) {
        text += strspn(text, " ,");
        size_t length = strcspn(text, ",");
        while (length && text[length - 1] == ' ') length--;
        if (length && !pin(text, length, out))
            return kiln__fail(
                KILN_E_ARGUMENT,
                "'%.*s' pins nothing of a schedule, expected lanes N, block N, cub N, threads N, registers, "
                "shared, stream, tile, vector N, rows N, steps N, batch N, splits N, cluster N, grid, online, "
                "phased, persistent, single, misaligned, wrapped, runs, calls, outlined or loops, N from 1 to 4096",
                (int)length, text);
        text += length;
    }
    return KILN_OK;
}

/* Whether a word of the table says something of the pins; *number: what stands behind it. */
static bool says(const kiln__pins *pins, size_t word, int *number) {
    const bool counts =
        words[word].number && words[word].number == words[word].field; /* "rows 4" says nothing but its number */
    const bool grouped =
        pins->group == KILN__GROUP_LANES || pins->group == KILN__GROUP_BLOCK || pins->group == KILN__GROUP_CUB;
    if (words[word].number) *number = field_of(pins, words[word].number);
    if (!counts) return field_of(pins, words[word].field) == words[word].value;
    return *number != 0 && !(words[word].field == FIELD(threads) && grouped); /* "block 64" says it, too */
}

void kiln__pins_write(const kiln__pins *pins, char *buffer) {
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int number = 0;
        if (!says(pins, i, &number)) continue;
        used += (size_t)snprintf(buffer + used, KILN__PINS_SIZE - used, words[i].number ? "%s%s %d" : "%s%s",
                                 used ? ", " : "", words[i].word, number);
    }
}
