/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: what is read, what is refused and how it is told, what is written, and headers that chance made.
 * Files are put together here byte by byte. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/types.h"
#include "npy.h"

typedef struct folder {
    char path[64], file[96];
} folder;

static int make_folder(void **state) {
    folder *f = calloc(1, sizeof *f);
    if (!f) return -1;
    strcpy(f->path, "/tmp/kiln_npy_XXXXXX");
    if (!mkdtemp(f->path)) return -1;
    (void)snprintf(f->file, sizeof f->file, "%s/a.npy", f->path);
    *state = f;
    return 0;
}

static int remove_folder(void **state) {
    folder *f = *state;
    (void)unlink(f->file);
    int result = rmdir(f->path); /* fails where a test left a temporary file behind */
    free(f);
    return result;
}

static void put_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A whole file: preamble of the given format, header text, data. Returns its size. */
static size_t compose(unsigned char *to, int major, const char *header, const void *data, size_t size) {
    size_t length = strlen(header), used = 8;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)major;
    to[7] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++) to[used++] = (unsigned char)(length >> (8 * i));
    memcpy(to + used, header, length);
    if (size) memcpy(to + used + length, data, size);
    return used + length + size;
}

static void put_array(const folder *f, int major, const char *header, const void *data, size_t size) {
    unsigned char bytes[4096];
    put_file(f->file, bytes, compose(bytes, major, header, data, size));
}

static void assert_refused(const folder *f, const kiln_type *as, kiln_status expected, const char *words) {
    kiln_tensor tensor = {0};
    kiln_status status = npy_read(f->file, as, &tensor);
    if (status != expected || !strstr(kiln_last_error(), words) || !strstr(kiln_last_error(), f->file)) {
        fail_msg("expected %s with '%s', got %s '%s'", kiln_status_name(expected), words, kiln_status_name(status),
                 kiln_last_error());
    }
    assert_null(tensor.data);
}

#define HEADER(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }   \n"

static void every_data_type_is_read(void **state) {
    const folder *f = *state;
    static const struct {
        const char *header;
        kiln_type type;
        size_t size;
    } cases[] = {
        {HEADER("<f8", "False", "(2,)"), KILN_F64, 16}, {HEADER("<f4", "False", "(2,)"), KILN_F32, 8},
        {HEADER("<f2", "False", "(2,)"), KILN_F16, 4},  {HEADER("<i8", "False", "(2,)"), KILN_I64, 16},
        {HEADER("<i4", "False", "(2,)"), KILN_I32, 8},  {HEADER("<i2", "False", "(2,)"), KILN_I16, 4},
        {HEADER("|i1", "False", "(2,)"), KILN_I8, 2},   {HEADER("|u1", "False", "(2,)"), KILN_U8, 2},
        {HEADER("|b1", "False", "(2,)"), KILN_BOOL, 2}, {HEADER("=f4", "False", "(2,)"), KILN_F32, 8},
        {HEADER("f4", "False", "(2,)"), KILN_F32, 8},   {HEADER("<u2", "False", "(2,)"), KILN_U16, 4},
        {HEADER("<u4", "False", "(2,)"), KILN_U32, 8},  {HEADER("<u8", "False", "(2,)"), KILN_U64, 16},
    };
    unsigned char data[16];
    for (int i = 0; i < 16; i++) data[i] = (unsigned char)(i % 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln_tensor t;
        put_array(f, 1, cases[i].header, data, cases[i].size);
        assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
        assert_int_equal(t.type, cases[i].type);
        assert_int_equal(t.rank, 1);
        assert_int_equal(t.sizes[0], 2);
        assert_int_equal(t.strides[0], 1);
        assert_memory_equal(t.data, data, cases[i].size);
        free(t.data);
    }
}

static void headers_may_differ_in_form(void **state) {
    const folder *f = *state;
    static const struct {
        int major;
        const char *header;
        int rank;
        int64_t sizes[3];
    } cases[] = {
        {1, HEADER("<f4", "False", "(1, 2, 3)"), 3, {1, 2, 3}},
        {2, HEADER("<f4", "False", "(1, 2, 3)"), 3, {1, 2, 3}},
        {3, HEADER("<f4", "False", "(1, 2, 3)"), 3, {1, 2, 3}},
        {1, "{\"shape\":(6,),\"descr\":\"<f4\",\"fortran_order\":False}", 1, {6}},
        {1, "  { 'shape' : ( 2 , 3 , ) , 'fortran_order' : True , 'descr' : '<f4' } \n\n", 2, {2, 3}},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", 2, {2, 3}},
    };
    const float data[6] = {0, 1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln_tensor t;
        put_array(f, cases[i].major, cases[i].header, data, sizeof data);
        if (npy_read(f->file, NULL, &t)) fail_msg("case %zu: %s", i, kiln_last_error());
        assert_int_equal(t.rank, cases[i].rank);
        for (int k = 0; k < t.rank; k++) assert_int_equal(t.sizes[k], cases[i].sizes[k]);
        free(t.data);
    }
}

static void no_dimensions_and_no_elements_are_read(void **state) {
    const folder *f = *state;
    const float one = 1.5f;
    kiln_tensor t;
    put_array(f, 1, HEADER("<f4", "False", "()"), &one, sizeof one);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_int_equal(t.rank, 0);
    assert_memory_equal(t.data, &one, sizeof one);
    free(t.data);
    put_array(f, 1, HEADER("<f4", "True", "(3, 0, 5)"), NULL, 0);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.sizes[1], 0);
    assert_non_null(t.data);
    free(t.data);
}

static void fortran_order_becomes_row_major(void **state) {
    const folder *f = *state;
    /* The element at (i, j, k) of shape (2, 3, 2) is 100 i + 10 j + k; i varies fastest in the file. */
    int32_t data[12], n = 0;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 2; i++) data[n++] = 100 * i + 10 * j + k;
    kiln_tensor t;
    put_array(f, 1, HEADER("<i4", "True", "(2, 3, 2)"), data, sizeof data);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    const int32_t expected[12] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
    assert_memory_equal(t.data, expected, sizeof expected);
    free(t.data);
}

static void big_endian_is_swapped(void **state) {
    const folder *f = *state;
    const unsigned char f4[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}, i2[] = {0x01, 0x02};
    const float expected[] = {1.0f, -2.0f};
    kiln_tensor t;
    put_array(f, 1, HEADER(">f4", "False", "(2,)"), f4, sizeof f4);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_memory_equal(t.data, expected, sizeof expected);
    free(t.data);
    put_array(f, 1, HEADER(">i2", "False", "(1,)"), i2, sizeof i2);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_int_equal(*(int16_t *)t.data, 0x0102);
    free(t.data);
}

static void truth_values_become_0_or_1(void **state) {
    const folder *f = *state;
    const unsigned char data[] = {0, 1, 2, 255}, expected[] = {0, 1, 1, 1};
    kiln_tensor t;
    put_array(f, 1, HEADER("|b1", "False", "(4,)"), data, sizeof data);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_memory_equal(t.data, expected, sizeof expected);
    free(t.data);
}

static void types_that_numpy_lacks_are_read_from_integers(void **state) {
    const folder *f = *state;
    static const struct {
        const char *header;
        kiln_type as;
        size_t size;
    } cases[] = {
        {HEADER("<u2", "False", "(2,)"), KILN_BF16, 4}, {HEADER("<i2", "False", "(2,)"), KILN_BF16, 4},
        {HEADER("|V2", "False", "(2,)"), KILN_BF16, 4}, {HEADER("|u1", "False", "(2,)"), KILN_E4M3, 2},
        {HEADER("|i1", "False", "(2,)"), KILN_E5M2, 2}, {HEADER("|V1", "False", "(2,)"), KILN_E4M3, 2},
        {HEADER("<f4", "False", "(2,)"), KILN_F32, 8},  {HEADER("|u1", "False", "(2,)"), KILN_E8M0, 2},
    };
    const unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kiln_tensor t;
        put_array(f, 1, cases[i].header, data, cases[i].size);
        assert_int_equal(npy_read(f->file, &cases[i].as, &t), KILN_OK);
        assert_int_equal(t.type, cases[i].as);
        assert_memory_equal(t.data, data, cases[i].size);
        free(t.data);
    }
}

static void types_without_a_match_are_refused(void **state) {
    const folder *f = *state;
    const unsigned char data[16] = {0};
    const kiln_type bf16 = KILN_BF16, f16 = KILN_F16, e4m3 = KILN_E4M3;
    put_array(f, 1, HEADER("|V2", "False", "(1,)"), data, 2);
    assert_refused(f, NULL, KILN_E_TYPE, ":bf16");
    assert_refused(f, &e4m3, KILN_E_TYPE, "integers of 1 byte");
    put_array(f, 1, HEADER("|V1", "False", "(1,)"), data, 1);
    assert_refused(f, NULL, KILN_E_TYPE, ":e4m3, :e5m2, :e8m0 or :e2m1");
    put_array(f, 1, HEADER("<c8", "False", "(1,)"), data, 8);
    assert_refused(f, NULL, KILN_E_TYPE, "'c8'");
    put_array(f, 1, HEADER("|V4", "False", "(1,)"), data, 4);
    assert_refused(f, NULL, KILN_E_TYPE, "'V4'");
    put_array(f, 1, HEADER("<f4", "False", "(1,)"), data, 4);
    assert_refused(f, &bf16, KILN_E_TYPE, "integers of 2 bytes");
    assert_refused(f, &f16, KILN_E_TYPE, "f16(...)");
}

static void bad_headers_are_refused(void **state) {
    const folder *f = *state;
    static const struct {
        const char *header;
        kiln_status status;
        const char *words;
    } cases[] = {
        {"", KILN_E_FORMAT, "a dictionary was expected"},
        {"[1, 2]", KILN_E_FORMAT, "'[1, 2]' where a dictionary"},
        {"{}", KILN_E_FORMAT, "lacks 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False}", KILN_E_FORMAT, "lacks 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", KILN_E_FORMAT, "'descr' twice"},
        {"{'descr': '<f4', 'extra': 1}", KILN_E_FORMAT, "'extra"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", KILN_E_FORMAT, "True or False"},
        {HEADER("<f4", "False", "(-1,)"), KILN_E_FORMAT, "negative size"},
        {HEADER("<f4", "False", "(1)"), KILN_E_FORMAT, "','"},
        {HEADER("<f4", "False", "(1, 2"), KILN_E_FORMAT, "a size or ')'"},
        {HEADER("<f4", "False", "[1, 2]"), KILN_E_FORMAT, "a shape"},
        {HEADER("<f4", "False", "(1.5,)"), KILN_E_FORMAT, "'.5"},
        {HEADER("<f4", "False", "(99999999999999999999,)"), KILN_E_SIZE, "over 64 bits"},
        {HEADER("<f4", "False", "(4294967296, 4294967296)"), KILN_E_SIZE, "more than 64 bits"},
        {HEADER("<f4", "False", "(0, 9223372036854775807, 9)"), KILN_E_SIZE, "more than 64 bits"},
        {HEADER("|u1", "False", "(9223372036854775807, 2)"), KILN_E_SIZE, "more than 64 bits"},
        {HEADER("<f8", "False", "(9223372036854775807,)"), KILN_E_SIZE, "more than 64 bits"},
        {HEADER("<f4", "False", "(1000000,)"), KILN_E_FORMAT, "needs 4000000 bytes of data, 8 are there"},
        {HEADER("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), KILN_E_UNSUPPORTED, "9 dimensions; at most 8"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", KILN_E_FORMAT, "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", KILN_E_FORMAT, "the header's end"},
        {"{'descr': 'abcdefgh', 'fortran_order': False, 'shape': (1,)}", KILN_E_FORMAT, "data type has 8"},
        {"{'descr': '<M8', 'fortran_order': False, 'shape': (1,)}", KILN_E_FORMAT, "'M8'"},
        {"{'descr': '<f\xc3\xa9', 'fortran_order': False, 'shape': (1,)}", KILN_E_FORMAT, "not ASCII"},
        {"{'d\xc3\xa9scr': '<f4'}", KILN_E_FORMAT, "where 'descr'"},
        {"{'descr': '<f4", KILN_E_FORMAT, "a data type"},
        {"{'descr': '<f4' 'shape': (1,)}", KILN_E_FORMAT, "',' or '}'"},
    };
    const char data[8] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_array(f, 1, cases[i].header, data, sizeof data);
        assert_refused(f, NULL, cases[i].status, cases[i].words);
    }
}

static void files_cut_off_anywhere_are_refused(void **state) {
    const folder *f = *state;
    const float data[4] = {1, 2, 3, 4};
    unsigned char bytes[512];
    for (int major = 1; major <= 3; major++) {
        const size_t size = compose(bytes, major, HEADER("<f4", "False", "(4,)"), data, sizeof data);
        for (size_t cut = 0; cut < size; cut++) {
            put_file(f->file, bytes, cut);
            assert_refused(f, NULL, KILN_E_FORMAT, cut < 6 ? "no .npy file" : "cut off");
        }
    }
}

static void unknown_formats_and_huge_headers_are_refused(void **state) {
    const folder *f = *state;
    put_file(f->file, "\x93NUMPY\x04\0\0\0\0\0", 12);
    assert_refused(f, NULL, KILN_E_FORMAT, "format 4.0");
    put_file(f->file, "\x93NUMPY\x01\x01\0\0", 10);
    assert_refused(f, NULL, KILN_E_FORMAT, "format 1.1");
    put_file(f->file, "\x93NUMPY\x02\0\xff\xff\xff\xff", 12);
    assert_refused(f, NULL, KILN_E_FORMAT, "4294967295 bytes");
    put_file(f->file, "PK\x03\x04 an .npz archive", 20);
    assert_refused(f, NULL, KILN_E_FORMAT, "no .npy file");
}

static void bytes_after_the_data_are_ignored(void **state) {
    const folder *f = *state;
    const float data[3] = {1, 2, 3};
    kiln_tensor t;
    put_array(f, 1, HEADER("<f4", "False", "(2,)"), data, sizeof data);
    assert_int_equal(npy_read(f->file, NULL, &t), KILN_OK);
    assert_memory_equal(t.data, data, 8);
    free(t.data);
}

static void missing_files_and_directories_are_refused(void **state) {
    folder f = *(folder *)*state;
    (void)snprintf(f.file, sizeof f.file, "%s/none.npy", f.path);
    assert_refused(&f, NULL, KILN_E_IO, "No such file");
    (void)snprintf(f.file, sizeof f.file, "%s", f.path);
    assert_refused(&f, NULL, KILN_E_IO, "is a directory");
}

/* A pipe tells no length: memory must grow with what arrives. */
static void pipes_are_read(void **state) {
    folder f = *(folder *)*state;
    int ends[2];
    float data[4] = {1, 2, 3, 4};
    unsigned char bytes[512];
    kiln_tensor t;
    const char *const headers[] = {HEADER("<f4", "False", "(4,)"), HEADER("<f4", "False", "(4611686018427387,)")};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(ends), 0);
        const size_t size = compose(bytes, 1, headers[i], data, sizeof data);
        assert_int_equal(write(ends[1], bytes, size), size);
        close(ends[1]);
        (void)snprintf(f.file, sizeof f.file, "/dev/fd/%d", ends[0]);
        if (i == 0) {
            assert_int_equal(npy_read(f.file, NULL, &t), KILN_OK);
            assert_memory_equal(t.data, data, sizeof data);
            free(t.data);
        } else {
            assert_refused(&f, NULL, KILN_E_FORMAT, "16 are there");
        }
        close(ends[0]);
    }
}

static kiln_status write_to(const char *path, const kiln_tensor *tensor) {
    output_file file;
    kiln_status status = output_file_open(path, &file);
    if (!status) status = npy_write(&file, tensor);
    if (!status) status = output_file_finish(&file);
    if (!status) status = output_file_publish(&file);
    output_file_discard(&file);
    return status;
}

static void what_is_written_is_read_back(void **state) {
    const folder *f = *state;
    char data[8 * 24];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i % 2);
    const int64_t sizes[KILN_MAX_RANK] = {2, 3, 1, 4, 1, 1, 1, 1};
    static const int64_t counts[KILN_MAX_RANK + 1] = {1, 2, 6, 6, 24, 24, 24, 24, 24};
    for (int type = 0; type < KILN_TYPE_COUNT; type++) {
        for (int rank = 0; rank <= KILN_MAX_RANK; rank++) {
            const kiln_type as = (kiln_type)type;
            const kiln_tensor t = kiln_tensor_contiguous(data, as, rank, sizes);
            if (kiln__type_is_packed(as) && (rank == 0 || sizes[rank - 1] % 2)) continue; /* there is no such tensor */
            kiln_tensor back;
            assert_int_equal(write_to(f->file, &t), KILN_OK);
            assert_int_equal(npy_read(f->file, &as, &back), KILN_OK);
            assert_int_equal(back.rank, rank);
            assert_memory_equal(back.sizes, sizes, (size_t)rank * sizeof sizes[0]);
            assert_memory_equal(back.data, data, (size_t)kiln__type_bytes(as, counts[rank]));
            free(back.data);
        }
    }
}

static void the_written_header_is_numpys_own(void **state) {
    const folder *f = *state;
    const float data[2] = {1, 2};
    const int64_t sizes[1] = {2};
    const kiln_tensor t = kiln_tensor_contiguous((void *)(uintptr_t)data, KILN_F32, 1, sizes);
    assert_int_equal(write_to(f->file, &t), KILN_OK);
    char bytes[256];
    FILE *file = fopen(f->file, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + 8);
    fclose(file);
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    assert_memory_equal(bytes, "\x93NUMPY\x01\0\x76\0", 10);
    assert_memory_equal(bytes + 10, text, sizeof text - 1);
    for (size_t i = 10 + sizeof text - 1; i < 127; i++) assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[127], '\n');
}

static void a_failed_write_keeps_the_old_file(void **state) {
    const folder *f = *state;
    put_file(f->file, "old", 3);
    output_file file;
    assert_int_equal(output_file_open(f->file, &file), KILN_OK);
    assert_int_equal(output_file_write(&file, "new", 3), KILN_OK);
    output_file_discard(&file);
    char bytes[8];
    FILE *old = fopen(f->file, "rb");
    assert_non_null(old);
    assert_int_equal(fread(bytes, 1, sizeof bytes, old), 3);
    fclose(old);
    assert_memory_equal(bytes, "old", 3);
}

static void a_replaced_file_keeps_its_mode_and_its_links(void **state) {
    const folder *f = *state;
    char link[128];
    struct stat info;
    put_file(f->file, "old", 3);
    assert_int_equal(chmod(f->file, 0640), 0);
    (void)snprintf(link, sizeof link, "%s/link", f->path);
    assert_int_equal(symlink("a.npy", link), 0);
    const kiln_tensor t = kiln_tensor_contiguous((void *)(uintptr_t) "1", KILN_U8, 0, NULL);
    assert_int_equal(write_to(link, &t), KILN_OK);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(f->file, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(info.st_size, 129);
    assert_int_equal(unlink(link), 0);
}

static void unwritable_places_are_told(void **state) {
    const folder *f = *state;
    const kiln_tensor t = kiln_tensor_contiguous((void *)(uintptr_t) "1", KILN_U8, 0, NULL);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/none/a.npy", f->path);
    assert_int_equal(write_to(path, &t), KILN_E_IO);
    assert_non_null(strstr(kiln_last_error(), "No such file or directory"));
    assert_int_equal(write_to(f->path, &t), KILN_E_IO);
    assert_non_null(strstr(kiln_last_error(), "is a directory"));
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(write_to("/dev/full", &t), KILN_E_IO);
        assert_non_null(strstr(kiln_last_error(), "/dev/full: cannot be written: No space left"));
    }
}

/* A small generator, so that a failure comes again. */
static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void mutated_headers_never_break_the_parser(void **state) {
    (void)state;
    static const char *const seeds[] = {
        HEADER("<f4", "False", "(3, 4)"),
        HEADER(">i8", "True", "()"),
        HEADER("|V2", "False", "(1, 2, 3, 4, 5, 6, 7, 8)"),
        "{\"shape\":(6L,),\"descr\":\"<f4\",\"fortran_order\":False}",
    };
    static const char alphabet[] = "{}()[]'\":,<>=|fiub0123456789-TFL \n\\\0\xff";
    uint64_t random = 42;
    size_t accepted = 0;
    for (int round = 0; round < 10000; round++) {
        const char *seed = seeds[round % 4];
        size_t size = strlen(seed);
        char text[256];
        memcpy(text, seed, size);
        for (uint32_t changes = next_random(&random) % 4; changes-- > 0 && size > 1;) {
            size_t at = next_random(&random) % size;
            switch (next_random(&random) % 4) {
            case 0: text[at] = alphabet[next_random(&random) % (sizeof alphabet - 1)]; break;
            case 1: memmove(text + at, text + at + 1, --size - at); break;
            case 2:
                memmove(text + at + 1, text + at, size++ - at);
                text[at] = alphabet[next_random(&random) % (sizeof alphabet - 1)];
                break;
            default: size = at + 1; break;
            }
        }
        char *exact = malloc(size); /* so that a byte read past the end is noticed */
        assert_non_null(exact);
        memcpy(exact, text, size);
        npy_header header;
        kiln_status status = npy_header_parse("fuzz.npy", exact, size, &header);
        if (status == KILN_OK) {
            accepted++;
            assert_true(header.rank >= 0 && header.rank <= KILN_MAX_RANK);
            assert_true(header.elements >= 0 && header.bytes >= 0);
            for (int i = 0; i < header.rank; i++) assert_true(header.sizes[i] >= 0);
        } else {
            assert_true(status == KILN_E_FORMAT || status == KILN_E_SIZE || status == KILN_E_UNSUPPORTED);
            assert_non_null(strstr(kiln_last_error(), "fuzz.npy: "));
        }
        free(exact);
    }
    assert_true(accepted > 1000 && accepted < 9000);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_data_type_is_read),
        IN_FOLDER(headers_may_differ_in_form),
        IN_FOLDER(no_dimensions_and_no_elements_are_read),
        IN_FOLDER(fortran_order_becomes_row_major),
        IN_FOLDER(big_endian_is_swapped),
        IN_FOLDER(truth_values_become_0_or_1),
        IN_FOLDER(types_that_numpy_lacks_are_read_from_integers),
        IN_FOLDER(types_without_a_match_are_refused),
        IN_FOLDER(bad_headers_are_refused),
        IN_FOLDER(files_cut_off_anywhere_are_refused),
        IN_FOLDER(unknown_formats_and_huge_headers_are_refused),
        IN_FOLDER(bytes_after_the_data_are_ignored),
        IN_FOLDER(missing_files_and_directories_are_refused),
        IN_FOLDER(pipes_are_read),
        IN_FOLDER(what_is_written_is_read_back),
        IN_FOLDER(the_written_header_is_numpys_own),
        IN_FOLDER(a_failed_write_keeps_the_old_file),
        IN_FOLDER(a_replaced_file_keeps_its_mode_and_its_links),
        IN_FOLDER(unwritable_places_are_told),
        cmocka_unit_test(mutated_headers_never_break_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
