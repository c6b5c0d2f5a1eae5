/* From source to a kernel's bytes: what is loaded, packs, the disk cache, NVRTC where all miss.
 * Which NVRTC made an entry is part of its key; a record beside the entries tells it without opening the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cache/lock.h"
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

/* Its key with the digest of kernel_sources/, which the brief source names, where the disk cache's has NVRTC. */
kiln_status kiln__prepared_name(const kiln__prepared *prepared, int arch, bool ptx, kiln__key *out) {
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
                           kiln__image *out) {
    kiln__compile_request request = {
        .source = prepared->source, .name = "kiln_kernel.cu", .arch = arch, .ptx = out->is_ptx};
    kiln__compile_result result;
    double start = kiln__now_ms();
    kiln_status status = kiln__nvrtc_compile(nvrtc, &request, &result);
    out->compile_ms = kiln__now_ms() - start;
    if (status) {
        if (status == KILN_E_COMPILE && result.log) kiln__log(context, KILN_LOG_ERROR, "%s", result.log);
        out->refused = result.refused;
        out->log = result.log;
        result.log = NULL;
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

static bool same_nvrtc(const kiln__nvrtc_identity *a, const kiln__nvrtc_identity *b) {
    return a->major == b->major && a->minor == b->minor && !strcmp(a->build, b->build);
}

/* The key with the NVRTC that compiles, and the entry of the disk cache, where it may be taken from there. */
static kiln_status look_up(kiln_context *context, const kiln__prepared *prepared, const kiln__nvrtc_identity *nvrtc,
                           int arch, kiln__place first, kiln__image *out, kiln__found *found, bool *hit) {
    kiln__key_free(&out->key);
    kiln_status status = make_key(prepared, nvrtc, arch, out->is_ptx, &out->key);
    *hit = !status && first != KILN__NOWHERE && context->disk && kiln__disk_get(context->disk, &out->key, found);
    return status;
}

/* Tells the log why an entry was missed, where KILN_LOG asks for it. */
static void explain(kiln_context *context, const kiln__prepared *prepared, const kiln__key *key) {
    if (!context->explain || !context->disk) return;
    char *description = kiln__prepared_describe(prepared);
    char *reason = description ? kiln__disk_explain(context->disk, key, description) : NULL;
    if (reason && context->log) context->log(context->log_user, KILN_LOG_INFO, reason); /* whole, however long */
    free(description);
    free(reason);
    kiln__clear_error();
}

/* From a pack, from disk, or by compiling: by this process where no other is at it. */
static kiln_status obtain(kiln_context *context, const kiln__prepared *prepared, int arch, kiln__place first,
                          double start, kiln__image *out) {
    kiln__entry packed;
    kiln__nvrtc_identity identity;
    kiln__found found;
    kiln__claim claim = KILN__NO_CLAIM;
    const kiln__nvrtc *nvrtc = NULL;
    bool hit = false;
    if (first == KILN__IN_MEMORY && kiln__packs_find(context, &out->name, &packed))
        return take_entry(&packed, KILN_ORIGIN_PACK, out);
    kiln_status status = identify_nvrtc(context, &identity);
    if (!status) status = look_up(context, prepared, &identity, arch, first, out, &found, &hit);
    if (!status && !hit) explain(context, prepared, &out->key);
    if (!status && !hit && context->policy == KILN_POLICY_NEVER_COMPILE)
        status = kiln__fail(KILN_E_WOULD_COMPILE,
                            "the kernel for '%s' (%s, sm_%d) is in no cache, and the policy forbids compiling",
                            prepared->ir->text, prepared->schedule.text, arch);
    if (!status && !hit) status = open_nvrtc(context, &nvrtc);
    if (!status && !hit && !same_nvrtc(&nvrtc->identity, &identity)) /* the recorded one was replaced meanwhile */
        status = look_up(context, prepared, &nvrtc->identity, arch, first, out, &found, &hit);
    if (!status && !hit && context->disk && first != KILN__NOWHERE)
        hit = kiln__disk_claim(context->disk, &out->key, &claim, &found);
    out->lookup_ms = kiln__now_ms() - start;
    if (hit) {
        status = take_entry(&found.entry, KILN_ORIGIN_DISK, out);
        kiln__found_free(&found);
    } else if (!status)
        status = compile(context, prepared, nvrtc, arch, out);
    kiln__disk_release(&claim);
    return status;
}

kiln_status kiln__image_obtain(kiln_context *context, const kiln__prepared *prepared, int arch, bool ptx,
                               kiln__place first, kiln__image *out) {
    memset(out, 0, sizeof *out);
    out->is_ptx = ptx;
    double start = kiln__now_ms();
    kiln_status status = kiln__prepared_name(prepared, arch, ptx, &out->name);
    if (status || first != KILN__IN_MEMORY || !kiln__memory_enter(context, out, &status)) {
        if (!status) status = obtain(context, prepared, arch, first, start, out);
        kiln__memory_obtained(out, status);
    } else
        out->lookup_ms = kiln__now_ms() - start;
    if (status) kiln__image_free(out);
    return status;
}

void kiln__image_free(kiln__image *image) {
    kiln__memory_leave(image);
    kiln__key_free(&image->name);
    kiln__key_free(&image->key);
    free(image->bytes);
    free(image->log);
    image->bytes = NULL;
    image->log = NULL;
}
