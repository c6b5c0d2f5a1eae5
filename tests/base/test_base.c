/* SPDX-License-Identifier: Apache-2.0 */
/* The base: statuses, tensors from callers and DLPack, arenas, strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/text.h"
#include "base/types.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- status ---- */

static void names_of_statuses(void **state) {
    (void)state;
    assert_string_equal(kiln_status_name(KILN_OK), "KILN_OK");
    assert_string_equal(kiln_status_name(KILN_E_SHAPE), "KILN_E_SHAPE");
    assert_string_equal(kiln_status_name(KILN_E_INTERNAL), "KILN_E_INTERNAL");
    assert_string_equal(kiln_status_name((kiln_status)30), "KILN_E_UNKNOWN");
    assert_string_equal(kiln_version(), "0.2.0");
    assert_int_equal(kiln_version_number(), 200);
    assert_int_equal(KILN_VERSION_NUMBER, 200);
    for (int i = 0; i <= KILN_E_CANCELLED; i++)
        assert_string_not_equal(kiln_status_name((kiln_status)i), "KILN_E_UNKNOWN");
}

static void a_failure_leaves_its_sentence(void **state) {
    (void)state;
    assert_int_equal(kiln__fail(KILN_E_SHAPE, "input '%s' has %d elements", "w", 100), KILN_E_SHAPE);
    assert_string_equal(kiln_last_error(), "input 'w' has 100 elements");
    kiln__fail(KILN_E_INTERNAL, "inside: %s", kiln_last_error());
    assert_string_equal(kiln_last_error(), "inside: input 'w' has 100 elements");
    assert_int_equal(kiln__out_of_memory(), KILN_E_MEMORY);
    assert_true(strlen(kiln_last_error()) > 0);
    kiln__clear_error();
    assert_string_equal(kiln_last_error(), "");
}

static void a_long_sentence_is_cut_between_characters(void **state) {
    (void)state;
    char text[4000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    kiln__fail(KILN_E_IO, "%s", text);
    assert_int_equal(strlen(kiln_last_error()), 1023);
    static const struct {
        const char *character;
        size_t at, length;
    } cases[] = {
        {"\xC3\xBC", 1021, 1023},         {"\xC3\xBC", 1022, 1022},         {"\xE2\x82\xAC", 1020, 1023},
        {"\xE2\x82\xAC", 1021, 1021},     {"\xE2\x82\xAC", 1022, 1022},     {"\xF0\x9F\x94\xA5", 1019, 1023},
        {"\xF0\x9F\x94\xA5", 1020, 1020}, {"\xF0\x9F\x94\xA5", 1022, 1022},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        memset(text, 'x', sizeof text - 1);
        memcpy(text + cases[i].at, cases[i].character, strlen(cases[i].character));
        kiln__fail(KILN_E_IO, "%s", text);
        assert_int_equal(strlen(kiln_last_error()), cases[i].length);
    }
}

static void *other_thread(void *length_seen) {
    *(size_t *)length_seen = strlen(kiln_last_error());
    kiln__fail(KILN_E_IO, "of the other thread");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state) {
    (void)state;
    kiln__fail(KILN_E_IO, "of this thread");
    pthread_t thread;
    size_t seen = 99;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen, 0);
    assert_string_equal(kiln_last_error(), "of this thread");
}

/* ---- tensors ---- */

static void views_of_constant_memory_need_no_casts(void **state) {
    (void)state;
    static const float data[24];
    const int64_t sizes[] = {2, 3}, strides[] = {12, -4};
    kiln_tensor tensor = kiln_tensor_input(data, KILN_F32, 2, sizes);
    assert_ptr_equal(tensor.data, data);
    assert_int_equal(tensor.strides[0], 3);
    tensor = kiln_tensor_input_strided(data + 8, KILN_F32, 2, sizes, strides);
    assert_ptr_equal(tensor.data, data + 8);
    assert_int_equal(tensor.strides[0], 12);
    assert_int_equal(tensor.strides[1], -4);
    float own[24];
    tensor = kiln_tensor_strided(own, KILN_F32, 2, sizes, NULL);
    assert_ptr_equal(tensor.data, own);
    assert_int_equal(tensor.strides[0], 3);
    assert_int_equal(kiln_tensor_strided(own, KILN_F32, 9, sizes, strides).rank, -1);
}

static void contiguous_tensors_have_row_major_strides(void **state) {
    (void)state;
    double data[24];
    int64_t sizes[] = {2, 3, 4};
    kiln_tensor tensor = kiln_tensor_contiguous(data, KILN_F64, 3, sizes);
    assert_ptr_equal(tensor.data, data);
    assert_int_equal(tensor.type, KILN_F64);
    assert_int_equal(tensor.rank, 3);
    assert_memory_equal(tensor.sizes, sizes, sizeof sizes);
    assert_memory_equal(tensor.strides, ((int64_t[]){12, 4, 1}), sizeof sizes);
    tensor = kiln_tensor_contiguous(data, KILN_F64, 3, (int64_t[]){2, 0, 4});
    assert_memory_equal(tensor.strides, ((int64_t[]){4, 4, 1}), sizeof sizes);
    assert_int_equal(kiln_tensor_contiguous(data, KILN_F64, 0, NULL).rank, 0);
    assert_int_equal(kiln_tensor_contiguous(data, KILN_F64, 1, NULL).rank, -1);
    assert_int_equal(kiln_tensor_contiguous(data, KILN_F64, 9, sizes).rank, -1);
    assert_int_equal(kiln_tensor_contiguous(data, KILN_F64, -2, sizes).rank, -1);
    tensor = kiln_tensor_contiguous(data, KILN_F64, 3, (int64_t[]){4, INT64_MAX, 3});
    assert_true(tensor.strides[0] == INT64_MAX);
}

struct DLTensor { /* as DLPack's ABI has it */
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

/* Where there are no elements DLPack allows NULL, whatever the offset. */
static void dlpack_tensors_without_memory_have_none(void **state) {
    (void)state;
    int64_t shape[] = {0, 5};
    const struct DLTensor dlpack = {.device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape, .byte_offset = 8};
    kiln_tensor tensor;
    assert_int_equal(kiln_tensor_from_dlpack(&dlpack, &tensor), KILN_OK);
    assert_null(tensor.data);
}

static void dlpack_tensors_are_taken_over(void **state) {
    (void)state;
    static const struct {
        uint8_t code, bits;
        kiln_type type;
    } cases[] = {{0, 8, KILN_I8},   {0, 16, KILN_I16},  {0, 32, KILN_I32},  {0, 64, KILN_I64},
                 {1, 8, KILN_U8},   {1, 16, KILN_U16},  {1, 32, KILN_U32},  {1, 64, KILN_U64},
                 {2, 16, KILN_F16}, {2, 32, KILN_F32},  {2, 64, KILN_F64},  {4, 16, KILN_BF16},
                 {6, 8, KILN_BOOL}, {10, 8, KILN_E4M3}, {12, 8, KILN_E5M2}, {14, 8, KILN_E8M0}};
    char data[64];
    int64_t shape[] = {3, 5}, strides[] = {-5, 2};
    struct DLTensor source = {data, {2, 0}, 2, {0, 0, 1}, shape, NULL, 8};
    kiln_tensor tensor;
    for (size_t i = 0; i < COUNT(cases); i++) {
        source.dtype.code = cases[i].code;
        source.dtype.bits = cases[i].bits;
        assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_OK);
        assert_int_equal(tensor.type, cases[i].type);
        assert_ptr_equal(tensor.data, data + 8);
        assert_int_equal(tensor.rank, 2);
        assert_memory_equal(tensor.sizes, shape, sizeof shape);
        assert_memory_equal(tensor.strides, ((int64_t[]){5, 1}), sizeof shape);
    }
    source.strides = strides;
    assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_OK);
    assert_memory_equal(tensor.strides, strides, sizeof strides);
    source.strides = (int64_t[]){8, 1};
    source.dtype.code = 17; /* of 4 bits, alone or in pairs that count as one element */
    source.dtype.bits = 4;
    assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_OK);
    assert_int_equal(tensor.type, KILN_E2M1);
    assert_memory_equal(tensor.sizes, shape, sizeof shape);
    source.dtype.lanes = 2;
    assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_OK);
    assert_memory_equal(tensor.sizes, ((int64_t[]){3, 10}), sizeof shape);
    assert_memory_equal(tensor.strides, ((int64_t[]){16, 1}), sizeof shape);
    source.strides = (int64_t[]){1, 3};
    assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_E_UNSUPPORTED);
    source.dtype.lanes = 1;
    source.dtype.code = 2;
    source.dtype.bits = 32;
    source.strides = strides;
    assert_int_equal(kiln_tensor_from_dlpack(&source, &tensor), KILN_OK);
    assert_string_equal(kiln_last_error(), "");
}

static void dlpack_tensors_that_do_not_fit_are_refused(void **state) {
    (void)state;
    int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative[] = {3, -5};
    const struct DLTensor good = {NULL, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
    struct DLTensor beyond = good;
    beyond.data = (void *)16;
    beyond.byte_offset = UINT64_MAX - 15;
    struct DLTensor lanes = good, complex_type = good, unsigned_type = good, rank = good, below = good, null = good,
                    size = good;
    lanes.dtype.lanes = 4;
    complex_type.dtype.code = 5;
    unsigned_type.dtype.code = 1;
    unsigned_type.dtype.bits = 4;
    rank.ndim = 9;
    below.ndim = -1;
    null.shape = NULL;
    size.shape = negative;
    const struct {
        const struct DLTensor *source;
        kiln_status expected;
    } cases[] = {{&lanes, KILN_E_TYPE},       {&complex_type, KILN_E_TYPE}, {&unsigned_type, KILN_E_TYPE},
                 {&rank, KILN_E_UNSUPPORTED}, {&below, KILN_E_ARGUMENT},    {&null, KILN_E_ARGUMENT},
                 {&size, KILN_E_SIZE},        {NULL, KILN_E_ARGUMENT},      {&beyond, KILN_E_SIZE}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln_tensor tensor = {.rank = 77};
        assert_int_equal(kiln_tensor_from_dlpack(cases[i].source, &tensor), cases[i].expected);
        assert_int_equal(tensor.rank, 77);
        assert_true(strlen(kiln_last_error()) > 0);
    }
    assert_int_equal(kiln_tensor_from_dlpack(&good, NULL), KILN_E_ARGUMENT);
}

static void dlpack_tensors_of_another_device_are_refused(void **state) {
    (void)state;
    static const struct {
        int32_t type, id;
        int device;
        const char *sentence; /* NULL: taken over */
    } cases[] = {
        {1, 0, KILN_ON_HOST, NULL},
        {3, 0, KILN_ON_HOST, NULL},
        {13, 2, KILN_ON_HOST, NULL},
        {2, 3, 3, NULL},
        {3, 0, 3, NULL},
        {13, 2, 3, NULL},
        {2, 1, 3, "the DLPack tensor is on CUDA device 1, expected CUDA device 3"},
        {2, 1, KILN_ON_HOST, "the DLPack tensor is on CUDA device 1, expected memory of the host"},
        {1, 0, 0, "the DLPack tensor is in memory of the host, expected CUDA device 0"},
        {1, 0, -2, "device is -2, expected the number of a CUDA device, or -1 for the host"},
    };
    char data[64];
    int64_t shape[] = {2, 2};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct DLTensor source = {data, {cases[i].type, cases[i].id}, 2, {2, 32, 1}, shape, NULL, 0};
        kiln_tensor tensor = {.rank = 77};
        kiln_status status = kiln_tensor_from_dlpack_on(&source, cases[i].device, &tensor);
        if ((status == KILN_OK) != (cases[i].sentence == NULL)) fail_msg("case %zu", i);
        assert_int_equal(tensor.rank, status ? 77 : 2);
        assert_string_equal(kiln_last_error(), cases[i].sentence ? cases[i].sentence : "");
    }
    assert_int_equal(kiln_tensor_from_dlpack_on(NULL, 0, NULL), KILN_E_ARGUMENT);
}

static void dlpack_tensors_are_where_a_kernel_or_the_host_reads(void **state) {
    (void)state;
    static const struct {
        int32_t type, id;
        const char *sentence; /* NULL: taken over */
    } devices[] = {
        {1, 0, NULL},
        {1, -1, NULL},
        {2, 0, NULL},
        {2, 7, NULL},
        {3, 0, NULL},
        {13, 0, NULL},
        {2, -1, "the DLPack tensor is on device type 2 (CUDA), id -1, expected 0 or more"},
        {10, 1,
         "the DLPack tensor is on device type 10 (ROCm), id 1, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA "
         "managed)"},
        {8, 0,
         "the DLPack tensor is on device type 8 (Metal), id 0, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA "
         "managed)"},
        {0, 0,
         "the DLPack tensor is on device type 0 (unknown), id 0, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA "
         "managed)"},
    };
    char data[64];
    int64_t shape[] = {2, 2};
    for (size_t i = 0; i < COUNT(devices); i++) {
        const struct DLTensor source = {data, {devices[i].type, devices[i].id}, 2, {2, 32, 1}, shape, NULL, 0};
        kiln_tensor tensor = {.rank = 77};
        kiln_status status = kiln_tensor_from_dlpack(&source, &tensor);
        if ((status == KILN_OK) != (devices[i].sentence == NULL)) fail_msg("device type %d", (int)devices[i].type);
        assert_string_equal(kiln_last_error(), devices[i].sentence ? devices[i].sentence : "");
        assert_int_equal(tensor.rank, devices[i].sentence ? 77 : 2);
    }
}

static void a_struct_size_ends_a_version(void **state) {
    (void)state;
    assert_int_equal(kiln__check_struct_size("kiln_options", 16, 16, 96), KILN_OK);
    assert_int_equal(kiln__check_struct_size("kiln_options", 56, 16, 96), KILN_OK);
    assert_int_equal(kiln__check_struct_size("kiln_options", 96, 16, 96), KILN_OK);
    static const size_t bad[] = {0, 8, 15, 17, 20, 95, 97, 104, SIZE_MAX};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(kiln__check_struct_size("kiln_options", bad[i], 16, 96), KILN_E_ARGUMENT);
    assert_string_equal(kiln_last_error(),
                        "kiln_options.struct_size is 18446744073709551615, expected 16 to 96, a multiple of "
                        "8: set it to sizeof(kiln_options)");
    kiln__check_struct_size("kiln_info", 88, 96, 96);
    assert_string_equal(kiln_last_error(), "kiln_info.struct_size is 88, expected sizeof(kiln_info), 96");
}

static void scalars_carry_their_type(void **state) {
    (void)state;
    kiln_scalar real = kiln_scalar_f64(0.1), integer = kiln_scalar_i64(INT64_MIN);
    assert_int_equal(real.type, KILN_F64);
    assert_true(real.value.f64 == 0.1);
    assert_int_equal(integer.type, KILN_I64);
    assert_true(integer.value.i64 == INT64_MIN);
}

/* ---- arena, text, checked ---- */

static void arenas_give_zeroed_aligned_memory(void **state) {
    (void)state;
    kiln__arena arena = {NULL};
    static const size_t sizes[] = {1, 3, 0, 4096, 17, 5000, 8, 100000, 2, 4000, 4000};
    unsigned char *previous = NULL;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char *memory = kiln__arena_alloc(&arena, sizes[i], 1);
        assert_non_null(memory);
        assert_ptr_not_equal(memory, previous);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(memory[j], 0);
        memset(memory, 0xFF, sizes[i]);
        previous = memory;
    }
    char *copy = kiln__arena_copy(&arena, "softmax", 4);
    assert_string_equal(copy, "soft");
    assert_string_equal(kiln__arena_copy(&arena, NULL, 0), "");
    kiln__arena_free(&arena);
    assert_null(arena.head);
    kiln__arena_free(&arena);
}

static void arenas_refuse_what_overflows(void **state) {
    (void)state;
    kiln__arena arena = {NULL};
    assert_null(kiln__arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_null(kiln__arena_alloc(&arena, SIZE_MAX, 1));
    assert_null(kiln__arena_alloc(&arena, SIZE_MAX - 16, 1));
    assert_null(kiln__arena_copy(&arena, "", SIZE_MAX));
    assert_non_null(kiln__arena_alloc(&arena, 4, 4));
    kiln__arena_free(&arena);
}

static void strings_grow(void **state) {
    (void)state;
    kiln__text text = {0};
    for (int i = 0; i < 1000; i++) kiln__text_printf(&text, "%d,", i);
    kiln__text_puts(&text, "end");
    kiln__text_add(&text, "of it", 2);
    assert_int_equal(text.size, strlen(text.data));
    char *string = kiln__text_take(&text);
    assert_int_equal(strlen(string), 3890 + 5);
    assert_memory_equal(string, "0,1,2,", 6);
    assert_string_equal(string + 3886, "999,endof");
    free(string);
    assert_null(text.data);
    string = kiln__text_take(&text);
    assert_string_equal(string, "");
    free(string);
    kiln__text_puts(&text, "dropped");
    kiln__text_free(&text);
    assert_int_equal(text.size, 0);
}

static void a_failed_addition_fails_the_string(void **state) {
    (void)state;
    kiln__text text = {0};
    kiln__text_puts(&text, "abc");
    kiln__text_add(&text, "", SIZE_MAX);
    assert_true(text.failed);
    kiln__text_puts(&text, "def");
    assert_null(kiln__text_take(&text));
    assert_false(text.failed);
}

static void numbers_are_formatted_without_the_locale(void **state) {
    (void)state;
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
    for (size_t i = 0; i < COUNT(locales); i++) {
        if (setlocale(LC_ALL, locales[i]) == NULL) continue;
        kiln__text text = {0};
        kiln__text_printf(&text, "%.17g %g", 0.5, 1e-5);
        assert_string_equal(text.data, "0.5 1e-05");
        kiln__text_free(&text);
        kiln__fail(KILN_E_IO, "%.1f", 1.5);
        assert_string_equal(kiln_last_error(), "1.5");
        assert_string_equal(setlocale(LC_ALL, NULL), locales[i]);
    }
    setlocale(LC_ALL, "C");
}

static void checked_arithmetic_tells_overflow(void **state) {
    (void)state;
    int64_t out = 0;
    assert_true(kiln__mul_i64(1 << 30, 1 << 30, &out));
    assert_true(out == INT64_C(1) << 60);
    assert_false(kiln__mul_i64(INT64_C(1) << 32, INT64_C(1) << 31, &out));
    assert_true(kiln__add_i64(INT64_MAX - 1, 1, &out));
    assert_false(kiln__add_i64(INT64_MIN, -1, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_statuses),
        cmocka_unit_test(a_failure_leaves_its_sentence),
        cmocka_unit_test(a_long_sentence_is_cut_between_characters),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(contiguous_tensors_have_row_major_strides),
        cmocka_unit_test(views_of_constant_memory_need_no_casts),
        cmocka_unit_test(dlpack_tensors_are_taken_over),
        cmocka_unit_test(dlpack_tensors_without_memory_have_none),
        cmocka_unit_test(dlpack_tensors_that_do_not_fit_are_refused),
        cmocka_unit_test(dlpack_tensors_of_another_device_are_refused),
        cmocka_unit_test(dlpack_tensors_are_where_a_kernel_or_the_host_reads),
        cmocka_unit_test(a_struct_size_ends_a_version),
        cmocka_unit_test(scalars_carry_their_type),
        cmocka_unit_test(arenas_give_zeroed_aligned_memory),
        cmocka_unit_test(arenas_refuse_what_overflows),
        cmocka_unit_test(strings_grow),
        cmocka_unit_test(a_failed_addition_fails_the_string),
        cmocka_unit_test(numbers_are_formatted_without_the_locale),
        cmocka_unit_test(checked_arithmetic_tells_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
