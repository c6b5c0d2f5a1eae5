/* SPDX-License-Identifier: Apache-2.0 */
/* Colour of the messages on standard error. */
#ifndef KILN_TOOL_COLOUR_H
#define KILN_TOOL_COLOUR_H

#include "options.h"

typedef enum tone { TONE_ERROR, TONE_WARNING, TONE_NOTE } tone;

/* What a terminal is told before and after the words that are set apart: empty strings where messages have no colour.
 * --color decides; without it, or with auto, a terminal's messages have colour unless NO_COLOR is set (no-color.org) or
 * TERM is dumb. args may be NULL: no command was found. */
typedef struct colour {
    const char *on, *off;
} colour;
colour colour_choose(const arguments *args, tone chosen);

#endif
