/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the disk cache: any bytes are an entry, exactly as encode writes it, or they are refused.
 * The first byte of the input chooses between a file as it stands, one under a right checksum, and a valid entry with
 * some of its bytes changed, so that the checksum does not keep the fuzzer from what lies behind it. */
#include <stdlib.h>
#include <string.h>

#include "cache/checksum.h"
#include "cache/entry.h"
#include "runtime/tuned.h"

static volatile uint8_t sink;

static void read_all(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) sink = ((const uint8_t *)bytes)[i];
}

static void expect(bool holds) {
    if (!holds) abort();
}

static void check_key(const uint8_t *material, size_t size) {
    kiln__key_view key;
    if (!kiln__key_decode(material, size, &key)) return;
    read_all(key.source, key.source_size);
    read_all(key.build, key.build_size);
    const uint8_t *at = key.options;
    for (uint32_t i = 0; i < key.option_count; i++) {
        size_t length;
        const char *option = kiln__key_next_option(&key, &at, &length);
        expect(option != NULL);
        read_all(option, length);
    }
    expect(at == key.options + key.options_size);
}

static void check_entry(const uint8_t *bytes, size_t size) {
    kiln__entry entry;
    kiln__key key = {0};
    if (!kiln__entry_decode(bytes, size, &entry)) return;
    read_all(entry.image, entry.image_size);
    check_key(entry.material, entry.material_size);
    key.size = entry.material_size;
    key.material = malloc(key.size + 1);
    expect(key.material != NULL);
    memcpy(key.material, entry.material, key.size);
    size_t again_size = 0;
    uint8_t *again = kiln__entry_encode(&key, &entry, &again_size);
    expect(again != NULL && again_size == size && memcmp(again, bytes, size) == 0);
    free(again);
    free(key.material);
    const char *words = kiln__tuned_text(&entry);
    kiln__pins pins;
    if (words && kiln__pins_parse(words, &pins)) expect(*kiln_last_error() != '\0');
}

/* A valid entry, new memory. */
static uint8_t *valid_entry(size_t *size) {
    static const char *const options[] = {"--std=c++17", "-default-device", NULL};
    const kiln__key_parts parts = {"__global__ void k() {}", options, 90, false, 13, 0, "65be0db3"};
    const kiln__entry entry = {.facts = {.arch = 90, .is_ptx = true},
                               .image = "image bytes",
                               .image_size = 12,
                               .name = "k",
                               .description = "y = x",
                               .schedule = "warp",
                               .log = ""};
    kiln__key key;
    expect(kiln__key_make(&parts, &key) == KILN_OK);
    uint8_t *bytes = kiln__entry_encode(&key, &entry, size);
    expect(bytes != NULL);
    kiln__key_free(&key);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const int mode = *data++ % 3;
    size--;
    size_t entry_size = size + (mode == 1 ? KILN__CHECKSUM_SIZE : 0);
    uint8_t *bytes = mode == 2 ? valid_entry(&entry_size) : malloc(entry_size + 1);
    expect(bytes != NULL);
    if (mode == 2) /* position, value; a last byte cuts the file */
        for (; size > 2; data += 3, size -= 3) bytes[(data[0] | data[1] << 8) % (int)entry_size] = data[2];
    else
        memcpy(bytes, data, size);
    if (mode == 2 && size > 0) entry_size -= *data % entry_size;
    if (mode > 0 && entry_size >= KILN__CHECKSUM_SIZE)
        kiln__checksum(bytes, entry_size - KILN__CHECKSUM_SIZE, bytes + entry_size - KILN__CHECKSUM_SIZE);
    check_entry(bytes, entry_size);
    if (mode == 0) check_key(bytes, entry_size);
    free(bytes);
    return 0;
}
