/* SPDX-License-Identifier: Apache-2.0 */
/* kiln cache prune: makes the disk cache smaller, by age and by size. */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "cache_files.h"
#include "json_output.h"

static int read_limits(const arguments *args, int64_t *max_bytes, int64_t *older_than) {
    const char *size = arguments_value(args, OPTION_MAX_SIZE), *age = arguments_value(args, OPTION_OLDER_THAN);
    *max_bytes = *older_than = -1;
    if (!size && !age) return tool_usage(args, "--max-size, --older-than or both were expected");
    if (size && !amount_bytes(size, max_bytes)) {
        return tool_usage(args, "--max-size '%s': bytes were expected, with K, M, G or T if you like", size);
    }
    if (age && !amount_seconds(age, older_than)) {
        return tool_usage(args, "--older-than '%s': a number and s, m, h, d or w was expected", age);
    }
    return TOOL_OK;
}

static int report(const arguments *args, const kiln__pruned *p) {
    if (arguments_has(args, OPTION_JSON)) {
        return json_print(args, json_pack("{s:I, s:I, s:I, s:I}", "removed", (json_int_t)p->removed, "removed_bytes",
                                          (json_int_t)p->removed_bytes, "kept", (json_int_t)p->kept, "kept_bytes",
                                          (json_int_t)p->kept_bytes));
    }
    if (!arguments_has(args, OPTION_QUIET)) {
        printf("removed %zu, %" PRId64 " bytes; kept %zu, %" PRId64 " bytes\n", p->removed, p->removed_bytes, p->kept,
               p->kept_bytes);
    }
    return TOOL_OK;
}

static int prune_command(const arguments *args) {
    int64_t max_bytes, older_than;
    kiln__disk *disk = NULL;
    kiln__pruned pruned = {0};
    int code = read_limits(args, &max_bytes, &older_than);
    if (!code) code = cache_open(args, &disk);
    if (!code) {
        kiln_status status = kiln__disk_prune(disk, max_bytes, older_than, &pruned);
        code = status ? tool_failed(args, status) : report(args, &pruned);
    }
    kiln__disk_close(disk);
    return code;
}

static const option_id options[] = {OPTION_MAX_SIZE, OPTION_OLDER_THAN, OPTION_CACHE_DIR, OPTION_JSON,
                                    OPTION_QUIET,    OPTION_COLOR,      OPTION_HELP,      OPTION_COUNT};

const command command_cache_prune = {
    .name = "cache prune",
    .summary = "Removes entries of the disk cache by age and size",
    .usage = "[--max-size SIZE] [--older-than AGE] [OPTIONS]",
    .options = options,
    .max_operands = 0,
    .details =
        "\nRemoves entries last used longer ago than AGE, then the least recently used, until the rest has at most\n"
        "SIZE bytes. Running processes keep the kernels they have loaded.\n"
        "\nJSON: removed, removed_bytes, kept, kept_bytes.\n"
        "\nexample:\n"
        "  kiln cache prune --older-than 30d --max-size 500M\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = prune_command,
};
