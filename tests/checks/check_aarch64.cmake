# SPDX-License-Identifier: Apache-2.0
# The library compiles for 64-bit ARM, whose char has no sign, with warnings as errors.
#   cmake -DROOT=<checkout> -DWORK=<empty folder> -DCC=<aarch64 compiler> -DGENERATOR=<CMake's generator>
#         -DXXHASH=<folder of xxhash.h> -DLAUNCHER=<compiler launcher or empty> -P check_aarch64.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(COPY ${XXHASH}/xxhash.h DESTINATION ${WORK}/include) # alone: the headers beside it are this machine's
file(WRITE ${WORK}/aarch64.cmake "set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER ${CC})
")
set(configure ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${WORK}/aarch64.cmake
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER} -DKILN_WERROR=ON -DKILN_BUILD_TESTS=OFF
    -DKILN_BUILD_TOOL=OFF -Dkiln_xxhash_INCLUDE_DIR=${WORK}/include)
foreach(command IN ITEMS "${configure}" "${CMAKE_COMMAND};--build;${WORK}/build")
    execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "compiling for aarch64 failed (${result}):\n${out}")
    endif()
endforeach()
message(STATUS "the library compiles for aarch64 without a warning")
