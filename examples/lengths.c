/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose rows have another length with each request, as sequences do, and that never waits for a compiler: a
 * pack has the few kernels that serve every length up to MOST. The program makes it itself here; `kiln precompile` does
 * of {"program": "y = softmax(x * 0.125)", "tensors": ["x=f32[*,1..4096]", "y=f32[*,1..4096]"]}.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples
 * or:     cc examples/lengths.c examples/arrays.c $(pkg-config --cflags --libs kiln) -lm */
#include "arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 16, MOST = 4096, REQUESTS = 200 };

static const char text[] = "y = softmax(x * 0.125)";

struct server {
    kiln_context *context;
    kiln_program *program;
    float *x, *y;
    double longest_ms; /* that a request has waited for its kernel */
};

static kiln_tensor rows_of(void *data, int64_t length) {
    return kiln_tensor_contiguous(data, KILN_F32, 2, (const int64_t[]){ROWS, length});
}

/* ---- where the application is built ---- */

/* A kernel for each range of lengths: 65 to 128, 129 to 256 and so on. What they were called with is of no matter. */
static kiln_status add_ranges(kiln_context *context, kiln_pack_writer *writer, int arch) {
    kiln_program *program = NULL;
    kiln_status status = kiln_program_create(context, text, NULL, &program);
    for (int64_t length = 2; !status && length <= MOST; length = kiln_range_end(length) + 1) {
        const kiln_tensor tensors[] = {rows_of(NULL, length), rows_of(NULL, length)};
        status = kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, arch, 0);
    }
    kiln_program_destroy(program);
    return status;
}

static kiln_status make_pack(kiln_pack_writer *writer, kiln_pack *pack) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_device_info device = {.struct_size = sizeof device};
    options.policy = KILN_POLICY_RANGE;
    options.cache_dir = "";
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_context_get_device_info(context, 0, &device);
    if (!status) status = add_ranges(context, writer, device.arch);
    if (!status) status = kiln_pack_writer_finish(writer, &pack->data, &pack->size);
    kiln_context_destroy(context);
    return status;
}

/* ---- where it runs ---- */

static kiln_status start(struct server *s, const kiln_pack *pack) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.policy = KILN_POLICY_RANGE;
    options.packs = pack;
    options.pack_count = pack->size != 0;
    options.cache_dir = "";
    options.nvrtc_path = "/nowhere"; /* to show that it is not needed */
    s->x = array_create(ROWS * MOST * sizeof *s->x);
    s->y = array_create(ROWS * MOST * sizeof *s->y);
    kiln_status status = s->x && s->y ? kiln_context_create(&options, &s->context) : KILN_E_MEMORY;
    return status ? status : kiln_program_create(s->context, text, NULL, &s->program);
}

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Finds the kernel for a length, as the first kiln_run of that length does. */
static kiln_status wait_for_kernel(struct server *s, int64_t length) {
    const kiln_tensor tensors[] = {rows_of(s->x, length), rows_of(s->y, length)};
    kiln_plan *plan = NULL;
    const double begin = now_ms();
    const kiln_status status = kiln_plan_create(s->program, tensors, 2, NULL, 0, &plan);
    s->longest_ms = fmax(s->longest_ms, now_ms() - begin);
    kiln_plan_destroy(plan);
    return status;
}

/* The driver loads each of the pack's kernels once: before requests come. */
static kiln_status load(struct server *s) {
    kiln_status status = KILN_OK;
    for (int64_t length = 2; !status && length <= MOST; length = kiln_range_end(length) + 1)
        status = wait_for_kernel(s, length);
    s->longest_ms = 0;
    return status;
}

static kiln_status serve(struct server *s, int64_t length) {
    const kiln_binding bindings[] = {{"x", rows_of(s->x, length)}, {"y", rows_of(s->y, length)}};
    const kiln_status status = arrays_on_gpu() ? wait_for_kernel(s, length) : KILN_OK;
    for (int64_t i = 0; i < ROWS * length; i++) s->x[i] = (float)(i % 17);
    return status ? status : arrays_run(s->program, bindings, 2, NULL, 0);
}

static bool adds_up(const struct server *s, int64_t length) {
    double sum = 0;
    for (int64_t i = 0; i < ROWS * length; i++) sum += (double)s->y[i];
    return fabs(sum - ROWS) < 1e-3;
}

static int serve_all(struct server *s) {
    uint32_t random = 1;
    for (int i = 0; i < REQUESTS; i++) {
        random = random * 1664525u + 1013904223u; /* Numerical Recipes' generator */
        const int64_t length = 2 + random / 256 % (MOST - 1);
        const kiln_status status = serve(s, length);
        if (status) return report("lengths", status);
        if (!adds_up(s, length)) return puts("lengths: rows do not add up to 1"), 1;
    }
    return 0;
}

static int tell(const struct server *s) {
    kiln_context_stats stats = KILN_CONTEXT_STATS_INIT;
    const kiln_status status = kiln_context_get_stats(s->context, &stats);
    if (status) return report("lengths", status);
    printf("%d requests of other lengths, up to %d", REQUESTS, MOST);
    if (arrays_on_gpu())
        printf(": %lld kernels, none compiled, %.2f ms for one at the most", (long long)stats.loads, s->longest_ms);
    printf("\n");
    return stats.compiled || stats.any_shape;
}

int main(void) {
    struct server server = {0};
    kiln_pack_writer *writer = NULL;
    kiln_pack pack = {0};
    kiln_status status = kiln_pack_writer_create(&writer);
    if (!status && arrays_on_gpu()) status = make_pack(writer, &pack);
    if (!status) status = start(&server, &pack);
    if (!status && arrays_on_gpu()) status = load(&server);
    const int result = status ? report("lengths", status) : serve_all(&server) || tell(&server);
    kiln_program_destroy(server.program);
    kiln_context_destroy(server.context);
    kiln_pack_writer_destroy(writer); /* the pack's bytes are its own */
    array_destroy(server.y);
    array_destroy(server.x);
    return result;
}
