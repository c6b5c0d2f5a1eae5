/* ptxas -v writes its information into NVRTC's log, in lines that begin with "ptxas info" or, continuing one,
 * with "ptxas", blanks and a dot. A clean compile's log is empty once they are taken out. */
#include "jit/log.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

static bool is_information(const char *line)
{
    if (strncmp(line, "ptxas", 5) != 0)
        return false;
    line += 5;
    line += strspn(line, " ");
    return *line == '.' || strncmp(line, "info", 4) == 0;
}

/* The number that stands before words in the line, -1 if it does not stand there. */
static int64_t number_before(const char *line, size_t length, const char *words)
{
    size_t size = strlen(words);
    for (size_t at = 1; at + size <= length; at++) {
        if (memcmp(line + at, words, size) != 0 || !isdigit((unsigned char)line[at - 1]))
            continue;
        size_t start = at;
        while (start > 0 && isdigit((unsigned char)line[start - 1]))
            start--;
        int64_t number = 0;
        for (; start < at; start++)
            number = number > INT_MAX ? number : number * 10 + (line[start] - '0');
        return number > INT_MAX ? INT_MAX : number;
    }
    return -1;
}

static void read_facts(const char *line, size_t length, kiln__log_facts *facts)
{
    int64_t registers = number_before(line, length, " registers");
    int64_t spilled = number_before(line, length, " bytes spill stores");
    int64_t shared = number_before(line, length, " bytes smem");
    if (registers > facts->registers)
        facts->registers = (int)registers;
    if (spilled > facts->spill_bytes)
        facts->spill_bytes = (int)spilled;
    if (shared > facts->shared_bytes)
        facts->shared_bytes = shared;
}

void kiln__log_take_facts(char *log, kiln__log_facts *facts)
{
    *facts = (kiln__log_facts){-1, -1, -1};
    char *kept = log;
    for (const char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        size_t whole = length + (line[length] == '\n');
        if (is_information(line)) {
            read_facts(line, length, facts);
        } else {
            memmove(kept, line, whole);
            kept += whole;
        }
        line += whole;
    }
    *kept = '\0';
    /* ptxas names no shared memory where a kernel has none. */
    if (facts->registers >= 0 && facts->shared_bytes < 0)
        facts->shared_bytes = 0;
}

static bool tells_error(const char *line, size_t length)
{
    static const char *const words[] = {"error:", "error :", "fatal"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *found = strstr(line, words[i]);
        if (found != NULL && (size_t)(found - line) < length)
            return true;
    }
    return false;
}

void kiln__log_first_error(const char *log, char *line, size_t capacity)
{
    const char *chosen = "no message";
    size_t chosen_length = strlen(chosen);
    bool any = false;
    for (const char *at = log; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        bool error = tells_error(at, length);
        if (error || (!any && length > 0)) {
            chosen = at;
            chosen_length = length;
            any = true;
        }
        if (error)
            break;
        at += length + (at[length] == '\n');
    }
    if (chosen_length > capacity - 1)
        chosen_length = capacity - 1;
    memcpy(line, chosen, chosen_length);
    line[chosen_length] = '\0';
}
