/* Little-endian integers in byte strings, the same on every machine. */
#ifndef KILN_CACHE_BYTES_H
#define KILN_CACHE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint8_t *kiln__put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static inline uint8_t *kiln__put_u64(uint8_t *at, uint64_t value)
{
    return kiln__put_u32(kiln__put_u32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

static inline uint8_t *kiln__put_f64(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return kiln__put_u64(at, bits);
}

static inline uint8_t *kiln__put_bytes(uint8_t *at, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(at, bytes, size);
    return at + size;
}

static inline uint32_t kiln__get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t kiln__get_u64(const uint8_t *at)
{
    return (uint64_t)kiln__get_u32(at) | (uint64_t)kiln__get_u32(at + 4) << 32;
}

static inline double kiln__get_f64(const uint8_t *at)
{
    uint64_t bits = kiln__get_u64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
