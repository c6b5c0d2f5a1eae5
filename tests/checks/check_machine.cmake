# SPDX-License-Identifier: Apache-2.0
# Kiln for another processor or C library, with warnings as errors: 64-bit ARM, whose char has no sign, and musl. With the
# sources of jansson and cmocka, which tools/check.sh --all downloads (KILN_PART_SOURCES names their folder), also the tool
# and the fast tests, which run under an emulator where one is needed. Without them the library alone is compiled.
#   cmake -DROOT=<checkout> -DWORK=<empty folder> -DPROCESSOR=<CMake's name> -DCC=<its compiler>
#         -DEMULATOR=<command or empty> -DHEADERS=<folders of headers to be linked, or empty> -DEXCLUDED=<tests>
#         -DGENERATOR=<CMake's generator> -DXXHASH=<folder of xxhash.h> -DLAUNCHER=<compiler launcher or empty>
#         -P check_machine.cmake
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
set(parts ${WORK}/parts)
file(COPY ${XXHASH}/xxhash.h DESTINATION ${parts}/include) # alone: the headers beside it are this machine's
foreach(folder IN LISTS HEADERS)
    get_filename_component(name ${folder} NAME)
    file(CREATE_LINK ${folder} ${parts}/include/${name} SYMBOLIC)
endforeach()
file(WRITE ${WORK}/toolchain.cmake "set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PROCESSOR})
set(CMAKE_C_COMPILER ${CC})
set(CMAKE_CROSSCOMPILING_EMULATOR \"${EMULATOR}\")
set(CMAKE_FIND_ROOT_PATH ${parts})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
")
set(configure -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${WORK}/toolchain.cmake -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
set(sources "$ENV{KILN_PART_SOURCES}")
cmake_host_system_information(RESULT host QUERY OS_PLATFORM)
if(NOT sources OR (NOT EMULATOR AND NOT PROCESSOR STREQUAL host))
    run("configuring" ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/build ${configure} -DCMAKE_BUILD_TYPE=Release -DKILN_WERROR=ON
                      -DKILN_BUILD_TESTS=OFF -DKILN_BUILD_TOOL=OFF)
    run("compiling" ${CMAKE_COMMAND} --build ${WORK}/build)
    message(STATUS "the library compiles for ${PROCESSOR} by ${CC} without a warning; no test is run: KILN_PART_SOURCES or an emulator is missing")
    return()
endif()

# Of jansson and cmocka the archives alone.
foreach(name IN ITEMS jansson cmocka)
    run("configuring ${name}" ${CMAKE_COMMAND} -S ${sources}/${name} -B ${WORK}/${name} ${configure}
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=${parts} -DCMAKE_POLICY_VERSION_MINIMUM=3.5
        -DBUILD_SHARED_LIBS=OFF -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF -DJANSSON_EXAMPLES=OFF
        -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON)
    run("compiling ${name}" ${CMAKE_COMMAND} --build ${WORK}/${name})
    run("installing ${name}" ${CMAKE_COMMAND} --install ${WORK}/${name})
endforeach()

file(GLOB cmocka ${parts}/lib/libcmocka*.a) # its versions call it differently
# -O2: gcc 12 for ARM ends in an internal error on some loops at -O3.
run("configuring" ${CMAKE_COMMAND} -S ${ROOT} -B ${WORK}/build ${configure} -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O2
    -DKILN_WERROR=ON -DKILN_BUILD_PYTHON=OFF -DCMAKE_CXX_COMPILER=NOTFOUND
    -Dkiln_cmocka_LIBRARY=${cmocka})
file(GLOB tests ${ROOT}/tests/*/test_*.c)
set(names "")
foreach(test IN LISTS tests)
    get_filename_component(name ${test} NAME_WE)
    if(NOT name IN_LIST EXCLUDED)
        list(APPEND names ${name})
    endif()
endforeach()
run("compiling" ${CMAKE_COMMAND} --build ${WORK}/build --target kiln kiln_tool kiln_worker ${names})
list(JOIN names "|" pattern)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
run("the tests" ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -j${cores} -R "^(${pattern})$" --output-on-failure)
string(REGEX MATCH "[0-9]+% tests passed[^\n]*" passed "${output}")
run("the tool" ${EMULATOR} ${WORK}/build/kiln explain "y = softmax(x)" --tensor "x=f16[*,1024]" --arch sm_90)
if(NOT output MATCHES "phase 0")
    message(FATAL_ERROR "the tool printed '${output}'")
endif()
message(STATUS "${PROCESSOR} by ${CC}, without a warning: ${passed}")
