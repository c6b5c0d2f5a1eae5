/* SPDX-License-Identifier: Apache-2.0 */
/* When messages have colour, and which. */
#include "colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool terminal_has_colour(void) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (refused && *refused) return false;
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

static bool wanted(const arguments *args) {
    const char *given = args ? arguments_value(args, OPTION_COLOR) : NULL;
    if (given && strcmp(given, "always") == 0) return true;
    if (given && strcmp(given, "never") == 0) return false;
    return terminal_has_colour();
}

colour colour_choose(const arguments *args, tone chosen) {
    static const char *const codes[] = {
        [TONE_ERROR] = "\033[1;31m", [TONE_WARNING] = "\033[1;33m", [TONE_NOTE] = "\033[1m"};
    return wanted(args) ? (colour){codes[chosen], "\033[0m"} : (colour){"", ""};
}
