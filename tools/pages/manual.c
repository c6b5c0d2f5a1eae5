/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, made of what --help prints. Paragraphs of a command's details that begin with certain words become
 * sections of their own. */
#include <ctype.h>
#include <string.h>

#include "pages.h"

static const struct section {
    const char *begins, *title;
} sections[] = {
    {"commands:\n", "COMMANDS"}, {"JSON: ", "JSON OUTPUT"},       {"example:\n", "EXAMPLES"},
    {"examples:\n", "EXAMPLES"}, {"exit codes: ", "EXIT STATUS"},
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static void put(FILE *to, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            fputs("\\e", to);
        else if (text[i] == '-')
            fputs("\\-", to);
        else
            fputc(text[i], to);
    }
}

/* Lines that begin with two spaces stay lines; the others flow. */
static void put_lines(FILE *to, const char *text, size_t length) {
    const char *end = text + length;
    bool as_is = false;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t size = stop ? (size_t)(stop - text) : (size_t)(end - text);
        bool indented = size > 2 && strncmp(text, "  ", 2) == 0;
        if (indented != as_is) fputs(indented ? ".nf\n" : ".fi\n", to);
        as_is = indented;
        const char *line = indented ? text + 2 : text;
        if (*line == '.' || *line == '\'') fputs("\\&", to); /* no request */
        put(to, line, size - (size_t)(line - text));
        fputc('\n', to);
        text += size + (stop != NULL);
    }
    if (as_is) fputs(".fi\n", to);
}

/* The next paragraph at *at, without the empty line that ends it; 0 at the end. */
static size_t next_paragraph(const char **at) {
    while (**at == '\n') ++*at;
    const char *end = strstr(*at, "\n\n");
    return end ? (size_t)(end - *at) : strlen(*at);
}

static const struct section *section_of(const char *paragraph) {
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (strncmp(paragraph, sections[i].begins, strlen(sections[i].begins)) == 0) return &sections[i];
    }
    return NULL;
}

/* The paragraphs that are part of the description, or those that are sections. */
static void put_details(FILE *to, const char *details, bool as_sections) {
    size_t length;
    for (const char *at = details; (length = next_paragraph(&at)) > 0; at += length) {
        const struct section *section = section_of(at);
        if (!as_sections && !section) {
            fputs(".PP\n", to);
            put_lines(to, at, length);
        } else if (as_sections && section) {
            const size_t skip = strlen(section->begins);
            fprintf(to, ".SH %s\n", section->title);
            put_lines(to, at + skip, length - skip);
        }
    }
}

static void put_title(FILE *to, const char *name, const char *summary) {
    fputs(".\\\" Generated from the tool's tables of commands and options.\n.TH \"", to);
    for (const char *c = name; *c; c++) fputc(toupper((unsigned char)*c), to);
    fprintf(to, "\" 1 \"\" \"Kiln %s\" \"Kiln\"\n.SH NAME\n", kiln_version());
    put(to, name, strlen(name));
    fputs(" \\- ", to);
    fputc(tolower((unsigned char)summary[0]), to);
    put(to, summary + 1, strlen(summary + 1));
    fputs("\n", to);
}

static void put_option(FILE *to, option_id id) {
    const option_row *row = option_describe(id);
    fputs(".TP\n\\fB", to);
    if (row->letter) fprintf(to, "\\-%c\\fR, \\fB", row->letter);
    put(to, row->name, strlen(row->name));
    fputs("\\fR", to);
    if (row->argument) {
        fputs(" \\fI", to);
        put(to, row->argument, strlen(row->argument));
        fputs("\\fR", to);
    }
    fputc('\n', to);
    put_lines(to, row->help, strlen(row->help));
}

static void name_of_page(char name[64], const command *chosen) {
    (void)snprintf(name, 64, "kiln-%s", chosen->name);
    for (char *c = name; *c; c++) {
        if (*c == ' ') *c = '-';
    }
}

void page_of_command(FILE *to, const command *chosen) {
    char name[64];
    name_of_page(name, chosen);
    put_title(to, name, chosen->summary);
    fprintf(to, ".SH SYNOPSIS\n.B kiln %s\n", chosen->name);
    put(to, chosen->usage, strlen(chosen->usage));
    fputs("\n.SH DESCRIPTION\n", to);
    put(to, chosen->summary, strlen(chosen->summary));
    fputs(".\n", to);
    put_details(to, chosen->details, false);
    fputs(".SH OPTIONS\n", to);
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++) put_option(to, *id);
    put_details(to, chosen->details, true);
    fputs(".SH SEE ALSO\n.BR kiln (1)\n", to);
}

void page_of_tool(FILE *to) {
    put_title(to, "kiln", tool_summary);
    fputs(".SH SYNOPSIS\n.B kiln\n.I COMMAND\n[OPTIONS]\n.SH DESCRIPTION\n", to);
    put(to, tool_summary, strlen(tool_summary));
    fputs(".\n.SH COMMANDS\n", to);
    for (size_t i = 0; commands[i]; i++) {
        char name[64];
        name_of_page(name, commands[i]);
        fputs(".TP\n.BR ", to);
        put(to, name, strlen(name));
        fputs(" (1)\n", to);
        put_lines(to, commands[i]->summary, strlen(commands[i]->summary));
    }
    fputs(".SH EXIT STATUS\n", to);
    put_lines(to, tool_exit_codes, strlen(tool_exit_codes));
    fputs(
        ".SH ENVIRONMENT\n"
        "The variables that begin with KILN_ are listed in Kiln's README, and the options' help names those that they\n"
        "replace. NO_COLOR, where it is not empty, keeps colour out of the messages.\n",
        to);
}
