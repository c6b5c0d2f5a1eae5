/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on the software GPU beside the CPU reference. Each step's failure becomes a status, so that tests can ask
 * for failures and look at what comes of them. */
#include "software_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/types.h"

#define TENSOR_LIMIT 4

#if defined(KILN_SOFTWARE_DRIVER) && defined(KILN_SOFTWARE_NVRTC)
/* With the driver's path in options. */
static kiln_status open_with(const kiln_context_options *options, software_device *out) {
    if (!software_gpu_open(options->driver_path, options->nvrtc_path, &out->gpu)) return KILN_E_NO_DRIVER;
    kiln_status status = kiln__driver_open(options->driver_path, &out->driver);
    if (status) return status;
    kiln__CUdevice ordinal = 0;
    kiln__CUcontext context = NULL;
    kiln__CUresult result = out->driver->CtxGetCurrent(&out->previous);
    if (result) return kiln__driver_fail(out->driver, KILN_E_NO_DEVICE, result, "cuCtxGetCurrent");
    result = out->driver->DeviceGet(&ordinal, 0);
    if (result) return kiln__driver_fail(out->driver, KILN_E_NO_DEVICE, result, "cuDeviceGet");
    result = out->driver->DevicePrimaryCtxRetain(&context, ordinal);
    if (result) return kiln__driver_fail(out->driver, KILN_E_NO_DEVICE, result, "cuDevicePrimaryCtxRetain");
    result = out->driver->CtxSetCurrent(context);
    if (result)
        status = kiln__driver_fail(out->driver, KILN_E_NO_DEVICE, result, "cuCtxSetCurrent");
    else
        status = kiln_context_create(options, &out->kiln);
    if (status) out->driver->DevicePrimaryCtxRelease(ordinal);
    return status;
}

#endif

kiln_status software_device_open(const char *cache_dir, software_device *out) {
    *out = (software_device){0};
#if defined(KILN_SOFTWARE_DRIVER) && defined(KILN_SOFTWARE_NVRTC)
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    options.driver_path = KILN_SOFTWARE_DRIVER;
    options.nvrtc_path = KILN_SOFTWARE_NVRTC;
    if (!cache_dir && !own_folder_make(&out->cache)) return KILN_E_IO;
    options.cache_dir = cache_dir ? cache_dir : out->cache.path;
    kiln_status status = open_with(&options, out);
    if (status) own_folder_remove(&out->cache);
    return status;
#else
    (void)cache_dir;
    return KILN_E_NO_DRIVER;
#endif
}

kiln_status software_device_close(software_device *device) {
    kiln_context_destroy(device->kiln);
    device->kiln = NULL;
    own_folder_remove(&device->cache);
    kiln__CUresult result = device->driver->CtxSetCurrent(device->previous);
    if (result) {
        device->driver->DevicePrimaryCtxRelease(0);
        return kiln__driver_fail(device->driver, KILN_E_NO_DEVICE, result, "cuCtxSetCurrent");
    }
    result = device->driver->DevicePrimaryCtxRelease(0);
    return result ? kiln__driver_fail(device->driver, KILN_E_NO_DEVICE, result, "cuDevicePrimaryCtxRelease") : KILN_OK;
}

/* ---- one case --------------------------------------------------------------------------------------------- */

typedef struct work {
    const software_device *device;
    const software_case *test;
    kiln_program *program;
    size_t count; /* tensors: inputs, then the output */
    kiln_tensor host[TENSOR_LIMIT], gpu[TENSOR_LIMIT], expected;
    kiln__CUdeviceptr memory[TENSOR_LIMIT];
    size_t bytes[TENSOR_LIMIT];
} work;

static kiln_status driver_status(const work *w, kiln__CUresult result, const char *what) {
    return result ? kiln__driver_fail(w->device->driver, KILN_E_LAUNCH, result, what) : KILN_OK;
}

/* Floats of both signs that sum without cancelling; integers of both signs, some of them 0. */
static double input_value(kiln_type type, size_t tensor, size_t i) {
    const double u = (double)((i * 40503u + tensor * 2711u) % 1009) / 1009;
    if (kiln__type_is_float(type)) return i % 2 ? 3 + 2 * u : 2 * u - 1;
    return i % 5 < 2 ? 0 : (double)(int)(2000 * u - 1000);
}

static kiln_status make_tensor(work *w, size_t t, int rank, const int64_t *sizes) {
    const kiln_type type = w->test->type;
    size_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= (size_t)sizes[i];
    w->bytes[t] = elements * kiln_type_size(type);
    w->host[t] = kiln_tensor_contiguous(calloc(elements, kiln_type_size(type)), type, rank, sizes);
    return w->host[t].data ? KILN_OK : kiln__out_of_memory();
}

static kiln_status make_tensors(work *w) {
    const kiln_type type = w->test->type;
    const int64_t whole[2] = {w->test->rows, w->test->cols};
    kiln_status status = KILN_OK;
    w->count = kiln_program_input_count(w->program) + 1;
    for (size_t t = 0; t + 1 < w->count && !status; t++) {
        const char *name = kiln_program_input_name(w->program, t);
        const bool shared = !strcmp(name, "w") || !strcmp(name, "b");
        status = make_tensor(w, t, shared ? 1 : 2, shared ? whole + 1 : whole);
        for (size_t i = 0; !status && i < w->bytes[t] / kiln_type_size(type); i++)
            kiln__store_f64(type, (char *)w->host[t].data + i * kiln_type_size(type), input_value(type, t, i));
    }
    int32_t rank = 0;
    int64_t sizes[KILN_MAX_RANK] = {0};
    if (!status) status = kiln_program_output_shape(w->program, w->host, 0, 0, &rank, sizes);
    if (!status && w->test->reduces != (rank < 2)) status = kiln__fail(KILN_E_INTERNAL, "an output of rank %d", rank);
    if (!status) status = make_tensor(w, w->count - 1, rank, sizes);
    if (status) return status;
    w->expected = w->host[w->count - 1];
    w->expected.data = malloc(w->bytes[w->count - 1]);
    return w->expected.data ? KILN_OK : kiln__out_of_memory();
}

static kiln_status upload(work *w) {
    const kiln__driver *driver = w->device->driver;
    const size_t shift = (size_t)w->test->shift * kiln_type_size(w->test->type);
    for (size_t t = 0; t < w->count; t++) {
        kiln_status status = driver_status(w, driver->MemAlloc(&w->memory[t], w->bytes[t] + shift), "cuMemAlloc");
        if (status) return status;
        w->gpu[t] = w->host[t];
        w->gpu[t].data = (void *)(uintptr_t)(w->memory[t] + shift);
        status = t + 1 < w->count
                     ? driver_status(w, driver->MemcpyHtoD(w->memory[t] + shift, w->host[t].data, w->bytes[t]),
                                     "cuMemcpyHtoD")
                     : driver_status(w, driver->MemsetD8(w->memory[t] + shift, 0xff, w->bytes[t]), "cuMemsetD8");
        if (status) return status;
    }
    return KILN_OK;
}

/* By a plan and by kiln_run, which must agree; with the time that events tell. */
static kiln_status run_between(work *w, kiln_plan *plan, kiln__CUevent start, kiln__CUevent end) {
    const kiln__driver *driver = w->device->driver;
    void *data[TENSOR_LIMIT];
    float elapsed = -1;
    for (size_t t = 0; t < w->count; t++) data[t] = w->gpu[t].data;
    kiln_status status = driver_status(w, driver->EventRecord(start, NULL), "cuEventRecord");
    if (!status) status = kiln_plan_launch(plan, data, w->count, NULL, 0, NULL);
    if (!status) status = kiln_run(w->program, w->gpu, w->count, NULL, 0, NULL);
    if (!status) status = driver_status(w, driver->EventRecord(end, NULL), "cuEventRecord");
    if (!status) status = driver_status(w, driver->EventSynchronize(end), "cuEventSynchronize");
    if (!status) status = driver_status(w, driver->EventElapsedTime(&elapsed, start, end), "cuEventElapsedTime");
    if (!status && elapsed < 0) status = kiln__fail(KILN_E_INTERNAL, "a launch took %g ms", (double)elapsed);
    return status ? status : driver_status(w, driver->CtxSynchronize(), "cuCtxSynchronize");
}

static kiln_status run_on_device(work *w) {
    const kiln__driver *driver = w->device->driver;
    kiln_plan *plan = NULL;
    kiln__CUevent events[2] = {NULL, NULL};
    kiln_status status = kiln_plan_create(w->program, w->gpu, w->count, NULL, 0, &plan);
    for (int i = 0; i < 2 && !status; i++)
        status = driver_status(w, driver->EventCreate(&events[i], 0), "cuEventCreate");
    if (!status) status = run_between(w, plan, events[0], events[1]);
    for (int i = 0; i < 2; i++) {
        kiln__CUresult result = events[i] ? driver->EventDestroy(events[i]) : KILN__CUDA_SUCCESS;
        if (!status) status = driver_status(w, result, "cuEventDestroy");
    }
    kiln_plan_destroy(plan);
    return status;
}

static kiln_status download(work *w) {
    const size_t output = w->count - 1;
    return driver_status(
        w, w->device->driver->MemcpyDtoH(w->host[output].data, (uintptr_t)w->gpu[output].data, w->bytes[output]),
        "cuMemcpyDtoH");
}

static kiln_status compute_expected(work *w) {
    kiln_tensor tensors[TENSOR_LIMIT];
    for (size_t t = 0; t < w->count; t++) tensors[t] = w->host[t];
    tensors[w->count - 1] = w->expected;
    return kiln_run_cpu(w->program, tensors, w->count, NULL, 0);
}

static double tolerance(kiln_type type) {
    return type == KILN_F16    ? 0x1p-9
           : type == KILN_BF16 ? 0x1p-6
           : type == KILN_F32  ? 1e-5
           : type == KILN_F64  ? 1e-12
                               : 0;
}

static bool is_right(const work *w) {
    const kiln_type type = w->test->type;
    const size_t size = kiln_type_size(type), count = w->bytes[w->count - 1] / size;
    for (size_t i = 0; i < count; i++) {
        const double got = kiln__load_f64(type, (const char *)w->host[w->count - 1].data + i * size);
        const double expected = kiln__load_f64(type, (const char *)w->expected.data + i * size);
        if (!(fabs(got - expected) <= tolerance(type) * fmax(fabs(expected), 1e-3))) return false;
    }
    return true;
}

static kiln_status give_back(work *w) {
    kiln_status status = KILN_OK;
    for (size_t t = 0; t < TENSOR_LIMIT; t++) {
        kiln__CUresult result = w->memory[t] ? w->device->driver->MemFree(w->memory[t]) : KILN__CUDA_SUCCESS;
        if (result && !status) status = driver_status(w, result, "cuMemFree");
        free(w->host[t].data);
    }
    free(w->expected.data);
    return status;
}

software_result software_case_run(const software_device *device, const software_case *test, kiln_status *status) {
    work w = {.device = device, .test = test};
    software_result result = SOFTWARE_REFUSED;
    char reason[1024] = "";
    *status = kiln_program_create(device->kiln, test->program, NULL, &w.program);
    if (!*status) *status = make_tensors(&w);
    if (!*status) *status = upload(&w);
    if (!*status) *status = run_on_device(&w);
    if (!*status) *status = download(&w);
    if (!*status) *status = compute_expected(&w);
    if (!*status) result = is_right(&w) ? SOFTWARE_RIGHT : SOFTWARE_WRONG;
    if (*status) snprintf(reason, sizeof reason, "%s", kiln_last_error());
    kiln_status given_back = give_back(&w);
    kiln_program_destroy(w.program);
    if (*status)
        kiln__fail(*status, "%s", reason); /* what came after it may have cleared it */
    else if (given_back)
        *status = given_back;
    return *status ? SOFTWARE_REFUSED : result;
}
