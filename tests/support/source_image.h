/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in for NVRTC makes of a source: the text that the compiler gets, ended by NUL. */
#ifndef KILN_TESTS_SOURCE_IMAGE_H
#define KILN_TESTS_SOURCE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the image is that of a kernel's source, as kiln_plan_info has it, byte for byte. */
bool image_is_of_source(const void *image, size_t size, const char *source);

#endif
