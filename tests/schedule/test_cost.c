/* SPDX-License-Identifier: Apache-2.0 */
/* How much machine code a text may ask for: what is large is called rather than inlined, and compiles within bounds;
 * what would be too large is refused. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/bound.h"
#include "schedule/cost.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "before f(f(x)) behind": `times` calls of the function, one within the other. */
static char *chain(const char *before, const char *function, int times, const char *behind) {
    kiln__text text = {0};
    kiln__text_puts(&text, before);
    for (int i = 0; i < times; i++) kiln__text_printf(&text, "%s(", function);
    kiln__text_puts(&text, "x");
    for (int i = 0; i < times; i++) kiln__text_puts(&text, ")");
    kiln__text_puts(&text, behind);
    return kiln__text_take(&text);
}

typedef struct cost_case {
    const char *before, *function;
    int times;
    const char *behind, *axes, *tensors;
    const char *pins;     /* of large code, where what would be chosen has less */
    kiln__inlining least; /* of what is not inlined */
    size_t most_bytes;    /* of the cubin for sm_90 */
} cost_case;

static const cost_case cases[] = {
    {"y = ", "lgamma", 1, "", NULL, "f16[*,1024] f16[*,1024]", "", KILN__INLINE_ALL, 48000},
    {"y = softmax(", "", 0, ")", NULL, "f16[*,8192] f16[*,8192]", "", KILN__INLINE_ALL, 24000},
    {"s = sum(", "lgamma", 10, ")", "0", "f16[2000,1024] f16[1024]", "", KILN__INLINE_LIGHT, 64000},
    {"y = x - sum(", "lgamma", 60, ")", NULL, "f16[*,1024] f16[*,1024]", "", KILN__INLINE_LIGHT, 96000},
    {"y = softmax(", "erfinv", 60, ")", NULL, "f32[*,8192] f32[*,8192]", "", KILN__INLINE_LIGHT, 128000},
    {"y = softmax(", "7 % ", 90, ")", NULL, "f64[*,4096] f64[*,4096]", "", KILN__INLINE_LIGHT, 128000},
    {"y = ", "3 / ", 180, "", NULL, "f32[*,1024] f32[*,1024]", "threads 128, steps 2, vector 4", KILN__INLINE_LIGHT,
     128000},
    {"y = softmax(", "1 - 3 * ", 180, ")", NULL, "f16[*,8192] f16[*,8192]", "block 128, cluster 1, registers, phased",
     KILN__INLINE_OUTLINED, 128000},
};

static void what_is_large_is_called(void **state) {
    (void)state;
    const kiln__nvrtc *nvrtc = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc)) print_message("%s\n", kiln_last_error());
    for (size_t i = 0; i < COUNT(cases); i++) {
        const cost_case *c = &cases[i];
        bound b;
        kiln__prepared prepared;
        kiln__compile_result result = {0};
        char *text = chain(c->before, c->function, c->times, c->behind);
        setenv("KILN_SCHEDULE", c->pins, 1);
        const kiln_status status = bound_create(&b, text, c->axes, NULL, c->tensors);
        unsetenv("KILN_SCHEDULE");
        assert_int_equal(status, KILN_OK);
        if (bound_prepare(&b, 90, &prepared)) fail_msg("%s: %s", text, kiln_last_error());
        if (prepared.schedule.code.inlining < c->least || (!c->least && prepared.schedule.code.inlining))
            fail_msg("%s: %s", text, prepared.schedule.text);
        const kiln__compile_request request = {prepared.source, "cost.cu", 90, false};
        if (nvrtc && kiln__nvrtc_compile(nvrtc, &request, &result)) fail_msg("%s: %s", text, kiln_last_error());
        if (result.size > c->most_bytes) fail_msg("%s: %zu bytes, %s", text, result.size, prepared.schedule.text);
        /* The estimate is what bounds compile time: it must not be far below what there is. */
        if ((int64_t)result.size / 16 > 3 * prepared.schedule.code.instructions + 1500)
            fail_msg("%s: %zu bytes, %lld instructions estimated", text, result.size,
                     (long long)prepared.schedule.code.instructions);
        kiln__compile_result_free(&result);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
        free(text);
    }
}

/* Each phase computes anew what those before have computed of an element. */
static void too_much_is_refused_with_its_figure(void **state) {
    (void)state;
    kiln__text text = {0};
    bound b;
    kiln__prepared prepared;
    kiln__text_puts(&text, "fn f(x) = sin(x) + cos(x) * exp(x)\nfn g(x) = f(f(f(f(f(x)))))\nt0 = x");
    for (int i = 1; i <= 80; i++) kiln__text_printf(&text, "\nt%d = g(t%d) / sum(g(t%d))", i, i - 1, i - 1);
    kiln__text_puts(&text, "\ny = t80");
    char *program = kiln__text_take(&text);
    assert_int_equal(bound_create(&b, program, NULL, NULL, "f32[*,1024] f32[*,1024]"), KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_E_LIMIT);
    assert_non_null(strstr(kiln_last_error(), "machine instructions, which take too long to compile: at most 28000"));
    bound_destroy(&b);
    free(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_large_is_called),
        cmocka_unit_test(too_much_is_refused_with_its_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
