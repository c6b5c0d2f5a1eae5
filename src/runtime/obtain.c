/* SPDX-License-Identifier: Apache-2.0 */
/* From source to a kernel's bytes: what is loaded, packs, the application's cache, the disk cache, NVRTC where all
 * miss. Which NVRTC made an entry is part of its key; a record beside the entries tells it without opening the library.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/profiler.h"
#include "cache/lock.h"
#include "runtime/context.h"
#include "kiln_sources.h"

static const char record_name[] = "nvrtc";

static bool same_nvrtc(const kiln__nvrtc_identity *a, const kiln__nvrtc_identity *b) {
    return a->major == b->major && a->minor == b->minor && !strcmp(a->build, b->build);
}

/* From now on this one is taken to compile with. True if it is another than before. */
static bool learn_nvrtc(kiln_context *context, const kiln__nvrtc_identity *nvrtc) {
    pthread_mutex_lock(&context->lock);
    bool news = !kiln__nvrtc_same_file(&context->nvrtc, nvrtc) || !same_nvrtc(&context->nvrtc, nvrtc);
    context->nvrtc = *nvrtc;
    pthread_mutex_unlock(&context->lock);
    return news;
}

static kiln_status open_nvrtc(kiln_context *context, const kiln__nvrtc **out) {
    kiln_status status = kiln__nvrtc_open(context->nvrtc_path, out);
    if (status) return status;
    const kiln__nvrtc_identity *opened = &(*out)->identity;
    const bool news = learn_nvrtc(context, opened);
    if (!atomic_exchange(&context->nvrtc_told, true) || news)
        kiln__log(&context->logger, KILN_LOG_INFO, "kernels are compiled by NVRTC %d.%d, '%s'", opened->major,
                  opened->minor, opened->path);
    if (news && context->disk) kiln__disk_record_put(context->disk, record_name, opened, sizeof *opened);
    return KILN_OK;
}

/* The identity of the NVRTC that a compile would use; without any NVRTC that of the last one known here. */
static kiln_status identify_nvrtc(kiln_context *context, kiln_policy policy, kiln__nvrtc_identity *out) {
    pthread_mutex_lock(&context->lock);
    *out = context->nvrtc;
    pthread_mutex_unlock(&context->lock);
    if (*out->path) return KILN_OK;
    kiln__nvrtc_identity located;
    size_t size = sizeof *out;
    bool found = kiln__nvrtc_locate(context->nvrtc_path, &located), known = false;
    if (context->disk && kiln__disk_record_get(context->disk, record_name, out, &size) && size == sizeof *out) {
        out->path[sizeof out->path - 1] = out->build[sizeof out->build - 1] = '\0';
        known = kiln__nvrtc_same_file(&located, out);
        if (known) learn_nvrtc(context, out);
        if (known || !found) return KILN_OK;
        known = true; /* of a file that has been replaced since */
    }
    const bool never = policy == KILN_POLICY_NEVER_COMPILE;
    const kiln__nvrtc *nvrtc = NULL;
    kiln_status status = !never || (found && context->disk) ? open_nvrtc(context, &nvrtc) : KILN_OK;
    if (!known) memset(out, 0, sizeof *out);
    if (nvrtc && !status) *out = nvrtc->identity;
    if (never) kiln__clear_error();
    return never ? KILN_OK : status;
}

/* Its key with the digest of kernel_sources/, which the brief source names, where the disk cache's has NVRTC. */
kiln_status kiln__prepared_name(const kiln__prepared *prepared, int arch, bool ptx, kiln__key *out) {
    const char *code = kiln__source_code(prepared->unexpanded);
    const kiln__key_parts parts = {code, kiln__nvrtc_options(), arch, ptx, 0, 0, kiln__sources_digest};
    return kiln__key_make(&parts, out);
}

char *kiln__prepared_describe(const kiln__prepared *prepared) {
    kiln__text text = {0};
    const kiln__problem *p = &prepared->problem;
    for (const char *c = prepared->ir->text; *c; c++)
        kiln__text_add(&text, *c == '\n' || *c == '\r' || *c == '\t' ? " " : c, 1);
    for (int o = 0; o < p->input_count + p->output_count; o++)
        kiln__text_printf(&text, "%s%s %s", o ? ", " : " | ",
                          o < p->input_count ? prepared->ir->input_names[o]
                                             : prepared->ir->output_names[o - p->input_count],
                          kiln_type_name(p->operands[o].type));
    if (prepared->any_shape)
        kiln__text_puts(&text, " | any shape");
    else if (prepared->most_cols)
        kiln__text_printf(&text, " | %lld to %lld columns", (long long)prepared->least_cols,
                          (long long)prepared->most_cols);
    else if (p->layout == KILN__LAYOUT_FLAT)
        kiln__text_puts(&text, " | any number of elements");
    else
        kiln__text_printf(&text, " | %lld columns", (long long)p->cols);
    return kiln__text_take(&text);
}

kiln_status kiln__image_copy(kiln__image *out, const void *bytes, size_t size, const char *log,
                             const kiln__facts *facts, kiln_origin origin) {
    out->bytes = malloc(size ? size : 1);
    out->log = strdup(log);
    if (!out->bytes || !out->log) return kiln__out_of_memory();
    memcpy(out->bytes, bytes, size);
    out->size = size;
    out->facts = *facts;
    out->origin = origin;
    return KILN_OK;
}

bool kiln__image_lacks_registers(const kiln__image *image, const kiln__prepared *prepared, const kiln__device *device) {
    enum { unit = 8, few = 4 * unit }; /* registers that are handed out together; their bytes */
    const int allowed = kiln__schedule_allowed_registers(device, &prepared->schedule);
    const bool all = image->facts.registers < 0 || image->facts.registers > allowed - unit;
    return image->facts.spill_bytes > (all ? 0 : few);
}

static kiln_status take_entry(const kiln__entry *entry, kiln_origin origin, kiln__image *out) {
    return kiln__image_copy(out, entry->image, entry->image_size, entry->log, &entry->facts, origin);
}

kiln__entry kiln__image_entry(const kiln__image *image, const kiln__prepared *prepared, const char *description) {
    return (kiln__entry){.facts = image->facts,
                         .image = image->bytes,
                         .image_size = image->size,
                         .name = KILN__KERNEL_NAME,
                         .description = description,
                         .schedule = prepared->schedule.text,
                         .log = image->log};
}

static kiln_status compile(kiln_context *context, const kiln__prepared *prepared, const kiln__nvrtc *nvrtc,
                           kiln__image *out) {
    const char *code = kiln__source_code(prepared->source); /* nothing but what the key has */
    const kiln__compile_request request = {code, "kiln_kernel.cu", out->facts.arch, out->facts.is_ptx};
    kiln__compile_result result;
    kiln__event_compiling(context, prepared, out);
    const bool ranged = kiln__range_begin("compile", prepared->ir->text);
    const double start = kiln__now_ms();
    kiln_status status = kiln__context_compile(context, out, nvrtc, &request, &result);
    const double ms = kiln__count_ms(out->counters, KILN__COMPILE_NS, start);
    kiln__range_end(ranged);
    if (status) kiln__count(out->counters, KILN__FAILED_COMPILES, 1);
    if (status == KILN_E_TIMEOUT) kiln__slow_remember(context, &out->key);
    if (status == KILN_E_COMPILE && result.log) kiln__log_lines(&context->logger, KILN_LOG_ERROR, result.log);
    out->bytes = result.image;
    out->size = result.size;
    out->log = result.log;
    out->facts = result.facts;
    out->refused = result.refused;
    out->origin = KILN_ORIGIN_COMPILED;
    kiln__event_compiled(context, prepared, out, status, ms);
    if (status || !context->disk) return status;
    char *description = kiln__prepared_describe(prepared);
    const kiln__entry entry = kiln__image_entry(out, prepared, description ? description : "");
    kiln__disk_put(context->disk, &out->key, &entry);
    free(description);
    return KILN_OK;
}

/* The key with the NVRTC that compiles, and the entry of the disk cache, where it may be taken from there. */
static kiln_status look_up(kiln__disk *disk, const kiln__prepared *prepared, const kiln__nvrtc_identity *nvrtc,
                           kiln__image *out, kiln__entry *found, bool *hit) {
    const char *code = kiln__source_code(prepared->source);
    const kiln__key_parts parts = {code,         kiln__nvrtc_options(), out->facts.arch, out->facts.is_ptx,
                                   nvrtc->major, nvrtc->minor,          nvrtc->build};
    kiln__key_free(&out->key);
    kiln_status status = kiln__key_make(&parts, &out->key);
    *hit = !status && disk && kiln__disk_get(disk, &out->key, found);
    return status;
}

/* Tells the log why an entry was missed, where KILN_LOG asks for it. */
static void explain(kiln_context *context, const kiln__prepared *prepared, const kiln__key *key) {
    if (!context->explain || !context->disk) return;
    char *description = kiln__prepared_describe(prepared);
    char *reason = description ? kiln__disk_explain(context->disk, key, description) : NULL;
    if (reason && context->logger.tell) /* whole, however long, and whatever the level */
        context->logger.tell(context->logger.user, KILN_LOG_INFO, reason);
    free(description);
    free(reason);
    kiln__clear_error();
}

static kiln_status may_compile(const kiln__prepared *prepared, const kiln__image *image) {
    if (image->policy != KILN_POLICY_NEVER_COMPILE) return KILN_OK;
    return kiln__fail(KILN_E_WOULD_COMPILE,
                      "the kernel for '%s' (%s, sm_%d) is in no cache, and the policy forbids compiling",
                      prepared->ir->text, prepared->schedule.text, image->facts.arch);
}

/* Waits where another process is at it: then it is found. */
static bool claim_key(kiln__disk *disk, kiln__image *image, kiln__claim *claim, kiln__entry *found) {
    const double start = kiln__now_ms();
    const bool hit = kiln__disk_claim(disk, &image->key, claim, found, &image->group->cancels, image->cancels);
    if (claim->waited) image->wait_ms += kiln__count_ms(image->counters, KILN__WAIT_NS, start);
    return hit;
}

/* From what needs no NVRTC to be found: a pack, or the application's cache. */
static bool find_by_name(kiln_context *context, kiln__image *out, kiln_status *status) {
    kiln__entry found;
    if (kiln__bundles_find(context, &out->name, &found)) {
        *status = take_entry(&found, KILN_ORIGIN_PACK, out);
        return true;
    }
    if (!kiln__own_cache_find(context, &out->name, &found)) return false;
    *status = take_entry(&found, KILN_ORIGIN_CALLBACKS, out);
    kiln__entry_free(&found);
    return true;
}

/* Looks on disk. Where it is not there: opens what compiles it, by this process where no other is at it. */
static kiln_status find_on_disk(kiln_context *context, kiln__disk *disk, const kiln__prepared *prepared,
                                kiln__image *out, const kiln__nvrtc **nvrtc, kiln__claim *claim, kiln__entry *found,
                                bool *hit) {
    kiln__nvrtc_identity identity;
    kiln_status status = identify_nvrtc(context, out->policy, &identity);
    if (!status) status = look_up(disk, prepared, &identity, out, found, hit);
    if (status || *hit) return status;
    explain(context, prepared, &out->key);
    status = may_compile(prepared, out);
    if (!status) status = open_nvrtc(context, nvrtc);
    if (!status && !same_nvrtc(&(*nvrtc)->identity, &identity)) /* the recorded one was replaced meanwhile */
        status = look_up(disk, prepared, &(*nvrtc)->identity, out, found, hit);
    if (status || *hit) return status;
    if (disk) *hit = claim_key(disk, out, claim, found);
    if (!*hit) status = kiln__slow_check(context, &out->key, prepared->ir->text);
    out->refused |= status != KILN_OK;
    return status;
}

/* From a pack, the application's cache, from disk, or by compiling. */
static kiln_status obtain(kiln_context *context, const kiln__prepared *prepared, kiln__place first, double start,
                          kiln__image *out) {
    kiln__disk *disk = first == KILN__NOWHERE ? NULL : context->disk;
    kiln__entry found;
    kiln__claim claim = KILN__NO_CLAIM;
    const kiln__nvrtc *nvrtc = NULL;
    bool hit = false;
    kiln_status status = KILN_OK;
    if (first == KILN__IN_MEMORY && find_by_name(context, out, &status)) return status;
    status = find_on_disk(context, disk, prepared, out, &nvrtc, &claim, &found, &hit);
    out->lookup_ms = kiln__now_ms() - start;
    if (hit) {
        status = take_entry(&found, KILN_ORIGIN_DISK, out);
        kiln__entry_free(&found);
    } else if (!status)
        status = compile(context, prepared, nvrtc, out);
    kiln__disk_release(&claim);
    return status;
}

/* What others find on the stack of the thread that obtains, they find until it is done: it is not to be cancelled. */
kiln_status kiln__image_obtain(kiln_context *context, kiln_policy policy, const kiln__prepared *prepared, int arch,
                               bool ptx, kiln__place first, kiln__image *out) {
    int cancelled;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
    memset(out, 0, sizeof *out);
    out->facts.arch = arch;
    out->facts.is_ptx = ptx;
    out->policy = policy;
    out->counters = prepared->counters;
    out->loaded_on = first == KILN__IN_MEMORY ? prepared->loaded_on : 0;
    out->group = prepared->group ? prepared->group : &context->compiles;
    out->cancels = prepared->group ? 0 : atomic_load(&context->compiles.cancels); /* a preparation's stay cancelled */
    double start = kiln__now_ms();
    kiln_status status = kiln__prepared_name(prepared, arch, ptx, &out->name);
    if (status || first != KILN__IN_MEMORY || !kiln__memory_enter(context, out, &status)) {
        if (!status) status = obtain(context, prepared, first, start, out);
        if (!status) kiln__own_cache_keep(context, prepared, out);
        kiln__memory_obtained(out, status);
    } else
        out->lookup_ms = kiln__now_ms() - start;
    kiln__count(out->counters, status ? KILN__REFUSED : (int)out->origin, 1);
    kiln__event_obtained(context, prepared, out, status);
    if (status) kiln__image_free(out);
    pthread_setcancelstate(cancelled, NULL);
    return status;
}

void kiln__image_free_bytes(kiln__image *image) {
    kiln__memory_leave(image);
    kiln__kernels_release(image->loaded);
    image->loaded = NULL;
    kiln__key_free(&image->name);
    kiln__key_free(&image->key);
    free(image->bytes);
    image->bytes = NULL;
}

void kiln__image_free(kiln__image *image) {
    kiln__image_free_bytes(image);
    free(image->log);
    image->log = NULL;
}
