/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the same schedules as kiln__bake, so that a context with the pack finds each of them there. */
#include "packing.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/tuned.h"

static kiln_status add_image(pack_writer *writer, const kiln__prepared *prepared, const kiln__image *image) {
    kiln__key_view key;
    char build[sizeof((kiln__bundle_row *)NULL)->nvrtc_build] = "";
    if (!kiln__key_decode(image->key.material, image->key.size, &key)) {
        return kiln__fail(KILN_E_INTERNAL, "the key of a kernel for '%s' cannot be read", prepared->ir->text);
    }
    memcpy(build, key.build, key.build_size < sizeof build ? key.build_size : sizeof build - 1);
    char *description = kiln__prepared_describe(prepared);
    if (!description) return kiln__out_of_memory();
    const kiln__entry entry = kiln__image_entry(image, prepared, description);
    const nvrtc_version nvrtc = {key.nvrtc_major, key.nvrtc_minor, build};
    kiln_status status = pack_writer_add(writer, &image->name, &entry, &nvrtc);
    free(description);
    return status;
}

/* The tuned record that chose the schedule, as it is found by its key. */
static kiln_status add_record(pack_writer *writer, kiln_context *context, const kiln__prepared *prepared,
                              const kiln__device *device) {
    static const nvrtc_version none = {0, 0, ""};
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
        status = description ? pack_writer_add(writer, &key, &entry, &none) : kiln__out_of_memory();
        free(description);
    }
    kiln__key_free(&key);
    return status;
}

kiln_status packing_add(pack_writer *writer, const kiln_program *program, const kiln_tensor *tensors,
                        const kiln_scalar *scalars, const kiln__device *device, bool ptx) {
    bool spills = true;
    for (int attempt = 0; spills; attempt++) {
        kiln__prepared prepared;
        kiln__image image;
        kiln_status status = kiln__prepare(program, tensors, scalars, device, attempt, &prepared);
        if (status && attempt > 0) break; /* there are no more schedules */
        if (status) return status;
        status = kiln__image_obtain(program->context, KILN_POLICY_COMPILE, &prepared, device->arch, ptx, KILN__ON_DISK,
                                    &image);
        if (status && attempt > 0) { /* a plan does without this one, too */
            kiln__prepared_free(&prepared);
            break;
        }
        if (!status) {
            /* Where the record does not hold, on another device, the library's own choice is looked for. */
            spills = image.facts.spill_bytes > 0 || prepared.origin == KILN_SCHEDULE_RECORD;
            if (prepared.origin == KILN_SCHEDULE_RECORD)
                status = add_record(writer, program->context, &prepared, device);
            if (!status) status = add_image(writer, &prepared, &image);
            kiln__image_free(&image);
        }
        kiln__prepared_free(&prepared);
        if (status) return status;
    }
    kiln__clear_error();
    return KILN_OK;
}
