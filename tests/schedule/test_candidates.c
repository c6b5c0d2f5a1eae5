/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of schedules, the traits that they are listed by, and pins in words. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/bound.h"
#include "support/schedule_rules.h"
#include "schedule/candidates.h"
#include "schedule/model_trees.h"
#include "schedule/rank.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* At least so many of the candidates give schedules of their own; words that some of them have. */
static const struct {
    const char *program, *axes, *tensors;
    int least;
    const char *words[4];
} problems[] = {
    {"y = softmax(x)", NULL, "f16[*,1024] f16[*,1024]", 20, {"lanes 32", "block 128", "shared", "tile"}},
    {"y = layer_norm(x, w, b)",
     NULL,
     "bf16[*,8192] bf16[8192] bf16[8192] bf16[*,8192]",
     30,
     {"rows per block", "cluster 4"}},
    {"y = softmax(x)", NULL, "f32[8,1000000] f32[8,1000000]", 10, {"cluster 16", "persistent", "splits", "grid"}},
    {"y = softmax(x)", NULL, "f16[*,1] f16[*,1]", 1, {"columns 1"}},
    {"s = sum(x)", "0", "f32[4096,1000] f32[1000]", 50, {"vector 1", "vector 4", "splits", "cluster 8"}},
    {"y = x - max(x)", "1", "f16[16,300,77] f16[16,300,77]", 50, {"tile", "shared", "registers"}},
    {"s = sum(x)", "0", "i8[4611686018427387903,1] i32[1]", 1, {"stream"}},
    {"y = gelu(a) * b", "", "bf16[1000,1000] bf16[1000,1000] bf16[1000,1000]", 10, {"threads 64", "vector 8 x 4"}},
    {"y = x * 2", "", "f32[16,3,1000]{3000,1,3} f32[16,3,1000]", 3, {"transpose"}},
    {"s = absmax(x, block = 24); r = sum(x * x); y = x * s * r",
     NULL,
     "f16[*,333] f16[*,333]",
     5,
     {"block 32", "registers", "stream", "vector 4"}},
    {"y = sort(x)", NULL, "f32[*,1000] f32[*,1000]", 3, {"block 64", "stream"}},
    {"y = sort(x) - max(x)", NULL, "f32[*,4000] f32[*,4000]", 6, {"block 256", "registers", "stream"}},
    {"y = topk(x, 8)", NULL, "f32[*,128] f32[*,8]", 6, {"lanes 16", "lanes 32", "8 rows per block", "block 32"}},
    {"y = topk(x, 50)", NULL, "f32[*,100000] f32[*,50]", 3, {"block 512", "block 128", "stream"}},
};

static kiln__pins all[KILN__MOST_CANDIDATES];
static char texts[KILN__MOST_CANDIDATES][sizeof((kiln__schedule){0}).text];

static bool has(int count, const char *word) {
    for (int i = 0; i < count; i++)
        if (strstr(texts[i], word)) return true;
    return false;
}

/* Whether the pins are the same when they are read back, also what they give. */
static void check_words(const kiln__pins *pins, const kiln__prepared *p, const kiln__device *device, const char *text) {
    char words[KILN__PINS_SIZE];
    kiln__pins read;
    kiln__schedule s;
    kiln__pins_write(pins, words);
    if (kiln__pins_parse(words, &read) || memcmp(&read, pins, sizeof read)) fail_msg("'%s' is read otherwise", words);
    if (kiln__schedule_choose(p->ir, &p->problem, device, &read, 0, &s) || strcmp(s.text, text))
        fail_msg("'%s' gives '%s', not '%s'", words, s.text, text);
}

typedef struct listed {
    bound b;
    kiln__prepared p;
    kiln__device device;
    kiln__given given;
} listed;

static void open_listed(listed *l, const char *program, const char *axes, const char *tensors, int arch) {
    l->device = kiln__device_typical(arch);
    if (bound_create(&l->b, program, axes, NULL, tensors) || bound_prepare(&l->b, arch, &l->p))
        fail_msg("%s: %s", program, kiln_last_error());
    l->given = (kiln__given){.ir = l->p.ir, .problem = &l->p.problem, .device = &l->device};
    assert_int_equal(kiln__traits_find(l->p.ir, &l->p.problem, &l->given.traits), KILN_OK);
}

static void close_listed(listed *l) {
    kiln__prepared_free(&l->p);
    bound_destroy(&l->b);
}

static void candidates_are_schedules_of_their_own(void **state) {
    (void)state;
    static const int archs[] = {80, 90, 120};
    for (size_t n = 0; n < COUNT(problems) * COUNT(archs); n++) {
        const size_t i = n / COUNT(archs);
        const kiln__pins nothing = KILN__PINS_NONE;
        listed l;
        open_listed(&l, problems[i].program, problems[i].axes, problems[i].tensors, archs[n % COUNT(archs)]);
        const int count = kiln__candidates_list(&l.given, &nothing, false, all);
        int different = 0;
        assert_in_range(count, 1, KILN__MOST_CANDIDATES - 1); /* none is left out */
        for (int c = 0; c < count; c++) {
            kiln__schedule s, sketch;
            if (!kiln__schedule_sketch(&l.given, &all[c], &sketch)) continue;
            if (kiln__schedule_choose(l.p.ir, &l.p.problem, &l.device, &all[c], 0, &s)) {
                kiln__pins_write(&all[c], texts[different]);
                fail_msg("%s of %s, '%s': %s", problems[i].program, problems[i].tensors, texts[different],
                         kiln_last_error());
            }
            if (!kiln__schedule_conclude(&l.given, &sketch) && strcmp(sketch.text, s.text)) {
                kiln__pins_write(&all[c], texts[different]);
                fail_msg("'%s' gives '%s', not '%s'", texts[different], s.text, sketch.text);
            }
            check_words(&all[c], &l.p, &l.device, s.text);
            memcpy(texts[different], s.text, sizeof s.text);
            int same = 0;
            while (strcmp(texts[same], s.text)) same++;
            different += same == different;
        }
        if (different < problems[i].least)
            fail_msg("%s of %s: %d schedules", problems[i].program, problems[i].tensors, different);
        for (size_t w = 0; w < COUNT(problems[i].words) && problems[i].words[w] && l.device.arch == 90; w++)
            if (!has(different, problems[i].words[w]))
                fail_msg("%s of %s: none has '%s'", problems[i].program, problems[i].tensors, problems[i].words[w]);
        close_listed(&l);
    }
}

/* Of which some would exchange through more shared memory than a block has. */
static void candidates_keep_the_rules(void **state) {
    (void)state;
    static const struct {
        const char *program, *axes, *tensors;
    } columns[] = {
        {"v = var(x)", "0", "f16[13,2564102] f32[2564102]"},
        {"a = mean(x); v = var(x)", "0", "bf16[1079,18535] f32[18535] f32[18535]"},
        {"y = (x - mean(x)) / std(x)", "1", "bf16[7225,40,173] bf16[7225,40,173]"},
        {"y = (x - mean(x)) / std(x)", "0", "f16[280,178571] f16[280,178571]"},
        {"s = sum(x); m = max(f64(x))", "0", "f16[300,4096] f32[4096] f64[4096]"},
    };
    for (size_t i = 0; i < COUNT(columns); i++) {
        const kiln__pins nothing = KILN__PINS_NONE;
        listed l;
        open_listed(&l, columns[i].program, columns[i].axes, columns[i].tensors, 90);
        const int count = kiln__candidates_list(&l.given, &nothing, false, all);
        for (int c = 0; c < count; c++) {
            bound b;
            kiln__prepared p;
            char words[KILN__PINS_SIZE];
            kiln__pins_write(&all[c], words);
            setenv("KILN_SCHEDULE", words, 1);
            assert_int_equal(bound_create(&b, columns[i].program, columns[i].axes, NULL, columns[i].tensors), KILN_OK);
            unsetenv("KILN_SCHEDULE");
            if (!bound_prepare(&b, 90, &p)) {
                const char *fault = schedule_fault(&p.schedule, &p.problem, &l.device);
                if (!fault) fault = launch_fault(&p);
                if (fault) fail_msg("%s of %s, '%s': not %s", columns[i].program, columns[i].tensors, words, fault);
                kiln__prepared_free(&p);
            }
            bound_destroy(&b);
        }
        close_listed(&l);
    }
}

/* What is pinned is so in every candidate, and there are some. */
static void pins_hold_in_all_candidates(void **state) {
    (void)state;
    static const struct {
        int problem;
        const char *pins;
    } cases[] = {
        {0, "lanes 16"},
        {0, "block 128, shared"},
        {0, "stream, splits 3"},
        {0, "tile, rows 24"},
        {0, "vector 4, online"},
        {1, "rows 3, block 256"},
        {1, "cluster 4"},
        {1, "shared, persistent"},
        {2, "grid"},
        {4, "threads 16"},
        {4, "rows 32, stream"},
        {4, "vector 2, splits 7"},
        {4, "cluster 2"},
        {5, "tile"},
        {7, "threads 96, steps 3"},
        {5, "runs"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        listed l;
        kiln__pins pins;
        int built = 0;
        open_listed(&l, problems[cases[i].problem].program, problems[cases[i].problem].axes,
                    problems[cases[i].problem].tensors, 90);
        assert_int_equal(kiln__pins_parse(cases[i].pins, &pins), KILN_OK);
        const int count = kiln__candidates_list(&l.given, &pins, false, all);
        for (int c = 0; c < count; c++) {
            const kiln__pins *p = &all[c];
            kiln__schedule s;
            const bool alike =
                (pins.group < 0 || p->group == pins.group) && (pins.staging < 0 || p->staging == pins.staging) &&
                (!pins.threads || p->threads == pins.threads) &&
                (!pins.vector_width || p->vector_width == pins.vector_width) &&
                (!pins.rows_per_block || p->rows_per_block == pins.rows_per_block) &&
                (!pins.splits || p->splits == pins.splits) && (!pins.steps || p->steps == pins.steps) &&
                (!pins.cluster || p->cluster == pins.cluster) && (!pins.online || p->online == pins.online) &&
                (!pins.persistent || p->persistent == pins.persistent);
            if (!alike) fail_msg("'%s': candidate %d has something else", cases[i].pins, c);
            built += kiln__schedule_sketch(&l.given, p, &s);
        }
        if (!built) fail_msg("'%s': no candidate of %d is a schedule", cases[i].pins, count);
        close_listed(&l);
    }
}

/* The trees were fitted to the features that the model has now, in their order: a node tells a feature by its number.
 */
static void trees_know_the_features(void **state) {
    (void)state;
    char names[1024] = "";
    for (int f = 0; f < KILN__FEATURES; f++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", f ? " " : "", kiln__feature_names[f]);
    }
    assert_string_equal(kiln__tree_features, names);
    const size_t trees = COUNT(kiln__tree_roots) - 1, nodes = COUNT(kiln__tree_nodes);
    assert_int_equal(kiln__tree_roots[trees], nodes);
    assert_int_equal(COUNT(kiln__tree_leaves), nodes + trees);
    for (size_t t = 0; t < trees; t++)
        for (size_t n = kiln__tree_roots[t]; n < kiln__tree_roots[t + 1]; n++)
            for (int c = 0; c < 2; c++) {
                const size_t child = kiln__tree_nodes[n].child[c],
                             count = kiln__tree_roots[t + 1] - kiln__tree_roots[t];
                assert_true(kiln__tree_nodes[n].feature < KILN__FEATURES);
                /* Children lie behind their parents, so that every path ends. */
                if (child < KILN__TREE_LEAF) assert_in_range(child, n - kiln__tree_roots[t] + 1, count - 1);
                if (child >= KILN__TREE_LEAF) assert_true(child - KILN__TREE_LEAF <= count);
            }
}

/* Numbers of a device that a manifest tells may be of none: what is told is still ranked, without a division by zero.
 */
static void devices_of_next_to_nothing_are_ranked(void **state) {
    (void)state;
    const kiln__pins nothing = KILN__PINS_NONE;
    const int least[] = {1, 655, 65536};
    for (size_t p = 0; p < COUNT(problems); p++)
        for (size_t i = 0; i < COUNT(least); i++) {
            listed l;
            kiln__ranked *ranked;
            int count;
            open_listed(&l, problems[p].program, problems[p].axes, problems[p].tensors, 90);
            kiln__device device = *l.given.device;
            device.registers_per_sm = least[i];
            device.threads_per_sm = 1024;
            device.sm_count = 1;
            l.given.device = &device;
            assert_int_equal(kiln__rank(&l.given, &nothing, &ranked, &count), KILN_OK);
            for (int c = 0; c < count; c++) assert_true(ranked[c].slowdown > 0);
            free(ranked);
            close_listed(&l);
        }
}

/* The ranking is in order, the same each time, and does not know how many rows there are. */
static void rows_change_no_ranking(void **state) {
    (void)state;
    static const char *const tensors[] = {"f16[1,1000] f16[1,1000]", "f16[777,1000] f16[777,1000]",
                                          "f16[1000000,1000] f16[1000000,1000]", "f16[*,1000] f16[*,1000]"};
    const kiln__pins nothing = KILN__PINS_NONE;
    kiln__ranked *first = NULL;
    int first_count = 0;
    for (size_t i = 0; i < COUNT(tensors); i++) {
        listed l;
        kiln__ranked *ranked;
        int count;
        open_listed(&l, "y = softmax(x)", NULL, tensors[i], 90);
        assert_int_equal(kiln__rank(&l.given, &nothing, &ranked, &count), KILN_OK);
        assert_true(count > 50);
        for (int c = 1; c < count; c++) assert_true(ranked[c - 1].slowdown <= ranked[c].slowdown);
        assert_true(ranked[0].slowdown > 0);
        if (first) assert_int_equal(count, first_count);
        for (int c = 0; first && c < count; c++)
            assert_memory_equal(&ranked[c].point, &first[c].point, sizeof first[c].point);
        if (i) free(first);
        first = ranked;
        first_count = count;
        close_listed(&l);
    }
    free(first);
}

static void traits_class_the_tensors(void **state) {
    (void)state;
    bound b;
    kiln__prepared p;
    kiln__traits t;
    assert_int_equal(bound_create(&b, "y = (x - mean(x)) * r * w + c", NULL, NULL,
                                  "bf16[64,512] f32[64,1] f32[512] f16[512] e4m3[64,512]"),
                     KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &p), KILN_OK);
    assert_int_equal(kiln__traits_find(p.ir, &p.problem, &t), KILN_OK);
    assert_int_equal(t.phases, 1);
    assert_int_equal(t.inputs, 1);
    assert_int_equal(t.input_bytes, 2);
    assert_int_equal(t.invariants, 2);
    assert_int_equal(t.invariant_bytes, 6);
    assert_int_equal(t.outputs, 1);
    assert_int_equal(t.output_bytes, 1);
    assert_int_equal(t.widest, 2);
    assert_int_equal(t.narrowest, 1);
    assert_int_equal(t.carried, 1);
    assert_int_equal(t.online, -1);
    assert_true(t.reduce_weight > 0 && t.output_weight > t.reduce_weight);
    kiln__prepared_free(&p);
    bound_destroy(&b);
}

/* What is made of a maximum is there when the row's one column is added up. */
static void a_single_column_is_reduced_phase_by_phase(void **state) {
    (void)state;
    static const char *const programs[] = {"y = softmax(sort(x))", "y = softmax(cumsum(x))", "y = softmax(x)"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        bound b;
        kiln__prepared p;
        kiln__traits t;
        assert_int_equal(bound_create(&b, programs[i], NULL, NULL, "f32[56,1] f32[56,1]"), KILN_OK);
        assert_int_equal(bound_prepare(&b, 90, &p), KILN_OK);
        assert_int_equal(kiln__traits_find(p.ir, &p.problem, &t), KILN_OK);
        assert_int_equal(t.online, -1);
        kiln__prepared_free(&p);
        bound_destroy(&b);
    }
}

/* Rows that begin anywhere in a vector and have no whole one are not taken apart into single elements: then no vector
 * is left. */
static void pinned_rows_of_few_elements_have_vectors(void **state) {
    (void)state;
    int built = 0;
    for (int i = 0; i < 40 * 3 * 3; i++) {
        const int cols = 1 + i % 40, width = 2 << i / 40 % 3, lanes = 4 << i / 120;
        char pins[64], tensors[64];
        bound b;
        kiln__prepared prepared;
        snprintf(pins, sizeof pins, "lanes %d, registers, vector %d", lanes, width);
        snprintf(tensors, sizeof tensors, "f16[500,%d] f16[500,%d]", cols, cols);
        setenv("KILN_SCHEDULE", pins, 1);
        assert_int_equal(bound_create(&b, "y = softmax(x)", NULL, NULL, tensors), KILN_OK);
        unsetenv("KILN_SCHEDULE");
        if (!bound_prepare(&b, 90, &prepared)) {
            if (prepared.schedule.steps < 1) fail_msg("%s of %s: %s", pins, tensors, prepared.schedule.text);
            kiln__prepared_free(&prepared);
            built++;
        }
        bound_destroy(&b);
    }
    assert_true(built > 200);
}

/* Of an architecture that nothing is known of there is a device with twice the shared memory. */
static void values_of_all_rows_have_blocks_on_every_device(void **state) {
    static const char program[] = "s = sum(x * x * rsqrt(mean(x * x)), axes = 0)";
    (void)state;
    for (int cols = 1024; cols <= 65536; cols *= 2) {
        char tensors[80];
        bound b;
        kiln__prepared p;
        kiln__device device = kiln__device_typical(130);
        device.shared_per_block = device.shared_per_sm = 227 * 1024;
        snprintf(tensors, sizeof tensors, "f32[64,%d] f32[1,%d]", cols, cols);
        if (bound_create(&b, program, NULL, NULL, tensors)) fail_msg("%s", kiln_last_error());
        if (!kiln__prepare(b.program, b.tensors, NULL, &device, 0, &p)) {
            if (kiln__across_plan_of(&p.schedule)->blocks < 1)
                fail_msg("%d columns: %s in no blocks", cols, p.schedule.text);
            kiln__prepared_free(&p);
        } else if (!strstr(kiln_last_error(), "no schedule has room"))
            fail_msg("%s", kiln_last_error());
        bound_destroy(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_rows_of_few_elements_have_vectors),
        cmocka_unit_test(values_of_all_rows_have_blocks_on_every_device),
        cmocka_unit_test(candidates_are_schedules_of_their_own),
        cmocka_unit_test(candidates_keep_the_rules),
        cmocka_unit_test(pins_hold_in_all_candidates),
        cmocka_unit_test(rows_change_no_ranking),
        cmocka_unit_test(trees_know_the_features),
        cmocka_unit_test(devices_of_next_to_nothing_are_ranked),
        cmocka_unit_test(traits_class_the_tensors),
        cmocka_unit_test(a_single_column_is_reduced_phase_by_phase),
    };
    return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
