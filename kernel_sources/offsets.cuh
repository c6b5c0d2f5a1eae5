// SPDX-License-Identifier: Apache-2.0
/* Rows where offsets say, which may be anything: rows stay within their tensors. */

KILN_DEVICE kiln_i64 kiln_between(kiln_i64 at, kiln_i64 low, kiln_i64 high) {
    return at < low ? low : at > high ? high : at;
}
