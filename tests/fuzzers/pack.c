/* SPDX-License-Identifier: Apache-2.0 */
/* Packs: whatever the bytes, opening, finding, walking and importing read nothing outside of them, and a kernel that
 * is found is under the key that was asked for. The first byte chooses between bytes as they stand and a valid pack
 * with some of its bytes changed; where it says so, under right checksums, so that these do not keep the fuzzer from
 * what lies behind. */
#include <stdlib.h>
#include <string.h>

#include "cache/checksum.h"
#include "kernel_names.h"
#include "kiln_sources.h"
#include "cache/pack_writer.h"

static volatile uint8_t sink;

static void read_all(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) sink = ((const uint8_t *)bytes)[i];
}

static void expect(bool holds) {
    if (!holds) abort();
}

enum { kernels = 3 };

static kiln__key make_name(int number) {
    static const char *const options[] = {"--std=c++17", NULL};
    const char *const sources[kernels] = {"one\n", "\n#include \"device.cuh\"\ntwo", "three"};
    const kiln__key_parts parts = {sources[number], options, 90, number == 1, 0, 0, kiln__sources_digest};
    kiln__key name;
    expect(kiln__key_make(&parts, &name) == KILN_OK);
    return name;
}

/* New memory. */
static uint8_t *valid_pack(size_t *size) {
    kiln__pack_writer writer = {NULL, 0, 0};
    uint8_t *bytes = NULL;
    for (int i = 0; i < kernels; i++) {
        const kiln__entry entry = {.facts = {.arch = 90, .is_ptx = i == 1},
                                   .image = "image bytes",
                                   .image_size = 12,
                                   .name = "k",
                                   .description = "y = x",
                                   .schedule = "warp",
                                   .log = ""};
        const kiln__nvrtc_version nvrtc = {13, 0, "65be0db3"};
        kiln__key name = make_name(i);
        expect(kiln__pack_writer_add(&writer, &name, &entry, &nvrtc) == KILN_OK);
        kiln__key_free(&name);
    }
    expect(kiln__pack_writer_finish(&writer, &bytes, size) == KILN_OK);
    kiln__pack_writer_free(&writer);
    return bytes;
}

static void import_entry(const kiln__bundle *pack, uint32_t i) {
    const kiln__bundle_row row = kiln__bundle_row_at(pack, i);
    kiln__entry entry;
    kiln__key key;
    if (!kiln__bundle_entry(pack, i, &entry)) return;
    const uint8_t *material = entry.material;
    const size_t size = entry.material_size;
    read_all(entry.image, entry.image_size);
    read_all(material, size);
    if (kernel_key_of_name(material, size, row.nvrtc_major, row.nvrtc_minor, row.nvrtc_build, &key) == KILN_OK)
        kiln__key_free(&key);
    if (kernel_name_of_key(material, size, &key) == KILN_OK) kiln__key_free(&key);
}

static void check_pack(const uint8_t *bytes, size_t size) {
    kiln__bundle *pack = NULL;
    if (kiln__bundle_open(NULL, bytes, size, &pack)) return;
    for (uint32_t i = 0; i < pack->count; i++) import_entry(pack, i);
    for (int i = 0; i < kernels; i++) {
        kiln__key name = make_name(i);
        kiln__entry found;
        if (kiln__bundle_find(pack, &name, &found) == KILN__IN_BUNDLE) {
            expect(found.image_size > 0);
            read_all(found.image, found.image_size);
        }
        kiln__key_free(&name);
    }
    kiln__bundle_close(pack);
}

/* Of entries, as far as rows name them, then of the head. */
static void sum_again(uint8_t *bytes, size_t size) {
    kiln__bundle_head head;
    memcpy(&head, bytes, sizeof head);
    if (head.count > (size - sizeof head) / sizeof(kiln__bundle_row)) return;
    for (uint32_t i = 0; i < head.count; i++) {
        kiln__bundle_row row;
        memcpy(&row, bytes + sizeof head + i * sizeof row, sizeof row);
        if (row.offset < sizeof head + head.count * sizeof row || row.offset > size || row.size > size - row.offset ||
            row.size < KILN__CHECKSUM_SIZE)
            continue;
        uint8_t *entry = bytes + row.offset;
        kiln__checksum(entry, (size_t)row.size - KILN__CHECKSUM_SIZE, entry + row.size - KILN__CHECKSUM_SIZE);
    }
    kiln__bundle_checksum(bytes, head.count, bytes + offsetof(kiln__bundle_head, checksum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const int mode = *data++ % 4;
    size--;
    size_t vector_width = size;
    uint8_t *bytes = mode < 2 ? malloc(size + 1) : valid_pack(&vector_width);
    expect(bytes != NULL);
    if (mode < 2)
        memcpy(bytes, data, size);
    else /* position, value */
        for (; size > 2; data += 3, size -= 3) bytes[(size_t)(data[0] | data[1] << 8) % vector_width] = data[2];
    if (mode % 2 == 1 && vector_width >= sizeof(kiln__bundle_head)) {
        const uint64_t whole = vector_width;
        memcpy(bytes, kiln__bundle_magic, sizeof kiln__bundle_magic);
        memcpy(bytes + offsetof(kiln__bundle_head, size), &whole, sizeof whole);
        sum_again(bytes, vector_width);
    }
    check_pack(bytes, vector_width);
    free(bytes);
    return 0;
}
