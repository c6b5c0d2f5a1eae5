/* Split rows whose last reduction ends in the launch that makes it. */

/* Whether the calling block is the last of those that work on its rows to have published its results: then it can combine
 * them all. Where two are the last at once, both do, and find the same. The marks of a launch are its own, so that memory
 * that nobody has cleared holds none of them; they are taken away at the end, since a graph launches them again. */
KILN_DEVICE bool kiln_is_last(const kiln_arguments &args, kiln_i64 group, int chunk) {
    __shared__ int all;
    kiln_u64 *const marks = reinterpret_cast<kiln_u64 *>(args.workspace + args.rows * KILN_SPLITS * KILN_EXCHANGED) + group * KILN_SPLITS;
    kiln_block_barrier();
    if (threadIdx.x == 0) {
        kiln_fence();
        kiln_put_mark(marks + chunk, args.mark);
    }
    kiln_block_barrier();
    if (threadIdx.x < 32) {
        int found = 1;
        kiln_fence();
        for (int i = (int)threadIdx.x; i < KILN_SPLITS; i += 32) found &= kiln_get_mark(marks + i) == args.mark;
#pragma unroll
        for (int mask = 1; mask < 32; mask *= 2) found &= kiln_shuffle(found, mask, 0xffffffffu);
        for (int i = (int)threadIdx.x; found && i < KILN_SPLITS; i += 32) kiln_put_mark(marks + i, 0);
        if (threadIdx.x == 0) all = found;
    }
    kiln_block_barrier();
    kiln_fence();
    return all;
}
