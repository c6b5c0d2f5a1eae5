/* SPDX-License-Identifier: Apache-2.0 */
/* A query of a data frame, `select shop, count(*), sum(amount), avg(amount), min, max, stddev group by shop`, as one
 * row program: each group is a row, padded to the longest group, and a column of lengths says how much of it counts.
 *
 * Build:  cmake -S examples -B build/examples && cmake --build build/examples
 * or:     cc examples/data_frame.c examples/arrays.c $(pkg-config --cflags --libs kiln) -lm */
#include "arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SALES = 5000, SHOPS = 12, STATISTICS = 5 };

/* The padding is never looked at: it is replaced before each reduction by what changes nothing there. */
static const char query[] = "counts = index(-1) < length\n"
                            "total = sum(where(counts, amount, 0))\n"
                            "average = total / length\n"
                            "smallest = min(where(counts, amount, inf))\n"
                            "largest = max(where(counts, amount, -inf))\n"
                            "d = where(counts, amount - average, 0)\n"
                            "deviation = sqrt(sum(d * d) / (length - 1))\n";
static const char *const names[STATISTICS] = {"total", "average", "smallest", "largest", "deviation"};

struct sale {
    int shop;
    float amount;
};

/* The groups as rows: amounts of group g are amount[g * width ...], length[g] of them. */
struct groups {
    int64_t width;
    int32_t *length;               /* SHOPS */
    float *amount;                 /* SHOPS x width */
    float *statistics[STATISTICS]; /* SHOPS each */
};

static void make_sales(struct sale *sales) {
    uint32_t state = 1;
    for (int i = 0; i < SALES; i++) {
        state = state * 1664525u + 1013904223u;
        sales[i].shop = (int)((state >> 16) % SHOPS);
        state = state * 1664525u + 1013904223u;
        sales[i].amount = (float)(state >> 8) / 65536 + (float)sales[i].shop;
    }
}

/* Counts, then places: the order of a group's rows does not matter to its statistics. False where memory ran out. */
static bool make_groups(const struct sale *sales, struct groups *groups) {
    int64_t filled[SHOPS] = {0};
    groups->length = array_create(SHOPS * sizeof(*groups->length));
    if (!groups->length) return false;
    for (int i = 0; i < SALES; i++) groups->length[sales[i].shop]++;
    for (int g = 0; g < SHOPS; g++)
        if (groups->length[g] > groups->width) groups->width = groups->length[g];
    groups->width = (groups->width + 63) / 64 * 64; /* few widths are few kernels, and rows begin aligned */
    groups->amount = array_create((size_t)(SHOPS * groups->width) * sizeof(*groups->amount));
    if (!groups->amount) return false;
    for (int i = 0; i < SALES; i++) {
        const int g = sales[i].shop;
        groups->amount[g * groups->width + filled[g]++] = sales[i].amount;
    }
    for (int s = 0; s < STATISTICS; s++)
        if (!(groups->statistics[s] = array_create(SHOPS * sizeof(float)))) return false;
    return true;
}

static void free_groups(struct groups *groups) {
    for (int s = 0; s < STATISTICS; s++) array_destroy(groups->statistics[s]);
    array_destroy(groups->amount);
    array_destroy(groups->length);
}

static kiln_status run(const struct groups *groups) {
    const int64_t rows[] = {SHOPS, groups->width}, column[] = {SHOPS, 1};
    kiln_binding bindings[2 + STATISTICS] = {{"amount", kiln_tensor_input(groups->amount, KILN_F32, 2, rows)},
                                             {"length", kiln_tensor_input(groups->length, KILN_I32, 2, column)}};
    for (int s = 0; s < STATISTICS; s++)
        bindings[2 + s] = (kiln_binding){names[s], kiln_tensor_contiguous(groups->statistics[s], KILN_F32, 2, column)};
    kiln_program_options options = KILN_PROGRAM_OPTIONS_INIT;
    options.outputs =
        "total,average,smallest,largest,deviation"; /* average is read again, and an output all the same */
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_status status = kiln_context_create(NULL, &context);
    if (!status) status = kiln_program_create(context, query, &options, &program);
    if (!status) status = arrays_run(program, bindings, 2 + STATISTICS, NULL, 0);
    if (status) report("data_frame", status);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return status;
}

/* One group by hand, in double. */
static void expect(const struct sale *sales, int g, double wanted[STATISTICS]) {
    double total = 0, count = 0, smallest = INFINITY, largest = -INFINITY, squares = 0;
    for (int i = 0; i < SALES; i++) {
        if (sales[i].shop != g) continue;
        total += (double)sales[i].amount;
        count++;
        smallest = fmin(smallest, (double)sales[i].amount);
        largest = fmax(largest, (double)sales[i].amount);
    }
    for (int i = 0; i < SALES; i++)
        if (sales[i].shop == g) squares += pow((double)sales[i].amount - total / count, 2);
    const double all[STATISTICS] = {total, total / count, smallest, largest, sqrt(squares / (count - 1))};
    for (int s = 0; s < STATISTICS; s++) wanted[s] = all[s];
}

static int show(const struct sale *sales, const struct groups *groups) {
    int wrong = 0;
    printf("shop count      total  average smallest  largest deviation\n");
    for (int g = 0; g < SHOPS; g++) {
        double wanted[STATISTICS];
        expect(sales, g, wanted);
        printf("%4d %5d", g, (int)groups->length[g]);
        for (int s = 0; s < STATISTICS; s++) {
            const double got = (double)groups->statistics[s][g];
            printf(" %*.3f", s ? 8 : 10, got);
            wrong |= !(fabs(got - wanted[s]) <= 1e-5 * fabs(wanted[s]));
        }
        printf("\n");
    }
    if (wrong) fprintf(stderr, "data_frame: a statistic is off by more than 1e-5 of its value\n");
    return wrong;
}

int main(void) {
    struct sale *sales = malloc(SALES * sizeof(*sales));
    struct groups groups = {0};
    int result = 1;
    if (sales) {
        make_sales(sales);
        if (!make_groups(sales, &groups))
            fprintf(stderr, "data_frame: no memory\n");
        else if (!run(&groups))
            result = show(sales, &groups);
    }
    free_groups(&groups);
    free(sales);
    return result;
}
