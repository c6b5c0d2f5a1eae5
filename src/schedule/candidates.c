/* SPDX-License-Identifier: Apache-2.0 */
/* Points that a strategy can have, by what the hardware allows. */
#include "schedule/candidates.h"

#include "base/checked.h"
#include "schedule/access.h"

#define MOST_REGISTER_BYTES 512 /* of a thread's vectors: half of its registers */
#define LEAST_VECTORS 2         /* of a thread in shared memory: one is as well in registers */

typedef struct lister {
    const kiln__traits *traits;
    const kiln__problem *problem;
    const kiln__device *device;
    kiln__pins *out;
    int count;
    int width; /* elements of the widest vector */
} lister;

static void add(lister *l, kiln__pins pins) {
    if (l->count < KILN__MOST_CANDIDATES) l->out[l->count++] = pins;
}

static kiln__pins point(int group, int staging, int threads) {
    return (kiln__pins){.group = group, .staging = staging, .threads = threads};
}

static int64_t vectors_of(const lister *l, int width) { return kiln__divide_up(l->problem->cols, width); }

/* Bytes of so many vectors of what differs from row to row. */
static int64_t bytes_of(const lister *l, int64_t vectors, int width) {
    return kiln__times(vectors, width * l->traits->input_bytes);
}

/* Whether so many threads have the row in registers, none of them without a vector but by rounding up. */
static bool fits_registers(const lister *l, int64_t threads, int width) {
    const int64_t steps = kiln__divide_up(vectors_of(l, width), threads);
    return steps <= KILN__MOST_REGISTER_ELEMENTS / width && bytes_of(l, steps, width) <= MOST_REGISTER_BYTES &&
           vectors_of(l, width) > threads / 2;
}

static bool fits_shared(const lister *l, int64_t threads, int64_t blocks, int width) {
    const int64_t steps = kiln__divide_up(vectors_of(l, width), threads * blocks);
    return steps >= LEAST_VECTORS && bytes_of(l, kiln__times(steps, threads), width) < l->device->shared_per_block;
}

/* The most blocks that a cluster can have. */
static int most_blocks(const lister *l) {
    int blocks = 1;
    while (kiln__cluster_fits(2 * blocks, l->device)) blocks *= 2;
    return blocks;
}

static void list_lanes(lister *l, int width) {
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        kiln__pins pins = point(KILN__GROUP_LANES, KILN__STAGING_REGISTERS, lanes);
        pins.vector_width = width;
        if (fits_registers(l, lanes, width)) add(l, pins);
    }
}

/* Blocks and clusters: persistent only where a cluster's shared memory holds most of the row. */
static void list_blocks(lister *l, int width) {
    for (int threads = 64; threads <= 1024; threads *= 2) {
        for (int cluster = 1; kiln__cluster_fits(cluster, l->device); cluster *= 2) {
            kiln__pins pins = point(KILN__GROUP_BLOCK, KILN__STAGING_REGISTERS, threads);
            pins.vector_width = width;
            pins.cluster = cluster > 1 ? cluster : 0;
            pins.persistent = -1;
            if (fits_registers(l, (int64_t)threads * cluster, width)) add(l, pins);
            pins.staging = KILN__STAGING_SHARED;
            if (fits_shared(l, threads, cluster, width)) add(l, pins);
            pins.persistent = 1;
            if (l->traits->phases > 0 && fits_shared(l, threads, 2 * (int64_t)cluster, width) && cluster >= 4)
                add(l, pins);
        }
    }
}

static void list_streams(lister *l, int width) {
    for (int threads = 128; threads <= 1024; threads *= 2) {
        const int64_t steps = kiln__divide_up(vectors_of(l, width), threads);
        for (int splits = 1; splits <= 64 && (splits == 1 || steps >= 2 * splits); splits *= 4) {
            kiln__pins pins = point(KILN__GROUP_BLOCK, KILN__STAGING_NONE, threads);
            pins.vector_width = width;
            pins.splits = splits;
            if (steps >= LEAST_VECTORS) add(l, pins);
        }
    }
}

static void list_rows_in_flight(lister *l) {
    for (int threads = 64; threads <= 512; threads *= 2) {
        for (int cluster = 1; kiln__cluster_fits(cluster, l->device); cluster *= 2) {
            for (int rows = 2; rows <= 4; rows++) {
                const int64_t steps = kiln__divide_up(vectors_of(l, l->width), threads * cluster);
                kiln__pins pins = point(-1, -1, threads);
                pins.cluster = cluster;
                pins.rows_per_block = rows;
                if (l->traits->invariants && steps <= 8 && vectors_of(l, l->width) >= threads * cluster) add(l, pins);
            }
        }
    }
}

static void list_tiles(lister *l) {
    for (int lanes = 1; lanes <= 32; lanes *= 2) {
        for (int rows = 16; rows <= 512; rows *= 2) {
            kiln__pins pins = point(KILN__GROUP_LANES, KILN__STAGING_TILE, lanes);
            pins.rows_per_block = rows;
            const int64_t bytes = bytes_of(l, kiln__times(rows, l->problem->cols), 1);
            if (rows * lanes >= 64 && l->problem->cols >= lanes && 2 * bytes <= l->device->shared_per_block)
                add(l, pins);
        }
    }
}

static void list_row(lister *l) {
    for (int width = l->width; width >= 1 && width * 2 >= l->width; width /= 2) {
        list_lanes(l, width);
        list_blocks(l, width);
    }
    list_streams(l, l->width);
    list_rows_in_flight(l);
    list_tiles(l);
    if (bytes_of(l, l->problem->cols, 1) > most_blocks(l) * l->device->shared_per_block)
        add(l, point(KILN__GROUP_GRID, KILN__STAGING_SHARED, 1024));
}

static void list_pointwise(lister *l) {
    for (int width = l->width; width >= 1; width /= 2) {
        for (int threads = 64; threads <= 512; threads *= 2) {
            for (int steps = 1; steps <= 16; steps *= 2) {
                kiln__pins pins = point(-1, -1, threads);
                pins.vector_width = width;
                pins.steps = steps;
                if (steps * width * (l->traits->input_bytes + l->traits->output_bytes) <= MOST_REGISTER_BYTES)
                    add(l, pins);
            }
        }
    }
}

/* The widths of a thread's rows and the ranks of a row, then where the columns stay, and who shares them. */
static void list_columns(lister *l, int width, int ranks) {
    for (int lanes = 1; lanes <= 64; lanes *= 2) {
        if (lanes * ranks < 64 || lanes * ranks > 1024) continue;
        const int64_t steps = kiln__divide_up(l->problem->cols, ranks);
        kiln__pins pins = point(-1, KILN__STAGING_REGISTERS, ranks);
        pins.vector_width = width;
        pins.rows_per_block = lanes * width;
        if (bytes_of(l, steps, width) <= MOST_REGISTER_BYTES / 2) add(l, pins);
        pins.staging = KILN__STAGING_SHARED;
        if (steps >= LEAST_VECTORS &&
            bytes_of(l, kiln__times(steps, ranks * lanes), width) < l->device->shared_per_block)
            add(l, pins);
        pins.staging = KILN__STAGING_NONE;
        for (int splits = 1; splits <= 256 && (splits == 1 || steps >= 4 * splits); splits *= 4) {
            pins.splits = splits;
            if (steps >= LEAST_VECTORS) add(l, pins);
        }
        pins.splits = 0;
        for (int cluster = 2; kiln__cluster_fits(cluster, l->device) && steps >= 2 * cluster; cluster *= 2) {
            pins.cluster = cluster;
            pins.staging = KILN__STAGING_SHARED;
            if (bytes_of(l, kiln__times(steps / cluster, ranks * lanes), width) < l->device->shared_per_block)
                add(l, pins);
            const bool few = bytes_of(l, steps / cluster, width) <= MOST_REGISTER_BYTES / 2;
            pins.staging = few ? KILN__STAGING_REGISTERS : KILN__STAGING_NONE;
            add(l, pins);
        }
    }
}

static void list_column(lister *l) {
    for (int width = 1; width <= 8; width *= 2)
        for (int ranks = 1; ranks <= 128 && ranks <= l->problem->cols; ranks *= 2) list_columns(l, width, ranks);
    add(l, point(-1, KILN__STAGING_TILE, 0));
}

int kiln__candidates_list(const kiln__traits *traits, const kiln__problem *problem, const kiln__device *device,
                          kiln__pins out[KILN__MOST_CANDIDATES]) {
    lister l = {.traits = traits, .problem = problem, .device = device, .out = out};
    l.width = kiln__widest_vector(problem);
    add(&l, KILN__PINS_NONE);
    switch (problem->layout) {
    case KILN__LAYOUT_FLAT: list_pointwise(&l); break;
    case KILN__LAYOUT_INNER: list_row(&l); break;
    case KILN__LAYOUT_OUTER: list_column(&l); break;
    }
    return l.count;
}
