/* SPDX-License-Identifier: Apache-2.0 */
/* getopt_long over the options that a command takes. Messages are the tool's own. */
#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "base/nearest.h"
#include "base/text.h"
#include "tool.h"

#define LETTERLESS 256 /* getopt's values of options without a letter start here */

static option_id option_of(int result) {
    if (result >= LETTERLESS) return (option_id)(result - LETTERLESS);
    option_id id = 0;
    while (option_describe(id)->letter != result) id++;
    return id;
}

/* What is given, up to its '=', is no option of the command: it is short for several, or misspelt. */
static int complain_of_name(const arguments *args, const char *given, int length) {
    kiln__nearest nearest = kiln__nearest_begin(given + 2, (size_t)length - 2);
    kiln__text several = {0};
    for (const option_id *id = args->command->options; *id != OPTION_COUNT; id++) {
        const char *name = option_name(*id);
        kiln__nearest_consider(&nearest, name + 2, strlen(name + 2));
        if (strncmp(name, given, (size_t)length) == 0)
            kiln__text_printf(&several, "%s%s", several.size ? ", " : "", name);
    }
    char *names = several.size ? kiln__text_take(&several) : NULL;
    int code;
    if (names)
        code = tool_usage(args, "option '%.*s' is short for several: %s", length, given, names);
    else if (nearest.name)
        code = tool_usage(args, "there is no option '%.*s'; did you mean '--%s'?", length, given, nearest.name);
    else
        code = tool_usage(args, "there is no option '%.*s'", length, given);
    kiln__text_free(&several);
    free(names);
    return code;
}

static int complain(const arguments *args, int result, char **argv) {
    const char *last = argv[optind > 1 ? optind - 1 : 1];
    const int name_length = (int)strcspn(last, "=");
    if (result == ':') return tool_usage(args, "option '%s' needs a value", last);
    if (strncmp(last, "--", 2) != 0 && optopt > 0 && optopt < LETTERLESS) {
        return tool_usage(args, "there is no option '-%c'", optopt);
    }
    if (optopt != 0) return tool_usage(args, "option '%.*s' takes no value", name_length, last);
    return complain_of_name(args, last, name_length);
}

static int check_color(const arguments *args) {
    const char *when = arguments_value(args, OPTION_COLOR);
    if (!when || option_is_choice(OPTION_COLOR, when)) return TOOL_OK;
    return tool_usage(args, "--color %s: auto, always or never was expected", when);
}

int arguments_parse(const command *chosen, int argc, char **argv, arguments *out) {
    struct option longs[OPTION_COUNT + 1] = {{0}};
    char letters[2 * OPTION_COUNT + 2] = ":";
    size_t count = 0, letter_count = 1;
    int result;
    *out = (arguments){.command = chosen};
    out->given = calloc((size_t)argc, sizeof *out->given);
    out->operands = calloc((size_t)argc, sizeof *out->operands);
    if (!out->given || !out->operands) return tool_failed(out, kiln__out_of_memory());
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++) {
        const option_row *row = option_describe(*id);
        longs[count++] = (struct option){row->name + 2, row->argument ? required_argument : no_argument, NULL,
                                         LETTERLESS + (int)*id};
        if (!row->letter) continue;
        letters[letter_count++] = row->letter;
        if (row->argument) letters[letter_count++] = ':';
    }
    opterr = 0;
    optind = 0; /* glibc: start anew */
    while ((result = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (result == '?' || result == ':') return complain(out, result, argv);
        out->given[out->given_count++] = (given_option){option_of(result), optarg};
    }
    for (; optind < argc; optind++) out->operands[out->operand_count++] = argv[optind];
    int code = check_color(out);
    if (code) return code;
    if (out->operand_count > chosen->max_operands && !arguments_has(out, OPTION_HELP)) {
        return tool_usage(out, "'%s' is one argument too many", out->operands[chosen->max_operands]);
    }
    return TOOL_OK;
}

void arguments_free(arguments *args) {
    free(args->given);
    free(args->operands);
}

const char *arguments_value(const arguments *args, option_id id) {
    for (size_t i = args->given_count; i-- > 0;) {
        if (args->given[i].id == id) return args->given[i].value;
    }
    return NULL;
}

int arguments_number(const arguments *args, option_id id, int64_t low, int64_t high, int64_t *out) {
    const char *text = arguments_value(args, id);
    if (!text || (amount_number(text, out) && *out >= low && *out <= high)) return TOOL_OK;
    return tool_usage(args, "%s %s: a number from %" PRId64 " to %" PRId64 " was expected", option_name(id), text, low,
                      high);
}

int arguments_bytes(const arguments *args, option_id id, int64_t *out) {
    const char *text = arguments_value(args, id);
    if (!text || (amount_bytes(text, out) && *out > 0)) return TOOL_OK;
    return tool_usage(args, "%s %s: bytes were expected, with K, M, G or T if you like", option_name(id), text);
}

bool arguments_has(const arguments *args, option_id id) {
    for (size_t i = 0; i < args->given_count; i++) {
        if (args->given[i].id == id) return true;
    }
    return false;
}

static bool name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The length of the assignment that starts here: a comma ends it where another NAME= follows, so that file names and
 * shapes may hold commas. */
static size_t assignment_length(const char *text) {
    size_t i = 0;
    for (; text[i]; i++) {
        if (text[i] != ',') continue;
        size_t after = i + 1;
        while (name_character(text[after])) after++;
        if (after > i + 1 && text[after] == '=') break;
    }
    return i;
}

static int add_assignment(const arguments *args, option_id id, const char *text, size_t length, assignment_list *out) {
    size_t name_length = 0;
    while (name_length < length && name_character(text[name_length])) name_length++;
    if (name_length == 0 || name_length == length || text[name_length] != '=' || name_length + 1 == length) {
        return tool_usage(args, "%s '%.*s': %s was expected", option_name(id), (int)length, text,
                          option_describe(id)->argument);
    }
    assignment *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (!items) return tool_failed(args, kiln__out_of_memory());
    out->items = items;
    assignment *item = &items[out->count];
    item->name = strndup(text, name_length);
    item->value = strndup(text + name_length + 1, length - name_length - 1);
    if (!item->name || !item->value) {
        free(item->name);
        free(item->value);
        return tool_failed(args, kiln__out_of_memory());
    }
    bool twice = assignments_find(out, item->name) != NULL;
    out->count++;
    return twice ? tool_usage(args, "%s gives '%s' twice", option_name(id), item->name) : TOOL_OK;
}

int assignments_parse(const arguments *args, option_id id, assignment_list *out) {
    *out = (assignment_list){NULL, 0};
    for (size_t i = 0; i < args->given_count; i++) {
        if (args->given[i].id != id) continue;
        const char *text = args->given[i].value;
        do {
            size_t length = assignment_length(text);
            int code = add_assignment(args, id, text, length, out);
            if (code) return code;
            text += length;
        } while (*text++ == ',');
    }
    return TOOL_OK;
}

void assignments_free(assignment_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].value);
    }
    free(list->items);
}

const assignment *assignments_find(const assignment_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    }
    return NULL;
}

void command_help(const command *chosen, FILE *to) {
    fprintf(to, "usage: kiln %s%s%s\n\n%s.\n\noptions:\n", chosen->name, *chosen->usage ? " " : "", chosen->usage,
            chosen->summary);
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++) {
        const option_row *row = option_describe(*id);
        char left[64];
        int width = row->letter ? snprintf(left, sizeof left, "-%c, %s", row->letter, row->name)
                                : snprintf(left, sizeof left, "%s", row->name);
        if (row->argument) (void)snprintf(left + width, sizeof left - (size_t)width, " %s", row->argument);
        fprintf(to, "  %-25s %s\n", left, row->help);
    }
    fputs(chosen->details, to);
}
