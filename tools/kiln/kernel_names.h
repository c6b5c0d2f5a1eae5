/* SPDX-License-Identifier: Apache-2.0 */
/* Between the keys of the disk cache and the names in packs: both hold the source, one expanded, the other unexpanded.
 */
#ifndef KILN_TOOL_KERNEL_NAMES_H
#define KILN_TOOL_KERNEL_NAMES_H

#include "cache/key.h"

/* The name that this Kiln looks for in packs, of a kernel that the disk cache has under a key; and the
 * reverse, with the NVRTC that made it. KILN_E_UNSUPPORTED if another build of Kiln made it, which this one never
 * looks for; KILN_E_FORMAT for material that is no key. The caller frees *out with kiln__key_free. */
kiln_status kernel_name_of_key(const uint8_t *material, size_t size, kiln__key *out);
kiln_status kernel_key_of_name(const uint8_t *material, size_t size, int nvrtc_major, int nvrtc_minor,
                               const char *nvrtc_build, kiln__key *out);

/* True where the options in a key are those that this Kiln compiles with. */
bool kernel_options_are_ours(const kiln__key_view *key);

#endif
