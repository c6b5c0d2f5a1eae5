/* SPDX-License-Identifier: Apache-2.0 */
/* The generated source: golden files of its program part, and texts of users' that try to leave their comment.
 * KILN_UPDATE_GOLDEN=1 writes the golden files anew. */
#define _GNU_SOURCE
#include <locale.h>
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
#include "kiln_sources.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static char *source_of(const char *program, const char *axes, const char *scalars, const char *tensors, int arch) {
    bound b;
    kiln__prepared prepared;
    if (bound_create(&b, program, axes, scalars, tensors) || bound_prepare(&b, arch, &prepared))
        fail_msg("%s: %s", program, kiln_last_error());
    char *source = prepared.source;
    prepared.source = NULL;
    kiln__prepared_free(&prepared);
    bound_destroy(&b);
    return source;
}

/* ---- golden files ---- */

/* What the generator wrote of the program, with the names of the files that it embedded in their place. */
static char *program_part(const char *source) {
    kiln__text text = {0};
    const char *at = strstr(source, "/* ---- the program ---- */");
    assert_non_null(at);
    while (*at) {
        const kiln__source_file *file = kiln__source_files;
        while (file->name && strncmp(at, file->text, file->size)) file++;
        if (file->name) {
            kiln__text_printf(&text, "[kernel_sources/%s]\n", file->name);
            at += file->size;
        } else
            kiln__text_add(&text, at++, 1);
    }
    char *out = kiln__text_take(&text);
    assert_non_null(out);
    return out;
}

static void compare_with_golden(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/golden/generated_%s.cu", KILN_TEST_DIR, name);
    bool update = getenv("KILN_UPDATE_GOLDEN") != NULL;
    FILE *file = fopen(path, update ? "wb" : "rb");
    if (!file) fail_msg("%s cannot be opened", path);
    if (update) fputs(text, file);
    char *golden = calloc(1, 1 << 20);
    assert_non_null(golden);
    size_t size = update ? 0 : fread(golden, 1, (1 << 20) - 1, file);
    fclose(file);
    if (!update && (size != strlen(text) || memcmp(golden, text, size))) {
        size_t same = 0, line = 1;
        for (; golden[same] && golden[same] == text[same]; same++) line += golden[same] == '\n';
        while (same && text[same - 1] != '\n') same--;
        fail_msg("%s:%zu differs; the generated source has\n%.*s", path, line, (int)strcspn(text + same, "\n"),
                 text + same);
    }
    free(golden);
}

static const struct {
    const char *name, *program, *axes, *scalars, *tensors;
} goldens[] = {
    {"softmax_f16", "y = softmax(x)", NULL, NULL, "f16[*,1024] f16[*,1024]"},
    {"layer_norm_bf16", "y = layer_norm(x, w, b)", NULL, NULL, "bf16[*,4096] bf16[4096] bf16[4096] bf16[*,4096]"},
    {"reduce_scale_f32", "y = reduce_scale(x)", NULL, NULL, "f32[*,128] f32[*,128]"},
    {"gelu_broadcast_f16", "y = gelu_tanh(a + b) * c", NULL, NULL, "f16[*,96] f16[96] f16[*,96] f16[*,96]"},
    {"masked_softmax_f16", "y = softmax(x * scale + mask)", NULL, "scale",
     "f16[4,12,128,256] f32[4,1,1,256] f16[4,12,128,256]"},
    {"user_reduce_f32", "s = reduce((a, b) -> a * 0.5 + b, x, 0)", NULL, NULL, "f32[*,100] f32[*]"},
    {"two_outputs_f16", "m = max(x); y = exp(x - m)", NULL, NULL, "f16[*,511] f32[*] f16[*,511]"},
    {"device_scalars_f16", "y = softmax(x * s) + k", NULL, "s,k", "f16[*,1024] f16[*,1024]"},
    {"dependent_layer_norm_bf16", "y = layer_norm(x, w, b)", NULL, NULL,
     "bf16[*,4096] bf16[4096] bf16[4096] bf16[*,4096]"},
    {"dependent_streamed_f64", "s = mean(x)", NULL, NULL, "f64[2,200003] f64[2]"},
    {"dependent_across_f32", "d = sum(softmax(x), axes = 0)", NULL, NULL, "f32[*,1000] f32[1000]"},
    {"integers_i32", "s = sum(x * k); y = -x % 7 + (x << 2)", NULL, "k", "i32[*,64] i64[*] i32[*,64]"},
    {"unsigned_u64", "s = sum(x); n = max(k); y = u32(x >> 33) ^ k * 2654435761", NULL, NULL,
     "u64[*,64] u32[*,64] u64[*] u32[*] u32[*,64]"},
    {"scales_e8m0", "m = max(abs(x)) / 448; y = x / e8m0(m)", NULL, NULL, "f16[*,1024] e8m0[*] e4m3[*,1024]"},
    {"inner_broadcast_f32", "y = x * w / max(x)", "-2,-1", NULL, "f32[*,6,8] f32[6,1] f32[*,6,8]"},
    {"packed_rows_f16", "m = max(x); y = (x - m) / sum(x) * w", "0", NULL,
     "f16[30,99]{104,1} f16[99] f16[99] f32[30,99]"},
    {"across_rows_bf16",
     "m = mean(x * x); dw = sum(g * (x * rsqrt(m + 1e-6)), axes = 0); t = sqrt(max(m, axes = all)) * k", NULL, "k",
     "bf16[*,1000] bf16[*,1000] f32[1000] f32[]"},
    {"lengths_f16", "lengths(n); y = softmax(x) * w; k = argmax(x); m = mean(x)", NULL, NULL,
     "i32[*,1] f16[*,4096] f16[4096] f16[*,4096] i64[*] f32[*]"},
    {"stored_early_bf16", "y = gelu(x); db = sum(gelu(x), axes = 0)", NULL, NULL,
     "bf16[16384,4096] bf16[16384,4096] f32[4096]"},
    {"offsets_bf16", "offsets(o); y = softmax(x) * r; k = argmax(x); t = take(x, argmax(x))", NULL, NULL,
     "i32[101] bf16[2,100000] f32[100,1] bf16[2,100000] i64[2,100] f32[2,100]"},
    {"places_f16", "h = x + rows(t, i); l = logsumexp(h) - take(x, i); put(y, i - 1) = h", NULL, NULL,
     "f16[*,1024] f16[50,1024] i32[*,1] f32[*] f16[99,1024]"},
    {"blocks_bf16", "n = rms_norm(x, w); s = absmax(n, block = 128) / 448; y = n / s; t = max(s)", NULL, NULL,
     "bf16[*,1024] bf16[1024] e4m3[*,1024] f32[*]"},
    {"block_slots_bf16",
     "n = rms_norm(x, w); s = mean(n, block = 100); y = n - s; i = argmax(n, block = 7); t = max(s)", NULL, NULL,
     "bf16[*,1234] bf16[1234] bf16[*,1234] i64[*,177] f32[*]"},
    {"block_chunks_f32", "s = absmax(x, block = 100) * repeat(r, 1000); y = x / s", NULL, NULL,
     "f32[*,30050] f32[31] f32[*,30050]"},
    {"streamed_f64", "s = mean(x)", NULL, NULL, "f64[*,200003] f64[*]"},
    {"squares_f16", "y = a * w + b", NULL, NULL,
     "f16[7,101,3,96] f32[101,1,1] f16[7,101,3,96]{29088,1,9696,101} f16[7,101,3,96]"},
    {"positions_f16", "y = where(index(-1) <= index(-2), x, 0)", NULL, NULL, "f16[64,333,1024] f16[64,333,1024]"},
    {"long_sort_f32", "y = sort(x) * 2", NULL, NULL, "f32[*,100000] f32[*,100000]"},
};

/* Rows in flight beside others, rows that arrive in shared memory, and those in a tile whose order counts: nothing
 * above would have such a schedule. */
static const struct {
    const char *name, *pins;
} pinned_goldens[] = {
    {"layer_norm_bf16", "block 128, shared, rows 2, vector 8, online"},
    {"unsigned_u64", "block 32, shared, vector 4"},
    {"user_reduce_f32", "lanes 1, tile"},
};

static const char *pins_of(const char *name) {
    for (size_t i = 0; i < COUNT(pinned_goldens); i++)
        if (!strcmp(pinned_goldens[i].name, name)) return pinned_goldens[i].pins;
    return "";
}

static void the_program_part_is_as_recorded(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(goldens); i++) {
        bound b;
        kiln__prepared prepared;
        const char *outputs = strstr(goldens[i].program, "m = max") ? "m,y" : NULL;
        setenv("KILN_SCHEDULE", pins_of(goldens[i].name), 1);
        const kiln_status status = bound_create_outputs(&b, goldens[i].program, outputs, goldens[i].axes,
                                                        goldens[i].scalars, goldens[i].tensors);
        unsetenv("KILN_SCHEDULE");
        assert_int_equal(status, KILN_OK);
        if (b.scalar_count && strstr(goldens[i].name, "integers")) b.scalars[0] = kiln_scalar_i64(3);
        if (b.scalar_count == 2) {
            b.scalars[0] = kiln_scalar_device(NULL, KILN_F32);
            b.scalars[1] = kiln_scalar_device(NULL, KILN_I64);
        }
        const kiln__device device = kiln__device_typical(90);
        const kiln__call call = {.program = b.program,
                                 .tensors = b.tensors,
                                 .scalars = b.scalars,
                                 .policy = KILN_POLICY_COMPILE,
                                 .dependent = strstr(goldens[i].name, "dependent") != NULL};
        if (kiln__prepare_for(&call, &device, 0, &prepared)) fail_msg("%s: %s", goldens[i].program, kiln_last_error());
        char *part = program_part(prepared.source);
        compare_with_golden(goldens[i].name, part);
        free(part);
        kiln__prepared_free(&prepared);
        bound_destroy(&b);
    }
}

/* ---- shorter forms ---- */

#define ROW16 "f16[*,1024] f16[*,1024]"

/* How often the program part has a form: exponentials where the least results make no difference, of these those in one
 * step from what they are centred on, and exponentials where the least results do make a difference; divisions by a sum
 * of exponentials, by anything, and of what hides the last bits; the largest or smallest half of a pack. */
static const struct {
    const char *program, *tensors;
    int beside_one, folded, exact, part, divide, rough, pairs;
} forms[] = {
    {"y = softmax(x)", ROW16, 0, 2, 0, 0, 0, 1, 1},
    {"y = softmax(x)", "bf16[*,1024] bf16[*,1024]", 0, 2, 0, 0, 0, 1, 1},
    {"y = softmax(x)", "f32[*,1024] f32[*,1024]", 1, 0, 1, 1, 0, 0, 0},
    {"y = softmax(x)", "f32[*,1024] f16[*,1024]", 0, 2, 0, 0, 0, 1, 0},
    {"y = softmax(x)", "f64[*,1024] f16[*,1024]", 2, 0, 0, 0, 0, 0, 0},
    {"y = softmax(x)", "f16[*,1024] f32[*,1024]", 1, 0, 1, 1, 0, 0, 1},
    {"y = softmax(x * 2)", "bf16[*,1024] bf16[*,1024]", 0, 2, 0, 0, 0, 1, 0},
    {"y = safe_softmax(x)", "bf16[*,1024] bf16[*,1024]", 0, 2, 0, 0, 0, 1, 1},
    {"y = softmax(x) * 3 + x", "bf16[*,1024] bf16[*,1024]", 0, 2, 0, 0, 0, 1, 1},
    {"y = log(softmax(x))", "bf16[*,1024] bf16[*,1024]", 1, 0, 1, 0, 0, 1, 1},
    {"y = log_softmax(x)", ROW16, 1, 0, 0, 0, 0, 0, 1},
    {"y = 1 / exp(x - max(x))", "bf16[*,1024] bf16[*,1024]", 0, 0, 1, 0, 0, 0, 1},
    {"y = where(exp(x - max(x)) == 0, 1, x)", "bf16[*,1024] bf16[*,1024]", 0, 0, 1, 0, 0, 0, 1},
    {"y = exp(x)", "bf16[*,1024] bf16[*,1024]", 0, 0, 1, 0, 0, 0, 0},
    {"y = exp(x - max(x))", ROW16, 1, 0, 0, 0, 0, 0, 1},
    {"y = softmax(x) + exp(x - max(x))", ROW16, 2, 0, 0, 0, 0, 1, 1},
    {"y = softmax(x) * sum(exp(x - max(x)))", ROW16, 2, 0, 0, 0, 0, 1, 1},
    {"y = x / sum(exp(x - max(x)))", ROW16, 1, 0, 0, 0, 0, 1, 1},
    {"y = softmax(x); z = logsumexp(x)", "f16[*,1024] f16[*,1024] f32[*]", 3, 0, 0, 0, 0, 1, 1},
    {"q = x / (absmax(x) / 448); s = absmax(x)", "f16[*,1024] e4m3[*,1024] f32[*]", 0, 0, 0, 0, 0, 1, 0},
    {"q = x / absmax(x); s = sum(x / absmax(x))", "f16[*,1024] e4m3[*,1024] f32[*]", 0, 0, 0, 0, 2, 0, 0},
    {"y = round(x / absmax(x) * 7) * absmax(x)", ROW16, 0, 0, 0, 0, 1, 0, 0},
    {"y = where(x / absmax(x) == 1, 1, x / absmax(x))", ROW16, 0, 0, 0, 0, 1, 0, 0},
    {"y = exp(x - max(x)) / max(x)", ROW16, 1, 0, 0, 0, 0, 1, 1},
    {"s = sum(softmax(x) * x)", "f16[*,1024] f16[*]", 1, 0, 1, 0, 0, 1, 1},
    {"s = sum(exp(x - max(x)) * x)", "f32[*,1024] f32[*]", 0, 0, 1, 0, 0, 0, 0},
    {"s = logsumexp(x)", "f32[*,1024] f32[*]", 1, 0, 0, 0, 0, 0, 0},
    {"s = min(x)", "bf16[*,4096] bf16[*]", 0, 0, 0, 0, 0, 0, 1},
    {"s = max(x) - min(x) + sum(x)", "f16[*,4096] f16[*]", 0, 0, 0, 0, 0, 0, 2},
    {"s = max(x)", "f16[*,4095] f16[*]", 0, 0, 0, 0, 0, 0, 1}, /* packs overhang the row: whole ones alone */
    {"s = max(x)", "f32[*,4096] f32[*]", 0, 0, 0, 0, 0, 0, 0},
    {"s = max(x)", "i8[*,4096] i8[*]", 0, 0, 0, 0, 0, 0, 0},
};

static int count_of(const char *text, const char *what) {
    int count = 0;
    while ((text = strstr(text, what)) != NULL) text += strlen(what), count++;
    return count;
}

static void shorter_forms_stand_where_they_are_as_good(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        char *source = source_of(forms[i].program, NULL, NULL, forms[i].tensors, 90);
        const char *program = strstr(source, "/* ---- the program ---- */");
        const int beside_one = count_of(program, "= kiln_exp_beside_one("), folded = count_of(program, ".exp("),
                  exact = count_of(program, "= kiln_exp("), part = count_of(program, ".part("),
                  divide = count_of(program, ".divide("), rough = count_of(program, ".rough("),
                  pairs = count_of(program, "(staged.in_x))");
        if (beside_one != forms[i].beside_one || folded != forms[i].folded || exact != forms[i].exact ||
            part != forms[i].part || divide != forms[i].divide || rough != forms[i].rough || pairs != forms[i].pairs)
            fail_msg("%s of %s: %d beside one, %d folded, %d exact, %d parts, %d divisions, %d rough, %d of pairs\n%s",
                     forms[i].program, forms[i].tensors, beside_one, folded, exact, part, divide, rough, pairs,
                     program);
        free(source);
    }
}

/* Whether each pass rounds products alike: where values that one pass chose are found again by others. A compiler that
 * contracts them in one pass alone finds none. */
static const struct {
    const char *program, *tensors;
    bool is_uncontracted;
} roundings[] = {
    {"y = softmax(x * 2 + 1)", ROW16, false},
    {"s = argmax(x * 2 + 1)", "f16[*,1024] i64[*]", false},
    {"y = sort(x * 2 + 1)", ROW16, false},
    {"y = where(x * 2 + 1 == max(x * 2 + 1), 1, 0)", ROW16, true},
    {"y = where(min(x) < x, x, 0)", ROW16, true},
    {"y = x * (x >= max(x, block = 32))", ROW16, true},
    {"y = topk(x * 2 + 1, 8)", "f16[*,1024] f16[*,8]", true},
    {"y = topk_by(x, x * 2 + 1, 8)", "f16[*,1024] f16[*,8]", true},
    {"y = where(x * 2 + 1 >= kth(x * 2 + 1, 8), x, 0)", ROW16, true},
    {"y = x - median(x)", ROW16, true},
};

static void values_that_are_found_again_are_rounded_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(roundings); i++) {
        char *source = source_of(roundings[i].program, NULL, NULL, roundings[i].tensors, 90);
        if (count_of(source, "\n#define KILN_UNCONTRACTED\n") != roundings[i].is_uncontracted)
            fail_msg("%s of %s", roundings[i].program, roundings[i].tensors);
        free(source);
    }
}

/* How often a function is written: once where the row is in registers, which keep its value for later passes, also
 * where vectors overhang the row; in each pass where it is cheaper than that, or follows from a later phase. */
static const struct {
    const char *program, *tensors, *pins, *function;
    int times;
} computed[] = {
    {"y = softmax(30 * tanh(x / 30))", ROW16, NULL, "tanhf(", 1},
    {"y = softmax(30 * tanh(x / 30))", "bf16[*,8192] bf16[*,8192]", "block 256, registers, cluster 2", "tanhf(", 1},
    {"y = softmax(30 * tanh(x / 30))", "bf16[*,1023] bf16[*,1023]", "block 64, registers", "tanhf(", 1},
    {"y = softmax(30 * tanh(x / 30))", ROW16, "block 64, shared", "tanhf(", 3},
    {"y = gelu(a) * b / max(gelu(a) * b)", "f16[*,1024] f16[*,1024] f16[*,1024]", NULL, "kiln_times_normcdf(", 1},
    {"y = silu(a) * b / max(silu(a) * b)", "f32[*,1024] f32[*,1024] f32[*,1024]", NULL, "kiln_times_sigmoid(", 1},
    {"y = silu(a) * b / max(silu(a) * b)", "f16[*,1024] f16[*,1024] f16[*,1024]", NULL, "kiln_times_sigmoid(", 2},
    {"y = tanh(x) - mean(tanh(x))", "f32[*,4096] f32[*,4096]", NULL, "tanhf(", 1},
    {"y = sin(x - mean(x)) / sum(sin(x - mean(x)))", "f32[*,512] f32[*,512]", NULL, "kiln_sines(", 1},
    {"y = (x + 1) / sum(x + 1)", "f32[*,1024] f32[*,1024]", NULL, "+ 1.0f", 2},
    {"y = softmax(x)", "f64[*,1024] f64[*,1024]", "calls, block 128, registers", "= kiln_call_exp(", 2},
    {"y = x - sum(x); z = y + lgamma(y - max(y))", "f32[*,1024] f32[*,1024]", NULL, "lgammaf(", 1},
};

static void heavy_values_are_computed_once(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(computed); i++) {
        if (computed[i].pins) setenv("KILN_SCHEDULE", computed[i].pins, 1);
        char *source = source_of(computed[i].program, NULL, NULL, computed[i].tensors, 90);
        unsetenv("KILN_SCHEDULE");
        const char *program = strstr(source, "/* ---- the program ---- */");
        const int times = count_of(program, computed[i].function);
        if (times != computed[i].times)
            fail_msg("%s of %s, %s: %s %d times, not %d\n%s", computed[i].program, computed[i].tensors,
                     computed[i].pins ? computed[i].pins : "", computed[i].function, times, computed[i].times, program);
        free(source);
    }
}

/* ---- the comment ---- */

static const char *const hostile[] = {
    "y = x + 1 # */ int evil;",
    "y = x + 1 # ends in a backslash \\",
    "# \\\n# \\\\\ny = x + 1",
    "y = x + 1 # ends in a trigraph ?\?/",
    "y = x + 1 # ?\?/\n# ?\?/",
    "y = x + 1 # \r#define KILN_VECTOR_WIDTH 3",
    "y = x + 1\r\n",
    "y = x + 1 # \v\f\b\x7f\x01",
    "y = x + 1 # \xc3\xa9 \xe2\x80\xa8 #define KILN_VECTOR_WIDTH 3",
    "y = x + 1 # \"quotes' R\"( %s %n",
    "\n\n#define KILN_VECTOR_WIDTH 3\n#include \"/etc/passwd\"\ny = x + 1",
};

/* Everything before the definitions consists of whole comment lines of printable characters. */
static void check_header(const char *source, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bool first = i == 0 || source[i - 1] == '\n';
        if (first && source[i] != '\n') assert_memory_equal(source + i, "//", 2);
        assert_true(source[i] == '\n' || (source[i] >= ' ' && source[i] <= '~'));
        assert_int_not_equal(source[i], '\\');
        assert_false(source[i] == '?' && source[i + 1] == '?');
    }
}

static void no_text_leaves_its_comment(void **state) {
    (void)state;
    setlocale(LC_ALL, ""); /* what counts as printable is no matter of the locale */
    char *plain = source_of("y = x + 1", NULL, NULL, "f32[8] f32[8]", 90);
    const char *body = strstr(plain, "#define KILN_COLS");
    for (size_t i = 0; i < COUNT(hostile); i++) {
        char *source = source_of(hostile[i], NULL, NULL, "f32[8] f32[8]", 90);
        size_t header = strlen(source) - strlen(body);
        check_header(source, header);
        assert_string_equal(source + header, body);
        free(source);
    }
    free(plain);
}

/* Each line between `struct kiln_arguments {` and its end declares another name. */
static void names_of_tensors_never_meet_names_of_the_generator(void **state) {
    static const struct {
        const char *program, *tensors;
    } cases[] = {
        {"y = m * m_stride1 + rows + elements + extent1 + scalar_k * k + int",
         "f32[8] f32[4,8] f32[4,1] f32[4,8] f32[8] f32[8] f32[4,8] f32[4,8]"},
        {"s = sum(x * k) + x_row + x_step0 + row_in_x + row + step0", "f32[3,8]{20,2} f32[3,8]{17,2} f32[3,8]{17,3} "
                                                                      "f32[3,8]{20,3} f32[3,8]{20,2} f32[3,8]{9,1} "
                                                                      "f32[3,8]"},
    };
    (void)state;
    for (size_t c = 0; c < COUNT(cases); c++) {
        char *source = source_of(cases[c].program, NULL, "k", cases[c].tensors, 90);
        char *end = strstr(source, "struct kiln_arguments {");
        assert_non_null(end);
        char *names[64];
        size_t count = 0;
        for (char *line = strchr(end, '\n') + 1; *line != '}'; line = end + 1) {
            end = strchr(line, '\n');
            end[-1] = '\0';
            names[count] = end - 1;
            while (names[count][-1] != ' ' && names[count][-1] != '*') names[count]--;
            for (size_t i = 0; i < count; i++) assert_string_not_equal(names[i], names[count]);
            count++;
        }
        assert_true(count >= 12);
        free(source);
    }
}

/* What is meant of a tensor, before in_ or out_ and its name. */
static const char *const meanings[] = {
    "", "row_", "step#_", "stride#_", "tile_", "at_", "lines_", "kiln_offset_", "kiln_crossing_", "kiln_run_",
};

/* What is left of the identifier behind the beginning, in which # is a number; NULL: it begins otherwise. */
static const char *behind(const char *identifier, const char *beginning) {
    for (; *beginning; beginning++) {
        size_t digits = *beginning == '#' ? strspn(identifier, "0123456789") : *identifier == *beginning;
        if (!digits) return NULL;
        identifier += digits;
    }
    return identifier;
}

/* The user's part of an identifier; NULL: it has none. */
static const char *users_part(const char *identifier, bool met[COUNT(meanings)]) {
    const char *part = behind(identifier, "scalar_");
    for (size_t i = 0; i < COUNT(meanings) && !part; i++) {
        const char *tensor = behind(identifier, meanings[i]);
        if (tensor && !(part = behind(tensor, "in_"))) part = behind(tensor, "out_");
        met[i] |= part != NULL;
    }
    return part;
}

static const struct {
    const char *program, *axes, *scalars, *tensors;
} users[] = {
    {"zz_y = zz_x * zz_k + zz_w; zz_s = sum(zz_x)", "1", "zz_k",
     "f32[3,4,8]{100,1,5} f32[4,1]{3,0} f32[3,4,8] f32[3,8]"},
    {"zz_y = zz_x * zz_w + zz_b", NULL, NULL,
     "f16[7,101,3,96] f32[101,1,1] f16[7,101,3,96]{29088,1,9696,101} f16[7,101,3,96]"},
    {"zz_y = zz_x + zz_w", NULL, NULL, "f16[32,1,1,250] f16[32,7,9,250] f16[32,7,9,250]"},
    {"zz_y = softmax(zz_x + zz_w)", "0", NULL, "f16[30,99]{104,1} f16[99] f16[30,99]"},
    {"zz_y = softmax(zz_x)", NULL, NULL, "f16[1000,33] f16[1000,33]"},
    {"zz_y = softmax(zz_x)", NULL, NULL, "f16[1000,33]{40,1} f16[1000,33]{44,1}"},
    {"zz_y = softmax(zz_x)", "1", NULL, "f16[136,60]{1,136} f16[136,60]"},
    {"zz_y = softmax(zz_x)", "1", NULL, "f16[1000,4,5] f16[1000,4,5]"},
    {"zz_y = layer_norm(zz_x, zz_w, zz_b)", NULL, NULL, "bf16[*,4096] bf16[4096] bf16[4096] bf16[*,4096]"},
};

/* An identifier holds a user's name where its beginning says so, and nowhere else. */
static void check_identifiers(const char *what, const char *text, bool met[COUNT(meanings)]) {
    for (const char *at = text + strcspn(text, NAME); *at; at += strcspn(at, NAME)) {
        const size_t length = strspn(at, NAME);
        char identifier[128] = "";
        assert_true(length < sizeof identifier);
        memcpy(identifier, at, length);
        const char *part = users_part(identifier, met), *name = strstr(identifier, "zz_");
        if (part != name || (name && strlen(name) != strlen("zz_x"))) fail_msg("%s: '%s'", what, identifier);
        at += length;
    }
}

/* So none can be a keyword or a macro, or another's: each begins with a word that is the generator's, and these differ.
 */
static void users_names_end_identifiers_that_begin_alike(void **state) {
    bool met[COUNT(meanings)] = {false};
    (void)state;
    for (const kiln__source_file *file = kiln__source_files; file->name; file++)
        if (strstr(file->name, ".cuh")) check_identifiers(file->name, file->text, met);
    for (size_t i = 0; i < COUNT(users); i++) {
        char *source = source_of(users[i].program, users[i].axes, users[i].scalars, users[i].tensors, 90);
        check_identifiers(users[i].program, strstr(source, "#define KILN_COLS"), met); /* behind the comment */
        free(source);
    }
    for (size_t i = 0; i < COUNT(meanings); i++)
        if (!met[i]) fail_msg("no identifier begins with '%s'", meanings[i]);
    for (size_t i = 0; i < COUNT(meanings); i++) /* no beginning with another, whatever follows it */
        for (size_t j = 0; j < COUNT(meanings); j++) {
            char one[64];
            snprintf(one, sizeof one, "%sin_", meanings[i]);
            for (char *number = one; (number = strchr(number, '#')) != NULL;) *number = '7';
            const char *rest = behind(one, meanings[j]);
            if (i != j && rest) assert_true(!behind(rest, "in_") && !behind(rest, "out_"));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_part_is_as_recorded),
        cmocka_unit_test(shorter_forms_stand_where_they_are_as_good),
        cmocka_unit_test(values_that_are_found_again_are_rounded_alike),
        cmocka_unit_test(heavy_values_are_computed_once),
        cmocka_unit_test(no_text_leaves_its_comment),
        cmocka_unit_test(names_of_tensors_never_meet_names_of_the_generator),
        cmocka_unit_test(users_names_end_identifiers_that_begin_alike),
    };
    return cmocka_run_group_tests_name("codegen", tests, NULL, NULL);
}
