/* How the tool speaks on standard error: one sentence for each failure, and remarks unless it shall be quiet.
 * The library's warnings come out here too. */
#include <stdarg.h>
#include <stdio.h>

#include "tool.h"

int tool_usage(const arguments *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "kiln %s: ", args->command->name);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\nTry 'kiln %s --help'.\n", args->command->name);
    va_end(list);
    return TOOL_USAGE;
}

static int failed_code(kiln_status status)
{
    bool missing = status == KILN_E_NO_DRIVER || status == KILN_E_NO_DEVICE || status == KILN_E_NO_NVRTC;
    return missing ? TOOL_MISSING : TOOL_FAILED;
}

/* Whether the sentence begins with a line and column of the program's text. */
static bool tells_place(kiln_status status, const char *message)
{
    bool about_text = status == KILN_E_SYNTAX || status == KILN_E_NAME || status == KILN_E_LIMIT ||
                      status == KILN_E_TYPE || status == KILN_E_AXIS;
    return about_text && *message >= '0' && *message <= '9';
}

int tool_failed(const arguments *args, kiln_status status)
{
    const char *message = kiln_last_error();
    fprintf(stderr, "kiln %s: %s%s\n", args->command->name, tells_place(status, message) ? "program " : "", message);
    return failed_code(status);
}

int tool_failed_at(const arguments *args, kiln_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "kiln %s: ", args->command->name);
    vfprintf(stderr, format, list);
    fprintf(stderr, "%s\n", kiln_last_error());
    va_end(list);
    return failed_code(status);
}

void tool_note(const arguments *args, const char *format, ...)
{
    va_list list;
    if (arguments_has(args, OPTION_QUIET)) return;
    va_start(list, format);
    fprintf(stderr, "kiln %s: ", args->command->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

void tool_log(void *user, kiln_log_level level, const char *message)
{
    const arguments *args = user;
    if (level == KILN_LOG_WARNING) tool_note(args, "warning: %s", message);
    else if (level == KILN_LOG_INFO) fprintf(stderr, "kiln: %s\n", message); /* KILN_LOG asks for it */
    else if (level == KILN_LOG_ERROR) fprintf(stderr, "kiln %s: %s\n", args->command->name, message);
}

kiln_status tool_context_create_pinned(const arguments *args, const char *schedule, kiln_context **out)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = arguments_value(args, OPTION_CACHE_DIR);
    options.nvrtc_path = arguments_value(args, OPTION_NVRTC);
    options.driver_path = arguments_value(args, OPTION_DRIVER);
    options.schedule = schedule;
    if (!schedule) options.log = tool_log;
    options.log_user = (void *)(uintptr_t)args; /* read only in tool_log */
    return kiln_context_create(&options, out);
}

int tool_context_create(const arguments *args, kiln_context **out)
{
    kiln_status status = tool_context_create_pinned(args, NULL, out);
    return status ? tool_failed(args, status) : TOOL_OK;
}
