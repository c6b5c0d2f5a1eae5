/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions of the caller's own, which programs of a context may call. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/checksum.h"
#include "runtime/context.h"

static bool is_word(const char *name) {
    bool word = isalpha((unsigned char)name[0]);
    for (const char *c = name; *c; c++) word = word && (isalnum((unsigned char)*c) || *c == '_');
    return word && strlen(name) <= KILN__MAX_NAME;
}

/* Those that C++ keeps for itself, and what kernels' macros and names begin with. */
static bool is_of_cxx(const char *name) {
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
        "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
        "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
        "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch "
        "template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
        "wchar_t while xor xor_eq ";
    char word[KILN__MAX_NAME + 3];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(words, word) || !strncmp(name, "kiln_", 5) || !strncmp(name, "KILN_", 5);
}

/* A word that nothing has: gradients are written with the library's functions, and must mean those. */
static kiln_status check_name(const char *name) {
    char call[2 * KILN__MAX_NAME];
    kiln__graph *graph = NULL;
    if (!is_word(name))
        return kiln__fail(KILN_E_NAME,
                          "'%.80s' cannot name a device function: expected a letter, then letters, digits and '_', %d "
                          "bytes at most",
                          name, KILN__MAX_NAME);
    if (is_of_cxx(name))
        return kiln__fail(KILN_E_NAME, "'%s' cannot name a device function: it is a word of C++ or Kiln's", name);
    snprintf(call, sizeof call, "y = %s(x)", name);
    const kiln_status status = kiln__graph_parse(call, &graph);
    kiln__graph_destroy(graph);
    if (status == KILN_E_MEMORY) return status;
    if (status != KILN_E_NAME) /* what nobody knows is an unknown name */
        return kiln__fail(KILN_E_NAME, "'%s' cannot name a device function: the language has it", name);
    kiln__clear_error();
    return KILN_OK;
}

static kiln_status check(const kiln_device_function *function) {
    if (!function->name || !function->source)
        return kiln__fail(KILN_E_ARGUMENT, "kiln_device_function.%s is NULL", function->name ? "source" : "name");
    if (function->argument_count < 1 || function->argument_count > KILN__MAX_OWN_ARGUMENTS)
        return kiln__fail(KILN_E_ARGUMENT, "kiln_device_function.argument_count is %zu, expected 1 to %d",
                          function->argument_count, KILN__MAX_OWN_ARGUMENTS);
    if (strlen(function->source) > KILN__MAX_TEXT)
        return kiln__fail(KILN_E_LIMIT, "the source of '%.80s' has %zu bytes, at most %d are allowed", function->name,
                          strlen(function->source), KILN__MAX_TEXT);
    if (strstr(function->source, "#include"))
        return kiln__fail(KILN_E_ARGUMENT, "the source of '%.80s' includes a file, expected definitions alone",
                          function->name);
    return check_name(function->name);
}

/* With its name and its source behind it. */
static kiln__own_function *copy(const kiln_device_function *given) {
    const size_t name = strlen(given->name) + 1, source = strlen(given->source) + 1;
    kiln__own_function *function = malloc(sizeof *function + name + source);
    if (!function) return NULL;
    char *strings = memcpy(function + 1, given->name, name);
    memcpy(strings + name, given->source, source);
    *function = (kiln__own_function){.name = strings,
                                     .source = strings + name,
                                     .argument_count = (uint32_t)given->argument_count,
                                     .host = given->host,
                                     .user = given->user};
    uint8_t checksum[KILN__CHECKSUM_SIZE];
    kiln__checksum(strings, name + source, checksum);
    memcpy(&function->checksum, checksum, sizeof function->checksum);
    return function;
}

kiln_status kiln_context_add_function(kiln_context *context, const kiln_device_function *given) {
    kiln_device_function function = KILN_DEVICE_FUNCTION_INIT;
    kiln__clear_error();
    if (!context || !given) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "function" : "context");
    kiln_status status =
        kiln__check_struct_size("kiln_device_function", given->struct_size, 2 * sizeof(size_t), sizeof function);
    if (status) return status;
    memcpy(&function, given, given->struct_size);
    status = check(&function);
    if (status) return status;
    kiln__own_function *own = copy(&function);
    if (!own) return kiln__out_of_memory();
    kiln__context_enter(context);
    pthread_mutex_lock(&context->lock);
    own->next = atomic_load(&context->own_functions);
    const bool there = kiln__own_find(own->next, own->name, strlen(own->name)) != NULL;
    if (!there) atomic_store_explicit(&context->own_functions, own, memory_order_release);
    pthread_mutex_unlock(&context->lock);
    if (there) free(own);
    return there ? kiln__fail(KILN_E_NAME, "the context has a device function '%s' already", function.name) : KILN_OK;
}

void kiln__own_functions_free(kiln_context *context) {
    const kiln__own_function *own = atomic_load(&context->own_functions);
    while (own) {
        const kiln__own_function *next = own->next;
        free((kiln__own_function *)own); /* made by us, and not const */
        own = next;
    }
}
