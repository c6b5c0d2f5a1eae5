/* SPDX-License-Identifier: Apache-2.0 */
/* kiln run: a program on NumPy files, on the GPU or the CPU reference.
 * Inputs are read completely first, and outputs replace their files only after everything has succeeded. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/types.h"
#include "device_memory.h"
#include "json_output.h"
#include "npy.h"
#include "request.h"
#include "tensor_spec.h"

typedef struct run {
    request request;
    char *paths[KILN_MAX_TENSORS]; /* of the files, as the tensors */
    bool on_gpu;
    kiln_cpu_options cpu;
    char device_name[128];
    kiln_plan *plan; /* on the GPU */
    kiln_plan_info info;
    double read_ms, run_ms, kernel_ms, write_ms;
} run;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* *path: the file of the text, which the caller frees in any case. */
static int read_array(const run *r, const char *name, const char *text, char **path, kiln_tensor *out) {
    kiln_type type;
    int typed;
    *path = strdup(text);
    if (!*path) return tool_failed(r->request.args, kiln__out_of_memory());
    if (tensor_spec_file(*path, &type, &typed)) {
        return tool_usage(r->request.args, "--in %s=%s: %s", name, *path, kiln_last_error());
    }
    kiln_status status = npy_read(*path, typed ? &type : NULL, out);
    return status ? tool_failed_at(r->request.args, status, "input '%s': ", name) : TOOL_OK;
}

static int read_inputs(run *r) {
    int code = TOOL_OK;
    for (size_t i = 0; i < r->request.input_count && !code; i++) {
        code = read_array(r, kiln_program_input_name(r->request.program, i), request_input(&r->request, i),
                          &r->paths[i], &r->request.tensors[i]);
    }
    return code;
}

static int allocate_output(run *r, size_t i, const kiln_type *type) {
    kiln_tensor *tensor = &r->request.tensors[r->request.input_count + i];
    const char *name = kiln_program_output_name(r->request.program, i);
    const char *before = request_put(&r->request, i);
    if (before) {
        char *path = NULL;
        if (type) return tool_usage(r->request.args, "--out %s has a type, which --in %s decides", name, name);
        const int code = read_array(r, name, before, &path, tensor);
        free(path);
        return code;
    }
    const int code = request_shape_output(&r->request, i, type);
    if (code) return code;
    const size_t bytes = (size_t)kiln__type_bytes(tensor->type, gpu_tensor_elements(tensor));
    tensor->data = calloc(bytes ? bytes : 1, 1);
    if (tensor->data) return TOOL_OK;
    kiln_status status = kiln__fail(KILN_E_MEMORY, "%zu bytes of memory cannot be had", bytes);
    return tool_failed_at(r->request.args, status, "output '%s': ", name);
}

static int allocate_outputs(run *r) {
    for (size_t i = 0; i < r->request.output_count; i++) {
        char **path = &r->paths[r->request.input_count + i];
        const char *name = kiln_program_output_name(r->request.program, i);
        kiln_type type;
        int typed;
        *path = strdup(request_output(&r->request, i));
        if (!*path) return tool_failed(r->request.args, kiln__out_of_memory());
        if (tensor_spec_file(*path, &type, &typed)) {
            return tool_usage(r->request.args, "--out %s=%s: %s", name, *path, kiln_last_error());
        }
        for (size_t k = r->request.input_count; k < r->request.input_count + i; k++) {
            if (strcmp(r->paths[k], *path) == 0) {
                return tool_usage(r->request.args, "--out writes two outputs to '%s'", *path);
            }
        }
        int code = allocate_output(r, i, typed ? &type : NULL);
        if (code) return code;
    }
    return TOOL_OK;
}

/* The precision of floats, which only the CPU reference lets one choose. */
static int choose_precision(run *r) {
    const char *wanted = arguments_value(r->request.args, OPTION_PRECISION);
    if (!wanted) return TOOL_OK;
    if (r->on_gpu)
        return tool_usage(r->request.args, "--precision is for the CPU reference: --device cpu was expected");
    if (strcmp(wanted, "program") == 0)
        r->cpu.precision = KILN_PRECISION_PROGRAM;
    else if (strcmp(wanted, "double") != 0)
        return tool_usage(r->request.args, "--precision %s: double or program was expected", wanted);
    return TOOL_OK;
}

/* Decides where to run. Without --device a missing GPU is no failure, but it is told. */
static int open_device(run *r, gpu *g) {
    const arguments *args = r->request.args;
    const char *wanted = arguments_value(args, OPTION_DEVICE);
    if (!wanted) wanted = "auto";
    if (strcmp(wanted, "cpu") == 0) return TOOL_OK;
    const bool automatic = strcmp(wanted, "auto") == 0;
    if (!automatic && strcmp(wanted, "cuda") != 0) {
        return tool_usage(args, "--device %s: auto, cuda or cpu was expected", wanted);
    }
    kiln_status status = gpu_open(arguments_value(args, OPTION_DRIVER), 0, g);
    r->on_gpu = !status;
    if (automatic && (status == KILN_E_NO_DRIVER || status == KILN_E_NO_DEVICE)) {
        tool_note(args, "computing on the CPU reference, since there is no GPU: %s", kiln_last_error());
        return TOOL_OK;
    }
    if (status) return tool_failed(args, status);
    kiln_device_info info = {.struct_size = sizeof info};
    if (kiln_context_get_device_info(r->request.context, 0, &info) == KILN_OK) {
        memcpy(r->device_name, info.name, sizeof r->device_name);
    }
    return TOOL_OK;
}

static kiln_status compute_on_gpu(run *r, const gpu *g) {
    request *q = &r->request;
    const size_t count = q->input_count + q->output_count;
    kiln_tensor device[KILN_MAX_TENSORS] = {{0}};
    kiln_status status = gpu_copy_in(g, q->tensors, count, count, device); /* also what put leaves as it is */
    if (!status) status = kiln_plan_create(q->program, device, count, q->scalars, q->scalar_count, &r->plan);
    if (!status) status = kiln_plan_get_info(r->plan, &r->info);
    if (!status) status = gpu_launch(g, r->plan, device, count, q->scalars, q->scalar_count, &r->kernel_ms);
    for (size_t i = q->input_count; i < count && !status; i++) status = gpu_copy_out(g, &device[i], &q->tensors[i]);
    gpu_free_tensors(g, device, count);
    return status;
}

static int compute(run *r, const gpu *g) {
    request *q = &r->request;
    const double start = now_ms();
    kiln_status status = r->on_gpu ? compute_on_gpu(r, g)
                                   : kiln_run_cpu_with_options(q->program, q->tensors, q->input_count + q->output_count,
                                                               q->scalars, q->scalar_count, &r->cpu);
    r->run_ms = now_ms() - start;
    if (!status) return TOOL_OK;
    int code = tool_failed(q->args, status);
    if (status == KILN_E_UNSUPPORTED || status == KILN_E_NO_NVRTC) {
        tool_note(q->args, "--device cpu computes this program on the CPU reference");
    }
    return code;
}

/* All files are complete on the disk before the first one replaces an old one. */
static int write_outputs(run *r) {
    output_file files[KILN_MAX_TENSORS];
    const size_t inputs = r->request.input_count, count = r->request.output_count;
    size_t opened = 0, i = 0;
    kiln_status status = KILN_OK;
    for (; i < count && !status; i++) {
        status = output_file_open(r->paths[inputs + i], &files[i]);
        opened++;
        if (!status) status = npy_write(&files[i], &r->request.tensors[inputs + i]);
        if (!status) status = output_file_finish(&files[i]);
    }
    if (!status) {
        for (i = 0; i < count && !status; i++) status = output_file_publish(&files[i]);
    }
    int code = TOOL_OK;
    if (status) {
        code = tool_failed_at(r->request.args, status,
                              "output '%s': ", kiln_program_output_name(r->request.program, i - 1));
    }
    for (size_t k = 0; k < opened; k++) output_file_discard(&files[k]);
    return code;
}

static json_t *describe_files(const run *r, bool outputs) {
    json_t *list = json_array();
    const size_t first = outputs ? r->request.input_count : 0;
    const size_t count = outputs ? r->request.output_count : r->request.input_count;
    for (size_t i = 0; i < count; i++) {
        const char *name =
            outputs ? kiln_program_output_name(r->request.program, i) : kiln_program_input_name(r->request.program, i);
        json_t *item = json_tensor(name, &r->request.tensors[first + i]);
        json_object_set_new(item, "file", json_text(r->paths[first + i]));
        json_array_append_new(list, item);
    }
    return list;
}

static int report_json(const run *r) {
    json_t *times = json_pack("{s:o, s:o, s:o, s:o}", "read", json_ms(r->read_ms), "run", json_ms(r->run_ms), "kernel",
                              r->on_gpu ? json_ms(r->kernel_ms) : json_null(), "write", json_ms(r->write_ms));
    json_t *object =
        json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "program", json_text(r->request.text), "device",
                  r->on_gpu ? "cuda" : "cpu", "device_name", r->on_gpu ? json_text(r->device_name) : json_null(),
                  "inputs", describe_files(r, false), "outputs", describe_files(r, true), "origin",
                  r->on_gpu ? json_text(origin_name(r->info.origin)) : json_null(), "kernel",
                  r->on_gpu ? json_plan(&r->info) : json_null(), "time_ms", times);
    return json_print(r->request.args, object);
}

static int report(const run *r) {
    if (arguments_has(r->request.args, OPTION_JSON)) return report_json(r);
    if (arguments_has(r->request.args, OPTION_QUIET)) return TOOL_OK;
    for (size_t i = 0; i < r->request.output_count; i++) {
        char text[TENSOR_SPEC_SIZE];
        tensor_spec_format(&r->request.tensors[r->request.input_count + i], text);
        printf("%s  %s  ", kiln_program_output_name(r->request.program, i), text);
        tool_print(r->paths[r->request.input_count + i]);
        printf("\n");
    }
    if (r->on_gpu) {
        printf("%s, sm_%d, %s, kernel from %s, %.4f ms\n", r->device_name, r->info.arch, r->info.schedule,
               r->info.origin == KILN_ORIGIN_COMPILED ? "a compile" : origin_name(r->info.origin), r->kernel_ms);
    } else {
        const bool own_types = r->cpu.precision == KILN_PRECISION_PROGRAM;
        printf("CPU reference%s, %.3f ms\n", own_types ? " in the program's types" : "", r->run_ms);
    }
    return TOOL_OK;
}

static int run_steps(run *r, gpu *g) {
    double start = now_ms();
    int code = read_inputs(r);
    r->read_ms = now_ms() - start;
    if (!code) code = allocate_outputs(r);
    if (!code) code = open_device(r, g);
    if (!code) code = choose_precision(r);
    if (!code) code = compute(r, g);
    if (code) return code;
    start = now_ms();
    code = write_outputs(r);
    r->write_ms = now_ms() - start;
    return code ? code : report(r);
}

static int run_command(const arguments *args) {
    if (arguments_has(args, OPTION_KEEP_DIMS) && arguments_has(args, OPTION_DROP_DIMS)) {
        return tool_usage(args, "--keep-dims and --drop-dims are both given");
    }
    run r = {.info = KILN_PLAN_INFO_INIT, .cpu = KILN_CPU_OPTIONS_INIT};
    gpu g = {0};
    int code = request_open(args, OPTION_IN, OPTION_OUT, true, false, &r.request);
    if (!code) code = run_steps(&r, &g);
    kiln_plan_destroy(r.plan);
    for (size_t i = 0; i < KILN_MAX_TENSORS; i++) {
        free(r.request.tensors[i].data);
        free(r.paths[i]);
    }
    request_free(&r.request);
    gpu_close(&g);
    return code;
}

static const option_id options[] = {
    OPTION_IN,     OPTION_OUT,       OPTION_SCALAR,  OPTION_AXES,      OPTION_KEEP_DIMS, OPTION_DROP_DIMS,
    OPTION_DEVICE, OPTION_PRECISION, OPTION_PROGRAM, OPTION_CACHE_DIR, OPTION_NVRTC,     OPTION_DRIVER,
    OPTION_JSON,   OPTION_QUIET,     OPTION_COLOR,   OPTION_HELP,      OPTION_COUNT,
};

const command command_run = {
    .name = "run",
    .summary = "Runs a program on NumPy files",
    .usage = "PROGRAM --in NAME=FILE ... --out NAME=FILE ... [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nEvery name that the program reads and does not assign is bound by --in or --scalar. --in, --out and\n"
        "--scalar can be repeated, or take several items separated by commas. A file may be input and output at\n"
        "once; outputs replace their files only after everything has succeeded.\n"
        "\nWithout a type, a logical output is stored as bool, an integer one in the type that it was computed\n"
        "in, and a floating one in the widest floating type among the inputs (f32 if there is none). NumPy has no\n"
        "bf16 or fp8: they are written as uint16 and uint8, and read back with :bf16, :e4m3, :e5m2, :e8m0.\n"
        "Bytes of e2m1 are two elements, of the last axis: written as uint8, read back with :e2m1.\n"
        "\nThe CPU reference computes floats in double and rounds what it stores: the most accurate answer, finite\n"
        "where f32 overflows in a kernel. --precision program reproduces the overflow, cancellation and rounding\n"
        "of the program's own types, though not a kernel's last bits: sums are added in another order.\n"
        "\nJSON: program, device, device_name, inputs and outputs (name, type, shape, file), origin (memory, pack,\n"
        "disk or compiled), kernel (arch, schedule, reason, registers, ...), time_ms (read, run, kernel, write).\n"
        "What the CPU reference does not have is null.\n"
        "\nexamples:\n"
        "  kiln run 'y = softmax(x)' --in x=a.npy --out y=b.npy\n"
        "  kiln run 'y = layer_norm(x, w, b, eps)' --in x=a.npy,w=w.npy,b=b.npy --scalar eps=1e-5 --out y=y.npy\n"
        "  kiln run 's = sum(x)' --in x=a.npy:bf16 --out s=s.npy:f32 --axes all --device cpu\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong, 3 no GPU, driver or NVRTC.\n",
    .run = run_command,
};
