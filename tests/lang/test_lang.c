/* SPDX-License-Identifier: Apache-2.0 */
/* The parser: precedence, functions, names, every error sentence, limits. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lang_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void expressions_group_as_documented(void **state) {
    (void)state;
    static const struct {
        const char *expression, *expected;
    } cases[] = {
        {"a + b * c", "(+ a (* b c))"},
        {"a - b - c", "(- (- a b) c)"},
        {"a / b * c % d", "(% (* (/ a b) c) d)"},
        {"-a ** 2", "(neg (pow a 2))"},
        {"(-a) ** 2", "(pow (neg a) 2)"},
        {"a ** b ** c", "(pow a (pow b c))"},
        {"2 ** -a", "(pow 2 (neg a))"},
        {"a * b ** c", "(* a (pow b c))"},
        {"-a * b", "(* (neg a) b)"},
        {"- -a", "(neg (neg a))"},
        {"+a", "a"},
        {"!a && b", "(&& (! a) b)"},
        {"~a & b", "(& (~ a) b)"},
        {"a || b && c", "(|| a (&& b c))"},
        {"a | b ^ c & d", "(| a (^ b (& c d)))"},
        {"a & b == c", "(& a (== b c))"},
        {"a == b < c", "(== a (< b c))"},
        {"a < b < c", "(< (< a b) c)"},
        {"a < b << c + d", "(< a (<< b (+ c d)))"},
        {"a >= b != c <= d", "(!= (>= a b) (<= c d))"},
        {"a >> b >> c", "(>> (>> a b) c)"},
        {"a ? b : c", "(where a b c)"},
        {"a ? b : c ? d : e", "(where a b (where c d e))"},
        {"a ? b ? c : d : e", "(where a (where b c d) e)"},
        {"a || b ? c : d + 1", "(where (|| a b) c (+ d 1))"},
        {"where(a, b, c)", "(where a b c)"},
        {"pow(a, 2)", "(pow a 2)"},
        {"fma(a, b, c)", "(fma a b c)"},
        {"f16(a) + i8(b)", "(+ (f16 a) (i8 b))"},
        {"index(-1) + size(0)", "(+ (index -1) (size 0))"},
        {"uniform(1, 2)", "(uniform 1 2)"},
        {"round_to(bf16, a, b)", "(round_to bf16 a b)"},
        {"-round_to(e4m3, a * 2, uniform(1, 2))", "(neg (round_to e4m3 (* a 2) (uniform 1 2)))"},
        {"sum(a) + max(a)", "(+ (sum a) (max a))"},
        {"0x1F + 007", "(+ 31 7)"},
        {"9223372036854775807", "9223372036854775807"},
        {"0xffffffffffffffff", "18446744073709551615"},
        {"1e-5 + .5 + 2. + 1.5E+3", "(+ (+ (+ 1e-05 0.5) 2) 1500)"},
        {"inf + nan", "(+ inf nan)"},
        {"true || false", "(|| true false)"},
        {"( a\n +\n b )", "(+ a b)"},
        {"clamp(a, 0, 1)", "(minimum (maximum a 0) 1)"},
        {"leaky_relu(a)", "(where (> (float a) 0) (float a) (* 0.01 (float a)))"},
        {"leaky_relu(a, 2)", "(where (> (float a) 0) (float a) (* 2 (float a)))"},
        {"float(a + 1) * i8(b)", "(* (float (+ a 1)) (i8 b))"},
        {"hardtanh(a, high = 5)", "(minimum (maximum a -1) 5)"},
        {"hardtanh(high = 5, low = b, x = a)", "(minimum (maximum a b) 5)"},
        {"sumsq(a)", "(sum (* (sum_type a) (sum_type a)))"},
        {"a # a comment with '\xc3\xa9'", "a"},
        {"reduce((p, q) -> p + q, a, 0)", "(reduce a)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[200];
        kiln__graph *graph;
        snprintf(text, sizeof text, "y = %s", cases[i].expression);
        if (kiln__graph_parse(text, &graph) != KILN_OK) fail_msg("%s: %s", text, kiln_last_error());
        char *found = lang_graph_text(graph, "y");
        assert_string_equal(found, cases[i].expected);
        free(found);
        kiln__graph_destroy(graph);
    }
}

static void statements_end_at_newlines_and_semicolons(void **state) {
    (void)state;
    static const char *const texts[] = {
        "a = x + 1; y = a * 2",
        "a = x + 1\ny = a * 2",
        "\r\n\r\na = x + 1\r\ny = a * 2\r\n",
        ";;a = x + 1;;\n;y = a * 2;",
        "# first\na = x + 1 # one\n\ty = a * 2 # two",
        "fn f(x) = x * 2\nfn g(x) = f(x + 1)\ny = g(x)",
        "fn f(x: i8, k: float, s = 2) = (x + k) * s; y = f(b, k = a)",
        "fn f(x, k = 1 + 1, one = true) = (x + one * 1) * k; y = f(x, one = 1) # all the same\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        kiln__graph *graph;
        if (kiln__graph_parse(texts[i], &graph) != KILN_OK) fail_msg("%s: %s", texts[i], kiln_last_error());
        char *found = lang_graph_text(graph, "y");
        const char *last[] = {"(* (+ (i8 b) (float a)) 2)", "(* (+ x (* 1 1)) 2)"};
        assert_string_equal(found, i + 2 < COUNT(texts) ? "(* (+ x 1) 2)" : last[i + 2 - COUNT(texts)]);
        free(found);
        kiln__graph_destroy(graph);
    }
}

static void equal_expressions_are_one_node(void **state) {
    (void)state;
    kiln__graph *graph;
    assert_int_equal(kiln__graph_parse("y = softmax(x); z = softmax(x); s = max(float(x))", &graph), KILN_OK);
    int y = kiln__graph_find(graph, "y", 1), z = kiln__graph_find(graph, "z", 1);
    assert_int_equal(graph->names[y].node, graph->names[z].node);
    assert_int_equal(graph->node_count, 7); /* x, float, max, -, exp, sum, / */
    kiln__graph_destroy(graph);
    assert_int_equal(kiln__graph_parse("y = 0.0 + x; z = -0.0 + x; a = reduce((p, q) -> p * q, x, 1);"
                                       "b = reduce((u, v) -> u * v, x, 1); c = reduce((u, v) -> v * u, x, 1)",
                                       &graph),
                     KILN_OK);
    assert_int_equal(graph->reducer_count, 2);
    y = kiln__graph_find(graph, "y", 1);
    z = kiln__graph_find(graph, "z", 1);
    assert_int_not_equal(graph->names[y].node, graph->names[z].node);
    kiln__graph_destroy(graph);
}

static void numbers_do_not_depend_on_the_locale(void **state) {
    (void)state;
    char *before = strdup(setlocale(LC_ALL, NULL));
    const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    for (size_t i = 0; i < COUNT(locales); i++) {
        kiln__graph *graph;
        setlocale(LC_ALL, locales[i]);
        assert_int_equal(kiln__graph_parse("y = 1.5", &graph), KILN_OK);
        assert_true(graph->nodes[graph->names[0].node].u.f64 == 1.5);
        kiln__graph_destroy(graph);
    }
    setlocale(LC_ALL, before);
    free(before);
}

static void errors_name_place_finding_and_expectation(void **state) {
    (void)state;
    static const struct {
        const char *text;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"", KILN_E_SYNTAX, "1:1: expected a statement 'name = expression', found the end of the program"},
        {"# only a comment", KILN_E_SYNTAX,
         "1:17: expected a statement 'name = expression', found the end of the program"},
        {"fn f(x) = x", KILN_E_SYNTAX, "1:12: expected a statement 'name = expression', found the end of the program"},
        {"y = )", KILN_E_SYNTAX, "1:5: expected an expression, found ')'"},
        {"y =", KILN_E_SYNTAX, "1:4: expected an expression, found the end of the program"},
        {"y = x +\nz = 1", KILN_E_SYNTAX, "1:8: expected an expression, found the end of the line"},
        {"y = (x", KILN_E_SYNTAX, "1:7: expected ')', found the end of the program"},
        {"y = x)", KILN_E_SYNTAX, "1:6: expected an operator or the end of the statement, found ')'"},
        {"y = x x", KILN_E_SYNTAX, "1:7: expected an operator or the end of the statement, found 'x'"},
        {"y = 1 = 2", KILN_E_SYNTAX, "1:7: expected an operator or the end of the statement, found '='"},
        {"y += x", KILN_E_SYNTAX,
         "1:3: expected '=' after the assigned name, found '+'; use another name, and bind both to one tensor"},
        {"rows(t, i) = x", KILN_E_SYNTAX,
         "1:5: expected '=' after the assigned name, found '('; use name = expression, or put(name, i) = expression"},
        {"softmax(x)", KILN_E_SYNTAX,
         "1:8: expected '=' after the assigned name, found '('; use name = expression, or put(name, i) = expression"},
        {"y x = 3", KILN_E_SYNTAX, "1:3: expected '=' after the assigned name, found 'x'"},
        {"y == x", KILN_E_SYNTAX, "1:3: expected '=' after the assigned name, found '=='"},
        {"3 = x", KILN_E_SYNTAX, "1:1: expected a statement 'name = expression', found '3'"},
        {"y = x ? 1", KILN_E_SYNTAX,
         "1:10: expected ':' and the value where the condition is false, found the end of the program"},
        {"y = fn", KILN_E_SYNTAX, "1:5: expected an expression, found 'fn'"},
        {"y = 1x", KILN_E_SYNTAX, "1:5: '1x' is no number"},
        {"y = 0x", KILN_E_SYNTAX, "1:5: '0x' is no number"},
        {"y = 1.2.3", KILN_E_SYNTAX, "1:5: '1.2.3' is no number"},
        {"y = 1e", KILN_E_SYNTAX, "1:5: '1e' is no number"},
        {"y = 18446744073709551616", KILN_E_SYNTAX, "1:5: '18446744073709551616' is beyond the range of u64"},
        {"y = 1e999", KILN_E_SYNTAX, "1:5: '1e999' is beyond the range of f64"},
        {"y = x @ w", KILN_E_SYNTAX,
         "1:7: '@' is not part of the language; use sum(a * b) for a row; there are no products of matrices"},
        {"y = \xc3\xa9", KILN_E_SYNTAX, "1:5: '\xc3\xa9' is not part of the language"},
        {"y = \xff", KILN_E_SYNTAX, "1:5: byte 0xff is not part of the language"},
        {"y = \x01", KILN_E_SYNTAX, "1:5: byte 0x01 is not part of the language"},
        {"\n\n  y = sofmax(x)", KILN_E_NAME, "3:7: unknown function 'sofmax'; did you mean 'softmax'?"},
        {"y = layernorm(x)", KILN_E_NAME, "1:5: unknown function 'layernorm'; did you mean 'layer_norm'?"},
        {"y = frobnicate(x)", KILN_E_NAME, "1:5: unknown function 'frobnicate'"},
        {"y = _count()", KILN_E_NAME, "1:5: unknown function '_count'"},
        {"y = f(x); fn f(x) = x", KILN_E_NAME,
         "1:5: 'f' is called above its definition at 1:14, expected 'fn' before the first call"},
        {"fn half(x) = half(x)\ny = half(x)", KILN_E_NAME, "1:14: 'half' is called by itself: there is no recursion"},
        {"y = exp(x, 2)", KILN_E_SYNTAX, "1:5: 'exp' takes 1 argument, found 2"},
        {"y = where(x, 2)", KILN_E_SYNTAX, "1:5: 'where' takes 3 arguments, found 2"},
        {"y = var()", KILN_E_SYNTAX, "1:5: 'var' takes 1 to 2 arguments, found 0"},
        {"y = round_to(bf16, x)", KILN_E_SYNTAX, "1:5: 'round_to' takes 3 arguments, found 2"},
        {"y = round_to(bf16, x, 0, 1)", KILN_E_SYNTAX, "1:5: 'round_to' takes 3 arguments, found 4"},
        {"y = round_to(x, bf16, 0)", KILN_E_SYNTAX,
         "1:14: expected the type that round_to rounds to, as in round_to(bf16, x, u), found 'x'"},
        {"y = round_to()", KILN_E_SYNTAX,
         "1:14: expected the type that round_to rounds to, as in round_to(bf16, x, u), found ')'"},
        {"y = round_to(bf16)", KILN_E_SYNTAX, "1:18: expected ',' and what is rounded, found ')'"},
        {"y = round_to(i8, x, 0)", KILN_E_TYPE,
         "1:14: round_to rounds to f32, f16, bf16, e4m3, e5m2 or e2m1, found 'i8'"},
        {"y = round_to(e8m0, x, 0)", KILN_E_TYPE,
         "1:14: round_to rounds to f32, f16, bf16, e4m3, e5m2 or e2m1, found 'e8m0'"},
        {"y = f16(x, x)", KILN_E_SYNTAX, "1:5: 'f16' takes 1 argument, found 2"},
        {"y = exp(,)", KILN_E_SYNTAX, "1:9: expected an expression, found ','"},
        {"y = exp(x", KILN_E_SYNTAX, "1:10: expected ',' or ')', found the end of the program"},
        {"y = var(x, dof = 0)", KILN_E_NAME, "1:12: 'var' has no parameter 'dof', it has 'x', 'ddof'"},
        {"fn f(x: half) = x", KILN_E_SYNTAX,
         "1:9: expected a conversion after ':', as in x: float, found 'half'; use f16(x)"},
        {"fn f(x: _sum_type) = x", KILN_E_SYNTAX,
         "1:9: expected a conversion after ':', as in x: float, found '_sum_type'"},
        {"y = _is_wide(x)", KILN_E_NAME, "1:5: unknown function '_is_wide'"},
        {"float = x", KILN_E_NAME, "1:1: 'float' is a function, it cannot be assigned"},
        {"y = floats(x)", KILN_E_NAME, "1:5: unknown function 'floats'; did you mean 'float'?"},
        {"y = reduce((p: float, q) -> p, x, 0)", KILN_E_SYNTAX, "1:14: expected ',' or ')', found ':'"},
        {"y = var(x, x = 0)", KILN_E_NAME, "1:12: the argument 'x' of 'var' is given twice"},
        {"y = var(ddof = 0)", KILN_E_SYNTAX, "1:5: 'var' lacks its argument 'x'"},
        {"y = var(ddof = 0, x)", KILN_E_SYNTAX, "1:19: an argument without a name follows one with a name"},
        {"y = index(x)", KILN_E_SYNTAX, "1:11: expected an axis, an integer literal, found 'x'"},
        {"y = size()", KILN_E_SYNTAX, "1:10: expected an axis, an integer literal, found ')'"},
        {"y = size(9)", KILN_E_LIMIT, "1:10: axis '9' is out of range, tensors have at most 8 axes"},
        {"y = max", KILN_E_NAME, "1:5: 'max' is a function, expected '(' and its arguments after it"},
        {"max = x", KILN_E_NAME, "1:1: 'max' is a function, it cannot be assigned"},
        {"f16 = x", KILN_E_NAME, "1:1: 'f16' is a function, it cannot be assigned"},
        {"inf = x", KILN_E_NAME, "1:1: 'inf' is a reserved word, it cannot be assigned"},
        {"y = x\ny = x", KILN_E_NAME, "2:1: 'y' is assigned twice, first at 1:1"},
        {"y = x; x = 1", KILN_E_NAME, "1:8: 'x' is assigned after it was read as an input at 1:5"},
        {"y = y + 1", KILN_E_NAME,
         "1:1: 'y' is read at 1:5 in its own value: use another name, and bind both to one tensor"},
        {"fn f(x) = x + z", KILN_E_NAME, "1:15: 'z' is no parameter of the function, and it can read nothing else"},
        {"y = softmax(x); fn softmax(x) = x", KILN_E_NAME,
         "1:20: 'softmax' is called above its definition, it cannot name a function"},
        {"fn f16(x) = x", KILN_E_NAME, "1:4: 'f16' is a function already, it cannot name a function"},
        {"fn rows(x) = x", KILN_E_NAME, "1:4: 'rows' is a function already, it cannot name a function"},
        {"fn sum(x) = x", KILN_E_NAME, "1:4: 'sum' is a function already, it cannot name a function"},
        {"fn nan(x) = x", KILN_E_NAME, "1:4: 'nan' is a reserved word, it cannot name a function"},
        {"fn _f(x) = x", KILN_E_NAME, "1:4: '_f' begins with an underscore, such functions are reserved"},
        {"fn f(x) = x; fn f(x) = x", KILN_E_NAME, "1:17: 'f' is a function already, it cannot name a function"},
        {"f = x; fn f(x) = x", KILN_E_NAME, "1:11: 'f' is a name already, it cannot name a function"},
        {"fn 3(x) = x", KILN_E_SYNTAX, "1:4: expected the name of a function, found '3'"},
        {"fn f x = x", KILN_E_SYNTAX, "1:6: expected '(' and the parameters, found 'x'"},
        {"fn f(x, x) = x", KILN_E_NAME, "1:9: parameter 'x' is listed twice"},
        {"fn f(exp) = exp", KILN_E_NAME, "1:6: 'exp' is a function already, it cannot name a parameter"},
        {"fn f(x, 2) = x", KILN_E_SYNTAX, "1:9: expected the name of a parameter, found '2'"},
        {"fn f(x y) = x", KILN_E_SYNTAX, "1:8: expected ',' or ')', found 'y'"},
        {"fn f(x = 1, y) = x", KILN_E_SYNTAX, "1:13: parameter 'y' without a default follows one with a default"},
        {"fn f(x = y) = x", KILN_E_NAME, "1:10: expected a constant, found the name 'y'"},
        {"fn f(x = sum(1)) = x", KILN_E_TYPE, "1:10: expected a constant: literals, and operators on them"},
        {"fn f(x) x", KILN_E_SYNTAX, "1:9: expected '=' and the function's expression, found 'x'"},
        {"fn f(a,b,c,d,e,g,h,i,j,k,l,m,n,o,p,q,r) = a", KILN_E_LIMIT, "1:38: a function has at most 16 parameters"},
        {"y = reduce(x, 0)", KILN_E_SYNTAX, "1:12: expected reduce's combine, as in (a, b) -> a + b, found 'x'"},
        {"y = reduce((a) -> a, x, 0)", KILN_E_SYNTAX, "1:12: the combine of reduce takes 2 parameters, found 1"},
        {"y = reduce((a, b) a, x, 0)", KILN_E_SYNTAX,
         "1:19: expected '->' and what the parameters combine to, found 'a'"},
        {"y = reduce((a, b) -> a + x, x, 0)", KILN_E_NAME,
         "1:26: 'x' is no parameter of the combine of reduce, and it can read nothing else"},
        {"y = reduce((a, b) -> sum(a), x, 0)", KILN_E_TYPE,
         "1:22: 'sum' cannot stand in the combine of reduce, which takes elementwise operations only"},
        {"y = reduce((a, b) -> mean(a), x, 0)", KILN_E_TYPE,
         "1:22: 'mean' cannot stand in the combine of reduce, which takes elementwise operations only"},
        {"y = reduce((a, b) -> index(0), x, 0)", KILN_E_TYPE,
         "1:22: 'index' cannot stand in the combine of reduce, which takes elementwise operations only"},
        {"y = reduce((a, b) -> reduce((c, d) -> c, a, 0), x, 0)", KILN_E_TYPE,
         "1:22: 'reduce' cannot stand in the combine of reduce, which takes elementwise operations only"},
        {"y = reduce((a, b) -> a + b, x)", KILN_E_SYNTAX,
         "1:30: expected ',' and the identity of the combine, found ')'"},
        {"y = reduce((a, b) -> a + b, x, x)", KILN_E_NAME, "1:32: expected a constant, found the name 'x'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph = NULL;
        kiln_status status = kiln__graph_parse(cases[i].text, &graph);
        if (status == KILN_OK) fail_msg("'%s' parses", cases[i].text);
        assert_string_equal(kiln_last_error(), cases[i].sentence);
        assert_int_equal(status, cases[i].status);
        assert_null(graph);
    }
}

/* What users of NumPy, PyTorch, Python and C write first, and what they are told. */
static void first_mistakes_are_told_what_to_write(void **state) {
    (void)state;
#define AND_AXES \
    " reductions run over the program's axes: the last, or those of the option axes (--axes); or over " \
    "their own, as in sum(x, axes = 0)"
#define AXES \
    "; reductions run over the program's axes: the last, or those of the option axes (--axes); or over " \
    "their own, as in sum(x, axes = 0)"
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"y = softmax(x, axis = -1)", "1:16: 'softmax' has no parameter 'axis'" AXES},
        {"y = softmax(x, dim=1)", "1:16: 'softmax' has no parameter 'dim'" AXES},
        {"y = softmax(x, -1)", "1:5: 'softmax' takes 1 argument, found 2" AXES},
        {"y = sum(x, axis = 0)", "1:12: 'sum' has no parameter 'axis'" AXES},
        {"y = sum(x, 0)", "1:5: 'sum' takes 1 argument, found 2" AXES},
        {"y = argmax(x, 1)", "1:5: 'argmax' takes 1 argument, found 2" AXES},
        {"y = mean(x, keepdims = true)", "1:13: 'mean' has no parameter 'keepdims'; an output's tensor has its reduced "
                                         "axes as 1 or not at all (--keep-dims)"},
        {"y = sum(x, dtype = f32)", "1:12: 'sum' has no parameter 'dtype'; a type's name converts, as f16(x), and an "
                                    "output is stored in its tensor's type"},
        {"y = exp(x = x)", "1:9: 'exp' has no parameter 'x': its arguments are given by position"},
        {"y = layer_norm(x, weight = x)", "1:19: 'layer_norm' has no parameter 'weight', it has 'x', 'w', 'b', 'eps'"},
        {"fn f() = 1; y = f(k = 2)", "1:19: 'f' has no parameter 'k', it has none"},
        {"y = max(a, b)", "1:5: 'max' takes 1 argument, found 2; of two values use maximum(a, b), and" AND_AXES},
        {"y = min(x, 0)", "1:5: 'min' takes 1 argument, found 2; of two values use minimum(a, b), and" AND_AXES},
        {"y = ln(x)", "1:5: unknown function 'ln'; use log(x)"},
        {"y = power(x, 2)", "1:5: unknown function 'power'; use x ** y or pow(x, y)"},
        {"y = len(x)", "1:5: unknown function 'len'; use size(axis)"},
        {"y = int(x)", "1:5: unknown function 'int'; use i32(x) or i64(x)"},
        {"y = float32(x)", "1:5: unknown function 'float32'; use f32(x)"},
        {"y = bfloat16(x)", "1:5: unknown function 'bfloat16'; use bf16(x)"},
        {"y = half(x)", "1:5: unknown function 'half'; use f16(x)"},
        {"y = Int8(x)", "1:5: unknown function 'Int8'; use i8(x)"},
        {"y = if(x > 0, x, 0)", "1:5: unknown function 'if'; use c ? a : b or where(c, a, b)"},
        {"y = x if x > 0 else 0", "1:7: expected an operator or the end of the statement, found 'if'; use c ? a : b or "
                                  "where(c, a, b)"},
        {"y = x > 0 and x < 1", "1:11: expected an operator or the end of the statement, found 'and'; use a && b"},
        {"y = amax(x)", "1:5: unknown function 'amax'; use max(x)"},
        {"y = arange(0)", "1:5: unknown function 'arange'; use index(axis)"},
        {"y = fabs(x)", "1:5: unknown function 'fabs'; use abs(x)"},
        {"y = hypot(a, b)", "1:5: unknown function 'hypot'; use sqrt(a * a + b * b)"},
        {"y = matmul(x, w)",
         "1:5: unknown function 'matmul'; use sum(a * b) for a row; there are no products of matrices"},
        {"y = np.exp(x)", "1:7: '.' is not part of the language; use functions without a module and not as methods, as "
                          "sum(x)"},
        {"y = x[0]", "1:6: '[' is not part of the language; use sizes and strides of the tensor"},
        {"y = sigmoid_(x)", "1:5: unknown function 'sigmoid_'; did you mean 'sigmoid'?"},
        {"y = ReLU(x)", "1:5: unknown function 'ReLU'; did you mean 'relu'?"},
        {"y = GELU(x)", "1:5: unknown function 'GELU'; did you mean 'gelu'?"},
        {"y = e()", "1:5: unknown function 'e'; use exp(1)"},
        {"fn f(x) = g(x)\nfn g(x) = x\ny = f(x)",
         "1:11: 'g' is called above its definition at 2:4, expected 'fn' before the first call"},
        {"fn clip(x) = reduce((a, b) -> clip(a), x, 0)\ny = clip(x)",
         "1:31: 'clip' is called by itself: there is no recursion"},
        {"y = f(x) # fn f\n", "1:5: unknown function 'f'"},
        {"y = f(x); z = $ ; fn f(x) = x", "1:5: unknown function 'f'"},
        {"y = x2; x2 = x", "1:9: 'x2' is assigned after it was read as an input at 1:5"},
        {"fn softmax(x) = softmax(x)\ny = softmax(x)", "1:17: 'softmax' is called by itself: there is no recursion"},
        {"y = pi(x)", "1:5: 'pi' takes 0 arguments, found 1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph = NULL;
        if (kiln__graph_parse(cases[i].text, &graph) == KILN_OK) fail_msg("'%s' parses", cases[i].text);
        assert_string_equal(kiln_last_error(), cases[i].sentence);
    }
#undef AXES
#undef AND_AXES
}

/* What is suggested can be written. */
static void what_is_suggested_parses(void **state) {
    (void)state;
    static const char *const words[] = {"float32", "ln", "iif",         "power", "hypot", "gelu_new", "normal",
                                        "tau",     "e",  "masked_fill", "mse",   "cov",   "rint"};
    for (size_t i = 0; i < COUNT(words); i++) {
        char text[400];
        kiln__graph *graph = NULL;
        snprintf(text, sizeof text, "out = %s()", words[i]);
        assert_int_equal(kiln__graph_parse(text, &graph), KILN_E_NAME);
        const char *use = strstr(kiln_last_error(), "; use ");
        assert_non_null(use);
        const char *end = strstr(use, " or ");
        snprintf(text, sizeof text, "out = %.*s", (int)(end ? end - use : (long)strlen(use)) - 6, use + 6);
        if (kiln__graph_parse(text, &graph) != KILN_OK) fail_msg("%s: '%s': %s", words[i], text, kiln_last_error());
        kiln__graph_destroy(graph);
    }
}

/* head, then piece over and over, count times, then tail. */
static char *repeated(const char *head, const char *piece, size_t count, const char *tail) {
    kiln__text text = {0};
    kiln__text_puts(&text, head);
    for (size_t i = 0; i < count; i++) kiln__text_puts(&text, piece);
    kiln__text_puts(&text, tail);
    return kiln__text_take(&text);
}

static void limits_stop_what_is_too_large(void **state) {
    (void)state;
    static const struct {
        const char *head, *piece;
        size_t count;
        const char *tail;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"y = ", "(", 60000, "", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "-", 60000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "!", 60000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "2**", 20000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "x?", 30000, "", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "x?x:", 15000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "exp(", 15000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "relu(", 12000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "reduce((a,b)->", 4000, "x", KILN_E_LIMIT, "nested more than 200 deep"},
        {"y = ", "(", 150, "x", KILN_E_SYNTAX, "expected ')'"},
        {"y = x", " + 1", 16000, "", KILN_E_LIMIT, "more than 4096 operations"},
        {"y = x", " + x", 4000, "", KILN_OK, ""},
        {"y = x", "                ", 4096, "", KILN_E_LIMIT, "the program has 65541 bytes, at most 65536 are allowed"},
        {"y = x # ", "  ", 32764, "", KILN_OK, ""},
        {"", "a", 63, " = x", KILN_OK, ""},
        {"", "a", 64, " = x", KILN_E_LIMIT, "has 64 bytes, at most 63 are allowed"},
        {"y = ", "exp(", 199, "x", KILN_E_SYNTAX, "expected ',' or ')'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph;
        char *text = repeated(cases[i].head, cases[i].piece, cases[i].count, cases[i].tail);
        kiln__clear_error();
        kiln_status status = kiln__graph_parse(text, &graph);
        if (status != cases[i].status || strstr(kiln_last_error(), cases[i].sentence) == NULL)
            fail_msg("%zu times '%s': status %d, %s", cases[i].count, cases[i].piece, status, kiln_last_error());
        kiln__graph_destroy(graph);
        free(text);
    }
}

static void functions_that_expand_without_end_are_stopped(void **state) {
    (void)state;
    kiln__graph *graph;
    kiln__text text = {0};
    kiln__text_puts(&text, "fn f0(x) = x * x\n");
    for (int i = 1; i < 1000; i++) kiln__text_printf(&text, "fn f%d(x) = f%d(x) + f%d(x + %d)\n", i, i - 1, i - 1, i);
    kiln__text_puts(&text, "y = f999(x)");
    char *bomb = kiln__text_take(&text);
    assert_int_equal(kiln__graph_parse(bomb, &graph), KILN_E_LIMIT);
    assert_non_null(strstr(kiln_last_error(), "more than 4096 operations after its functions are expanded"));
    free(bomb);
    /* Equal nodes take no room, so this one is bounded by the work and not by the nodes. */
    char *sum = repeated("fn f(x) = x", " + x", 1000, "\n");
    kiln__text_puts(&text, sum);
    free(sum);
    for (int i = 0; i < 1000; i++) kiln__text_printf(&text, "y%d = f(x)\n", i);
    bomb = kiln__text_take(&text);
    assert_int_equal(kiln__graph_parse(bomb, &graph), KILN_E_LIMIT);
    assert_non_null(strstr(kiln_last_error(), "calls of functions expand to more than 262144 operations in all"));
    free(bomb);
}

static void signatures_follow_the_lists(void **state) {
    (void)state;
    static const struct {
        const char *text, *outputs, *scalars;
        kiln_status status;
        const char *expected; /* the sentence, or inputs | outputs | scalars */
        const char *inputs;
    } cases[] = {
        {"y = x * s + b", NULL, NULL, KILN_OK, "x s b|y||", NULL},
        {"y = x * s + b", NULL, "s", KILN_OK, "x b|y|s|", NULL},
        {"t = x * s; y = t + b", NULL, " s , b ", KILN_OK, "x|y|s b|", NULL},
        {"t = x * s; y = t + b", "y,t", "", KILN_OK, "x s b|y t||", NULL},
        {"a = x; b = x; c = a", NULL, NULL, KILN_OK, "x|b c||", NULL},
        {"y = 1", NULL, NULL, KILN_OK, "|y||", NULL},
        {"y = x", "z", NULL, KILN_E_NAME, "output 'z' does not occur in the program", NULL},
        {"y = x", "x", NULL, KILN_E_NAME, "output 'x' is never assigned", NULL},
        {"y = x", "y,y", NULL, KILN_E_NAME, "output 'y' is listed twice", NULL},
        {"y = x", "y,", NULL, KILN_E_NAME, "the list of outputs 'y,' has an empty name", NULL},
        {"y = x", "y z", NULL, KILN_E_NAME, "the list of outputs 'y z' lacks a comma after 'y'", NULL},
        {"y = x", NULL, "y", KILN_E_NAME, "scalar 'y' is assigned by the program", NULL},
        {"y = x", NULL, "s", KILN_E_NAME, "scalar 's' does not occur in the program", NULL},
        {"y = x", "", NULL, KILN_E_NAME, "the program has no output: it must assign a name, expected at least one",
         NULL},
        {"y = scaled_x", "y", "scaled_y", KILN_E_NAME,
         "scalar 'scaled_y' does not occur in the program; did you mean 'scaled_x'?", NULL},
        {"y = x; mean_of_x = x", "meanofx", NULL, KILN_E_NAME,
         "output 'meanofx' does not occur in the program; did you mean 'mean_of_x'?", NULL},
        /* Inputs: the list is the order of the tensors, however the text is written. */
        {"y = x * w + b", NULL, NULL, KILN_OK, "x w b|y||", "x,w,b"},
        {"y = b + x * w", NULL, NULL, KILN_OK, "x w b|y||", "x,w,b"},
        {"y = b + x * w", NULL, "w", KILN_OK, "x b|y|w|", " x , b "},
        {"y = 1", NULL, NULL, KILN_OK, "|y||", ""},
        {"y = x", NULL, NULL, KILN_E_NAME,
         "the program reads 'x', which is neither in the list of inputs '' nor a scalar", ""},
        {"y = x * w + b", NULL, NULL, KILN_E_NAME,
         "the program reads 'w', which is neither in the list of inputs 'x,b' nor a scalar", "x,b"},
        {"y = x", NULL, NULL, KILN_E_NAME, "input 'w' does not occur in the program", "x,w"},
        {"y = x * mask", NULL, NULL, KILN_E_NAME, "input 'maks' does not occur in the program; did you mean 'mask'?",
         "x,maks"},
        {"y = x", NULL, NULL, KILN_E_NAME, "input 'y' is assigned by the program", "x,y"},
        {"y = x", NULL, NULL, KILN_E_NAME, "input 'x' is listed twice", "x,x"},
        {"y = x * k", NULL, "k", KILN_E_NAME,
         "'k' is in the list of inputs and in that of scalars, expected one of them", "x,k"},
        {"y = x", NULL, NULL, KILN_E_NAME, "the list of inputs 'x,' has an empty name", "x,"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kiln__graph *graph;
        kiln__signature signature;
        const kiln__lists lists = {cases[i].inputs, cases[i].outputs, cases[i].scalars};
        assert_int_equal(kiln__graph_parse(cases[i].text, &graph), KILN_OK);
        assert_int_equal(kiln__signature_resolve(graph, &lists, &signature), cases[i].status);
        kiln__text text = {0};
        if (cases[i].status == KILN_OK) {
            const uint32_t *found_names[] = {signature.inputs, signature.outputs, signature.scalars};
            const uint32_t counts[] = {signature.input_count, signature.output_count, signature.scalar_count};
            for (int list = 0; list < 3; list++) {
                for (uint32_t k = 0; k < counts[list]; k++)
                    kiln__text_printf(&text, "%s%s", k == 0 ? "" : " ", graph->names[found_names[list][k]].text);
                kiln__text_puts(&text, "|");
            }
        } else {
            kiln__text_puts(&text, kiln_last_error());
        }
        char *found = kiln__text_take(&text);
        assert_string_equal(found, cases[i].expected);
        free(found);
        kiln__graph_destroy(graph);
    }
}

static void too_many_tensors_or_scalars_are_refused(void **state) {
    (void)state;
    for (int inputs = 31; inputs <= 33; inputs++) {
        kiln__text text = {0};
        kiln__text names = {0};
        kiln__text_puts(&text, "y = 0");
        for (int i = 0; i < inputs; i++) {
            kiln__text_printf(&text, " + x%d", i);
            kiln__text_printf(&names, "%sx%d", i == 0 ? "" : ",", i);
        }
        char *program = kiln__text_take(&text), *scalars = kiln__text_take(&names);
        kiln__graph *graph;
        kiln__signature signature;
        assert_int_equal(kiln__graph_parse(program, &graph), KILN_OK);
        assert_int_equal(kiln__signature_resolve(graph, &(kiln__lists){0}, &signature),
                         inputs <= 31 ? KILN_OK : KILN_E_LIMIT);
        if (inputs > 31) assert_string_equal(kiln_last_error(), "the program has more than 32 inputs and outputs");
        assert_int_equal(kiln__signature_resolve(graph, &(kiln__lists){.scalars = scalars}, &signature),
                         inputs <= 32 ? KILN_OK : KILN_E_LIMIT);
        if (inputs > 32) assert_string_equal(kiln_last_error(), "the program has more than 32 scalars");
        kiln__graph_destroy(graph);
        free(program);
        free(scalars);
    }
}

/* Each list has room, both together have not. */
static void lists_have_room_together(void **state) {
    (void)state;
    for (int count = 16; count <= 17; count++) {
        kiln__text text = {0}, inputs = {0}, outputs = {0};
        for (int i = 0; i < count; i++) {
            kiln__text_printf(&text, "y%d = x%d\n", i, i);
            kiln__text_printf(&inputs, "%sx%d", i == 0 ? "" : ",", i);
            kiln__text_printf(&outputs, "%sy%d", i == 0 ? "" : ",", i);
        }
        kiln__graph *graph;
        kiln__signature signature;
        assert_int_equal(kiln__graph_parse(text.data, &graph), KILN_OK);
        const kiln__lists lists = {.inputs = inputs.data, .outputs = outputs.data};
        assert_int_equal(kiln__signature_resolve(graph, &lists, &signature), count <= 16 ? KILN_OK : KILN_E_LIMIT);
        kiln__graph_destroy(graph);
        kiln__text_free(&text);
        kiln__text_free(&inputs);
        kiln__text_free(&outputs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_group_as_documented),
        cmocka_unit_test(statements_end_at_newlines_and_semicolons),
        cmocka_unit_test(equal_expressions_are_one_node),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(errors_name_place_finding_and_expectation),
        cmocka_unit_test(first_mistakes_are_told_what_to_write),
        cmocka_unit_test(what_is_suggested_parses),
        cmocka_unit_test(limits_stop_what_is_too_large),
        cmocka_unit_test(functions_that_expand_without_end_are_stopped),
        cmocka_unit_test(signatures_follow_the_lists),
        cmocka_unit_test(too_many_tensors_or_scalars_are_refused),
        cmocka_unit_test(lists_have_room_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
