# SPDX-License-Identifier: Apache-2.0
# A project of its own that finds an installed Kiln, embeds a pack with kiln_add_pack, and runs from it: a program in
# C, a shared library in C++, and what is rebuilt when the manifest changes. The stand-in of NVRTC compiles.
#   cmake -DROOT=<checkout> -DBUILD=<build folder> -DWORK=<empty folder> -DCC=<c compiler> -DCXX=<c++ compiler or empty>
#         -DGENERATOR=<CMake's generator> -DNVRTC=<stand-in> -P check_add_pack.cmake
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

function(expect what program columns expected)
    run("${what}" ${CMAKE_COMMAND} -E env --unset=KILN_NVRTC --unset=KILN_PACKS ${program} ${columns})
    if(NOT output STREQUAL "${expected}\n")
        message(FATAL_ERROR "${what} printed '${output}', expected '${expected}'")
    endif()
    message(STATUS "${what}: ${expected}")
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run("cmake --install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
set(line "{\"program\":\"y = softmax(x)\",\"tensors\":[\"x=f16[*,64]\",\"y=f16[*,64]\"]}\n")
file(WRITE ${WORK}/user/kernels.jsonl "${line}")
file(WRITE ${WORK}/user/main.c "#include <stdio.h>
#include <stdlib.h>
#include \"user_pack.h\"

/* Tells where the kernel for so many columns comes from, with no NVRTC and no cache, and whether it serves any. */
int main(int argc, char **argv)
{
    kiln_context_options options = KILN_CONTEXT_OPTIONS_INIT;
    kiln_context *context = NULL;
    kiln_program *program = NULL;
    kiln_kernel *kernel = NULL;
    kiln_plan_info info = KILN_PLAN_INFO_INIT;
    const int64_t sizes[] = {100, argc > 1 ? atoi(argv[1]) : 0};
    const kiln_tensor tensors[] = {kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes),
                                   kiln_tensor_contiguous(NULL, KILN_F16, 2, sizes)};
    options.cache_dir = \"\";
    options.nvrtc_path = \"/nowhere/libnvrtc.so\";
    options.packs = &user_pack;
    options.pack_count = 1;
    options.policy = KILN_POLICY_NEVER_COMPILE;
    kiln_status status = kiln_context_create(&options, &context);
    if (!status) status = kiln_program_create(context, argc > 2 ? argv[2] : \"y = softmax(x)\", NULL, &program);
    if (!status) status = kiln_compile(program, tensors, 2, NULL, 0, 90, 0, 1, &kernel);
    if (!status) status = kiln_kernel_get_info(kernel, &info);
    const char *from = info.origin != KILN_ORIGIN_PACK ? \"elsewhere\" : info.any_shape ? \"pack, any shape\" : \"pack\";
    printf(\"%s\\n\", status ? kiln_status_name(status) : from);
    kiln_kernel_destroy(kernel);
    kiln_program_destroy(program);
    kiln_context_destroy(context);
    return 0;
}
")
file(WRITE ${WORK}/user/part.cpp "#include \"kernels_in_cpp.h\"
extern \"C\" const kiln_pack *pack_of_part(void) { return &kernels_in_cpp; }
")
set(languages C)
if(CXX)
    list(APPEND languages CXX)
endif()
file(WRITE ${WORK}/user/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(user ${languages})
find_package(kiln 0.2 REQUIRED)
add_executable(user main.c)
target_link_libraries(user PRIVATE kiln::static)
kiln_add_pack(user kernels.jsonl ARCHS 80 90)
if(CMAKE_CXX_COMPILER)
    add_library(part SHARED part.cpp)
    target_link_libraries(part PRIVATE kiln::kiln -Wl,--no-undefined)
    kiln_add_pack(part kernels.jsonl NAME kernels_in_cpp ARCHS compute_80 OPTIONS --jobs 1)
endif()
")
set(ENV{KILN_NVRTC} ${NVRTC})
set(ENV{FAKE_NVRTC_ARCH} 90)
set(compilers -DCMAKE_C_COMPILER=${CC})
if(CXX)
    list(APPEND compilers -DCMAKE_CXX_COMPILER=${CXX})
endif()
run("configuring" ${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build -DCMAKE_PREFIX_PATH=${prefix} ${compilers}
                  -G ${GENERATOR})
run("building" ${CMAKE_COMMAND} --build ${WORK}/user/build)
expect("a kernel of the manifest" ${WORK}/user/build/user 64 pack)
expect("another shape" ${WORK}/user/build/user 65 "pack, any shape")
expect("another program" ${WORK}/user/build/user "65;y = x + 1" KILN_E_WOULD_COMPILE)

string(REPLACE 64 65 other "${line}")
file(APPEND ${WORK}/user/kernels.jsonl "${other}")
run("building again" ${CMAKE_COMMAND} --build ${WORK}/user/build)
expect("a kernel that was added to the manifest" ${WORK}/user/build/user 65 pack)

# The installed tool, looked up by the shell, finds the process of compiles with a time limit; its library is an archive.
run("compiling with a time limit" ${CMAKE_COMMAND} -E env "PATH=${prefix}/bin:$ENV{PATH}" --unset=KILN_WORKER
    KILN_COMPILE_LIMIT=60000 KILN_CACHE_DIR=${WORK}/cache sh -c "cd / && exec kiln compile 'y = softmax(x)' --tensor 'x=f16[*,99]' --arch sm_90")

# A manifest that cannot be made stops the build.
string(REPLACE softmax sofmax wrong "${line}")
file(APPEND ${WORK}/user/kernels.jsonl "${wrong}")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/user/build RESULT_VARIABLE result OUTPUT_VARIABLE out
                ERROR_VARIABLE out)
if(result EQUAL 0 OR NOT out MATCHES "kernels.jsonl:3: 1:5: unknown function 'sofmax'")
    message(FATAL_ERROR "a wrong manifest did not stop the build (${result}):\n${out}")
endif()
