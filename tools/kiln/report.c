/* SPDX-License-Identifier: Apache-2.0 */
/* How the tool speaks on standard error: one sentence for each failure, and remarks unless --quiet is given.
 * The library's warnings come out here too. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"
#include "base/text.h"
#include "colour.h"
#include "tool.h"

/* Whole, however long, on one line. */
static void say(const arguments *args, tone chosen, const char *format, va_list list) {
    const colour paint = colour_choose(args, chosen);
    kiln__text text = {0};
    if (chosen == TONE_WARNING) kiln__text_puts(&text, "warning: ");
    kiln__text_vprintf(&text, format, list);
    char *said = kiln__text_take(&text), *printable = said ? kiln__printable_copy(said, false) : NULL;
    fprintf(stderr, "%skiln %s:%s %s\n", paint.on, args->command->name, paint.off,
            printable ? printable : "the host's memory ran out");
    free(said);
    free(printable);
}

void tool_say(const arguments *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(args, TONE_ERROR, format, list);
    va_end(list);
}

void tool_print(const char *text) {
    char *printable = kiln__printable_copy(text, false);
    fputs(printable ? printable : "?", stdout);
    free(printable);
}

int tool_usage(const arguments *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    say(args, TONE_ERROR, format, list);
    va_end(list);
    fprintf(stderr, "Try 'kiln %s --help'.\n", args->command->name);
    return TOOL_USAGE;
}

static int failed_code(kiln_status status) {
    bool missing = status == KILN_E_NO_DRIVER || status == KILN_E_NO_DEVICE || status == KILN_E_NO_NVRTC;
    return missing ? TOOL_MISSING : TOOL_FAILED;
}

/* Whether the sentence begins with a line and column of the program's text. */
static bool tells_place(kiln_status status, const char *message) {
    bool about_text = status == KILN_E_SYNTAX || status == KILN_E_NAME || status == KILN_E_LIMIT ||
                      status == KILN_E_TYPE || status == KILN_E_AXIS;
    return about_text && *message >= '0' && *message <= '9';
}

int tool_failed(const arguments *args, kiln_status status) {
    const char *message = kiln_last_error();
    tool_say(args, "%s%s", tells_place(status, message) ? "program " : "", message);
    return failed_code(status);
}

int tool_failed_at(const arguments *args, kiln_status status, const char *format, ...) {
    va_list list;
    kiln__text text = {0};
    va_start(list, format);
    kiln__text_vprintf(&text, format, list);
    va_end(list);
    char *before = kiln__text_take(&text);
    tool_say(args, "%s%s", before ? before : "", kiln_last_error());
    free(before);
    return failed_code(status);
}

void tool_note(const arguments *args, const char *format, ...) {
    va_list list;
    if (arguments_has(args, OPTION_QUIET)) return;
    va_start(list, format);
    say(args, TONE_NOTE, format, list);
    va_end(list);
}

static void warn(const arguments *args, const char *format, ...) KILN_PRINTF(2, 3);
static void warn(const arguments *args, const char *format, ...) {
    va_list list;
    if (arguments_has(args, OPTION_QUIET)) return;
    va_start(list, format);
    say(args, TONE_WARNING, format, list);
    va_end(list);
}

/* The library has made it printable; a compiler's log has lines. */
void tool_log(void *user, kiln_log_level level, const char *message) {
    const arguments *args = user;
    const colour paint = colour_choose(args, TONE_ERROR);
    if (level == KILN_LOG_WARNING)
        warn(args, "%s", message);
    else if (level == KILN_LOG_INFO)
        fprintf(stderr, "kiln: %s\n", message); /* KILN_LOG asks for it */
    else if (level == KILN_LOG_ERROR)
        fprintf(stderr, "%skiln %s:%s %s\n", paint.on, args->command->name, paint.off, message);
}

kiln_status tool_context_create_pinned(const arguments *args, const char *schedule, kiln_context **out) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = arguments_value(args, OPTION_CACHE_DIR);
    options.nvrtc_path = arguments_value(args, OPTION_NVRTC);
    options.driver_path = arguments_value(args, OPTION_DRIVER);
    options.schedule = schedule;
    if (!schedule) options.log = tool_log;
    options.log_user = (void *)(uintptr_t)args; /* read only in tool_log */
    return kiln_context_create(&options, out);
}

int tool_context_create(const arguments *args, kiln_context **out) {
    kiln_status status = tool_context_create_pinned(args, NULL, out);
    return status ? tool_failed(args, status) : TOOL_OK;
}
