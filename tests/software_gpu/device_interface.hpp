// SPDX-License-Identifier: Apache-2.0
/* What a compiled kernel and the software GPU that runs it know of each other. Kernels are compiled with no header
 * beside them: this file's text precedes device_language.hpp in each. */
#ifndef KILN_SOFTWARE_GPU_DEVICE_INTERFACE_HPP
#define KILN_SOFTWARE_GPU_DEVICE_INTERFACE_HPP

struct kiln_software_index {
    unsigned x, y, z;
};

/* The device as the running thread sees it. */
struct kiln_software_device {
    kiln_software_index thread, block, threads, blocks;
    unsigned cluster_rank;
    /* Addresses that need no look at the tables: the running thread's stack and the allocation met last. */
    unsigned long stack_low, stack_bytes, near_low, near_bytes;
    /* Each of these may end the launch and not return. */
    void (*access)(unsigned long address, unsigned long bytes, bool write);
    /* A read of a whole object, whose padding nobody may have written. */
    void (*read_object)(unsigned long address, unsigned long bytes);
    void (*barrier)();
    void (*warp_barrier)(unsigned lanes);
    bool (*warp_vote)(unsigned lanes, bool value); /* whether it is set in any of them */
    int (*atomic_add)(int *address, int value);    /* returns what was there */
    unsigned long long (*shuffle)(unsigned lanes, unsigned long long bits, int lane_mask);
    void (*copy_async)(void *shared, const void *global, int bytes);
    void (*copy_wait)(int groups); /* but for so many of the latest; -1: also for what is in none */
    void (*copy_commit)();
    void (*index_error)();
    void (*cluster_barrier)();
    void (*cluster_write)(unsigned *slot, unsigned rank, unsigned word);
    /* What a block is sent counts at a barrier of its own. */
    void (*cluster_prepare)(unsigned long long *arrivals, int count);
    void (*cluster_expect)(unsigned long long *arrivals, int bytes);
    void (*cluster_align)(const unsigned *slot, int words);
    void (*cluster_send)(unsigned *slot, unsigned rank, unsigned word, unsigned long long *arrivals);
    void (*cluster_wait)(unsigned long long *arrivals, int phase);
    void (*grid_barrier)(unsigned *counter);
    void (*launch_wait)();
};

struct kiln_software_kernel {
    const char *name;
    void (*enter)(void **parameters);
    unsigned long parameter_count;
    unsigned cluster;      /* blocks of a cluster, along x */
    unsigned most_threads; /* of a block */
};

/* Exported by each compiled image. */
struct kiln_software_image {
    kiln_software_device **device; /* set once, when the image is loaded */
    const kiln_software_kernel *kernels;
    unsigned long kernel_count;
    const char *dynamic_shared; /* the variable's name, "" without one */
    void (*touch_shared)();
};

#endif
