/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a manifest's lines. Every field is checked: a line may come from anyone. */
#define _GNU_SOURCE
#include "manifest.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "open_shapes.h"
#include "tensor_spec.h"

static kiln_status out_of_place(const char *field, const char *expected) {
    return kiln__fail(KILN_E_FORMAT, "\"%s\" is not %s", field, expected);
}

/* Splits "NAME=VALUE": *name is new memory. Both are NULL on failure. */
static kiln_status part(const char *field, const json_t *item, char **name, const char **value) {
    const char *text = json_string_value(item);
    const char *equals = text ? strchr(text, '=') : NULL;
    *name = NULL;
    *value = NULL;
    if (!equals || equals == text) return out_of_place(field, "a list of texts such as \"x=f16[*,1024]\"");
    *name = strndup(text, (size_t)(equals - text));
    *value = equals + 1;
    return *name ? KILN_OK : kiln__out_of_memory();
}

/* A text that cannot be read keeps its sentence and gets the line's status. */
static kiln_status as_format(kiln_status status) {
    char sentence[1024];
    if (!status || status == KILN_E_MEMORY) return status;
    strncpy(sentence, kiln_last_error(), sizeof sentence - 1);
    sentence[sizeof sentence - 1] = '\0';
    return kiln__fail(KILN_E_FORMAT, "%s", sentence);
}

static kiln_status read_range(manifest_entry *out) {
    kiln_tensor tensors[KILN_MAX_TENSORS];
    for (size_t i = 0; i < out->tensor_count; i++) tensors[i] = out->tensors[i].tensor;
    kiln_status status = column_range_find(tensors, out->tensor_count, &out->range);
    if (!status && out->range.most && open_shapes_any(tensors, out->tensor_count))
        status = kiln__fail(KILN_E_ARGUMENT, "a range of columns stands beside '*' for another size than the first");
    return as_format(status);
}

static kiln_status read_tensors(const json_t *list, manifest_entry *out) {
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0) return out_of_place("tensors", "a list of texts such as \"x=f16[*,1024]\"");
    if (count > KILN_MAX_TENSORS) {
        return kiln__fail(KILN_E_FORMAT, "\"tensors\" has %zu tensors, expected at most %d", count, KILN_MAX_TENSORS);
    }
    for (size_t i = 0; i < count; i++) {
        manifest_tensor *tensor = &out->tensors[i];
        const char *spec;
        kiln_status status = part("tensors", json_array_get(list, i), &tensor->name, &spec);
        out->tensor_count = i + 1;
        if (!status) status = as_format(tensor_spec_parse_open(spec, &tensor->tensor));
        if (status) return status;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(out->tensors[j].name, tensor->name) == 0) {
                return kiln__fail(KILN_E_FORMAT, "\"tensors\" has '%s' twice", tensor->name);
            }
        }
    }
    return read_range(out);
}

/* Adds a name to a comma-separated list, which holds no comma itself. */
static kiln_status append_name(const char *field, const char *name, char **list) {
    char *longer;
    if (!*name || strchr(name, ',')) return out_of_place(field, "a list of names");
    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", name) < 0) return kiln__out_of_memory();
    free(*list);
    *list = longer;
    return KILN_OK;
}

static kiln_status read_outputs(const json_t *list, manifest_entry *out) {
    kiln_status status = list && !json_is_array(list) ? out_of_place("outputs", "a list of names") : KILN_OK;
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        status = append_name("outputs", name ? name : "", &out->outputs);
    }
    return status;
}

static kiln_status read_scalars(const json_t *list, manifest_entry *out) {
    size_t count = json_array_size(list);
    if (list && !json_is_array(list)) return out_of_place("scalars", "a list of texts such as \"eps=f64\"");
    if (count > KILN_MAX_SCALARS) {
        return kiln__fail(KILN_E_FORMAT, "\"scalars\" has %zu scalars, expected at most %d", count, KILN_MAX_SCALARS);
    }
    for (size_t i = 0; i < count; i++) {
        char *name = NULL;
        const char *type;
        kiln_scalar scalar;
        kiln_status status = part("scalars", json_array_get(list, i), &name, &type);
        if (!status) status = as_format(tensor_spec_scalar(type, 1, &scalar));
        if (!status) status = append_name("scalars", name, &out->scalars);
        free(name);
        if (status) return status;
        out->scalar_types[out->scalar_count++] = scalar.type;
    }
    return KILN_OK;
}

static kiln_status read_axes(const json_t *axes, manifest_entry *out) {
    static const char expected[] = "\"all\" or a list of axes such as [-1]";
    if (!axes) return KILN_OK;
    out->has_axes = true;
    out->all_axes = json_is_string(axes) && strcmp(json_string_value(axes), "all") == 0;
    if (out->all_axes) return KILN_OK;
    if (!json_is_array(axes) || json_array_size(axes) > KILN_MAX_RANK) return out_of_place("axes", expected);
    for (size_t i = 0; i < json_array_size(axes); i++) {
        const json_t *axis = json_array_get(axes, i);
        json_int_t value = json_integer_value(axis);
        if (!json_is_integer(axis) || value < -KILN_MAX_RANK || value >= KILN_MAX_RANK)
            return out_of_place("axes", expected);
        out->axes[out->axis_count++] = (int)value;
    }
    return KILN_OK;
}

static kiln_status read_arch(const json_t *arch, manifest_entry *out) {
    int ptx = 0;
    if (!arch) return KILN_OK;
    if (!json_is_string(arch)) return out_of_place("arch", "an architecture such as \"sm_90\"");
    kiln_status status = as_format(tensor_spec_arch(json_string_value(arch), &out->arch, &ptx));
    out->ptx = ptx != 0;
    return status;
}

/* [SMs, threads and registers of one, shared memory of one and of a block, L2, GB/s]: all of them above 0. Lines of
 * before 0.2 have no bandwidth: they get the architecture's. */
static kiln_status read_device(const json_t *device, manifest_entry *out) {
    static const char expected[] = "a list of seven numbers, next to an \"arch\"";
    if (!device) return KILN_OK;
    const size_t count = json_array_size(device);
    if ((count != 6 && count != 7) || !out->arch) return out_of_place("device", expected);
    int64_t values[7] = {[6] = kiln__device_typical(out->arch).bandwidth};
    for (size_t i = 0; i < count; i++) {
        values[i] = json_integer_value(json_array_get(device, i));
        if (values[i] < 1 || values[i] > INT32_MAX) return out_of_place("device", expected);
    }
    out->has_device = true;
    out->device = (kiln__device){
        out->arch, (int)values[0], (int)values[1], (int)values[2], values[3], values[4], values[5], values[6],
    };
    return KILN_OK;
}

kiln__device manifest_device(const manifest_entry *entry, int arch) {
    kiln__device device = entry->has_device && arch == entry->arch ? entry->device : kiln__device_typical(arch);
    device.arch = arch;
    return device;
}

static kiln_status read_dependent(const json_t *dependent, manifest_entry *out) {
    if (dependent && !json_is_boolean(dependent)) return out_of_place("dependent_launch", "true or false");
    out->dependent = json_is_true(dependent);
    return KILN_OK;
}

static kiln_status check_fields(json_t *object) {
    static const char *const known[] = {"program", "outputs", "tensors", "scalars",
                                        "axes",    "arch",    "device",  "dependent_launch"};
    const char *field;
    json_t *value;
    json_object_foreach(object, field, value) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(field, known[i]) != 0) i++;
        if (i == sizeof known / sizeof *known) {
            return kiln__fail(KILN_E_FORMAT,
                              "there is no field \"%s\"; program, outputs, tensors, scalars, axes, arch, device "
                              "and dependent_launch were expected",
                              field);
        }
    }
    return KILN_OK;
}

kiln_status manifest_parse(const char *line, size_t size, manifest_entry *out) {
    json_error_t error;
    *out = (manifest_entry){0};
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
    kiln_status status = KILN_OK;
    if (!object) return kiln__fail(KILN_E_FORMAT, "no JSON: %s", error.text);
    const char *program = json_string_value(json_object_get(object, "program"));
    if (!json_is_object(object)) status = kiln__fail(KILN_E_FORMAT, "an object of JSON was expected");
    if (!status) status = check_fields(object);
    if (!status && !program) status = out_of_place("program", "a text");
    if (!status && !(out->program = strdup(program))) status = kiln__out_of_memory();
    if (!status) status = read_outputs(json_object_get(object, "outputs"), out);
    if (!status) status = read_tensors(json_object_get(object, "tensors"), out);
    if (!status) status = read_scalars(json_object_get(object, "scalars"), out);
    if (!status) status = read_axes(json_object_get(object, "axes"), out);
    if (!status) status = read_arch(json_object_get(object, "arch"), out);
    if (!status) status = read_device(json_object_get(object, "device"), out);
    if (!status) status = read_dependent(json_object_get(object, "dependent_launch"), out);
    json_decref(object);
    return status;
}

void manifest_entry_free(manifest_entry *entry) {
    for (size_t i = 0; i < entry->tensor_count; i++) free(entry->tensors[i].name);
    free(entry->program);
    free(entry->outputs);
    free(entry->scalars);
    *entry = (manifest_entry){0};
}

static kiln_status place(const manifest_entry *entry, const char *name, kiln_tensor *out) {
    for (size_t i = 0; i < entry->tensor_count; i++) {
        if (strcmp(entry->tensors[i].name, name) != 0) continue;
        *out = entry->tensors[i].tensor;
        return KILN_OK;
    }
    return kiln__fail(KILN_E_BINDING, "\"tensors\" has no '%s', which the program reads or stores", name);
}

static kiln_status bind(const manifest_entry *entry, const kiln_program *program, kiln_tensor *tensors,
                        kiln_scalar *scalars) {
    const size_t inputs = kiln_program_input_count(program), count = inputs + kiln_program_output_count(program);
    for (size_t i = 0; i < count; i++) {
        const char *name =
            i < inputs ? kiln_program_input_name(program, i) : kiln_program_output_name(program, i - inputs);
        kiln_status status = place(entry, name, &tensors[i]);
        if (status) return status;
    }
    if (count != entry->tensor_count) {
        return kiln__fail(KILN_E_BINDING, "\"tensors\" has %zu tensors, expected the program's %zu",
                          entry->tensor_count, count);
    }
    for (size_t i = 0; i < entry->scalar_count; i++) scalars[i] = (kiln_scalar){.type = entry->scalar_types[i]};
    return KILN_OK;
}

kiln_status manifest_bind(const manifest_entry *entry, kiln_context *context, kiln_program **program,
                          kiln_tensor tensors[KILN_MAX_TENSORS], kiln_scalar scalars[KILN_MAX_SCALARS]) {
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.outputs = entry->outputs;
    options.scalars = entry->scalars;
    options.axes = entry->has_axes && !entry->all_axes ? entry->axes : NULL;
    options.axis_count = entry->axis_count;
    options.all_axes = entry->all_axes;
    kiln_status status = kiln_program_create(context, entry->program, &options, program);
    if (status) return status;
    status = bind(entry, *program, tensors, scalars);
    if (status) {
        kiln_program_destroy(*program);
        *program = NULL;
    }
    return status;
}
