/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands: the one source of what is parsed, of the help, the manual pages and the completions. */
#include <string.h>

#include "options.h"

static const option_row table[OPTION_COUNT] = {
    [OPTION_IN] = {"--in", 0, "NAME=FILE[:TYPE]",
                   "input from a .npy file; :bf16, :e4m3, :e5m2, :e8m0 or :e2m1 reads integers as that type"},
    [OPTION_OUT] = {"--out", 0, "NAME=FILE[:TYPE]", "output to a .npy file, converted to the type"},
    [OPTION_TENSOR] = {"--tensor", 0, "NAME=TYPE[DIMS]",
                       "input: x=f16[49152,1024]; x=f16[*,1024] leaves the number of rows open, x=f16[*,*] all, "
                       "x=f16[*,1..8192] columns"},
    [OPTION_OUT_TYPE] = {"--out-type", 0, "NAME=TYPE", "type an output is stored in"},
    [OPTION_SCALAR] = {"--scalar", 0, "NAME=VALUE", "scalar: a number with or without point, or VALUE:f64, :i64, :i32"},
    [OPTION_WRT] = {"--wrt", 0, "NAMES",
                    "inputs and scalars to differentiate by, as x,w (default: all floating inputs)"},
    [OPTION_SAVED] = {"--saved", 0, "NAMES", "outputs that the gradient may read instead of computing them again"},
    [OPTION_AXES] = {"--axes", 0, "AXES", "axes that reductions run over: -1 (the default), 1,2 or all"},
    [OPTION_KEEP_DIMS] = {"--keep-dims", 0, NULL, "reduced outputs keep their reduced axes as size 1"},
    [OPTION_DROP_DIMS] = {"--drop-dims", 0, NULL, "reduced outputs drop their reduced axes (the default)"},
    [OPTION_PROGRAM] = {"--program", 0, "FILE", "program text from a file, '-' for standard input"},
    [OPTION_DEVICE] = {"--device", 0, "DEVICE", "auto (the default: the GPU if there is one), cuda or cpu"},
    [OPTION_PRECISION] = {"--precision", 0, "WHAT",
                          "floats on the CPU: double (the default), or program for the program's types"},
    [OPTION_ORDINAL] = {"--device", 0, "N", "number of the CUDA device (default: 0)"},
    [OPTION_TRAFFIC] = {"--traffic", 0, "BYTES",
                        "about how many bytes each case moves where sizes are '*' (default: 256M)"},
    [OPTION_CANDIDATES] = {"--candidates", 0, NULL, "also time the schedules around the chosen one"},
    [OPTION_SCHEDULE] = {"--schedule", 0, "PINS", "also time this schedule: 'block 256, shared'; can be repeated"},
    [OPTION_MOST_CANDIDATES] = {"--candidates", 0, "N", "schedules to time besides the library's own (default: 24)"},
    [OPTION_LISTED_CANDIDATES] = {"--candidates", 0, "N", "also list the N schedules that the model ranks first"},
    [OPTION_SECONDS] = {"--seconds", 0, "S",
                        "to compile for each problem; what is compiled by then is timed (default: 60)"},
    [OPTION_MANIFEST] = {"--manifest", 0, "FILE",
                         "tune each line of a manifest (docs/packs.md), '-' for standard input"},
    [OPTION_RUNS] = {"--runs", 0, "N", "timed launches of each kernel; the median counts (default: 30)"},
    [OPTION_AT_LEAST] = {"--at-least", 0, "RATIO", "fail with exit code 1 if a roof ratio is lower"},
    [OPTION_SEED] = {"--seed", 0, "N", "seed of the random inputs (default: a new one each time)"},
    [OPTION_ARCH] = {"--arch", 0, "ARCH", "architecture: sm_90 or 90 (a cubin), compute_90 (PTX)"},
    [OPTION_OUTPUT] = {"--output", 'o', "FILE", "also write the cubin or PTX to a file"},
    [OPTION_SOURCE] = {"--source", 0, NULL, "print only the generated CUDA C++ source"},
    [OPTION_CACHE_DIR] = {"--cache-dir", 0, "DIR", "disk cache; '' for none (default: $KILN_CACHE_DIR, ~/.cache/kiln)"},
    [OPTION_NVRTC] = {"--nvrtc", 0, "FILE", "NVRTC library to open (default: $KILN_NVRTC, then the usual places)"},
    [OPTION_DRIVER] = {"--driver", 0, "FILE", "CUDA driver library to open (default: $KILN_DRIVER, libcuda.so.1)"},
    [OPTION_JOBS] = {"--jobs", 'j', "N", "worker processes (default: one for each processor)"},
    [OPTION_PACK] = {"--pack", 0, "FILE", "write the kernels to a pack"},
    [OPTION_SHARD] = {"--shard", 0, "I/N", "only the I-th of N shares of the kernels, about equal in size"},
    [OPTION_TIMEOUT] = {"--timeout", 0, "SECONDS", "time limit for each kernel (default: 120)"},
    [OPTION_EXACT] = {"--exact", 0, NULL, "without kernels that serve any shape"},
    [OPTION_KEEP_GOING] = {"--keep-going", 'k', NULL, "go on after a failure"},
    [OPTION_RECOMPILE] = {"--recompile", 0, NULL, "compile each kernel again and compare"},
    [OPTION_MAX_SIZE] = {"--max-size", 0, "SIZE", "keep at most this many bytes, the most recently used: 500M, 2G"},
    [OPTION_OLDER_THAN] = {"--older-than", 0, "AGE",
                           "remove entries last used longer ago than this: 90s, 30m, 12h, 7d, 4w"},
    [OPTION_JSON] = {"--json", 0, NULL, "print JSON"},
    [OPTION_CSV] = {"--csv", 0, NULL, "print comma-separated values"},
    [OPTION_QUIET] = {"--quiet", 'q', NULL, "print only errors"},
    [OPTION_COLOR] = {"--color", 0, "WHEN", "colour of messages: auto (the default: on a terminal), always or never"},
    [OPTION_HELP] = {"--help", 'h', NULL, "print this help"},
};

const option_row *option_describe(option_id id) { return &table[id]; }

const char *option_name(option_id id) { return table[id].name; }

const char *option_choices(option_id id) {
    if (id == OPTION_DEVICE) return "auto cuda cpu";
    if (id == OPTION_PRECISION) return "double program";
    if (id == OPTION_COLOR) return "auto always never";
    return NULL;
}

bool option_is_choice(option_id id, const char *word) {
    const char *choices = option_choices(id);
    while (choices && *choices) {
        size_t length = strcspn(choices, " ");
        if (strlen(word) == length && strncmp(choices, word, length) == 0) return true;
        choices += length + (choices[length] == ' ');
    }
    return false;
}
