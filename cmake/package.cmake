# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack: libkiln0.2 (by soname), libkiln-dev, kiln and libkiln-software-gpu. tools/package.sh configures for /usr and runs it.
set(KILN_PACKAGE_CONTACT "Kiln <kiln@localhost>" CACHE STRING "Name and address of who makes packages")
set(kiln_package_library libkiln${kiln_soversion})

# kiln_indented(<variable> <file>): a licence's text as debian/copyright has it.
function(kiln_indented variable file)
    file(READ ${file} text)
    string(STRIP "${text}" text)
    string(REGEX REPLACE "\n[ \t]*\n" "\n.\n" text "\n${text}")
    string(REGEX REPLACE "\n" "\n " text "${text}")
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# kiln_package(<component> <package> <description> <dependencies> <parts compiled in>...): the package, with its copyright
# file, which no other installation gets.
function(kiln_package component package description depends)
    set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Kiln

Files: *
Copyright: 2026 the Kiln authors
License: Apache-2.0
 On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0.
")
    foreach(part IN LISTS ARGN)
        list(GET kiln_part_${part} 0 licence)
        list(GET kiln_part_${part} 1 holder)
        kiln_indented(text ${PROJECT_SOURCE_DIR}/licenses/${part}.txt)
        string(APPEND copyright "\nFiles: ${part} (compiled in)\nCopyright: ${holder}\nLicense: ${licence}${text}\n")
    endforeach()
    set(folder ${PROJECT_BINARY_DIR}/debian/${package})
    file(WRITE ${folder}/copyright "${copyright}")
    install(FILES ${folder}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component}_copyright
            EXCLUDE_FROM_ALL)
    string(TOUPPER ${component} name)
    foreach(part IN ITEMS "" _copyright)
        string(TOUPPER "${part}" upper)
        set(CPACK_COMPONENT_${name}${upper}_GROUP ${component} PARENT_SCOPE)
    endforeach()
    set(CPACK_COMPONENT_GROUP_${name}_DESCRIPTION "${description}" PARENT_SCOPE)
    set(CPACK_COMPONENT_${name}_DESCRIPTION "${description}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
    set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
    set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} ${component}_copyright PARENT_SCOPE)
endfunction()

set(kiln_part_xxhash BSD-2-Clause "Yann Collet")
set(kiln_part_jansson Expat "Petri Lehtinen and other contributors to Jansson")
set(same "(= ${PROJECT_VERSION})")
set(CPACK_COMPONENTS_ALL "")
kiln_package(library ${kiln_package_library} "Generates, compiles, caches and launches one fused CUDA kernel for a
row program such as softmax(x * scale + mask). The CUDA driver and NVRTC are
opened at run time. This package has what programs run with." "" xxhash)
kiln_package(development libkiln-dev "The headers, the archive, and the files of CMake and pkg-config, for programs
that use Kiln." "${kiln_package_library} ${same}" xxhash)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "kiln ${same}")
# A pack by another version's tool has kernels that the library never asks for.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_BREAKS "kiln (<< ${PROJECT_VERSION}), kiln (>> ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(folder ${PROJECT_BINARY_DIR}/debian)
file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
file(WRITE ${folder}/shlibs "libkiln ${kiln_soversion} ${kiln_package_library} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${folder}/triggers ${folder}/shlibs)
if(TARGET kiln_tool)
    # Compiles with a time limit run in kiln-worker, which the library's package has.
    kiln_package(tool kiln "The command-line tool: runs, compiles, explains and measures row programs, and
manages the cache of compiled kernels." "${kiln_package_library} ${same}" xxhash jansson)
    set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
endif()
if(TARGET kiln_software_driver)
    kiln_package(software_gpu libkiln-software-gpu "Stand-ins for the CUDA driver and NVRTC that compile kernels as C++ and run
them on the CPU, with checks of every memory access and barrier: for tests of
programs that use Kiln, on machines without a GPU." "libkiln-dev ${same}, g++ | c++-compiler")
    set(CPACK_DEBIAN_SOFTWARE_GPU_PACKAGE_SECTION libdevel)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_CONTACT "${KILN_PACKAGE_CONTACT}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
include(CPack)
