/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: a loaded kernel with everything a launch needs, checked and filled in by integers alone. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/profiler.h"
#include "base/scalar.h"
#include "base/types.h"
#include "runtime/background.h"

/* Whether elements of two tensors that lie alike belong to the same rows and columns, and a thread alone reads what it
 * writes: values for several columns of slots are read by others. */
static bool belong_alike(const kiln__operand *a, const kiln__operand *b, bool slots) {
    if (a->run != b->run || (slots && a->run)) return false;
    return !memcmp(a->outer_strides, b->outer_strides, sizeof a->outer_strides) &&
           !memcmp(a->inner_strides, b->inner_strides, sizeof a->inner_strides);
}

/* What is passed of each: its value, or its address. */
static void set_scalars(const kiln__ir *ir, kiln__launch *launch) {
    launch->scalar_count = (int)ir->scalar_count;
    launch->unusual = launch->empty;
    memcpy(launch->scalar_types, ir->scalar_types, sizeof launch->scalar_types);
    for (int s = 0; s < launch->scalar_count; s++) {
        if (!kiln__scalar_on_device(ir->scalar_given[s])) continue;
        launch->scalar_types[s] = KILN__I64;
        launch->unusual = true;
    }
}

/* The arguments' size is a multiple of 8, so that the stages behind them are aligned. */
static size_t bytes_of(int argument_size, int stages) {
    return sizeof(kiln__launch) + (size_t)argument_size + (size_t)stages * sizeof(kiln__stage);
}

kiln_status kiln__launch_create(const kiln_program *program, const kiln_tensor *tensors, const kiln__prepared *prepared,
                                const kiln__driver *driver, kiln__kernel_entry *kernel, kiln__launch **out) {
    const kiln__problem *p = &prepared->problem;
    const kiln__arguments *arguments = &prepared->arguments;
    const int stages = kiln__prepared_launches(prepared);
    kiln__launch *launch = kiln__host_allocate(program->context, bytes_of(arguments->size, stages));
    if (!launch) return kiln__out_of_memory();
    launch->context = program->context;
    launch->program = program;
    launch->usage = program->usage;
    launch->argument_size = arguments->size;
    launch->driver = driver;
    launch->kernel = kernel;
    launch->process = kiln__process();
    launch->stage_count = stages;
    launch->stages = (kiln__stage *)((unsigned char *)launch + sizeof *launch + (size_t)arguments->size);
    launch->stages[0].function = (kiln__CUfunction)(void *)kernel->loaded.kernel;
    launch->threads = (unsigned)prepared->schedule.team.threads;
    launch->shared_bytes = (unsigned)prepared->schedule.staging.bytes;
    launch->last_shared_bytes = (unsigned)kiln__schedule_last_shared(&prepared->schedule);
    kiln__memory_rules *memory = &launch->memory;
    memory->names = program->names;
    memory->input_count = p->input_count;
    memory->tensor_count = p->input_count + p->output_count;
    launch->empty = p->rows == 0 && !p->across;
    if (!kiln__prepared_grid(prepared, &launch->grid)) {
        kiln__launch_free(launch);
        return kiln__fail(KILN_E_UNSUPPORTED, "%" PRId64 " rows need a larger grid than a device has", p->rows);
    }
    launch->last_threads = kiln__schedule_last_grid(&prepared->schedule, p, &launch->last_grid);
    const bool slots = p->uneven_columns || kiln__slots_plan_of(&prepared->schedule)->bytes;
    memory->elsewhere = prepared->ir->elsewhere;
    for (int t = 0; t < memory->tensor_count; t++) {
        memory->extents[t] = kiln__extent_of(&tensors[t]);
        memory->alignment_mask[t] = (uint32_t)kiln__type_bytes(tensors[t].type, p->operands[t].alignment) - 1;
        for (int o = p->input_count; t < p->input_count && o < memory->tensor_count; o++) {
            if (kiln__ir_reads_after(prepared->ir, (uint32_t)t, (uint32_t)(o - p->input_count)))
                memory->later[o] |= 1u << t;
            if (kiln__same_layout(&tensors[o], &tensors[t]) && !p->operands[o].table.rows &&
                belong_alike(&p->operands[o], &p->operands[t], slots))
                memory->same[o] |= 1u << t;
        }
    }
    for (int i = 0; i < arguments->count; i++) {
        const kiln__field *field = &arguments->fields[i];
        if (field->kind == KILN__FIELD_POINTER) launch->pointer_offset[field->index] = field->offset;
        if (field->kind == KILN__FIELD_WORKSPACE) launch->workspace_offset = field->offset;
        if (field->kind == KILN__FIELD_SCALAR) launch->scalar_offset[field->index] = field->offset;
        if (field->kind == KILN__FIELD_SHAPE && prepared->shape.stage >= 0)
            launch->stage_offset = (uint16_t)(field->offset + offsetof(kiln__shape, stage));
    }
    set_scalars(prepared->ir, launch);
    kiln__arguments_fill(arguments, p, prepared->any_shape ? &prepared->shape : NULL, launch->arguments);
    *out = launch;
    return KILN_OK;
}

void kiln__launch_free(kiln__launch *launch) {
    if (launch) kiln__awaited_release(launch->awaited);
    if (launch) kiln__host_release(launch->context, launch, bytes_of(launch->argument_size, launch->stage_count));
}

static void put_scalar(unsigned char *to, kiln__ctype type, const kiln_scalar *scalar) {
    double f64 = scalar->value.f64;
    int64_t i64 = scalar->value.i64;
    float f32 = (float)f64;
    int32_t i32 = (int32_t)i64;
    switch (type) {
    case KILN__F32: memcpy(to, &f32, sizeof f32); break;
    case KILN__F64: memcpy(to, &f64, sizeof f64); break;
    case KILN__I32:
    case KILN__BOOL: memcpy(to, &i32, sizeof i32); break;
    case KILN__U32: memcpy(to, &i32, sizeof i32); break;
    case KILN__U64:
    case KILN__I64: memcpy(to, &i64, sizeof i64); break;
    }
}

/* One kernel; attribute: a property that the launch has, 0: none. */
static kiln_status launch_one(const kiln__launch *launch, int k, int attribute, void *argument, kiln__CUstream stream) {
    const bool ends = launch->stages[k].ends;
    const kiln__grid grid = ends ? launch->last_grid : launch->grid;
    const unsigned threads = ends ? launch->last_threads : launch->threads;
    const unsigned shared = ends ? launch->last_shared_bytes : launch->shared_bytes;
    const kiln__driver *driver = launch->driver;
    void *parameters[1] = {argument};
    kiln__CUresult result;
    if (attribute) {
        kiln__CUlaunchAttribute on = {.id = attribute, .value.on = 1};
        const kiln__CUlaunchConfig config = {grid.x, grid.y, grid.z, threads, 1, 1, shared, stream, &on, 1};
        result = driver->LaunchKernelEx(&config, launch->stages[k].function, parameters, NULL);
    } else {
        result = driver->LaunchKernel(launch->stages[k].function, grid.x, grid.y, grid.z, threads, 1, 1, shared, stream,
                                      parameters, NULL);
    }
    if (!result) return KILN_OK;
    return kiln__driver_fail(driver, KILN_E_LAUNCH, result, attribute ? "cuLaunchKernelEx" : "cuLaunchKernel");
}

static kiln_status launch_all(const kiln__launch *launch, unsigned char *argument, kiln__CUstream stream) {
    kiln_status status = launch_one(launch, 0, launch->first_attribute, argument, stream);
    for (int32_t k = 1; !status && k < launch->stage_count; k++) {
        if (launch->stage_offset) memcpy(argument + launch->stage_offset, &k, sizeof k);
        status = launch_one(launch, k, launch->later_attribute, argument, stream);
    }
    return status;
}

static kiln_status launch_cooperative(const kiln__launch *launch, unsigned char *argument, kiln__CUstream stream) {
    kiln__CUdeviceptr counter;
    memcpy(&counter, argument + launch->workspace_offset, sizeof counter);
    kiln__CUresult result = launch->driver->MemsetD32Async(counter, 0, 1, stream);
    if (result) return kiln__driver_fail(launch->driver, KILN_E_LAUNCH, result, "cuMemsetD32Async");
    return launch_one(launch, 0, KILN__LAUNCH_ATTRIBUTE_COOPERATIVE, argument, stream);
}

static kiln_status launch_any(const kiln__launch *launch, unsigned char *argument, kiln__CUstream stream) {
    return launch->cooperative ? launch_cooperative(launch, argument, stream) : launch_all(launch, argument, stream);
}

/* The workspace is taken and given back in the stream's own order, so that launches on other streams have their own. */
static kiln_status launch_with_pool(const kiln__launch *launch, unsigned char *argument, kiln__CUstream stream) {
    const kiln__driver *driver = launch->driver;
    kiln__CUdeviceptr workspace;
    kiln__CUresult result =
        driver->MemAllocFromPoolAsync(&workspace, (size_t)launch->workspace_bytes, launch->pool, stream);
    if (result)
        return kiln__driver_fail(driver, KILN_E_LAUNCH, result,
                                 "a workspace from the stream's pool: cuMemAllocFromPoolAsync");
    memcpy(argument + launch->workspace_offset, &workspace, sizeof workspace);
    kiln_status status = launch_any(launch, argument, stream);
    result = driver->MemFreeAsync(workspace, stream);
    return status || !result ? status : kiln__driver_fail(driver, KILN_E_LAUNCH, result, "cuMemFreeAsync");
}

static kiln_status launch_with_allocator(const kiln__launch *launch, unsigned char *argument, kiln__CUstream stream) {
    const kiln_device_allocator *device = &launch->context->device_allocator;
    const size_t bytes = (size_t)launch->workspace_bytes;
    void *workspace = device->allocate(device->user, bytes, stream);
    if (!workspace)
        return kiln__fail(KILN_E_DEVICE_MEMORY, "the device allocator has no %zu bytes for a workspace", bytes);
    kiln_status status = KILN_OK;
    if ((uintptr_t)workspace % 16)
        status = kiln__fail(KILN_E_POINTER, "the device allocator gave %p, expected a multiple of 16 bytes", workspace);
    memcpy(argument + launch->workspace_offset, &workspace, sizeof workspace);
    if (!status) status = launch_any(launch, argument, stream);
    device->release(device->user, workspace, bytes, stream);
    return status;
}

bool kiln__is_captured(const kiln__driver *driver, void *stream) {
    int how = KILN__STREAM_CAPTURE_STATUS_NONE;
    /* The default stream cannot be captured, and asking of it fails while another one is. */
    return stream && (driver->StreamIsCapturing((kiln__CUstream)stream, &how) != KILN__CUDA_SUCCESS ||
                      how != KILN__STREAM_CAPTURE_STATUS_NONE);
}

/* A graph launches the kernel whenever it likes: told before the launch, so that the kernel is not unloaded after it.
 */
static void note_capture(const kiln__launch *launch, void *stream) {
    atomic_bool *captured = &launch->kernel->captured;
    if (stream && !atomic_load_explicit(captured, memory_order_relaxed) && kiln__is_captured(launch->driver, stream))
        atomic_store(captured, true);
}

/* Of scalars in memory, which a kernel reads while it stores its outputs. */
static kiln_status check_scalars(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars) {
    const kiln__memory_rules *memory = &launch->memory;
    for (int s = 0; s < launch->scalar_count; s++) {
        if (!kiln__scalar_on_device(scalars[s].type)) continue;
        const char *name = kiln_program_scalar_name(launch->program, (size_t)s);
        kiln_status status = kiln__scalar_check_address(name, &scalars[s]);
        if (status) return status;
        const int64_t size = (int64_t)kiln_type_size(kiln__scalar_stored(scalars[s].type));
        const kiln__extent extent = {0, size, 0, size};
        const void *at = (const void *)(uintptr_t)scalars[s].value.i64;
        for (int o = memory->input_count; o < memory->tensor_count; o++)
            if (kiln__extents_overlap(data[o], &memory->extents[o], at, &extent))
                return kiln__fail(KILN_E_OVERLAP, "output '%s' overlaps scalar '%s', which is read in device memory",
                                  memory->names[o], name);
    }
    return KILN_OK;
}

static inline kiln_status run_checked(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars,
                                      void *workspace, void *stream) {
    kiln_status status = kiln__check_memory(&launch->memory, data);
    if (status) return status;
    note_capture(launch, stream);
    _Alignas(16) unsigned char argument[KILN__MAX_ARGUMENT_BYTES];
    memcpy(argument, launch->arguments, (size_t)launch->argument_size);
    for (int t = 0; t < launch->memory.tensor_count; t++)
        memcpy(argument + launch->pointer_offset[t], &data[t], sizeof(void *));
    for (int s = 0; s < launch->scalar_count; s++)
        put_scalar(argument + launch->scalar_offset[s], launch->scalar_types[s], &scalars[s]);
    if (workspace) memcpy(argument + launch->workspace_offset, &workspace, sizeof workspace);
    if (workspace || !launch->workspace_bytes) return launch_any(launch, argument, (kiln__CUstream)stream);
    if (launch->pool) return launch_with_pool(launch, argument, (kiln__CUstream)stream);
    return launch_with_allocator(launch, argument, (kiln__CUstream)stream);
}

/* Not inlined: a launch that is neither pays one question for both. */
__attribute__((noinline)) static kiln_status run_unusual(const kiln__launch *launch, void *const *data,
                                                         const kiln_scalar *scalars, void *workspace, void *stream) {
    if (launch->empty) return KILN_OK;
    const kiln_status status = check_scalars(launch, data, scalars);
    return status ? status : run_checked(launch, data, scalars, workspace, stream);
}

/* In the CUDA context that is current. */
static kiln_status run(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars, void *workspace,
                       void *stream) {
    return launch->unusual ? run_unusual(launch, data, scalars, workspace, stream)
                           : run_checked(launch, data, scalars, workspace, stream);
}

/* Not a part of kiln__launch_run, where what it keeps on the stack would cost each launch some checks. */
__attribute__((noinline)) static kiln_status run_in_primary(const kiln__launch *launch, void *const *data,
                                                            const kiln_scalar *scalars, void *workspace, void *stream) {
    kiln__current current;
    kiln_status status = kiln__current_enter(launch->context, &current);
    if (status) return status;
    status = run(launch, data, scalars, workspace, stream);
    kiln__current_leave(&current);
    return status;
}

static inline void count_launch(kiln__usage *usage) {
    kiln__launch_place *place = &usage->places[kiln__reader_number() % KILN__LAUNCH_PLACES];
    atomic_fetch_add_explicit(&place->launches, 1, memory_order_relaxed);
}

static inline kiln_status run_counted(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars,
                                      void *workspace, void *stream) {
    const kiln_status status = launch->context->uses_primary ? run_in_primary(launch, data, scalars, workspace, stream)
                                                             : run(launch, data, scalars, workspace, stream);
    if (!status) count_launch(launch->usage);
    return status;
}

/* Not a part of kiln__launch_run, as run_in_primary. */
__attribute__((noinline)) static kiln_status run_in_range(const kiln__launch *launch, void *const *data,
                                                          const kiln_scalar *scalars, void *workspace, void *stream) {
    const kiln__memory_rules *memory = &launch->memory;
    char outputs[128] = "";
    size_t size = 0;
    for (int t = memory->input_count; t < memory->tensor_count && size < sizeof outputs; t++)
        size += (size_t)snprintf(outputs + size, sizeof outputs - size, "%s%s", size ? ", " : "", memory->names[t]);
    const bool begun = kiln__range_push("launch", outputs);
    const kiln_status status = run_counted(launch, data, scalars, workspace, stream);
    kiln__range_end(begun);
    return status;
}

kiln_status kiln__launch_run(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars, void *workspace,
                             void *stream) {
    if (launch->process != kiln__process())
        return kiln__fail(KILN_E_NO_CONTEXT, "the plan was made before a fork; a child process makes its own");
    if (kiln__is_profiled()) return run_in_range(launch, data, scalars, workspace, stream);
    return run_counted(launch, data, scalars, workspace, stream);
}

kiln_status kiln__launch_run_with(const kiln__launch *launch, void *const *data, const kiln_scalar *scalars,
                                  kiln__workspace workspace, void *stream) {
    if (workspace.memory && workspace.bytes < launch->workspace_bytes)
        return kiln__fail(KILN_E_SIZE, "the workspace has %lld bytes, expected %lld", (long long)workspace.bytes,
                          (long long)launch->workspace_bytes);
    if ((uintptr_t)workspace.memory % 16)
        return kiln__fail(KILN_E_POINTER, "the workspace is at %p, expected a multiple of 16 bytes", workspace.memory);
    return kiln__launch_run(launch, data, scalars, launch->workspace_bytes ? workspace.memory : NULL, stream);
}

/* The device's pool, which keeps what it once took from the driver. */
static kiln_status open_pool(kiln_context *context, const kiln__driver *driver, kiln__CUdevice device,
                             kiln__CUmemoryPool *out) {
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&context->lock);
    kiln__pool *pool = context->pools;
    while (pool && pool->device != device) pool = pool->next;
    if (!pool && !(pool = calloc(1, sizeof *pool))) status = kiln__out_of_memory();
    if (!status && !pool->handle) {
        kiln__CUmemPoolProps props = {.allocation_type = KILN__MEM_ALLOCATION_TYPE_PINNED,
                                      .location_type = KILN__MEM_LOCATION_TYPE_DEVICE,
                                      .location_id = device};
        uint64_t keep = UINT64_MAX;
        kiln__CUresult result = driver->MemPoolCreate(&pool->handle, &props);
        if (!result) result = driver->MemPoolSetAttribute(pool->handle, KILN__MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
        if (result) {
            status = kiln__driver_fail(driver, KILN_E_DEVICE_MEMORY, result, "a pool for workspaces: cuMemPoolCreate");
            if (pool->handle) driver->MemPoolDestroy(pool->handle);
            free(pool);
            pool = NULL;
        } else {
            pool->device = device;
            pool->next = context->pools;
            context->pools = pool;
        }
    }
    if (!status) *out = pool->handle;
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* Where a plan runs. */
typedef struct target {
    const kiln__driver *driver;
    kiln__CUdevice device;
    kiln__device numbers;
} target;

/* A persistent kernel is launched with as many groups as run at once. KILN_E_UNSUPPORTED where the device has no room
 * for one: part of it may be another process's. */
static kiln_status limit_grid(const kiln__schedule *s, const target *on, kiln__launch *launch) {
    int blocks = 0, groups = 0;
    const char *call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    kiln__CUlaunchConfig config = {.grid_x = launch->grid.x,
                                   .grid_y = 1,
                                   .grid_z = 1,
                                   .block_x = launch->threads,
                                   .block_y = 1,
                                   .block_z = 1,
                                   .shared_bytes = launch->shared_bytes};
    kiln__CUresult result;
    if (!launch->grid.x || (!kiln__row_of(s)->persistent && !kiln__schedule_clusters(s))) return KILN_OK;
    if (kiln__schedule_clusters(s)) {
        call = "cuOccupancyMaxActiveClusters";
        result = on->driver->OccupancyMaxActiveClusters(&groups, launch->stages[0].function, &config);
    } else {
        result = on->driver->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launch->stages[0].function,
                                                                       (int)launch->threads, launch->shared_bytes);
    }
    if (result) return kiln__driver_fail(on->driver, KILN_E_LOAD, result, call);
    if (s->team.group == KILN__GROUP_GRID) groups = blocks > 0;
    if (s->team.group == KILN__GROUP_BLOCK) groups = blocks * on->numbers.sm_count;
    unsigned most = (unsigned)(groups * s->team.blocks_per_row);
    if (!most)
        return kiln__fail(KILN_E_UNSUPPORTED,
                          "the device cannot run schedule '%s': it has no room for %d blocks at once", s->text,
                          s->team.blocks_per_row);
    if (!kiln__row_of(s)->persistent) return KILN_OK;
    if (launch->grid.x > most || launch->grid.y > 1) launch->grid.x = most;
    launch->grid.y = 1;
    return KILN_OK;
}

/* The further kernels of split rows, and how large a workspace is. */
static kiln_status add_splits(kiln_context *context, const kiln__prepared *prepared, const target *on,
                              const kiln__loaded *loaded, kiln__launch *launch) {
    const bool captured = on->driver->version >= 12030; /* older ones cannot capture it */
    const int early = captured ? KILN__LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION : 0;
    launch->first_attribute = prepared->programmatic ? early : 0;
    if (!kiln__schedule_has_workspace(&prepared->schedule)) return KILN_OK;
    launch->cooperative = prepared->schedule.team.group == KILN__GROUP_GRID;
    launch->later_attribute = prepared->schedule.split.dependent ? early : 0;
    launch->workspace_bytes = kiln__prepared_workspace(prepared);
    for (int k = 1; k < launch->stage_count; k++) {
        if (launch->stage_offset) {
            launch->stages[k] = launch->stages[0];
            continue;
        }
        char name[32];
        kiln__CUkernel kernel;
        snprintf(name, sizeof name, KILN__KERNEL_NAME "%d", k);
        kiln__CUresult result = on->driver->LibraryGetKernel(&kernel, loaded->library, name);
        if (result) return kiln__driver_fail(on->driver, KILN_E_LOAD, result, "cuLibraryGetKernel");
        launch->stages[k].function = (kiln__CUfunction)(void *)kernel;
        launch->stages[k].ends = kiln__schedule_ends(&prepared->schedule, prepared->ir, k);
    }
    if (!launch->workspace_bytes || context->device_allocator.allocate) return KILN_OK;
    return open_pool(context, on->driver, on->device, &launch->pool);
}

/* Loads the image. What the driver refuses of a pack or of the application's cache is looked for on disk; what it
 * refuses of that is moved aside and compiled once more. */
static kiln_status load(const kiln_program *program, const target *on, const kiln__prepared *prepared,
                        kiln__image *image, kiln__loaded *loaded) {
    kiln_context *context = program->context;
    const kiln__schedule *s = &prepared->schedule;
    const kiln__needs needs = {
        .dynamic_shared = s->staging.bytes,
        .cluster = s->team.blocks_per_row,
        .further = kiln__schedule_launches(s, prepared->ir) - 1,
        .last_dynamic_shared = kiln__schedule_last_shared(s),
    };
    for (kiln__place next = KILN__ON_DISK;;) {
        const bool given = image->origin == KILN_ORIGIN_PACK || image->origin == KILN_ORIGIN_CALLBACKS;
        bool refused = false, ptx = image->facts.is_ptx;
        int arch = image->facts.arch; /* of PTX it may be an older one than the device's */
        kiln_status status =
            kiln__loaded_create(on->driver, on->device, image->bytes, KILN__KERNEL_NAME, &needs, loaded, &refused);
        if (!status || !refused || (!given && image->origin != KILN_ORIGIN_DISK)) return status;
        kiln__log(&context->logger, KILN_LOG_WARNING, "the driver refused %s kernel %s: %s; it is %s again",
                  image->origin == KILN_ORIGIN_PACK ? "packed" : "cached", given ? image->name.hex : image->key.hex,
                  kiln_last_error(), given ? "looked for" : "compiled");
        if (!given) kiln__disk_reject(context->disk, &image->key, image->bytes, image->size);
        const kiln_policy policy = image->policy;
        kiln__image_free(image);
        status = kiln__image_obtain(context, policy, prepared, arch, ptx, next, image);
        if (!given) next = KILN__NOWHERE; /* another process's second attempt is taken, a third is our own */
        if (status) return status;
        kiln__clear_error(); /* the sentence of the refusal, which is overcome */
    }
}

/* The kernel for the image, loaded once per context and device; with a reference, which the caller releases. Afterwards
 * *image has what describes the kernel and may lack its name and bytes. */
static kiln_status share_loaded(const kiln_program *program, const target *on, const kiln__prepared *prepared,
                                kiln__image *image, kiln__kernel_entry **out) {
    kiln_context *context = program->context;
    *out = image->loaded ? image->loaded : kiln__kernels_take(context, &image->name, on->device);
    image->loaded = NULL;
    if (*out) return KILN_OK;
    kiln__kernel_entry *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return kiln__out_of_memory();
    const double start = kiln__now_ms();
    const bool ranged = kiln__range_begin("load", prepared->ir->text);
    kiln_status status = load(program, on, prepared, image, &kernel->loaded);
    kiln__range_end(ranged);
    kernel->device = on->device;
    kernel->image = *image;
    kernel->image.key = (kiln__key){0}; /* which has the whole source in it; nor is the log of use to others */
    kernel->image.log = NULL;
    if (!status) kiln__count(prepared->counters, KILN__LOADS, 1);
    if (!status) kiln__event_loaded(context, prepared, kernel, kiln__now_ms() - start);
    if (!status && !kiln__kernels_keep(context, kernel)) status = kiln__out_of_memory();
    if (status) {
        kiln__loaded_destroy(on->driver, &kernel->loaded);
        free(kernel);
        return status;
    }
    image->name = (kiln__key){0}; /* the kernel's now, as the bytes are */
    image->bytes = NULL;
    image->pending = NULL;
    *out = kernel;
    return KILN_OK;
}

static kiln_status check_rows(const kiln_program *program, const kiln_tensor *tensors) {
    for (uint32_t t = 0; t < program->signature.input_count + program->signature.output_count; t++)
        if (tensors[t].rank > 0 && tensors[t].sizes[0] == -1)
            return kiln__fail(KILN_E_SIZE, "tensor '%s' leaves axis 0 open: a launch needs its size",
                              program->names[t]);
    return KILN_OK;
}

/* Whether it is there in place of what the call asks for. */
static bool stands_in(const kiln__call *call, const kiln__prepared *prepared) {
    if (prepared->any_shape) return call->policy != KILN_POLICY_ANY_SHAPE;
    return prepared->most_cols && call->policy != KILN_POLICY_RANGE;
}

/* One schedule: compiled, loaded, ready to be launched. *no_room: the device has no room for its blocks, but may have
 * for another's. */
static kiln_status try_schedule(const kiln__call *call, const target *on, kiln__launch **launch,
                                kiln__prepared *prepared, kiln__image *image, kiln_plan_info *info, bool *no_room) {
    const kiln_program *program = call->program;
    kiln__kernel_entry *kernel = NULL;
    const unsigned prepared_before = atomic_load(&program->context->prepared);
    kiln__call here = *call;
    here.loaded_on = (int)on->device + 1;
    kiln_status status = kiln__compile_for(&here, &on->numbers, prepared, image);
    *no_room = false;
    if (status) return status;
    double start = kiln__now_ms();
    status = share_loaded(program, on, prepared, image, &kernel);
    double load_ms = kiln__now_ms() - start;
    if (!status) status = kiln__launch_create(program, call->tensors, prepared, on->driver, kernel, launch);
    if (!status) {
        status = limit_grid(&prepared->schedule, on, *launch);
        *no_room = status == KILN_E_UNSUPPORTED;
        if (!status) status = add_splits(program->context, prepared, on, &kernel->loaded, *launch);
        (*launch)->stands_in = stands_in(call, prepared);
        (*launch)->asked = call->policy;
        (*launch)->prepared = prepared_before;
        if (!status && (*launch)->stands_in && call->policy == KILN_POLICY_BACKGROUND)
            (*launch)->awaited = kiln__background_start(call, &on->numbers);
        if (status) kiln__launch_free(*launch);
    }
    if (status) {
        kiln__kernels_release(kernel);
        kiln__prepared_free(prepared);
        kiln__image_free(image);
        return status;
    }
    if (!info) return KILN_OK;
    kiln__info_fill(prepared, image, on->numbers.arch, program->parse_ms, info);
    info->registers = kernel->loaded.registers;
    info->spill_bytes = kernel->loaded.local_bytes;
    info->shared_bytes = kernel->loaded.static_shared_bytes + prepared->schedule.staging.bytes;
    info->load_ms = load_ms;
    return KILN_OK;
}

static kiln_status prepare(const kiln__call *call, kiln__launch **launch, kiln__prepared *prepared, kiln__image *image,
                           kiln_plan_info *info) {
    target on;
    kiln_status status = kiln__context_driver(call->program->context, &on.driver);
    if (status) return status;
    kiln__CUresult result = on.driver->CtxGetDevice(&on.device);
    if (result) return kiln__driver_fail(on.driver, KILN_E_NO_CONTEXT, result, "cuCtxGetDevice");
    status = kiln__context_device(call->program->context, on.driver, on.device, &on.numbers);
    if (!status && on.numbers.arch < 80)
        status = kiln__fail(KILN_E_UNSUPPORTED, "the device has compute capability %d.%d, expected 8.0 or newer",
                            on.numbers.arch / 10, on.numbers.arch % 10);
    char first[256] = ""; /* why the first schedule could not run */
    bool no_room = !status;
    for (kiln__call next = *call; no_room; next.attempt = prepared->attempt + 1) {
        status = try_schedule(&next, &on, launch, prepared, image, info, &no_room);
        if (no_room && !*first) snprintf(first, sizeof first, "%s", kiln_last_error());
    }
    if (status == KILN_E_UNSUPPORTED && *first) return kiln__fail(status, "%s", first);
    return status;
}

kiln_status kiln__launch_prepare(const kiln__call *call, kiln__launch **launch, kiln__prepared *prepared,
                                 kiln__image *image, kiln_plan_info *info) {
    kiln__current current;
    kiln_status status = check_rows(call->program, call->tensors);
    if (!status) status = kiln__current_enter(call->program->context, &current);
    if (status) return status;
    const double start = kiln__now_ms();
    const bool ranged = kiln__range_begin("prepare", call->program->graph->text);
    status = prepare(call, launch, prepared, image, info);
    kiln__range_end(ranged);
    kiln__count_ms(&call->program->usage->counters, KILN__PREPARE_NS, start);
    kiln__current_leave(&current);
    return status;
}
