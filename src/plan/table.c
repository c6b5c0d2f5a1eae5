/* Many small blocks beat few big ones: while one loads, another waits.
 * Figures in the reasons: softmax of f16 on an H100, as fractions of the time of a copy of the same bytes. */
#include "plan/table.h"

const kiln__choice kiln__table[] = {
    {0, 4, 0, 1, false, APART, KILN__RESIDENCY_REGISTERS, "a pack for each lane, whatever its size"},
    {5, 8, 4, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "small packs, neighbouring lanes on neighbouring ones (20 of 24 columns: four lanes 0.799, eight 0.570, a tile "
     "0.400)"},
    {9, 48, 8, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "small packs, few lanes idle (33 of 40 columns: eight lanes 0.848, sixteen 0.610, a tile 0.625)"},
    {49, 200, 16, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "small packs (77 of 80 columns: sixteen lanes 0.936, 32 0.730, a tile 0.664)"},
    {201, 640, 32, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "small packs on a warp (257 of 264 columns: 0.969, a tile 0.571; 197 beside a mask 0.92 and 0.55)"},
    {641, 1536, 64, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "small packs (577 columns beside a mask: 64 threads 0.955, a warp 0.736, a tile 0.598)"},
    {1537, 8192, 128, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "up to 64 small packs in a thread's registers (8,191 of 8,192 columns: 0.979, eight blocks of 256 threads 0.371)"},
    {8193, 16384, 256, 1, false, APART, KILN__RESIDENCY_REGISTERS,
     "up to 64 small packs in a thread's registers (16,383 of 16,384 columns of f32: 1.016, sixteen blocks 0.640)"},
    {16385, 131072, 256, 8, false, APART, KILN__RESIDENCY_REGISTERS,
     "up to 64 small packs in a thread's registers (50,257 of 50,304 columns: 0.747, in shared memory 0.386)"},
    {65, 192, 32, 1, false, SEVERAL, KILN__RESIDENCY_REGISTERS,
     "a warp: several packs under way in each lane (softmax_grad of 264 columns: 1.047, 128 threads 0.870; of 512 "
     "1.067 and 1.032)"},
    {2, 2, 1, 1, false, READING, KILN__RESIDENCY_REGISTERS,
     "one lane reads the row's two packs (sums of 8 columns of f32: 0.969, two lanes 0.802)"},
    {33, 64, 16, 1, false, EVEN, KILN__RESIDENCY_SHARED,
     "16 lanes with two packs each and more, on their way at once (softmax_grad of 256 columns, 49,152 rows: 0.991, a "
     "pack of each tensor for each of 32 lanes 0.972; softmax of 512 columns 1.006 and 0.992)"},
    {0, 32, 0, 1, false, 0, KILN__RESIDENCY_REGISTERS,
     "a short row fits one pack per lane; fewer lanes take fewer shuffle steps (64 columns: 8 lanes 0.955, 4 lanes "
     "of 2 packs 0.64)"},
    {0, 64, 32, 1, false, 0, KILN__RESIDENCY_REGISTERS, "two packs per lane of a warp, and no block barrier"},
    {65, 256, 32, 1, false, READING_ODD, KILN__RESIDENCY_REGISTERS,
     "a warp, whose packs overhang the row (sums of 1,023 columns of f16: 0.941, 128 threads 0.817)"},
    {97, 272, 32, 1, false, ODD, KILN__RESIDENCY_REGISTERS,
     "a warp, whose packs overhang the row (softmax of 1,023 columns of bf16: 0.970, tiles 0.943)"},
    {257, 512, 256, 1, false, READING, KILN__RESIDENCY_REGISTERS,
     "two packs per thread (sums of 2,048 columns of f32: 0.966, four 0.957)"},
    {3585, 4096, 512, 4, false, READING, KILN__RESIDENCY_REGISTERS,
     "two packs per thread of four blocks (sums of 16,384 columns of f32: 1.001, one block of 1,024 threads 0.946)"},
    {4097, 8192, 256, 8, false, READING, KILN__RESIDENCY_REGISTERS,
     "one launch: as fast as two where rows are many (sums of 32,768 columns of f32: 0.979 and 0.980), and faster "
     "where they are few"},
    {513, 1024, 256, 1, false, READING_ODD, KILN__RESIDENCY_REGISTERS,
     "up to five packs per thread, whose packs overhang the row (sums of 4,097 columns of f16: 0.968, 128 threads "
     "0.939)"},
    {1025, 1792, 512, 1, false, READING_ODD, KILN__RESIDENCY_REGISTERS,
     "up to four packs per thread, whose packs overhang the row (sums of 4,097 columns of f32: 0.993, 1,024 threads "
     "0.869)"},
    {1025, 4096, 1024, 1, false, READING, KILN__RESIDENCY_REGISTERS,
     "two packs per thread (sums of 8,192 columns of f32: 1.000, four 0.971), four at most: few rows need no second "
     "launch (one of 16,384 columns: 4.3 us, 6.7 with two)"},
    {257, 512, 256, 1, false, SHARING, KILN__RESIDENCY_REGISTERS,
     "two packs per thread (layer_norm of 4,096 columns: 1.003, four 0.991; one row of them 5.3 us and 6.0)"},
    {513, 896, 128, 1, false, SHARING, KILN__RESIDENCY_REGISTERS,
     "128 threads, where few packs are left over (layer_norm of 5,000 columns: 1.018, 512 threads 0.913)"},
    {1025, 1400, 128, 1, false, SHARING, KILN__RESIDENCY_REGISTERS,
     "128 threads, where few packs are left over (layer_norm of 10,000 columns: 1.007, 512 threads 0.965)"},
    {513, 2048, 512, 1, false, SHARING | READING, KILN__RESIDENCY_REGISTERS,
     "the more threads, the fewer wait for what all rows share (layer norm of 16,384 columns: 512 threads 0.990, 256 "
     "0.949)"},
    {0, 1024, 128, 1, false, 0, KILN__RESIDENCY_REGISTERS,
     "128 threads with up to 8 packs in registers: 0.992 to 1.005 from 1,024 to 8,192 columns, larger blocks lose"},
    {1025, 1536, 256, 1, false, SHARING_ODD, KILN__RESIDENCY_SHARED,
     "one block, whose packs overhang the row (rms_norm of 9,001 columns: 0.992, four blocks 0.798; layer_norm 0.910 "
     "and 0.625)"},
    {1537, 3072, 512, 1, false, SHARING_ODD, KILN__RESIDENCY_SHARED,
     "one block, whose packs overhang the row (rms_norm of 14,001 columns: 0.983, four blocks 0.859; layer_norm 0.858 "
     "and 0.705)"},
    {1537, 3072, 512, 1, false, SHARING_ODD, KILN__RESIDENCY_REGISTERS,
     "the same in registers, where that spills (layer_norm of 16,383 columns: 0.826, four blocks 0.641)"},
    {2049, 3072, 512, 1, false, SHARING, KILN__RESIDENCY_REGISTERS,
     "up to six packs per thread (layer_norm of 20,000 columns: 1.006, four blocks 0.943)"},
    {2049, 10240, 256, 4, false, SHARING, KILN__RESIDENCY_SHARED,
     "four blocks with up to 40 KB of the row each wait less for what all rows share (rms_norm of 32,768 columns: "
     "0.998, one block of 1,024 threads 0.974; layer_norm of 65,536 0.963, eight blocks 0.939)"},
    {2049, 7000, 1024, 1, false, SHARING, KILN__RESIDENCY_SHARED,
     "two blocks of 1,024 threads on a multiprocessor wait less for what all rows share (rms_norm of 49,152 columns: "
     "0.978, blocks of 512 0.833)"},
    {1025, 1536, 128, 1, false, EVEN, KILN__RESIDENCY_REGISTERS,
     "up to twelve packs per thread (10,000 columns: 1.023, four blocks 0.966)"},
    {1025, 2100, 128, 1, false, ODD, KILN__RESIDENCY_REGISTERS,
     "packs overhang the row, and few of a thread's are masked (9,001 columns: 1.004, four blocks 0.720)"},
    {2101, 4096, 256, 1, false, ODD, KILN__RESIDENCY_SHARED,
     "packs overhang the row, and few of a thread's are masked (28,001 columns: 0.988, eight blocks 0.841)"},
    {1025, 3072, 128, 4, false, EVEN, KILN__RESIDENCY_REGISTERS,
     "four blocks share the row (16,384 columns: 1.002, in shared memory 1.003; 8 rows of them 5.4 us and 5.7)"},
    {3073, 4096, 128, 8, false, EVEN, KILN__RESIDENCY_REGISTERS,
     "eight blocks share the row (32,768 columns: 0.997, in shared memory 0.997; 32 rows of them 7.1 us and 7.7)"},
    {14337, 16384, 128, 16, false, EVEN, KILN__RESIDENCY_REGISTERS,
     "sixteen blocks share the row (131,072 columns: 1.003, eight with it in shared memory 0.999; 32 rows of 128,256 "
     "11.3 us and 12.2)"},
    {1025, 3072, 128, 4, false, 0, KILN__RESIDENCY_SHARED,
     "four blocks share the row: as fast as one, and faster where rows are few (16,384 columns: 1.002, one block "
     "1.010; 8 rows of them 6.0 us and 6.9)"},
    {3073, 4096, 128, 8, false, 0, KILN__RESIDENCY_SHARED,
     "eight blocks share the row: as fast as one, and faster where rows are few (32,768 columns: 1.000, one block "
     "0.993; 32 rows of them 7.0 us and 9.0)"},
    {0, 4096, 256, 1, false, 0, KILN__RESIDENCY_SHARED,
     "where no blocks share a row: up to 64 KB in shared memory, so that three rows are under way (16,384 columns: "
     "1.010; 32,768: 0.993)"},
    {10241, 20480, 256, 8, false, SHARING, KILN__RESIDENCY_SHARED,
     "eight blocks with up to 40 KB of the row each (layer_norm of 128,256 columns: 0.977, four blocks 0.829)"},
    {4097, 5120, 256, 2, false, ODD, KILN__RESIDENCY_SHARED,
     "two blocks, each with a few packs more than the two that have masks (33,001 columns: 0.989, four blocks 0.893)"},
    {4097, 16384, 256, 4, false, ODD, KILN__RESIDENCY_SHARED,
     "four blocks, each with a few packs more than the two that have masks (50,257 columns: 0.988, eight blocks "
     "0.841)"},
    {4097, 16384, 256, 8, false, 0, KILN__RESIDENCY_SHARED,
     "eight blocks with up to 32 KB of the row each: as fast as four, and faster where rows are few (128,256 "
     "columns: 1.026, four blocks 1.019; 32 rows of them 12.5 us and 13.8)"},
    {0, 7000, 512, 1, false, 0, KILN__RESIDENCY_SHARED,
     "where no blocks share a row: up to 110 KB in shared memory, so that two rows are under way (50,257 columns: "
     "0.985)"},
    {20481, 40960, 512, 8, false, SHARING, KILN__RESIDENCY_SHARED,
     "512 threads wait less for what all rows share (rms_norm of 262,144 columns: 0.973, 16 blocks of 256 0.967)"},
    {16385, 24576, 256, 8, false, ODD, KILN__RESIDENCY_SHARED,
     "eight blocks, each with a few packs more than the two that have masks (150,001 columns: 0.992, sixteen blocks "
     "0.890)"},
    {16385, 65536, 256, 16, false, 0, KILN__RESIDENCY_SHARED,
     "sixteen blocks with up to 64 KB of the row each (262,144 columns: 1.005, eight blocks 0.995; 524,288: 0.996, "
     "512 threads 0.890)"},
    {16385, 32768, 256, 8, false, 0, KILN__RESIDENCY_SHARED, "eight blocks with 64 KB of the row each"},
    {32769, 131072, 256, 16, true, 0, KILN__RESIDENCY_SHARED,
     "of sixteen blocks each holds so much of the row that two fit a multiprocessor (1,048,576 columns: 0.893; 512 "
     "threads 0.810)"},
    {32769, 262144, 512, 16, true, 0, KILN__RESIDENCY_SHARED,
     "sixteen blocks hold what they can of the row, and fetch the next one while they finish it"},
    {2049, 12288, 1024, 1, false, 0, KILN__RESIDENCY_SHARED, "one large block holds the row in shared memory"},
    {1048576, INT64_MAX, 1024, WHOLE_GRID, true, 0, KILN__RESIDENCY_SHARED,
     "all multiprocessors hold what they can of the row; what does not fit is read twice"},
    {0, INT64_MAX, 1024, 1, false, 0, KILN__RESIDENCY_STREAM,
     "the row is read once, or does not fit the shared memory of the blocks that reach each other"},
    {0},
};
