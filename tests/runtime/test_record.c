/* SPDX-License-Identifier: Apache-2.0 */
/* Recording and replaying: what is missing becomes a line, and the line asks for the very kernel that was missing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fuzz_draw.h"
#include "support/launch_fixture.h"
#include "manifest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A context that must not compile and finds nothing: every kernel is missing. */
static kiln_context *recording(launch_fixture *f, char path[160], kiln_policy policy) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    snprintf(path, 160, "%s/missing.jsonl", f->dir);
    options.cache_dir = policy == KILN_POLICY_COMPILE ? f->dir : "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = policy == KILN_POLICY_COMPILE ? f->nvrtc : "/nowhere/libnvrtc.so";
    options.policy = policy;
    options.record_path = path;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    return context;
}

/* The file's bytes and a NUL; "" where there is none. */
static char *read_all(const char *path) {
    char *text = calloc(1, 1 << 22);
    FILE *file = fopen(path, "rb");
    assert_non_null(text);
    if (file) {
        assert_true(fread(text, 1, (1 << 22) - 1, file) < (1 << 22) - 1);
        fclose(file);
    }
    return text;
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) count++;
    return count;
}

static void expect_lines(const char *path, const char *expected) {
    char *text = read_all(path);
    assert_string_equal(text, expected);
    free(text);
}

static void a_line_tells_the_whole_request(void **state) {
    launch_fixture *f = *state;
    static const struct {
        const char *text, *outputs, *axes, *scalars, *tensors, *line;
    } cases[] = {
        {"y = softmax(x)", NULL, NULL, NULL, "f16[*,1024] f16[*,1024]",
         "{\"program\":\"y = softmax(x)\",\"outputs\":[\"y\"],\"tensors\":[\"x=f16[*,1024]\",\"y=f16[*,1024]\"],"
         "\"arch\":\"sm_90\"}\n"},
        {"m = max(x)\ny = (x - m) * a", "y,m", "0,-1", "a", "f32[4,3,8]{100,9,1}@4 f32[4,3,8]@8 f32[3]@256",
         "{\"program\":\"m = max(x)\\u000ay = (x - m) * a\",\"outputs\":[\"y\",\"m\"],\"tensors\":["
         "\"x=f32[4,3,8]{100,9,1}@4\",\"y=f32[4,3,8]@8\",\"m=f32[3]\"],\"scalars\":[\"a=f64\"],\"axes\":[0,-1],"
         "\"arch\":\"sm_90\"}\n"},
        {"y = x - max(x)", NULL, NULL, NULL, "f16[1,1001]{1008,1} f16[1,1001]", /* as among more rows */
         "{\"program\":\"y = x - "
         "max(x)\",\"outputs\":[\"y\"],\"tensors\":[\"x=f16[1,1001]{1008,1}\",\"y=f16[1,1001]\"],"
         "\"arch\":\"sm_90\"}\n"},
        {"s = sum(x) # \"\\ \x01\xc3\xa9", NULL, "all", NULL, "i8[4,7] i64[]",
         "{\"program\":\"s = sum(x) # \\\"\\\\ \\u0001\\u007f\\u007f\",\"outputs\":[\"s\"],\"tensors\":[\"x=i8[4,7]\","
         "\"s=i64[]\"],\"axes\":\"all\",\"arch\":\"sm_90\"}\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[160];
        bound b;
        kiln_kernel *kernel = NULL;
        kiln_program *program = NULL;
        kiln_context *context = recording(f, path, KILN_POLICY_NEVER_COMPILE);
        assert_int_equal(bound_create_outputs(&b, cases[i].text, cases[i].outputs, cases[i].axes, cases[i].scalars,
                                              cases[i].tensors),
                         KILN_OK);
        kiln_context *own = b.program->context;
        b.program->context = context;
        launch_expect(kiln_compile(b.program, b.tensors, b.tensor_count, b.scalars, b.scalar_count, 90, 0, 1, &kernel),
                      KILN_E_WOULD_COMPILE, NULL);
        b.program->context = own;
        expect_lines(path, cases[i].line);
        manifest_entry entry;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_scalar scalars[KILN_MAX_SCALARS];
        assert_int_equal(manifest_parse(cases[i].line, strlen(cases[i].line), &entry), KILN_OK);
        assert_int_equal(manifest_bind(&entry, context, &program, tensors, scalars), KILN_OK);
        kiln_program_destroy(program);
        manifest_entry_free(&entry);
        unlink(path);
        bound_destroy(&b);
        kiln_context_destroy(context);
    }
}

static void a_kernel_is_recorded_once_and_where_it_was_missing(void **state) {
    launch_fixture *f = *state;
    char path[160];
    static const char softmax[] = "f16[8,64] f16[8,64]", longer[] = "f16[9,64] f16[9,64]";
    kiln_context *context = recording(f, path, KILN_POLICY_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, softmax), KILN_OK, "");
    char *first = read_all(path);
    assert_int_equal(count_lines(first), 1);
    launch_expect(launch_run(program, softmax), KILN_OK, ""); /* known */
    launch_expect(launch_run(program, longer), KILN_OK, "");  /* the same kernel, which is loaded */
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    context = recording(f, path, KILN_POLICY_COMPILE); /* now on disk */
    program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, softmax), KILN_OK, "");
    expect_lines(path, first);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    context = recording(f, path, KILN_POLICY_NEVER_COMPILE);
    program = launch_program(context, "y = softmax(x)");
    for (int i = 0; i < 10; i++)
        launch_expect(launch_run(program, i % 2 ? softmax : longer), KILN_E_WOULD_COMPILE, NULL);
    char *all = read_all(path);
    assert_int_equal(count_lines(all), 3);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    free(all);
    free(first);
}

static void the_environment_names_the_record(void **state) {
    launch_fixture *f = *state;
    char path[160], before[4096];
    snprintf(path, sizeof path, "%s/from_environment.jsonl", f->dir);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(f->dir), 0);
    setenv("KILN_RECORD", "from_environment.jsonl", 1);
    kiln_context *context = launch_context(f, "", KILN_POLICY_NEVER_COMPILE);
    unsetenv("KILN_RECORD");
    assert_int_equal(chdir(before), 0); /* the file stays where it was */
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_WOULD_COMPILE, NULL);
    char *text = read_all(path);
    assert_int_equal(count_lines(text), 1);
    free(text);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static char last_message[1024];
static void keep_message(void *user, kiln_log_level level, const char *text) {
    (void)user;
    (void)level;
    snprintf(last_message, sizeof last_message, "%s", text);
}

/* Records two kernels in what is at the path; gives what the log was told. */
static const char *record_at(launch_fixture *f, const char *path) {
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.record_path = path;
    options.log = keep_message;
    *last_message = '\0';
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[8,65] f16[8,65]"), KILN_OK, "");
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return last_message;
}

/* A pipe would keep the caller until somebody reads, and end the process where nobody does any more. */
static void pipes_and_sockets_are_no_records(void **state) {
    launch_fixture *f = *state;
    static const char sentence[] = "it is a pipe or socket, expected a file";
    char path[160], name[64];
    snprintf(path, sizeof path, "%s/pipe", f->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20); /* ends a test that hangs */
    assert_non_null(strstr(record_at(f, path), sentence));
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_non_null(strstr(record_at(f, path), sentence));
    assert_int_equal(read(reader, name, sizeof name), 0);
    close(reader);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]); /* as /dev/stderr may be */
    assert_non_null(strstr(record_at(f, name), sentence));
    close(ends[1]);
    snprintf(path, sizeof path, "%s/socket", f->dir);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(strlen(path) < sizeof address.sun_path);
    strcpy(address.sun_path, path);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_non_null(strstr(record_at(f, path), sentence));
    close(listener);
    assert_string_equal(record_at(f, "/dev/null"), "");
    assert_non_null(strstr(record_at(f, "/dev/full"), "No space left on device"));
    assert_non_null(strstr(record_at(f, f->dir), "Is a directory"));
    alarm(0);
}

/* In a process of its own, which the limit's signal would end. */
static void a_limit_on_files_ends_no_recording_process(void **state) {
    launch_fixture *f = *state;
    char path[160];
    snprintf(path, sizeof path, "%s/limited.jsonl", f->dir);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {20, 20};
        _exit(setrlimit(RLIMIT_FSIZE, &limit) || !strstr(record_at(f, path), "File too large"));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int told;
static void count_warning(void *user, kiln_log_level level, const char *message) {
    (void)user;
    assert_int_equal(level, KILN_LOG_WARNING);
    assert_non_null(strstr(message, "a missing kernel cannot be recorded in '/nowhere/missing.jsonl': No such file"));
    told++;
}

static void a_record_that_cannot_be_written_fails_nothing(void **state) {
    launch_fixture *f = *state;
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    options.cache_dir = "";
    options.driver_path = KILN_FAKE_DRIVER;
    options.nvrtc_path = f->nvrtc;
    options.record_path = "/nowhere/missing.jsonl";
    options.log = count_warning;
    assert_int_equal(kiln_context_create(&options, &context), KILN_OK);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_OK, "");
    launch_expect(launch_run(program, "f16[8,65] f16[8,65]"), KILN_OK, "");
    assert_int_equal(told, 1);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

/* Long lines, so that one that is not written at once would show. */
static void processes_append_to_one_file(void **state) {
    launch_fixture *f = *state;
    enum { processes = 8, kernels = 40 };
    char path[160], comment[6000];
    memset(comment, 'c', sizeof comment);
    comment[sizeof comment - 1] = '\0';
    for (int p = 0; p < processes; p++) {
        if (fork()) continue;
        kiln_context *context = recording(f, path, KILN_POLICY_NEVER_COMPILE);
        char text[6100];
        snprintf(text, sizeof text, "y = softmax(x) # process %d %s", p, comment);
        kiln_program *program = launch_program(context, text);
        for (int k = 0; k < kernels; k++) {
            char tensors[64];
            snprintf(tensors, sizeof tensors, "f16[8,%d] f16[8,%d]", k + 1, k + 1);
            (void)launch_run(program, tensors);
        }
        _exit(0);
    }
    for (int p = 0; p < processes; p++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    snprintf(path, sizeof path, "%s/missing.jsonl", f->dir);
    char *text = read_all(path), *rest = text;
    assert_int_equal(count_lines(text), processes * kernels);
    for (const char *line; (line = strsep(&rest, "\n")) != NULL && *line;) {
        manifest_entry entry;
        if (manifest_parse(line, strlen(line), &entry)) fail_msg("%s", kiln_last_error());
        manifest_entry_free(&entry);
    }
    free(text);
}

/* The replayed request has the recorded one's kernel: over random programs, shapes, strides, axes and alignments. */
static void a_replayed_line_asks_for_the_same_kernel(void **state) {
    launch_fixture *f = *state;
    enum { cases = 800 };
    char path[160];
    kiln_context *context = recording(f, path, KILN_POLICY_NEVER_COMPILE);
    kiln__device device = kiln__device_typical(90);
    int replayed = 0;
    for (long i = 0; i < cases; i++) {
        fuzz_case c;
        kiln_program *program = NULL, *again = NULL;
        kiln__prepared first, second;
        kiln_tensor tensors[KILN_MAX_TENSORS], read[KILN_MAX_TENSORS];
        kiln_scalar scalars[KILN_MAX_SCALARS];
        kiln_kernel *kernel = NULL;
        manifest_entry entry;
        assert_int_equal(fuzz_case_draw_any(context, 11, i, &c), KILN_OK);
        assert_int_equal(fuzz_case_program(&c, context, &program), KILN_OK);
        size_t count = (size_t)(c.input_count + c.output_count);
        for (size_t t = 0; t < count; t++) {
            tensors[t] = c.tensors[t].view;
            tensors[t].data = (void *)(uintptr_t)(256 + (uint64_t)c.tensors[t].shift * kiln_type_size(tensors[t].type));
        }
        if (kiln_compile(program, tensors, count, c.scalars, (size_t)c.scalar_count, 90, 0, 1, &kernel) ==
            KILN_E_WOULD_COMPILE) {
            char *line = read_all(path);
            assert_int_equal(count_lines(line), 1);
            assert_int_equal(manifest_parse(line, strlen(line), &entry), KILN_OK);
            if (manifest_bind(&entry, context, &again, read, scalars)) fail_msg("%s%s", line, kiln_last_error());
            assert_int_equal(kiln__prepare(program, tensors, c.scalars, &device, 0, &first), KILN_OK);
            assert_int_equal(kiln__prepare(again, read, scalars, &device, 0, &second), KILN_OK);
            assert_string_equal(first.unexpanded, second.unexpanded);
            kiln__prepared_free(&first);
            kiln__prepared_free(&second);
            kiln_program_destroy(again);
            manifest_entry_free(&entry);
            free(line);
            unlink(path);
            kiln__text_free(&context->recorded); /* forget: cases repeat each other */
            replayed++;
        }
        kiln_program_destroy(program);
    }
    assert_true(replayed > cases / 2);
    kiln_context_destroy(context);
}

/* Schedules follow the device's numbers: a line from another device than its architecture's typical one tells them. */
static void a_line_tells_a_device_that_is_not_typical(void **state) {
    launch_fixture *f = *state;
    char path[160];
    kiln_context *context = recording(f, path, KILN_POLICY_NEVER_COMPILE);
    kiln_program *program = launch_program(context, "y = softmax(x)");
    kiln__device typical = kiln__device_typical(90), used;
    const int sm_count = f->fake->sm_count;
    f->fake->sm_count = 77;
    launch_expect(launch_run(program, "f16[8,64] f16[8,64]"), KILN_E_WOULD_COMPILE, NULL);
    assert_int_equal(kiln__driver_device(f->driver, 0, &used), KILN_OK);
    f->fake->sm_count = sm_count;
    char *line = read_all(path);
    manifest_entry entry;
    assert_int_equal(manifest_parse(line, strlen(line), &entry), KILN_OK);
    kiln__device read = manifest_device(&entry, 90), other = manifest_device(&entry, 80);
    assert_int_equal(read.sm_count, 77);
    assert_memory_equal(&read, &used, sizeof used);
    assert_memory_not_equal(&read, &typical, sizeof used);
    typical = kiln__device_typical(80);
    assert_memory_equal(&other, &typical, sizeof typical);
    manifest_entry_free(&entry);
    free(line);
    /* Lines of before 0.2 do not tell the bandwidth. */
    static const char older[] = "{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]\"],\"arch\":\"sm_80\","
                                "\"device\":[77,2048,65536,167936,166912,41943040]}";
    assert_int_equal(manifest_parse(older, sizeof older - 1, &entry), KILN_OK);
    read = manifest_device(&entry, 80);
    assert_int_equal(read.sm_count, 77);
    assert_int_equal(read.bandwidth, typical.bandwidth);
    manifest_entry_free(&entry);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
}

static void what_is_no_request_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {"", "no JSON: '[' or '{' expected near end of file"},
        {"[]", "an object of JSON was expected"},
        {"{}", "\"program\" is not a text"},
        {"{\"program\":1}", "\"program\" is not a text"},
        {"{\"program\":\"y = x\",\"axis\":[0]}", "there is no field \"axis\"; program, outputs, tensors, scalars, "
                                                 "axes, arch, device and dependent_launch were expected"},
        {"{\"program\":\"y = x\"}", "\"tensors\" is not a list of texts such as \"x=f16[*,1024]\""},
        {"{\"program\":\"y = x\",\"tensors\":[]}", "\"tensors\" is not a list of texts such as \"x=f16[*,1024]\""},
        {"{\"program\":\"y = x\",\"tensors\":[\"x\"]}", "\"tensors\" is not a list of texts such as \"x=f16[*,1024]\""},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f17[4]\"]}",
         "'f17' is no type; the types are f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u8 bool "
         "u16 u32 u64 e8m0 e2m1"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]\",\"x=f16[4]\"]}", "\"tensors\" has 'x' twice"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]{1,2}\"]}",
         "'f16[4]{1,2}' has 2 strides up to '}'; 1 and '}' were expected"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]{a}\"]}",
         "'f16[4]{a}' has no stride at 'a}'; a number was expected"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]@3\"]}",
         "'f16[4]@3' has the alignment '3'; 1, 2, 4, 8 or 16 bytes were expected"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]@8b\"]}",
         "'f16[4]@8b' has the alignment '8b'; 1, 2, 4, 8 or 16 bytes were expected"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]{1}!\"]}", "'f16[4]{1}!' has '!' where its end was expected"},
        {"{\"program\":\"y = x\",\"outputs\":\"y\",\"tensors\":[\"x=f16[4]\"]}", "\"outputs\" is not a list of names"},
        {"{\"program\":\"y = x\",\"outputs\":[\"y,z\"],\"tensors\":[\"x=f16[4]\"]}",
         "\"outputs\" is not a list of names"},
        {"{\"program\":\"y = x\",\"scalars\":[\"a\"],\"tensors\":[\"x=f16[4]\"]}",
         "\"scalars\" is not a list of texts such as \"x=f16[*,1024]\""},
        {"{\"program\":\"y = x\",\"scalars\":[\"a=f32\"],\"tensors\":[\"x=f16[4]\"]}",
         "'f32' is no type of a scalar; f64, i64 or i32 was expected"},
        {"{\"program\":\"y = x\",\"axes\":[1.5],\"tensors\":[\"x=f16[4]\"]}",
         "\"axes\" is not \"all\" or a list of axes such as [-1]"},
        {"{\"program\":\"y = x\",\"axes\":[8],\"tensors\":[\"x=f16[4]\"]}",
         "\"axes\" is not \"all\" or a list of axes such as [-1]"},
        {"{\"program\":\"y = x\",\"arch\":90,\"tensors\":[\"x=f16[4]\"]}",
         "\"arch\" is not an architecture such as \"sm_90\""},
        {"{\"program\":\"y = x\",\"arch\":\"sm_90\",\"device\":[1,2,3,4,5],\"tensors\":[\"x=f16[4]\"]}",
         "\"device\" is not a list of seven numbers, next to an \"arch\""},
        {"{\"program\":\"y = x\",\"arch\":\"sm_90\",\"device\":[1,2,3,4,5,6,0],\"tensors\":[\"x=f16[4]\"]}",
         "\"device\" is not a list of seven numbers, next to an \"arch\""},
        {"{\"program\":\"y = x\",\"device\":[1,2,3,4,5,6,7],\"tensors\":[\"x=f16[4]\"]}",
         "\"device\" is not a list of seven numbers, next to an \"arch\""},
        {"{\"program\":\"y = x\",\"arch\":\"sm90\",\"tensors\":[\"x=f16[4]\"]}",
         "'sm90' is no architecture; sm_90, 90 or compute_90 was expected"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        manifest_entry entry;
        launch_expect(manifest_parse(cases[i].line, strlen(cases[i].line), &entry), KILN_E_FORMAT, cases[i].sentence);
        manifest_entry_free(&entry);
    }
}

static void what_does_not_fit_the_program_is_refused(void **state) {
    launch_fixture *f = *state;
    static const struct {
        const char *line;
        kiln_status status;
        const char *sentence;
    } cases[] = {
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]\"]}", KILN_E_BINDING,
         "\"tensors\" has no 'y', which the program reads or stores"},
        {"{\"program\":\"y = x\",\"tensors\":[\"x=f16[4]\",\"y=f16[4]\",\"z=f16[4]\"]}", KILN_E_BINDING,
         "\"tensors\" has 3 tensors, expected the program's 2"},
        {"{\"program\":\"y = \",\"tensors\":[\"x=f16[4]\"]}", KILN_E_SYNTAX, NULL},
        {"{\"program\":\"y = x\",\"scalars\":[\"a=f64\"],\"tensors\":[\"x=f16[4]\"]}", KILN_E_NAME, NULL},
    };
    kiln_context *context = launch_context(f, "", KILN_POLICY_NEVER_COMPILE);
    for (size_t i = 0; i < COUNT(cases); i++) {
        manifest_entry entry;
        kiln_program *program = NULL;
        kiln_tensor tensors[KILN_MAX_TENSORS];
        kiln_scalar scalars[KILN_MAX_SCALARS];
        assert_int_equal(manifest_parse(cases[i].line, strlen(cases[i].line), &entry), KILN_OK);
        launch_expect(manifest_bind(&entry, context, &program, tensors, scalars), cases[i].status, cases[i].sentence);
        assert_null(program);
        manifest_entry_free(&entry);
    }
    kiln_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAUNCHES(a_line_tells_the_whole_request),
        WITH_LAUNCHES(a_kernel_is_recorded_once_and_where_it_was_missing),
        WITH_LAUNCHES(the_environment_names_the_record),
        WITH_LAUNCHES(a_record_that_cannot_be_written_fails_nothing),
        WITH_LAUNCHES(pipes_and_sockets_are_no_records),
        WITH_LAUNCHES(a_limit_on_files_ends_no_recording_process),
        WITH_LAUNCHES(processes_append_to_one_file),
        WITH_LAUNCHES(a_replayed_line_asks_for_the_same_kernel),
        WITH_LAUNCHES(a_line_tells_a_device_that_is_not_typical),
        cmocka_unit_test(what_is_no_request_is_refused),
        WITH_LAUNCHES(what_does_not_fit_the_program_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
