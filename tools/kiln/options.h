/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands in one table, parsed by getopt_long, and their help. */
#ifndef KILN_TOOL_OPTIONS_H
#define KILN_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct command command;

typedef enum option_id {
    OPTION_IN,
    OPTION_OUT,
    OPTION_TENSOR,
    OPTION_OUT_TYPE,
    OPTION_SCALAR,
    OPTION_WRT,
    OPTION_SAVED,
    OPTION_AXES,
    OPTION_KEEP_DIMS,
    OPTION_DROP_DIMS,
    OPTION_PROGRAM,
    OPTION_DEVICE,
    OPTION_PRECISION,
    OPTION_ORDINAL,
    OPTION_TRAFFIC,
    OPTION_CANDIDATES,
    OPTION_SCHEDULE,
    OPTION_MOST_CANDIDATES,
    OPTION_LISTED_CANDIDATES,
    OPTION_SECONDS,
    OPTION_MANIFEST,
    OPTION_RUNS,
    OPTION_AT_LEAST,
    OPTION_SEED,
    OPTION_ARCH,
    OPTION_OUTPUT,
    OPTION_SOURCE,
    OPTION_CACHE_DIR,
    OPTION_NVRTC,
    OPTION_DRIVER,
    OPTION_JOBS,
    OPTION_PACK,
    OPTION_SHARD,
    OPTION_TIMEOUT,
    OPTION_KEEP_GOING,
    OPTION_EXACT,
    OPTION_RECOMPILE,
    OPTION_MAX_SIZE,
    OPTION_OLDER_THAN,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_QUIET,
    OPTION_COLOR,
    OPTION_HELP,
    OPTION_COUNT
} option_id;

typedef struct given_option {
    option_id id;
    const char *value;
} given_option;

/* A parsed command line. Strings are argv's. */
typedef struct arguments {
    const command *command;
    given_option *given;
    size_t given_count;
    const char **operands;
    size_t operand_count;
} arguments;

/* argv[0] is the command's name. Returns an exit code; after TOOL_OK and TOOL_USAGE alike, free *out. */
int arguments_parse(const command *chosen, int argc, char **argv, arguments *out);
void arguments_free(arguments *args);

bool arguments_has(const arguments *args, option_id id);
/* The last value given, NULL if there is none. */
const char *arguments_value(const arguments *args, option_id id);

/* A whole number from low to high, with units of bytes where the option takes bytes; what is not given leaves *out as
 * it is. Return an exit code. */
int arguments_number(const arguments *args, option_id id, int64_t low, int64_t high, int64_t *out);
int arguments_bytes(const arguments *args, option_id id, int64_t *out); /* from 1 on */

/* All NAME=VALUE given to an option, whether repeated or separated by commas, in order. */
typedef struct assignment {
    char *name, *value;
} assignment;
typedef struct assignment_list {
    assignment *items;
    size_t count;
} assignment_list;

/* Returns an exit code. A name without '=' or given twice is a usage error; *out is freed in any case. */
int assignments_parse(const arguments *args, option_id id, assignment_list *out);
void assignments_free(assignment_list *list);
const assignment *assignments_find(const assignment_list *list, const char *name);

typedef struct option_row {
    const char *name;     /* "--in" */
    char letter;          /* 0: none */
    const char *argument; /* "NAME=FILE[:TYPE]"; NULL: a flag */
    const char *help;
} option_row;

const option_row *option_describe(option_id id);
const char *option_name(option_id id);
/* The words that an option takes, with a space between them; NULL where it takes others. */
const char *option_choices(option_id id);
bool option_is_choice(option_id id, const char *word);

/* Usage line, options, details. */
void command_help(const command *chosen, FILE *to);

#endif
