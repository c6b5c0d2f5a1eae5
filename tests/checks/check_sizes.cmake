# SPDX-License-Identifier: Apache-2.0
# Fails where a file has more lines than can be read in one go: cmake -DROOT=<checkout> -P check_sizes.cmake
# Folders have no limit: their lines of code, neither blank nor comments, are told. What keeps code simple is the count of
# decisions, check_complexity.py.
cmake_minimum_required(VERSION 3.22)
set(limit_file 600)
set(limit_file_examples 150) # read in one go

set(faults "")
foreach(folder IN ITEMS src kernel_sources include tools tests examples)
    set(total 0)
    set(limit ${limit_file})
    if(DEFINED limit_file_${folder})
        set(limit ${limit_file_${folder}})
    endif()
    file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.c ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cu
                                             ${ROOT}/${folder}/*.cuh ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.kiln)
    list(REMOVE_ITEM files src/schedule/model_trees.h) # a table that tools/tune/fit.py writes
    foreach(file IN LISTS files)
        file(READ ${ROOT}/${file} text)
        # The licence's line is the same everywhere and no part of a file's subject.
        string(REGEX REPLACE "(^|\n)[^\n]*SPDX-License-Identifier: [^\n]*\n" "\\1" text "${text}")
        string(REGEX REPLACE "[^\n]" "" ends "${text}")
        string(LENGTH "${ends}" lines)
        string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/|//[^\n]*" "" code "${text}")
        string(REGEX REPLACE "\n([ \t\r]*\n)+" "\n" code "\n${code}")
        string(REGEX REPLACE "[^\n]" "" ends "${code}")
        string(LENGTH "${ends}" lines_of_code)
        math(EXPR total "${total} + ${lines_of_code} - 1")
        if(lines GREATER limit)
            list(APPEND faults "${file} has ${lines} lines, over ${limit}: it holds two subjects, part them")
        endif()
    endforeach()
    message(STATUS "${folder}/: ${total} lines of code")
endforeach()

if(faults)
    list(JOIN faults "\n  " text)
    message(FATAL_ERROR "\n  ${text}")
endif()
