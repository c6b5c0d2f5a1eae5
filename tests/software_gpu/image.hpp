// SPDX-License-Identifier: Apache-2.0
/* The form of the software GPU's cubins and PTX: this header, then a shared object's bytes. */
#ifndef KILN_SOFTWARE_GPU_IMAGE_HPP
#define KILN_SOFTWARE_GPU_IMAGE_HPP

#include <cstddef>
#include <cstdint>

struct software_gpu_image {
    char magic[16]; /* "software GPU 2", zeros */
    uint32_t arch;  /* 90: runs on 9.x; PTX on 9.0 and newer */
    uint32_t is_ptx;
    uint64_t size;     /* of what follows */
    uint64_t checksum; /* of what follows */
};

constexpr char software_gpu_magic[16] = "software GPU 2";

/* FNV-1a over words, the last one padded with zeros. */
inline uint64_t software_gpu_checksum(const unsigned char *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        for (size_t j = i; j < size && j < i + 8; j++) word |= static_cast<uint64_t>(bytes[j]) << 8 * (j - i);
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash ^ hash >> 32;
}

#endif
