/* SPDX-License-Identifier: Apache-2.0 */
/* How large a problem may be, and the sentences that refuse what no kernel serves; docs/limits.md lists them. Only
 * where an index needs 64 bits has it so many. Nothing here has memory behind it. */
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
#include "support/launch_fixture.h"
#include "support/schedule_rules.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FAR_COLUMNS "typedef long long kiln_index"
#define NEAR_COLUMNS "typedef int kiln_index"
#define FAR_ROWS "kiln_i64 q0 = q1 / args.extent1"
#define NEAR_ROWS "kiln_u32 q0 = kiln_divide(q1, args.extent1)"

static const struct {
    const char *program, *axes, *tensors;
    const char *text, *none; /* what the source has and what it has not */
} sizes[] = {
    {"s = sum(x)", NULL, "f32[8,1073741823] f32[8]", NEAR_COLUMNS, FAR_COLUMNS},
    {"s = sum(x)", NULL, "f32[8,1073741824] f32[8]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", NULL, "f32[2147483655] f32[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", NULL, "f32[2147483655]{0} f32[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", NULL, "u8[2147483655]{3} i64[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", NULL, "f64[1000000000000] f64[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", NULL, "u8[2305843009213693951]{3} i64[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = argmax(x)", NULL, "u8[1000000000000001]{-3} i64[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = reduce((a, b) -> a + b, x, 0)", NULL, "f32[2147483655]{2} f32[]", FAR_COLUMNS, NEAR_COLUMNS},
    {"s = sum(x)", "0", "f32[2147483655,3] f32[3]", FAR_COLUMNS, NEAR_COLUMNS},
    {"y = softmax(x)", "1", "f16[3,2147483655,2] f16[3,2147483655,2]", FAR_COLUMNS, NEAR_COLUMNS},
    {"y = softmax(x)", "0,2", "f16[65537,3,65537] f16[65537,3,65537]", FAR_COLUMNS, NEAR_COLUMNS},
    {"y = softmax(x)", NULL, "f16[2147483655,64] f16[2147483655,64]", NEAR_COLUMNS, "extent"},
    {"y = x + m", "all", "f16[3,2147483655] f16[3,1] f16[3,2147483655]", FAR_ROWS, NEAR_ROWS},
    {"y = x + m", "all", "f16[3,715827882] f16[3,1] f16[3,715827882]", NEAR_ROWS, FAR_ROWS},
    {"y = softmax(x + m)", NULL, "f16[3,715827883,8] f16[3,1,8] f16[3,715827883,8]", FAR_ROWS, NEAR_ROWS},
    {"y = softmax(x + m)", NULL, "f16[3,715827882,8] f16[3,1,8] f16[3,715827882,8]", NEAR_ROWS, FAR_ROWS},
};

static void indices_have_64_bits_where_they_need_them_and_only_there(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        bound b;
        kiln__prepared prepared;
        assert_int_equal(bound_create(&b, sizes[i].program, sizes[i].axes, NULL, sizes[i].tensors), KILN_OK);
        if (bound_prepare(&b, 90, &prepared))
            fail_msg("%s of %s: %s", sizes[i].program, sizes[i].tensors, kiln_last_error());
        if (!strstr(prepared.source, sizes[i].text) || strstr(prepared.source, sizes[i].none))
            fail_msg("%s of %s: expected '%s' and no '%s' in its source", sizes[i].program, sizes[i].tensors,
                     sizes[i].text, sizes[i].none);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

/* Sums and products of such sizes would not fit 64 bits: all schedules, one after another. */
static const struct {
    const char *schedule, *program, *axes, *tensors;
} extremes[] = {
    {"", "s = sum(x)", NULL, "u8[9223372036854775807] i64[]"},
    {"", "y = softmax(x)", NULL, "u8[2,4611686018427387903] u8[2,4611686018427387903]"},
    {"", "s = sum(x)", "0", "f16[200000000000000000,16] f16[16]"},
    {"", "y = softmax(x)", "0", "u8[576460752303423488,8] u8[576460752303423488,8]"},
    {"", "s = sum(x)", NULL, "f32[3,0]{4,-9223372036854775808} f32[3]"},
    {"", "y = x * 2", NULL, "f32[0,3]{-9223372036854775808,1} f32[0,3]{-9223372036854775808,1}"},
    {"tile", "y = softmax(x)", NULL, "u8[9223372036854775807] u8[9223372036854775807]"},
    {"tile", "s = sum(x)", NULL, "f32[5,0] f32[5]"},
    {"block 32, shared", "s = sum(a + b + c)", NULL,
     "u8[4611686018427387904] u8[4611686018427387904] u8[4611686018427387904] i64[]"},
    {"cluster 16, threads 32, shared", "y = softmax(x)", NULL, "u8[2305843009213693952,2] u8[2305843009213693952,2]"},
    {"grid", "y = softmax(x)", NULL, "u8[2305843009213693952,2] u8[2305843009213693952,2]"},
    {"threads 1, vector 1, stream, splits 4096", "s = sum(x)", "0", "u8[4096,2251799813685247] i64[2251799813685247]"},
    {"lanes 1, registers", "s = sum(x)", NULL, "u8[9223372036854775791]{1} i64[]"},
    {"threads 1, registers, vector 16", "s = sum(x)", "0", "u8[1152921504606846976,7] i64[7]"},
    {"tile", "s = sum(x)", NULL, "f16[8,512]@2 f16[8]"},
    {"", "y = softmax(x)", NULL, "f16[100,30]@2 f16[100,30]@2"},
    {"shared, single", "y = softmax(x)", NULL, "f16[8,1048576] f16[8,1048576]"},
    {"lanes 1", "s = sum(a * b); y = a - b", NULL, "f32[254] f32[254] f16[] f32[254]"},
    {"lanes 8", "s = sum(x)", "all", "f32[5,230584300921369393]{461168601842738786,0} f32[]"},
    /* Rows that are one element over and over: nothing of them is kept, however long they are. */
    {"", "y = softmax(x)", NULL, "i8[2,4611686018427387903]{0,0} i8[2,4611686018427387903]"},
    {"", "y = softmax(x)", NULL, "i8[4611686018427387903]{0} i8[4611686018427387903]"},
    {"shared", "s = sum(x)", "0", "i8[1099511627776,15]{0,1} i64[15]"},
    {"steps 1000", "y = a + b", NULL, "f16[201,4097]{1,201} f16[201,4097] f16[201,4097]"},
    {"", "y = a * b", NULL,
     "f64[2,2,288230376151711743]{576460752303423486,288230376151711743,1} f64[2,2,1]{1,2,0} "
     "f64[2,2,288230376151711743]{576460752303423486,288230376151711743,1}"},
    {"", "y = a + b + c + d + e + f + g + h", NULL,
     "u8[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64]"},
    {"", "y = a + b + c + d + e + f + g + h", "",
     "u8[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64] f64[100,64]"},
    {"threads 1", "y = x - max(x)", "0", "i8[4,1152921504606846976]{1,4} i8[4,1152921504606846976]"},
    {"threads 1", "y = x - max(x)", "0", "i8[1152921504606846976,4] i8[1152921504606846976,4]{1,1152921504606846976}"},
};

static void problems_of_any_size_have_schedules_by_the_rules(void **state) {
    (void)state;
    kiln__device device = kiln__device_typical(90);
    for (size_t i = 0; i < COUNT(extremes); i++) {
        bound b;
        kiln__prepared prepared;
        int attempt = 0;
        setenv("KILN_SCHEDULE", extremes[i].schedule, 1);
        kiln_status status = bound_create(&b, extremes[i].program, extremes[i].axes, NULL, extremes[i].tensors);
        unsetenv("KILN_SCHEDULE");
        assert_int_equal(status, KILN_OK);
        for (; !(status = kiln__prepare(b.program, b.tensors, NULL, &device, attempt, &prepared)); attempt++) {
            const char *fault = schedule_fault(&prepared.schedule, &prepared.problem, &device);
            if (!fault) fault = launch_fault(&prepared);
            if (fault || attempt > 32)
                fail_msg("%s of %s, '%s', attempt %d: not %s", extremes[i].program, extremes[i].tensors,
                         prepared.schedule.text, attempt, fault ? fault : "an end of attempts");
            kiln__prepared_free(&prepared);
        }
        if (status != KILN_E_UNSUPPORTED || (!attempt && !*extremes[i].schedule))
            fail_msg("%s of %s: %s", extremes[i].program, extremes[i].tensors, kiln_last_error());
        bound_destroy(&b);
    }
}

static const struct {
    const char *schedule, *program, *axes, *tensors, *sentence;
} pinned[] = {
    {"stream", "y = x + 1", NULL, "f32[64] f32[64]",
     "the pinned schedule is none for elementwise programs: expected "
     "threads N, a multiple of 32 up to 1024, and registers (up to 256 elements a thread)"},
    {"steps 1024", "y = x + 1", NULL, "f32[64] f32[64]",
     "the pinned schedule is none for elementwise programs: expected "
     "threads N, a multiple of 32 up to 1024, and registers (up to 256 elements a thread)"},
    {"shared", "y = softmax(x)", "0", "f32[10000000,64] f32[10000000,64]",
     "the pinned schedule is none for rows that lie side by side: expected threads 1 to 1024, and registers (up to "
     "256 elements a thread), shared (where a block's rows fit) or stream"},
    {"cluster 2, threads 8, rows 1024, vector 8", "y = x - max(x)", "0", "f16[128,65536] f16[128,65536]",
     "rows that lie side by side have no pinned schedule in clusters of 2: expected registers or shared, and blocks of "
     "fewer rows"},
    {"block 1024, shared", "y = softmax(x)", NULL, "f32[1073741824] f32[1073741824]",
     "no pinned schedule fits rows of 1073741824 columns"},
    {"registers", "y = softmax(x)", NULL, "f32[4,10000000] f32[4,10000000]",
     "no pinned schedule fits rows of 10000000 columns"},
    {"tile, rows 64", "y = softmax(x)", "0", "f16[64,3] f16[64,3]",
     "the pinned schedule is none for rows that lie side by side: expected no other words beside 'tile' than threads "
     "N, "
     "with it cluster N, and calls, outlined or loops"},
    {"tile, rows 4096", "y = softmax(x)", NULL, "f16[64,99] f16[64,99]",
     "no pinned tile fits rows of 99 columns: expected lanes N, a power of two up to 32, and rows N of up to 64 KB "
     "that "
     "are whole warps' lanes"},
    {"steps 4", "y = softmax(x)", NULL, "f32[4,1000] f32[4,1000]", "no pinned schedule fits rows of 1000 columns"},
    {"registers, batch 4", "y = softmax(x)", NULL, "f32[4,1000] f32[4,1000]",
     "no pinned schedule fits rows of 1000 columns"},
    /* Words of whole points, which are not compared with candidates, and of strategies that do not know them. */
    {"block 128, registers, vector 8, rows 1, cluster 1, splits 1, persistent", "y = rms_norm(x)", NULL,
     "bf16[4,4096] bf16[4,4096]", "no pinned schedule fits rows of 4096 columns"},
    {"block 128, registers, vector 8, rows 2, cluster 1, splits 8, persistent", "y = rms_norm(x)", NULL,
     "bf16[4,4096] bf16[4,4096]", "no pinned schedule fits rows of 4096 columns"},
    {"grid, threads 256, shared, vector 8, rows 2, cluster 1, splits 1, single", "y = rms_norm(x)", NULL,
     "bf16[4,4096] bf16[4,4096]", "no pinned schedule fits rows of 4096 columns"},
    {"block 128, shared, vector 8, rows 1, cluster 1, splits 4, single", "y = rms_norm(x)", NULL,
     "bf16[4,4096] bf16[4,4096]", "no pinned schedule fits rows of 4096 columns"},
    {"persistent", "y = cumsum(x)", NULL, "f32[4,1000] f32[4,1000]", "no pinned schedule fits rows of 1000 columns"},
    {"misaligned", "y = softmax(x)", NULL, "f32[4,1000] f32[4,1000]", "no pinned schedule fits rows of 1000 columns"},
    {"splits 4", "y = exp(x)", NULL, "f32[4,1000] f32[4,1000]",
     "the pinned schedule is none for elementwise programs: expected threads N, a multiple of 32 up to 1024, and "
     "registers (up to 256 elements a thread)"},
    {"online", "y = exp(x)", NULL, "f32[4,1000] f32[4,1000]",
     "the pinned schedule is none for elementwise programs: expected threads N, a multiple of 32 up to 1024, and "
     "registers (up to 256 elements a thread)"},
};

static void a_pinned_schedule_that_cannot_be_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(pinned); i++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        kiln_context *context = NULL;
        kiln_program *program = NULL;
        kiln_kernel *kernel = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_program_options how = KILN_PROGRAM_OPTIONS_INIT;
        const int first = 0;
        options.cache_dir = "";
        options.schedule = pinned[i].schedule;
        how.axes = pinned[i].axes ? &first : NULL;
        how.axis_count = 1;
        size_t count = bound_tensors(pinned[i].tensors, tensors);
        assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
        assert_int_equal(kiln_program_create(context, pinned[i].program, &how, &program), KILN_OK);
        assert_int_equal(kiln_compile(program, tensors, count, NULL, 0, 90, 0, 0, &kernel), KILN_E_UNSUPPORTED);
        kiln__pins pins;
        char words[KILN__PINS_SIZE], expected[1024];
        assert_int_equal(kiln__pins_parse(pinned[i].schedule, &pins), KILN_OK);
        kiln__pins_write(&pins, words);
        snprintf(expected, sizeof expected, "'%s': %s", words, pinned[i].sentence);
        assert_string_equal(kiln_last_error(), expected);
        assert_null(kernel);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
}

static const struct {
    const char *start, *axes, *tensors;
} lengthy[] = {
    {"y = x", "1", "f16[2,1048576] f16[2,1048576]"},   {"y = x", "0", "f16[2,1048576] f16[2,1048576]"},
    {"y = x", "1", "f64[2,100000] f64[2,100000]"},     {"y = x", "0", "f32[8,8] f32[8,8]"},
    {"y = x", "0", "f64[100000,64] f64[100000,64]"},   {"y = x", "0", "f32[16384]{0} f32[16384]"},
    {"s = sum(x)", "1", "f32[2,10000000] f32[2]"},     {"s = sum(x)", "0", "f32[10000000,64] f32[64]"},
    {"s = sum(x)", "0", "f16[10000000,512] f32[512]"}, {"s = sum(x)", "1", "i32[2,10000000] i32[2]"},
};

/* Blocks exchange what they combine through at most 48 KB of shared memory: of very many reductions a cluster needs
 * more, also where it keeps nothing of the row, then a block of many threads. */
static void many_reductions_have_schedules_by_the_rules(void **state) {
    (void)state;
    static const int counts[] = {24, 60, 150, 500};
    kiln__device device = kiln__device_typical(90);
    for (size_t i = 0; i < COUNT(lengthy) * COUNT(counts); i++) {
        bound b;
        kiln__prepared prepared;
        kiln__text text = {0};
        int attempt = 0, count = counts[i / COUNT(lengthy)];
        const char *tensors = lengthy[i % COUNT(lengthy)].tensors;
        kiln__text_puts(&text, lengthy[i % COUNT(lengthy)].start);
        for (int k = 0; k < count; k++) kiln__text_printf(&text, " - max(x * %d)", k + 2);
        char *program = kiln__text_take(&text);
        assert_int_equal(bound_create(&b, program, lengthy[i % COUNT(lengthy)].axes, NULL, tensors), KILN_OK);
        kiln_status status;
        while (!(status = kiln__prepare(b.program, b.tensors, NULL, &device, attempt, &prepared))) {
            const char *fault = schedule_fault(&prepared.schedule, &prepared.problem, &device);
            if (!fault) fault = launch_fault(&prepared);
            if (fault || ++attempt > 32)
                fail_msg("%d reductions of %s, '%s': not %s", count, tensors, prepared.schedule.text,
                         fault ? fault : "an end of attempts");
            kiln__prepared_free(&prepared);
        }
        const bool refused = status == KILN_E_LIMIT && count >= 150; /* it would compile for tens of seconds */
        if (refused) assert_non_null(strstr(kiln_last_error(), "machine instructions"));
        if (!attempt && !refused) fail_msg("%d reductions of %s: %s", count, tensors, kiln_last_error());
        free(program);
        bound_destroy(&b);
    }
}

static void a_program_has_so_many_names(void **state) {
    (void)state;
    for (int count = 4096; count <= 4097; count++) {
        bound b;
        kiln__text text = {0};
        for (int i = 0; i < count; i++) kiln__text_printf(&text, "n%d=1\n", i);
        char *program = kiln__text_take(&text);
        kiln_status status = bound_create_outputs(&b, program, "n1", NULL, NULL, "");
        assert_int_equal(status, count > 4096 ? KILN_E_LIMIT : KILN_OK);
        if (status) assert_non_null(strstr(kiln_last_error(), "the program has more than 4096 names"));
        free(program);
        bound_destroy(&b);
    }
}

static void more_blocks_than_a_grid_has_are_refused(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "s = sum(x)");
    launch_expect(launch_run(program, "i8[1000000000000000000,8]{0,1} i8[1000000000000000000]"), KILN_E_UNSUPPORTED,
                  "1000000000000000000 rows need a larger grid than a device has");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_have_64_bits_where_they_need_them_and_only_there),
        cmocka_unit_test(problems_of_any_size_have_schedules_by_the_rules),
        cmocka_unit_test(a_pinned_schedule_that_cannot_be_is_refused),
        cmocka_unit_test(many_reductions_have_schedules_by_the_rules),
        cmocka_unit_test(a_program_has_so_many_names),
        WITH_LAUNCHES(more_blocks_than_a_grid_has_are_refused),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
