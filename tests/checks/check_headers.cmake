# SPDX-License-Identifier: Apache-2.0
# Compiles each header alone: public ones as C11 and C++17, internal ones as C11.
#   cmake -DROOT=<checkout> -DGENERATED=<dir> -DCC=<c compiler> [-DCXX=<c++ compiler>] -P check_headers.cmake
cmake_minimum_required(VERSION 3.22)
set(warnings -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
set(faults "")

# A file that includes the header twice also shows that its guard works.
function(check header language)
    file(WRITE ${GENERATED}/check_header.txt "#include \"${header}\"\n#include \"${header}\"\n")
    execute_process(COMMAND ${ARGN} ${warnings} -I${ROOT}/include -I${ROOT}/src -I${GENERATED}
                            -x ${language} ${GENERATED}/check_header.txt
                    RESULT_VARIABLE result ERROR_VARIABLE errors)
    if(NOT result EQUAL 0)
        set(faults "${faults}${header} does not compile alone as ${language}:\n${errors}\n" PARENT_SCOPE)
    endif()
endfunction()

file(GLOB_RECURSE public RELATIVE ${ROOT}/include ${ROOT}/include/*.h)
foreach(header IN LISTS public)
    check(${header} c ${CC} -std=c11)
    if(CXX)
        check(${header} c++ ${CXX} -std=c++17)
    endif()
endforeach()
if(NOT CXX)
    message(STATUS "no C++ compiler was found: the public headers were compiled as C alone")
endif()

file(GLOB_RECURSE internal RELATIVE ${ROOT}/src ${ROOT}/src/*.h)
foreach(header IN LISTS internal)
    check(${header} c ${CC} -std=c11)
endforeach()

if(faults)
    message(FATAL_ERROR "\n${faults}")
endif()
