/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the same schedules as kiln__compile_call, so that a context with the pack finds each of them there. */
#include "runtime/packing.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/tuned.h"

static kiln_status add_image(kiln__pack_writer *writer, const kiln__prepared *prepared, const kiln__image *image) {
    kiln__key_view key;
    char build[sizeof((kiln__bundle_row *)NULL)->nvrtc_build] = "";
    if (!kiln__key_decode(image->key.material, image->key.size, &key)) {
        return kiln__fail(KILN_E_INTERNAL, "the key of a kernel for '%s' cannot be read", prepared->ir->text);
    }
    memcpy(build, key.build, key.build_size < sizeof build ? key.build_size : sizeof build - 1);
    char *description = kiln__prepared_describe(prepared);
    if (!description) return kiln__out_of_memory();
    const kiln__entry entry = kiln__image_entry(image, prepared, description);
    const kiln__nvrtc_version nvrtc = {key.nvrtc_major, key.nvrtc_minor, build};
    kiln_status status = kiln__pack_writer_add(writer, &image->name, &entry, &nvrtc);
    free(description);
    return status;
}

/* The tuned record that chose the schedule, as it is found by its key. */
static kiln_status add_record(kiln__pack_writer *writer, kiln_context *context, const kiln__prepared *prepared,
                              const kiln__device *device) {
    static const kiln__nvrtc_version none = {0, 0, ""};
    char words[KILN__PINS_SIZE];
    kiln__key key;
    kiln__pins pins;
    bool found = false;
    kiln_status status = kiln__tuned_key(prepared->ir, &prepared->problem, device, &key);
    if (!status) status = kiln__tuned_find(context, &key, &found, &pins);
    if (!status && found) {
        kiln__pins_write(&pins, words);
        char *description = kiln__prepared_describe(prepared);
        const kiln__entry entry = kiln__tuned_entry(words, description ? description : "", "", device->arch);
        status = description ? kiln__pack_writer_add(writer, &key, &entry, &none) : kiln__out_of_memory();
        free(description);
    }
    kiln__key_free(&key);
    return status;
}

kiln_status kiln__packing_add(kiln__pack_writer *writer, const kiln__call *call, const kiln__device *device, bool ptx) {
    kiln_context *context = call->program->context;
    bool again = true;
    for (int attempt = 0; again; attempt++) {
        kiln__prepared prepared;
        kiln__image image;
        kiln_status status = kiln__prepare_for(call, device, attempt, &prepared);
        if (status && attempt > 0) break; /* there are no more schedules */
        if (status) return status;
        status = kiln__image_obtain(context, KILN_POLICY_COMPILE, &prepared, device->arch, ptx, KILN__ON_DISK, &image);
        if (status && attempt > 0) { /* a plan does without this one, too */
            kiln__prepared_free(&prepared);
            break;
        }
        if (!status) {
            /* Where the record does not hold, on another device, the library's own choice is looked for. */
            again = kiln__image_lacks_registers(&image, &prepared, device) || prepared.origin == KILN_SCHEDULE_RECORD;
            if (prepared.origin == KILN_SCHEDULE_RECORD) status = add_record(writer, context, &prepared, device);
            if (!status) status = add_image(writer, &prepared, &image);
            kiln__image_free(&image);
        }
        kiln__prepared_free(&prepared);
        if (status) return status;
    }
    kiln__clear_error();
    return KILN_OK;
}

static kiln_status add_prepared(kiln__pack_writer *writer, kiln_context *context, const kiln__prepared *prepared,
                                int arch, bool ptx) {
    kiln__key name;
    kiln__image image;
    kiln_status status = kiln__prepared_name(prepared, arch, ptx, &name);
    const bool there = !status && kiln__pack_writer_has(writer, &name);
    kiln__key_free(&name);
    if (status || there) return status;
    status = kiln__image_obtain(context, KILN_POLICY_COMPILE, prepared, arch, ptx, KILN__ON_DISK, &image);
    if (status) return status;
    status = add_image(writer, prepared, &image);
    kiln__image_free(&image);
    return status;
}

kiln_status kiln__packing_add_any_shape(kiln__pack_writer *writer, const kiln__call *call, int arch, bool ptx) {
    kiln__prepared prepared;
    kiln_status status = kiln__prepare_any_shape_for(call, arch, &prepared);
    if (status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT) {
        kiln__clear_error();
        return KILN_OK;
    }
    if (status) return status;
    status = add_prepared(writer, call->program->context, &prepared, arch, ptx);
    kiln__prepared_free(&prepared);
    return status;
}

/* ---- the public calls ---- */

struct kiln_pack_writer {
    kiln__pack_writer kernels;
    uint8_t *bytes; /* what the last kiln_pack_writer_finish gave */
};

kiln_status kiln_pack_writer_create(kiln_pack_writer **out) {
    kiln__clear_error();
    if (!out) return kiln__fail(KILN_E_ARGUMENT, "out is NULL, expected the address of a kiln_pack_writer pointer");
    *out = calloc(1, sizeof **out);
    return *out ? KILN_OK : kiln__out_of_memory();
}

void kiln_pack_writer_destroy(kiln_pack_writer *writer) {
    if (!writer) return;
    kiln__pack_writer_free(&writer->kernels);
    free(writer->bytes);
    free(writer);
}

kiln_status kiln_pack_writer_add(kiln_pack_writer *writer, const kiln_program *program, const kiln_tensor *tensors,
                                 size_t tensor_count, const kiln_scalar *scalars, size_t scalar_count, int arch,
                                 int ptx) {
    kiln__clear_error();
    kiln__call call;
    if (!writer) return kiln__fail(KILN_E_ARGUMENT, "writer is NULL");
    kiln_status status = kiln__compile_check(program, tensors, tensor_count, scalars, scalar_count, arch, NULL, &call);
    if (status) return status;
    kiln__context_enter(program->context);
    const kiln__device device = kiln__device_typical(arch);
    status = kiln__packing_add(&writer->kernels, &call, &device, ptx != 0);
    return status ? status : kiln__packing_add_any_shape(&writer->kernels, &call, arch, ptx != 0);
}

kiln_status kiln_pack_writer_finish(kiln_pack_writer *writer, const void **bytes, size_t *size) {
    kiln__clear_error();
    if (!writer || !bytes || !size)
        return kiln__fail(KILN_E_ARGUMENT, "%s is NULL", !writer ? "writer" : bytes ? "size" : "bytes");
    free(writer->bytes);
    writer->bytes = NULL;
    kiln_status status = kiln__pack_writer_finish(&writer->kernels, &writer->bytes, size);
    if (!status) *bytes = writer->bytes;
    return status;
}
