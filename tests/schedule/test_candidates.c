/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of schedules, the traits that they are listed by, and pins in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/bound.h"
#include "schedule/candidates.h"

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

static void candidates_are_schedules_of_their_own(void **state) {
    (void)state;
    static const int archs[] = {80, 90, 120};
    for (size_t n = 0; n < COUNT(problems) * COUNT(archs); n++) {
        const size_t i = n / COUNT(archs);
        const kiln__device device = kiln__device_typical(archs[n % COUNT(archs)]);
        bound b;
        kiln__prepared p;
        kiln__traits traits;
        if (bound_create(&b, problems[i].program, problems[i].axes, NULL, problems[i].tensors) ||
            bound_prepare(&b, device.arch, &p) || kiln__traits_find(p.ir, &p.problem, &traits))
            fail_msg("%s: %s", problems[i].program, kiln_last_error());
        const int count = kiln__candidates_list(&traits, &p.problem, &device, all);
        int different = 0;
        assert_in_range(count, 1, KILN__MOST_CANDIDATES - 1); /* none is left out */
        for (int c = 0; c < count; c++) {
            kiln__schedule s;
            if (kiln__schedule_choose(p.ir, &p.problem, &device, &all[c], 0, &s)) continue;
            check_words(&all[c], &p, &device, s.text);
            memcpy(texts[different], s.text, sizeof s.text);
            int same = 0;
            while (strcmp(texts[same], s.text)) same++;
            different += same == different;
        }
        assert_string_equal(texts[0], p.schedule.text); /* the library's own is the first */
        if (different < problems[i].least)
            fail_msg("%s of %s: %d schedules", problems[i].program, problems[i].tensors, different);
        for (size_t w = 0; w < COUNT(problems[i].words) && problems[i].words[w] && device.arch == 90; w++)
            if (!has(different, problems[i].words[w]))
                fail_msg("%s of %s: none has '%s'", problems[i].program, problems[i].tensors, problems[i].words[w]);
        kiln__prepared_free(&p);
        bound_destroy(&b);
    }
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
    assert_int_equal(t.row_bytes, 4);
    assert_int_equal(t.widest, 2);
    assert_int_equal(t.narrowest, 1);
    assert_int_equal(t.carried, 1);
    assert_int_equal(t.online, -1);
    assert_true(t.reduce_weight > 0 && t.output_weight > t.reduce_weight);
    kiln__prepared_free(&p);
    bound_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_schedules_of_their_own),
        cmocka_unit_test(traits_class_the_tensors),
    };
    return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
