/* SPDX-License-Identifier: Apache-2.0 */
/* The context: options, the disk cache, the opened libraries, and what they tell of the machine. */
#define _GNU_SOURCE
#include "runtime/background.h"
#include "runtime/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the kernels loaded for a device. */
#define DEFAULT_MAX_KERNELS 4096
#define DEFAULT_MAX_KERNEL_BYTES ((int64_t)256 << 20)

#include "base/file.h"
#include "base/profiler.h"
#include "runtime/tuned.h"

/* For programs without a callback whose user asks by KILN_LOG. */
static void print(void *user, kiln_log_level level, const char *message) {
    (void)user;
    (void)level;
    kiln__file_print(stderr, message);
}

/* Whether a comma-separated list has a word. */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, word, length)) return true;
    return false;
}

/* Where nobody says otherwise, what is wrong is told and what goes as it should is not. */
static kiln__logger logger_of(const kiln_context_options *options) {
    static const char *const words[] = {"error", "warning", "info", "debug"};
    const char *asked = secure_getenv("KILN_LOG");
    kiln__logger logger = {options->log, options->log_user, KILN_LOG_WARNING};
    if (!logger.tell && asked && *asked) logger.tell = print;
    for (int level = KILN_LOG_ERROR; level <= KILN_LOG_DEBUG; level++)
        if (lists(asked, words[level])) logger.level = (kiln_log_level)level;
    if (options->log_detail != KILN_LOG_DETAIL_DEFAULT)
        logger.level = (kiln_log_level)(options->log_detail - KILN_LOG_DETAIL_ERROR);
    return logger;
}

static bool copy_string(const char *from, char **to) {
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

/* What the lock guards, with nothing in it. */
static void start_empty(kiln_context *context) {
    context->recorded = (kiln__text){0};
    context->nvrtc = (kiln__nvrtc_identity){0};
    context->kernels = context->pending = context->tuned = (kiln__hash){0};
    context->shelves = NULL;
    context->pools = NULL;
    context->devices = NULL;
    context->primary = NULL;
    context->refused_count = 0;
    kiln__ring_init(&context->dropped);
    kiln__ring_init(&context->obtaining);
    kiln__ring_init(&context->compiling);
    kiln__ring_init(&context->refused);
    context->readers.waiting = context->readers.draining = NULL;
    atomic_store(&context->dispatch, NULL);
}

/* A limit as the options give it: 0 is the default. */
static int64_t limit_of(int64_t given, int64_t otherwise) { return given ? given : otherwise; }

static kiln_status read_options(const kiln_context_options *given, kiln_context_options *options) {
    *options = (kiln_context_options)KILN_CONTEXT_OPTIONS_INIT;
    if (given) {
        kiln_status sized =
            kiln__check_struct_size("kiln_context_options", given->struct_size, 2 * sizeof(size_t), sizeof *options);
        if (sized) return sized;
        memcpy(options, given, given->struct_size);
    }
    if ((int)options->log_detail < KILN_LOG_DETAIL_DEFAULT || options->log_detail > KILN_LOG_DETAIL_DEBUG)
        return kiln__fail(KILN_E_ARGUMENT, "log_detail is %d, expected a kiln_log_detail", (int)options->log_detail);
    if (kiln__policy_valid(options->policy) && options->policy != KILN_POLICY_CONTEXT) return KILN_OK;
    return kiln__fail(KILN_E_ARGUMENT, "policy is %d, expected a kiln_policy of contexts", (int)options->policy);
}

static kiln_status set_allocators(kiln_context *context, const kiln_context_options *options) {
    const kiln_host_allocator *host = &options->host_allocator;
    const kiln_device_allocator *device = &options->device_allocator;
    if (!host->allocate != !host->release || !device->allocate != !device->release)
        return kiln__fail(KILN_E_ARGUMENT, "kiln_context_options.%s_allocator has one callback, expected both or none",
                          !host->allocate != !host->release ? "host" : "device");
    context->host_allocator = *host;
    context->device_allocator = *device;
    context->own_cache = options->cache;
    return KILN_OK;
}

static kiln_status set_device(kiln_context *context, const kiln_context_options *options) {
    if (options->device < 0)
        return kiln__fail(KILN_E_ARGUMENT, "kiln_context_options.device is %d, expected 0 or more", options->device);
    context->uses_primary = options->primary_context != 0;
    context->primary_ordinal = options->device;
    return KILN_OK;
}

/* Of a context that has nothing yet but its locks: what the options say, and what they name is opened. */
static kiln_status set_options(kiln_context *context, const kiln_context_options *options) {
    const char *schedule = options->schedule ? options->schedule : secure_getenv("KILN_SCHEDULE");
    kiln_status status = kiln__pins_parse(schedule, &context->pins);
    context->policy = options->policy;
    context->max_kernels = limit_of(options->loaded_max_count, DEFAULT_MAX_KERNELS);
    context->max_kernel_bytes = limit_of(options->loaded_max_bytes, DEFAULT_MAX_KERNEL_BYTES);
    context->logger = logger_of(options);
    if (!status) status = set_allocators(context, options);
    if (!status) status = set_device(context, options);
    if (!status && (!copy_string(options->driver_path, &context->driver_path) ||
                    !copy_string(options->nvrtc_path, &context->nvrtc_path)))
        status = kiln__out_of_memory();
    if (!status && !(options->cache_dir && !*options->cache_dir))
        status = kiln__disk_open(options->cache_dir, &context->logger, &context->disk);
    if (!status && context->disk) status = kiln__disk_set_limit(context->disk, options->cache_max_bytes);
    if (!status) status = kiln__compile_limit_set(context, options);
    if (!status) status = kiln__record_open(context, options->record_path);
    return status ? status : kiln__bundles_open(context, options);
}

kiln_status kiln_context_create(const kiln_context_options *given, kiln_context **out) {
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_context pointer");
    *out = NULL;
    kiln_context_options options;
    kiln_status status = read_options(given, &options);
    if (status) return status;
    kiln_context *context = calloc(1, sizeof *context);
    if (!context) return kiln__out_of_memory();
    kiln__profiler_open();
    context->explain = lists(secure_getenv("KILN_LOG"), "cache");
    if (!kiln__process() || !kiln__readers_init(&context->readers)) {
        free(context);
        return kiln__out_of_memory();
    }
    atomic_init(&context->owner, kiln__process());
    start_empty(context);
    pthread_mutex_init(&context->lock, NULL);
    pthread_cond_init(&context->obtained, NULL);
    kiln__ring_init(&context->preparations);
    kiln__background_begin(context);
    status = set_options(context, &options);
    if (status) {
        kiln_context_destroy(context);
        return status;
    }
    *out = context;
    return KILN_OK;
}

/* driver: NULL where the pools are another process's. */
static void free_pools(kiln_context *context, const kiln__driver *driver) {
    while (context->pools) {
        kiln__pool *pool = context->pools;
        context->pools = pool->next;
        if (driver) driver->MemPoolDestroy(pool->handle);
        free(pool);
    }
}

void kiln_context_destroy(kiln_context *context) {
    if (!context) return;
    kiln__context_enter(context);
    kiln__background_stop(context);
    kiln__preparations_end(context);
    const kiln__driver *driver = atomic_load(&context->driver);
    kiln__dispatch_clear(context);
    kiln__kernels_free(context, driver);
    free_pools(context, driver);
    kiln__devices_free(context);
    kiln__primary_release(context, driver);
    kiln__memory_free(context, false);
    kiln__tuned_forget(context);
    kiln__disk_close(context->disk);
    kiln__bundles_close(context);
    pthread_cond_destroy(&context->obtained);
    pthread_mutex_destroy(&context->lock);
    kiln__own_functions_free(context);
    free(context->record_path);
    kiln__text_free(&context->recorded);
    free(context->driver_path);
    free(context->nvrtc_path);
    free(context->worker_path);
    free(context);
}

/* Where another thread of the parent held the lock, what it guards may be half changed: it is left alone, for good. The
 * lock is held here, too, so that a child which is made meanwhile sees the same. */
void kiln__context_adopt(kiln_context *context) {
    if (!kiln__process_adopts(&context->owner)) return;
    const bool whole = pthread_mutex_trylock(&context->lock) == 0;
    if (!whole) {
        pthread_mutex_init(&context->lock, NULL);
        pthread_mutex_lock(&context->lock);
    }
    pthread_cond_init(&context->obtained, NULL);
    kiln__background_forked(context);
    kiln__ring_init(&context->preparations); /* of threads that the child does not have */
    kiln__readers_reset(&context->readers);
    if (whole) {
        kiln__memory_free(context, true);
        kiln__dispatch_clear(context);
        kiln__kernels_disown(context);
        free_pools(context, NULL);
        kiln__primary_release(context, NULL);
        kiln__ring_init(&context->compiling); /* its links are on stacks of the parent's threads */
    } else
        start_empty(context);
    if (context->disk) kiln__disk_forked(context->disk);
    pthread_mutex_unlock(&context->lock);
    atomic_store(&context->owner, kiln__process());
}

kiln_status kiln__context_driver(kiln_context *context, const kiln__driver **out) {
    *out = atomic_load_explicit(&context->driver, memory_order_acquire);
    if (*out) return KILN_OK;
    kiln_status status = kiln__driver_open(context->driver_path, out);
    if (status) return status;
    if (!atomic_exchange(&context->driver, *out))
        kiln__log(&context->logger, KILN_LOG_INFO, "kernels are launched through the driver '%s', CUDA %d.%d",
                  (*out)->path, (*out)->version / 1000, (*out)->version % 1000 / 10);
    return KILN_OK;
}

/* The thread's error, kept until the next call. */
static void keep_error(kiln_context *context, char kept[1024], const char **out) {
    pthread_mutex_lock(&context->lock);
    snprintf(kept, 1024, "%s", kiln_last_error());
    pthread_mutex_unlock(&context->lock);
    if (out) *out = kept;
    kiln__clear_error();
}

kiln_status kiln_context_get_system_info(kiln_context *context, kiln_system_info *info, const char **driver_error,
                                         const char **nvrtc_error) {
    kiln__clear_error();
    if (!context || !info) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "info" : "context");
    kiln_status status = kiln__check_struct_size("kiln_system_info", info->struct_size, sizeof *info, sizeof *info);
    if (status) return status;
    kiln__context_enter(context);
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    const kiln__driver *driver = NULL;
    const kiln__nvrtc *nvrtc = NULL;
    if (kiln__context_driver(context, &driver) == KILN_OK) {
        snprintf(info->driver_path, sizeof info->driver_path, "%s", driver->path);
        info->driver_version = driver->version;
        driver->DeviceGetCount(&info->device_count);
    }
    keep_error(context, context->driver_error, driver_error);
    if (kiln__nvrtc_open(context->nvrtc_path, &nvrtc) == KILN_OK) {
        snprintf(info->nvrtc_path, sizeof info->nvrtc_path, "%s", nvrtc->identity.path);
        info->nvrtc_major = nvrtc->identity.major;
        info->nvrtc_minor = nvrtc->identity.minor;
        memcpy(info->nvrtc_archs, nvrtc->archs,
               (size_t)(nvrtc->arch_count < 63 ? nvrtc->arch_count : 63) * sizeof(int));
    }
    keep_error(context, context->nvrtc_error, nvrtc_error);
    if (context->disk) snprintf(info->cache_dir, sizeof info->cache_dir, "%s", kiln__disk_path(context->disk));
    return KILN_OK;
}

kiln_status kiln_context_get_device_info(kiln_context *context, int ordinal, kiln_device_info *info) {
    kiln__clear_error();
    if (!context || !info) return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", context ? "info" : "context");
    kiln_status status = kiln__check_struct_size("kiln_device_info", info->struct_size, sizeof *info, sizeof *info);
    if (status) return status;
    const kiln__driver *driver;
    status = kiln__context_driver(context, &driver);
    if (status) return status;
    kiln__CUdevice device;
    kiln__CUresult result = driver->DeviceGet(&device, ordinal);
    if (result) return kiln__driver_fail(driver, KILN_E_NO_DEVICE, result, "cuDeviceGet");
    kiln__device numbers;
    status = kiln__driver_device(driver, device, &numbers);
    if (status) return status;
    size_t memory = 0;
    driver->DeviceGetName(info->name, sizeof info->name, device);
    driver->DeviceTotalMem(&memory, device);
    info->arch = numbers.arch;
    info->sm_count = numbers.sm_count;
    info->shared_per_block = numbers.shared_per_block;
    info->shared_per_sm = numbers.shared_per_sm;
    info->l2_bytes = numbers.l2_bytes;
    info->memory_bytes = (int64_t)memory;
    return KILN_OK;
}

kiln_status kiln_cache_visit(kiln_context *context, kiln_cache_visitor visitor, void *user, size_t *unreadable) {
    kiln__clear_error();
    if (!context || !visitor) return kiln__fail(KILN_E_ARGUMENT, "context or visitor is NULL");
    if (unreadable) *unreadable = 0;
    return context->disk ? kiln__disk_visit(context->disk, visitor, user, unreadable) : KILN_OK;
}

kiln_status kiln_cache_clear(kiln_context *context, size_t *removed, int64_t *bytes) {
    kiln__clear_error();
    if (!context) return kiln__fail(KILN_E_ARGUMENT, "context is NULL");
    if (removed) *removed = 0;
    if (bytes) *bytes = 0;
    return context->disk ? kiln__disk_clear(context->disk, removed, bytes) : KILN_OK;
}
