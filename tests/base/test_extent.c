/* SPDX-License-Identifier: Apache-2.0 */
/* Where tensors lie in memory: their range, slices of one array side by side, and which overlaps a launch refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/bound.h"
#include "base/extent.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static kiln_tensor tensor_of(const char *text) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    assert_int_equal(bound_tensors(text, tensors), 1);
    return tensors[0];
}

static void an_extent_holds_all_bytes_and_tells_slices(void **state) {
    (void)state;
    static const struct {
        const char *tensor;
        kiln__extent extent;
    } cases[] = {
        {"f32[]", {0, 4, 0, 4}},
        {"f32[1,1]{7,-3}", {0, 4, 0, 4}},
        {"f32[0,3]", {0, 0, 0, 0}},
        {"f32[2,3]", {0, 24, 4, 4}},
        {"f16[2,3]{-3,1}", {-6, 6, 2, 2}},
        {"f16[3]{-1}", {-4, 2, 2, 2}},
        {"f16[5]{0}", {0, 2, 0, 2}},
        {"f16[4,8]{16,1}", {0, 112, 32, 16}},
        {"f16[4,8]{-16,1}", {-96, 16, 32, 16}},
        {"f16[2,4,8]{64,16,1}", {0, 240, 32, 16}},
        {"f16[2,4,8]{100,16,1}", {0, 312, 200, 112}},
        {"f64[3]{2}", {0, 40, 16, 8}},
        {"f32[8,4]{1,16}", {0, 224, 64, 32}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_tensor tensor = tensor_of(cases[i].tensor);
        kiln__extent got = kiln__extent_of(&tensor), want = cases[i].extent;
        if (got.low != want.low || got.high != want.high || got.period != want.period || got.width != want.width)
            fail_msg("%s: [%lld, %lld), %lld of every %lld bytes", cases[i].tensor, (long long)got.low,
                     (long long)got.high, (long long)got.width, (long long)got.period);
    }
}

/* Two tensors, the second so many bytes ahead of the first. */
static const struct {
    const char *a, *b;
    int64_t ahead;
    bool overlap;
} pairs[] = {
    {"f32[8]", "f32[8]", 0, true},
    {"f32[8]", "f32[8]", 28, true},
    {"f32[8]", "f32[8]", 32, false},
    {"f32[8]", "f32[8]", -32, false},
    {"f32[8]{-1}", "f32[8]", 4, false},
    {"f32[8]{-1}", "f32[8]", -28, true},
    {"f32[0]", "f32[8]", 0, false},
    /* columns of one matrix */
    {"f32[8,4]{16,1}", "f32[8,4]{16,1}", 16, false},
    {"f32[8,4]{16,1}", "f32[8,4]{16,1}", 12, true},
    {"f32[8,4]{16,1}", "f32[8,4]{16,1}", 48, false},
    {"f32[8,4]{16,1}", "f32[8,4]{16,1}", 52, true},
    {"f32[8,4]{16,1}", "f32[8,4]{16,1}", -16, false},
    {"f32[8,4]{16,1}", "f32[8,8]{16,1}", 16, false},
    {"f32[8,4]{16,1}", "f32[8,13]{16,1}", 16, true},
    {"f32[8,4]{16,1}", "f16[8,4]{32,1}", 16, false},
    {"f32[8,4]{-16,1}", "f32[8,4]{16,1}", 16, false},
    {"f32[8,4]{16,1}", "f32[4,8]{1,16}", 16, false},
    {"f32[2,4,4]{64,16,1}", "f32[8,4]{16,1}", 16, false},
    /* every other element */
    {"f32[8]{2}", "f32[8]{2}", 4, false},
    {"f32[8]{2}", "f32[8]{2}", 8, true},
    {"f32[8]{2}", "f32[8]{-2}", 60, false},
    {"f32[8]{2}", "f32[8]{-2}", 56, true},
    /* periods that differ are not looked into: a false alarm */
    {"f32[8]{2}", "f32[4]{4}", 4, true},
};

static void slices_that_lie_side_by_side_do_not_overlap(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        kiln_tensor a = tensor_of(pairs[i].a), b = tensor_of(pairs[i].b);
        kiln__extent ea = kiln__extent_of(&a), eb = kiln__extent_of(&b);
        const char *base = (const char *)(uintptr_t)0x10000;
        if (kiln__extents_overlap(base, &ea, base + pairs[i].ahead, &eb) != pairs[i].overlap ||
            kiln__extents_overlap(base + pairs[i].ahead, &eb, base, &ea) != pairs[i].overlap)
            fail_msg("%s and %s, %lld bytes ahead: expected %s", pairs[i].a, pairs[i].b, (long long)pairs[i].ahead,
                     pairs[i].overlap ? "an overlap" : "none");
    }
}

/* Whether the tensors really share a byte, element by element. */
static bool share_a_byte(const kiln_tensor *a, const kiln_tensor *b, int64_t ahead) {
    bool bytes[4096] = {false}, shared = false;
    for (int t = 0; t < 2; t++) {
        const kiln_tensor *tensor = t ? b : a;
        int64_t count = 1, size = (int64_t)kiln_type_size(tensor->type);
        for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
        for (int64_t e = 0; e < count; e++) {
            int64_t at = 2048 + (t ? ahead : 0), rest = e;
            for (int i = tensor->rank - 1; i >= 0; i--) {
                at += rest % tensor->sizes[i] * tensor->strides[i] * size;
                rest /= tensor->sizes[i];
            }
            for (int64_t k = at; k < at + size; k++) {
                assert_true(k >= 0 && k < (int64_t)sizeof bytes);
                if (t)
                    shared |= bytes[k];
                else
                    bytes[k] = true;
            }
        }
    }
    return shared;
}

/* Small tensors of every kind at every distance: no overlap is missed. */
static void no_overlap_is_missed(void **state) {
    (void)state;
    static const char *const texts[] = {
        "f32[]",          "f32[5]",        "f32[5]{2}",      "f32[5]{-3}",         "f32[4,3]{6,1}",
        "f32[4,3]{-6,1}", "f32[3,4]{1,6}", "f16[4,3]{12,1}", "f32[2,2,3]{12,6,1}", "f32[2,2,3]{15,6,1}",
        "f32[2,3]{3,6}",  "f64[4]{3}",     "f32[3,3]{1,1}",  "f32[3,2]{0,4}",      "f16[2,3,2]{3,6,-1}",
    };
    int told_apart = 0;
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t j = 0; j < COUNT(texts); j++) {
            kiln_tensor a = tensor_of(texts[i]), b = tensor_of(texts[j]);
            kiln__extent ea = kiln__extent_of(&a), eb = kiln__extent_of(&b);
            for (int64_t ahead = -160; ahead <= 160; ahead += 2) {
                const char *base = (const char *)(uintptr_t)0x10000;
                bool overlap = kiln__extents_overlap(base, &ea, base + ahead, &eb);
                if (!overlap && share_a_byte(&a, &b, ahead))
                    fail_msg("%s and %s, %lld bytes ahead, share a byte", texts[i], texts[j], (long long)ahead);
                told_apart += !overlap;
            }
        }
    }
    assert_true(told_apart > 1000);
}

static void the_same_tensor_is_the_same_element_for_element(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"f32[2,3]", "f32[2,3]", true},      {"f32[2,3]", "i32[2,3]", true},      {"f32[2,3]", "f16[2,3]", false},
        {"f32[2,3]", "f32[3,2]", false},     {"f32[2,3]", "f32[6]", false},       {"f32[2,3]{4,1}", "f32[2,3]", false},
        {"f32[1,3]{9,1}", "f32[1,3]", true}, {"f32[2,1]{1,5}", "f32[2,1]", true}, {"f32[2,3]", "f32[1,1,2,3]", true},
        {"f32[1,3]", "f32[3]", true},        {"f32[]", "f32[1]", true},           {"f32[3,1]", "f32[3]", false},
        {"f32[2,3]", "f32[2,2,3]", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_tensor a = tensor_of(cases[i].a), b = tensor_of(cases[i].b);
        if (kiln__same_layout(&a, &b) != cases[i].same) fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_extent_holds_all_bytes_and_tells_slices),
        cmocka_unit_test(slices_that_lie_side_by_side_do_not_overlap),
        cmocka_unit_test(no_overlap_is_missed),
        cmocka_unit_test(the_same_tensor_is_the_same_element_for_element),
    };
    return cmocka_run_group_tests_name("extent", tests, NULL, NULL);
}
