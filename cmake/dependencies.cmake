# Third-party parts, all from the distribution's packages. Static archives come first, so that what is built here
# runs on another Linux of similar age without them.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

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
add_library(kiln_xxhash INTERFACE)
target_include_directories(kiln_xxhash SYSTEM INTERFACE ${kiln_xxhash_INCLUDE_DIR})
target_compile_definitions(kiln_xxhash INTERFACE XXH_INLINE_ALL)

if(KILN_BUILD_TOOL)
    kiln_find_part(kiln_jansson jansson.h "libjansson.a;jansson" libjansson-dev)
endif()
if(KILN_BUILD_TESTS)
    kiln_find_part(kiln_cmocka cmocka.h "libcmocka.a;cmocka" libcmocka-dev)
    # The real headers, where they exist, check Kiln's own declarations of the driver and NVRTC.
    file(GLOB kiln_cuda_dirs /usr/local/cuda*/include)
    get_filename_component(kiln_nvrtc_dir "$ENV{KILN_NVRTC}" DIRECTORY) # PyPI's wheel has nvrtc.h beside its library
    find_path(kiln_cuda_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    find_path(kiln_nvrtc_INCLUDE_DIR nvrtc.h HINTS ${kiln_nvrtc_dir}/../include $ENV{CUDA_HOME}/include
                                               $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    mark_as_advanced(kiln_cuda_INCLUDE_DIR kiln_nvrtc_INCLUDE_DIR)
endif()
