/* SPDX-License-Identifier: Apache-2.0 */
/* The option table, and getopt_long over the part of it that a command takes. Messages are the tool's own. */
#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "tool.h"

#define LETTERLESS 256 /* getopt's values of options without a letter start here */

static const struct option_row {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a flag */
    const char *help;
} table[OPTION_COUNT] = {
    [OPTION_IN] = {"--in", 0, "NAME=FILE[:TYPE]",
                   "input from a .npy file; :bf16, :e4m3 or :e5m2 reads integers as that type"},
    [OPTION_OUT] = {"--out", 0, "NAME=FILE[:TYPE]", "output to a .npy file, converted to the type"},
    [OPTION_TENSOR] = {"--tensor", 0, "NAME=TYPE[DIMS]",
                       "input: x=f16[49152,1024]; x=f16[*,1024] leaves the number of rows open"},
    [OPTION_OUT_TYPE] = {"--out-type", 0, "NAME=TYPE", "type an output is stored in"},
    [OPTION_SCALAR] = {"--scalar", 0, "NAME=VALUE", "scalar: a number with or without point, or VALUE:f64, :i64, :i32"},
    [OPTION_AXES] = {"--axes", 0, "AXES", "axes that reductions run over: -1 (the default), 1,2 or all"},
    [OPTION_KEEP_DIMS] = {"--keep-dims", 0, NULL, "reduced outputs keep their reduced axes as size 1"},
    [OPTION_DROP_DIMS] = {"--drop-dims", 0, NULL, "reduced outputs drop their reduced axes (the default)"},
    [OPTION_PROGRAM] = {"--program", 0, "FILE", "program text from a file, '-' for standard input"},
    [OPTION_DEVICE] = {"--device", 0, "DEVICE", "auto (the default: the GPU if there is one), cuda or cpu"},
    [OPTION_PRECISION] = {"--precision", 0, "WHAT",
                          "floats on the CPU: double (the default), or program for the program's types"},
    [OPTION_ORDINAL] = {"--device", 0, "N", "number of the CUDA device (default: 0)"},
    [OPTION_TRAFFIC] = {"--traffic", 0, "BYTES",
                        "about how many bytes each case moves where sizes are '*' (default: 256M)"},
    [OPTION_CANDIDATES] = {"--candidates", 0, NULL, "also time the schedules around the chosen one"},
    [OPTION_SCHEDULE] = {"--schedule", 0, "PINS", "also time this schedule: 'block 256, shared'; can be repeated"},
    [OPTION_MOST_CANDIDATES] = {"--candidates", 0, "N", "schedules to time besides the library's own (default: 24)"},
    [OPTION_SECONDS] = {"--seconds", 0, "S",
                        "to compile for each problem; what is compiled by then is timed (default: 60)"},
    [OPTION_MANIFEST] = {"--manifest", 0, "FILE",
                         "tune each line of a manifest (docs/packs.md), '-' for standard input"},
    [OPTION_RUNS] = {"--runs", 0, "N", "timed launches of each kernel; the median counts (default: 30)"},
    [OPTION_AT_LEAST] = {"--at-least", 0, "RATIO", "fail with exit code 1 if a roof ratio is lower"},
    [OPTION_SEED] = {"--seed", 0, "N", "seed of the random inputs (default: a new one each time)"},
    [OPTION_ARCH] = {"--arch", 0, "ARCH", "architecture: sm_90 or 90 (a cubin), compute_90 (PTX)"},
    [OPTION_OUTPUT] = {"--output", 'o', "FILE", "also write the cubin or PTX to a file"},
    [OPTION_SOURCE] = {"--source", 0, NULL, "print only the generated CUDA C++ source"},
    [OPTION_CACHE_DIR] = {"--cache-dir", 0, "DIR", "disk cache; '' for none (default: $KILN_CACHE_DIR, ~/.cache/kiln)"},
    [OPTION_NVRTC] = {"--nvrtc", 0, "FILE", "NVRTC library to open (default: $KILN_NVRTC, then the usual places)"},
    [OPTION_DRIVER] = {"--driver", 0, "FILE", "CUDA driver library to open (default: $KILN_DRIVER, libcuda.so.1)"},
    [OPTION_JOBS] = {"--jobs", 'j', "N", "worker processes (default: one for each processor)"},
    [OPTION_PACK] = {"--pack", 0, "FILE", "write the kernels to a pack"},
    [OPTION_SHARD] = {"--shard", 0, "I/N", "only the I-th of N shares of the kernels, about equal in size"},
    [OPTION_TIMEOUT] = {"--timeout", 0, "SECONDS", "time limit for each kernel (default: 120)"},
    [OPTION_KEEP_GOING] = {"--keep-going", 'k', NULL, "go on after a failure"},
    [OPTION_RECOMPILE] = {"--recompile", 0, NULL, "compile each kernel again and compare"},
    [OPTION_MAX_SIZE] = {"--max-size", 0, "SIZE", "keep at most this many bytes, the most recently used: 500M, 2G"},
    [OPTION_OLDER_THAN] = {"--older-than", 0, "AGE",
                           "remove entries last used longer ago than this: 90s, 30m, 12h, 7d, 4w"},
    [OPTION_JSON] = {"--json", 0, NULL, "print JSON"},
    [OPTION_CSV] = {"--csv", 0, NULL, "print comma-separated values"},
    [OPTION_QUIET] = {"--quiet", 'q', NULL, "print only errors"},
    [OPTION_HELP] = {"--help", 'h', NULL, "print this help"},
};

const char *option_name(option_id id) { return table[id].name; }

static option_id option_of(int result) {
    if (result >= LETTERLESS) return (option_id)(result - LETTERLESS);
    int i = 0;
    while (table[i].letter != result) i++;
    return (option_id)i;
}

static int complain(const arguments *args, int result, char **argv) {
    const char *last = argv[optind > 1 ? optind - 1 : 1];
    const size_t name_length = strcspn(last, "=");
    if (result == ':') return tool_usage(args, "option '%s' needs a value", last);
    if (strncmp(last, "--", 2) != 0 && optopt > 0 && optopt < LETTERLESS) {
        return tool_usage(args, "there is no option '-%c'", optopt);
    }
    if (optopt != 0) return tool_usage(args, "option '%.*s' takes no value", (int)name_length, last);
    return tool_usage(args, "there is no option '%.*s', or it is short for several", (int)name_length, last);
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
        const struct option_row *row = &table[*id];
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
        return tool_usage(args, "%s '%.*s': %s was expected", option_name(id), (int)length, text, table[id].argument);
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
        const struct option_row *row = &table[*id];
        char left[64];
        int width = row->letter ? snprintf(left, sizeof left, "-%c, %s", row->letter, row->name)
                                : snprintf(left, sizeof left, "%s", row->name);
        if (row->argument) (void)snprintf(left + width, sizeof left - (size_t)width, " %s", row->argument);
        fprintf(to, "  %-25s %s\n", left, row->help);
    }
    fputs(chosen->details, to);
}
