/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the manual pages and completions into a folder: kiln_pages FOLDER. Run by the build. */
#include <errno.h>
#include <string.h>

#include "pages.h"

value_kind value_kind_of(option_id id) {
    const char *argument = option_describe(id)->argument;
    if (!argument) return VALUE_NONE;
    if (option_choices(id)) return VALUE_CHOICE;
    if (strcmp(argument, "DIR") == 0) return VALUE_FOLDER;
    if (strncmp(argument, "NAME=FILE", 9) == 0) return VALUE_NAMED_FILE;
    return strcmp(argument, "FILE") == 0 ? VALUE_FILE : VALUE_OTHER;
}

void put_escaped(FILE *to, const char *text, const char *special) {
    for (; *text; text++) {
        if (strchr(special, *text)) fputc('\\', to);
        fputc(*text, to);
    }
}

static FILE *open_in(const char *folder, const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) fprintf(stderr, "kiln_pages: %s: %s\n", path, strerror(errno));
    return file;
}

static int written(FILE *file) { return fclose(file) == 0 ? 0 : 1; }

static int write_file(const char *folder, const char *name, void (*write)(FILE *to)) {
    FILE *file = open_in(folder, name);
    if (!file) return 1;
    write(file);
    return written(file);
}

/* kiln-cache-ls.1, as git and others name the pages of their commands. */
static int write_page(const char *folder, const command *chosen) {
    char name[64];
    (void)snprintf(name, sizeof name, "kiln-%s.1", chosen->name);
    for (char *c = name; *c; c++) {
        if (*c == ' ') *c = '-';
    }
    FILE *file = open_in(folder, name);
    if (!file) return 1;
    page_of_command(file, chosen);
    return written(file);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: kiln_pages FOLDER\n", stderr);
        return 2;
    }
    int failed = write_file(argv[1], "kiln.1", page_of_tool);
    for (size_t i = 0; commands[i]; i++) failed |= write_page(argv[1], commands[i]);
    failed |= write_file(argv[1], "kiln.bash", completion_bash);
    failed |= write_file(argv[1], "_kiln", completion_zsh);
    failed |= write_file(argv[1], "kiln.fish", completion_fish);
    return failed;
}
