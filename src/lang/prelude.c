/* The prelude's functions, parsed when they are first called: a program pays for those it uses alone. */
#include <string.h>

#include "lang/parser.h"

extern const char kiln__source_prelude_kiln[]; /* kernel_sources/prelude.kiln, embedded by the build */

void kiln__prelude_index(kiln__parser *parser) {
    uint32_t capacity = 0, line = 1;
    for (const char *at = kiln__source_prelude_kiln; at != NULL; line++) {
        if (strncmp(at, "fn ", 3) == 0) {
            kiln__prelude_entry *entries =
                kiln__grow(&parser->scratch, parser->prelude, parser->prelude_count, &capacity, sizeof *entries);
            if (entries == NULL) {
                kiln__parser_out_of_memory(parser);
                return;
            }
            parser->prelude = entries;
            entries[parser->prelude_count++] = (kiln__prelude_entry){
                .name = at + 3, .length = strcspn(at + 3, "( \n"), .line_start = at, .line = line};
        }
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
}

kiln__prelude_entry *kiln__prelude_find(const kiln__parser *parser, const kiln__token *name) {
    for (uint32_t i = 0; i < parser->prelude_count; i++) {
        const kiln__prelude_entry *entry = &parser->prelude[i];
        if (entry->length == name->length && memcmp(entry->name, name->text, name->length) == 0)
            return &parser->prelude[i];
    }
    return NULL;
}

const kiln__function *kiln__prelude_load(kiln__parser *parser, kiln__prelude_entry *entry) {
    /* A function that calls itself finds itself begun, and so unknown. */
    if (entry->begun || parser->status != KILN_OK) return NULL;
    entry->begun = true;
    const kiln__parser outer = *parser;
    parser->in_prelude = true;
    parser->depth = 0;
    parser->lexer =
        (kiln__lexer){.at = entry->name, .line_start = entry->line_start, .line = entry->line, .file = "prelude "};
    kiln__parser_advance(parser);
    kiln__parse_function(parser);
    kiln__parser_expect_end(parser);
    parser->in_prelude = outer.in_prelude;
    parser->depth = outer.depth;
    parser->copies = outer.copies;
    parser->lexer = outer.lexer;
    if (parser->status != KILN_OK) return NULL;
    parser->token = outer.token;
    return &parser->functions[parser->function_count - 1];
}
