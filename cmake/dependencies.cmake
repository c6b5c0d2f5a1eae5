# SPDX-License-Identifier: Apache-2.0
# Third-party parts, all from the distribution's packages. Static archives come first, so that what is built here
# runs on another Linux of similar age without them.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# What is tested, which is what the oldest supported distribution has. docs/building.md names the same versions.
set(kiln_min_GNU 11)
set(kiln_min_Clang 14)
set(kiln_min_xxhash 0.8.0) # XXH3's values are settled since then
set(kiln_min_jansson 2.11) # json_sprintf
set(kiln_min_cmocka 1.1.5)

# kiln_require_version(<name> <found> <least>): a clear refusal of what is older.
function(kiln_require_version name found least)
    if(found VERSION_LESS least)
        message(FATAL_ERROR "${name} ${found} is too old: ${least} or newer is needed")
    endif()
endfunction()
if(DEFINED kiln_min_${CMAKE_C_COMPILER_ID})
    kiln_require_version(${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${kiln_min_${CMAKE_C_COMPILER_ID}})
endif()

# kiln_header_version(<variable> <header> <regular expression>): the numbers of the lines that match, joined by dots.
function(kiln_header_version variable header pattern)
    file(STRINGS ${header} lines REGEX "^#define +${pattern} +[0-9]+")
    list(TRANSFORM lines REPLACE "^#define +[A-Z_]+ +([0-9]+).*$" "\\1")
    list(JOIN lines "." version)
    set(${variable} ${version} PARENT_SCOPE)
endfunction()

# kiln_find_part(<target> <header> <library names> <package>): an imported library, or a clear refusal.
function(kiln_find_part target header names package)
    find_path(${target}_INCLUDE_DIR ${header})
    find_library(${target}_LIBRARY NAMES ${names})
    mark_as_advanced(${target}_INCLUDE_DIR ${target}_LIBRARY)
    if(NOT ${target}_INCLUDE_DIR OR NOT ${target}_LIBRARY)
        message(FATAL_ERROR "${header} or its library was not found; on Debian and Ubuntu: apt-get install ${package}")
    endif()
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${target}_LIBRARY}
                                               INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE_DIR})
endfunction()

# xxHash is compiled in from its header, so libkiln.a leaves no symbol of it open and libkiln.so exports none.
find_path(kiln_xxhash_INCLUDE_DIR xxhash.h)
mark_as_advanced(kiln_xxhash_INCLUDE_DIR)
if(NOT kiln_xxhash_INCLUDE_DIR)
    message(FATAL_ERROR "xxhash.h was not found; on Debian and Ubuntu: apt-get install libxxhash-dev")
endif()
kiln_header_version(kiln_xxhash_VERSION ${kiln_xxhash_INCLUDE_DIR}/xxhash.h "XXH_VERSION_(MAJOR|MINOR|RELEASE)")
kiln_require_version(xxHash "${kiln_xxhash_VERSION}" ${kiln_min_xxhash})
add_library(kiln_xxhash INTERFACE)
target_include_directories(kiln_xxhash SYSTEM INTERFACE ${kiln_xxhash_INCLUDE_DIR})
target_compile_definitions(kiln_xxhash INTERFACE XXH_INLINE_ALL)

if(KILN_BUILD_TOOL)
    kiln_find_part(kiln_jansson jansson.h "libjansson.a;jansson" libjansson-dev)
    kiln_header_version(kiln_jansson_VERSION ${kiln_jansson_INCLUDE_DIR}/jansson.h "JANSSON_(MAJOR|MINOR|MICRO)_VERSION")
    kiln_require_version(jansson "${kiln_jansson_VERSION}" ${kiln_min_jansson})
endif()
if(KILN_BUILD_TESTS)
    kiln_find_part(kiln_cmocka cmocka.h "libcmocka.a;cmocka" libcmocka-dev)
    # Its header tells no version; the file for pkg-config, where it is there, does.
    get_filename_component(kiln_cmocka_dir ${kiln_cmocka_LIBRARY} DIRECTORY)
    if(EXISTS ${kiln_cmocka_dir}/pkgconfig/cmocka.pc)
        file(STRINGS ${kiln_cmocka_dir}/pkgconfig/cmocka.pc kiln_cmocka_VERSION REGEX "^Version:")
        string(REGEX REPLACE "^Version: *" "" kiln_cmocka_VERSION "${kiln_cmocka_VERSION}")
        kiln_require_version(cmocka "${kiln_cmocka_VERSION}" ${kiln_min_cmocka})
    endif()
    # The real headers, where they exist, check Kiln's own declarations of the driver, NVRTC and NVTX.
    file(GLOB kiln_cuda_dirs /usr/local/cuda*/include)
    get_filename_component(kiln_nvrtc_dir "$ENV{KILN_NVRTC}" DIRECTORY) # PyPI's wheel has nvrtc.h beside its library
    find_path(kiln_cuda_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    find_path(kiln_nvrtc_INCLUDE_DIR nvrtc.h HINTS ${kiln_nvrtc_dir}/../include $ENV{CUDA_HOME}/include
                                               $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    find_path(kiln_nvtx_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    mark_as_advanced(kiln_cuda_INCLUDE_DIR kiln_nvrtc_INCLUDE_DIR kiln_nvtx_INCLUDE_DIR)
endif()
