/* SPDX-License-Identifier: Apache-2.0 */
/* The last step before a vision model: a batch of u8 images, rows of interleaved RGB as a decoder leaves them (NHWC),
 * becomes normalised f16 planes (NCHW) in one kernel. The transposition is a matter of strides; nothing is copied
 * twice.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples
 * or:     cc examples/image.c examples/arrays.c $(pkg-config --cflags --libs kiln) -lm */
#include "arrays.h"

#include <math.h>
#include <stdio.h>

enum { IMAGES = 2, CHANNELS = 3, HEIGHT = 24, WIDTH = 40, COUNT = IMAGES * CHANNELS * HEIGHT * WIDTH };

static const float channel_mean[CHANNELS] = {0.485f, 0.456f, 0.406f};
static const float channel_deviation[CHANNELS] = {0.229f, 0.224f, 0.225f};

struct arrays {
    uint8_t *pixels;       /* IMAGES x HEIGHT x WIDTH x CHANNELS */
    float *center, *scale; /* CHANNELS */
    void *planes;          /* f16, IMAGES x CHANNELS x HEIGHT x WIDTH */
};

static bool make_arrays(struct arrays *a) {
    a->pixels = array_create(COUNT);
    a->center = array_create(CHANNELS * sizeof(*a->center));
    a->scale = array_create(CHANNELS * sizeof(*a->scale));
    a->planes = array_create(COUNT * kiln_type_size(KILN_F16));
    if (!a->pixels || !a->center || !a->scale || !a->planes) return false;
    for (int i = 0; i < COUNT; i++) a->pixels[i] = (uint8_t)(i * 73 % 256);
    for (int c = 0; c < CHANNELS; c++) {
        a->center[c] = channel_mean[c];
        a->scale[c] = 1 / channel_deviation[c];
    }
    return true;
}

static void free_arrays(struct arrays *a) {
    array_destroy(a->planes);
    array_destroy(a->scale);
    array_destroy(a->center);
    array_destroy(a->pixels);
}

/* All tensors have the axes image, channel, row, column; the pixels' strides say where each of them is in NHWC. Nothing
 * is reduced, so that the program has no axes to name. */
static kiln_status normalise(kiln_context *context, const struct arrays *a) {
    const int64_t sizes[] = {IMAGES, CHANNELS, HEIGHT, WIDTH}, per_channel[] = {CHANNELS, 1, 1};
    const int64_t interleaved[] = {HEIGHT * WIDTH * CHANNELS, 1, WIDTH * CHANNELS, CHANNELS};
    const kiln_binding bindings[] = {
        {"pixel", kiln_tensor_input_strided(a->pixels, KILN_U8, 4, sizes, interleaved)},
        {"center", kiln_tensor_input(a->center, KILN_F32, 3, per_channel)},
        {"scale", kiln_tensor_input(a->scale, KILN_F32, 3, per_channel)},
        {"plane", kiln_tensor_contiguous(a->planes, KILN_F16, 4, sizes)},
    };
    kiln_program *program = NULL;
    kiln_status status = kiln_program_create(context, "plane = (pixel / 255 - center) * scale", NULL, &program);
    if (!status) status = arrays_run(program, bindings, 4, NULL, 0);
    kiln_program_destroy(program);
    return status;
}

/* f16 back to f32, which C can read: a conversion is a program, too. */
static kiln_status widen(kiln_context *context, const void *planes, float *wide) {
    const int64_t sizes[] = {COUNT};
    const kiln_binding bindings[] = {{"x", kiln_tensor_input(planes, KILN_F16, 1, sizes)},
                                     {"y", kiln_tensor_contiguous(wide, KILN_F32, 1, sizes)}};
    kiln_program *program = NULL;
    kiln_status status = kiln_program_create(context, "y = x", NULL, &program);
    if (!status) status = arrays_run(program, bindings, 2, NULL, 0);
    kiln_program_destroy(program);
    return status;
}

static int compare(const struct arrays *a, const float *wide) {
    const int area = HEIGHT * WIDTH;
    double largest = 0;
    for (int i = 0; i < COUNT; i++) {
        const int image = i / (CHANNELS * area), c = i / area % CHANNELS, place = i % area;
        const double pixel = a->pixels[(image * area + place) * CHANNELS + c];
        const double wanted = (pixel / 255 - (double)channel_mean[c]) / (double)channel_deviation[c];
        largest = fmax(largest, fabs((double)wide[i] - wanted));
    }
    printf("%d images of %d x %d to f16 planes, largest error %.1e\n", IMAGES, HEIGHT, WIDTH, largest);
    return !(largest <= 0x1p-10); /* half a unit in the last place of values below 4 */
}

int main(void) {
    struct arrays a = {0};
    kiln_context *context = NULL;
    float *wide = array_create(COUNT * sizeof(*wide));
    int result = 1;
    if (!make_arrays(&a) || !wide) {
        fprintf(stderr, "image: no memory\n");
    } else {
        kiln_status status = kiln_context_create(NULL, &context);
        if (!status) status = normalise(context, &a);
        if (!status) status = widen(context, a.planes, wide);
        result = status ? report("image", status) : compare(&a, wide);
    }
    kiln_context_destroy(context);
    array_destroy(wide);
    free_arrays(&a);
    return result;
}
