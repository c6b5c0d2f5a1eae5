# SPDX-License-Identifier: Apache-2.0
# The README's C example is docs/example.c, and it compiles and runs against an installed Kiln.
#   cmake -DROOT=<checkout> -DBUILD=<build folder> -DWORK=<empty folder> -DCC=<c compiler> -DLIBDIR=<lib>
#         -DGENERATOR=<CMake's generator> -DCUDA_INCLUDE=<folder or empty> -P check_readme.cmake
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# expect(<what> <program>): the example prints what the README says it prints.
function(expect what program)
    run("${what}" ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR}:$ENV{LD_LIBRARY_PATH} ${program})
    string(FIND "${readme}" "```text\n${output}```" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "${what} printed what README.md does not show:\n${output}")
    endif()
    message(STATUS "${what}: printed what README.md shows")
endfunction()

file(READ ${ROOT}/README.md readme)
file(READ ${ROOT}/docs/example.c example)
string(FIND "${readme}" "```c\n${example}```\n" place)
if(place EQUAL -1)
    message(FATAL_ERROR "the C block of README.md is not docs/example.c")
endif()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run("cmake --install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(GLOB_RECURSE licences ${prefix}/LICENSE ${prefix}/xxhash.txt ${prefix}/kiln.spdx.json)
list(LENGTH licences count)
if(NOT count EQUAL 3)
    message(FATAL_ERROR "LICENSE, xxhash.txt and kiln.spdx.json were expected in the installed tree, there is: ${licences}")
endif()

# By pkg-config, against the shared library and against the archive.
set(warnings -std=c11 -Wall -Wextra -Wpedantic -Werror)
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(PKG_CONFIG)
    set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
    run("pkg-config" ${PKG_CONFIG} --cflags --libs kiln)
    separate_arguments(flags UNIX_COMMAND "${output}")
    run("compiling by pkg-config" ${CC} ${warnings} ${ROOT}/docs/example.c ${flags} -o ${WORK}/shared)
    expect("by pkg-config, shared" ${WORK}/shared)
    run("pkg-config kiln-static" ${PKG_CONFIG} --cflags --libs kiln-static)
    separate_arguments(flags UNIX_COMMAND "${output}")
    run("compiling by pkg-config kiln-static" ${CC} ${warnings} ${ROOT}/docs/example.c ${flags} -o ${WORK}/static)
    file(RENAME ${prefix}/${LIBDIR} ${prefix}/away) # what is in the program needs no library
    expect("by pkg-config, static" ${WORK}/static)
    file(RENAME ${prefix}/away ${prefix}/${LIBDIR})
    if(CUDA_INCLUDE)
        set(cuda_flags -isystem ${CUDA_INCLUDE} -L${CUDA_INCLUDE}/../lib64 -lcudart -Wl,-rpath,${CUDA_INCLUDE}/../lib64)
        run("compiling with CUDA" ${CC} ${warnings} -DWITH_CUDA ${ROOT}/docs/example.c ${flags} ${cuda_flags}
                                   -o ${WORK}/cuda)
        if(EXISTS /dev/nvidiactl)
            expect("on the GPU" ${WORK}/cuda)
        else()
            message(STATUS "no GPU: the example was compiled with CUDA and not run")
        endif()
    endif()
else()
    message(STATUS "no pkg-config: its way was not tried")
endif()

# By the CMake package.
file(WRITE ${WORK}/user/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(kiln 0.2 REQUIRED)
add_executable(with_shared ${ROOT}/docs/example.c)
target_link_libraries(with_shared PRIVATE kiln::kiln)
add_executable(with_static ${ROOT}/docs/example.c)
target_link_libraries(with_static PRIVATE kiln::static)
")
run("configuring" ${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build -DCMAKE_PREFIX_PATH=${prefix}
                  -DCMAKE_C_COMPILER=${CC} -G ${GENERATOR})
run("building" ${CMAKE_COMMAND} --build ${WORK}/user/build)
expect("by CMake, shared" ${WORK}/user/build/with_shared)
expect("by CMake, static" ${WORK}/user/build/with_static)
