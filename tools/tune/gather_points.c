/* SPDX-License-Identifier: Apache-2.0 */
#include "gather_points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/checksum.h"
#include "codegen/source.h"

/* "f16[4,1000] f16[1000]" */
static const char *write_shapes(const gather_point *p, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < p->tensor_count && used < size; i++) {
        const kiln_tensor *tensor = &p->tensors[i];
        used += (size_t)snprintf(buffer + used, size - used, "%s%s[", i ? " " : "", kiln_type_name(tensor->type));
        for (int d = 0; d < tensor->rank && used < size; d++)
            used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "," : "", (long long)tensor->sizes[d]);
        if (used < size) used += (size_t)snprintf(buffer + used, size - used, "]");
    }
    return buffer;
}

json_t *gather_features(const kiln__estimate *e) {
    json_t *features = json_object();
    for (int i = 0; i < KILN__FEATURES; i++)
        json_object_set_new(features, kiln__feature_names[i], json_real((double)e->features[i]));
    return features;
}

json_t *gather_resources(const kiln__given *g, const kiln__schedule *s) {
    const kiln__traits *t = &g->traits;
    return json_pack("{s:i,s:i,s:I,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:I,s:I,s:i,s:i,s:I}", "vector_width",
                     s->vector_width, "batch", s->batch, "steps", (json_int_t)s->steps, "staging", (int)s->staging.kind,
                     "edges", (int)s->edges, "threads", s->team.threads, "threads_per_row", s->team.threads_per_row,
                     "min_blocks", s->team.min_blocks_per_sm, "rows_in_flight",
                     kiln__row_of(s)->rows_in_flight ? s->team.rows_per_block : 0, "prefetch",
                     kiln__row_of(s)->prefetch, "input_bytes", t->input_bytes, "invariant_bytes", t->invariant_bytes,
                     "outputs", t->outputs, "carried", t->carried, "reduce_weight", (json_int_t)t->reduce_weight,
                     "output_weight", (json_int_t)t->output_weight, "tensors", t->inputs + t->outputs + t->invariants,
                     "inlining", (int)s->code.inlining, "unroll", (json_int_t)s->unroll);
}

static json_t *numbers_of(const kiln__device *d) {
    return json_pack("[i,i,i,i,I,I,I,I]", d->arch, d->sm_count, d->threads_per_sm, d->registers_per_sm,
                     (json_int_t)d->shared_per_sm, (json_int_t)d->shared_per_block, (json_int_t)d->l2_bytes,
                     (json_int_t)d->bandwidth);
}

/* The checksum of what the kernel is made of. */
static void add_source(json_t *point, const kiln__prepared *p) {
    uint8_t checksum[KILN__CHECKSUM_SIZE];
    char *source = kiln__source_expand(p->unexpanded), digits[2 * KILN__CHECKSUM_SIZE + 1];
    if (!source) return;
    const char *code = kiln__source_code(source);
    kiln__checksum(code, strlen(code), checksum);
    for (int i = 0; i < KILN__CHECKSUM_SIZE; i++) snprintf(digits + 2 * i, 3, "%02x", checksum[i]);
    json_object_set_new(point, "source", json_string(digits));
    free(source);
}

void gather_print_point(const gather_point *of) {
    static const char *const strategies[] = {"pointwise", "transpose", "row",         "row_tile",
                                             "split_row", "column",    "column_tile", "any_shape"};
    const kiln__prepared *p = of->prepared;
    kiln__given g = {.ir = p->ir, .problem = &p->problem, .device = of->device};
    kiln__estimate e;
    if (kiln__traits_find(p->ir, &p->problem, &g.traits)) return;
    char shapes[400];
    kiln__model_estimate(&g, &p->schedule, &e);
    json_t *point = json_pack(
        "{s:I,s:s,s:s,s:s,s:s,s:o,s:s,s:s,s:b,s:s,s:i,s:i,s:o,s:o}", "problem", (json_int_t)of->problem, "family",
        of->family, "program", of->program, "shape", write_shapes(of, shapes, sizeof shapes), "device", of->device_name,
        "numbers", numbers_of(g.device), "schedule", p->schedule.text, "strategy", strategies[p->schedule.strategy],
        "chosen", of->chosen, "pins", of->pins, "estimated_registers", e.registers, "resident", e.resident, "features",
        gather_features(&e), "resources", gather_resources(&g, &p->schedule));
    if (of->info) json_object_set_new(point, "registers", json_integer(of->info->registers));
    if (of->info) json_object_set_new(point, "spill_bytes", json_integer(of->info->spill_bytes));
    if (!of->us) add_source(point, p);
    if (p->any_shape) /* how its launch divides rows among threads */
        json_object_set_new(point, "launch",
                            json_pack("[i,i,i,i,i]", p->shape.row_shift, p->shape.run_shift, p->shape.rows_in_lanes,
                                      p->shape.chunks, p->shape.vectors));
    static const char *const names[] = {"us", "us_again", "copy_us"};
    for (int n = 0; of->us && n < 3; n++) json_object_set_new(point, names[n], json_real(of->us[n]));
    json_dumpf(point, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(point);
}
