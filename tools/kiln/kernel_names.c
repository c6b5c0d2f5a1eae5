/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens and expands sources. Reports sources that this build would not generate, so that packs hold no dead weight.
 */
#define _GNU_SOURCE
#include "kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "codegen/source.h"
#include "jit/nvrtc.h"
#include "kiln_sources.h"

bool kernel_options_are_ours(const kiln__key_view *key) {
    const char *const *options = kiln__nvrtc_options();
    const uint8_t *at = key->options;
    for (uint32_t i = 0; i < key->option_count; i++) {
        size_t size = 0;
        const char *text = kiln__key_next_option(key, &at, &size);
        if (!text || !options[i] || strlen(options[i]) != size || memcmp(options[i], text, size) != 0) return false;
    }
    return options[key->option_count] == NULL;
}

static kiln_status foreign(void) {
    return kiln__fail(KILN_E_UNSUPPORTED, "the kernel is another build of Kiln's, which this one never looks for");
}

/* Names each file of kernel_sources/ that stands in the source word for word. */
static char *shorten(const char *source) {
    kiln__text brief = {0};
    for (const char *line = source; *line;) {
        const kiln__source_file *part = kiln__source_files;
        while (part->name && (part->size == 0 || strncmp(line, part->text, part->size) != 0)) part++;
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (part->name)
            kiln__text_printf(&brief, "#include \"%s\"\n", part->name);
        else
            kiln__text_add(&brief, line, length);
        line += part->name ? part->size : length;
    }
    return kiln__text_take(&brief);
}

static kiln_status make(const kiln__key_view *view, const char *source, int major, int minor, const char *build,
                        kiln__key *out) {
    const kiln__key_parts parts = {source, kiln__nvrtc_options(), view->arch, view->ptx, major, minor, build};
    return kiln__key_make(&parts, out);
}

kiln_status kernel_name_of_key(const uint8_t *material, size_t size, kiln__key *out) {
    kiln__key_view view;
    *out = (kiln__key){.size = 0};
    if (!kiln__key_decode(material, size, &view)) return kiln__fail(KILN_E_FORMAT, "a kernel's key cannot be read");
    char *source = strndup(view.source, view.source_size);
    char *brief = source ? shorten(source) : NULL;
    kiln_status status = brief ? KILN_OK : kiln__out_of_memory();
    /* Every kernel begins with this file: where it is another, so is the build. Keys of older ones begin with a
     * comment. */
    if (!status && (kiln__source_code(brief) != brief || !strstr(brief, "\n#include \"device.cuh\"\n") ||
                    !kernel_options_are_ours(&view)))
        status = foreign();
    if (!status) status = make(&view, brief, 0, 0, kiln__sources_digest, out);
    free(source);
    free(brief);
    return status;
}

kiln_status kernel_key_of_name(const uint8_t *material, size_t size, int nvrtc_major, int nvrtc_minor,
                               const char *nvrtc_build, kiln__key *out) {
    kiln__key_view view;
    *out = (kiln__key){.size = 0};
    if (!kiln__key_decode(material, size, &view)) return kiln__fail(KILN_E_FORMAT, "a kernel's name cannot be read");
    if (view.build_size != strlen(kiln__sources_digest) ||
        memcmp(view.build, kiln__sources_digest, view.build_size) != 0 || !kernel_options_are_ours(&view)) {
        return foreign();
    }
    char *brief = strndup(view.source, view.source_size);
    char *source = brief ? kiln__source_expand(brief) : NULL;
    kiln_status status =
        source ? make(&view, source, nvrtc_major, nvrtc_minor, nvrtc_build, out) : kiln__out_of_memory();
    free(brief);
    free(source);
    return status;
}
