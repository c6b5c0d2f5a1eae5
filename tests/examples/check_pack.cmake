# SPDX-License-Identifier: Apache-2.0
# Builds examples/pack against an installed Kiln, as its first lines say, and runs it without NVRTC.
#   cmake -DROOT=<checkout> -DBUILD=<build folder> -DWORK=<empty folder> -DCC=<c compiler> -DGENERATOR=<CMake's>
#         -DMODE=gpu|software|none -DNVRTC=<stand-in or empty> -DRUNTIME=<stand-in> -DCUDA_INCLUDE=<folder>
#         -P check_pack.cmake
# gpu: as a user would. software: on the software GPU, through the stand-in for the runtime. none: only the look-up.
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/../checks/run.cmake)

file(REMOVE_RECURSE ${WORK})
set(options -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_C_COMPILER=${CC} -G ${GENERATOR})
set(expected "the pack's kernel ran on 100 rows")
if(NVRTC)
    set(ENV{KILN_NVRTC} ${NVRTC})
    list(APPEND options -DWITH_CUDA=OFF -DARCHS=90)
endif()
if(MODE STREQUAL "software")
    list(APPEND options "-DCMAKE_C_FLAGS=-DWITH_CUDA -isystem ${CUDA_INCLUDE}" -DCMAKE_C_STANDARD_LIBRARIES=${RUNTIME})
    set(ENV{KILN_DRIVER} ${RUNTIME})
    get_filename_component(folder ${RUNTIME} DIRECTORY)
    set(ENV{LD_LIBRARY_PATH} ${folder}:$ENV{LD_LIBRARY_PATH})
elseif(MODE STREQUAL "none")
    set(ENV{FAKE_NVRTC_ARCH} 90)
    set(expected "the pack has the kernel for sm_90")
endif()
run("cmake --install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run("configuring" ${CMAKE_COMMAND} -S ${ROOT}/examples/pack -B ${WORK}/build ${options})
run("building" ${CMAKE_COMMAND} --build ${WORK}/build)
set(ENV{KILN_NVRTC} /nowhere/libnvrtc.so)
run("the program" ${WORK}/build/example_pack)
if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "the program printed '${output}', expected '${expected}'")
endif()
message(STATUS "${MODE}: ${output}")
