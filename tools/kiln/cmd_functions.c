/* SPDX-License-Identifier: Apache-2.0 */
/* kiln functions: what the language can call. */
#include <string.h>

#include "base/nearest.h"
#include "function_list.h"
#include "json_output.h"

/* Without a word all; a function's name shows that one, another word those whose name or meaning has it. */
static bool is_wanted(const function_list *list, const function_row *row, const char *word) {
    if (!word) return true;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->rows[i].name, word) == 0) return strcmp(row->name, word) == 0;
    return strstr(row->name, word) || strstr(row->meaning, word) || strstr(row->group, word);
}

static json_t *types_of(const function_row *row) {
    json_t *types = json_object();
    for (int i = 0; i < FUNCTION_TYPES; i++)
        json_object_set_new(types, kiln_type_name(function_types[i]), json_text(row->results[i]));
    return types;
}

static int report_json(const arguments *args, const function_list *list, const char *word) {
    json_t *functions = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const function_row *row = &list->rows[i];
        if (!is_wanted(list, row, word)) continue;
        json_array_append_new(functions, json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?}", "name", row->name, "signature",
                                                   row->signature, "group", row->group, "meaning", row->meaning,
                                                   "types", types_of(row), "formula", row->formula));
    }
    return json_print(args, json_pack("{s:s, s:o}", "version", kiln_version(), "functions", functions));
}

static void report_row(const function_row *row, bool formula) {
    printf("  %-42s", row->signature);
    for (int i = 0; i < FUNCTION_TYPES; i++) printf(" %-5s", row->results[i] ? row->results[i] : "-");
    printf(" %s\n", row->meaning);
    if (formula && row->formula) printf("%62s = %s\n", "", row->formula);
}

static void report(const function_list *list, const char *word) {
    const char *group = NULL;
    printf("%-44s", "  arguments of type");
    for (int i = 0; i < FUNCTION_TYPES; i++) printf(" %-5s", kiln_type_name(function_types[i]));
    printf(" give\n");
    for (size_t i = 0; i < list->count; i++) {
        const function_row *row = &list->rows[i];
        if (!is_wanted(list, row, word)) continue;
        if (!group || strcmp(group, row->group) != 0) printf("\n%s\n", row->group);
        group = row->group;
        report_row(row, word != NULL);
    }
}

static int tell_nearest(const arguments *args, const function_list *list, const char *word) {
    kiln__nearest nearest = kiln__nearest_begin(word, strlen(word));
    for (size_t i = 0; i < list->count; i++)
        kiln__nearest_consider(&nearest, list->rows[i].name, strlen(list->rows[i].name));
    char advice[96];
    kiln__nearest_tell(&nearest, advice);
    tool_say(args, "no function has '%s' in its name or meaning%s", word, advice);
    return TOOL_FAILED;
}

static int functions_command(const arguments *args) {
    const char *word = args->operand_count ? args->operands[0] : NULL;
    function_list list;
    kiln_status status = function_list_make(&list);
    if (!status) status = function_list_ask_types(&list);
    if (status) {
        function_list_free(&list);
        return tool_failed(args, status);
    }
    size_t wanted = 0;
    for (size_t i = 0; i < list.count; i++) wanted += is_wanted(&list, &list.rows[i], word);
    int code = TOOL_OK;
    if (!wanted)
        code = tell_nearest(args, &list, word);
    else if (arguments_has(args, OPTION_JSON))
        code = report_json(args, &list, word);
    else
        report(&list, word);
    function_list_free(&list);
    return code;
}

static const option_id options[] = {OPTION_JSON, OPTION_QUIET, OPTION_COLOR, OPTION_HELP, OPTION_COUNT};

const command command_functions = {
    .name = "functions",
    .summary = "Lists the functions of the language: name, types, meaning, formula",
    .usage = "[WORD] [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nWithout WORD it lists all. A function's name shows that one, another word those that have it in name,\n"
        "meaning or group; with a word, formulas are shown, too. Types are those of results, by the type of the\n"
        "arguments; '-' where it takes none such. f64 goes as f32, i64 as i32. Names in formulas that begin with\n"
        "'_' are the prelude's own. Reductions, and functions with reductions in them, also take axes = and block =.\n"
        "\nJSON: version, functions (name, signature, group, meaning, types (f32, i32, bool: null where it takes\n"
        "none such), formula). A formula is in the language itself, null for what is an operator of its own.\n"
        "\nexamples:\n"
        "  kiln functions\n"
        "  kiln functions softmax\n"
        "  kiln functions --json\n"
        "\nexit codes: 0 done, 1 no function has the word, 2 the command line is wrong.\n",
    .run = functions_command,
};
