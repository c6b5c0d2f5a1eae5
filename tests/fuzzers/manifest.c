/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: a line, whoever wrote it, is refused or becomes a planned kernel. After a first byte of 1 the line is put
 * together from texts parted by NUL, the program and the tensors, so that quotes and braces need not be found. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "manifest.h"

static kiln_context *context;

static void expect(bool holds) {
    if (!holds) abort();
}

static void plan(const manifest_entry *entry) {
    kiln_program *program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    kiln__prepared prepared;
    const kiln__device device = manifest_device(entry, entry->arch ? entry->arch : 90);
    if (manifest_bind(entry, context, &program, tensors, scalars)) return;
    if (!kiln__program_check_counts(program, tensors, entry->tensor_count, scalars, entry->scalar_count) &&
        !kiln__prepare(program, tensors, scalars, &device, 0, &prepared))
        kiln__prepared_free(&prepared);
    kiln_program_destroy(program);
}

static void check_line(const char *line, size_t size) {
    manifest_entry entry;
    kiln_status status = manifest_parse(line, size, &entry);
    expect((status == KILN_OK) == (*kiln_last_error() == '\0'));
    if (!status) plan(&entry);
    manifest_entry_free(&entry);
    kiln__clear_error();
}

/* The texts as a line of JSON; NULL where they are no UTF-8. */
static char *put_together(const char *texts, size_t size) {
    json_t *tensors = json_array();
    const char *program = texts, *end = texts + size;
    for (const char *at = texts + strlen(texts) + 1; at < end; at += strlen(at) + 1)
        json_array_append_new(tensors, json_string(at));
    json_t *object = json_pack("{s:s, s:o, s:[s]}", "program", program, "tensors", tensors, "scalars", "a=f64");
    if (object && strchr(program, 'a') == NULL) json_object_del(object, "scalars");
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!context) {
        kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
        options.cache_dir = options.record_path = "";
        options.policy = KILN_POLICY_NEVER_COMPILE;
        expect(kiln_context_create(&options, &context) == KILN_OK);
    }
    char *text = malloc(size + 1);
    expect(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const bool parts = size > 0 && text[0] == '\1';
    char *line = parts ? put_together(text + 1, size - 1) : NULL;
    if (line) check_line(line, strlen(line));
    if (!parts) check_line(text, size);
    free(line);
    free(text);
    return 0;
}
