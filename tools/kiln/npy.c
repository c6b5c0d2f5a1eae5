/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .npy files: the preamble, the data, byte order and Fortran order.
 * A file is read to its end before anything else happens, so that an output may replace it. */
#define _GNU_SOURCE
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/types.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the .npy code writes the memory's bytes as little-endian"
#endif

#define STREAM_CHUNK ((size_t)1 << 20) /* what an unknown length is trusted with at first */

typedef struct source {
    const char *path;
    int fd;
    int64_t left; /* bytes of a regular file not yet read; -1: not known */
} source;

/* Reads up to size bytes; less only at the end of the file. */
static kiln_status read_bytes(source *s, void *to, size_t size, size_t *got) {
    *got = 0;
    while (*got < size) {
        ssize_t n = read(s->fd, (char *)to + *got, size - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return kiln__fail(KILN_E_IO, "%s: cannot be read: %s", s->path, strerror(errno));
        if (n == 0) break;
        *got += (size_t)n;
    }
    if (s->left >= 0) s->left -= (int64_t)*got;
    return KILN_OK;
}

static kiln_status read_header(source *s, npy_header *out) {
    unsigned char head[12];
    size_t got, length = 0;
    kiln_status status = read_bytes(s, head, 8, &got);
    if (status) return status;
    if (got < 6 || memcmp(head, "\x93NUMPY", 6) != 0) {
        return kiln__fail(KILN_E_FORMAT, "%s: is no .npy file: it does not begin with \\x93NUMPY", s->path);
    }
    if (got < 8) return kiln__fail(KILN_E_FORMAT, "%s: is cut off before its .npy header", s->path);
    if (head[6] < 1 || head[6] > 3 || head[7] != 0) {
        return kiln__fail(KILN_E_FORMAT, "%s: has .npy format %d.%d; 1.0, 2.0 or 3.0 was expected", s->path, head[6],
                          head[7]);
    }
    const size_t digits = head[6] == 1 ? 2 : 4;
    status = read_bytes(s, head + 8, digits, &got);
    if (status) return status;
    if (got < digits) return kiln__fail(KILN_E_FORMAT, "%s: is cut off before its .npy header", s->path);
    for (size_t i = digits; i-- > 0;) length = length << 8 | head[8 + i];
    if (length > NPY_MAX_HEADER) {
        return kiln__fail(KILN_E_FORMAT, "%s: claims a .npy header of %zu bytes; at most %u were expected", s->path,
                          length, NPY_MAX_HEADER);
    }
    char *text = malloc(length + 1);
    if (!text) return kiln__out_of_memory();
    status = read_bytes(s, text, length, &got);
    if (!status && got < length) {
        status = kiln__fail(KILN_E_FORMAT, "%s: is cut off within its .npy header: %zu of %zu bytes are there", s->path,
                            got, length);
    }
    if (!status) status = npy_header_parse(s->path, text, length, out);
    free(text);
    return status;
}

/* A regular file's length is checked before memory is taken for what its header claims; of a pipe, memory grows with
 * what really arrives. */
static kiln_status read_data(source *s, const npy_header *header, void **out) {
    const size_t total = (size_t)header->bytes;
    size_t capacity = total, done = 0, got = 0;
    if (s->left >= 0 && s->left < header->bytes) {
        return kiln__fail(KILN_E_FORMAT, "%s: is cut off: its shape needs %zu bytes of data, %" PRId64 " are there",
                          s->path, total, s->left);
    }
    if (s->left < 0 && capacity > STREAM_CHUNK) capacity = STREAM_CHUNK;
    char *data = malloc(capacity ? capacity : 1);
    if (!data) return kiln__out_of_memory();
    while (done < total) {
        if (done == capacity) {
            capacity = capacity > total / 2 ? total : capacity * 2;
            char *larger = realloc(data, capacity);
            if (!larger) {
                free(data);
                return kiln__out_of_memory();
            }
            data = larger;
        }
        kiln_status status = read_bytes(s, data + done, capacity - done, &got);
        if (!status && got == 0) {
            status = kiln__fail(KILN_E_FORMAT, "%s: is cut off: its shape needs %zu bytes of data, %zu are there",
                                s->path, total, done);
        }
        if (status) {
            free(data);
            return status;
        }
        done += got;
    }
    *out = data;
    return KILN_OK;
}

static void swap_bytes(unsigned char *data, int64_t elements, int width) {
    for (int64_t i = 0; i < elements; i++, data += width) {
        for (int a = 0, b = width - 1; a < b; a++, b--) {
            unsigned char byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
    }
}

/* From the first index fastest to the last index fastest. */
static void *transposed(const npy_header *header, const char *from) {
    const size_t width = (size_t)header->width;
    size_t step[KILN_MAX_RANK] = {0}, offset = 0;
    int64_t index[KILN_MAX_RANK] = {0};
    char *to = malloc(header->bytes ? (size_t)header->bytes : 1);
    if (!to) return NULL;
    for (int32_t i = 0; i < header->rank; i++) step[i] = i == 0 ? width : step[i - 1] * (size_t)header->sizes[i - 1];
    for (int64_t n = 0; n < header->elements; n++) {
        memcpy(to + (size_t)n * width, from + offset, width);
        for (int32_t i = header->rank; i-- > 0;) {
            offset += step[i];
            if (++index[i] < header->sizes[i]) break;
            offset -= step[i] * (size_t)header->sizes[i];
            index[i] = 0;
        }
    }
    return to;
}

static kiln_status read_array(source *s, const kiln_type *as, kiln_tensor *out) {
    npy_header header;
    kiln_type type;
    void *data = NULL;
    kiln_status status = read_header(s, &header);
    if (!status) status = npy_header_type(s->path, &header, as, &type);
    if (!status) status = read_data(s, &header, &data);
    if (status) return status;
    if (header.big_endian) swap_bytes(data, header.elements, header.width);
    if (type == KILN_BOOL) {
        unsigned char *values = data;
        for (int64_t i = 0; i < header.elements; i++) values[i] = values[i] != 0;
    }
    if (header.fortran_order && header.rank > 1) {
        void *ordered = transposed(&header, data);
        free(data);
        if (!ordered) return kiln__out_of_memory();
        data = ordered;
    }
    if (kiln__type_is_packed(type)) header.sizes[header.rank - 1] *= 2; /* a byte is two elements */
    *out = kiln_tensor_contiguous(data, type, header.rank, header.sizes);
    return KILN_OK;
}

kiln_status npy_read(const char *path, const kiln_type *as, kiln_tensor *out) {
    struct stat info;
    source s = {path, open(path, O_RDONLY | O_CLOEXEC), -1};
    if (s.fd < 0) return kiln__fail(KILN_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    kiln_status status = KILN_OK;
    if (fstat(s.fd, &info))
        status = kiln__fail(KILN_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = kiln__fail(KILN_E_IO, "%s: is a directory; a .npy file was expected", path);
    else if (S_ISREG(info.st_mode))
        s.left = info.st_size;
    if (!status) status = read_array(&s, as, out);
    close(s.fd);
    return status;
}

static const char *descr_of(kiln_type type) {
    static const char *const names[KILN_TYPE_COUNT] = {
        [KILN_F64] = "<f8",  [KILN_F32] = "<f4",  [KILN_F16] = "<f2", [KILN_BF16] = "<u2", [KILN_E4M3] = "|u1",
        [KILN_E5M2] = "|u1", [KILN_I64] = "<i8",  [KILN_I32] = "<i4", [KILN_I16] = "<i2",  [KILN_I8] = "|i1",
        [KILN_U8] = "|u1",   [KILN_BOOL] = "|b1", [KILN_U16] = "<u2", [KILN_U32] = "<u4",  [KILN_U64] = "<u8",
        [KILN_E8M0] = "|u1", [KILN_E2M1] = "|u1",
    };
    return names[type];
}

kiln_status npy_write(output_file *file, const kiln_tensor *tensor) {
    char text[384]; /* 8 sizes of 19 digits leave room to spare */
    int64_t elements = 1;
    size_t used = 10;
    used += (size_t)snprintf(text + used, sizeof text - used, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             descr_of(tensor->type));
    for (int32_t i = 0; i < tensor->rank; i++) {
        const bool pairs = kiln__type_is_packed(tensor->type) && i + 1 == tensor->rank;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64 "%s", i ? ", " : "",
                                 tensor->sizes[i] / (pairs ? 2 : 1), tensor->rank == 1 ? "," : "");
        elements *= tensor->sizes[i];
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    while ((used + 1) % 64 != 0) text[used++] = ' ';
    text[used++] = '\n';
    memcpy(text, "\x93NUMPY\x01", 8); /* with the literal's own NUL as the minor version */
    text[8] = (char)((used - 10) & 0xff);
    text[9] = (char)((used - 10) >> 8);
    kiln_status status = output_file_write(file, text, used);
    if (status) return status;
    return output_file_write(file, tensor->data, (size_t)kiln__type_bytes(tensor->type, elements));
}
