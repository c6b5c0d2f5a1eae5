# SPDX-License-Identifier: Apache-2.0
# Checks of the sources themselves, of what is exported and of what is installed.

# What tools/snapshot.sh compares.
if(TARGET kiln_tool_parts)
    kiln_add_program(plan_snapshot checks/plan_snapshot.c)
    target_link_libraries(plan_snapshot PRIVATE kiln_xxhash)
endif()

set(script ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR})
set(here ${CMAKE_CURRENT_SOURCE_DIR}/checks)
add_test(NAME layers COMMAND ${script} -P ${here}/check_layers.cmake)
add_test(NAME language COMMAND ${script} -P ${here}/check_language.cmake)
add_test(NAME events COMMAND ${script} -P ${here}/check_events.cmake)
add_test(NAME errors COMMAND ${script} -P ${here}/check_errors.cmake)
add_test(NAME limits COMMAND ${script} -P ${here}/check_limits.cmake)
if(kiln_bash)
    add_test(NAME spdx COMMAND ${kiln_bash} ${PROJECT_SOURCE_DIR}/tools/spdx.sh --check)
    add_test(NAME format COMMAND ${kiln_bash} ${PROJECT_SOURCE_DIR}/tools/format.sh --check)
    set_tests_properties(format PROPERTIES SKIP_RETURN_CODE 77)
endif()
add_test(NAME sizes COMMAND ${script} -P ${here}/check_sizes.cmake)

# Counts decisions, with a package of Python that tools/check.sh downloads: KILN_LIZARD names its folder. The check itself
# must be able to fail: a tree with a fault of each kind shows that it names them.
find_program(kiln_python python3)
mark_as_advanced(kiln_python)
set(fixture ${CMAKE_CURRENT_BINARY_DIR}/complexity_fixture)
string(REPEAT "x ? y : " 21 decisions)
file(WRITE ${fixture}/src/base/grown.c "int grown(int x, int y) { return ${decisions} x ? y : 0; }\n")
file(WRITE ${fixture}/src/schedule/deep.c "int deep(int x, int y) { return ${decisions} 0; }\n")
file(WRITE ${fixture}/src/base/flat.c "int flat(int x) { return x ? 1 : 2; }\n")
string(REPEAT "int a; " 11 members)
file(WRITE ${fixture}/src/schedule/schedule.h
     "typedef struct kiln__row_schedule {\n${members}\n} kiln__row_schedule;\n")
file(WRITE ${fixture}/tests/checks/complexity_exceptions.txt
     "src/base/grown.c grown 21\nsrc/base/flat.c flat 30\nsrc/base/gone.c gone 30\nsrc/codegen 0.4\n")
set(faults "grown makes 22 decisions, over 21" "deep makes 21 decisions, over 20" "flat makes 1 decisions, within 20"
           "there is no gone" "src/schedule/ makes [0-9.]+ decisions a line of code" "src/codegen/ is within 0[.]35"
           "kiln__row_schedule has 11 members, expected 1 to 10")
list(JOIN faults ".*" faults)
if(kiln_python)
    add_test(NAME complexity COMMAND ${kiln_python} ${here}/check_complexity.py)
    add_test(NAME complexity_refuses COMMAND ${kiln_python} ${here}/check_complexity.py --root ${fixture})
    set_tests_properties(complexity_refuses PROPERTIES PASS_REGULAR_EXPRESSION "${faults}")
    # The reference of the C API, made of the headers' comments: each declaration has one.
    set(fixture ${CMAKE_CURRENT_BINARY_DIR}/reference_fixture)
    file(WRITE ${fixture}/include/kiln/kiln.h "/* The head. */\n\nKILN_API int kiln_silent(void);\n")
    foreach(name IN ITEMS context tensor status)
        file(WRITE ${fixture}/include/kiln/${name}.h "/* The head. */\n")
    endforeach()
    file(WRITE ${fixture}/tests/checks/exported_symbols.txt "kiln_silent\nkiln_gone\n")
    add_test(NAME reference COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/reference.py
                                    ${CMAKE_CURRENT_BINARY_DIR}/reference.md)
    add_test(NAME reference_refuses COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/reference.py
                                            ${CMAKE_CURRENT_BINARY_DIR}/refused.md --root ${fixture})
    set_tests_properties(reference_refuses PROPERTIES PASS_REGULAR_EXPRESSION
                         "kiln_silent has no comment.*kiln_gone is exported and not in the reference")
    # Links of the pages, which building the site would find.
    add_test(NAME links COMMAND ${kiln_python} ${here}/check_links.py ${PROJECT_SOURCE_DIR})
    set(fixture ${CMAKE_CURRENT_BINARY_DIR}/links_fixture)
    file(WRITE ${fixture}/docs/page.md "# A page\n[a](gone.md) [b](#a-page) [c](#no-heading) [d](../left.json) `[e](code.md)`\n")
    file(WRITE ${fixture}/left.json "{}\n")
    file(WRITE ${fixture}/mkdocs.yml "nav:\n  - Gone: docs/old.md\n")
    file(WRITE ${fixture}/tools/site.sh "echo docs/page.md\n")
    add_test(NAME links_refuse COMMAND ${kiln_python} ${here}/check_links.py ${fixture})
    string(CONCAT faults "page.md links to gone.md, which is not there\n.*page.md links to #no-heading.*no such heading\n.*"
                         "left.json, which is not among the site's files\nmkdocs.yml has docs/old.md, which is not there\n"
                         "mkdocs.yml lacks docs/page.md\n1 pages, 5 faults")
    set_tests_properties(links_refuse PROPERTIES PASS_REGULAR_EXPRESSION "${faults}")
    set_tests_properties(links PROPERTIES SKIP_RETURN_CODE 77)
    add_test(NAME onnx_page COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/onnx_page.py --check)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/old_onnx.md "# Operators of ONNX\n")
    add_test(NAME onnx_page_refuses COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/onnx_page.py --check
                                            --page ${CMAKE_CURRENT_BINARY_DIR}/old_onnx.md)
    set_tests_properties(onnx_page_refuses PROPERTIES PASS_REGULAR_EXPRESSION
                         "old_onnx.md is not what tools/onnx_page.py writes")
    if(TARGET kiln_tool)
        add_test(NAME functions COMMAND ${kiln_python} ${here}/check_functions.py $<TARGET_FILE:kiln_tool>
                                        ${PROJECT_SOURCE_DIR}/docs/language.md)
        add_test(NAME functions_page COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/functions_page.py
                                             $<TARGET_FILE:kiln_tool> --check)
        file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/old_functions.md "# Functions\n")
        add_test(NAME functions_page_refuses
                 COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/functions_page.py $<TARGET_FILE:kiln_tool> --check
                         --page ${CMAKE_CURRENT_BINARY_DIR}/old_functions.md)
        set_tests_properties(functions_page_refuses PROPERTIES PASS_REGULAR_EXPRESSION
                             "old_functions.md is not what tools/functions_page.py writes")
        # A family's page with a name that is no function, a source that it lacks and one of nothing, and the others missing.
        set(fixture ${CMAKE_CURRENT_BINARY_DIR}/families_fixture)
        file(WRITE ${fixture}/norms.md "<!-- functions: layer_norm rms_nrom -->\n<!-- end of functions -->\n- **Gone 1999**: a title\n")
        add_test(NAME families_refuse
                 COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/functions_page.py $<TARGET_FILE:kiln_tool> --check
                         --families ${fixture})
        string(CONCAT faults "norms.md has rms_nrom, which is no function.*norms.md has no source 'Ba et al. 2016'.*"
                             "norms.md has the source 'Gone 1999', of no function.*has no page with rms_norm.*"
                             "norms.md is not what tools/functions_page.py writes")
        set_tests_properties(families_refuse PROPERTIES PASS_REGULAR_EXPRESSION "${faults}")
        file(READ ${PROJECT_SOURCE_DIR}/docs/language.md page)
        string(REPLACE "slope = 0.01" "slope = 0.1" page "${page}")
        string(REPLACE "`floor ceil" "`flor ceil" page "${page}")
        file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wrong_language.md "${page}")
        add_test(NAME functions_refuse COMMAND ${kiln_python} ${here}/check_functions.py $<TARGET_FILE:kiln_tool>
                                               ${CMAKE_CURRENT_BINARY_DIR}/wrong_language.md)
        set_tests_properties(functions_refuse PROPERTIES PASS_REGULAR_EXPRESSION
                             "lacks floor.*has flor, which is no function.*it is leaky_relu.x, slope = 0.01")
    endif()
else()
    foreach(name IN ITEMS complexity complexity_refuses)
        add_test(NAME ${name} COMMAND sh -c "echo 'skipped: there is no python3'; exit 77")
    endforeach()
endif()
set_tests_properties(complexity complexity_refuses PROPERTIES SKIP_RETURN_CODE 77)

# What is older than it may be is refused when the build is configured.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/old_xxhash/xxhash.h "#define XXH_VERSION_MAJOR 0\n#define XXH_VERSION_MINOR 7\n"
     "#define XXH_VERSION_RELEASE 4\n")
add_test(NAME old_libraries_are_refused
         COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${CMAKE_CURRENT_BINARY_DIR}/old_xxhash/build
                 -G ${CMAKE_GENERATOR} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DKILN_BUILD_TESTS=OFF
                 -Dkiln_xxhash_INCLUDE_DIR=${CMAKE_CURRENT_BINARY_DIR}/old_xxhash)
set_tests_properties(old_libraries_are_refused PROPERTIES
                     PASS_REGULAR_EXPRESSION "xxHash 0.7.4 is too old: 0.8.0 or newer is needed")

set(kiln_recipe_python ${kiln_python})
if(NOT kiln_python)
    set(kiln_recipe_python "")
endif()
add_test(NAME recipes COMMAND ${script} -DVERSION=${PROJECT_VERSION} -DPYTHON=${kiln_recipe_python}
                              -P ${here}/check_recipes.cmake)

# The layer check itself must be able to fail: a tree with two faults shows that it names them.
set(fixture ${CMAKE_CURRENT_BINARY_DIR}/layers_fixture)
file(WRITE ${fixture}/src/base/low.c "#include \"lang/ir.h\"\n")
file(WRITE ${fixture}/kernel_sources/kernel.cuh "#include <cub/cub.cuh>\n")
foreach(fault IN ITEMS "src/base/low.c includes lang/ir.h" "kernel_sources/kernel.cuh includes cub/cub.cuh")
    string(MAKE_C_IDENTIFIER "layers_refuse_${fault}" name)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DROOT=${fixture} -P ${here}/check_layers.cmake)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION ${fault})
endforeach()

# Each folder is read from the top down. The parser's files do call each other, and show that the check can fail.
if(kiln_bash)
    foreach(folder IN ITEMS base cache codegen gpu jit lang problem ref schedule)
        add_test(NAME circles_${folder}
                 COMMAND ${kiln_bash} ${here}/check_circles.sh ${CMAKE_NM} src/${folder} $<TARGET_OBJECTS:kiln_objects>
                 COMMAND_EXPAND_LISTS)
        set_tests_properties(circles_${folder} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
    set_tests_properties(circles_lang PROPERTIES PASS_REGULAR_EXPRESSION "src/lang call each other.*src/lang/parser.c"
                                                 SKIP_RETURN_CODE 77)
endif()

# For another processor and another C library, where their compilers are installed. Those with the label long take minutes;
# an emulated process starts none of its own, and takes too long for some.
get_property(all DIRECTORY PROPERTY TESTS)
set(excluded "")
foreach(test IN LISTS all)
    get_test_property(${test} LABELS labels)
    if(labels MATCHES "long")
        list(APPEND excluded ${test})
    endif()
endforeach()
function(kiln_add_machine name compiler processor emulator headers)
    add_test(NAME ${name} COMMAND ${script} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/${name} -DPROCESSOR=${processor}
                                  -DCC=${compiler} "-DEMULATOR=${emulator}" "-DHEADERS=${headers}" "-DEXCLUDED=${excluded};${ARGN}"
                                  -DGENERATOR=${CMAKE_GENERATOR} -DXXHASH=${kiln_xxhash_INCLUDE_DIR}
                                  -DLAUNCHER=${CMAKE_C_COMPILER_LAUNCHER} -P ${here}/check_machine.cmake)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 PROCESSORS 2)
endfunction()
find_program(kiln_aarch64_cc aarch64-linux-gnu-gcc)
find_program(kiln_qemu_aarch64 qemu-aarch64)
find_program(kiln_musl_cc musl-gcc)
mark_as_advanced(kiln_aarch64_cc kiln_qemu_aarch64 kiln_musl_cc)
if(kiln_aarch64_cc AND NOT KILN_SANITIZE)
    set(emulator "")
    if(kiln_qemu_aarch64)
        set(emulator ${kiln_qemu_aarch64} -L /usr/aarch64-linux-gnu)
    endif()
    kiln_add_machine(aarch64 ${kiln_aarch64_cc} aarch64 "${emulator}" "" test_cache_memory test_cache_processes test_faults
                     test_fork test_prepare test_profiler test_stats test_worker test_schedule test_kernels_loaded test_plan_fuzz)
endif()
if(kiln_musl_cc AND NOT KILN_SANITIZE)
    # musl-gcc has no headers of the kernel. test_faults is made of the names that glibc gives to checked functions; the
    # malloc of musl takes long for the next two, and the last measures how long processes wait, which takes a quiet machine.
    set(headers /usr/include/linux /usr/include/asm-generic /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/asm)
    kiln_add_machine(musl ${kiln_musl_cc} ${CMAKE_SYSTEM_PROCESSOR} "" "${headers}" test_faults test_schedule
                     test_kernels_loaded test_cache_processes)
endif()

find_program(kiln_cxx NAMES c++ g++ clang++)
mark_as_advanced(kiln_cxx)
if(NOT kiln_cxx)
    set(kiln_cxx "")
endif()
add_test(NAME headers COMMAND ${script} -DGENERATED=${kiln_generated_dir} -DCC=${CMAKE_C_COMPILER} -DCXX=${kiln_cxx}
                              -P ${here}/check_headers.cmake)

if(NOT KILN_SANITIZE) # what is built here has no sanitizers
    add_test(NAME subproject COMMAND ${script} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/subproject -DCC=${CMAKE_C_COMPILER}
                                     -DGENERATOR=${CMAKE_GENERATOR} -DLAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
                                     -P ${here}/check_subproject.cmake)
    set_tests_properties(subproject PROPERTIES TIMEOUT 600)
endif()

# Sanitizers export symbols of their own, and an installed example would need their runtime. Both libraries are tried.
if(NOT KILN_SANITIZE AND KILN_INSTALL AND NOT DEFINED BUILD_SHARED_LIBS)
    if(kiln_cxx)
        add_test(NAME cpp COMMAND ${script} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/cpp -DCXX=${kiln_cxx}
                                  -DLIBRARY=$<TARGET_FILE:kiln> -P ${here}/check_cpp.cmake)
    endif()
    add_test(NAME fault_calls COMMAND ${script} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:kiln_static>
                                      -P ${here}/check_fault_calls.cmake)
    add_test(NAME exported_symbols COMMAND ${script} -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -DLIBRARY=$<TARGET_FILE:kiln>
                                           -P ${here}/check_symbols.cmake)
    find_path(kiln_cudart_INCLUDE_DIR cuda_runtime_api.h
              HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include ${kiln_cuda_dirs})
    mark_as_advanced(kiln_cudart_INCLUDE_DIR)
    set(cuda_include "")
    if(kiln_cudart_INCLUDE_DIR AND EXISTS ${kiln_cudart_INCLUDE_DIR}/../lib64/libcudart.so)
        set(cuda_include ${kiln_cudart_INCLUDE_DIR})
    endif()
    add_test(NAME readme COMMAND ${script} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/readme
                                 -DCC=${CMAKE_C_COMPILER} -DLIBDIR=${CMAKE_INSTALL_LIBDIR}
                                 -DGENERATOR=${CMAKE_GENERATOR} -DCUDA_INCLUDE=${cuda_include}
                                 -P ${here}/check_readme.cmake)
    set_tests_properties(readme PROPERTIES TIMEOUT 300)
    if(TARGET kiln_tool AND TARGET kiln_fake_nvrtc)
        add_test(NAME add_pack COMMAND ${script} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/add_pack
                                       -DCC=${CMAKE_C_COMPILER} -DCXX=${kiln_cxx} -DGENERATOR=${CMAKE_GENERATOR}
                                       -DNVRTC=$<TARGET_FILE:kiln_fake_nvrtc> -P ${here}/check_add_pack.cmake)
        set_tests_properties(add_pack PROPERTIES TIMEOUT 300)
    endif()
    if(TARGET kiln_software_driver)
        add_test(NAME software_gpu_installed
                 COMMAND ${script} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/software_gpu_installed
                         -DCC=${CMAKE_C_COMPILER} -DCXX=${kiln_cxx} -DGENERATOR=${CMAKE_GENERATOR}
                         -P ${here}/check_software_gpu.cmake)
        set_tests_properties(software_gpu_installed PROPERTIES TIMEOUT 300)
    endif()
    # Every code block of the guide's pages and of those of families of functions; the Python package is that of the build tree.
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/guide/*.md ${PROJECT_SOURCE_DIR}/docs/functions/*.md)
    foreach(page IN LISTS pages)
        get_filename_component(name ${page} NAME_WE)
        get_filename_component(folder ${page} DIRECTORY)
        get_filename_component(folder ${folder} NAME)
        set(name ${folder}_${name})
        if(TARGET kiln_core AND TARGET kiln_tool AND TARGET kiln_fake_nvrtc)
            add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python/tree
                                                ${Python_EXECUTABLE} -B ${here}/check_guide.py ${page}
                                                --work ${CMAKE_CURRENT_BINARY_DIR}/pages/${name}
                                                --build ${PROJECT_BINARY_DIR} --nvrtc $<TARGET_FILE:kiln_fake_nvrtc>)
        else()
            add_test(NAME ${name} COMMAND sh -c "echo 'skipped: the tool or the Python package is not built'; exit 77")
        endif()
        set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
    endforeach()
    find_program(kiln_dpkg_deb dpkg-deb)
    find_program(kiln_dpkg_shlibdeps dpkg-shlibdeps)
    find_program(kiln_file file) # CPack asks it what has dependencies
    mark_as_advanced(kiln_dpkg_deb kiln_dpkg_shlibdeps kiln_file)
    if(kiln_dpkg_deb AND kiln_dpkg_shlibdeps AND kiln_file AND CMAKE_CPACK_COMMAND AND TARGET kiln_pages)
        add_test(NAME packages COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DCPACK=${CMAKE_CPACK_COMMAND}
                                       -DWORK=${CMAKE_CURRENT_BINARY_DIR}/packages -DDPKG=${kiln_dpkg_deb}
                                       -DVERSION=${PROJECT_VERSION}
                                       -DSOFTWARE_GPU=$<TARGET_EXISTS:kiln_software_driver>
                                       -P ${here}/check_packages.cmake)
        set_tests_properties(packages PROPERTIES TIMEOUT 300)
    endif()
endif()
