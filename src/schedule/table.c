/* SPDX-License-Identifier: Apache-2.0 */
/* Many small blocks beat few big ones: while one loads, another waits.
 * Figures in the reasons: softmax of f16 on an H100, as fractions of the time of a copy of the same bytes; those of an
 * H200, whose memory is half as fast again beside the same multiprocessors, say so. */
#include "schedule/table.h"

const kiln__choice kiln__table[] = {
    {0, 4, 0, 1, false, APART, KILN__STAGING_REGISTERS, "a vector for each lane, whatever its size"},
    {5, 8, 4, 1, false, APART, KILN__STAGING_REGISTERS,
     "small vectors, neighbouring lanes on neighbouring ones (20 of 24 columns: four lanes 0.799, eight 0.570, a tile "
     "0.400)"},
    {9, 48, 8, 1, false, APART, KILN__STAGING_REGISTERS,
     "small vectors, few lanes idle (33 of 40 columns: eight lanes 0.848, sixteen 0.610, a tile 0.625)"},
    {49, 200, 16, 1, false, APART, KILN__STAGING_REGISTERS,
     "small vectors (77 of 80 columns: sixteen lanes 0.936, 32 0.730, a tile 0.664)"},
    {201, 640, 32, 1, false, APART, KILN__STAGING_REGISTERS,
     "small vectors on a warp (257 of 264 columns: 0.969, a tile 0.571; 197 beside a mask 0.92 and 0.55)"},
    {641, 1536, 64, 1, false, APART, KILN__STAGING_REGISTERS,
     "small vectors (577 columns beside a mask: 64 threads 0.955, a warp 0.736, a tile 0.598)"},
    {1537, 8192, 128, 1, false, APART, KILN__STAGING_REGISTERS,
     "up to 64 small vectors in a thread's registers (8,191 of 8,192 columns: 0.979, eight blocks of 256 threads "
     "0.371)"},
    {8193, 16384, 256, 1, false, APART, KILN__STAGING_REGISTERS,
     "up to 64 small vectors in a thread's registers (16,383 of 16,384 columns of f32: 1.016, sixteen blocks 0.640)"},
    {16385, 131072, 256, 8, false, APART, KILN__STAGING_REGISTERS,
     "up to 64 small vectors in a thread's registers (50,257 of 50,304 columns: 0.747, in shared memory 0.386)"},
    {65, 192, 32, 1, false, SEVERAL, KILN__STAGING_REGISTERS,
     "a warp: several vectors in each lane (softmax_grad of 264 columns: 1.047, 128 threads 0.870; of 512 1.067 and "
     "1.032)"},
    {5, 10, 2, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "two lanes that combine columns (argmax of 63 columns of f16: 0.972, four 0.712, a tile 0.907)"},
    {11, 16, 4, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "few lanes: each step that combines columns takes several instructions (argmax of 100 columns of f16: four lanes "
     "1.001, eight 0.740)"},
    {17, 48, 8, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "eight lanes that combine columns (argmax of 257 columns of f16: 1.016, sixteen 0.824, 32 0.545)"},
    {49, 96, 16, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "sixteen lanes that combine columns (argmax of 512 columns of f16: 1.026, 32 1.019)"},
    {97, 192, 32, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "a warp that combines columns (argmax of 1,000 columns of f16: 1.014, 128 threads 0.698)"},
    {193, 272, 64, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "64 threads that combine columns (argmax of 1,024 columns of f32, H200: 0.970, 128 threads 0.873)"},
    {273, 400, 128, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "128 threads that combine columns (argmax of 1,000 columns of f32: 1.046, a warp 1.014)"},
    {401, 1536, 256, 1, false, TAKING, KILN__STAGING_REGISTERS,
     "256 threads that combine columns (argmax of 8,192 columns of f16: 0.983, 512 threads 0.931)"},
    {1537, 4096, 128, 4, false, TAKING, KILN__STAGING_REGISTERS,
     "four blocks that combine columns (argmax of 16,384 columns of f16: 1.054, one of 1,024 threads 0.848)"},
    {4097, 9216, 128, 8, false, TAKING, KILN__STAGING_REGISTERS,
     "eight blocks that combine columns (argmax of 50,257 columns of f16: 1.012, two launches 0.673)"},
    {9217, 18432, 128, 16, false, TAKING, KILN__STAGING_REGISTERS,
     "sixteen blocks that combine columns (argmax of 128,256 columns of f16: 1.014, two launches 0.817; one row in "
     "less than half the time)"},
    {18433, 65536, 256, 16, false, TAKING, KILN__STAGING_REGISTERS,
     "sixteen blocks that combine columns (argmax of 128,256 columns of f32: 1.022, 128 threads 1.002)"},
    {0, 11, 4, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "four lanes of an unaligned row (sums of 65 columns of f16: 0.995, tiles 0.958)"},
    {12, 24, 8, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "eight lanes of an unaligned row (sums of 90 columns of f16: 0.968, tiles 0.934; of 131, H200: 1.000, "
     "sixteen lanes 0.635)"},
    {25, 40, 16, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "sixteen lanes of an unaligned row (sums of 255 columns of f16: 0.986, a warp 0.889; of 131 of f32, "
     "H200: 0.960, a warp 0.820)"},
    {41, 176, 32, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "a warp of an unaligned row (sums of 1,023 columns of f16: 0.941, 128 threads 0.817)"},
    {177, 256, 128, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "128 threads of an unaligned row (sums of 785 columns of f32, H200: 1.009, a warp 0.950)"},
    {24, 80, 8, 1, false, INDEXED, KILN__STAGING_REGISTERS,
     "eight lanes of an unaligned row (causal softmax of 577 columns of f16: 0.991, tiles 0.901)"},
    {81, 120, 16, 1, false, INDEXED, KILN__STAGING_REGISTERS,
     "sixteen lanes of an unaligned row (causal softmax of 785 columns of f16: 0.992, a warp 0.888)"},
    {33, 96, 16, 1, false, ODD, KILN__STAGING_REGISTERS,
     "sixteen lanes of an unaligned row (513 columns, H200: 0.998, tiles 0.929; softmax_grad of 301 0.970, a "
     "warp 0.921)"},
    {97, 272, 32, 1, false, ODD, KILN__STAGING_REGISTERS,
     "a warp of an unaligned row (softmax_grad of 901 columns: 0.987, tiles 0.948)"},
    {2, 2, 1, 1, false, READING, KILN__STAGING_REGISTERS,
     "one lane reads the row's two vectors (sums of 8 columns of f32: 0.969, two lanes 0.802)"},
    {3, 4, 2, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per lane, so that enough is under way (sums of 16 columns of f32, H200: 0.998, four lanes 0.846)"},
    {5, 8, 4, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per lane, so that enough is under way (sums of 32 columns of f32, H200: 1.002, eight lanes 0.847)"},
    {9, 16, 8, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per lane, so that enough is under way (sums of 64 columns of f32, H200: 0.968, sixteen lanes 0.808)"},
    {17, 32, 16, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per lane, so that enough is under way (sums of 128 columns of f32, H200: 0.953, a warp 0.806)"},
    {33, 128, 32, 1, false, READING, KILN__STAGING_REGISTERS,
     "up to four vectors per lane of a warp (sums of 512 columns of f32, H200: 0.991, 128 threads 0.840)"},
    {33, 64, 16, 1, false, EVEN, KILN__STAGING_SHARED,
     "16 lanes with two vectors each and more, on their way at once (softmax_grad of 256 columns, 49,152 rows: 0.991, "
     "a "
     "vector of each tensor for each of 32 lanes 0.972; softmax of 512 columns 1.006 and 0.992)"},
    {0, 32, 0, 1, false, 0, KILN__STAGING_REGISTERS,
     "a short row fits one vector per lane; fewer lanes take fewer shuffle steps (64 columns: 8 lanes 0.955, 4 lanes "
     "of 2 vectors 0.64)"},
    {0, 64, 32, 1, false, 0, KILN__STAGING_REGISTERS, "two vectors per lane of a warp, and no block barrier"},
    {57, 96, 16, 1, false, NORMS_MORE, KILN__STAGING_REGISTERS,
     "up to six vectors for each of sixteen unaligned lanes (layer_norm of 577 columns, H200: 0.943, a warp 0.898)"},
    {97, 184, 32, 1, false, NORMS_MORE, KILN__STAGING_REGISTERS,
     "up to six vectors for each unaligned lane of a warp (layer_norm of 769 columns, H200: 0.982, sixteen lanes "
     "0.953)"},
    {185, 384, 64, 1, false, NORMS_MORE, KILN__STAGING_REGISTERS,
     "up to six unaligned vectors per thread (layer_norm of 1,537 columns, H200: 0.989, a warp 0.976)"},
    {385, 1024, 128, 1, false, NORMS_MORE, KILN__STAGING_REGISTERS,
     "up to eight unaligned vectors per thread (layer_norm of 3,073 columns, H200: 0.989, 64 threads 0.971)"},
    {57, 112, 32, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "up to four vectors for each unaligned lane of a warp (rms_norm of 577 columns, H200: 0.969, sixteen lanes "
     "0.932)"},
    {113, 208, 64, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "up to four unaligned vectors per thread (rms_norm of 1,151 columns, H200: 0.997, a warp 0.983)"},
    {209, 512, 128, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "up to four unaligned vectors per thread (rms_norm of 2,047 columns, H200: 1.010, 64 threads 1.001)"},
    {513, 1024, 256, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "up to four unaligned vectors per thread (rms_norm of 6,001 columns, H200: 1.008, 128 threads 0.999)"},
    {65, 96, 16, 1, false, SHARING_ODD, KILN__STAGING_REGISTERS,
     "up to six vectors per thread of an unaligned row (layer_norm of 523 columns: 0.952, tiles 0.924)"},
    {97, 160, 32, 1, false, SHARING_ODD, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of an unaligned row (layer_norm of 1,031 columns: 0.948, tiles 0.940)"},
    {161, 320, 64, 1, false, SHARING_ODD, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of an unaligned row (layer_norm of 2,047 columns: 0.949, tiles 0.936, 128 "
     "threads 0.906)"},
    {321, 1024, 128, 1, false, SHARING_ODD, KILN__STAGING_REGISTERS,
     "128 threads of an unaligned row (layer_norm of 3,001 columns: 0.994, tiles 0.951, 256 threads 0.860)"},
    {257, 512, 256, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per thread (sums of 2,048 columns of f32: 0.966, four 0.957)"},
    {3585, 4096, 512, 4, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per thread of four blocks (sums of 16,384 columns of f32: 1.001, one block of 1,024 threads 0.946)"},
    {4097, 8192, 256, 8, false, READING, KILN__STAGING_REGISTERS,
     "one launch: as fast as two where rows are many (sums of 32,768 columns of f32: 0.979 and 0.980), and faster "
     "where they are few"},
    {2305, 4608, 128, 4, false, READING_ODD, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of four blocks (sums of 12,001 columns of f32, H200: 1.046, streamed 0.973; of "
     "32,767 of f16 0.987, eight blocks 0.879)"},
    {4609, 5120, 128, 8, false, READING_ODD, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of eight blocks (sums of 16,385 columns of f32: 1.010, streamed 0.961; of 32,769 "
     "of "
     "f16 1.007 and 0.948)"},
    {5121, 9216, 256, 8, false, READING_ODD, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of eight blocks: as fast as two launches where rows are many (sums of 50,257 "
     "columns "
     "of f16: 0.999 and 0.996), and faster where they are few (16 rows 0.881 and 0.658)"},
    {8193, 24576, 256, 16, false, READING | READING_ODD, KILN__STAGING_REGISTERS,
     "up to six vectors per thread of sixteen blocks: as fast as two launches where rows are many (sums of 65,536 "
     "columns of f32: 0.993 and 1.000), and faster where they are few (16 rows 1.274 and 1.034)"},
    {24577, 65536, 512, 16, false, READING | READING_ODD, KILN__STAGING_REGISTERS,
     "up to eight vectors per thread of sixteen blocks: one launch (sums of 262,144 columns of f16: 1.001, two 1.004; "
     "one row 0.952 and 0.704)"},
    {513, 1024, 256, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of an unaligned row (sums of 4,097 columns of f16: 0.968, 128 threads 0.939)"},
    {1025, 1792, 512, 1, false, READING_ODD, KILN__STAGING_REGISTERS,
     "up to four vectors per thread of an unaligned row (sums of 4,097 columns of f32: 0.993, 1,024 threads 0.869)"},
    {1025, 1280, 256, 1, false, READING, KILN__STAGING_REGISTERS,
     "256 threads, where few vectors are left over (sums of 10,000 columns of f16, H200: 0.954, 512 threads 0.903, "
     "1,024 0.653)"},
    {1281, 1536, 512, 1, false, READING, KILN__STAGING_REGISTERS,
     "512 threads, where few vectors are left over (sums of 6,000 columns of f32, H200: 1.009, 1,024 threads 0.963)"},
    {1025, 4096, 1024, 1, false, READING, KILN__STAGING_REGISTERS,
     "two vectors per thread (sums of 8,192 columns of f32: 1.000, four 0.971), four at most: few rows need no second "
     "launch (one of 16,384 columns: 4.3 us, 6.7 with two)"},
    {65, 96, 32, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "three vectors per lane of a warp (layer_norm of 768 columns, H200: 1.013, 128 threads 0.859)"},
    {97, 128, 64, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "two vectors per thread (layer_norm of 1,024 columns, H200: 0.992, 128 threads 0.922)"},
    {129, 192, 64, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "three vectors per thread (layer_norm of 1,536 columns, H200: 1.014, 128 threads 0.961)"},
    {257, 512, 128, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "up to four vectors per thread (layer_norm of 3,000 columns, H200: 1.014, 256 threads 0.908; of 4,096 0.967 and "
     "0.919, one row of them 5.7 us and 5.6)"},
    {513, 896, 128, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "128 threads, where few vectors are left over (layer_norm of 5,000 columns: 1.018, 512 threads 0.913)"},
    {1793, 3584, 512, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "up to seven unaligned vectors per thread (rms_norm of 22,001 columns, H200: 0.985, 256 threads 0.946)"},
    {1793, 4608, 128, 4, false, SHARING_EXP, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of four blocks (softmax(x * w) of 16,383 columns of f16: 0.863, one block 0.680)"},
    {1025, 2304, 256, 1, false, SHARING_ODD, KILN__STAGING_REGISTERS,
     "one block of an unaligned row (rms_norm of 12,001 columns: 0.996, in shared memory 0.964; layer_norm "
     "0.971 and 0.932)"},
    {897, 1024, 512, 1, false, SHARING_ALONE, KILN__STAGING_SHARED,
     "in shared memory: more threads fit a multiprocessor (layer_norm of 8,192 columns, H200: 0.952, in registers "
     "0.903)"},
    {1025, 1280, 256, 1, false, SHARING_ALONE, KILN__STAGING_SHARED,
     "256 threads, where few vectors are left over (layer_norm of 10,000 columns, H200: 0.968, 128 with them in "
     "registers 0.940)"},
    {1281, 1536, 512, 1, false, SHARING_ALONE, KILN__STAGING_SHARED,
     "in shared memory: more threads fit a multiprocessor (layer_norm of 12,288 columns, H200: 0.952, in registers "
     "0.895)"},
    {513, 2048, 512, 1, false, SHARING | READING, KILN__STAGING_REGISTERS,
     "the more threads, the fewer wait for what all rows share (layer norm of 16,384 columns: 512 threads 0.990, 256 "
     "0.949)"},
    {65, 128, 64, 1, false, EVEN, KILN__STAGING_REGISTERS,
     "two vectors per thread, so that enough is under way (1,000 columns, H200: 1.002, 128 threads 0.908)"},
    {0, 1024, 128, 1, false, 0, KILN__STAGING_REGISTERS,
     "128 threads with up to 8 vectors in registers: 0.992 to 1.005 from 1,024 to 8,192 columns, larger blocks lose"},
    {1025, 3072, 512, 1, false, SHARING_ODD, KILN__STAGING_SHARED,
     "one block of an unaligned row, of more columns than its registers hold (rms_norm of 24,001: 0.968, 256 "
     "threads 0.876)"},
    {4099, 5120, 256, 2, false, NORMS, KILN__STAGING_SHARED,
     "two unaligned blocks (rms_norm of 36,001 columns, H200: 0.913, registers of four 0.830; layer_norm 0.823 and "
     "0.763)"},
    {4609, 9216, 128, 8, false, SHARING_ONE, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of eight blocks (rms_norm of 65,535 columns: 0.983, in shared memory of four "
     "0.964; "
     "softmax(x * w) of 50,257 0.849 and 0.590)"},
    {9217, 18432, 128, 16, false, SHARING_ONE, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of sixteen blocks (rms_norm of 131,073 columns: 0.986, in shared memory of eight "
     "0.961)"},
    {18433, 26624, 256, 8, false, NORMS, KILN__STAGING_SHARED,
     "eight unaligned blocks (rms_norm of 200,001 columns, H200: 0.881, in registers of sixteen 0.826)"},
    {18433, 36864, 256, 16, false, SHARING_ONE, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of sixteen blocks (rms_norm of 262,143 columns: 0.929, in shared memory of eight "
     "0.923)"},
    {3585, 4098, 256, 2, false, NORMS_MORE, KILN__STAGING_REGISTERS,
     "up to eight vectors per thread of two blocks (layer_norm of 32,767 columns, H200: 0.816, four blocks 0.802)"},
    {2049, 2560, 512, 1, false, SHARING, KILN__STAGING_REGISTERS,
     "up to five vectors per thread (layer_norm of 20,000 columns: 1.006, four blocks 0.943)"},
    {3585, 4608, 256, 4, false, SHARING_ONE, KILN__STAGING_REGISTERS,
     "up to five vectors per thread of four blocks (rms_norm of 32,769 columns, H200: 0.882, one block 0.838)"},
    {2561, 4096, 256, 2, false, SHARING, KILN__STAGING_SHARED,
     "two blocks (layer_norm of 32,768 columns, H200: 0.909, four 0.861; of 24,576 0.917, one with it in registers "
     "0.769)"},
    {4097, 8192, 512, 2, false, SHARING, KILN__STAGING_SHARED,
     "two blocks of 512 threads (layer_norm of 65,536 columns, H200: 0.908, four of 256 0.888; rms_norm of 50,000 "
     "0.947 and 0.935)"},
    {3585, 4608, 1024, 1, false, NORMS, KILN__STAGING_REGISTERS,
     "where no blocks share a row, unaligned (rms_norm of 32,769 columns: 0.956, in shared memory of four "
     "blocks 0.941)"},
    {2049, 10240, 256, 4, false, SHARING, KILN__STAGING_SHARED,
     "four blocks with up to 40 KB of the row each wait less for what all rows share (rms_norm of 32,768 columns: "
     "0.998, one block of 1,024 threads 0.974; layer_norm of 65,536 0.963, eight blocks 0.939)"},
    {2049, 7000, 1024, 1, false, SHARING, KILN__STAGING_SHARED,
     "where no blocks share a row: two of 1,024 threads on a multiprocessor wait less for what all rows share "
     "(rms_norm "
     "of 49,152 columns: 0.978, blocks of 512 0.833)"},
    {1025, 1536, 128, 1, false, EVEN, KILN__STAGING_REGISTERS,
     "up to twelve vectors per thread (10,000 columns: 1.023, four blocks 0.966)"},
    {1537, 2048, 256, 2, false, EVEN, KILN__STAGING_SHARED,
     "two blocks share the row (16,384 columns, H200: 0.985, four with it in registers 0.966; of 14,336 0.978 and "
     "0.922; 8 rows 0.771 and 0.808)"},
    {1025, 1792, 128, 2, false, ODD, KILN__STAGING_REGISTERS,
     "two blocks share the row, unaligned (9,001 columns: 1.032, one block 1.024)"},
    {1793, 2304, 128, 2, false, ODD, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of two blocks (16,383 columns, H200: 0.965, four blocks 0.911)"},
    {2305, 4608, 128, 4, false, ODD, KILN__STAGING_REGISTERS,
     "up to nine vectors per thread of four blocks of an unaligned row (28,001 columns: 1.023, in shared "
     "memory of one 0.997; 32,767, H200: 0.960, eight blocks 0.884)"},
    {4609, 9216, 128, 8, false, ODD, KILN__STAGING_REGISTERS,
     "eight blocks share the row, unaligned (50,257 columns: 1.028, in shared memory of four 1.008)"},
    {9217, 51200, 128, 16, false, ODD, KILN__STAGING_REGISTERS,
     "sixteen blocks share the row, unaligned (262,143 columns: 1.006, in shared memory 0.971; "
     "softmax_grad 0.988 and 0.872; 131,101 of bf16, H200: 0.996, eight blocks 0.987)"},
    {51201, 73728, 256, 16, false, ODD, KILN__STAGING_REGISTERS,
     "256 threads have registers for it (262,143 columns of f32: 0.976, 128 threads 0.919, in shared memory 0.905)"},
    {1025, 2100, 128, 1, false, ODD, KILN__STAGING_REGISTERS,
     "where no blocks share a row, unaligned (9,001 columns: 1.024, two blocks 1.032)"},
    {2101, 4096, 256, 1, false, ODD, KILN__STAGING_SHARED,
     "where no blocks share a row, unaligned (28,001 columns: 0.997, four blocks 1.023)"},
    {2049, 2560, 256, 1, false, SEVERAL, KILN__STAGING_REGISTERS,
     "256 threads, where few vectors are left over (softmax_grad of 10,000 columns, H200: 1.037, four blocks 0.937)"},
    {1025, 3072, 128, 4, false, EVEN, KILN__STAGING_REGISTERS,
     "four blocks share the row (20,000 columns, H200: 1.000; 24,576 0.968)"},
    {3073, 4096, 256, 4, false, EVEN, KILN__STAGING_SHARED,
     "four blocks of 256 threads (32,768 columns of bf16, H200: 0.975, in registers 0.913; of f16 0.992 and 0.969)"},
    {4097, 6144, 256, 8, false, SEVERAL, KILN__STAGING_SHARED,
     "eight blocks with it in shared memory (softmax_grad of 20,000 columns, H200: 1.032, 128 threads, registers "
     "0.842)"},
    {4097, 6144, 128, 8, false, EVEN, KILN__STAGING_REGISTERS,
     "eight blocks share the row (20,000 columns of f32, H200: 1.017, in shared memory 0.934)"},
    {14337, 16384, 128, 16, false, EVEN, KILN__STAGING_REGISTERS,
     "sixteen blocks share the row (131,072 columns: 1.003, eight with it in shared memory 0.999; 32 rows of 128,256 "
     "11.3 us and 12.2)"},
    {0, 4096, 256, 1, false, 0, KILN__STAGING_SHARED,
     "where no blocks share a row: up to 64 KB in shared memory, so that three rows are under way (16,384 columns: "
     "1.010; 32,768: 0.993)"},
    {10241, 20480, 256, 8, false, SHARING, KILN__STAGING_SHARED,
     "eight blocks with up to 40 KB of the row each (layer_norm of 128,256 columns: 0.977, four blocks 0.829)"},
    {4097, 16384, 256, 8, false, 0, KILN__STAGING_SHARED,
     "eight blocks with up to 32 KB of the row each: as fast as four, and faster where rows are few (128,256 "
     "columns: 1.026, four blocks 1.019; 32 rows of them 12.5 us and 13.8)"},
    {0, 7000, 512, 1, false, 0, KILN__STAGING_SHARED,
     "where no blocks share a row: up to 110 KB in shared memory, so that two rows are under way (50,257 columns: "
     "0.985)"},
    {20481, 40960, 512, 8, false, SHARING, KILN__STAGING_SHARED,
     "512 threads wait less for what all rows share (rms_norm of 262,144 columns: 0.973, 16 blocks of 256 0.967)"},
    {16385, 65536, 256, 16, false, 0, KILN__STAGING_SHARED,
     "sixteen blocks with up to 64 KB of the row each (262,144 columns: 1.005, eight blocks 0.995; 524,288: 0.996, "
     "512 threads 0.890)"},
    {32769, 131072, 256, 16, true, 0, KILN__STAGING_SHARED,
     "sixteen blocks, of which two fit a multiprocessor (1,048,576 columns: 0.893; 512 threads 0.810)"},
    {32769, 262144, 512, 16, true, 0, KILN__STAGING_SHARED,
     "sixteen blocks hold what they can of the row, and fetch the next one while they finish it"},
    {2049, 12288, 1024, 1, false, 0, KILN__STAGING_SHARED, "one large block holds the row in shared memory"},
    {1048576, INT64_MAX, 1024, WHOLE_GRID, true, 0, KILN__STAGING_SHARED,
     "all multiprocessors hold what they can of the row; what does not fit is read twice"},
    {0, INT64_MAX, 1024, 1, false, 0, KILN__STAGING_NONE,
     "the row is read once, or does not fit the shared memory of the blocks that reach each other"},
    {0},
};
