/* SPDX-License-Identifier: Apache-2.0 */
/* What is planned and written for many problems, as text to compare: each schedule that is tried, and a hash of its
 * source. A change that is to change no kernel leaves all of it as it is: tools/snapshot.sh compares two commits.
 *
 *   plan_snapshot [--cases N] [--seed S] [--machine] [--part I/N] [MANIFEST]...
 *
 * Problems: the lines of the manifests, those listed here, and N random cases (20,000). With --machine the first
 * schedule of each alone, for sm_90, its text left out, and a hash of the machine code instead of the source's: for
 * changes of names. --part 0/2 takes every other problem, so that two processes share them. */
#define _GNU_SOURCE
#include <elf.h>
#include <getopt.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "support/bound.h"
#include "support/fuzz_draw.h"
#include "jit/nvrtc.h"
#include "manifest.h"

#define MOST_ATTEMPTS 32
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int archs[] = {80, 86, 89, 90, 100, 120};

/* Pitched tensors, axes in the middle and at the front, one long row, few rows, rows that begin anywhere. */
static const struct {
    const char *program, *axes, *tensors;
} listed[] = {
    {"y = softmax(x)", NULL, "f16[512,1000]{1024,1} f16[512,1000]{1024,1}"},
    {"y = softmax(x)", NULL, "f16[512,1000]{1001,1} f16[512,1000]"},
    {"y = softmax(x)", "1", "f32[16,999,130] f32[16,999,130]"},
    {"y = softmax(x)", "0", "f16[4096,2048]{1,4096} f16[4096,2048]"},
    {"y = layer_norm(x, w, b)", "1", "bf16[8,320,4096] f32[320,1] f32[320,1] bf16[8,320,4096]"},
    {"y = layer_norm(x, w, b)", NULL, "bf16[63,65537] bf16[65537] bf16[65537] bf16[63,65537]"},
    {"s = sum(x)", "0", "f32[100000,3] f32[3]"},
    {"s = sum(x)", "0,2", "f16[64,130,77] f16[130]"},
    {"s = sum(x)", "1,3", "bf16[7,11,13,17] bf16[7,13]"},
    {"v = var(x)", "0", "f32[1234,77777] f32[77777]"},
    {"v = var(x)", NULL, "f32[1,268435456] f32[1]"},
    {"i = argmax(x)", NULL, "f16[3,50257] i64[3]"},
    {"y = x - max(x)", "all", "f32[3000,5000] f32[3000,5000]"},
    {"y = a * b + c", "all", "u8[2,224,224,3] f32[3] f16[2,224,224,3] f16[2,224,224,3]"},
    {"y = f16(x) * 2", "all", "u8[2,3,224,224]{150528,1,672,3} f16[2,3,224,224]"},
    {"y = softmax(x * w + m)", NULL, "f16[*,16384] f16[16384] f16[16384] f16[*,16384]"},
    {"y = rms_norm(x, w)", NULL, "f16[*,1023]@2 f16[1023] f16[*,1023]"},
    {"s = reduce((a, b) -> a + b * 0.5, x, 0)", NULL, "f32[64,100000] f32[64]"},
};

static const kiln__nvrtc *nvrtc; /* of machine code; NULL: sources */
static long part, parts = 1, problems;

/* Whether the problem is of this process's part. */
static bool is_mine(void) { return problems++ % parts == part; }

/* Of all sections that hold instructions, whatever their names are. */
static uint64_t hash_machine_code(const char *image) {
    const Elf64_Ehdr *head = (const void *)image;
    const Elf64_Shdr *sections = (const void *)(image + head->e_shoff);
    uint64_t hash = 0;
    for (int i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_flags & SHF_EXECINSTR)
            hash = XXH3_64bits_withSeed(image + sections[i].sh_offset, sections[i].sh_size, hash);
    return hash;
}

static void print_machine_code(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                               const char *what) {
    const kiln__device device = kiln__device_typical(90);
    kiln__prepared prepared;
    kiln__compile_result result = {0};
    kiln_status status = kiln__prepare(program, tensors, scalars, &device, 0, &prepared);
    if (!status) {
        const kiln__compile_request request = {prepared.source, "kernel.cu", 90, false};
        status = kiln__nvrtc_compile(nvrtc, &request, &result);
        kiln__prepared_free(&prepared);
    }
    if (status)
        printf("%s: %s\n", what, kiln_last_error());
    else
        printf("%s: %d registers, %016" PRIx64 "\n", what, result.facts.registers, hash_machine_code(result.image));
    fflush(stdout);
    kiln__compile_result_free(&result);
}

static void print_attempts(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                           const kiln__device *device, const char *what) {
    kiln__prepared prepared;
    int attempt = 0;
    while (attempt < MOST_ATTEMPTS && !kiln__prepare(program, tensors, scalars, device, attempt, &prepared)) {
        const char *code = kiln__source_code(prepared.source);
        printf("%s sm_%d %d: %s %016" PRIx64 "\n", what, device->arch, attempt++, prepared.schedule.text,
               (uint64_t)XXH3_64bits(code, strlen(code)));
        kiln__prepared_free(&prepared);
    }
    if (!attempt) printf("%s sm_%d: %s\n", what, device->arch, kiln_last_error());
}

static void print_all_archs(const kiln_program *program, const kiln_tensor *tensors, const kiln_scalar *scalars,
                            const char *what) {
    if (nvrtc) print_machine_code(program, tensors, scalars, what);
    for (size_t i = 0; i < COUNT(archs) && !nvrtc; i++) {
        const kiln__device device = kiln__device_typical(archs[i]);
        print_attempts(program, tensors, scalars, &device, what);
    }
}

static void print_listed(void) {
    for (size_t i = 0; i < COUNT(listed); i++) {
        char what[200];
        bound b;
        if (!is_mine()) continue;
        snprintf(what, sizeof what, "%s of %s", listed[i].program, listed[i].tensors);
        if (bound_create(&b, listed[i].program, listed[i].axes, NULL, listed[i].tensors))
            printf("%s: %s\n", what, kiln_last_error());
        else
            print_all_archs(b.program, b.tensors, b.scalars, what);
        bound_destroy(&b);
    }
}

static void print_line(kiln_context *context, const char *line) {
    manifest_entry entry;
    kiln_program *program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln_status status = manifest_parse(line, strlen(line), &entry);
    if (!status) status = manifest_bind(&entry, context, &program, tensors, scalars);
    if (status)
        printf("%s: %s\n", line, kiln_last_error());
    else
        print_all_archs(program, tensors, scalars, line);
    kiln_program_destroy(program);
    manifest_entry_free(&entry);
}

static int print_manifest(kiln_context *context, const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    if (!file) {
        perror(path);
        return 1;
    }
    while (getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (is_mine()) print_line(context, line);
    }
    free(line);
    fclose(file);
    return 0;
}

static void print_random(uint64_t seed, long cases) {
    kiln_context *contexts[FUZZ_SCHEDULE_COUNT];
    for (int i = 0; i < FUZZ_SCHEDULE_COUNT; i++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = "";
        options.schedule = fuzz_schedules[i] ? fuzz_schedules[i] : "";
        if (kiln_context_create(&options, &contexts[i])) abort();
    }
    for (long i = 0; i < cases; i++) {
        fuzz_case c;
        kiln_program *program = NULL;
        kiln_tensor tensors[FUZZ_TENSOR_LIMIT];
        char what[64];
        if (!is_mine()) continue;
        snprintf(what, sizeof what, "random %" PRIu64 ":%ld", seed, i);
        if (fuzz_case_draw(contexts[0], seed, i, &c) || fuzz_case_program(&c, contexts[c.schedule], &program)) {
            printf("%s: %s\n", what, kiln_last_error());
            continue;
        }
        for (int t = 0; t < FUZZ_TENSOR_LIMIT; t++) tensors[t] = c.tensors[t].view;
        const kiln__device device = kiln__device_typical(archs[i % (long)COUNT(archs)]);
        if (nvrtc)
            print_machine_code(program, tensors, c.scalars, what);
        else
            print_attempts(program, tensors, c.scalars, &device, what);
        kiln_program_destroy(program);
    }
    for (int i = 0; i < FUZZ_SCHEDULE_COUNT; i++) kiln_context_destroy(contexts[i]);
}

int main(int argc, char **argv) {
    static const struct option longs[] = {{"cases", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"machine", no_argument, NULL, 'm'},
                                          {"part", required_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context;
    uint64_t seed = 1;
    long cases = 20000;
    int failed = 0;
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (option == 'n')
            cases = strtol(optarg, NULL, 10);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 'p' && sscanf(optarg, "%ld/%ld", &part, &parts) == 2 && parts > 0)
            continue;
        else if (option != 'm')
            return 2;
        else if (kiln__nvrtc_open(NULL, &nvrtc)) {
            fprintf(stderr, "%s\n", kiln_last_error());
            return 3;
        }
    }
    options.cache_dir = "";
    if (kiln_context_create(&options, &context)) return 1;
    for (int i = optind; i < argc; i++) failed |= print_manifest(context, argv[i]);
    print_listed();
    print_random(seed, cases);
    kiln_context_destroy(context);
    return failed;
}
