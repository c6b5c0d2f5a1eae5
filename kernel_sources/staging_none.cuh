// SPDX-License-Identifier: Apache-2.0
/* Staging: none. The row streams: each pass reads it again. */

struct kiln_staging {
    KILN_MEMBER void fill(const kiln_row &) {}
    template <class Body> KILN_MEMBER void each_vector(const kiln_row &row, Body &body) {
        kiln_stream::each_vector(row, 0, body);
    }
    template <class Online> KILN_MEMBER void each_online(kiln_row &row, Online &online) {
        kiln_stream::each_online(row, 0, online);
    }
};
