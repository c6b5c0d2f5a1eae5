/* SPDX-License-Identifier: Apache-2.0 */
/* Packs: what is written is found again, damage is told of once and hurts nothing, and kernels come from packs without
 * NVRTC. Also the brief source that names kernels: it tells exactly as much as the whole one. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache/checksum.h"
#include "support/fuzz_draw.h"
#include "support/launch_fixture.h"
#include "runtime/packing.h"
#include "pack_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { KERNELS = 20, INVALID_IMAGE = 200 };

/* ---- the format ---- */

static const kiln__nvrtc_version made_by = {13, 0, "0123456789abcdef"};

/* A kernel of its own for each number. */
static void make_kernel(int number, kiln__key *name, kiln__entry *entry, char text[64]) {
    const kiln__key_parts parts = {text, kiln__nvrtc_options(), 90, false, 0, 0, "digest"};
    snprintf(text, 64, "source %d", number);
    assert_int_equal(kiln__key_make(&parts, name), KILN_OK);
    *entry = (kiln__entry){.facts = {.arch = 90,
                                     .registers = number,
                                     .spill_bytes = -1,
                                     .compile_ms = number,
                                     .created_unix = 12345 + number},
                           .image = text,
                           .image_size = strlen(text),
                           .name = "kiln_kernel",
                           .description = text,
                           .schedule = "block",
                           .log = ""};
}

static void add_kernel(kiln__pack_writer *writer, int number) {
    kiln__key name;
    kiln__entry entry;
    char text[64];
    make_kernel(number, &name, &entry, text);
    assert_int_equal(kiln__pack_writer_add(writer, &name, &entry, &made_by), KILN_OK);
    kiln__key_free(&name);
}

/* Adds kernels first, first + step, ... each once. */
static uint8_t *make_pack(int count, int first, int step, size_t *size) {
    kiln__pack_writer writer = {NULL, 0, 0};
    uint8_t *bytes = NULL;
    for (int i = 0; i < count; i++) add_kernel(&writer, (first + i * step) % count);
    assert_int_equal(kiln__pack_writer_finish(&writer, &bytes, size), KILN_OK);
    kiln__pack_writer_free(&writer);
    return bytes;
}

static kiln__bundle_result find(kiln__bundle *pack, int number, bool *right) {
    kiln__key name;
    kiln__entry expected, entry;
    char text[64];
    make_kernel(number, &name, &expected, text);
    kiln__bundle_result result = kiln__bundle_find(pack, &name, &entry);
    *right = result == KILN__IN_BUNDLE && entry.image_size == expected.image_size && entry.facts.registers == number &&
             !memcmp(entry.image, text, entry.image_size) && !strcmp(entry.description, text);
    kiln__key_free(&name);
    return result;
}

static void every_kernel_is_found_and_no_other(void **state) {
    (void)state;
    for (int count = 0; count <= KERNELS; count++) {
        size_t size;
        uint8_t *bytes = make_pack(count, 0, 1, &size);
        kiln__bundle *pack = NULL;
        bool right;
        assert_int_equal(kiln__bundle_open(NULL, bytes, size, &pack), KILN_OK);
        assert_int_equal(pack->count, count);
        for (int i = 0; i < count; i++) {
            assert_int_equal(find(pack, i, &right), KILN__IN_BUNDLE);
            assert_true(right);
            assert_string_equal(kiln__bundle_row_at(pack, (uint32_t)i).nvrtc_build, made_by.build);
        }
        assert_int_equal(find(pack, count, &right), KILN__NOT_IN_BUNDLE);
        kiln__bundle_close(pack);
        free(bytes);
    }
}

static void the_order_of_adding_changes_no_byte(void **state) {
    (void)state;
    size_t size, other_size;
    uint8_t *bytes = make_pack(KERNELS, 0, 1, &size);
    for (int step = 3; step < 15; step += 4) {
        uint8_t *other = make_pack(KERNELS, 5, step, &other_size);
        assert_int_equal(other_size, size);
        assert_memory_equal(other, bytes, size);
        free(other);
    }
    free(bytes);
}

/* Every byte of the pack matters: with one changed, it is refused, or the kernel whose entry it is in, and all others
 * are what they were. The bytes between entries are nobody's. */
static void a_damaged_byte_is_never_taken_for_a_kernel(void **state) {
    (void)state;
    enum { count = 3 };
    size_t size;
    uint8_t *bytes = make_pack(count, 0, 1, &size);
    size_t refused = 0, damaged = 0;
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= (uint8_t)(1 << at % 8);
        kiln__bundle *pack = NULL;
        if (kiln__bundle_open(NULL, bytes, size, &pack)) {
            refused++;
            assert_true(*kiln_last_error());
            assert_null(pack);
        } else {
            int told = 0;
            for (int i = 0; i < count; i++) {
                bool right;
                kiln__bundle_result result = find(pack, i, &right);
                told += result == KILN__DAMAGED_BUNDLE;
                assert_true(right || result != KILN__IN_BUNDLE);
            }
            damaged += (size_t)told;
            assert_true(told <= 1);
            kiln__bundle_close(pack);
        }
        bytes[at] ^= (uint8_t)(1 << at % 8);
    }
    assert_int_equal(refused, sizeof(kiln__bundle_head) + count * sizeof(kiln__bundle_row));
    assert_true(damaged + 3 * KILN__PACK_ALIGNMENT > size - refused);
    free(bytes);
}

static void a_pack_of_any_other_length_is_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = make_pack(3, 0, 1, &size);
    for (size_t length = 0; length < size; length++) {
        uint8_t *part = malloc(length ? length : 1); /* of its own, so that sanitizers see reading past its end */
        kiln__bundle *pack = NULL;
        assert_non_null(part);
        memcpy(part, bytes, length);
        assert_int_equal(kiln__bundle_open(NULL, part, length, &pack), KILN_E_FORMAT);
        assert_null(pack);
        free(part);
    }
    free(bytes);
}

/* With right checksums throughout, so that it comes to the numbers. */
static void numbers_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        uint64_t offset, size;
    } rows[] = {{0, 0}, {0, 48}, {UINT64_MAX, 1}, {UINT64_MAX - 15, 32}, {112, UINT64_MAX}, {113, 1}, {1 << 20, 16}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t size;
        uint8_t *bytes = make_pack(1, 0, 1, &size);
        kiln__bundle_row row;
        kiln__bundle *pack = NULL;
        bool right;
        memcpy(&row, bytes + sizeof(kiln__bundle_head), sizeof row);
        row.offset = rows[i].offset;
        row.size = rows[i].size;
        memcpy(bytes + sizeof(kiln__bundle_head), &row, sizeof row);
        kiln__bundle_checksum(bytes, 1, bytes + offsetof(kiln__bundle_head, checksum));
        assert_int_equal(kiln__bundle_open(NULL, bytes, size, &pack), KILN_OK);
        assert_int_equal(find(pack, 0, &right), KILN__DAMAGED_BUNDLE);
        assert_int_equal(find(pack, 0, &right), KILN__NOT_IN_BUNDLE); /* told once */
        kiln__bundle_close(pack);
        free(bytes);
    }
}

/* ---- in a context ---- */

static const char program_text[] = "y = softmax(x)", tensor_text[] = "f16[8,64]@256 f16[8,64]@256";

/* The pack with the program's kernel, made in the test's folder. */
static void bake_pack(launch_fixture *f, char path[128]) {
    kiln_context *context = launch_context(f, f->dir, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, program_text);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln__pack_writer writer = {NULL, 0, 0};
    size_t size;
    const kiln__device device = kiln__device_typical(90);
    bound_tensors(tensor_text, tensors);
    const kiln__call call = {.program = program, .tensors = tensors, .policy = KILN_POLICY_COMPILE};
    assert_int_equal(kiln__packing_add(&writer, &call, &device, false), KILN_OK);
    assert_int_equal(writer.count, 1);
    snprintf(path, 128, "%s/kernels.kpack", f->dir);
    assert_int_equal(pack_file_save(&writer, path, &size), KILN_OK);
    kiln__pack_writer_free(&writer);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void remember(void *user, kiln_log_level level, const char *message) {
    launch_fixture *f = user;
    (void)level;
    f->messages++;
    snprintf(f->message, sizeof f->message, "%s", message);
}

/* A context without NVRTC and without a disk cache, which must not compile. */
static kiln_context_options lonely(launch_fixture *f, const kiln_pack *packs, size_t count) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = "/nowhere/libnvrtc.so";
    options.policy = KILN_POLICY_NEVER_COMPILE;
    options.packs = packs;
    options.pack_count = count;
    options.log = remember;
    options.log_user = f;
    return options;
}

static kiln_status plan(const kiln_context_options *options, const char *text, kiln_origin *origin) {
    kiln_context *context = NULL;
    kiln_plan *made = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    size_t count = bound_tensors(tensor_text, tensors);
    assert_int_equal(kiln_context_create(options, &context), KILN_OK);
    assert_string_equal(kiln_last_error(), "");
    kiln_program *program = launch_program(context, text);
    kiln_status status = kiln_plan_create(program, tensors, count, NULL, 0, &made);
    if (!status) {
        assert_int_equal(kiln_plan_get_info(made, &info), KILN_OK);
        assert_non_null(strstr(info.source, "kiln_kernel")); /* whole, though nothing was compiled */
        assert_null(strstr(info.source, "#include"));
        *origin = info.origin;
    }
    kiln_plan_destroy(made);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

static uint8_t *read_file(const char *path, size_t *size) {
    uint8_t *bytes = malloc(1 << 20);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void a_pack_serves_without_nvrtc_and_without_a_disk_cache(void **state) {
    launch_fixture *f = *state;
    char path[128];
    bake_pack(f, path);
    const int compiles = launch_compiles(f);
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    const kiln_pack file = {path, NULL, 0}, embedded = {NULL, bytes, size};
    kiln_origin origin = KILN_ORIGIN_COMPILED;
    kiln_context_options options = lonely(f, &file, 1);
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_PACK);
    options = lonely(f, NULL, 1);
    kiln_context *none = NULL;
    launch_expect(kiln_context_create(&options, &none), KILN_E_ARGUMENT, "packs is NULL, expected 1");
    assert_null(none);
    options = lonely(f, &embedded, 1);
    options.policy = KILN_POLICY_COMPILE;
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_PACK);
    launch_expect(plan(&options, "y = log_softmax(x)", &origin), KILN_E_NO_NVRTC, NULL);
    options.policy = KILN_POLICY_NEVER_COMPILE;
    launch_expect(plan(&options, "y = log_softmax(x)", &origin), KILN_E_WOULD_COMPILE, NULL);
    assert_int_equal(f->messages, 0);
    assert_int_equal(launch_compiles(f), compiles);
    free(bytes);
}

static void a_pack_is_made_by_the_public_calls(void **state) {
    launch_fixture *f = *state;
    kiln_context *context = launch_context(f, "", KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, program_text);
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_pack_writer *writer = NULL;
    const void *bytes = NULL;
    size_t size = 0, again = 0;
    bound_tensors(tensor_text, tensors);
    launch_expect(kiln_pack_writer_create(&writer), KILN_OK, "");
    launch_expect(kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, 90, 0), KILN_OK, "");
    launch_expect(kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, 70, 0), KILN_E_ARCH,
                  "architecture sm_70 is asked for, expected sm_80 to sm_999");
    launch_expect(kiln_pack_writer_finish(writer, &bytes, &size), KILN_OK, "");
    launch_expect(kiln_pack_writer_add(writer, program, tensors, 2, NULL, 0, 90, 0), KILN_OK, ""); /* there already */
    launch_expect(kiln_pack_writer_finish(writer, &bytes, &again), KILN_OK, "");
    assert_int_equal(again, size);
    kiln_program_destroy(program); /* the writer has copies */
    kiln_context_destroy(context);
    const kiln_pack pack = {NULL, bytes, size};
    kiln_origin origin = KILN_ORIGIN_COMPILED;
    const kiln_context_options options = lonely(f, &pack, 1);
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_PACK);
    launch_expect(kiln_pack_writer_finish(writer, NULL, &size), KILN_E_ARGUMENT, "bytes is NULL");
    launch_expect(kiln_pack_writer_finish(NULL, &bytes, &size), KILN_E_ARGUMENT, "writer is NULL");
    launch_expect(kiln_pack_writer_create(NULL), KILN_E_ARGUMENT, NULL);
    kiln_pack_writer_destroy(writer);
    kiln_pack_writer_destroy(NULL);
}

static void packs_are_named_by_the_environment(void **state) {
    launch_fixture *f = *state;
    char path[128], list[300];
    bake_pack(f, path);
    snprintf(list, sizeof list, "%s/none.kpack:%s", f->dir, path);
    setenv("KILN_PACKS", list, 1);
    kiln_origin origin = KILN_ORIGIN_COMPILED;
    kiln_context_options options = lonely(f, NULL, 0);
    kiln_status status = plan(&options, program_text, &origin);
    unsetenv("KILN_PACKS");
    launch_expect(status, KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_PACK);
    assert_int_equal(f->messages, 1);
    snprintf(list, sizeof list, "pack '%s/none.kpack' cannot be opened: No such file or directory", f->dir);
    assert_string_equal(f->message, list);
}

static void packs_come_before_the_disk_cache(void **state) {
    launch_fixture *f = *state;
    char path[128];
    bake_pack(f, path);
    const kiln_pack pack = {path, NULL, 0};
    kiln_origin origin = KILN_ORIGIN_COMPILED;
    kiln_context_options options = lonely(f, &pack, 1);
    options.cache_dir = f->dir;
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_PACK);
    options.pack_count = 0;
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_DISK);
}

static void a_damaged_pack_is_told_of_once_and_passed_over(void **state) {
    launch_fixture *f = *state;
    char path[128], expected[300];
    bake_pack(f, path);
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    bytes[size - 20] ^= 1;
    write_file(path, bytes, size);
    const kiln_pack packs[] = {{path, NULL, 0}, {NULL, bytes, 10}, {NULL, NULL, 0}, {f->dir, NULL, 0}};
    kiln_origin origin = KILN_ORIGIN_PACK;
    kiln_context_options options = lonely(f, packs, 1);
    launch_expect(plan(&options, program_text, &origin), KILN_E_WOULD_COMPILE, NULL);
    assert_int_equal(f->messages, 1);
    snprintf(expected, sizeof expected, "pack '%s' is damaged: kernel ", path);
    assert_memory_equal(f->message, expected, strlen(expected));
    options.cache_dir = f->dir;
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_DISK);
    for (size_t i = 1; i < COUNT(packs); i++) {
        f->messages = 0;
        options = lonely(f, &packs[i], 1);
        launch_expect(plan(&options, program_text, &origin), KILN_E_WOULD_COMPILE, NULL);
        assert_int_equal(f->messages, 1);
        snprintf(expected, sizeof expected, "pack '%s' is no pack", packs[i].path ? packs[i].path : "in memory");
        assert_string_equal(f->message, expected);
    }
    free(bytes);
}

static void a_packed_kernel_that_the_driver_refuses_is_looked_for_on_disk(void **state) {
    launch_fixture *f = *state;
    char path[128];
    bake_pack(f, path);
    const kiln_pack pack = {path, NULL, 0};
    kiln_origin origin = KILN_ORIGIN_COMPILED;
    kiln_context_options options = lonely(f, &pack, 1);
    launch_fail(f, "cuLibraryLoadData", INVALID_IMAGE, 1);
    launch_expect(plan(&options, program_text, &origin), KILN_E_WOULD_COMPILE, NULL);
    assert_non_null(strstr(f->message, "the driver refused packed kernel"));
    options.cache_dir = f->dir;
    launch_fail(f, "cuLibraryLoadData", INVALID_IMAGE, 1);
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_DISK);
    options.policy = KILN_POLICY_COMPILE;
    options.nvrtc_path = f->nvrtc;
    launch_fail(f, "cuLibraryLoadData", INVALID_IMAGE, 2);
    launch_expect(plan(&options, program_text, &origin), KILN_OK, "");
    assert_int_equal(origin, KILN_ORIGIN_COMPILED);
}

/* ---- the brief source ---- */

typedef struct sources {
    uint8_t brief[16], whole[16];
} sources;

static int by_brief(const void *a, const void *b) { return memcmp(a, b, sizeof(sources)); }
static int by_whole(const void *a, const void *b) {
    return memcmp(((const sources *)a)->whole, ((const sources *)b)->whole, 16);
}

/* Over random programs, shapes, types and schedules: equal briefs have equal sources, and the other way round. */
static void the_brief_source_tells_as_much_as_the_whole(void **state) {
    (void)state;
    enum { cases = 3000 };
    sources *all = calloc(cases, sizeof *all);
    kiln_context *contexts[FUZZ_SCHEDULE_COUNT] = {NULL};
    size_t count = 0, kinds = 1;
    assert_non_null(all);
    for (int i = 0; i < FUZZ_SCHEDULE_COUNT; i++) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = "";
        options.schedule = fuzz_schedules[i];
        assert_int_equal(kiln_context_create(&options, &contexts[i]), KILN_OK);
    }
    for (long i = 0; i < cases; i++) {
        fuzz_case c;
        kiln_program *program = NULL;
        kiln__prepared prepared;
        kiln_tensor tensors[FUZZ_TENSOR_LIMIT];
        kiln__device device = kiln__device_typical(90);
        assert_int_equal(fuzz_case_draw_any(contexts[0], 7, i, &c), KILN_OK);
        assert_int_equal(fuzz_case_program(&c, contexts[c.schedule], &program), KILN_OK);
        for (int t = 0; t < c.input_count + c.output_count; t++) {
            tensors[t] = c.tensors[t].view;
            tensors[t].data = (void *)(uintptr_t)(256 + (uint64_t)c.tensors[t].shift * kiln_type_size(tensors[t].type));
        }
        if (kiln__prepare(program, tensors, c.scalars, &device, 0, &prepared) == KILN_OK) {
            kiln__checksum(prepared.unexpanded, strlen(prepared.unexpanded), all[count].brief);
            kiln__checksum(prepared.source, strlen(prepared.source), all[count].whole);
            count++;
            assert_true(strlen(prepared.unexpanded) < strlen(prepared.source));
            kiln__prepared_free(&prepared);
        }
        kiln_program_destroy(program);
    }
    assert_true(count > cases / 2);
    qsort(all, count, sizeof *all, by_brief);
    for (size_t i = 1; i < count; i++) {
        bool same = !memcmp(all[i].brief, all[i - 1].brief, 16);
        if (same) assert_memory_equal(all[i].whole, all[i - 1].whole, 16);
        kinds += !same;
    }
    qsort(all, count, sizeof *all, by_whole);
    for (size_t i = 1; i < count; i++)
        if (!memcmp(all[i].whole, all[i - 1].whole, 16)) assert_memory_equal(all[i].brief, all[i - 1].brief, 16);
    assert_in_range(kinds, 100, count - 100); /* many kernels, many of them more than once */
    for (int i = 0; i < FUZZ_SCHEDULE_COUNT; i++) kiln_context_destroy(contexts[i]);
    free(all);
}

/* A user's text that looks like the name of a part stays what it is: it begins no line. */
static void text_that_names_a_part_is_not_replaced(void **state) {
    (void)state;
    bound b;
    kiln__prepared prepared;
    assert_int_equal(bound_create(&b, "m = max(x) # a comment\n#include \"device.cuh\"\ny = x - m", NULL, NULL,
                                  "f32[8,64] f32[8,64]"),
                     KILN_OK);
    assert_int_equal(bound_prepare(&b, 90, &prepared), KILN_OK);
    assert_non_null(strstr(prepared.source, "//            #include \"device.cuh\"\n"));
    assert_null(strstr(prepared.source, "\n#include"));
    assert_non_null(strstr(prepared.unexpanded, "\n#include \"device.cuh\"\n"));
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_is_found_and_no_other),
        cmocka_unit_test(the_order_of_adding_changes_no_byte),
        cmocka_unit_test(a_damaged_byte_is_never_taken_for_a_kernel),
        cmocka_unit_test(a_pack_of_any_other_length_is_refused),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        WITH_LAUNCHES(a_pack_serves_without_nvrtc_and_without_a_disk_cache),
        WITH_LAUNCHES(a_pack_is_made_by_the_public_calls),
        WITH_LAUNCHES(packs_are_named_by_the_environment),
        WITH_LAUNCHES(packs_come_before_the_disk_cache),
        WITH_LAUNCHES(a_damaged_pack_is_told_of_once_and_passed_over),
        WITH_LAUNCHES(a_packed_kernel_that_the_driver_refuses_is_looked_for_on_disk),
        cmocka_unit_test(the_brief_source_tells_as_much_as_the_whole),
        cmocka_unit_test(text_that_names_a_part_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
