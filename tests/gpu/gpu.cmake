# SPDX-License-Identifier: Apache-2.0
# Programs that run kernels: on a GPU, where they are skipped without one, and on the software GPU. What Kiln promises,
# random cases, and what the language says of single values, each against the CPU reference.
kiln_add_program(gpu_suite gpu/gpu_suite.c gpu/gpu_cases.c gpu/gpu_check.c gpu/gpu_workers.c gpu/gpu_device.c gpu/gpu_compare.c)
kiln_add_program(gpu_fuzz gpu/gpu_fuzz.c gpu/fuzz_check.c gpu/gpu_device.c gpu/gpu_compare.c)
kiln_add_program(gpu_bits gpu/gpu_bits.c gpu/gpu_device.c)
kiln_add_program(gpu_axes gpu/gpu_axes.c gpu/gpu_device.c gpu/gpu_compare.c)
kiln_add_program(gpu_fp8 gpu/gpu_fp8.c gpu/gpu_device.c)
kiln_add_program(gpu_stochastic gpu/gpu_stochastic.c gpu/gpu_device.c)
kiln_add_program(gpu_packed gpu/gpu_packed.c gpu/gpu_device.c)
kiln_add_program(gpu_rules gpu/gpu_rules.c gpu/rule_groups.c gpu/gpu_device.c)
kiln_add_program(gpu_large gpu/gpu_large.c gpu/gpu_device.c)
kiln_add_program(gpu_blocks gpu/gpu_blocks.c gpu/gpu_device.c)

add_test(NAME gpu_suite COMMAND gpu_suite)
add_test(NAME gpu_fuzz COMMAND gpu_fuzz)
add_test(NAME gpu_bits COMMAND gpu_bits)
add_test(NAME gpu_axes COMMAND gpu_axes)
add_test(NAME gpu_fp8 COMMAND gpu_fp8)
add_test(NAME gpu_stochastic COMMAND gpu_stochastic)
add_test(NAME gpu_packed COMMAND gpu_packed)
add_test(NAME gpu_rules COMMAND gpu_rules)
add_test(NAME gpu_large COMMAND gpu_large)
add_test(NAME gpu_blocks COMMAND gpu_blocks)
set_tests_properties(gpu_suite gpu_fuzz gpu_bits gpu_axes gpu_fp8 gpu_stochastic gpu_packed gpu_rules gpu_large gpu_blocks PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 1200 RUN_SERIAL ON)
# Programs of language models against NumPy.
find_program(kiln_python python3)
mark_as_advanced(kiln_python)
set(check_programs ${kiln_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/check_programs.py)
if(kiln_python AND TARGET kiln AND NOT KILN_SANITIZE) # a sanitized library needs its runtime in the process that opens it
    add_test(NAME gpu_programs COMMAND ${check_programs} --library $<TARGET_FILE:kiln> --cases 1000)
    add_test(NAME programs_cpu COMMAND ${check_programs} --library $<TARGET_FILE:kiln> --cases 300 --cpu)
    set_tests_properties(gpu_programs PROPERTIES LABELS gpu RUN_SERIAL ON)
    set_tests_properties(gpu_programs programs_cpu PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200)
    if(TARGET kiln_software_driver)
        add_test(NAME software_gpu_programs COMMAND ${check_programs} --library $<TARGET_FILE:kiln> --cases 150)
        set_tests_properties(software_gpu_programs PROPERTIES LABELS software_gpu SKIP_RETURN_CODE 77 TIMEOUT 1200 ENVIRONMENT
            "KILN_DRIVER=$<TARGET_FILE:kiln_software_driver>;KILN_NVRTC=$<TARGET_FILE:kiln_software_nvrtc>")
    endif()
endif()
if(TARGET kiln_software_driver)
    # Each case in five orders of its threads: a sample, and with `ctest -C full -L full` all of them, for hours.
    set(software_gpu --driver $<TARGET_FILE:kiln_software_driver> --nvrtc $<TARGET_FILE:kiln_software_nvrtc>)
    add_test(NAME software_gpu_suite COMMAND gpu_suite ${software_gpu} --orders 5 --sample=12)
    add_test(NAME software_gpu_fuzz COMMAND gpu_fuzz ${software_gpu} --seed 1 --cases 2000)
    add_test(NAME software_gpu_axes COMMAND gpu_axes ${software_gpu})
    add_test(NAME software_gpu_fp8 COMMAND gpu_fp8 ${software_gpu})
    add_test(NAME software_gpu_stochastic COMMAND gpu_stochastic ${software_gpu})
    add_test(NAME software_gpu_packed COMMAND gpu_packed ${software_gpu} --cases 200)
    add_test(NAME software_gpu_rules COMMAND gpu_rules ${software_gpu})
    set_tests_properties(software_gpu_axes software_gpu_fp8 software_gpu_stochastic software_gpu_packed software_gpu_rules PROPERTIES LABELS software_gpu TIMEOUT 1200)
    add_test(NAME software_gpu_bits COMMAND gpu_bits 7500 f32)
    add_test(NAME software_gpu_large COMMAND gpu_large 200165)
    add_test(NAME software_gpu_blocks COMMAND gpu_blocks --seed 1 --cases 400)
    set_tests_properties(software_gpu_bits software_gpu_large software_gpu_blocks PROPERTIES LABELS software_gpu TIMEOUT 1200 ENVIRONMENT
        "KILN_DRIVER=$<TARGET_FILE:kiln_software_driver>;KILN_NVRTC=$<TARGET_FILE:kiln_software_nvrtc>")
    add_test(NAME software_gpu_suite_full CONFIGURATIONS full COMMAND gpu_suite ${software_gpu} --orders 5)
    set_tests_properties(software_gpu_suite software_gpu_fuzz PROPERTIES LABELS software_gpu TIMEOUT 1200 RUN_SERIAL ON)
    set_tests_properties(software_gpu_suite_full PROPERTIES LABELS full TIMEOUT 86400 RUN_SERIAL ON)
    # How far functions are off, with a package of Python that tools/check.sh downloads: KILN_MPMATH names its folder. The
    # check itself must be able to fail.
    if(TARGET kiln_core)
        set(accuracy ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python/tree ${Python_EXECUTABLE} -B
                     ${PROJECT_SOURCE_DIR}/tools/accuracy.py ${software_gpu} --check)
        file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wrong_accuracy.md "| `tan(x)` | 0.5 | 0.5 | 0.5 | 0.5 | 0.5 |\n")
        add_test(NAME software_gpu_accuracy COMMAND ${accuracy})
        add_test(NAME software_gpu_accuracy_refuses
                 COMMAND ${accuracy} --only "tan(x)" --page ${CMAKE_CURRENT_BINARY_DIR}/wrong_accuracy.md)
        set_tests_properties(software_gpu_accuracy software_gpu_accuracy_refuses PROPERTIES LABELS software_gpu
                             SKIP_RETURN_CODE 77 TIMEOUT 1200)
        set_tests_properties(software_gpu_accuracy_refuses PROPERTIES PASS_REGULAR_EXPRESSION
            "tan[(]x[)] is [0-9.]+ units off in f32 at .*, the page tells 0.5.*the page lacks atan[(]x[)]|skipped: ")
    endif()
endif()
