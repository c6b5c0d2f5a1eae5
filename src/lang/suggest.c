/* The nearest name to a misspelt one. */
#include <string.h>

#include "lang/parser.h"

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; both at most KILN__MAX_NAME long. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][KILN__MAX_NAME + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b_length; k++) last[k] = (unsigned)k;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_length; k++) {
            unsigned least = last[k - 1] + (a[i - 1] != b[k - 1]);
            if (last[k] + 1 < least) least = last[k] + 1;
            if (row[k - 1] + 1 < least) least = row[k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && before[k - 2] + 1 < least)
                least = before[k - 2] + 1;
            row[k] = least;
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

typedef struct suggestion {
    const char *name; /* NULL while nothing is near */
    size_t length;
    unsigned distance;
} suggestion;

static void consider(const kiln__token *name, const char *other, size_t length, suggestion *nearest) {
    if (length == 0 || other[0] == '_') return;
    unsigned distance = edit_distance(name->text, name->length, other, length);
    if (distance < nearest->distance) *nearest = (suggestion){other, length, distance};
}

void kiln__fail_unknown(kiln__parser *parser, const kiln__token *name) {
    /* A third of the name may be wrong, beyond that the names have little to do with each other. */
    suggestion nearest = {.distance = name->length < 6 ? 2 : 1 + (unsigned)name->length / 3};
    for (kiln__op op = 0; op < KILN__OP_COUNT_OF; op++)
        consider(name, kiln__op_describe(op)->name, strlen(kiln__op_describe(op)->name), &nearest);
    for (kiln_type type = 0; type < KILN_TYPE_COUNT; type++)
        consider(name, kiln_type_name(type), strlen(kiln_type_name(type)), &nearest);
    for (const kiln__function *function = parser->functions; function != NULL; function = function->next)
        consider(name, function->name, function->length, &nearest);
    const char *quote = kiln__parser_quote(parser, name);
    if (nearest.name == NULL)
        KILN__FAIL_AT(&parser->work, name, KILN_E_NAME, "unknown function %s", quote);
    else
        KILN__FAIL_AT(&parser->work, name, KILN_E_NAME, "unknown function %s; did you mean '%.*s'?", quote,
                      (int)nearest.length, nearest.name);
}
