/* From source to a kernel's bytes: what is loaded, packs, the disk cache, NVRTC where all miss.
 * Which NVRTC made an entry is part of its key; a record beside the entries tells it without opening the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "context.h"
#include "kiln_sources.h"

static const char record_name[] = "nvrtc";

static kiln_status open_nvrtc(kiln_context *context, const kiln__nvrtc **out) {
    kiln_status status = kiln__nvrtc_open(context->nvrtc_path, out);
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    bool news = !context->nvrtc_known || !kiln__nvrtc_same_file(&context->nvrtc, &(*out)->identity) ||
                context->nvrtc.major != (*out)->identity.major || context->nvrtc.minor != (*out)->identity.minor;
    context->nvrtc = (*out)->identity;
    context->nvrtc_known = true;
    pthread_mutex_unlock(&context->lock);
    if (news && context->disk)
        kiln__disk_record_put(context->disk, record_name, &(*out)->identity, sizeof(*out)->identity);
    return KILN_OK;
}

/* The identity of the NVRTC that a compile would use; without any NVRTC that of the last one known here. */
static kiln_status identify_nvrtc(kiln_context *context, kiln__nvrtc_identity *out) {
    pthread_mutex_lock(&context->lock);
    bool known = context->nvrtc_known;
    *out = context->nvrtc;
    pthread_mutex_unlock(&context->lock);
    if (known) return KILN_OK;
    kiln__nvrtc_identity recorded, located;
    size_t size = sizeof recorded;
    bool found = kiln__nvrtc_locate(context->nvrtc_path, &located);
    bool have =
        context->disk && kiln__disk_record_get(context->disk, record_name, &recorded, &size) && size == sizeof recorded;
    if (have && (!found || kiln__nvrtc_same_file(&located, &recorded))) {
        recorded.path[sizeof recorded.path - 1] = recorded.build[sizeof recorded.build - 1] = '\0';
        pthread_mutex_lock(&context->lock);
        if (found && !context->nvrtc_known) {
            context->nvrtc = recorded;
            context->nvrtc_known = true;
        }
        pthread_mutex_unlock(&context->lock);
        *out = recorded;
        return KILN_OK;
    }
    if (context->policy == KILN_POLICY_NEVER_COMPILE && !found) {
        memset(out, 0, sizeof *out);
        return KILN_OK;
    }
    const kiln__nvrtc *nvrtc;
    kiln_status status = open_nvrtc(context, &nvrtc);
    if (!status) *out = nvrtc->identity;
    return status;
}

static kiln_status make_key(const kiln__prepared *prepared, const kiln__nvrtc_identity *nvrtc, int arch, bool ptx,
                            kiln__key *out) {
    kiln__key_parts parts = {.source = prepared->source,
                             .options = kiln__nvrtc_options(),
                             .arch = arch,
                             .ptx = ptx,
                             .nvrtc_major = nvrtc->major,
                             .nvrtc_minor = nvrtc->minor,
                             .nvrtc_build = nvrtc->build};
    return kiln__key_make(&parts, out);
}

/* The kernel's name: its key with the digest of kernel_sources/, which the brief source names, where the disk cache's
 * has NVRTC. */
static kiln_status make_name(const kiln__prepared *prepared, int arch, bool ptx, kiln__key *out) {
    kiln__key_parts parts = {.source = prepared->brief,
                             .options = kiln__nvrtc_options(),
                             .arch = arch,
                             .ptx = ptx,
                             .nvrtc_build = kiln__sources_digest};
    return kiln__key_make(&parts, out);
}

static kiln_status take_entry(const kiln__entry *entry, kiln_origin origin, kiln__image *out) {
    out->bytes = malloc(entry->image_size ? entry->image_size : 1);
    out->log = malloc(strlen(entry->log) + 1);
    if (!out->bytes || !out->log) return kiln__out_of_memory();
    memcpy(out->bytes, entry->image, entry->image_size);
    strcpy(out->log, entry->log);
    out->size = entry->image_size;
    out->registers = entry->registers;
    out->spill_bytes = entry->spill_bytes;
    out->shared_bytes = entry->shared_bytes;
    out->origin = origin;
    return KILN_OK;
}

/* A kernel that is loaded needs no disk to be found again. */
static kiln_status take_loaded(const kiln__image *image, kiln__image *out) {
    kiln__key name = out->name;
    *out = *image;
    out->name = name;
    out->key = (kiln__key){0};
    out->origin = KILN_ORIGIN_MEMORY;
    out->lookup_ms = out->compile_ms = 0;
    out->bytes = malloc(image->size ? image->size : 1);
    out->log = malloc(strlen(image->log) + 1);
    if (!out->bytes || !out->log) return kiln__out_of_memory();
    memcpy(out->bytes, image->bytes, image->size);
    strcpy(out->log, image->log);
    return KILN_OK;
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
    if (p->layout == KILN__LAYOUT_FLAT)
        kiln__text_puts(&text, " | any number of elements");
    else
        kiln__text_printf(&text, " | %lld columns", (long long)p->cols);
    return kiln__text_take(&text);
}

static void publish(kiln_context *context, const kiln__prepared *prepared, const kiln__compile_result *result, int arch,
                    const kiln__image *image) {
    char *description = kiln__prepared_describe(prepared);
    kiln__entry entry = {.image = image->bytes,
                         .image_size = image->size,
                         .is_ptx = image->is_ptx,
                         .arch = arch,
                         .registers = result->registers,
                         .spill_bytes = result->spill_bytes,
                         .shared_bytes = result->shared_bytes,
                         .create_ms = result->create_ms,
                         .compile_ms = result->compile_ms,
                         .fetch_ms = result->fetch_ms,
                         .created_unix = (int64_t)time(NULL),
                         .name = KILN__KERNEL_NAME,
                         .description = description ? description : "",
                         .schedule = prepared->schedule.text,
                         .log = image->log};
    kiln__disk_put(context->disk, &image->key, &entry);
    free(description);
}

static kiln_status compile(kiln_context *context, const kiln__prepared *prepared, const kiln__nvrtc *nvrtc, int arch,
                           bool ptx, kiln__image *out) {
    kiln__compile_request request = {.source = prepared->source, .name = "kiln_kernel.cu", .arch = arch, .ptx = ptx};
    kiln__compile_result result;
    double start = kiln__now_ms();
    kiln_status status = kiln__nvrtc_compile(nvrtc, &request, &result);
    out->compile_ms = kiln__now_ms() - start;
    if (status) {
        if (status == KILN_E_COMPILE && result.log) kiln__log(context, KILN_LOG_ERROR, "%s", result.log);
        kiln__compile_result_free(&result);
        return status;
    }
    out->bytes = result.image;
    out->size = result.size;
    out->log = result.log;
    out->registers = result.registers;
    out->spill_bytes = result.spill_bytes;
    out->shared_bytes = result.shared_bytes;
    out->origin = KILN_ORIGIN_COMPILED;
    if (context->disk) publish(context, prepared, &result, arch, out);
    result.image = NULL;
    result.log = NULL;
    kiln__compile_result_free(&result);
    return KILN_OK;
}

/* Where nothing has to be compiled: *found tells whether it was there. */
static kiln_status find(kiln_context *context, const kiln__prepared *prepared, int arch, bool ptx, kiln__place first,
                        kiln__nvrtc_identity *identity, bool *found, kiln__image *out) {
    kiln_status status = make_name(prepared, arch, ptx, &out->name);
    if (status) return status;
    if (first == KILN__IN_MEMORY) {
        const kiln__kernel_entry *loaded = kiln__find_loaded(context, &out->name, -1);
        kiln__entry packed;
        *found = true;
        if (loaded) return take_loaded(&loaded->image, out);
        if (kiln__packs_find(context, &out->name, &packed)) return take_entry(&packed, KILN_ORIGIN_PACK, out);
        *found = false;
    }
    status = identify_nvrtc(context, identity);
    if (!status) status = make_key(prepared, identity, arch, ptx, &out->key);
    kiln__found stored;
    if (status || first == KILN__NOWHERE || !context->disk || !kiln__disk_get(context->disk, &out->key, &stored))
        return status;
    *found = true;
    status = take_entry(&stored.entry, KILN_ORIGIN_DISK, out);
    kiln__found_free(&stored);
    return status;
}

kiln_status kiln__image_obtain(kiln_context *context, const kiln__prepared *prepared, int arch, bool ptx,
                               kiln__place first, kiln__image *out) {
    memset(out, 0, sizeof *out);
    out->is_ptx = ptx;
    double start = kiln__now_ms();
    kiln__nvrtc_identity identity;
    bool found = false;
    kiln_status status = find(context, prepared, arch, ptx, first, &identity, &found, out);
    out->lookup_ms = kiln__now_ms() - start;
    if (status) kiln__image_free(out);
    if (status || found) return status;
    const kiln__nvrtc *nvrtc = NULL;
    if (context->policy == KILN_POLICY_NEVER_COMPILE)
        status = kiln__fail(KILN_E_WOULD_COMPILE,
                            "the kernel for '%s' (%s, sm_%d) is in no cache, and the policy forbids compiling",
                            prepared->ir->text, prepared->schedule.text, arch);
    if (!status) status = open_nvrtc(context, &nvrtc);
    if (!status && (nvrtc->identity.major != identity.major || nvrtc->identity.minor != identity.minor ||
                    strcmp(nvrtc->identity.build, identity.build))) {
        kiln__key_free(&out->key); /* the recorded one is gone or was replaced meanwhile */
        status = make_key(prepared, &nvrtc->identity, arch, ptx, &out->key);
    }
    if (!status) status = compile(context, prepared, nvrtc, arch, ptx, out);
    if (status) kiln__image_free(out);
    return status;
}

void kiln__image_free(kiln__image *image) {
    kiln__key_free(&image->name);
    kiln__key_free(&image->key);
    free(image->bytes);
    free(image->log);
    image->bytes = NULL;
    image->log = NULL;
}
