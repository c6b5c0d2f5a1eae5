/* SPDX-License-Identifier: Apache-2.0 */
/* Tuned records: what has one and the same, where they are found, that they are obeyed, and that a wrong one costs
 * nothing. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/launch_fixture.h"
#include "cache/pack_writer.h"
#include "pack_file.h"
#include "runtime/tuned.h"
#include "cache/entry.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- keys ---- */

typedef struct problem {
    const char *text, *axes, *tensors;
} problem;

/* The key of a problem on a device (NULL: an H100), as 32 digits. */
static void key_of(const problem *p, const kiln__device *device, char digits[33]) {
    const kiln__device usual = kiln__device_typical(90);
    bound b;
    kiln__shaped shaped;
    kiln__ir *ir = NULL;
    kiln__problem built;
    kiln__key key;
    assert_int_equal(bound_create(&b, p->text, p->axes, NULL, p->tensors), KILN_OK);
    kiln_status status = kiln__program_bind(b.program, b.tensors, b.scalars, &shaped, &ir);
    if (!status) status = kiln__problem_build(ir, &shaped, &built);
    if (status) fail_msg("%s, %s: %s", p->text, p->tensors, kiln_last_error());
    assert_int_equal(kiln__tuned_key(ir, &built, device ? device : &usual, &key), KILN_OK);
    assert_true(kiln__key_is_record(key.material, key.size));
    strcpy(digits, key.hex);
    kiln__key_free(&key);
    kiln__ir_destroy(ir);
    bound_destroy(&b);
}

static void rows_and_names_are_no_part_of_a_key(void **state) {
    (void)state;
    static const struct {
        problem first, second;
    } same[] = {
        {{"y = softmax(x)", NULL, "f16[8,1024] f16[8,1024]"}, {"y = softmax(x)", NULL, "f16[*,1024] f16[*,1024]"}},
        {{"y = softmax(x)", NULL, "f16[8,1024] f16[8,1024]"}, {"y = softmax(x)", NULL, "f16[1,1024] f16[1,1024]"}},
        {{"y = softmax(x)", NULL, "f16[8,1024] f16[8,1024]"},
         {"out = softmax(in) # said in other words", NULL, "f16[4,7,1024] f16[4,7,1024]"}},
        {{"y = rms_norm(x, w)", NULL, "f16[8,1001] f16[1001] f16[8,1001]"},
         {"y = rms_norm(x, w)", NULL, "f16[70000,1001] f16[1001] f16[70000,1001]"}},
        {{"y = rms_norm(x, w)", NULL, "f16[1,1001] f16[1001] f16[1,1001]"},
         {"y = rms_norm(x, w)", NULL, "f16[2,1001] f16[1001] f16[2,1001]"}},
        {{"y = softmax(x)", NULL, "f16[8,100]{104,1} f16[8,100]"},
         {"y = softmax(x)", NULL, "f16[3,100]{104,1} f16[3,100]"}},
        {{"s = sum(x)", "0", "f32[4096,1024] f32[1024]"}, {"s = sum(x)", "0", "f32[4096,37] f32[37]"}},
        {{"s = sum(x)", "0", "f32[4096,1024] f32[1024]"}, {"s = sum(x)", "0", "f32[4096,1] f32[1]"}},
        {{"y = softmax(x)", "1", "f16[5,64,1000] f16[5,64,1000]"}, {"y = softmax(x)", "1", "f16[1,64,7] f16[1,64,7]"}},
        {{"y = x * 2", NULL, "f16[8,1024] f16[8,1024]"}, {"y = x * 2", NULL, "f16[*,1000] f16[*,1000]"}},
        {{"y = x * w", NULL, "f16[8,1000] f16[1000] f16[8,1000]"},
         {"y = x * w", NULL, "f16[9,1000] f16[1000] f16[9,1000]"}},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        char first[33], second[33];
        key_of(&same[i].first, NULL, first);
        key_of(&same[i].second, NULL, second);
        if (strcmp(first, second) != 0)
            fail_msg("%s: '%s' and '%s' have different keys", same[i].first.text, same[i].first.tensors,
                     same[i].second.tensors);
    }
}

static void what_a_schedule_is_chosen_by_is_in_the_key(void **state) {
    (void)state;
    static const problem different[] = {
        {"y = softmax(x)", NULL, "f16[8,1024] f16[8,1024]"},
        {"y = softmax(x)", NULL, "f16[8,1023] f16[8,1023]"},
        {"y = softmax(x)", NULL, "bf16[8,1024] bf16[8,1024]"},
        {"y = softmax(x)", NULL, "f16[8,1024] f32[8,1024]"},
        {"y = softmax(x)", NULL, "f16[8,1024]@8 f16[8,1024]"},
        {"y = softmax(x)", NULL, "f16[8,1024] f16[8,1024]@2"},
        {"y = softmax(x)", NULL, "f16[8,1024]{1032,1} f16[8,1024]"},
        {"y = softmax(x)", NULL, "f16[8,1024]{1025,1} f16[8,1024]"},
        {"y = softmax(x)", "0", "f16[1024,8] f16[1024,8]"},
        {"y = softmax(x + w)", "1", "f32[8,256,64] f32[8,256,1] f32[8,256,64]"},
        {"y = softmax(x + w)", "1", "f32[8,256,64] f32[8,256,64] f32[8,256,64]"},
        {"y = log_softmax(x)", NULL, "f16[8,1024] f16[8,1024]"},
        {"y = softmax(x * 2)", NULL, "f16[8,1024] f16[8,1024]"},
        {"y = softmax(x * 3)", NULL, "f16[8,1024] f16[8,1024]"},
        {"y = softmax(x + m)", NULL, "f16[8,1024] f16[1024] f16[8,1024]"},
        {"y = softmax(x + m)", NULL, "f16[8,1024] f16[8,1024] f16[8,1024]"},
        {"y = softmax(x + m)", NULL, "f16[8,1024] f16[8,1] f16[8,1024]"},
        {"y = x * w", NULL, "f16[8,1000] f16[1000] f16[8,1000]"},
        {"y = x * w", NULL, "f16[8,999] f16[999] f16[8,999]"},
        {"y = reduce((a, b) -> a + b, x, 0)", NULL, "f32[8,64] f32[8]"},
        {"y = reduce((a, b) -> a * b, x, 0)", NULL, "f32[8,64] f32[8]"},
        {"y = reduce((a, b) -> a + b, x, 1)", NULL, "f32[8,64] f32[8]"},
    };
    char keys[COUNT(different) + 3][33];
    for (size_t i = 0; i < COUNT(different); i++) key_of(&different[i], NULL, keys[i]);
    const kiln__device other = kiln__device_typical(80);
    kiln__device fewer = kiln__device_typical(90), slower = fewer;
    fewer.sm_count--;
    slower.bandwidth--;
    key_of(&different[0], &other, keys[COUNT(different)]);
    key_of(&different[0], &fewer, keys[COUNT(different) + 1]);
    key_of(&different[0], &slower, keys[COUNT(different) + 2]);
    for (size_t i = 0; i < COUNT(keys); i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(keys[i], keys[j])) fail_msg("problems %zu and %zu have one key", j, i);
}

/* ---- what is found is obeyed ---- */

static const char text[] = "y = softmax(x)", tensors[] = "f16[8,1024] f16[8,1024]";
#define MEASURED "block 64, shared, vector 4"

/* The key of the tensors on the stand-in's device. */
static kiln__key current_key(const launch_fixture *f, const char *of) {
    const problem p = {text, NULL, of};
    kiln__device device;
    bound b;
    kiln__shaped shaped;
    kiln__ir *ir = NULL;
    kiln__problem built;
    kiln__key key;
    assert_int_equal(kiln__driver_device(f->driver, 0, &device), KILN_OK);
    assert_int_equal(bound_create(&b, p.text, p.axes, NULL, p.tensors), KILN_OK);
    assert_int_equal(kiln__program_bind(b.program, b.tensors, b.scalars, &shaped, &ir), KILN_OK);
    assert_int_equal(kiln__problem_build(ir, &shaped, &built), KILN_OK);
    assert_int_equal(kiln__tuned_key(ir, &built, &device, &key), KILN_OK);
    kiln__ir_destroy(ir);
    bound_destroy(&b);
    return key;
}

static void put_record(kiln_context *context, const kiln__key *key, const char *pins) {
    const kiln__entry entry = kiln__tuned_entry(pins, "y = softmax(x)", "", 90);
    assert_true(kiln__disk_put_tuned(context->disk, key, &entry));
}

/* Who chose the plan's schedule; words: what its description has. */
static kiln_schedule_origin origin_of(const kiln_program *program, const char *of, const char *words) {
    kiln_tensor given[KILN_MAX_TENSORS];
    kiln_plan *plan = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    const size_t count = bound_tensors(of, given);
    if (kiln_plan_create(program, given, count, NULL, 0, &plan)) fail_msg("%s", kiln_last_error());
    assert_string_equal(kiln_last_error(), "");
    assert_int_equal(kiln_plan_get_info(plan, &info), KILN_OK);
    if (words && !strstr(info.schedule, words)) fail_msg("'%s' has no '%s'", info.schedule, words);
    if (info.schedule_origin == KILN_SCHEDULE_RECORD) assert_non_null(strstr(info.reason, "tuned record"));
    kiln_plan_destroy(plan);
    return info.schedule_origin;
}

/* A context remembers what took a while to choose: other rows of the same columns have the schedule that they have in a
 * context that has chosen nothing yet. */
static void what_is_remembered_changes_no_choice(void **state) {
    static const struct {
        const char *program, *axes, *shapes[5];
    } cases[] = {
        {"y = x + 1",
         NULL,
         {"f16[100000] f16[100000]", "f16[7] f16[7]", "f16[1] f16[1]", "f16[99999999] f16[99999999]",
          "f16[3000000000] f16[3000000000]"}},
        {"y = gelu(x * w)",
         NULL,
         {"bf16[90000,1000] f32[1000] bf16[90000,1000]", "bf16[1,1000] f32[1000] bf16[1,1000]",
          "bf16[3,1000] f32[1000] bf16[3,1000]", "bf16[9000000,1000] f32[1000] bf16[9000000,1000]"}},
        {"y = x * 2", /* transposed */
         NULL,
         {"f32[64,128,96]{12288,1,128} f32[64,128,96]", "f32[1,128,96]{12288,1,128} f32[1,128,96]",
          "f32[2,128,96]{12288,1,128} f32[2,128,96]"}},
        {"y = softmax(x)", "1", {"f16[7,1000] f16[7,1000]", "f16[90000,1000] f16[90000,1000]"}},
        {"y = softmax(x)",
         "0",
         {"f16[300,4096] f16[300,4096]", "f16[300,13] f16[300,13]", "f16[300,4097] f16[300,4097]",
          "f16[300,64]@2 f16[300,64]", "f16[300,2]{9,1} f16[300,2]"}},
        {"s = sum(x * w)",
         "1",
         {"f32[9,5000,3] f32[5000,1] f32[9,3]", "f32[2,5000,64] f32[5000,1] f32[2,64]",
          "f32[1,5000,1000] f32[5000,1] f32[1,1000]"}},
    };
    const kiln__device device = kiln__device_typical(90);
    (void)state;
    for (size_t c = 0; c < COUNT(cases); c++) {
        bound before;
        assert_int_equal(bound_create(&before, cases[c].program, cases[c].axes, NULL, cases[c].shapes[0]), KILN_OK);
        for (size_t i = 0; i < COUNT(cases[c].shapes) && cases[c].shapes[i]; i++) {
            bound fresh;
            kiln__prepared expected, got;
            assert_int_equal(bound_create(&fresh, cases[c].program, cases[c].axes, NULL, cases[c].shapes[i]), KILN_OK);
            assert_int_equal(kiln__prepare(fresh.program, fresh.tensors, NULL, &device, 0, &expected), KILN_OK);
            assert_int_equal(kiln__prepare(before.program, fresh.tensors, NULL, &device, 0, &got), KILN_OK);
            assert_string_equal(got.source, expected.source);
            kiln__prepared_free(&expected);
            kiln__prepared_free(&got);
            bound_destroy(&fresh);
        }
        bound_destroy(&before);
    }
}

static void a_record_on_disk_chooses_for_all_numbers_of_rows(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, text);
    kiln__key key = current_key(f, tensors);
    assert_int_equal(origin_of(program, tensors, NULL), KILN_SCHEDULE_MODEL);
    put_record(context, &key, MEASURED);
    assert_int_equal(origin_of(program, tensors, NULL), KILN_SCHEDULE_MODEL); /* known not to be there */
    kiln_context *later = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *again = launch_program(later, text);
    assert_int_equal(origin_of(again, tensors, "block 64, shared"), KILN_SCHEDULE_RECORD);
    assert_int_equal(origin_of(again, "f16[1,1024] f16[1,1024]", "block 64, shared"), KILN_SCHEDULE_RECORD);
    assert_int_equal(origin_of(again, "f16[70000,1024] f16[70000,1024]", "block 64, shared"), KILN_SCHEDULE_RECORD);
    assert_int_equal(origin_of(again, "f16[8,1000] f16[8,1000]", NULL), KILN_SCHEDULE_MODEL);
    assert_true(kiln__disk_remove_tuned(later->disk, &key));
    assert_false(kiln__disk_remove_tuned(later->disk, &key));
    kiln__key_free(&key);
    kiln_program_destroy(program);
    kiln_program_destroy(again);
    kiln_context_destroy(context);
    kiln_context_destroy(later);
}

static void a_pin_goes_before_a_record(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.schedule = "block 128, shared";
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    kiln_program *program = launch_program(context, text);
    kiln__key key = current_key(f, tensors);
    put_record(context, &key, MEASURED);
    assert_int_equal(origin_of(program, tensors, "block 128, shared"), KILN_SCHEDULE_PIN);
    kiln__key_free(&key);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void a_record_that_is_wrong_costs_nothing(void **state) {
    launch_fixture *f = *state;
    static const char *const wrong[] = {"",          "no words of ours", "block 64, shared, vector 4, and more",
                                        "splits 99", "block 4096",       "registers, lanes 1"};
    static const char *const told[] = {NULL, /* a text of no words pins nothing */
                                       "the tuned record of 'y = softmax(x)' cannot be read and is ignored: 'no words",
                                       "the tuned record of 'y = softmax(x)' cannot be read and is ignored: 'and more'",
                                       NULL,
                                       "is ignored: 'block 4096': no pinned schedule fits",
                                       "is ignored: 'lanes 1, registers': no pinned schedule fits"};
    kiln__key key = current_key(f, tensors);
    f->detail = KILN_LOG_DETAIL_INFO;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, text);
        put_record(context, &key, wrong[i]);
        const kiln_schedule_origin origin = origin_of(program, tensors, NULL);
        if (*wrong[i] && origin != KILN_SCHEDULE_MODEL && strcmp(wrong[i], "splits 99") != 0)
            fail_msg("'%s' is obeyed", wrong[i]);
        if (told[i] && !strstr(f->message, told[i])) fail_msg("of '%s' the log was told '%s'", wrong[i], f->message);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    kiln__key_free(&key);
}

/* What names another problem, lies under another's name, or has a byte changed. */
static void a_foreign_or_damaged_record_is_as_none(void **state) {
    launch_fixture *f = *state;
    kiln__key key = current_key(f, tensors), other = current_key(f, "f16[8,1000] f16[8,1000]");
    char path[256], from[256];
    snprintf(path, sizeof path, "%s/%.2s/%s.t1", f->dir, key.hex, key.hex);
    snprintf(from, sizeof from, "%s/%.2s/%s.t1", f->dir, other.hex, other.hex);
    for (int damage = 0; damage < 3; damage++) {
        kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
        kiln_program *program = launch_program(context, text);
        put_record(context, &key, MEASURED);
        put_record(context, &other, MEASURED);
        if (damage == 0) launch_copy(from, path);
        FILE *file = damage ? fopen(path, "r+b") : NULL;
        if (damage == 1) {
            assert_int_equal(fseek(file, 90, SEEK_SET), 0);
            assert_int_equal(fputc('~', file), '~');
        }
        if (damage == 2) assert_int_equal(ftruncate(fileno(file), 100), 0);
        if (file) fclose(file);
        assert_int_equal(origin_of(program, tensors, NULL), KILN_SCHEDULE_MODEL);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    kiln__key_free(&key);
    kiln__key_free(&other);
}

static void a_pack_brings_records_and_nothing_is_compiled(void **state) {
    launch_fixture *f = *state;
    char pack[160];
    size_t size;
    snprintf(pack, sizeof pack, "%s/records.kpack", f->dir);
    kiln__key key = current_key(f, tensors);
    const kiln__entry entry = kiln__tuned_entry(MEASURED, "y = softmax(x)", "", 90);
    const kiln__nvrtc_version none = {0, 0, ""};
    kiln__pack_writer writer = {NULL, 0, 0};
    assert_int_equal(kiln__pack_writer_add(&writer, &key, &entry, &none), KILN_OK);
    assert_int_equal(pack_file_save(&writer, pack, &size), KILN_OK);
    kiln__pack_writer_free(&writer);
    const kiln_pack packs[] = {{pack, NULL, 0}};
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = f->dir;
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.packs = packs;
    options.pack_count = 1;
    for (int never = 0; never < 2; never++) {
        kiln_context *context = NULL;
        options.policy = never ? KILN_POLICY_NEVER_COMPILE : KILN_POLICY_COMPILE;
        assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
        kiln_program *program = launch_program(context, text);
        assert_int_equal(origin_of(program, tensors, "block 64, shared"), KILN_SCHEDULE_RECORD);
        kiln_program_destroy(program);
        kiln_context_destroy(context);
    }
    assert_int_equal(launch_compiles(f), 1);
    kiln__key_free(&key);
}

/* Where what a record names would have to be compiled and must not be, the library's own choice does. */
static void a_record_without_its_kernel_gives_way(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, text);
    kiln__key key = current_key(f, tensors);
    assert_int_equal(origin_of(program, tensors, NULL), KILN_SCHEDULE_MODEL);
    put_record(context, &key, MEASURED);
    kiln_context *never = launch_context(f, f->dir, KILN_POLICY_NEVER_COMPILE);
    kiln_program *same = launch_program(never, text);
    assert_int_equal(origin_of(same, tensors, NULL), KILN_SCHEDULE_MODEL);
    assert_non_null(strstr(f->message, "a tuned record is ignored, as its kernel cannot be had: the kernel for 'y = "));
    assert_int_equal(f->messages, 1);
    assert_int_equal(launch_compiles(f), 1);
    kiln__key_free(&key);
    kiln_program_destroy(program);
    kiln_program_destroy(same);
    kiln_context_destroy(context);
    kiln_context_destroy(never);
}

/* ---- how many there may be ---- */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static kiln__key numbered_key(int number) {
    kiln__key key;
    assert_int_equal(kiln__key_of_record(&number, sizeof number, &key), KILN_OK);
    return key;
}

/* Found, not found, found again in memory: the last as fast with many as with few. */
static void look_ups_among_many_are_fast(void **state) {
    launch_fixture *f = *state;
    enum { records = 20000, asked = 2000 };
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln__pins pins;
    bool found;
    for (int i = 0; i < records; i++) { /* as files: putting them one by one waits for the disk each time */
        kiln__key key = numbered_key(i);
        char sub[160];
        const kiln__entry entry = kiln__tuned_entry(MEASURED, "y", "", 90);
        size_t size;
        uint8_t *bytes = kiln__entry_encode(&key, &entry, &size);
        snprintf(sub, sizeof sub, "%s/%.2s", f->dir, key.hex);
        mkdir(sub, 0700);
        char path[224];
        snprintf(path, sizeof path, "%s/%s.t1", sub, key.hex);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        fclose(file);
        chmod(path, 0600);
        free(bytes);
        kiln__key_free(&key);
    }
    for (int pass = 0; pass < 2; pass++) {
        const double start = seconds_now();
        for (int i = 0; i < 2 * asked; i++) {
            kiln__key key = numbered_key(i % 2 ? i * 3 % records : records + i);
            assert_int_equal(kiln__tuned_find(context, &key, &found, &pins), KILN_OK);
            assert_int_equal(found, i % 2);
            assert_true(!found || (pins.threads == 64 && pins.vector_width == 4));
            kiln__key_free(&key);
        }
        const double each = (seconds_now() - start) / (2 * asked) * 1e6;
        print_message("%s: %.1f us\n", pass ? "in memory" : "on disk", each);
        assert_true(each < (pass ? 50 : 500)); /* far above what it takes, for machines that are busy */
    }
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_names_are_no_part_of_a_key),
        cmocka_unit_test(what_a_schedule_is_chosen_by_is_in_the_key),
        cmocka_unit_test(what_is_remembered_changes_no_choice),
        WITH_LAUNCHES(a_record_on_disk_chooses_for_all_numbers_of_rows),
        WITH_LAUNCHES(a_pin_goes_before_a_record),
        WITH_LAUNCHES(a_record_that_is_wrong_costs_nothing),
        WITH_LAUNCHES(a_foreign_or_damaged_record_is_as_none),
        WITH_LAUNCHES(a_pack_brings_records_and_nothing_is_compiled),
        WITH_LAUNCHES(a_record_without_its_kernel_gives_way),
        WITH_LAUNCHES(look_ups_among_many_are_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
