/* SPDX-License-Identifier: Apache-2.0 */
/* What packs cost: opening one, finding a kernel in it, making a plan from it without the driver's own load (the
 * driver is the stand-in), and what compressing its entries would save and cost. tools/bench/precompile.sh makes a
 * pack and runs it. Usage: bench_pack <pack> <manifest>: kernels for sm_90. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fake_driver.h"
#include "gpu/driver.h"
#include "manifest.h"
#include "runtime/packing.h"

#ifdef KILN_HAVE_ZSTD
#include <zstd.h>
#endif

#define ROUNDS 201
#define OPEN_LIMIT_US 1000.0
#define FIND_LIMIT_US 5.0
#define PLAN_LIMIT_US 50.0

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Prints the median and tells whether it is within the limit (0: none). */
static bool tell(const char *what, double *us, size_t count, double limit) {
    qsort(us, count, sizeof *us, compare);
    double median = us[count / 2];
    printf("%-28s %8.2f us (median of %zu, %.2f to %.2f)", what, median, count, us[0], us[count - 1]);
    if (limit > 0) printf(", limit %.0f us", limit);
    putchar('\n');
    return limit <= 0 || median < limit;
}

static bool bench_open(const char *path) {
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        kiln__bundle *pack = NULL;
        double start = now_us();
        if (kiln__bundle_open(path, NULL, 0, &pack)) return false;
        us[i] = now_us() - start;
        kiln__bundle_close(pack);
    }
    return tell("opening the pack", us, ROUNDS, OPEN_LIMIT_US);
}

/* Each kernel of the pack by its key, its checksum and its key material included. */
static bool bench_find(kiln__bundle *pack) {
    double *us = calloc((size_t)pack->count * ROUNDS, sizeof *us);
    size_t count = 0;
    bool right = us != NULL;
    for (uint32_t round = 0; round < ROUNDS && right; round++) {
        for (uint32_t i = 0; i < pack->count && right; i++) {
            kiln__key key = {.size = 0};
            kiln__entry entry, found;
            kiln__bundle_row row = kiln__bundle_row_at(pack, i);
            right = kiln__bundle_entry(pack, i, &entry);
            memcpy(key.digest, row.digest, sizeof key.digest);
            key.material = (uint8_t *)(uintptr_t)entry.material;
            key.size = entry.material_size;
            double start = now_us();
            right = right && kiln__bundle_find(pack, &key, &found) == KILN__IN_BUNDLE && found.image == entry.image;
            us[count++] = now_us() - start;
        }
    }
    right = right && tell("finding a kernel", us, count, FIND_LIMIT_US);
    free(us);
    return right;
}

static kiln_status make_plan(kiln_context *context, const manifest_entry *entry, double *us) {
    kiln_program *program = NULL;
    kiln_plan *plan = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    kiln_status status = manifest_bind(entry, context, &program, tensors, scalars);
    double start = now_us();
    if (!status) status = kiln_plan_create(program, tensors, entry->tensor_count, scalars, entry->scalar_count, &plan);
    *us = now_us() - start;
    if (!status) status = kiln_plan_get_info(plan, &info);
    if (!status && info.origin != KILN_ORIGIN_PACK)
        status = kiln__fail(KILN_E_INTERNAL, "a kernel's origin is %d, expected the pack", (int)info.origin);
    kiln_plan_destroy(plan);
    kiln_program_destroy(program);
    return status;
}

/* Each line of the manifest as a plan of a context that has loaded nothing yet. */
static bool bench_plans(const char *path, const char *manifest) {
    enum { rounds = 11 };
    const kiln_pack pack = {path, NULL, 0};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    char *line = NULL;
    size_t capacity = 0, count = 0, room = 0;
    double *us = NULL;
    kiln_status status = KILN_OK;
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    options.policy = KILN_POLICY_NEVER_COMPILE;
    options.packs = &pack;
    options.pack_count = 1;
    for (int round = 0; round < rounds && !status; round++) {
        FILE *file = fopen(manifest, "r");
        kiln_context *context = NULL;
        status = file ? kiln_context_create(&options, &context) : kiln__fail(KILN_E_IO, "%s cannot be read", manifest);
        for (ssize_t size; !status && (size = getline(&line, &capacity, file)) > 0; count++) {
            manifest_entry entry;
            if (count == room) us = realloc(us, (room = room ? 2 * room : 1024) * sizeof *us);
            status = us ? manifest_parse(line, (size_t)size, &entry) : kiln__out_of_memory();
            if (!status) status = make_plan(context, &entry, &us[count]);
            manifest_entry_free(&entry);
        }
        kiln_context_destroy(context);
        if (file) fclose(file);
    }
    if (status) fprintf(stderr, "bench_pack: %s\n", kiln_last_error());
    bool right = !status && tell("a plan, without the load", us, count, PLAN_LIMIT_US);
    free(us);
    free(line);
    return right;
}

#ifdef KILN_HAVE_ZSTD
/* One entry after the other, as they would be read. A context is kept: without one it takes several times as long. */
static bool bench_zstd(const kiln__bundle *pack, int level) {
    size_t plain = 0, packed = 0;
    double *us = calloc(pack->count + 1, sizeof *us);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    bool right = us != NULL && context != NULL;
    for (uint32_t i = 0; i < pack->count && right; i++) {
        kiln__bundle_row row = kiln__bundle_row_at(pack, i);
        size_t size = (size_t)row.size, bound = ZSTD_compressBound(size);
        uint8_t *compressed = malloc(bound), *again = malloc(size);
        right = compressed != NULL && again != NULL;
        size_t length = right ? ZSTD_compress(compressed, bound, pack->bytes + row.offset, size, level) : 0;
        double start = now_us();
        right = right && ZSTD_decompressDCtx(context, again, size, compressed, length) == size;
        us[i] = now_us() - start;
        plain += size;
        packed += length;
        free(compressed);
        free(again);
    }
    if (right) {
        printf("zstd level %d: %zu bytes become %zu (%.0f %%)\n", level, plain, packed,
               100.0 * (double)packed / (double)plain);
        tell("  decompressing an entry", us, pack->count, 0);
    }
    ZSTD_freeDCtx(context);
    free(us);
    return right;
}
#endif

int main(int argc, char **argv) {
    kiln__bundle *pack = NULL;
    kiln__CUcontext cuda = NULL;
    const kiln__driver *driver = NULL;
    fake_driver *fake = fake_driver_find(KILN_FAKE_DRIVER);
    if (argc != 3 || !fake) {
        fprintf(stderr, "usage: bench_pack PACK MANIFEST, with the stand-in of the driver\n");
        return 2;
    }
    fake->arch = 90;
    if (kiln__driver_open(KILN_FAKE_DRIVER, &driver) || driver->DevicePrimaryCtxRetain(&cuda, 0) ||
        driver->CtxSetCurrent(cuda) || kiln__bundle_open(argv[1], NULL, 0, &pack) || pack->count == 0) {
        fprintf(stderr, "bench_pack: %s\n", kiln_last_error());
        return 1;
    }
    size_t images = 0;
    for (uint32_t i = 0; i < pack->count; i++) {
        kiln__entry entry;
        if (kiln__bundle_entry(pack, i, &entry)) images += entry.image_size;
    }
    printf("%u kernels, %zu bytes: %.1f KB of pack for a kernel, of which its image is %.1f KB\n", pack->count,
           pack->size, (double)pack->size / pack->count / 1e3, (double)images / pack->count / 1e3);
    bool right = bench_open(argv[1]);
    right = bench_find(pack) && right;
    right = bench_plans(argv[1], argv[2]) && right;
#ifdef KILN_HAVE_ZSTD
    right = bench_zstd(pack, 3) && bench_zstd(pack, 19) && right;
#else
    puts("zstd: zstd.h was not found when this was built");
#endif
    kiln__bundle_close(pack);
    return right ? 0 : 1;
}
