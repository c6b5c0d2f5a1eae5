# SPDX-License-Identifier: Apache-2.0
# Embeds kernel_sources/ into the library: one generated C file and the header that declares what is in it.
set(kiln_generated_dir ${PROJECT_BINARY_DIR}/generated)
set(kiln_generated ${kiln_generated_dir}/kiln_sources.c ${kiln_generated_dir}/kiln_sources.h)
file(GLOB kiln_kernel_sources CONFIGURE_DEPENDS kernel_sources/*.cuh kernel_sources/*.cu kernel_sources/*.kiln)
add_custom_command(
    OUTPUT ${kiln_generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT_DIR=${kiln_generated_dir} "-DFILES=${kiln_kernel_sources}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${kiln_kernel_sources} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding kernel_sources/"
    VERBATIM)
