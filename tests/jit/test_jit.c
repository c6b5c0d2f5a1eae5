/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC: found without being loaded, opened once, compiling for several targets, and failing in clear sentences.
 * What needs a real NVRTC is skipped where none is installed; the rest uses a stand-in of version 11.1. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit/log.h"
#include "jit/nvrtc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char kernel[] = "__device__ float twice(float v) { return v + v; }\n"
                             "extern \"C\" __global__ void double_it(float *x)\n"
                             "{\n"
                             "    __shared__ float tile[256];\n"
                             "    tile[threadIdx.x] = x[threadIdx.x];\n"
                             "    __syncthreads();\n"
                             "    x[threadIdx.x] = twice(tile[threadIdx.x ^ 1]);\n"
                             "}\n";

/* ---- a folder of stand-ins ---- */

static char folder[PATH_MAX];
static const char *outer_nvrtc; /* KILN_NVRTC as the tests were started with it */

static const char *in_folder(char *path, const char *name) {
    snprintf(path, PATH_MAX, "%.2000s/%.1000s", folder, name);
    return path;
}

/* Writes the first `size` bytes of the stand-in under a name, with one byte replaced where at is not negative. */
static void install(const char *name, size_t size, long at, unsigned char byte) {
    char path[PATH_MAX];
    FILE *from = fopen(KILN_FAKE_NVRTC, "rb"), *to = fopen(in_folder(path, name), "wb");
    assert_non_null(from);
    assert_non_null(to);
    int c;
    for (size_t i = 0; i < size && (c = getc(from)) != EOF; i++) putc(at == (long)i ? byte : c, to);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

static void make_folder(const char *name) {
    char path[PATH_MAX];
    assert_int_equal(mkdir(in_folder(path, name), 0700), 0);
}

static int set_up(void **state) {
    (void)state;
    unsetenv("KILN_NVRTC");
    strcpy(folder, "/tmp/kiln_test_jit_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state) {
    (void)state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (outer_nvrtc != NULL)
        setenv("KILN_NVRTC", outer_nvrtc, 1);
    else
        unsetenv("KILN_NVRTC");
    return system(command) != 0;
}

static void expect_located(const char *path, const char *name) {
    kiln__nvrtc_identity identity;
    char expected[PATH_MAX];
    assert_true(kiln__nvrtc_locate(path, &identity));
    assert_string_equal(identity.path, in_folder(expected, name));
    assert_int_equal(identity.major, 0);
    assert_string_equal(identity.build, "");
    assert_true(identity.file_size > 0);
}

/* ---- finding ---- */

static void locating_loads_nothing(void **state) {
    (void)state;
    kiln__nvrtc_identity identity;
    install("libnvrtc.so.12", SIZE_MAX, -1, 0);
    assert_true(kiln__nvrtc_locate(folder, &identity));
    kiln__nvrtc_read_build(&identity);
    assert_true(strlen(identity.build) > 0);
    kiln__nvrtc_locate(NULL, &identity);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 128];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) assert_null(strstr(line, "nvrtc.so"));
    fclose(maps);
}

static void the_newest_in_a_folder_is_taken(void **state) {
    (void)state;
    install("libnvrtc.so.11.2", SIZE_MAX, -1, 0);
    expect_located(folder, "libnvrtc.so.11.2");
    install("libnvrtc.so.12.4.127", SIZE_MAX, -1, 0);
    expect_located(folder, "libnvrtc.so.12.4.127");
    install("libnvrtc.so.12.10.3", SIZE_MAX, -1, 0);
    expect_located(folder, "libnvrtc.so.12.10.3");
    install("libnvrtc.so.13", SIZE_MAX, -1, 0);
    expect_located(folder, "libnvrtc.so.13");
}

static void files_that_are_no_nvrtc_are_passed_over(void **state) {
    (void)state;
    install("libnvrtc.so.12", SIZE_MAX, -1, 0);
    install("libnvrtc.alt.so.13", SIZE_MAX, -1, 0);
    install("libnvrtc-builtins.so.13.0", SIZE_MAX, -1, 0);
    install("libnvrtc.so.13", 100, 4, 1);  /* a 32-bit ELF file */
    install("libnvrtc.so.14", 100, 18, 3); /* for another machine */
    install("libnvrtc.so.15", 10, -1, 0);  /* cut short */
    install("libnvrtc.so.16.backup", SIZE_MAX, -1, 0);
    make_folder("libnvrtc.so.17");
    expect_located(folder, "libnvrtc.so.12");
}

static void wheels_and_toolkits_are_found_below_a_folder(void **state) {
    (void)state;
    static const char *const folders[] = {"nvidia",      "nvidia/cuda_nvrtc", "nvidia/cuda_nvrtc/lib",
                                          "nvidia/cu13", "nvidia/cu13/lib",   "lib64"};
    for (size_t i = 0; i < COUNT(folders); i++) make_folder(folders[i]);
    kiln__nvrtc_identity identity;
    assert_false(kiln__nvrtc_locate(folder, &identity));
    install("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", SIZE_MAX, -1, 0);
    expect_located(folder, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    install("nvidia/cu13/lib/libnvrtc.so.13", SIZE_MAX, -1, 0);
    expect_located(folder, "nvidia/cu13/lib/libnvrtc.so.13");
    install("lib64/libnvrtc.so.14", SIZE_MAX, -1, 0);
    expect_located(folder, "lib64/libnvrtc.so.14");
}

static void the_environment_names_a_file_or_folder(void **state) {
    (void)state;
    char path[PATH_MAX];
    install("old.so", SIZE_MAX, -1, 0);
    install("libnvrtc.so.12", SIZE_MAX, -1, 0);
    setenv("KILN_NVRTC", folder, 1);
    expect_located(NULL, "libnvrtc.so.12");
    expect_located("", "libnvrtc.so.12");
    setenv("KILN_NVRTC", in_folder(path, "old.so"), 1);
    expect_located(NULL, "old.so");
    expect_located(in_folder(path, "libnvrtc.so.12"), "libnvrtc.so.12"); /* the option comes first */
}

/* Makes a folder and those above it. */
static void make_folders(const char *name) {
    char above[PATH_MAX], path[PATH_MAX];
    snprintf(above, sizeof above, "%s", name);
    for (char *end = strchr(above, '/'); end != NULL; end = strchr(end + 1, '/')) {
        *end = '\0';
        mkdir(in_folder(path, above), 0700);
        *end = '/';
    }
    mkdir(in_folder(path, name), 0700);
}

/* As if the test were started as <folder>/<program>, with one variable that names <folder>/<below>. */
static void expect_usual_place(const char *variable, const char *below, const char *program, const char *library) {
    static const char *const variables[] = {"CUDA_HOME",    "CUDA_PATH",     "VIRTUAL_ENV",
                                            "CONDA_PREFIX", "XDG_DATA_HOME", "HOME"};
    char *outer[COUNT(variables)], *outer_name = program_invocation_name, path[PATH_MAX], name[PATH_MAX];
    for (size_t i = 0; i < COUNT(variables); i++) {
        outer[i] = getenv(variables[i]) != NULL ? strdup(getenv(variables[i])) : NULL;
        unsetenv(variables[i]);
    }
    if (variable != NULL) setenv(variable, in_folder(path, below), 1);
    strcpy(name, in_folder(path, program));
    program_invocation_name = name;
    char *folder_of_library = strdup(library);
    *strrchr(folder_of_library, '/') = '\0';
    make_folders(folder_of_library);
    install(library, SIZE_MAX, -1, 0);
    expect_located(NULL, library);
    assert_int_equal(unlink(in_folder(path, library)), 0);
    free(folder_of_library);
    program_invocation_name = outer_name;
    for (size_t i = 0; i < COUNT(variables); i++) {
        if (outer[i] != NULL) setenv(variables[i], outer[i], 1);
        free(outer[i]);
    }
}

static void wheels_of_a_python_are_found(void **state) {
    (void)state;
    static const struct {
        const char *variable, *below, *program, *library;
    } cases[] = {
        {"VIRTUAL_ENV", "env", "kiln", "env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
        {"VIRTUAL_ENV", "env", "kiln", "env/lib/python3.13/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
        {"CONDA_PREFIX", "conda", "kiln", "conda/lib/libnvrtc.so.12"},
        {NULL, NULL, "venv/bin/python3", "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
        {NULL, NULL, "usr/bin/python3.11", "usr/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
        {"HOME", "home", "kiln", "home/.local/share/kiln/nvidia/cu13/lib/libnvrtc.so.13"},
        {"XDG_DATA_HOME", "data", "kiln", "data/kiln/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
        {"CUDA_HOME", "cuda", "venv/bin/python3", "cuda/lib64/libnvrtc.so.12"},
    };
    make_folders("venv/bin"); /* a folder is found through the program's, which is there */
    make_folders("usr/bin");
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_usual_place(cases[i].variable, cases[i].below, cases[i].program, cases[i].library);
}

static void a_link_is_resolved(void **state) {
    (void)state;
    char link[PATH_MAX];
    install("libnvrtc.so.12.4.127", SIZE_MAX, -1, 0);
    assert_int_equal(symlink("libnvrtc.so.12.4.127", in_folder(link, "libnvrtc.so.12")), 0);
    expect_located(link, "libnvrtc.so.12.4.127");
}

static void the_build_tells_files_of_one_version_apart(void **state) {
    (void)state;
    kiln__nvrtc_identity identity[3];
    for (int i = 0; i < 3; i++) {
        install("libnvrtc.so.12", i == 2 ? 2000 : 1999, 1500, (unsigned char)(i == 1 ? 'a' : 'b'));
        assert_true(kiln__nvrtc_locate(folder, &identity[i]));
        kiln__nvrtc_read_build(&identity[i]);
        for (int k = 0; k < i; k++) assert_string_not_equal(identity[i].build, identity[k].build);
    }
}

static void folders_are_taken_as_they_are_named(void **state) {
    (void)state;
    static const char *const names[] = {"*", "[ab]", "{a,b}", "a\\b", "~", "a b"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[PATH_MAX], library[PATH_MAX];
        make_folder(names[i]);
        snprintf(library, sizeof library, "%.100s/libnvrtc.so.12", names[i]);
        install(library, SIZE_MAX, -1, 0);
        expect_located(in_folder(path, names[i]), library);
        assert_int_equal(unlink(in_folder(path, library)), 0);
    }
}

/* ---- opening ---- */

static void a_missing_library_is_told_with_advice(void **state) {
    (void)state;
    const kiln__nvrtc *nvrtc = (const kiln__nvrtc *)state;
    char path[PATH_MAX];
    assert_int_equal(kiln__nvrtc_open("/nowhere/libnvrtc.so", &nvrtc), KILN_E_NO_NVRTC);
    assert_null(nvrtc);
    assert_non_null(strstr(kiln_last_error(), "'/nowhere/libnvrtc.so'"));
    assert_non_null(strstr(kiln_last_error(), "'pip install --target ~/.local/share/kiln nvidia-cuda-nvrtc'"));
    setenv("KILN_NVRTC", folder, 1);
    assert_int_equal(kiln__nvrtc_open(NULL, &nvrtc), KILN_E_NO_NVRTC);
    assert_non_null(strstr(kiln_last_error(), "(from KILN_NVRTC) is neither"));
    install("libnvrtc.so.12", 300, -1, 0); /* an ELF header and no more */
    assert_int_equal(kiln__nvrtc_open(NULL, &nvrtc), KILN_E_NO_NVRTC);
    assert_non_null(strstr(kiln_last_error(), "cannot be opened"));
    /* Some other library: the first missing function is named. */
    assert_int_equal(kiln__nvrtc_open("/proc/self/exe", &nvrtc), KILN_E_NO_NVRTC);
    assert_int_equal(kiln__nvrtc_open(in_folder(path, "absent"), &nvrtc), KILN_E_NO_NVRTC);
}

static void *open_in_thread(void *out) {
    const kiln__nvrtc *nvrtc = NULL;
    if (kiln__nvrtc_open(KILN_FAKE_NVRTC, &nvrtc) == KILN_OK) *(const kiln__nvrtc **)out = nvrtc;
    return NULL;
}

static void threads_share_one_table(void **state) {
    (void)state;
    pthread_t threads[8];
    const kiln__nvrtc *tables[8] = {NULL};
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_in_thread, &tables[i]), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    assert_non_null(tables[0]);
    for (size_t i = 1; i < COUNT(threads); i++) assert_ptr_equal(tables[i], tables[0]);
    assert_int_equal(tables[0]->identity.major, 11);
    assert_int_equal(tables[0]->identity.minor, 1);
    assert_int_equal(tables[0]->arch_count, 5);
}

static void an_nvrtc_too_old_for_the_device_says_what_it_has(void **state) {
    (void)state;
    const kiln__nvrtc *nvrtc = NULL;
    kiln__compile_result result;
    kiln__compile_request request = {kernel, "kernel.cu", 90, false};
    assert_int_equal(kiln__nvrtc_open(KILN_FAKE_NVRTC, &nvrtc), KILN_OK);
    assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_E_ARCH);
    assert_string_equal(kiln_last_error(), "sm_90 is not supported by NVRTC 11.1 (it has sm_50 to sm_70)");
    kiln__compile_result_free(&result);
    request.arch = 70;
    assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_OK);
    assert_string_equal(result.image, kernel);
    assert_int_equal(result.facts.registers, -1);
    kiln__compile_result_free(&result);
    kiln__compile_result_free(NULL);
}

static void every_failing_call_of_nvrtc_is_told(void **state) {
    (void)state;
    static const struct {
        const char *source;
        kiln_status status;
        const char *message;
    } table[] = {
        {"create_fails", KILN_E_COMPILE, "nvrtcCreateProgram"},
        {"compile_fails", KILN_E_COMPILE, "refused 'kernel.cu' (NVRTC_ERROR_INTERNAL_ERROR)"},
        {"log_size_fails", KILN_E_COMPILE, "nvrtcGetProgramLogSize"},
        {"log_fails", KILN_E_COMPILE, "nvrtcGetProgramLog for"},
        {"size_fails", KILN_E_COMPILE, "Size for 'kernel.cu'"},
        {"image_fails", KILN_E_COMPILE, " for 'kernel.cu'"},
        {"no_memory", KILN_E_MEMORY, ""},
    };
    const kiln__nvrtc *nvrtc = NULL;
    assert_int_equal(kiln__nvrtc_open(KILN_FAKE_NVRTC, &nvrtc), KILN_OK);
    for (size_t i = 0; i < COUNT(table) * 2; i++) {
        kiln__compile_result result;
        kiln__compile_request request = {table[i / 2].source, "kernel.cu", 60, i % 2 == 1};
        assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), table[i / 2].status);
        assert_non_null(strstr(kiln_last_error(), table[i / 2].message));
        assert_null(result.image);
        kiln__compile_result_free(&result);
    }
}

/* ---- the log ---- */

static void facts_are_taken_out_of_the_log(void **state) {
    (void)state;
    char log[] = "kernel.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
                 "ptxas info    : 0 bytes gmem\n"
                 "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
                 "ptxas info    : Function properties for k\n"
                 "ptxas         .     16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
                 "ptxas info    : Used 56 registers, used 1 barriers, 4096 bytes smem, 360 bytes cmem[0]\n"
                 "ptxas warning : Too big maxrregcount value specified 300, will be ignored\n"
                 "ptxas info    : Compile time = 51.100 ms";
    kiln__facts facts = {.registers = -1, .spill_bytes = -1};
    kiln__log_take_facts(log, &facts);
    assert_int_equal(facts.registers, 56);
    assert_int_equal(facts.spill_bytes, 12);
    assert_int_equal(facts.shared_bytes, 4096);
    assert_string_equal(log, "kernel.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
                             "ptxas warning : Too big maxrregcount value specified 300, will be ignored\n");
    char wild[] = "ptxas info : Used 99999999999999999999999 registers\n registers\nptxas";
    kiln__log_take_facts(wild, &facts);
    assert_int_equal(facts.registers, INT_MAX);
    assert_string_equal(wild, " registers\nptxas");
}

static void the_first_error_is_found(void **state) {
    (void)state;
    static const struct {
        const char *log;
        int64_t shared_bytes;
        const char *line;
    } table[] = {
        {"", 49152, "no message"},
        {"", 86016, "a block has 86016 bytes of static shared memory, expected at most 49152"},
        {"\n\nsomething\nelse", 0, "something"},
        {"a.cu(1): warning: odd\na.cu(2): error: bad\na.cu(3): error: worse\n", 0, "a.cu(2): error: bad"},
        {"ptxas fatal   : out of registers\n", 86016, "ptxas fatal   : out of registers"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char line[80], tiny[5];
        const kiln__facts facts = {.shared_bytes = table[i].shared_bytes};
        kiln__log_first_error(table[i].log, &facts, line, sizeof line);
        assert_string_equal(line, table[i].line);
        kiln__log_first_error(table[i].log, &facts, tiny, sizeof tiny);
        assert_int_equal(strlen(tiny), 4);
    }
}

/* ---- a real NVRTC ---- */

static const kiln__nvrtc *real_nvrtc(void) {
    const kiln__nvrtc *nvrtc = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc) != KILN_OK) {
        print_message("no NVRTC: %s\n", kiln_last_error());
        skip();
    }
    return nvrtc;
}

static void kernels_compile_for_cubin_and_ptx(void **state) {
    (void)state;
    static const struct {
        int arch;
        bool ptx;
    } table[] = {{80, false}, {90, false}, {80, true}};
    const kiln__nvrtc *nvrtc = real_nvrtc();
    assert_true(nvrtc->identity.major >= 11);
    assert_true(strlen(nvrtc->identity.build) > 0);
    for (size_t i = 0; i < COUNT(table); i++) {
        kiln__compile_request request = {kernel, "kernel.cu", table[i].arch, table[i].ptx};
        kiln__compile_result result;
        assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_OK);
        assert_string_equal(result.log, "");
        assert_true(result.facts.compile_ms > 0);
        if (table[i].ptx) {
            assert_non_null(strstr(result.image, ".target sm_80"));
            assert_int_equal(((const char *)result.image)[result.size - 1], 0);
            assert_int_equal(result.facts.registers, -1);
        } else {
            assert_memory_equal(result.image, "\177ELF", 4);
            assert_in_range(result.facts.registers, 1, 64);
            assert_int_equal(result.facts.spill_bytes, 0);
            assert_int_equal(result.facts.shared_bytes, 1024);
        }
        kiln__compile_result_free(&result);
    }
}

/* Cubins alone, of the architectures that have families, and only where the source asks: else each would be tied to
 * one. */
static void sources_may_ask_for_a_familys_target(void **state) {
    (void)state;
    static const char asking[] = "// \n#define KILN_FAMILY_TARGET\n"
                                 "#ifndef __CUDA_ARCH_FAMILY_SPECIFIC__\n#error no family\n#endif\n"
                                 "extern \"C\" __global__ void k() {}\n";
    static const char plain[] = "#ifdef __CUDA_ARCH_FAMILY_SPECIFIC__\n#error a family\n#endif\n"
                                "extern \"C\" __global__ void k() {}\n";
    static const struct {
        int arch;
        bool ptx, has_family;
    } table[] = {{90, false, false}, {100, false, true}, {120, false, true}, {100, true, false}};
    const kiln__nvrtc *nvrtc = real_nvrtc();
    if (nvrtc->identity.major * 100 + nvrtc->identity.minor < 1209) skip();
    for (size_t i = 0; i < COUNT(table); i++) {
        kiln__compile_request request = {asking, "kernel.cu", table[i].arch, table[i].ptx};
        kiln__compile_result result;
        assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), table[i].has_family ? KILN_OK : KILN_E_COMPILE);
        kiln__compile_result_free(&result);
        request.source = plain;
        assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_OK);
        kiln__compile_result_free(&result);
    }
}

static void sources_may_ask_for_products_that_are_rounded(void **state) {
    (void)state;
    static const char body[] = "extern \"C\" __global__ void k(float *x) { x[0] = x[1] * x[2] + x[3]; }\n";
    char asking[256];
    snprintf(asking, sizeof asking, "// \n#define KILN_UNCONTRACTED\n%s", body);
    const kiln__nvrtc *nvrtc = real_nvrtc();
    const char *const sources[] = {body, asking};
    for (int i = 0; i < 2; i++) {
        kiln__compile_request request = {sources[i], "kernel.cu", 90, true};
        kiln__compile_result result;
        assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_OK);
        assert_int_equal(strstr(result.image, "fma.rn.f32") != NULL, i == 0);
        assert_int_equal(strstr(result.image, "mul.rn.f32") != NULL, i == 1);
        assert_int_equal(strstr(result.image, "add.rn.f32") != NULL, i == 1);
        kiln__compile_result_free(&result);
    }
}

static void a_broken_source_gives_its_first_error_and_the_log(void **state) {
    (void)state;
    const kiln__nvrtc *nvrtc = real_nvrtc();
    kiln__compile_request request = {"__global__ void k() {\n  undefined_name = 1;\n}\n", "broken.cu", 80, false};
    kiln__compile_result result;
    assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_E_COMPILE);
    assert_non_null(strstr(kiln_last_error(), "broken.cu(2): error: identifier \"undefined_name\" is undefined"));
    assert_non_null(strstr(result.log, "1 error detected"));
    assert_null(result.image);
    kiln__compile_result_free(&result);
    request.arch = 7;
    assert_int_equal(kiln__nvrtc_compile(nvrtc, &request, &result), KILN_E_ARCH);
    assert_non_null(strstr(kiln_last_error(), "sm_7 is not supported by NVRTC"));
    kiln__compile_result_free(&result);
}

static void the_build_is_the_same_read_from_the_file_or_the_open_library(void **state) {
    (void)state;
    const kiln__nvrtc *nvrtc = real_nvrtc();
    kiln__nvrtc_identity identity;
    assert_true(kiln__nvrtc_locate(NULL, &identity));
    kiln__nvrtc_read_build(&identity);
    assert_string_equal(identity.build, nvrtc->identity.build);
    assert_string_equal(identity.path, nvrtc->identity.path);
}

int main(void) {
    char *outer = getenv("KILN_NVRTC") != NULL ? strdup(getenv("KILN_NVRTC")) : NULL;
    outer_nvrtc = outer;
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(locating_loads_nothing), /* first: later tests do load it */
        IN_FOLDER(the_newest_in_a_folder_is_taken),
        IN_FOLDER(files_that_are_no_nvrtc_are_passed_over),
        IN_FOLDER(wheels_and_toolkits_are_found_below_a_folder),
        IN_FOLDER(the_environment_names_a_file_or_folder),
        IN_FOLDER(wheels_of_a_python_are_found),
        IN_FOLDER(a_link_is_resolved),
        IN_FOLDER(the_build_tells_files_of_one_version_apart),
        IN_FOLDER(folders_are_taken_as_they_are_named),
        IN_FOLDER(a_missing_library_is_told_with_advice),
        cmocka_unit_test(threads_share_one_table),
        cmocka_unit_test(an_nvrtc_too_old_for_the_device_says_what_it_has),
        cmocka_unit_test(every_failing_call_of_nvrtc_is_told),
        cmocka_unit_test(facts_are_taken_out_of_the_log),
        cmocka_unit_test(the_first_error_is_found),
        cmocka_unit_test(kernels_compile_for_cubin_and_ptx),
        cmocka_unit_test(sources_may_ask_for_a_familys_target),
        cmocka_unit_test(sources_may_ask_for_products_that_are_rounded),
        cmocka_unit_test(a_broken_source_gives_its_first_error_and_the_log),
        cmocka_unit_test(the_build_is_the_same_read_from_the_file_or_the_open_library),
    };
    int failed = cmocka_run_group_tests_name("jit", tests, NULL, NULL);
    free(outer);
    return failed;
}
