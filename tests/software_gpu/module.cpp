// SPDX-License-Identifier: Apache-2.0
/* Loads images. Shared variables are thread-local ones of the shared object; its symbol table tells where they lie. */
#include "module.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "grid.hpp"
#include "image.hpp"

#include "gpu/driver_api.h"

namespace simulated {

Module::~Module() {
    if (handle) dlclose(handle);
}

/* Under a name of its own: the loader takes two objects of one name for the same. */
static void *open_bytes(const unsigned char *bytes, size_t size) {
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/kiln-software-XXXXXX";
    const int fd = mkostemp(&path[0], O_CLOEXEC);
    if (fd < 0) return nullptr;
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write(fd, bytes + done, size - done);
        if (n <= 0) break;
        done += static_cast<size_t>(n);
    }
    close(fd);
    void *handle = done == size ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!handle) fprintf(stderr, "software GPU: %s\n", dlerror());
    unlink(path.c_str());
    return handle;
}

/* "kiln_all_reduce<kiln_phase0>(kiln_phase0)::slots" */
static std::string readable(const char *symbol) {
    int status = 0;
    if (strncmp(symbol, "_Z", 2)) return symbol; /* "d" would be double */
    char *name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    const std::string result = name ? name : symbol;
    free(name);
    return result;
}

bool Module::read_symbols(const unsigned char *object, size_t size) {
    ElfW(Ehdr) header;
    if (size < sizeof header) return false;
    memcpy(&header, object, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_shoff > size ||
        (size - header.e_shoff) / sizeof(ElfW(Shdr)) < header.e_shnum)
        return false;
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    memcpy(sections.data(), object + header.e_shoff, sections.size() * sizeof(ElfW(Shdr)));
    for (const ElfW(Shdr) & table : sections) {
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
        const char *names = reinterpret_cast<const char *>(object) + sections[table.sh_link].sh_offset;
        for (size_t i = 0; i < table.sh_size / sizeof(ElfW(Sym)); i++) {
            ElfW(Sym) symbol;
            memcpy(&symbol, object + table.sh_offset + i * sizeof symbol, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) continue;
            const std::string name = readable(names + symbol.st_name);
            if (name.compare(0, 14, "kiln_software_") == 0) continue; /* none of the kernel's */
            statics.push_back({name, symbol.st_value, symbol.st_size});
        }
    }
    return true;
}

int Module::load(const void *bytes, int device_arch) {
    software_gpu_image header;
    memcpy(&header, bytes, sizeof header.magic); /* the rest is there only if this is an image */
    if (memcmp(header.magic, software_gpu_magic, sizeof header.magic)) return KILN__CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, bytes, sizeof header);
    const unsigned char *object = static_cast<const unsigned char *>(bytes) + sizeof header;
    if (software_gpu_checksum(object, header.size) != header.checksum) return KILN__CUDA_ERROR_INVALID_IMAGE;
    const int arch = static_cast<int>(header.arch);
    if (arch > device_arch || (!header.is_ptx && arch / 10 != device_arch / 10))
        return KILN__CUDA_ERROR_NO_BINARY_FOR_GPU;
    handle = open_bytes(object, header.size);
    if (!handle || !read_symbols(object, header.size)) return KILN__CUDA_ERROR_INVALID_IMAGE;
    image = static_cast<const kiln_software_image *>(dlsym(handle, "kiln_software_exports"));
    if (!image) return KILN__CUDA_ERROR_INVALID_IMAGE;
    *image->device = device_state();
    return KILN__CUDA_SUCCESS;
}

const kiln_software_kernel *Module::find(const char *name) const {
    for (unsigned long i = 0; i < image->kernel_count; i++)
        if (!strcmp(image->kernels[i].name, name)) return &image->kernels[i];
    return nullptr;
}

size_t Module::static_shared_bytes() const {
    size_t sum = 0;
    for (const Static &s : statics)
        if (s.name != image->dynamic_shared) sum += s.bytes;
    return sum;
}

std::vector<SharedVariable> Module::shared_variables(size_t dynamic_bytes) const {
    std::vector<SharedVariable> result;
    void *block = nullptr;
    if (image->touch_shared) image->touch_shared(); /* a thread's block is made when it is first used */
    if (dlinfo(handle, RTLD_DI_TLS_DATA, &block) || !block) return result;
    for (const Static &s : statics) {
        const size_t bytes = s.name == image->dynamic_shared ? dynamic_bytes : s.bytes;
        if (bytes) result.push_back({s.name, reinterpret_cast<uintptr_t>(block) + s.offset, bytes, s.bytes});
    }
    return result;
}

} // namespace simulated
