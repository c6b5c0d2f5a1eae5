/* SPDX-License-Identifier: Apache-2.0 */
/* Typing: the type, phase and reach of every operation; what is folded and removed; the prelude for all types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lang_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const char kiln__source_prelude_kiln[], kiln__source_library_kiln[];

static void check_text(const char *text, const char *scalars, const kiln__binding *binding, const char *expected) {
    kiln__ir *ir;
    if (lang_build(text, scalars, binding, &ir) != KILN_OK) fail_msg("%s: %s", text, kiln_last_error());
    char *found = lang_ir_text(ir);
    if (strcmp(found, expected) != 0) fail_msg("%s:\nfound    %s\nexpected %s", text, found, expected);
    free(found);
    kiln__ir_destroy(ir);
}

static void types_follow_the_rules(void **state) {
    (void)state;
    static const struct {
        kiln_type type;
        const char *text, *expected;
    } cases[] = {
        {KILN_F16, "y = x + 1", "input:f32=xe literal:f32=1c +:f32e(0,1)"},
        {KILN_BF16, "y = x * 0.1", "input:f32=xe literal:f32=0.100000001c *:f32e(0,1)"},
        {KILN_E4M3, "y = -x", "input:f32=xe neg:f32e(0)"},
        {KILN_F64, "y = x * 0.1", "input:f64=xe literal:f64=0.1c *:f64e(0,1)"},
        {KILN_I8, "y = x + 1", "input:i32=xe literal:i32=1c +:i32e(0,1)"},
        {KILN_I32, "y = x + 3000000000", "input:i32=xe cast:i64e(0) literal:i64=3000000000c +:i64e(1,2)"},
        {KILN_I64, "y = x + 1", "input:i64=xe literal:i64=1c +:i64e(0,1)"},
        {KILN_I32, "y = x + 0.5", "input:i32=xe cast:f32e(0) literal:f32=0.5c +:f32e(1,2)"},
        {KILN_I32, "y = x / 2", "input:i32=xe cast:f32e(0) literal:f32=2c /:f32e(1,2)"},
        {KILN_I32, "y = exp(x)", "input:i32=xe cast:f32e(0) exp:f32e(1)"},
        {KILN_BOOL, "y = x + x", "input:bool=xe cast:i32e(0) +:i32e(1,1)"},
        {KILN_BOOL, "y = ~x & !x", "input:bool=xe !:boole(0) &&:boole(1,1)"},
        {KILN_I32, "y = ~x ^ 1", "input:i32=xe ~:i32e(0) literal:i32=1c ^:i32e(1,2)"},
        {KILN_I32, "y = x << 3000000000", "input:i32=xe literal:i32=2147483647c <<:i32e(0,1)"},
        {KILN_F32, "y = x > 0 && x", "input:f32=xe literal:f32=0c >:boole(0,1) cast:boole(0) &&:boole(2,3)"},
        {KILN_I32, "y = x > 0.5 ? x : 1.5",
         "input:i32=xe cast:f32e(0) literal:f32=0.5c >:boole(1,2) "
         "literal:f32=1.5c where:f32e(3,1,4)"},
        {KILN_I32, "y = sum(x)", "input:i32=xe cast:i64e(0) sum:i64p1(1)"},
        {KILN_BOOL, "y = sum(x)", "input:bool=xe cast:i64e(0) sum:i64p1(1)"},
        {KILN_BOOL, "y = max(x)", "input:bool=xe max:boolp1(0)"},
        {KILN_BOOL, "y = ~max(x) | min(x)", "input:bool=xe max:boolp1(0) !:boolp1(1) min:boolp1(0) ||:boolp1(2,3)"},
        {KILN_BOOL, "y = minimum(x, !x)", "input:bool=xe !:boole(0) &&:boole(0,1)"},
        {KILN_BOOL, "y = fmin(x, true) ^ fmax(x, !x)",
         "input:bool=xe literal:bool=1c &&:boole(0,1) !:boole(0) ||:boole(0,3) !=:boole(2,4)"},
        {KILN_BOOL, "y = maximum(x, 0)", "input:bool=xe cast:i32e(0) literal:i32=0c maximum:i32e(1,2)"},
        {KILN_BOOL, "y = ~maximum(true, false)", "literal:bool=1c literal:bool=0c ||:boolc(0,1) !:boolc(2)"},
        {KILN_BOOL, "y = kth(x, -2)", "input:bool=xe count:i64c literal:i64=-2c kth:boolp1(0,2,1)"},
        {KILN_F16, "y = sort(x, descending = true)", "input:f32=xe argsort:i64e(0) sort:f32e(0,1)"},
        {KILN_I32, "y = cumsum(x)", "input:i32=xe cast:i64e(0) before:i64p1(1) scan:i64ep1(1,2)"},
        {KILN_F16, "y = max(x) + kth(cummax(x), 1)",
         "input:f32=xe max:f32p1(0) before:f32p2(0) scan:f32ep2(0,2) "
         "count:i64c literal:i64=1c kth:f32p3(3,5,4) +:f32p3(1,6)"},
        {KILN_BOOL, "y = argmax(x)", "input:bool=xe cast:i32e(0) argmax:i64p1(1)"},
        {KILN_I32, "y = fma(x, x, 3)", "input:i32=xe *:i32e(0,0) literal:i32=3c +:i32e(1,2)"},
        {KILN_I32, "y = fma(x, 0.5, 3)", "input:i32=xe cast:f32e(0) literal:f32=0.5c literal:f32=3c fma:f32e(1,2,3)"},
        {KILN_I32, "y = x ** x", "input:i32=xe pow:i32e(0,0)"},
        {KILN_BOOL, "y = x ** x", "input:bool=xe cast:i32e(0) pow:i32e(1,1)"},
        {KILN_I32, "y = x ** i64(x)", "input:i32=xe cast:i64e(0) pow:i64e(1,1)"},
        {KILN_I32, "y = 2 ** x", "input:i32=xe literal:i32=2c pow:i32e(1,0)"},
        {KILN_I32, "y = x ** -1", "input:i32=xe literal:i32=-1c pow:i32e(0,1)"},
        {KILN_I32, "y = x ** 0.5", "input:i32=xe cast:f32e(0) literal:f32=0.5c pow:f32e(1,2)"},
        {KILN_I32, "y = div_floor(x, 2)", "input:i32=xe literal:i32=2c div_floor:i32e(0,1)"},
        {KILN_BOOL, "y = div_trunc(x, x)", "input:bool=xe cast:i32e(0) div_trunc:i32e(1,1)"},
        {KILN_F16, "y = div_trunc(x, 2)", "input:f32=xe literal:f32=2c div_trunc:f32e(0,1)"},
        {KILN_I32, "y = float(x)", "input:i32=xe cast:f32e(0)"},
        {KILN_BOOL, "y = float(x)", "input:bool=xe cast:f32e(0)"},
        {KILN_F16, "y = float(x)", "input:f32=xe"},
        {KILN_F32, "y = float(1 << 40)", "literal:f32=1.09951163e+12c"},
        {KILN_I32, "y = sumsq(x)", "input:i32=xe cast:i64e(0) *:i64e(1,1) sum:i64p1(2)"},
        {KILN_I32, "y = norm1(x)", "input:i32=xe cast:i64e(0) abs:i64e(1) sum:i64p1(2)"},
        {KILN_F32, "y = any(x)", "input:f32=xe cast:boole(0) any:boolp1(1)"},
        {KILN_I32, "y = mean(x)", "input:i32=xe cast:i64e(0) sum:i64p1(1) count:f32c cast:f32p1(2) /:f32p1(4,3)"},
        {KILN_F64, "y = mean(x)", "input:f64=xe sum:f64p1(0) count:f64c /:f64p1(1,2)"},
        {KILN_F32, "y = f16(x)", "input:f32=xe round_to:f32=f16e(0)"},
        {KILN_F64, "y = f32(x) + f16(x)", "input:f64=xe round_to:f64=f32e(0) round_to:f64=f16e(0) +:f64e(1,2)"},
        {KILN_F32, "y = f32(x)", "input:f32=xe"},
        {KILN_F32, "y = round_to(bf16, x, uniform(1, 2))",
         "input:f32=xe literal:i64=1c literal:i64=2c uniform:f32e(1,2) round_to:f32=bf16e(0,3)"},
        {KILN_F32, "y = round_to(f32, x, 0.5)", "input:f32=xe"},
        {KILN_I32, "y = round_to(e4m3, x, 1)", "input:i32=xe cast:f32e(0) literal:f32=1c round_to:f32=e4m3e(1,2)"},
        {KILN_F64, "y = round_to(f32, x, 0)", "input:f64=xe literal:f64=0c round_to:f64=f32e(0,1)"},
        {KILN_F32, "y = round_to(f16, f64(x), 0)",
         "input:f32=xe cast:f64e(0) literal:f64=0c round_to:f64=f16e(1,2) cast:f32e(3)"},
        {KILN_F32, "y = f16(f64(x))", "input:f32=xe cast:f64e(0) round_to:f64=f16e(1) cast:f32e(2)"},
        {KILN_F32, "y = f64(x) + x", "input:f32=xe cast:f64e(0) +:f64e(1,1)"},
        {KILN_F32, "y = f64(x) * 0.1", "input:f32=xe cast:f64e(0) literal:f64=0.1c *:f64e(1,2)"},
        {KILN_F32, "y = i8(x)", "input:f32=xe cast:i32e(0) round_to:i32=i8e(1)"},
        {KILN_I64, "y = i32(x)", "input:i64=xe cast:i32e(0)"},
        {KILN_I64, "y = u8(x)", "input:i64=xe cast:i32e(0) round_to:i32=u8e(1)"},
        {KILN_F32, "y = bool(x)", "input:f32=xe cast:boole(0)"},
        {KILN_F32, "y = floor(i32(x))", "input:f32=xe cast:i32e(0)"},
        {KILN_I32, "y = isnan(x) || x", "input:i32=xe literal:bool=0c cast:boole(0) ||:boole(1,2)"},
        {KILN_I32, "y = nanmax(x)", "input:i32=xe max:i32p1(0)"},
        {KILN_I32, "y = fmax(x, 1)", "input:i32=xe literal:i32=1c maximum:i32e(0,1)"},
        {KILN_F32, "y = x + index(-1)", "input:f32=xe index:i64=1e cast:f32e(1) +:f32e(0,2)"},
        {KILN_F32, "y = index(0) + size(1)", "index:i64=0 size:i64=1c +:i64(0,1)"},
        {KILN_F32, "y = uniform(1, 2)", "literal:i64=1c literal:i64=2c uniform:f32e(0,1)"},
        {KILN_I32, "y = 1", "literal:i32=1c"},
        {KILN_I32, "y = 3000000000", "literal:i64=3000000000c"},
        {KILN_U16, "y = x - 1", "input:i32=xe literal:i32=1c -:i32e(0,1)"},
        {KILN_U32, "y = x - 1", "input:u32=xe literal:u32=1c -:u32e(0,1)"},
        {KILN_U32, "y = x * 0xffffffff", "input:u32=xe literal:u32=4294967295c *:u32e(0,1)"},
        {KILN_U32, "y = x + -1", "input:u32=xe cast:i64e(0) literal:i64=-1c +:i64e(1,2)"},
        {KILN_U32, "y = x + 4294967296", "input:u32=xe cast:i64e(0) literal:i64=4294967296c +:i64e(1,2)"},
        {KILN_U32, "y = x + u16(x)", "input:u32=xe cast:i32e(0) round_to:i32=u16e(1) cast:u32e(2) +:u32e(0,3)"},
        {KILN_U32, "y = x < i32(x) - 1",
         "input:u32=xe cast:i32e(0) literal:i32=1c -:i32e(1,2) cast:i64e(0) cast:i64e(3) <:boole(4,5)"},
        {KILN_U32, "y = x / 2", "input:u32=xe cast:f32e(0) literal:f32=2c /:f32e(1,2)"},
        {KILN_U32, "y = sum(x)", "input:u32=xe cast:i64e(0) sum:i64p1(1)"},
        {KILN_U64, "y = sum(x)", "input:u64=xe sum:u64p1(0)"},
        {KILN_U64, "y = sumsq(x)", "input:u64=xe *:u64e(0,0) sum:u64p1(1)"},
        {KILN_U64, "y = argmax(x)", "input:u64=xe argmax:i64p1(0)"},
        {KILN_U64, "y = x ^ x >> 33", "input:u64=xe literal:i64=33c >>:u64e(0,1) ^:u64e(0,2)"},
        {KILN_U64, "y = x << -1", "input:u64=xe literal:i64=-1c <<:u64e(0,1)"},
        {KILN_U64, "y = x * 0xff51afd7ed558ccd", "input:u64=xe literal:u64=18397679294719823053c *:u64e(0,1)"},
        {KILN_U64, "y = x + index(0)", "input:u64=xe index:i64=0 cast:u64(1) +:u64e(0,2)"},
        {KILN_U64, "y = x + u8(x)", "input:u64=xe cast:i32e(0) round_to:i32=u8e(1) cast:u64e(2) +:u64e(0,3)"},
        {KILN_U64, "y = x + (x > 1)", "input:u64=xe literal:u64=1c >:boole(0,1) cast:u64e(2) +:u64e(0,3)"},
        {KILN_U64, "y = uniform(x, 0)", "input:u64=xe literal:i64=0c uniform:f32e(0,1)"},
        {KILN_U32, "y = uniform(x, 18446744073709551615)",
         "input:u32=xe cast:i64e(0) literal:u64=18446744073709551615c uniform:f32e(1,2)"},
        {KILN_U64, "y = x + 0.5", "input:u64=xe cast:f32e(0) literal:f32=0.5c +:f32e(1,2)"},
        {KILN_I64, "y = u64(x) % 7", "input:i64=xe cast:u64e(0) literal:u64=7c %:u64e(1,2)"},
        {KILN_U64, "y = popcount(x) + i32(x)", "input:u64=xe popcount:u64e(0) cast:i32e(0) cast:u64e(2) +:u64e(1,3)"},
        {KILN_I32, "y = 18446744073709551615", "literal:u64=18446744073709551615c"},
        {KILN_F32, "y = x + 18446744073709551615", "input:f32=xe literal:f32=1.84467441e+19c +:f32e(0,1)"},
        {KILN_F64, "y = x; z = 0.1", "input:f64=xe literal:f64=0.1c"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__binding binding = lang_binding(cases[i].type);
        check_text(cases[i].text, NULL, &binding, cases[i].expected);
    }
}

/* docs/language.md has this table. */
static void types_meet_as_the_table_says(void **state) {
    (void)state;
    static const struct {
        kiln_type members[3];
        int count;
        const char *with[7];
    } rows[] = {
        {{KILN_BOOL}, 1, {"i32", "i32", "i32", "u32", "i64", "u64", "f32"}}, /* two bools: maximum stays bool */
        {{KILN_I8, KILN_I16, KILN_I32}, 3, {"i32", "i32", "i32", "i64", "i64", NULL, "f32"}},
        {{KILN_U8, KILN_U16}, 2, {"i32", "i32", "i32", "u32", "i64", "u64", "f32"}},
        {{KILN_U32}, 1, {"u32", "i64", "u32", "u32", "i64", "u64", "f32"}},
        {{KILN_I64}, 1, {"i64", "i64", "i64", "i64", "i64", NULL, "f32"}},
        {{KILN_U64}, 1, {"u64", NULL, "u64", "u64", NULL, "u64", "f32"}},
        {{KILN_F16, KILN_E8M0, KILN_F32}, 3, {"f32", "f32", "f32", "f32", "f32", "f32", "f32"}},
    };
    int pairs = 0;
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t c = 0; c < COUNT(rows); c++)
            for (int a = 0; a < rows[r].count; a++)
                for (int b = 0; b < rows[c].count; b++, pairs++) {
                    kiln__binding binding = lang_binding(rows[r].members[a]);
                    kiln__ir *ir = NULL;
                    binding.input_types[1] = rows[c].members[b];
                    const kiln_status status = lang_build("y = x + z", NULL, &binding, &ir);
                    const char *found = ir ? kiln__ctype_name(ir->insts[ir->outputs[0]].type) : NULL;
                    const char *expected = rows[r].with[c];
                    if (status != (expected ? KILN_OK : KILN_E_TYPE) || (expected && strcmp(found, expected) != 0))
                        fail_msg("%s and %s give %s, expected %s", kiln_type_name(rows[r].members[a]),
                                 kiln_type_name(rows[c].members[b]), found ? found : kiln_last_error(),
                                 expected ? expected : "a refusal");
                    kiln__ir_destroy(ir);
                }
    assert_int_equal(pairs, 144);
}

static void u64_meets_no_value_that_may_be_negative(void **state) {
    (void)state;
    static const struct {
        kiln_type x; /* the other's type, z is the u64 */
        int z;       /* which input is z */
        const char *text, *problem;
    } cases[] = {
        {KILN_I32, 1, "y = x + z",
         "1:7: '+' of u64 and i32, which may be negative: convert one of them, as in i64(x) or u64(x)"},
        {KILN_I64, 0, "y = z < x", "'<' of u64 and i64, which may be negative"},
        {KILN_I8, 1, "y = where(x > 1, z, x)", "'where' of u64 and i32, which may be negative"},
        {KILN_U8, 0, "y = z + (x - 1)", "'+' of u64 and i32, which may be negative"},
        {KILN_F32, 0, "y = maximum(z, -1)", "'maximum' of u64 and i32, which may be negative"},
        {KILN_F32, 0, "y = fma(z, 2, z ** -1)", "'pow' of u64 and i32, which may be negative"},
        {KILN_U16, 0, "y = minimum(z, -x)", "'minimum' of u64 and i32, which may be negative"},
        {KILN_U8, 1, "y = x + z", NULL},
        {KILN_U16, 0, "y = z / (x - 1) + minimum(z, x)", NULL},
        {KILN_I32, 0, "y = z + u64(x) + u32(x) + (x > 1) + u8(x) + 7 + argmax(x) + size(0)", NULL},
        {KILN_I32, 0, "y = z / (x - 1) + atan2(z, x)", NULL},
        {KILN_I32, 0, "y = z && x || !(x - z / 1)", NULL},
        {KILN_F32, 1, "y = x + z", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__binding binding = lang_binding(cases[i].x);
        kiln__ir *ir = NULL;
        binding.input_types[cases[i].z] = KILN_U64;
        kiln_status status = lang_build(cases[i].text, NULL, &binding, &ir);
        if (status != (cases[i].problem ? KILN_E_TYPE : KILN_OK)) fail_msg("%s: %s", cases[i].text, kiln_last_error());
        if (cases[i].problem && !strstr(kiln_last_error(), cases[i].problem))
            fail_msg("%s: %s", cases[i].text, kiln_last_error());
        kiln__ir_destroy(ir);
    }
}

static void literals_fold(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"y = 1 + 2 * 3", "literal:i32=7c"},
        {"y = 2000000000 + 2000000000", "literal:i64=4000000000c"},
        {"y = 1 / 4", "literal:f32=0.25c"},
        {"y = 7 % -3", "literal:i32=-2c"},
        {"y = -7 % 3", "literal:i32=2c"},
        {"y = -7.5 % 2", "literal:f32=0.5c"},
        {"y = fmod(-7, 3)", "literal:i32=-1c"},
        {"y = 5 % 0", "literal:i32=0c"},
        {"y = -2 ** 2", "literal:i32=-4c"},
        {"y = 2 ** -1", "literal:f32=0.5c"},
        {"y = 2 ** 40", "literal:i64=1099511627776c"},
        {"y = 1 << 33 | 1", "literal:i64=8589934593c"},
        {"y = 3 > 2.5", "literal:bool=1c"},
        {"y = inf > nan", "literal:bool=0c"},
        {"y = true && 0", "literal:bool=0c"},
        {"y = maximum(1, nan)", "literal:f32=nanc"},
        {"y = fmax(1, nan)", "literal:f32=1c"},
        {"y = sqrt(16)", "literal:f32=4c"},
        {"y = i32(-2.7)", "literal:i32=-2c"},
        {"y = i32(1e20)", "literal:i32=2147483647c"},
        {"y = i8(300)", "literal:i32=127c"},
        {"y = u8(-1)", "literal:i32=0c"},
        {"y = i32(nan)", "literal:i32=0c"},
        {"y = bool(nan)", "literal:bool=1c"},
        {"y = f16(0.1)", "literal:f32=0.0999755859c"},
        {"y = e4m3(1000)", "literal:f32=448c"},
        {"y = e8m0(1000) + e8m0(-3)", "literal:f32=1024c literal:f32=4c +:f32c(0,1)"},
        {"y = f64(0.1)", "literal:f64=0.1c"},
        {"y = round(2.5) + round(3.5)", "literal:f32=6c"},
        {"y = ~5", "literal:i32=-6c"},
        {"y = ~true", "literal:bool=1c !:boolc(0)"},
        {"y = where(true, x, 1.5)", "input:i32=xe"},
        {"y = x * 1", "input:i32=xe"},
        {"y = x ** 0", "literal:i32=1c"},
        {"y = x ** 1", "input:i32=xe"},
        {"y = x ** 2", "input:i32=xe *:i32e(0,0)"},
        {"y = x ** 5", "input:i32=xe *:i32e(0,0) *:i32e(1,1) *:i32e(0,2)"},
        {"y = f32(x) ** 2", "input:i32=xe cast:f32e(0) *:f32e(1,1)"},
        {"y = f32(x) ** -1", "input:i32=xe cast:f32e(0) literal:f32=1c /:f32e(2,1)"},
        {"y = f32(x) ** 0.5", "input:i32=xe cast:f32e(0) literal:f32=0.5c pow:f32e(1,2)"},
        {"y = f32(x) / 1 * 1.0", "input:i32=xe cast:f32e(0)"},
        {"y = 9223372036854775807 + 1", "literal:i64=9223372036854775807c literal:i64=1c +:i64c(0,1)"},
        {"y = -9223372036854775808", "literal:i64=-9223372036854775808c"},
        {"y = 18446744073709551615 / 2", "literal:f32=9.22337204e+18c"},
        {"y = 18446744073709551615 & 255", "literal:u64=18446744073709551615c literal:u64=255c &:u64c(0,1)"},
        {"y = i32(18446744073709551615)", "literal:i32=2147483647c"},
        {"y = u64(-1) + u32(1e10)", "literal:u64=0c literal:u64=4294967295c +:u64c(0,1)"},
        {"y = sum(1)", "literal:i64=1c sum:i64p1(0)"},
        {"y = where(x > 0, x, x)", "input:i32=xe"},
    };
    kiln__binding binding = lang_binding(KILN_I32);
    for (size_t i = 0; i < COUNT(cases); i++) check_text(cases[i].text, NULL, &binding, cases[i].expected);
}

static void phases_and_reach(void **state) {
    (void)state;
    kiln__binding binding = lang_binding(KILN_F32);
    binding.input_per_element[1] = false;
    check_text("y = softmax(x)", NULL, &binding,
               "input:f32=xe max:f32p1(0) -:f32ep1(0,1) exp:f32ep1(2) sum:f32p2(3) "
               "/:f32ep2(3,4)");
    check_text("y = x * r", NULL, &binding, "input:f32=xe input:f32=r *:f32e(0,1)");
    check_text("y = x * (s + 1)", "s", &binding, "input:f32=xe scalar:f32=sc literal:f32=1c +:f32c(1,2) *:f32e(0,3)");
    check_text("y = max(x) + uniform(1, i64(x))", NULL, &binding,
               "input:f32=xe max:f32p1(0) cast:i64e(0) literal:i64=1c uniform:f32e(3,2) +:f32ep1(1,4)");
    check_text("y = rms_norm(x)", NULL, &binding,
               "input:f32=xe *:f32e(0,0) sum:f32p1(1) count:f32c /:f32p1(2,3) literal:f32=9.99999997e-07c +:f32p1(4,5) "
               "rsqrt:f32p1(6) *:f32ep1(0,7)");
    check_text("y = logsumexp(x)", NULL, &binding,
               "input:f32=xe max:f32p1(0) isfinite:boolp1(1) literal:f32=0c where:f32p1(2,1,3) -:f32ep1(0,4) "
               "exp:f32ep1(5) sum:f32p2(6) log:f32p2(7) +:f32p2(8,4)");
    static const struct {
        const char *text;
        uint32_t phases, reductions;
        bool per_element;
    } cases[] = {
        {"y = exp(x)", 0, 0, true},
        {"y = sum(x)", 1, 1, false},
        {"y = sum(x) + max(x)", 1, 2, false},
        {"y = reduce_scale(x)", 1, 1, true},
        {"y = softmax_grad(x, x)", 1, 1, true},
        {"y = std(x)", 2, 3, false},
        {"y = layer_norm(x, x, x)", 2, 2, true},
        {"y = layer_norm_grad(x, x, x)", 3, 4, true},
        {"y = log_softmax(x)", 2, 2, true},
        {"y = cross_entropy(x, x)", 3, 3, false},
        {"y = softmax(softmax(x))", 4, 4, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__ir *ir;
        assert_int_equal(lang_build(cases[i].text, NULL, &binding, &ir), KILN_OK);
        uint32_t reductions = 0;
        for (uint32_t k = 0; k < ir->count; k++) reductions += kiln__op_is_reduction(ir->insts[k].op);
        if (ir->phase_count != cases[i].phases || reductions != cases[i].reductions)
            fail_msg("%s: %u phases, %u reductions", cases[i].text, ir->phase_count, reductions);
        assert_int_equal(ir->insts[ir->outputs[0]].per_element, cases[i].per_element);
        kiln__ir_destroy(ir);
    }
}

static void scalars_take_their_types(void **state) {
    (void)state;
    kiln__binding binding = lang_binding(KILN_F64);
    binding.scalar_types[1] = KILN_I64;
    binding.scalar_types[2] = KILN_I32;
    check_text("y = x * a + b * c", "a,b,c", &binding,
               "input:f64=xe scalar:f64=ac *:f64e(0,1) scalar:i64=bc scalar:i32=cc cast:i64c(4) *:i64c(3,5) "
               "cast:f64c(6) +:f64e(2,7)");
    binding.input_types[0] = KILN_I32;
    check_text("y = x * a", "a", &binding, "input:i32=xe scalar:f32=ac cast:f32e(0) *:f32e(2,1)");
    kiln__ir *ir;
    binding.scalar_types[0] = KILN_F16;
    assert_int_equal(lang_build("y = x * a", "a", &binding, &ir), KILN_E_TYPE);
    assert_string_equal(kiln_last_error(), "scalar 'a' has type f16, expected f64, i64 or i32");
}

static void mixed_inputs_meet_in_f64(void **state) {
    (void)state;
    kiln__binding binding = lang_binding(KILN_F16);
    binding.input_types[1] = KILN_F64;
    binding.input_types[2] = KILN_I8;
    check_text("y = exp(a) * b + c", NULL, &binding,
               "input:f64=ae exp:f64e(0) input:f64=be *:f64e(1,2) input:i32=ce cast:f64e(4) +:f64e(3,5)");
}

static void combines_are_typed_for_what_they_reduce(void **state) {
    (void)state;
    kiln__ir *ir;
    kiln__binding binding = lang_binding(KILN_I32);
    assert_int_equal(lang_build("y = reduce((a, b) -> maximum(abs(a), abs(b)), x, 0);"
                                "z = reduce((a, b) -> maximum(abs(a), abs(b)), f32(x), 0);"
                                "w = reduce((a, b) -> maximum(abs(a), abs(b)), x + 1, 0)",
                                NULL, &binding, &ir),
                     KILN_OK);
    assert_int_equal(ir->combine_count, 2);
    assert_int_equal(ir->combines[0].type, KILN__I32);
    assert_int_equal(ir->combines[1].type, KILN__F32);
    assert_int_equal(ir->combines[0].count, 5);
    assert_int_equal(ir->combines[0].insts[ir->combines[0].result].op, KILN__OP_MAXIMUM);
    assert_int_equal(ir->insts[ir->outputs[2]].u.reducer, 0);
    kiln__ir_destroy(ir);
    static const struct {
        kiln_type type;
        const char *text, *sentence; /* NULL: it types */
    } cases[] = {
        {KILN_F32, "y = reduce((a, b) -> a > b, x, -inf)", NULL},
        {KILN_I32, "y = reduce((a, b) -> minimum(a, b), x, 0x7fffffff)", NULL},
        {KILN_I32, "y = reduce((a, b) -> a + b, x, 0.0)", NULL},
        {KILN_F32, "y = reduce((a, b) -> f16(a + b), x, 0)", NULL},
        {KILN_I32, "y = reduce((a, b) -> a / b, x, 1)",
         "1:5: the combine of reduce turns i32 into f32; convert what is reduced, as in reduce(..., f32(x), ...)"},
        {KILN_I32, "y = reduce((a, b) -> a + b, x, inf)", "1:5: the identity of reduce is no i32"},
        {KILN_I32, "y = reduce((a, b) -> a + b, x, 0.5)", "1:5: the identity of reduce is no i32"},
        {KILN_I32, "y = reduce((a, b) -> a + b, x, 3000000000)", "1:5: the identity of reduce is no i32"},
        {KILN_F32, "y = reduce((a, b) -> a & b, x, 0)", "1:24: '&' takes integers, found f32"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        binding = lang_binding(cases[i].type);
        kiln_status status = lang_build(cases[i].text, NULL, &binding, &ir);
        if (cases[i].sentence == NULL) {
            if (status != KILN_OK) fail_msg("%s: %s", cases[i].text, kiln_last_error());
        } else {
            assert_int_equal(status, KILN_E_TYPE);
            assert_string_equal(kiln_last_error(), cases[i].sentence);
        }
        kiln__ir_destroy(ir);
    }
}

static void errors_of_types_and_axes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"y = x & 1", KILN_E_TYPE, "1:7: '&' takes integers, found f32"},
        {"y = 1 << x", KILN_E_TYPE, "1:7: '<<' takes integers, found f32"},
        {"y = ~x", KILN_E_TYPE, "1:5: '~' takes integers, found f32"},
        {"y = popcount(x)", KILN_E_TYPE, "1:5: 'popcount' takes integers, found f32"},
        {"fn f(a) = a | 1\n\ny = 1 + f(x)", KILN_E_TYPE, "3:9: '|' takes integers, found f32"},
        {"y = uniform(x, 0)", KILN_E_TYPE, "1:5: the seed of 'uniform' is an integer, found f32"},
        {"y = uniform(0, 0.5)", KILN_E_TYPE, "1:5: the offset of 'uniform' is an integer, found f32"},
        {"y = index(2)", KILN_E_AXIS, "1:5: index(2): the iteration space has 2 axes"},
        {"y = size(-3)", KILN_E_AXIS, "1:5: size(-3): the iteration space has 2 axes"},
    };
    kiln__binding binding = lang_binding(KILN_F32);
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__ir *ir;
        assert_int_equal(lang_build(cases[i].text, NULL, &binding, &ir), cases[i].status);
        assert_string_equal(kiln_last_error(), cases[i].sentence);
        assert_null(ir);
    }
}

static void deep_programs_stop_at_limits(void **state) {
    (void)state;
    kiln__binding binding = lang_binding(KILN_I32);
    kiln__text text = {0};
    kiln__ir *ir;
    kiln__text_puts(&text, "a0 = sum(x)\n");
    for (int i = 1; i < 300; i++) kiln__text_printf(&text, "a%d = sum(x - a%d)\n", i, i - 1);
    char *program = kiln__text_take(&text);
    assert_int_equal(lang_build(program, NULL, &binding, &ir), KILN_E_LIMIT);
    assert_string_equal(kiln_last_error(), "101:8: reductions of reductions are nested more than 100 deep");
    free(program);
    kiln__text_puts(&text, "a0 = x\n");
    for (int i = 1; i < 2000; i++) kiln__text_printf(&text, "a%d = a%d ** 63\n", i, i - 1);
    program = kiln__text_take(&text);
    assert_int_equal(lang_build(program, NULL, &binding, &ir), KILN_E_LIMIT);
    assert_non_null(strstr(kiln_last_error(), "the program has more than 16384 typed operations"));
    free(program);
}

static void phases_read_as_formulas(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"y = softmax(x)", "phase 0: r0 = max(x)\nphase 1: r1 = sum(exp(x - r0))\nfinish: y = exp(x - r0) / r1\n"},
        {"s = sum(x); m = max(x) * 0.1", "phase 0: r0 = sum(x), r1 = max(x)\nfinish: s = r0, m = r1 * 0.1\n"},
        {"y = -(x + 1) * f16(x) + index(0) - (x < 2)",
         "finish: y = ((-(x + 1) * f16(x)) + f32(index(0))) - f32(x < 2)\n"},
    };
    kiln__binding binding = lang_binding(KILN_F32);
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__ir *ir;
        assert_int_equal(lang_build(cases[i].text, NULL, &binding, &ir), KILN_OK);
        char *found = kiln__ir_describe(ir);
        assert_string_equal(found, cases[i].expected);
        free(found);
        kiln__ir_destroy(ir);
    }
}

/* "y = name(x0, x1)" for a definition "fn name(a, b, c = 1) = ...": the required parameters alone, integers for those
 * that are seeds. */
static bool call_of(const char *definition, char *out, size_t size) {
    char name[64], parameters[200];
    if (sscanf(definition, "fn %63[a-z0-9_](%199[^)])", name, parameters) != 2 || name[0] == '_') return false;
    size_t used = (size_t)snprintf(out, size, "y = %s(", name);
    /* A place in a row is the row's. */
    const bool has_place = strstr(name, "quantile") || strcmp(name, "kth_largest") == 0, chooses = strstr(name, "topk");
    int i = 0, tensors = 0;
    for (char *part = strtok(parameters, ","); part != NULL; part = strtok(NULL, ",")) {
        if (strchr(part, '=') != NULL) break;
        part += *part == ' ';
        const bool is_integer = strncmp(part, "seed", 4) == 0 || strncmp(part, "label", 5) == 0 ||
                                (has_place && i == 1) || (chooses && strcmp(part, "k") == 0);
        tensors += !is_integer;
        used += (size_t)snprintf(out + used, size - used, is_integer ? "%s%d" : "%sx%d", i == 0 ? "" : ", ", i);
        i++;
    }
    snprintf(out + used, size - used, ")");
    return tensors > 0; /* else nothing has a type */
}

/* How many there are in the text, each of which types. */
static int type_functions(const char *text) {
    static const kiln_type types[] = {KILN_F32,  KILN_F16,  KILN_BF16, KILN_F64, KILN_I32, KILN_I64,
                                      KILN_BOOL, KILN_E4M3, KILN_U16,  KILN_U32, KILN_E8M0};
    int functions = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        char program[300];
        if (!call_of(line, program, sizeof program)) continue;
        functions++;
        for (size_t i = 0; i < COUNT(types); i++) {
            kiln__ir *ir;
            kiln__binding binding = lang_binding(types[i]);
            if (lang_build(program, NULL, &binding, &ir) != KILN_OK) fail_msg("%s: %s", program, kiln_last_error());
            for (uint32_t k = 0; k < ir->count; k++) {
                bool is_f64 = ir->insts[k].type == KILN__F64;
                /* but for a place in a row, of which there is one */
                if (!ir->insts[k].per_element && !kiln__op_is_reduction(ir->insts[k].op) && strstr(program, "quantile"))
                    continue;
                if (is_f64 != (types[i] == KILN_F64) && kiln__ctype_is_float(ir->insts[k].type))
                    fail_msg("%s for %s computes in f64", program, kiln_type_name(types[i]));
            }
            kiln__ir_destroy(ir);
        }
    }
    return functions;
}

static void the_prelude_types_for_every_type(void **state) {
    (void)state;
    assert_in_range(type_functions(kiln__source_prelude_kiln), 60, 200);
    assert_in_range(type_functions(kiln__source_library_kiln), 100, 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_follow_the_rules),
        cmocka_unit_test(types_meet_as_the_table_says),
        cmocka_unit_test(u64_meets_no_value_that_may_be_negative),
        cmocka_unit_test(literals_fold),
        cmocka_unit_test(phases_and_reach),
        cmocka_unit_test(scalars_take_their_types),
        cmocka_unit_test(mixed_inputs_meet_in_f64),
        cmocka_unit_test(combines_are_typed_for_what_they_reduce),
        cmocka_unit_test(errors_of_types_and_axes),
        cmocka_unit_test(deep_programs_stop_at_limits),
        cmocka_unit_test(phases_read_as_formulas),
        cmocka_unit_test(the_prelude_types_for_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
