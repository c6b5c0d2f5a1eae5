/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates for tuning: the library's own first, none that depends on the number of rows; and a manifest's kernels
 * with each of the records that choose them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel_list.h"
#include "runtime/tuned.h"
#include "support/launch_fixture.h"
#include "tune_candidates.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static tune_problem problem_of(const bound *b) {
    tune_problem p = {.program = b->program,
                      .tensor_count = b->tensor_count,
                      .scalar_count = b->scalar_count,
                      .device = kiln__device_typical(90)};
    memcpy(p.tensors, b->tensors, sizeof p.tensors);
    memcpy(p.scalars, b->scalars, sizeof p.scalars);
    return p;
}

/* Binds the problem, with other tensors, and chooses by the pins. */
static void choose(const char *text, const char *axes, const char *tensors, const kiln__pins *pins,
                   kiln__schedule *out) {
    const kiln__device device = kiln__device_typical(90);
    bound b;
    kiln__prepared prepared;
    assert_int_equal(bound_create(&b, text, axes, NULL, tensors), KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
    if (kiln__schedule_choose(prepared.ir, &prepared.problem, &device, pins, 0, out))
        fail_msg("%s, %s: %s", text, tensors, kiln_last_error());
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

static void candidates_do_not_depend_on_rows(void **state) {
    (void)state;
    static const struct {
        const char *text, *axes, *tensors, *others[3];
        bool side_by_side;
    } cases[] = {
        {"s = var(x)",
         "0",
         "f16[10000,512] f16[512]",
         {"f16[10000,1] f16[1]", "f16[10000,37] f16[37]", "f16[10000,100000] f16[100000]"},
         true},
        {"y = softmax(x)",
         "0",
         "f32[300,64] f32[300,64]",
         {"f32[300,5] f32[300,5]", "f32[300,4096] f32[300,4096]", "f32[300,333] f32[300,333]"},
         true},
        {"y = rms_norm(x, w)",
         NULL,
         "bf16[64,4096] bf16[4096] bf16[64,4096]",
         {"bf16[1,4096] bf16[4096] bf16[1,4096]", "bf16[3,4096] bf16[4096] bf16[3,4096]",
          "bf16[70000,4096] bf16[4096] bf16[70000,4096]"},
         false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bound b;
        tune_candidates found;
        assert_int_equal(bound_create(&b, cases[i].text, cases[i].axes, NULL, cases[i].tensors), KILN_OK);
        const tune_problem p = problem_of(&b);
        assert_int_equal(tune_candidates_find(&p, 20, &found), KILN_OK);
        assert_int_equal(found.count, 21);
        assert_true(found.listed > 21);
        assert_true(found.items[0].pins.group == -1 && found.items[0].pins.threads == 0);
        for (size_t c = 1; c < found.count; c++) {
            const kiln__pins *pins = &found.items[c].pins;
            kiln__schedule first, other;
            if (c > 1) assert_true(found.items[c].slowdown >= found.items[c - 1].slowdown);
            if (cases[i].side_by_side)
                assert_true(!pins->vector_width && !pins->rows_per_block && !pins->vectors_begin);
            choose(cases[i].text, cases[i].axes, cases[i].tensors, pins, &first);
            for (size_t o = 0; o < COUNT(cases[i].others); o++) {
                choose(cases[i].text, cases[i].axes, cases[i].others[o], pins, &other);
                assert_int_equal(other.team.threads_per_row, first.team.threads_per_row);
                assert_int_equal(other.split.chunks, first.split.chunks);
                assert_int_equal(other.passes.online, first.passes.online);
                if (!cases[i].side_by_side) assert_string_equal(other.text, first.text);
            }
        }
        tune_candidates_free(&found);
        bound_destroy(&b);
    }
}

static void a_record_is_measured_again_first(void **state) {
    (void)state;
    bound b;
    tune_candidates found, again;
    assert_int_equal(bound_create(&b, "y = softmax(x)", NULL, NULL, "f16[64,4096] f16[64,4096]"), KILN_OK);
    const tune_problem p = problem_of(&b);
    assert_int_equal(tune_candidates_find(&p, 100, &found), KILN_OK);
    const kiln__pins last = found.items[found.count - 1].pins;
    assert_int_equal(kiln__tuned_set(b.context, &found.key, &last), KILN_OK);
    assert_int_equal(tune_candidates_find(&p, 1, &again), KILN_OK);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.items[0].pins.threads, 0);
    assert_memory_equal(&again.items[1].pins, &last, sizeof last);
    assert_memory_equal(again.key.digest, found.key.digest, sizeof found.key.digest);
    tune_candidates_free(&found);
    tune_candidates_free(&again);
    bound_destroy(&b);
}

static const char line[] = "{\"program\":\"y = softmax(x)\",\"tensors\":[\"x=f16[*,1024]\",\"y=f16[*,1024]\"],"
                           "\"arch\":\"sm_90\"%s}\n";

/* Puts a record for a device, which has so much bandwidth. */
static void put_record(kiln_context *context, int64_t bandwidth) {
    bound b;
    kiln__prepared prepared;
    kiln__key key;
    kiln__device device = kiln__device_typical(90);
    device.bandwidth = bandwidth;
    assert_int_equal(bound_create(&b, "y = softmax(x)", NULL, NULL, "f16[*,1024] f16[*,1024]"), KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
    assert_int_equal(kiln__tuned_key(prepared.ir, &prepared.problem, &device, &key), KILN_OK);
    const kiln__entry entry = kiln__tuned_entry("block 64, shared, vector 4", "", "", 90);
    assert_true(kiln__disk_put_tuned(context->disk, &key, &entry));
    kiln__key_free(&key);
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

static void a_manifest_lists_a_kernel_with_each_record(void **state) {
    launch_fixture *f = *state;
    char path[160];
    snprintf(path, sizeof path, "%s/kernels.jsonl", f->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, line, "");
    fprintf(file, line, ",\"device\":[132,2048,65536,233472,232448,52428800,3000]");
    fprintf(file, line,
            ",\"device\":[132,2048,65536,233472,232448,52428800,2999]"); /* has none, and the model's kernel */
    fclose(file);
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_NEVER_COMPILE);
    put_record(context, kiln__device_typical(90).bandwidth);
    put_record(context, 3000);
    const char *operands[] = {path};
    const arguments args = {.command = &command_precompile, .operands = operands, .operand_count = 1};
    kernel_list list;
    size_t recorded = 0;
    assert_int_equal(kernel_list_open(&args, &list), TOOL_OK);
    assert_int_equal(kernel_list_read(&args, context, &list), TOOL_OK);
    assert_int_equal(list.faults, 0);
    assert_int_equal(list.kernel_count, 4); /* one serves any shape */
    for (size_t i = 0; i < list.kernel_count; i++) {
        static const uint8_t none[16];
        recorded += memcmp(list.kernels[i].record, none, sizeof none) != 0;
    }
    assert_int_equal(recorded, 2);
    kernel_list_free(&list);
    kiln_context_destroy(context);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_do_not_depend_on_rows),
        cmocka_unit_test(a_record_is_measured_again_first),
        WITH_LAUNCHES(a_manifest_lists_a_kernel_with_each_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
