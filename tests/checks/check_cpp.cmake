# SPDX-License-Identifier: Apache-2.0
# Compiles tests/checks/test_cpp.cpp against the public header and the built library, and runs it.
#   cmake -DROOT=<checkout> -DWORK=<dir> -DCXX=<c++ compiler> -DLIBRARY=<libkiln.so> -P check_cpp.cmake
cmake_minimum_required(VERSION 3.22)
get_filename_component(folder ${LIBRARY} DIRECTORY)
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I${ROOT}/include
                        ${ROOT}/tests/checks/test_cpp.cpp -o ${WORK}/test_cpp ${LIBRARY} -Wl,-rpath,${folder}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/test_cpp COMMAND_ERROR_IS_FATAL ANY)
