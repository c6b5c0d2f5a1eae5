# SPDX-License-Identifier: Apache-2.0
# Fails where docs/language.md lacks a function or an operator: cmake -DROOT=<checkout> -P check_language.cmake
cmake_minimum_required(VERSION 3.22)

file(READ ${ROOT}/docs/language.md page)
file(READ ${ROOT}/src/lang/ops.h ops)
file(STRINGS ${ROOT}/kernel_sources/prelude.kiln prelude REGEX "^fn ")
file(STRINGS ${ROOT}/kernel_sources/library.kiln library REGEX "^fn ")
list(APPEND prelude ${library})
string(REGEX MATCHALL "(X\\([A-Z0-9_]+, \"[^\"]+\"|S\\([A-Z0-9_]+, \"[^\"a-z]+\")" names "${ops}")
list(TRANSFORM names REPLACE "^.*\"(.*)\"$" "\\1")
list(TRANSFORM prelude REPLACE "^fn ([a-z0-9_]+).*$" "\\1")
list(REMOVE_ITEM names "neg") # written -x
list(FILTER prelude EXCLUDE REGEX "^_")
set(faults "")
foreach(name IN LISTS names prelude)
    string(REPLACE "|" "\\|" name "${name}") # as a table has it
    string(FIND "${page}" "`${name}" code)
    string(FIND "${page}" " ${name}" word)
    if(code EQUAL -1 AND word EQUAL -1)
        list(APPEND faults "docs/language.md lacks '${name}'")
    endif()
endforeach()
list(LENGTH names operators)
list(LENGTH prelude functions)
message(STATUS "${operators} operators, ${functions} functions of the prelude")

if(faults OR operators EQUAL 0 OR functions EQUAL 0)
    list(JOIN faults "\n  " text)
    message(FATAL_ERROR "\n  ${text}")
endif()
