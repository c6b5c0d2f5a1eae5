/* SPDX-License-Identifier: Apache-2.0 */
/* Every program, shape and type that Kiln promises, on the GPU against the CPU reference.
 * Exits with 77 where there is no GPU. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu_cases.h"
#include "gpu_device.h"
#include "gpu_workers.h"

typedef struct arguments {
    gpu_filter filter;
    gpu_run_options options;
    int sample; /* programs of each kind of schedule; 0: all */
    bool list;
} arguments;

static const char usage[] =
    "usage: gpu_suite [options]\n"
    "  --program NAME   only this program        --cols N     only so many columns\n"
    "  --rows N         only so many rows        --type NAME  only this type\n"
    "  --variant NAME   usual, in-place (the output is the first input) or shifted (one element off alignment)\n"
    "  --seed N         of the inputs; without it one is drawn and printed\n"
    "  --sample[=N]     small cases of N programs (3) for each kind of schedule, for tools that make a GPU slow\n"
    "  --list           prints the cases and runs none\n"
    "  --jobs N         worker processes; without it one per CPU, 16 at most\n"
    "  --threads N      threads of each worker for the CPU reference; without it the CPUs divided by the jobs\n"
    "  --driver PATH    driver library to open, --nvrtc PATH NVRTC library (as KILN_DRIVER and KILN_NVRTC say)\n"
    "  --orders N       a software GPU runs each case in so many orders of its threads (1)\n";

/* ---- the sample ------------------------------------------------------------------------------------------- */

#define SAMPLE_ROWS 5
#define PROGRAMS_PER_KIND 3
#define PROGRAM_LIMIT 12
#define KIND_LIMIT 96

typedef struct kind {
    char text[80];
    const gpu_program *programs[PROGRAM_LIMIT];
    int count;
} kind;

static bool schedule_kind(kiln_context *context, const gpu_group *group, int arch, char *out, size_t size) {
    kiln_tensor tensors[GPU_INPUT_LIMIT + 1];
    size_t count = gpu_case_tensors(group, SAMPLE_ROWS, group->type, tensors);
    if (group->variant == GPU_SHIFTED)
        for (size_t i = 0; i < count; i++) /* read for its alignment alone */
            tensors[i].data = (void *)(uintptr_t)(4096 + kiln_type_size(group->type));
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    bool good = kiln_program_create(context, group->program->text, NULL, &program) == KILN_OK &&
                kiln_compile(program, tensors, count, NULL, 0, arch, 0, 0, &kernel) == KILN_OK &&
                kiln_kernel_get_info(kernel, &info) == KILN_OK;
    if (good) gpu_schedule_kind(info.schedule, out, size);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    return good;
}

/* Whether this kind of schedule has not been sampled often enough, nor with this program. */
static bool is_wanted(kind *kinds, int limit, const char *text, const gpu_program *program) {
    for (size_t i = 0; i < KIND_LIMIT; i++) {
        if (!kinds[i].count) snprintf(kinds[i].text, sizeof kinds[i].text, "%s", text);
        if (strcmp(kinds[i].text, text)) continue;
        for (int p = 0; p < kinds[i].count; p++)
            if (kinds[i].programs[p] == program) return false;
        if (kinds[i].count == limit) return false;
        kinds[i].programs[kinds[i].count++] = program;
        return true;
    }
    return false;
}

/* A fixed disorder, so that each kind meets different programs and types. */
static uint32_t disorder(size_t i) {
    uint32_t x = (uint32_t)i * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    return x ^ (x >> 13);
}

typedef struct ranked {
    int64_t cols;
    uint32_t order;
    size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *left = a, *right = b;
    if (left->cols != right->cols) return left->cols < right->cols ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Keeps, of each kind of schedule, the smallest cases of a few programs. False with the reason printed. */
static bool keep_sample(gpu_group *groups, size_t *count, int limit, int arch) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    kiln_context *context = NULL;
    bool good = false;
    size_t kept = 0;
    kind *kinds = calloc(KIND_LIMIT, sizeof *kinds);
    ranked *order = calloc(*count, sizeof *order);
    gpu_group *sample = calloc(*count, sizeof *sample);
    if (!kinds || !order || !sample || kiln_context_create(&options, &context) != KILN_OK) goto cleanup;
    for (size_t i = 0; i < *count; i++) order[i] = (ranked){groups[i].cols, disorder(i), i};
    qsort(order, *count, sizeof *order, compare_ranked);
    for (size_t i = 0; i < *count; i++) {
        gpu_group group = groups[order[i].index];
        char text[80];
        if (!schedule_kind(context, &group, arch, text, sizeof text)) {
            fprintf(stderr, "no plan for %s: %s\n", group.program->text, kiln_last_error());
            goto cleanup;
        }
        if (!is_wanted(kinds, limit, text, group.program)) continue;
        group.rows[0] = SAMPLE_ROWS;
        group.rows_count = 1;
        sample[kept++] = group;
    }
    memcpy(groups, sample, kept * sizeof *groups);
    *count = kept;
    good = true;
cleanup:
    kiln_context_destroy(context);
    free(sample);
    free(order);
    free(kinds);
    return good;
}

/* ---- the command line ------------------------------------------------------------------------------------- */

static bool parse_number(const char *text, int64_t *out) {
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return end != text && !*end && value >= 0;
}

static bool parse_count(const char *text, int limit, int *out) {
    int64_t number = 0;
    bool good = parse_number(text, &number) && number > 0 && number <= limit;
    if (good) *out = (int)number;
    return good;
}

static bool parse_type(const char *name, int *out) {
    for (*out = 0; *out < KILN_TYPE_COUNT; ++*out)
        if (!strcmp(kiln_type_name((kiln_type)*out), name)) return true;
    return false;
}

static bool parse_variant(const char *name, int *out) {
    for (*out = GPU_USUAL; *out <= GPU_SHIFTED; ++*out)
        if (!strcmp(gpu_variant_name((gpu_variant)*out), name)) return true;
    return false;
}

static bool parse(int argc, char **argv, arguments *out) {
    static const struct option longs[] = {
        {"program", required_argument, NULL, 'p'}, {"cols", required_argument, NULL, 'c'},
        {"rows", required_argument, NULL, 'r'},    {"type", required_argument, NULL, 't'},
        {"variant", required_argument, NULL, 'v'}, {"seed", required_argument, NULL, 's'},
        {"sample", optional_argument, NULL, 'S'},  {"list", no_argument, NULL, 'l'},
        {"jobs", required_argument, NULL, 'j'},    {"threads", required_argument, NULL, 'T'},
        {"driver", required_argument, NULL, 'd'},  {"nvrtc", required_argument, NULL, 'n'},
        {"orders", required_argument, NULL, 'o'},  {NULL, 0, NULL, 0},
    };
    int64_t number = 0;
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        bool good = true;
        switch (option) {
        case 'p': out->filter.program = optarg; break;
        case 'c': good = parse_number(optarg, &out->filter.cols); break;
        case 'r': good = parse_number(optarg, &out->filter.rows); break;
        case 't': good = parse_type(optarg, &out->filter.type); break;
        case 'v': good = parse_variant(optarg, &out->filter.variant); break;
        case 's':
            good = parse_number(optarg, &number);
            out->options.seed = (uint64_t)number;
            break;
        case 'j': good = parse_count(optarg, 128, &out->options.jobs); break;
        case 'T': good = parse_count(optarg, 64, &out->options.threads); break;
        case 'o': good = parse_count(optarg, 1000, &out->options.orders); break;
        case 'd': good = setenv("KILN_DRIVER", optarg, 1) == 0; break;
        case 'n': good = setenv("KILN_NVRTC", optarg, 1) == 0; break;
        case 'S':
            out->sample = PROGRAMS_PER_KIND;
            good = !optarg || parse_count(optarg, PROGRAM_LIMIT, &out->sample);
            break;
        case 'l': out->list = true; break;
        default: return false;
        }
        if (!good) {
            fprintf(stderr, "gpu_suite: '%s' is no value for this option\n", optarg);
            return false;
        }
    }
    return optind == argc;
}

static void list(const gpu_group *groups, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < groups[i].rows_count; j++) {
            gpu_case_print(stdout, &groups[i], groups[i].rows[j], seed);
            putchar('\n');
        }
    }
}

int main(int argc, char **argv) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1) cpus = 1;
    arguments given = {
        .filter = GPU_FILTER_INIT,
        .options = {.seed = (uint64_t)time(NULL) % 1000000, .jobs = cpus < 16 ? (int)cpus : 16, .orders = 1}};
    gpu_run_options *options = &given.options;
    if (!parse(argc, argv, &given)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!options->threads) options->threads = cpus > options->jobs ? (int)(cpus / options->jobs) : 1;

    size_t count = 0;
    gpu_group *groups = gpu_groups_create(&given.filter, &count);
    if (!groups) {
        fprintf(stderr, "gpu_suite: no case passes these filters\n");
        return 2;
    }
    int arch = 90, status = 0; /* a list of the sample without a GPU is that of an H100 */
    if (!given.list) status = gpu_probe(options->jobs, &arch);
    if (status == 0 && given.sample && !keep_sample(groups, &count, given.sample, arch)) status = 1;
    if (status == 0 && given.list)
        list(groups, count, options->seed);
    else if (status == 0)
        status = gpu_run_groups(groups, count, options);
    free(groups);
    return status;
}
