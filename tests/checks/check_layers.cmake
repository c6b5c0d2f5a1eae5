# SPDX-License-Identifier: Apache-2.0
# Fails where a stage includes a later one: cmake -DROOT=<checkout> -P check_layers.cmake
# Data flows one way; what each folder of src/ may include is said here.
cmake_minimum_required(VERSION 3.22)
set(base_may base)
set(lang_may base lang)
set(problem_may base lang problem)
set(schedule_may base lang problem schedule)
set(codegen_may base lang problem schedule codegen codegen/kernels)
set(codegen/kernels_may base lang problem schedule codegen codegen/kernels)
set(jit_may base jit)
set(cache_may base cache)
set(gpu_may base gpu schedule/device.h)
set(ref_may base lang ref)
set(runtime_may base lang problem schedule codegen jit cache gpu ref runtime)

set(faults "")
file(GLOB_RECURSE files RELATIVE ${ROOT}/src ${ROOT}/src/*.c ${ROOT}/src/*.h)
foreach(file IN LISTS files)
    get_filename_component(folder ${file} DIRECTORY)
    if(NOT DEFINED ${folder}_may)
        list(APPEND faults "src/${file} lies in a folder that tests/checks/check_layers.cmake does not know")
        continue()
    endif()
    file(STRINGS ${ROOT}/src/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" included "${line}")
        get_filename_component(part "${included}" DIRECTORY)
        # The public header, the embedded sources, and a neighbour named without its folder are everyone's.
        if(part STREQUAL "kiln" OR included STREQUAL "kiln_sources.h" OR
           (part STREQUAL "" AND EXISTS ${ROOT}/src/${folder}/${included}) OR
           part IN_LIST ${folder}_may OR included IN_LIST ${folder}_may)
            continue()
        endif()
        list(APPEND faults "src/${file} includes ${included}; src/${folder} may include ${${folder}_may}")
    endforeach()
endforeach()

# Kernels are compiled with nothing beside them: what they include must stand in kernel_sources/. Where a schedule is
# pinned to CUB's, its headers are looked for.
file(GLOB files RELATIVE ${ROOT}/kernel_sources ${ROOT}/kernel_sources/*)
foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/kernel_sources/${file} lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[^\"<]*[\"<]([^\">]*).*" "\\1" included "${line}")
        if(file STREQUAL "group_cub.cuh" AND included MATCHES "^cub/")
            continue()
        endif()
        if(NOT EXISTS ${ROOT}/kernel_sources/${included})
            list(APPEND faults "kernel_sources/${file} includes ${included}, which is not in kernel_sources/")
        endif()
    endforeach()
endforeach()

if(faults)
    list(JOIN faults "\n  " text)
    message(FATAL_ERROR "\n  ${text}")
endif()
