/* Reads ELF headers and notes with pread: a library of 100 MB is judged by a few hundred bytes.
 * Every size and offset comes from the file and is checked before use. */
#define _GNU_SOURCE
#include "jit/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_segments = 64, max_notes = 64 * 1024 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const unsigned char native_data = ELFDATA2LSB;
#else
static const unsigned char native_data = ELFDATA2MSB;
#endif
static const unsigned char native_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

static bool machine_is_native(unsigned machine)
{
#if defined(__x86_64__)
    return machine == EM_X86_64;
#elif defined(__aarch64__)
    return machine == EM_AARCH64;
#else
    return machine != EM_NONE;
#endif
}

static bool read_header(int fd, ElfW(Ehdr) *header)
{
    return read_at(fd, header, sizeof *header, 0) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == native_class && header->e_ident[EI_DATA] == native_data &&
           machine_is_native(header->e_machine);
}

bool kiln__elf_is_native(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ElfW(Ehdr) header;
    bool native = read_header(fd, &header);
    close(fd);
    return native;
}

static bool write_hex(const unsigned char *bytes, size_t size, char *hex, size_t capacity)
{
    static const char digits[] = "0123456789abcdef";
    if (size == 0 || size * 2 + 1 > capacity)
        return false;
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * size] = '\0';
    return true;
}

/* Names and descriptions are padded to 4 bytes, in segments aligned to 8 as well: the notes with wider
 * descriptions have sizes that are multiples of 8. */
static bool find_build_id(const unsigned char *notes, size_t size, char *hex, size_t capacity)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; size - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || description > size - at - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0)
            return write_hex(notes + at + name, note.n_descsz, hex, capacity);
        at += name + description;
    }
    return false;
}

static bool search_segment(int fd, const ElfW(Phdr) *segment, char *hex, size_t capacity)
{
    if (segment->p_type != PT_NOTE || segment->p_filesz == 0 || segment->p_filesz > max_notes)
        return false;
    unsigned char *notes = malloc(segment->p_filesz);
    if (notes == NULL)
        return false;
    bool found = read_at(fd, notes, segment->p_filesz, segment->p_offset) &&
                 find_build_id(notes, segment->p_filesz, hex, capacity);
    free(notes);
    return found;
}

bool kiln__elf_build_id(const char *path, char *hex, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ElfW(Ehdr) header;
    bool found = false;
    if (read_header(fd, &header) && header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phnum <= max_segments) {
        for (unsigned i = 0; i < header.e_phnum && !found; i++) {
            ElfW(Phdr) segment;
            if (header.e_phoff > INT64_MAX / 2 ||
                !read_at(fd, &segment, sizeof segment, header.e_phoff + i * sizeof segment))
                break;
            found = search_segment(fd, &segment, hex, capacity);
        }
    }
    close(fd);
    return found;
}
