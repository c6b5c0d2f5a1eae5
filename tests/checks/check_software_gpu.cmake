# SPDX-License-Identifier: Apache-2.0
# docs/software-gpu.md's project: an application's test that finds an installed software GPU, and fails where the
# application writes outside of its memory.
#   cmake -DROOT=<checkout> -DBUILD=<build folder> -DWORK=<empty folder> -DCC=<c compiler> -DCXX=<c++ compiler>
#         -DGENERATOR=<CMake's generator> -P check_software_gpu.cmake
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
file(READ ${ROOT}/docs/software-gpu.md page)
# write_block(<name>): the page's block of that file.
function(write_block name)
    string(FIND "${page}" "\n`${name}`:\n\n```" start)
    if(start EQUAL -1)
        message(FATAL_ERROR "docs/software-gpu.md has no block '${name}'")
    endif()
    string(SUBSTRING "${page}" ${start} -1 rest)
    string(FIND "${rest}" "```" start)
    string(SUBSTRING "${rest}" ${start} -1 rest)
    string(FIND "${rest}" "\n" start)
    string(FIND "${rest}" "\n```\n" end)
    math(EXPR length "${end} - ${start}")
    string(SUBSTRING "${rest}" ${start} ${length} block)
    file(WRITE ${WORK}/user/${name} "${block}\n")
endfunction()
foreach(name IN ITEMS scores.c test_scores.c CMakeLists.txt)
    write_block(${name})
endforeach()

set(prefix ${WORK}/prefix)
run("cmake --install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(configure ${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_PREFIX_PATH=${prefix} "-DCMAKE_C_FLAGS=-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror")
execute_process(COMMAND ${configure} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "software GPU is not installed: it is built with[ \n]+KILN_INSTALL_SOFTWARE_GPU")
    message(FATAL_ERROR "without the software GPU, find_package says (${result}):\n${output}")
endif()
run("cmake --install --component" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component software_gpu)
run("configuring" ${configure})
run("building" ${CMAKE_COMMAND} --build ${WORK}/user/build)
run("the test" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/user/build -V)
if(NOT output MATCHES "right under five seeds")
    message(FATAL_ERROR "the test printed:\n${output}")
endif()

# In place, with one row more than there is memory for.
file(READ ${WORK}/user/scores.c text)
string(REPLACE "{rows, cols}" "{rows + 1, cols}" text "${text}")
string(REPLACE "contiguous(y," "contiguous(y ? x : y," text "${text}")
file(WRITE ${WORK}/user/scores.c "${text}")
run("building again" ${CMAKE_COMMAND} --build ${WORK}/user/build)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/user/build -V RESULT_VARIABLE result
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "KILN_E_LAUNCH: .* bytes (after the end|before the start) of an allocation")
    message(FATAL_ERROR "a test that reads too far ended with ${result}:\n${output}")
endif()

# The header is one of C++ as well.
run("the header as C++" ${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++
    ${prefix}/include/kiln/software_gpu.h)
message(STATUS "an application's test runs on the installed software GPU")
