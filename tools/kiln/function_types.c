/* SPDX-License-Identifier: Apache-2.0 */
/* What functions give: the library is asked for the type of a call of each, with arguments of a few types. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "function_list.h"

const kiln_type function_types[FUNCTION_TYPES] = {KILN_F32, KILN_I32, KILN_BOOL};

/* Functions whose arguments are no tensors alone. */
static const char *special_call(const char *name) {
    static const char *const calls[][2] = {
        {"index", "where(x == x, index(-1), index(-1))"},
        {"size", "where(x == x, size(-1), size(-1))"},
        {"round_to", "round_to(bf16, x, 0.5)"},
        {"reduce", "reduce((a, b) -> a + b, x, 0)"},
        {"kth", "kth(x, 1)"},
        {"kth_largest", "kth_largest(x, 1)"},
        {"first", "first(x, 2)"},
        {"topk", "topk(x, 2)"},
        {"topk_by", "topk_by(x, x, 2)"},
        {"argtopk", "argtopk(x, 2)"},
        {"quantile", "quantile(x, 0.5)"},
        {"nanquantile", "nanquantile(x, 0.5)"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i][0], name) == 0) return calls[i][1];
    return NULL;
}

/* "result = lerp(a, b, w)": parameters with defaults are left out. NULL without memory. */
static char *call_of(const function_row *row) {
    kiln__text text = {0};
    const char *special = special_call(row->name), *open = strchr(row->signature, '(') + 1;
    kiln__text_puts(&text, "result = ");
    kiln__text_puts(&text, special ? special : row->name);
    if (special) return kiln__text_take(&text);
    size_t length = strcspn(open, "=)");
    if (open[length] == '=') /* from the last comma before it on */
        while (length > 0 && open[length] != ',') length--;
    kiln__text_printf(&text, "(%.*s)", (int)length, open);
    return kiln__text_take(&text);
}

static bool is_integer(const char *name) {
    static const char *const names[] = {"seed", "offset", "label", "i"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* NULL where the function does not take the type. */
static const char *ask(kiln_context *context, const char *text, kiln_type type) {
    const int64_t sizes[] = {4, 8};
    kiln_program *program = NULL;
    kiln_tensor inputs[KILN_MAX_TENSORS];
    kiln_type result = type;
    kiln_status status = kiln_program_create(context, text, NULL, &program);
    for (size_t i = 0; i < kiln_program_input_count(program); i++)
        inputs[i] =
            kiln_tensor_contiguous(NULL, is_integer(kiln_program_input_name(program, i)) ? KILN_I32 : type, 2, sizes);
    if (!status) status = kiln_program_output_type(program, inputs, NULL, 0, &result);
    kiln_program_destroy(program);
    return status ? NULL : kiln_type_name(result);
}

kiln_status function_list_ask_types(function_list *list) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = "";
    kiln_status status = kiln_context_create(&options, &context);
    for (size_t i = 0; i < list->count && !status; i++) {
        char *text = call_of(&list->rows[i]);
        if (!text) status = kiln__out_of_memory();
        for (int type = 0; type < FUNCTION_TYPES && text; type++)
            list->rows[i].results[type] = ask(context, text, function_types[type]);
        free(text);
    }
    kiln_context_destroy(context);
    return status;
}
