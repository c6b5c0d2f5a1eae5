/* SPDX-License-Identifier: Apache-2.0 */
/* The commands by name. */
#include <string.h>

#include "base/nearest.h"
#include "tool.h"

const char tool_summary[] = "Turns row programs such as 'y = softmax(x * scale)' into fused CUDA kernels";

const char tool_exit_codes[] = "  0  done\n"
                               "  1  the work failed: a file, the program, the compile, the launch\n"
                               "  2  the command line is wrong\n"
                               "  3  a GPU, the CUDA driver or NVRTC is required and missing\n";

const command *const commands[] = {
    &command_run,          &command_compile,      &command_precompile,
    &command_explain,      &command_bench,        &command_tune,
    &command_grad,         &command_functions,    &command_info,
    &command_cache,        &command_cache_ls,     &command_cache_stat,
    &command_cache_verify, &command_cache_prune,  &command_cache_clear,
    &command_cache_export, &command_cache_import, NULL,
};

const command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

const char *command_nearest(const char *first, const char *word) {
    kiln__nearest nearest = kiln__nearest_begin(word, strlen(word));
    const size_t length = strlen(first);
    for (size_t i = 0; commands[i]; i++) {
        const char *name = commands[i]->name;
        if (strncmp(name, first, length) != 0 || strchr(name + length, ' ')) continue;
        kiln__nearest_consider(&nearest, name + length, strlen(name + length));
    }
    return nearest.name;
}
