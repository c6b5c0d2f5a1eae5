/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie side by side, on the software GPU against the CPU reference: each way in which a thread's pack of rows
 * can lie, and each way in which a row's columns can be divided. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "support/bound.h"
#include "support/packed_case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIRST "y = reduce((a, b) -> where(a != 0, a, b), x, 0)"

static const packed_case cases[] = {
    /* Packs of 16 bytes, several accesses for the wider type, 8 rows at most. */
    {"s = sum(x)", "0", "f16[20,136] f16[136]", "columns 4, registers, outer, vector 8 x 5", NULL, false},
    {"s = sum(x)", "0", "f16[20,136] f32[136]", "vector 8 x 5",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f64[20,70] f64[70]", "vector 2 x 5", "threads 4, vector 2", false},
    {"s = sum(x)", "0", "i8[20,136] i64[136]", "vector 8 x 5",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"s = any(x)", "0", "bool[20,136] bool[136]", "vector 8 x 5",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"y = x / max(x)", "0", "e4m3[20,136] f16[20,136]", "vector 8 x 5",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x) * w", "0", "f16[20,136] f64[136] f32[20,136]", "vector 8 x 5",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    /* What does not lie side by side, or not aligned. */
    {"s = sum(x)", "0", "f16[20,135] f16[135]", "vector 1 x 5, 64 rows per block",
     "threads 4, registers, vector 1, rows 64, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f16[20,130] f16[130]", "runs of 2",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f32[20,136]@4 f32[136]", "vector 1 x ", NULL, false},
    {"s = sum(x)", "0", "f16[20,135]{136,1} f16[135]", "vector 8 x 5, 256 rows per block, masked",
     "threads 4, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f16[20,3]{8,1} f16[3]", NULL, NULL, false},
    {"s = sum(x)", "1", "f32[6,20,68] f32[6,68]", "vector 4 x 5",
     "threads 4, registers, vector 4, rows 128, cluster 1, splits 1, phased", false},
    {"s = sum(x)", "1", "f32[6,20,63] f32[6,63]",
     "columns 4, registers, outer, vector 4 x 5, 92 rows per block, misaligned",
     "threads 4, registers, vector 4, rows 92, cluster 1, splits 1, phased, misaligned", false},
    {"s = sum(x)", "1,2", "f16[3,5,7,72] f16[3,72]", "vector 8",
     "threads 8, registers, vector 8, rows 256, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x + b)", "1", "f16[5,30,24] f16[5,1,24]{24,24,1} f16[5,30,24]", "vector", NULL, false},
    {"y = x * w + sum(x * g)", "0", "f32[30,40] f32[40]{2} f32[30,1] f32[30,40]", "vector 4", "registers", false},
    {"y = x + index(0) * 100 + index(1) + sum(x)", "0", "f32[9,44] f32[9,44]", "vector 4",
     "threads 2, registers, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = uniform(7, 0) + sum(x)", "0", "f32[9,44] f32[9,44]", "vector 4",
     "threads 2, registers, vector 4, rows 64, cluster 1, splits 1, phased, runs", false},
    {"s = argmax(x)", "0", "f16[77,40] i64[40]", "vector", NULL, false},
    {"s = argmax(abs(x)) + max(x)", "0", "f64[17,13] f64[13]", "vector 2",
     "threads 4, registers, vector 2, rows 14, cluster 1, splits 1, phased, misaligned", false}, /* 24 bytes of state */
    {FIRST, "0", "i32[77,40] i32[40]", "ordered", NULL, false},
    /* One row; columns of one element. */
    {"y = softmax(x)", "0", "f32[40,1] f32[40,1]", "vector 1",
     "threads 8, registers, vector 1, rows 4, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x) * x", "1", "f16[5001,1] f16[5001,1]", "columns 1, registers, outer, vector 16 x 1", NULL, false},
    {"y = rms_norm(x, w, 1e-5)", "1", "f32[999,1] f32[1] f32[999,1]", "masked", NULL, true},
    {"s = sum(x); y = x + s", "1", "f32[7,1]@4 f32[7,1]@4", "vector 1 x ", NULL, false},
    {"y = x * x + sum(x)", "1", "f16[300,1]{3,1} f16[300,1]", "vector", NULL, false},
    {"y = layer_norm(x)", "0", "f16[1,24,3] f16[1,24,3]", "columns 1", NULL, false},
    /* Rows in registers, in shared memory, read again; split. */
    {"y = softmax(x)", "0", "f16[60,64] f16[60,64]", "columns 8, registers",
     "threads 8, registers, vector 8, rows 64, cluster 1, splits 1, phased, runs", true},
    {"y = layer_norm(x)", "0", "f16[200,64] f16[200,64]", "columns 32, shared",
     "threads 32, shared, vector 8, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = layer_norm(x)", "0", "f16[200,64] f16[200,64]", "columns 32, registers", "threads 32, registers", false},
    {"y = softmax(x)", "0", "f16[600,64] f16[600,64]", "columns 64, shared",
     "threads 64, shared, vector 8, rows 32, cluster 1, splits 1, phased, runs", true},
    {"y = softmax(x)", "0", "f16[600,63] f16[600,63]",
     "columns 64, shared, outer, vector 8 x 10, 24 rows per block, misaligned",
     "threads 64, shared, vector 8, rows 24, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "0", "i8[600,64]@1 f32[600,64]", "columns 64, shared",
     "threads 64, shared, vector 1, rows 8, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f16[600,66]{70,1} f16[600,66]", "shared",
     "threads 64, shared, vector 4, rows 32, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f32[3700,24] f32[24]", "cluster 8",
     "threads 32, stream, vector 2, rows 32, cluster 8, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f64[3000,24] f64[24]", "columns 64",
     "threads 64, stream, vector 2, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f32[10000,8] f32[10000,8]", "splits 20, online",
     "threads 32, stream, vector 4, rows 8, cluster 1, splits 20, online, runs", true},
    {"y = softmax(x)", "0", "f32[10000,8] f32[10000,8]", "splits 20",
     "threads 32, stream, vector 4, rows 8, cluster 1, splits 20, phased, runs", true},
    /* Two phases in one reading: of elements far from 0, of chunks that have nothing but -infinity. */
    {"s = var(x + 1000)", "0", "f32[10000,40] f32[40]", "splits 20, online",
     "threads 64, stream, vector 4, rows 64, cluster 1, splits 20, online, runs", false},
    {"s = var(x)", "1", "f16[2,9000,72] f16[2,72]", "splits 18, online",
     "threads 64, stream, vector 8, rows 64, cluster 1, splits 18, online, runs", false},
    {"s = var(x + 1000)", "0", "f64[9000,10] f64[10]", "online", NULL, false},
    {"s = var(x)", "0", "f16[9000,92]{96,1} f16[92]", "online, masked", NULL, false},
    {"y = layer_norm(x)", "0", "f16[9000,92]{96,1} f16[9000,92]{96,1}", "online, masked",
     "threads 32, stream, vector 8, rows 64, cluster 1, splits 18, online, runs", false},
    {"s = logsumexp(x)", "0", "f32[9000,36] f32[36]", "splits 18, online",
     "threads 64, stream, vector 4, rows 64, cluster 1, splits 18, online, runs", false},
    {"s = logsumexp(where(index(0) < 8000, x, -inf))", "0", "f32[9000,36] f32[36]", "splits 18, online",
     "threads 64, stream, vector 4, rows 64, cluster 1, splits 18, online, runs", false},
    {"y = layer_norm(x)", "0", "f32[9000,20] f32[9000,20]", "splits 18, online",
     "threads 32, stream, vector 4, rows 32, cluster 1, splits 18, online, runs", false},
    {"y = layer_norm(x); s = mean(x)", "0", "f32[9000,20] f32[9000,20] f32[20]", "splits 18, online",
     "threads 32, stream, vector 4, rows 32, cluster 1, splits 18, online, runs", false},
    {"m = mean(x); s = sum(x * m) + sum(abs(x - m)) + max(x - m) + min(x - m)", "0", "f32[8200,7] f32[7]", "splits 17",
     "threads 32, stream, vector 1, rows 8, cluster 1, splits 17, phased, runs",
     false}, /* 16 bytes of state, behind 8 */
    {"m = mean(x); y = softmax(x - m)", "0", "f32[9000,36] f32[9000,36]", "splits 18, online",
     "threads 32, stream, vector 4, rows 64, cluster 1, splits 18, online, runs", false},
    /* Tall matrices of few rows: packs as wide as the rows allow. */
    {"s = sum(x)", "0", "f16[9001,10] f16[10]", "outer, vector 4 x 4, 16 rows per block, runs of 2, splits 36",
     "threads 64, stream, vector 4, rows 16, cluster 1, splits 36, phased, runs", false},
    {"s = sum(x) + max(x)", "0", "bf16[9000,8] f32[8]", "outer, vector 4",
     "threads 64, stream, vector 4, rows 8, cluster 1, splits 36, phased, runs", false},
    /* Whole batches, whole chunks, and what is left of them. */
    {"s = sum(x)", "0", "f16[501,64] f16[64]", "columns 16, stream, outer, vector 8 x 32",
     "threads 16, stream, vector 8, rows 64, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f32[2101,32] f32[32]", "columns 64, stream, outer, vector 4 x 33",
     "threads 64, stream, vector 4, rows 32, cluster 1, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f32[9001,37] f32[37]", "outer, vector 4 x 4, 40 rows per block, splits 36, misaligned",
     "threads 64, stream, vector 4, rows 40, cluster 1, splits 36, phased, misaligned, single", false},
    {"s = max(x) - min(x)", "0", "f16[8897,64] f32[64]", "outer, vector 8 x 4, 64 rows per block, splits 35",
     "threads 64, stream, vector 8, rows 64, cluster 1, splits 35, phased, runs", false},
    {"s = sum(x)", "0", "f32[24577,8] f32[8]", "splits 97", NULL, false},
    {"s = sum(x)", "0", "f16[9000,16] f16[16]", "outer, vector 8", NULL, false},
    {"s = mean(x * w)", "0", "f16[9000,8] f32[8] f32[8]", "outer, vector 4",
     "threads 64, stream, vector 4, rows 8, cluster 1, splits 36, phased, runs", false},
    {"s = var(x)", "0", "f16[9000,24] f16[24]", "outer, vector 4 x 8, 32 rows per block, splits 18, online",
     "threads 64, stream, vector 4, rows 32, cluster 1, splits 18, online, runs", false},
    {"y = layer_norm(x)", "0", "f16[9000,12] f16[9000,12]", "columns 32, stream, outer, vector 4 x 16, 16 rows",
     "threads 32, stream, vector 4, rows 16, cluster 1, splits 18, online, runs", true},
    {"y = l2_normalize(x)", "0", "f32[9000,6] f32[9000,6]", "columns 32, stream, outer, vector 2",
     "threads 32, stream, vector 2, rows 8, cluster 1, splits 18, phased, runs", true},
    {"y = x * w / norm_inf(x)", "1", "f16[3,9000,3] f32[3] f16[3,9000,3]",
     "columns 32, stream, outer, vector 1 x 16, 4 rows",
     "threads 32, stream, vector 1, rows 4, cluster 1, splits 18, phased, runs", false},
    {"y = l2_normalize(x)", "0", "u8[1100000,2] f16[1100000,2]", "columns 128, stream", NULL, false},
    {"s = argmin(x) * 2 + (max(x) > 3)", "0", "f16[9000,20] i64[20]", "splits 36",
     "threads 64, stream, vector 4, rows 32, cluster 1, splits 36, phased, runs", false},
    {"y = layer_norm(x)", "0", "f32[200,21]{24,1} f32[200,21]", "splits 2", "stream, splits 2", false},
    {"y = softmax(x)", "0", "f16[4000,80] f16[4000,80]", "cluster 8, block 256, shared, outer, vector 8 x 16",
     "threads 32, cluster 8, shared, vector 8", true},
    {"y = layer_norm(x)", "0", "f32[2100,40] f32[2100,40]", "cluster 16, block 256, shared",
     "threads 16, shared, vector 4, rows 64, cluster 16, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "u8[4096,66] f32[4096,66]", "cluster 8, block 320, shared",
     "threads 32, shared, vector 8, rows 72, cluster 8, splits 1, phased, misaligned, single", false},
    {"y = softmax(x)", "0", "e4m3[8192,68] f32[8192,68]", "cluster 16, block 256, shared",
     "threads 32, shared, vector 8, rows 64, cluster 16, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f16[600,130] f16[600,130]", "cluster 4, block 448, registers",
     "threads 64, registers, vector 8, rows 48, cluster 4, splits 1, phased, misaligned", true},
    {"y = softmax(x)", "0", "f16[3000,40] f16[3000,40]", "cluster 8, block 256, shared",
     "cluster 8, threads 32, shared", false},
    {"y = layer_norm(x)", "1", "f32[3,77,21]{1848,24,1} f32[3,77,21]", "cluster 2, block 512, registers",
     "threads 16, registers, vector 1, rows 32, cluster 2, splits 1, phased, runs", false},
    /* Columns a multiple of 128 KB apart: every other tile lies 64 KB on; the last ones are not spread. */
    {"s = sum(x)", "0", "f16[7,65600]{65664,1} f16[65600]", "cluster 2, block 256", "cluster 2, threads 4, rows 512",
     false},
    {"s = sum(x)", "0", "f16[7,65700]{131072,1} f16[65700]", "cluster 2, block 256", "cluster 2, threads 4, rows 512",
     false},
    {"y = max(x) - x", "0", "f32[6,32900]{65536,1} f32[6,32900]", "cluster 2", "cluster 2, threads 4, shared", false},
    {"s = nanmean(x)", "0", "f16[300,24] f16[24]", "cluster 2", "cluster 2, threads 64, shared",
     false}, /* gaps in its state */
    {"s = argmax(x)", "0", "i8[400,30] i64[30]", "cluster 16, block 32",
     "threads 2, registers, vector 2, rows 32, cluster 16, splits 1, phased, runs", false},
    {FIRST, "0", "i32[777,40] i32[40]", "cluster 4, block 128, shared",
     "cluster 4, threads 8, shared, vector 4, rows 64", false},
    /* Read once, by several blocks. */
    {"s = sum(x)", "0", "f16[1000,64] f16[64]",
     "cluster 8, block 128, registers, outer, vector 8 x 8, 64 rows per block",
     "threads 16, registers, vector 8, rows 64, cluster 8, splits 1, phased, runs", false},
    {"s = sum(x)", "0", "f16[1000,63] f16[63]", "cluster 8, block",
     "threads 16, registers, vector 8, rows 72, cluster 8, splits 1, phased, misaligned", false},
    {"s = sum(x)", "1", "f32[3,900,68] f32[3,68]", "cluster 4, block 512, registers",
     "threads 32, registers, vector 4, rows 64, cluster 4, splits 1, phased, runs", false},
    {"s = sum(x) + max(x)", "0", "bf16[3500,20] f32[20]", "cluster 8, block",
     "threads 64, registers, vector 2, rows 16, cluster 8, splits 1, phased, runs", false},
    {"s = argmax(x)", "0", "bf16[3500,20] i64[20]", "columns 64, stream",
     "threads 64, stream, vector 2, rows 32, cluster 1, splits 1, phased, runs", false},
    {"s = max(x)", "0", "f16[3000,70] f16[70]", "cluster 8, block 320, registers",
     "threads 32, registers, vector 8, rows 72, cluster 8, splits 1, phased, misaligned, single", false},
    {"s = max(x)", "0", "f16[3000,24] f16[24]", "cluster 8, block",
     "threads 32, registers, vector 2, rows 32, cluster 8, splits 1, phased, runs", false},
    {FIRST, "0", "i16[1700,40] i16[40]", "cluster 8, block",
     "threads 32, registers, vector 4, rows 64, cluster 8, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f32[300,21] f32[300,21]", "splits 3", "stream, splits 3", false},
    {"y = softmax(x)", "0", "f16[77,40] f16[77,40]", "columns 8, shared, outer, vector 2",
     "threads 8, vector 2, shared", false},
    {"y = softmax(x)", "0", "f16[77,40] f16[77,40]", "columns 2, stream", "threads 2, rows 16, stream, batch 3", false},
    {FIRST, "0", "i32[77,40] i32[40]", "splits 4", "threads 4, stream, splits 4", false},
    /* Weights of rows that packs overhang are shifted into place: of many steps, of several blocks, of other types.
     */
    {"y = softmax(x * w)", "1", "f32[3,9999] f32[9999] f32[3,9999]", "inner, vector 4 x 40",
     "cluster 2, block 32, registers", false},
    {"y = rms_norm(x, w)", "1", "f16[5,32777] f32[32777] f16[5,32777]", "inner, vector 8 x 5",
     "cluster 4, block 256, registers, vector 8, phased", false},
    {"y = softmax(x * w) * b", "1", "f16[9,4099] f16[4099] f32[4099] f32[9,4099]", "inner, vector 4 x 8, peeled",
     "block 128, registers, vector 4", false},
};

/* Rows that begin at another place of a pack in each column. */
static const packed_case misaligned[] = {
    /* In registers, in shared memory, streamed, by a cluster, in chunks; of one run of neighbours and of several. */
    {"y = softmax(x)", "0", "f16[68,135] f16[68,135]", "columns 16, shared, outer, vector 8 x 5",
     "threads 16, shared, vector 8, rows 24, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[3,68,135] f16[3,68,135]", "columns 16, shared, outer, vector 8 x 5",
     "threads 16, shared, vector 8, rows 136, cluster 1, splits 1, phased, misaligned, single", true},
    {"y = layer_norm(x)", "1", "f32[3,20,41] f32[3,20,41]", "columns 4, registers, outer, vector 4 x 5",
     "threads 4, registers, vector 4, rows 60, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[2,600,63] f16[2,600,63]", "columns 64, shared",
     "threads 64, shared, vector 8, rows 64, cluster 1, splits 1, phased, misaligned", true},
    {"y = softmax(x)", "0", "f32[600,131] f32[600,131]", "columns 64, shared",
     "threads 64, shared, vector 4, rows 12, cluster 1, splits 1, phased, misaligned", false},
    {"y = layer_norm(x)", "1", "f16[2,70,21] f16[2,70,21]", "columns 16, stream", "threads 16, stream", false},
    {"y = softmax(x)", "1", "f16[2,1500,33] f16[2,1500,33]", "cluster 4", "cluster 4, shared", false},
    {"y = layer_norm(x)", "1", "f32[2,2100,41] f32[2,2100,41]", "cluster 16",
     "threads 16, shared, vector 4, rows 44, cluster 16, splits 1, phased, misaligned", true},
    {"y = softmax(x)", "0", "f32[10000,9] f32[10000,9]", "splits 20, online",
     "threads 32, stream, vector 1, rows 16, cluster 1, splits 20, online, runs", false},
    {"y = softmax(x)", "0", "f16[9000,21] f16[9000,21]", "splits 18, online",
     "threads 32, stream, vector 1, rows 32, cluster 1, splits 18, online, runs", false},
    {"s = sum(x)", "0", "f16[64,1001] f16[1001]", "columns 8, registers", NULL, false},
    {"s = sum(x)", "1", "f16[3,200,1001] f16[3,1001]", "columns 16, stream",
     "threads 16, stream, vector 8, rows 120, cluster 1, splits 1, phased, misaligned", false},
    {"s = sum(x)", "1", "f32[3,900,67] f32[3,67]", "cluster 4",
     "threads 32, registers, vector 4, rows 68, cluster 4, splits 1, phased, misaligned", false},
    {"s = max(x)", "1", "bf16[2,3500,21] f32[2,21]", "cluster 8",
     "threads 64, registers, vector 1, rows 8, cluster 8, splits 1, phased, runs", false},
    {"s = max(x)", "0", "f16[3000,77] f16[77]", "cluster 8",
     "threads 32, registers, vector 8, rows 80, cluster 8, splits 1, phased, misaligned", false},
    {"s = sum(x)", "0", "f32[9001,77] f32[77]", "splits 18",
     "threads 64, stream, vector 4, rows 28, cluster 1, splits 18, phased, misaligned", false},
    {"s = var(x + 1000)", "0", "f32[9001,77] f32[77]", "online, misaligned",
     "threads 64, stream, vector 4, rows 28, cluster 1, splits 18, online, misaligned", false},
    {"s = logsumexp(x)", "0", "f16[9001,77] f16[77]", "online, misaligned",
     "threads 64, stream, vector 8, rows 40, cluster 1, splits 18, online, misaligned", false},
    {"s = argmax(x)", "0", "f16[200,43] i64[43]", "columns 16",
     "threads 16, stream, vector 8, rows 24, cluster 1, splits 1, phased, misaligned", false},
    {"y = prod(x); s = var(x) + y", "0", "f64[40,13] f64[13]", "columns", NULL, false},
    /* Too few rows, an even number, a last block of two. */
    {"y = softmax(x)", "1", "f16[5,64,3] f16[5,64,3]", "vector 1",
     "threads 8, registers, vector 1, rows 64, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f16[64,2] f16[64,2]", "vector 1",
     "threads 8, registers, vector 1, rows 4, cluster 1, splits 1, phased, runs", true},
    {"y = softmax(x)", "1", "f32[7,333,17] f32[7,333,17]", "misaligned",
     "threads 64, shared, vector 4, rows 20, cluster 1, splits 1, phased, misaligned", false},
    {"s = sum(x)", "1", "f16[40,200,35] f16[40,35]", "misaligned", "stream", false},
    {"s = sum(x)", "1", "u8[9,128,37] i64[9,37]", "misaligned",
     "threads 32, registers, vector 8, rows 40, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[3,68,50] f16[3,68,50]", "24 rows per block, misaligned",
     "threads 16, shared, vector 8, rows 24, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[3,68,122] f16[3,68,122]", "misaligned",
     "threads 16, shared, vector 8, rows 136, cluster 1, splits 1, phased, misaligned, single", false},
    {"y = softmax(x)", "0", "f16[68,497] f16[68,497]", "misaligned",
     "threads 16, shared, vector 8, rows 136, cluster 1, splits 1, phased, misaligned, single", false},
    /* Several tensors: of other types, of one value for each row or each column, of what drifts otherwise. */
    {"y = x * g + sum(x * g)", "1", "f16[3,68,45] f32[3,68,45] f32[3,68,45]", "misaligned",
     "threads 16, shared, vector 4, rows 52, cluster 1, splits 1, phased, misaligned", false},
    {"y = (x + b) * w + sum(x)", "1", "f16[3,68,45] f32[3,1,45]{45,45,1} f16[68,1] f16[3,68,45]", "misaligned",
     "threads 16, shared, vector 8, rows 56, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x) * w + index(1) * 10 + index(2)", "1", "f16[3,68,45] f16[45] f32[3,68,45]", "misaligned",
     "threads 16, shared, vector 8, rows 56, cluster 1, splits 1, phased, misaligned", false},
    {"y = uniform(7, 0) + sum(x)", "1", "f16[3,68,45] f32[3,68,45]", "misaligned",
     "threads 16, shared, vector 8, rows 56, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "1", "f16[3,68,45]{3128,46,1} f16[3,68,45]", "vector 1",
     "threads 16, registers, vector 1, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "1", "f16[3,68,45]{3608,53,1} f16[3,68,45]{3064,45,1}", "misaligned",
     "threads 16, shared, vector 8, rows 56, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "0", "f16[68,45]{53,1} f16[68,45]", "misaligned",
     "threads 16, shared, vector 8, rows 24, cluster 1, splits 1, phased, misaligned", false},
    {"y = softmax(x)", "0", "f16[68,45]@2 f16[68,45]", "vector 1",
     "threads 16, registers, vector 1, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f16[68,45]{5,1} f16[68,45]", "vector 1",
     "threads 16, registers, vector 1, rows 32, cluster 1, splits 1, phased, runs", false},
    {"y = softmax(x)", "0", "f32[68,45]{5,1} f32[68,45]", "misaligned", NULL, false},
    {"y = softmax(x)", "1", "f16[3,68,45]{1,135,3} f16[3,68,45]", NULL, NULL, false},
    {FIRST, "0", "i32[64,45] i32[45]", "vector 1",
     "threads 8, registers, vector 1, rows 32, cluster 1, splits 1, phased, runs", false},
    /* One tensor's runs are one, another's are not; values of 4 and of 8 bytes in one state. */
    {"s = sum(x * w)", "0", "f32[100,7,101] f32[7,1] f32[7,101]", "misaligned",
     "threads 32, registers, vector 4, rows 28, cluster 1, splits 1, phased, misaligned", false},
    {"y = x * sum(x) + sum(index(1))", "1", "f16[10,100,199] f32[10,100,199]", "misaligned", NULL, false},
    {"y = x * sum(x) + sum(index(0))", "0", "f16[1000,135] f32[1000,135]", "cluster", NULL, false},
};

/* Elementwise, of inputs whose neighbours lie in another dimension than the output's. */
static const packed_case squares[] = {
    /* Whole squares, squares that overhang in one direction and in both, of each width. */
    {"y = a + b", "", "f16[64,256] f16[64,256]{1,64} f16[64,256]",
     "threads 64, registers, flat, vector 8 x 8, transpose, 8 side by side", "threads 64, vector 8, steps 8", true},
    {"y = a + b", "", "f16[64,100] f16[64,100]{1,64} f16[64,100]", "vector 4 x 8, transpose, 32 side by side",
     "threads 256, vector 4, steps 8", true},
    {"y = a * 2", "", "f32[71,133]{1,71} f32[71,133]", "flat, vector 1 x 4, transpose, 32 side by side, masked",
     "threads 256, vector 1, steps 4", false},
    {"y = a * 2", "", "f32[71,133]{1,72} f32[71,133]{136,1}", "flat, vector 1 x 4, transpose, 32 side by side, masked",
     "threads 128, vector 1, steps 4", false},
    {"y = a * 2", "", "f64[40,70]{1,40} f64[40,70]", "flat, vector 2 x 8, transpose,", "threads 256, vector 2, steps 8",
     false},
    {"y = a + b", "", "u8[70,144] u8[70,144]{1,70} i16[70,144]", "flat, vector 8 x 16", NULL, false},
    {"y = a - 1", "", "i8[64,32]{1,64}@1 f32[64,32]", "flat, vector 4 x 16, transpose,",
     "threads 32, vector 4, steps 16", false},
    {"y = a + 1", "", "f64[64,32]{1,64} e4m3[64,32]", "flat, vector 16 x 4, transpose, 2 side by side",
     "threads 32, vector 16, steps 4", false},
    {"y = !a", "", "bool[33,65]{1,33} bool[33,65]", "flat, vector 1 x 16", "threads 256, vector 1, steps 16", false},
    {"y = gelu(a) + erf(b)", "", "bf16[24,50]{1,24} f32[24,50]{50,1} f32[24,50]", "transpose,", NULL, false},
    /* Three dimensions and more, of which any two are turned; few on one side. */
    {"y = a * 2", "", "f16[5,64,80]{5120,1,64} f16[5,64,80]", "transpose,", NULL, false},
    {"y = a * 2", "", "f16[24,3,40]{1,960,24} f16[24,3,40]", "transpose,", NULL, false},
    {"y = a * b", "", "f32[3,36,6,40]{8640,1,36,216} f32[36,1,1] f32[3,36,6,40]", "transpose,", NULL, false},
    {"y = a * b", "", "f32[36,5,3,40]{1,4320,36,108} f32[5,1,40] f32[36,5,3,40]", "transpose,", NULL, false},
    {"y = a - b", "", "u8[2,3,300]{900,1,3} f32[3,1] f16[2,3,300]", "vector 4 x 4, transpose, 64 side by side, masked",
     "threads 64, vector 4, steps 4", false},
    {"y = a", "", "f16[2,300,3]{900,1,300} f16[2,300,3]", "flat, vector 8 x 1", "threads 128, vector 8, steps 1",
     false},
    {"y = a", "", "f16[1000,17]{1,1000} f16[1000,17]", "transpose,", NULL, false},
    /* Operands of one value for each run, for each place in it, for what lies across; steps of two; what is counted. */
    {"y = a + b * c", "", "f16[40,64]{1,40} f16[64] f32[40,1] f16[40,64]", "transpose,", NULL, false},
    {"y = a + b", "", "f32[40,64]{1,40} f32[40,64]{1,0} f32[40,64]", "transpose,", NULL, false},
    {"y = a + b", "", "f16[40,64]{1,40} f16[40,64]{130,2} f16[40,64]", "transpose,", NULL, false},
    {"y = a", "", "f16[40,64]{2,80} f16[40,64]", "flat, vector 8 x 1", "threads 128, vector 8, steps 1", false},
    {"y = a + b", "", "f16[80,16,40]{1,3200,80} f16[80,16,40]{640,1,16} f16[80,16,40]", "transpose,", NULL, false},
    {"y = a * 100 + index(0) * 10 + index(1)", "", "f32[21,41]{1,21} f32[21,41]", "transpose,", NULL, false},
    {"y = a + uniform(7, 0)", "", "f32[21,41]{1,21} f32[21,41]", "transpose,", NULL, false},
    {"y = a - b", "", "i32[30,40]{40,1} i32[30,40] i32[30,40]{1,30}", "transpose,", NULL, false},
    {"y = a", "", "f16[40,64]{1,40} f16[40,64]", "vector 2 x 4, transpose,", "threads 64, vector 2, steps 4", false},
    {"y = a", "", "f16[400,64]{1,400} f16[400,64]", "threads 96, registers, flat, vector 8 x 4, transpose, 8 side",
     "threads 96, steps 3", false},
    {"y = a", "", "f16[401,64]{1,401} f16[401,64]",
     "threads 96, registers, flat, vector 1 x 4, transpose, 32 side by side, masked", "threads 96, vector 1, steps 4",
     false},
};

/* Rows that lie neither one behind the other nor in whole packs: small packs in registers. Tiles of them, copied a row
 * at a time, where they are asked for. */
static const packed_case apart[] = {
    {"y = softmax(x)", "1", "f16[9,3]{5,1} f16[9,3]", "lanes 4, registers, inner, vector 1 x 1",
     "lanes 4, registers, vector 1, phased", false},
    {"y = softmax(x)", "1", "f16[9,20]{24,1} f16[9,20]", "lanes 4, registers, inner, vector 4 x 2",
     "lanes 4, registers, vector 4, phased", false},
    {"y = softmax(x)", "1", "f16[9,33]{40,1} f16[9,33]", "lanes 8, registers, inner, vector 1 x 5",
     "lanes 8, registers, vector 1, phased", false},
    {"y = softmax(x)", "1", "f16[37,127]{128,1} f16[37,127]", "lanes 16, registers, inner, vector 1 x 8",
     "lanes 16, registers, vector 1, phased", false},
    {"y = softmax(x)", "1", "f16[37,127]{128,1} f16[37,127]{128,1}", "lanes 16, registers, inner, vector 1 x 8",
     "lanes 16, registers, vector 1, phased", true},
    {"s = sum(x)", "1", "f16[37,127]{128,1} f16[37]", "lanes 16, registers, inner, vector 1 x 8",
     "lanes 16, registers, vector 1, phased", false},
    {"y = softmax(x)", "1", "f16[9,200]{201,1} f16[9,200]", "lanes 16, registers, inner, vector 2 x 7",
     "lanes 16, registers, vector 2, phased", false},
    {"y = softmax(x)", "1", "f16[9,200]@2 f16[9,200]", "registers, inner, vector 1 x ",
     "lanes 16, registers, vector 1, phased", false},
    {"y = layer_norm(x, w)", "1", "bf16[9,1023]{1024,1} bf16[1023] f32[9,1023]",
     "block 64, registers, inner, vector 1 x 16", "block 64, registers, vector 1, phased", false},
    {"y = softmax(x * 2 + m)", "3", "f16[3,2,33,33] f16[3,1,1,33] f16[3,2,33,33]",
     "lanes 16, registers, inner, vector 1 x 3", "lanes 16, registers, vector 1, phased", false},
    {"y = softmax(where(m, x, -inf))", "3", "bool[2,1,40,197] f16[2,3,40,197] f16[2,3,40,197]",
     "lanes 32, registers, inner, vector 1 x 7", "lanes 32, registers, vector 1, phased", false},
    {"y = x / sum(abs(x))", "1", "f32[3,9001]{9002,1} f32[3,9001]", "block 256, registers, inner, vector 1 x 36",
     "cluster 1, block 256, registers, vector 1, phased", false},
    {"y = softmax(x)", "1", "f16[3,20001]{20004,1} f16[3,20001]",
     "cluster 8, block 256, registers, inner, vector 1 x 10", "cluster 8, block 256, registers, vector 1, online",
     false},
    {"y = softmax(x)", "1", "f16[37,127]{128,1} f16[37,127]", "tile, inner", "lanes 1, tile, vector 2, rows 64", false},
    {"y = x * reduce((p, q) -> p * 0.5 + q, x, 0)", "1", "f32[37,33]{40,1} f32[37,33]", "tile, inner", "lanes 1, tile",
     false},
    {"y = softmax(x)", "1", "f64[3,8190]{8191,1} f64[3,8190]", "cluster 4, block 256, shared, inner",
     "cluster 4, block 256, shared, vector 2, online", false},
    {"y = softmax(x)", "1", "f16[9,700] f16[9,700]{703,1}", "tile, inner", "tile", false},
    {"y = softmax(x + m)", "2", "f16[3,9,300] f16[3,1,300] f32[3,9,300]{4000,400,1}", "tile, inner", "tile", false},
    {"y = softmax(x + m)", "2", "f16[3,9,30] f16[3,1,30]{60,60,2} f32[3,9,30]", "tile, inner", "tile", false},
    {"y = softmax(a + b)", "1", "f16[9,264] f16[9,264] f16[9,264]", "lanes 32, registers, inner, vector 8 x 2",
     "lanes 32, registers, vector 8, phased", true},
};

/* Elementwise, beside an input that repeats or lies apart: packs of it cross the ends of its runs. Aligned packs are
 * shifted where runs are long. */
static const packed_case bent[] = {
    {"y = a + b", "", "f16[5,1023] f16[1023] f16[5,1023]", "flat, vector 8 x 1", NULL, true},
    {"y = a + b", "", "f16[5,1026] f16[1026] f16[5,1026]", "flat, vector 8 x", NULL, false},
    {"y = a != b", "", "bool[3,1041] bool[1041] bool[3,1041]", "flat, vector 16 x", "threads 128, vector 16, steps 1",
     false},
    {"y = a + b", "", "i8[3,1030] i64[1030] i64[3,1030]", "flat, vector", NULL, false},
    {"y = a * 2", "", "f16[4,1032]{1033,1} f16[4,1032]", "flat, vector 8 x 1", "threads 128, vector 8, steps 1", false},
    {"y = a * 2", "", "f16[4,1029]{1040,1}@2 f32[4,1029]", "flat, vector 1 x 1", "threads 128, vector 1, steps 1",
     false},
    {"y = a * b", "", "f16[70,133] f16[70,1] f16[70,133]", "flat, vector 8 x", NULL, true},
    {"y = a + b", "", "f16[9,33] f16[9,33]{99,3} f16[9,33]", "flat, vector 8 x", "threads 128, vector 8, steps 1",
     false},
    {"y = a + 1", "", "f32[9,33] f32[9,33]{40,1}", "flat, vector 4 x", NULL, false},
    {"y = a + b", "", "f16[6,1,77] f16[5,1] f16[6,5,77]", "flat, vector 8 x", NULL, false},
    {"y = a + b * index(1)", "", "f32[1100,9] f32[9] f32[1100,9]", "flat, vector 4 x", NULL, false},
    {"y = a + b", "", "f16[7,5] f16[5] f16[7,5]", "flat, vector 8 x", NULL, false},
};

/* Rows that begin anywhere in a pack: whole packs between single elements. */
static const packed_case peeled[] = {
    /* On lanes, of a block, of a cluster; on rows of as few columns as may be; where nobody has a pack in the last
       step. */
    {"y = softmax(x)", "1", "f16[9,257] f16[9,257]", "lanes 16, registers, inner, vector 8 x 2", NULL, true},
    {"y = softmax(x)", "1", "f32[9,385] f32[9,385]", "lanes 32, registers, inner, vector 4 x 3", NULL, true},
    {"y = softmax(x)", "1", "f16[9,4095] f32[9,4095]",
     "cluster 2, block 128, registers, inner, vector 4 x 4, online, peeled",
     "cluster 2, block 128, registers, vector 4, online", false},
    {"y = layer_norm(x)", "1", "f16[5,8193] f16[5,8193]", "inner, vector 8 x 4, online, peeled",
     "block 256, registers, vector 8, online", true},
    {"y = softmax(x)", "1", "f16[9,33] f16[9,33]", "lanes 16, registers, inner, vector 8 x 1",
     "lanes 16, registers, vector 8, phased", true},
    {"y = softmax(x)", "1", "f16[9,271] f16[9,271]", "lanes 32, registers, inner, vector 8 x 1", "lanes 32, registers",
     false},
    {"s = sum(x)", "1", "f16[20,137] f32[20]", "registers, inner, vector 8 x 1", "lanes 16, registers", false},
    {"s = any(x)", "1", "bool[20,523] bool[20]", "inner, vector 16 x 1, 4 rows per block, peeled",
     "lanes 32, registers", false},
    {"s = var(x) + max(x)", "1", "bf16[9,1031] f32[9]", "inner, vector 8 x 4, 4 rows per block, peeled",
     "lanes 32, registers", false},
    {"y = x / max(abs(x))", "1", "e4m3[9,1041] f16[9,1041]", "inner, vector 8 x 3, peeled", "block 64, registers",
     false},
    {"y = softmax(x)", "1", "f64[5,517] f64[5,517]", "inner, vector 2 x 9, 4 rows per block, peeled",
     "lanes 32, registers", false},
    /* Weights of the same type and of another, in the last pass and in others; whose words are shifted by known
       numbers. */
    {"y = layer_norm(x, w, b)", "1", "bf16[9,523] bf16[523] bf16[523] bf16[9,523]",
     "inner, vector 8 x 4, 8 rows per block, peeled", "lanes 16, registers, vector 8, phased", true},
    {"y = layer_norm(x, w, b)", "1", "f16[9,1029] f32[1029] f16[1029] f16[9,1029]",
     "inner, vector 8 x 4, 4 rows per block, peeled", "lanes 32, registers, vector 8, phased", false},
    {"y = x * w + sum(x * w)", "1", "f16[17,1027] f16[1027] f32[17,1027]",
     "inner, vector 4 x 8, 4 rows per block, peeled", "lanes 32, registers", false},
    {"y = softmax(x * w) * b", "1", "f16[9,4099] f16[4099] f32[4099] f16[9,4099]", "inner, vector 8 x 4, peeled",
     "block 128, registers, vector 8, phased", false},
    {"y = rms_norm(x, w) + index(1)", "1", "f32[9,2051] f32[2051] f32[9,2051]", "inner, vector 4 x 2, peeled",
     "block 256, registers", false},
    /* A value for each row. */
    {"y = softmax(x) * s", "1", "f16[9,1023] f32[9,1]{1,1} f16[9,1023]",
     "inner, vector 8 x 4, 4 rows per block, peeled", "lanes 32, registers", false},
    /* What ascends keeps its masks. */
    {"s = argmax(x)", "1", "f16[9,1023] i64[9]", "inner, vector 8 x 5, 4 rows per block, masked",
     "lanes 32, registers, vector 8, phased", false},
};

/* Whether its schedule transposes. */
static bool run_case(const packed_case *c) {
    packed_result result = {.output = NULL};
    run_packed_case(c, &result);
    return strstr(result.schedule, "transpose,") != NULL;
}

static void packs_of_rows_give_what_the_reference_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) run_case(&cases[i]);
}

static void packs_may_drift(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(misaligned); i++) run_case(&misaligned[i]);
}

static void squares_are_turned(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(squares); i++) run_case(&squares[i]);
}

static void ends_may_be_single_elements(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(peeled); i++) run_case(&peeled[i]);
}

static void packs_may_bend(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bent); i++) run_case(&bent[i]);
}

static void rows_may_lie_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(apart); i++) run_case(&apart[i]);
}

/* Contiguous tensors of random extents, whose rows mostly drift. A failure names the program, the tensors and the pins.
 */
static void any_extents_may_drift(void **state) {
    static const char *const programs[] = {"y = softmax(x)",     "y = layer_norm(x)", "y = x / sum(x * x)",
                                           "y = x * 2 - max(x)", "s = sum(x)",        "s = var(x) + max(x)"};
    static const char *const types[] = {"f16", "bf16", "f32", "u8"};
    static const char *const all_pins[] = {
        NULL, "shared", "registers", "vector 4", "rows 32", "threads 16, stream", "threads 32, stream"};
    uint32_t random = 20261121;
    (void)state;
    for (int i = 0; i < 80; i++) {
        char tensors[96];
        int draw[6];
        packed_draw(&random, COUNT(draw), draw);
        const char *program = programs[draw[0] % 6], *pins = all_pins[draw[1] % 7];
        const int runs = 1 + draw[2] % 3, columns = 17 + draw[3] % (i % 8 ? 250 : 1500), rows = 16 + draw[4] % 150;
        const bool reduced = program[0] == 's';
        snprintf(tensors, sizeof tensors, "%s[%d,%d,%d] f32[%d,%d,%d]", types[draw[5] % 4], runs, columns, rows, runs,
                 reduced ? 1 : columns, rows);
        run_case(&(packed_case){program, "1", tensors, NULL, pins, false});
    }
}

/* Inputs whose dimensions lie in any order, pitched, beside a contiguous one. A failure names the tensors and the pins.
 */
static void any_order_of_dimensions_may_be_turned(void **state) {
    static const char *const types[] = {"f16", "bf16", "f32", "u8", "f64", "e4m3"};
    static const char *const all_pins[] = {NULL, NULL, "threads 96", "vector 2", "steps 8", "vector 1, steps 16"};
    uint32_t random = 20261122;
    int squares_seen = 0;
    (void)state;
    for (int i = 0; i < 48; i++) {
        char tensors[200];
        int draw[12], sizes[3], order[3] = {0, 1, 2}, strides[3], span = 1;
        packed_draw(&random, COUNT(draw), draw);
        for (int d = 0; d < 3; d++) sizes[d] = d == draw[0] % 3 ? 1 + draw[1] % 5 : 1 + draw[2 + d] % 100;
        for (int d = 2; d > 0; d--) {
            const int other = draw[5 + d] % (d + 1), kept = order[d];
            order[d] = order[other];
            order[other] = kept;
        }
        for (int d = 0; d < 3; d++) {
            strides[order[d]] = span;
            span = span * sizes[order[d]] + (draw[8] % 3 == 0 ? draw[9] % 9 : 0);
        }
        snprintf(tensors, sizeof tensors, "%s[%d,%d,%d]{%d,%d,%d} %s[%d,%d,%d] f32[%d,%d,%d]", types[draw[10] % 6],
                 sizes[0], sizes[1], sizes[2], strides[0], strides[1], strides[2], types[draw[11] % 3], sizes[0],
                 sizes[1], sizes[2], sizes[0], sizes[1], sizes[2]);
        const packed_case c = {"y = a * 2 + b + index(1)", "", tensors, NULL, all_pins[i % 6], false};
        squares_seen += run_case(&c);
    }
    assert_true(squares_seen > 12);
}

int main(int argc, char **argv) {
    if (packed_tests_are_skipped(argc, argv)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(packs_of_rows_give_what_the_reference_gives),
                                       cmocka_unit_test(packs_may_drift),
                                       cmocka_unit_test(squares_are_turned),
                                       cmocka_unit_test(ends_may_be_single_elements),
                                       cmocka_unit_test(packs_may_bend),
                                       cmocka_unit_test(rows_may_lie_apart),
                                       cmocka_unit_test(any_order_of_dimensions_may_be_turned),
                                       cmocka_unit_test(any_extents_may_drift)};
    return cmocka_run_group_tests_name("packed rows", tests, open_packed_device, close_packed_device);
}
