/* SPDX-License-Identifier: Apache-2.0 */
/* Cold compiles of a manifest's kernels, between those of an empty kernel in the same process. Needs NVRTC and no GPU.
 *
 *   bench_cold MANIFEST [--arch N] [--runs N] [--keep FOLDER]
 *
 * A line of JSON for each kernel and for each empty one: milliseconds of wall time and of this process's CPU time,
 * which another process's work does not lengthen, the least of the runs; what was compiled. --keep writes sources and
 * images. tools/bench/compile_time.py draws the manifest and makes a table of the lines. 77 without NVRTC. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jit/nvrtc.h"
#include "manifest.h"
#include "runtime/context.h"

enum { kernels_between = 4, warm_ups = 3 };

typedef struct given {
    const char *manifest, *keep;
    int arch, runs;
} given;

typedef struct cost {
    double wall_ms, cpu_ms;
} cost;

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static cost start(void) { return (cost){kiln__now_ms(), cpu_ms()}; }

static void end(cost from, cost *least) {
    const cost now = {kiln__now_ms() - from.wall_ms, cpu_ms() - from.cpu_ms};
    if (least->cpu_ms > 0 && least->cpu_ms <= now.cpu_ms) return;
    *least = now;
}

static kiln_status time_empty(const given *g, cost *least) {
    const kiln__compile_request request = {"extern \"C\" __global__ void kiln_empty() {}\n", "kiln_empty.cu", g->arch,
                                           false};
    kiln__compile_result result = {0};
    const kiln__nvrtc *nvrtc = NULL;
    kiln_status status = kiln__nvrtc_open(NULL, &nvrtc);
    if (status) return status;
    const cost from = start();
    status = kiln__nvrtc_compile(nvrtc, &request, &result);
    end(from, least);
    kiln__compile_result_free(&result);
    return status;
}

static kiln_status print_empty(const given *g) {
    cost least = {0};
    kiln_status status = time_empty(g, &least);
    if (!status) printf("{\"empty\": true, \"wall_ms\": %.3f, \"cpu_ms\": %.3f}\n", least.wall_ms, least.cpu_ms);
    return status;
}

/* Each spilling schedule but the last is told in the log. */
static void count_attempt(void *user, kiln_log_level level, const char *message) {
    (void)level;
    if (!strncmp(message, "schedule '", 10)) ++*(int *)user;
}

static void keep_file(const given *g, long number, const char *ending, const void *bytes, size_t size) {
    char path[4096];
    if (!g->keep || !bytes) return;
    snprintf(path, sizeof path, "%s/%03ld.%s", g->keep, number, ending);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) perror(path);
    if (file) fclose(file);
}

static kiln_status print_kernel(const given *g, const kiln_kernel *kernel, long number, cost least, int attempts) {
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    size_t bytes = 0;
    const void *image = kiln_kernel_image(kernel, &bytes);
    kiln_status status = kiln_kernel_get_info(kernel, &info);
    if (status) return status;
    keep_file(g, number, "cu", info.source, strlen(info.source));
    keep_file(g, number, "cubin", image, bytes);
    printf("{\"number\": %ld, \"wall_ms\": %.3f, \"cpu_ms\": %.3f, \"compiles\": %d, \"source_bytes\": %zu, "
           "\"image_bytes\": %zu, \"registers\": %d, \"spill_bytes\": %d, \"schedule\": \"%s\"}\n",
           number, least.wall_ms, least.cpu_ms, attempts, strlen(info.source), bytes, info.registers, info.spill_bytes,
           info.schedule);
    return KILN_OK;
}

/* From request to image: parsing, planning and writing the source are part of it. Each time in a context of its own, so
 * that nothing is found in memory. */
static kiln_status time_line(const given *g, const char *line, long number) {
    static manifest_entry entry;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    cost least = {0};
    kiln_status status = manifest_parse(line, strlen(line), &entry);
    for (int run = 0; run < g->runs && !status; run++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *context = NULL;
        kiln_program *program = NULL;
        kiln_kernel *kernel = NULL;
        int attempts = 1;
        options.cache_dir = "";
        options.log = count_attempt;
        options.log_user = &attempts;
        options.log_detail = KILN_LOG_DETAIL_DEBUG;
        status = kiln_context_create(&options, &context);
        const cost from = start();
        if (!status) status = manifest_bind(&entry, context, &program, tensors, scalars);
        if (!status)
            status =
                kiln_compile(program, tensors, entry.tensor_count, scalars, entry.scalar_count, g->arch, 0, 1, &kernel);
        end(from, &least);
        if (!status && run == g->runs - 1) status = print_kernel(g, kernel, number, least, attempts);
        kiln_kernel_destroy(kernel);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    manifest_entry_free(&entry);
    return status;
}

static kiln_status time_all(const given *g, FILE *file) {
    char *line = NULL;
    size_t capacity = 0;
    cost unused = {0};
    kiln_status status = KILN_OK;
    for (int i = 0; i < warm_ups && !status; i++) status = time_empty(g, &unused);
    for (long number = 0; !status && getline(&line, &capacity, file) > 0; number++) {
        line[strcspn(line, "\n")] = '\0';
        if (number % kernels_between == 0) status = print_empty(g);
        if (!status) status = time_line(g, line, number);
        fflush(stdout);
    }
    free(line);
    return status;
}

static given read_options(int argc, char **argv) {
    static const struct option longs[] = {
        {"arch", 1, NULL, 'a'}, {"runs", 1, NULL, 'r'}, {"keep", 1, NULL, 'k'}, {NULL, 0, NULL, 0}};
    given g = {.arch = 90, .runs = 1};
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (option) {
        case 'a': g.arch = atoi(optarg); break;
        case 'r': g.runs = atoi(optarg); break;
        case 'k': g.keep = optarg; break;
        default: return (given){0};
        }
    if (optind == argc - 1) g.manifest = argv[optind];
    return g;
}

int main(int argc, char **argv) {
    const given g = read_options(argc, argv);
    const kiln__nvrtc *nvrtc = NULL;
    if (!g.manifest || g.runs < 1) {
        fprintf(stderr, "usage: bench_cold MANIFEST [--arch N] [--runs N] [--keep FOLDER]\n");
        return 2;
    }
    if (kiln__nvrtc_open(NULL, &nvrtc)) {
        printf("skipped: %s\n", kiln_last_error());
        return 77;
    }
    FILE *file = fopen(g.manifest, "r");
    if (!file) {
        perror(g.manifest);
        return 2;
    }
    printf("{\"nvrtc\": \"%d.%d\", \"arch\": %d, \"runs\": %d}\n", nvrtc->identity.major, nvrtc->identity.minor, g.arch,
           g.runs);
    kiln_status status = time_all(&g, file);
    fclose(file);
    if (status) fprintf(stderr, "bench_cold: %s\n", kiln_last_error());
    return status ? 1 : 0;
}
