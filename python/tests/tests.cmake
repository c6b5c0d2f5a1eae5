# SPDX-License-Identifier: Apache-2.0
# The Python package's tests: on the build tree, and of the wheel. Included by tests/CMakeLists.txt.
set(here ${PROJECT_SOURCE_DIR}/python/tests)
if(TARGET kiln_core)
    add_test(NAME test_python COMMAND ${CMAKE_COMMAND} -E env
             PYTHONPATH=${PROJECT_BINARY_DIR}/python/tree ${Python_EXECUTABLE} -B ${here}/run.py)
    set_property(TEST test_python PROPERTY ENVIRONMENT KILN_FAKE_DRIVER=$<TARGET_FILE:kiln_fake_driver>)
    if(TARGET kiln_software_driver)
        set_property(TEST test_python APPEND PROPERTY ENVIRONMENT
                     KILN_SOFTWARE_DRIVER=$<TARGET_FILE:kiln_software_driver>
                     KILN_SOFTWARE_NVRTC=$<TARGET_FILE:kiln_software_nvrtc>)
    endif()
else()
    add_test(NAME test_python COMMAND sh -c "echo 'skipped: ${kiln_python_missing}'; exit 77")
endif()
set_tests_properties(test_python PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
if(kiln_bash AND NOT KILN_SANITIZE)
    add_test(NAME test_wheel COMMAND ${kiln_bash} ${here}/test_wheel.sh)
    set_tests_properties(test_wheel PROPERTIES SKIP_RETURN_CODE 77 LABELS long TIMEOUT 1200)
endif()
