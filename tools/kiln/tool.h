/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the kiln tool share: exit codes, the table of commands, and how a failure is told. */
#ifndef KILN_TOOL_TOOL_H
#define KILN_TOOL_TOOL_H

#include "base/status.h"
#include "options.h"

/* Exit codes; part of the tool's interface. */
enum {
    TOOL_OK = 0,
    TOOL_FAILED = 1, /* the work failed */
    TOOL_USAGE = 2,  /* the command line is wrong */
    TOOL_MISSING = 3 /* a GPU, the driver or NVRTC is required and not there */
};

struct command {
    const char *name;         /* "run", "cache ls" */
    const char *summary;      /* one line for the list of commands */
    const char *usage;        /* what follows the name on the usage line */
    const option_id *options; /* ended by OPTION_COUNT */
    size_t max_operands;
    const char *details; /* the rest of its help: rules, JSON, examples */
    int (*run)(const arguments *args);
};

extern const command command_run, command_compile, command_precompile, command_explain, command_bench, command_info;
extern const command command_cache, command_cache_ls, command_cache_stat, command_cache_verify, command_cache_prune;
extern const command command_cache_clear, command_cache_export, command_cache_import, command_tune, command_functions;
extern const command command_grad;

extern const char tool_summary[], tool_exit_codes[]; /* lines of its help */
extern const command *const commands[];              /* ended by NULL */
const command *command_find(const char *name);
/* The misspelt word as it was meant, after some first words ("", "cache "); NULL if nothing is near. */
const char *command_nearest(const char *first, const char *word);

/* Print one sentence on standard error, "kiln run: ...", and return the exit code. tool_usage adds where to find help;
 * tool_failed prints kiln_last_error(), tool_failed_at some words before it. */
int tool_usage(const arguments *args, const char *format, ...) KILN_PRINTF(2, 3);
int tool_failed(const arguments *args, kiln_status status);
int tool_failed_at(const arguments *args, kiln_status status, const char *format, ...) KILN_PRINTF(3, 4);
/* The sentence alone. */
void tool_say(const arguments *args, const char *format, ...) KILN_PRINTF(2, 3);
/* Text of others on standard output, on one line: what a terminal would obey is spelled. */
void tool_print(const char *text);
/* A remark on standard error, none with --quiet. */
void tool_note(const arguments *args, const char *format, ...) KILN_PRINTF(2, 3);

/* A kiln_log_callback: warnings and errors on standard error. user: the arguments. */
void tool_log(void *user, kiln_log_level level, const char *message);

/* A context with the options --cache-dir, --nvrtc and --driver, whose warnings go to standard error. */
int tool_context_create(const arguments *args, kiln_context **out);
/* The same with a pinned schedule (kiln_context_options.schedule), silent where that is no schedule. */
kiln_status tool_context_create_pinned(const arguments *args, const char *schedule, kiln_context **out);

#endif
