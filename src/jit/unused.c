/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves out of a source what nothing in it uses. A source is taken as a list of items: definitions and declarations at
 * the top level, each up to its ';' or its last '}'. Items that have no name to go by are needed, and so is each item
 * whose name stands in one that is needed; all of a name are alike, so that overloads stay together. */
#include "jit/unused.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "kiln_"
enum { no_name = -1 };

typedef struct item {
    const char *start, *end;
    int name;                  /* a number of a word; no_name: the item stays */
    int first_word, last_word; /* of `words`: those that stand in it, last_word not of them */
    bool needed;
} item;

typedef struct scan {
    const char *at;
    item *items;
    int item_count;
    int *words; /* numbers of the words that begin with PREFIX, as they stand in the source */
    int word_count;
    const char **spelled; /* an open hash table of the words: its places are their numbers */
    unsigned mask;
    bool *named; /* by a word's number: something that is needed names it */
    int braces, parentheses, angles;
    bool is_struct;        /* the item, and not yet past its name */
    const char *last_word; /* of the item's head, outside of parentheses and angles */
} scan;

static size_t word_length(const char *word) {
    size_t length = 0;
    while (isalnum((unsigned char)word[length]) || word[length] == '_') length++;
    return length;
}

static bool is_word(const char *at, const char *word) {
    const size_t length = strlen(word);
    return !strncmp(at, word, length) && word_length(at) == length;
}

/* The word's number. */
static int number_of(scan *s, const char *word) {
    const size_t length = word_length(word);
    unsigned hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    unsigned place = hash & s->mask;
    while (s->spelled[place] && (strncmp(s->spelled[place], word, length) || word_length(s->spelled[place]) != length))
        place = (place + 1) & s->mask;
    s->spelled[place] = word;
    return (int)place;
}

static const char *skip_string(const char *at) {
    const char quote = *at++;
    while (*at && *at != quote) at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

static const char *skip_comment(const char *at) {
    if (at[1] == '/') return at + strcspn(at, "\n");
    const char *end = strstr(at + 2, "*/");
    return end ? end + 2 : at + strlen(at);
}

static const char *directive_end(const char *at) {
    at += strcspn(at, "\n");
    while (*at && at[-1] == '\\') at += 1 + strcspn(at + 1, "\n");
    return at;
}

/* Directives stay, wherever they stand: what they name is needed. */
static void take_directive(scan *s) {
    const char *const end = directive_end(s->at);
    while (s->at < end) {
        const size_t length = word_length(s->at);
        if (length && !strncmp(s->at, PREFIX, sizeof PREFIX - 1)) s->named[number_of(s, s->at)] = true;
        s->at += length ? length : 1;
    }
}

static void begin_item(scan *s) {
    item *i = &s->items[s->item_count];
    *i = (item){s->at, NULL, no_name, s->word_count, s->word_count, false};
    s->parentheses = s->angles = 0;
    s->is_struct = false;
    s->last_word = NULL;
}

static bool can_be_unused(const item *i) {
    static const char *const beginnings[] = {"KILN_DEVICE", "KILN_CALL", "KILN_EXCHANGE", "struct", "template"};
    for (size_t b = 0; b < sizeof beginnings / sizeof beginnings[0]; b++)
        if (is_word(i->start, beginnings[b])) return true;
    return false;
}

/* The last word of the head is the name, of a function before its parenthesis, of a struct before its body. */
static void take_name(scan *s) {
    item *i = &s->items[s->item_count];
    const bool ours = s->last_word && !strncmp(s->last_word, PREFIX, sizeof PREFIX - 1);
    if (i->name == no_name && ours && can_be_unused(i)) i->name = number_of(s, s->last_word);
    s->last_word = NULL;
}

static void end_item(scan *s) {
    item *i = &s->items[s->item_count++];
    i->end = s->at;
    i->last_word = s->word_count;
}

static bool in_head(const scan *s) { return s->braces == 0 && s->parentheses == 0 && s->angles == 0; }

static void take_word(scan *s) {
    if (in_head(s) && !is_word(s->at, "alignas")) s->last_word = s->at;
    if (in_head(s) && is_word(s->at, "struct")) s->is_struct = true;
    if (!strncmp(s->at, PREFIX, sizeof PREFIX - 1)) s->words[s->word_count++] = number_of(s, s->at);
    s->at += word_length(s->at);
}

static void take_mark(scan *s) {
    const char mark = *s->at++;
    if (in_head(s) && strchr(s->is_struct ? "{;<:" : "(", mark)) take_name(s);
    s->parentheses += (mark == '(') - (mark == ')');
    s->braces += (mark == '{') - (mark == '}');
    if (s->braces == 0 && s->parentheses == 0) s->angles += (mark == '<') - (mark == '>');
    if (s->braces == 0 && s->parentheses == 0 && (mark == ';' || mark == '}')) end_item(s);
}

/* Whether the braces and parentheses are those that were expected. */
static bool find_items(scan *s) {
    bool inside = false, line_begins = true;
    while (*s->at && s->braces >= 0 && s->parentheses >= 0) {
        const char c = *s->at;
        const bool comment = c == '/' && (s->at[1] == '/' || s->at[1] == '*');
        if (isspace((unsigned char)c)) {
            line_begins |= c == '\n';
            s->at++;
            continue;
        }
        if (comment) {
            s->at = skip_comment(s->at);
            continue;
        }
        if (c == '#' && line_begins) {
            take_directive(s);
            continue;
        }
        line_begins = false;
        if (!inside) begin_item(s);
        const int before = s->item_count;
        if (c == '"' || c == '\'')
            s->at = skip_string(s->at);
        else if (word_length(s->at))
            take_word(s);
        else
            take_mark(s);
        inside = s->item_count == before;
    }
    return !inside && s->braces == 0;
}

/* A name is mostly defined before it is used, so that few passes do, from the end. */
static void find_needed(scan *s) {
    for (bool more = true; more;) {
        more = false;
        for (int n = s->item_count; n-- > 0;) {
            item *i = &s->items[n];
            if (i->needed || (i->name != no_name && !s->named[i->name])) continue;
            i->needed = more = true;
            for (int w = i->first_word; w < i->last_word; w++) s->named[s->words[w]] = true;
        }
    }
}

/* All but line ends and directives that belong together. */
static void blank(char *from, const char *end) {
    bool line_begins = false;
    for (char *at = from; at < end;) {
        if (line_begins && *at == '#' && !is_word(at + 1, "pragma")) {
            at += directive_end(at) - at;
            continue;
        }
        line_begins = *at == '\n' || (line_begins && isspace((unsigned char)*at));
        if (*at != '\n') *at = ' ';
        at++;
    }
}

char *kiln__without_unused(const char *source) {
    const size_t size = strlen(source);
    size_t ends = 1, places = 1;
    for (const char *at = source; *at; at++) ends += *at == ';' || *at == '}';
    while (places < size / 2) places *= 2; /* words have more letters */
    scan s = {.at = source, .mask = (unsigned)places - 1};
    s.items = calloc(ends, sizeof *s.items);
    s.words = calloc(size / sizeof PREFIX + 1, sizeof *s.words);
    s.spelled = calloc(places, sizeof *s.spelled);
    s.named = calloc(places, sizeof *s.named);
    char *copy = malloc(size + 1);
    const bool whole = s.items && s.words && s.spelled && s.named && copy;
    if (whole) memcpy(copy, source, size + 1);
    if (whole && find_items(&s)) {
        find_needed(&s);
        for (int n = 0; n < s.item_count; n++) {
            const item *i = &s.items[n];
            if (!i->needed) blank(copy + (i->start - source), copy + (i->end - source));
        }
    }
    free(s.items);
    free(s.words);
    free(s.spelled);
    free(s.named);
    if (!whole) free(copy);
    return whole ? copy : NULL;
}
