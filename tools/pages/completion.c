/* SPDX-License-Identifier: Apache-2.0 */
/* Completions of bash, zsh and fish. */
#include <string.h>

#include "pages.h"

static const char header[] = "# Completions for kiln, generated from its tables of commands and options.\n";

/* The word after "cache ", NULL for a command of one word. */
static const char *second_word(const command *chosen) {
    const char *space = strchr(chosen->name, ' ');
    return space ? space + 1 : NULL;
}

/* The words of commands: the first ones, or the second ones of kiln cache. */
static void put_words(FILE *to, bool second) {
    const char *space = "";
    for (size_t i = 0; commands[i]; i++) {
        const char *word = second_word(commands[i]);
        if ((word != NULL) != second) continue;
        fprintf(to, "%s%s", space, second ? word : commands[i]->name);
        space = " ";
    }
}

/* ---- bash ---- */

static void bash_options(FILE *to, const command *chosen) {
    fprintf(to, "        '%s') options='", chosen->name);
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++)
        fprintf(to, "%s%s", id == chosen->options ? "" : " ", option_name(*id));
    fputs("' ;;\n", to);
}

/* A branch for each option with a value, by the command's name, a colon and the option's. */
static void bash_values(FILE *to, const command *chosen) {
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++) {
        const option_row *row = option_describe(*id);
        if (!row->argument) continue;
        fprintf(to, "        '%s:%s'", chosen->name, row->name);
        if (row->letter) fprintf(to, " | '%s:-%c'", chosen->name, row->letter);
        switch (value_kind_of(*id)) {
        case VALUE_CHOICE: fprintf(to, ") words='%s' ;;\n", option_choices(*id)); break;
        case VALUE_FILE:
        case VALUE_NAMED_FILE: fputs(") kind=-f ;;\n", to); break;
        case VALUE_FOLDER: fputs(") kind=-d ;;\n", to); break;
        case VALUE_NONE:
        case VALUE_OTHER: fputs(") return ;;\n", to); break;
        }
    }
}

void completion_bash(FILE *to) {
    fputs(header, to);
    fputs("_kiln() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} options='' words='' kind=''\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          to);
    put_words(to, false);
    fputs(" --help --version' -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    if [ \"$command\" = cache ]; then\n"
          "        if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
          "            mapfile -t COMPREPLY < <(compgen -W '",
          to);
    put_words(to, true);
    fputs(" --help' -- \"$current\")\n"
          "            return\n"
          "        fi\n"
          "        command=\"cache ${COMP_WORDS[2]}\"\n"
          "    fi\n"
          "    # bash parts words at '=': --color = never, and --in x = a.npy.\n"
          "    local at=$COMP_CWORD\n"
          "    [ \"$current\" != = ] || { current=; at=$((at + 1)); }\n"
          "    if [ \"${COMP_WORDS[at - 1]}\" = = ]; then\n"
          "        before=${COMP_WORDS[at - 2]}\n"
          "        [[ $before == -* ]] || before=${COMP_WORDS[at - 3]}\n"
          "    fi\n"
          "    case $command:$before in\n",
          to);
    for (size_t i = 0; commands[i]; i++) bash_values(to, commands[i]);
    fputs("    esac\n"
          "    if [ -n \"$kind\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen \"$kind\" -- \"$current\")\n"
          "        return\n"
          "    fi\n"
          "    case $command in\n",
          to);
    for (size_t i = 0; commands[i]; i++) bash_options(to, commands[i]);
    fputs("    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "    elif [[ $current == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
          "    fi\n"
          "}\n"
          "complete -o bashdefault -o default -F _kiln kiln\n",
          to);
}

/* ---- zsh ---- */

/* Inside of quotes; what _arguments and _describe take for themselves is escaped. */
static void zsh_text(FILE *to, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

/* An option's specification for _arguments, once for its name and once for its letter. */
static void zsh_option(FILE *to, option_id id, bool letter) {
    const option_row *row = option_describe(id);
    fputs(" \\\n                '*", to);
    if (letter)
        fprintf(to, "-%c%s[", row->letter, row->argument ? "+" : "");
    else
        fprintf(to, "%s%s[", row->name, row->argument ? "=" : "");
    zsh_text(to, row->help);
    fputc(']', to);
    if (row->argument) {
        fputc(':', to);
        put_escaped(to, row->argument, ":\\");
        fputc(':', to);
    }
    switch (value_kind_of(id)) {
    case VALUE_CHOICE: fprintf(to, "(%s)", option_choices(id)); break;
    case VALUE_FILE: fputs("_files", to); break;
    case VALUE_NAMED_FILE: fputs("_kiln_named_file", to); break;
    case VALUE_FOLDER: fputs("_files -/", to); break;
    case VALUE_NONE:
    case VALUE_OTHER: break;
    }
    fputc('\'', to);
}

static void zsh_command(FILE *to, const command *chosen) {
    fprintf(to, "        '%s')\n            _arguments -s", chosen->name);
    for (const option_id *id = chosen->options; *id != OPTION_COUNT; id++) {
        zsh_option(to, *id, false);
        if (option_describe(*id)->letter) zsh_option(to, *id, true);
    }
    fputs(" \\\n                '*:operand:_files' ;;\n", to);
}

static void zsh_words(FILE *to, bool second) {
    for (size_t i = 0; commands[i]; i++) {
        const char *word = second_word(commands[i]);
        if ((word != NULL) != second) continue;
        fprintf(to, "        '%s:", second ? word : commands[i]->name);
        zsh_text(to, commands[i]->summary);
        fputs("'\n", to);
    }
}

void completion_zsh(FILE *to) {
    fprintf(to, "#compdef kiln\n%s", header);
    fputs("_kiln_named_file() {\n"
          "    compset -P '*=' && _files\n"
          "}\n"
          "_kiln() {\n"
          "    local command=$words[2]\n"
          "    local -a commands cache_commands\n"
          "    commands=(\n",
          to);
    for (int second = 0; second < 2; second++) {
        zsh_words(to, second != 0);
        fputs(second ? "    )\n" : "    )\n    cache_commands=(\n", to);
    }
    fputs("    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    if [[ $command == cache ]]; then\n"
          "        if (( CURRENT == 2 )); then\n"
          "            _describe command cache_commands\n"
          "            return\n"
          "        fi\n"
          "        command=\"cache $words[2]\"\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "    fi\n"
          "    case $command in\n",
          to);
    for (size_t i = 0; commands[i]; i++) zsh_command(to, commands[i]);
    fputs("    esac\n"
          "}\n"
          "_kiln \"$@\"\n",
          to);
}

/* ---- fish ---- */

static void fish_condition(FILE *to, const command *chosen) {
    const char *second = second_word(chosen);
    if (second)
        fprintf(to, "complete -c kiln -n '__fish_seen_subcommand_from cache; and __fish_seen_subcommand_from %s'",
                second);
    else
        fprintf(to, "complete -c kiln -n '__fish_seen_subcommand_from %s'", chosen->name);
}

static void fish_text(FILE *to, const char *text) {
    fputs(" -d '", to);
    put_escaped(to, text, "'\\");
    fputs("'\n", to);
}

static void fish_option(FILE *to, const command *chosen, option_id id) {
    const option_row *row = option_describe(id);
    fish_condition(to, chosen);
    fprintf(to, " -l %s", row->name + 2);
    if (row->letter) fprintf(to, " -s %c", row->letter);
    switch (value_kind_of(id)) {
    case VALUE_CHOICE: fprintf(to, " -x -a '%s'", option_choices(id)); break;
    case VALUE_FILE:
    case VALUE_NAMED_FILE: fputs(" -r -F", to); break;
    case VALUE_FOLDER: fputs(" -x -a '(__fish_complete_directories)'", to); break;
    case VALUE_OTHER: fputs(" -x", to); break;
    case VALUE_NONE: break;
    }
    fish_text(to, row->help);
}

void completion_fish(FILE *to) {
    fputs(header, to);
    for (size_t i = 0; commands[i]; i++) {
        const char *second = second_word(commands[i]);
        if (second) {
            fputs("complete -c kiln -f -n '__fish_seen_subcommand_from cache; and not __fish_seen_subcommand_from ",
                  to);
            put_words(to, true);
            fprintf(to, "' -a %s", second);
        } else {
            fprintf(to, "complete -c kiln -f -n __fish_use_subcommand -a %s", commands[i]->name);
        }
        fish_text(to, commands[i]->summary);
    }
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i] == &command_cache) continue; /* its own commands have the same options */
        for (const option_id *id = commands[i]->options; *id != OPTION_COUNT; id++) fish_option(to, commands[i], *id);
    }
}
