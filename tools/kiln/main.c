/* SPDX-License-Identifier: Apache-2.0 */
/* The kiln tool: finds the command and runs it. Each command is a file of its own.
 * Exit codes are in tool.h and in the help below. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "colour.h"
#include "tool.h"

static void help(FILE *to) {
    fprintf(to, "usage: kiln COMMAND [OPTIONS]\n\n%s.\n\ncommands:\n", tool_summary);
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i] != &command_cache) fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(to,
            "\nexit codes:\n%s\n"
            "'kiln COMMAND --help' explains a command. 'kiln --version' prints the version.\n",
            tool_exit_codes);
}

static int unknown(const char *given) {
    const colour paint = colour_choose(NULL, TONE_ERROR);
    const char *near = command_nearest("", given);
    char name[256];
    kiln__printable(name, sizeof name, given, false);
    fprintf(stderr, "%skiln:%s there is no command '%s'", paint.on, paint.off, name);
    if (near) fprintf(stderr, "; did you mean '%s'?", near);
    fputs("\nTry 'kiln --help'.\n", stderr);
    return TOOL_USAGE;
}

static int dispatch(const command *chosen, int argc, char **argv) {
    arguments args;
    int code = arguments_parse(chosen, argc, argv, &args);
    if (!code && arguments_has(&args, OPTION_HELP))
        command_help(chosen, stdout);
    else if (!code)
        code = chosen->run(&args);
    arguments_free(&args);
    return code;
}

/* Printed text may still be in a buffer, and writing it may fail: on a full disk, say. */
static int flushed(int code) {
    if ((fflush(stdout) || ferror(stdout)) && code == TOOL_OK) {
        fputs("kiln: standard output cannot be written\n", stderr);
        return TOOL_FAILED;
    }
    return code;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is told of, and the old one left as it was */
    if (argc < 2) {
        const colour paint = colour_choose(NULL, TONE_ERROR);
        fprintf(stderr, "%skiln:%s a command was expected\nTry 'kiln --help'.\n", paint.on, paint.off);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return flushed(TOOL_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("kiln %s\n", kiln_version());
        return flushed(TOOL_OK);
    }
    char two_words[64];
    const command *chosen = NULL;
    int used = 1;
    if (argc > 2) {
        (void)snprintf(two_words, sizeof two_words, "%s %s", argv[1], argv[2]);
        chosen = command_find(two_words);
        if (chosen) used = 2;
    }
    if (!chosen) chosen = strchr(argv[1], ' ') ? NULL : command_find(argv[1]);
    if (!chosen) return unknown(argv[1]);
    return flushed(dispatch(chosen, argc - used, argv + used));
}
