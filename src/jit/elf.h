/* What can be told of a shared library from its file alone, without loading it. */
#ifndef KILN_JIT_ELF_H
#define KILN_JIT_ELF_H

#include <stdbool.h>
#include <stddef.h>

/* True for an ELF file of this process's word size, byte order and machine. */
bool kiln__elf_is_native(const char *path);

/* The GNU build id in hexadecimal; false if there is none or it does not fit. Reads headers and notes alone. */
bool kiln__elf_build_id(const char *path, char *hex, size_t capacity);

#endif
