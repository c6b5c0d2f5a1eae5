/* SPDX-License-Identifier: Apache-2.0 */
/* What is generated from the tables of commands and options: manual pages and completions of shells. */
#ifndef KILN_PAGES_PAGES_H
#define KILN_PAGES_PAGES_H

#include <stdio.h>

#include "tool.h"

/* Manual pages in man(7): of the tool, and of a command. */
void page_of_tool(FILE *to);
void page_of_command(FILE *to, const command *chosen);

void completion_bash(FILE *to);
void completion_zsh(FILE *to);
void completion_fish(FILE *to);

/* What a shell completes an option's value with. */
typedef enum value_kind {
    VALUE_NONE,
    VALUE_OTHER,
    VALUE_CHOICE,
    VALUE_FILE,
    VALUE_NAMED_FILE,
    VALUE_FOLDER
} value_kind;
value_kind value_kind_of(option_id id);

/* The text with a backslash before each of some characters. */
void put_escaped(FILE *to, const char *text, const char *special);

#endif
