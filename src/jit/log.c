/* SPDX-License-Identifier: Apache-2.0 */
/* ptxas -v writes its information into NVRTC's log, in lines that begin with "ptxas info" or, continuing one,
 * with "ptxas", blanks and a dot. A clean compile's log is empty once they are taken out. */
#include "jit/log.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATIC_SHARED 49152 /* on every architecture */

static bool is_information(const char *line) {
    if (strncmp(line, "ptxas", 5) != 0) return false;
    line += 5 + strspn(line + 5, " ");
    return *line == '.' || strncmp(line, "info", 4) == 0;
}

/* The number that stands before words in the line, -1 if none does; the largest that fits where it is too large. */
static int number_before(const char *line, const char *words) {
    const char *start = strstr(line, words);
    if (start == NULL || start == line || !isdigit((unsigned char)start[-1])) return -1;
    while (start > line && isdigit((unsigned char)start[-1])) start--;
    long long number = strtoll(start, NULL, 10);
    return number > INT_MAX ? INT_MAX : (int)number;
}

static int larger(int a, int b) { return a > b ? a : b; }

void kiln__log_take_facts(char *log, kiln__facts *facts) {
    char *kept = log;
    for (char *line = log, *next; *line != '\0'; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (is_information(line)) {
            line[length] = '\0';
            facts->registers = larger(facts->registers, number_before(line, " registers"));
            facts->spill_bytes = larger(facts->spill_bytes, number_before(line, " bytes spill stores"));
            facts->shared_bytes = larger((int)facts->shared_bytes, number_before(line, " bytes smem"));
        } else {
            memmove(kept, line, (size_t)(next - line));
            kept += next - line;
        }
    }
    *kept = '\0';
}

void kiln__log_first_error(const char *log, const kiln__facts *facts, char *line, size_t capacity) {
    const char *first = NULL;
    for (const char *at = log; *at != '\0'; at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        snprintf(line, capacity, "%.*s", (int)length, at);
        if (strstr(line, "error:") != NULL || strstr(line, "error :") != NULL || strstr(line, "fatal") != NULL) return;
        if (first == NULL && length > 0) first = at;
        at += length;
    }
    if (first != NULL)
        snprintf(line, capacity, "%.*s", (int)strcspn(first, "\n"), first);
    else if (facts->shared_bytes > MOST_STATIC_SHARED)
        snprintf(line, capacity, "a block has %lld bytes of static shared memory, expected at most %d",
                 (long long)facts->shared_bytes, MOST_STATIC_SHARED);
    else
        snprintf(line, capacity, "no message");
}
