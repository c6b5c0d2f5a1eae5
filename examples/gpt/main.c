/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a small GPT on the bytes of a text file twice, from the same weights on the same batches: with plain C for
 * everything, and with Kiln for everything but products (the embedding, norms, softmax, GELU, residuals, the loss, all
 * their gradients but the embedding's, AdamW). Prints both losses, and fails where they differ by more than the
 * tolerance.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples
 * Run:    build/examples/example_gpt docs/language.md [steps]
 * Built with the CUDA runtime, and where there is a GPU, the row programs run there; else on the CPU reference. */
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_STEPS = 300, LINES = 15 };

/* Of the loss, relative. Rounding differs, and training carries a difference of one step into all that follow. */
static const double tolerance = 1e-4;

struct text {
    unsigned char *bytes;
    long size;
};

/* False where it cannot be read or is too short. Ownership: the caller frees text->bytes in any case. */
static bool read_text(const char *path, struct text *text) {
    FILE *file = fopen(path, "rb");
    bool ok =
        file && !fseek(file, 0, SEEK_END) && (text->size = ftell(file)) > CONTEXT + 1 && !fseek(file, 0, SEEK_SET);
    if (ok) text->bytes = malloc((size_t)text->size);
    ok = ok && text->bytes && fread(text->bytes, 1, (size_t)text->size, file) == (size_t)text->size;
    if (file) fclose(file);
    if (!ok) fprintf(stderr, "gpt: '%s' cannot be read, or has less than %d bytes\n", path, CONTEXT + 2);
    return ok;
}

/* Sequences from places that depend on the step alone; the label of a token is the next one. */
static void draw_batch(const struct text *text, int step, unsigned char *tokens, unsigned char *labels) {
    uint32_t state = (uint32_t)step * 2654435761u + 1;
    for (int s = 0; s < BATCH; s++) {
        state = state * 1664525u + 1013904223u;
        const unsigned char *from = text->bytes + (state >> 8) % (uint32_t)(text->size - CONTEXT);
        for (int t = 0; t < CONTEXT; t++) {
            tokens[s * CONTEXT + t] = from[t];
            labels[s * CONTEXT + t] = from[t + 1];
        }
    }
}

static bool train(const struct text *text, int steps, struct model *plain, struct model *fused) {
    unsigned char tokens[TOKENS], labels[TOKENS];
    double first = 0, last = 0, largest = 0;
    printf("step   plain C      Kiln  difference\n");
    for (int step = 0; step < steps; step++) {
        double losses[2];
        draw_batch(text, step, tokens, labels);
        if (!model_step(plain, tokens, labels, &losses[0]) || !model_step(fused, tokens, labels, &losses[1]))
            return false;
        const double difference = fabs(losses[1] - losses[0]) / losses[0];
        if (step == 0) first = losses[1];
        last = losses[1];
        largest = fmax(largest, isnan(difference) ? INFINITY : difference);
        if (step % ((steps + LINES - 1) / LINES) == 0 || step == steps - 1)
            printf("%4d  %8.5f  %8.5f  %.1e\n", step, losses[0], losses[1], difference);
    }
    printf("largest relative difference %.1e, allowed %.0e\n", largest, tolerance);
    if (!(largest <= tolerance)) fprintf(stderr, "gpt: the losses differ\n");
    if (!(last < first)) fprintf(stderr, "gpt: the loss did not fall\n");
    return largest <= tolerance && last < first;
}

int main(int argc, char **argv) {
    const int steps = argc == 3 ? atoi(argv[2]) : DEFAULT_STEPS;
    struct text text = {0};
    if (argc < 2 || argc > 3 || steps < 1) {
        fprintf(stderr, "usage: %s FILE [STEPS]\n", argv[0]);
        return 2;
    }
    const struct backend loops = plain_backend();
    struct backend kiln = {0};
    struct model *plain = NULL, *fused = NULL;
    bool ok = read_text(argv[1], &text) && fused_create(&kiln);
    if (ok) {
        plain = model_create(&loops, 1);
        fused = model_create(&kiln, 1);
        ok = plain && fused;
        if (!ok) fprintf(stderr, "gpt: no memory\n");
    }
    ok = ok && train(&text, steps, plain, fused);
    model_destroy(fused);
    model_destroy(plain);
    fused_destroy(&kiln);
    free(text.bytes);
    return ok ? 0 : 1;
}
