# SPDX-License-Identifier: Apache-2.0
# The scripts of tools/tune. kiln_python is found in checks.cmake.
if(kiln_python)
    add_test(NAME test_fit COMMAND ${kiln_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/tune/test_fit.py)
    add_test(NAME test_variants COMMAND ${kiln_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/tune/test_variants.py)
else()
    add_test(NAME test_fit COMMAND sh -c "echo 'skipped: there is no python3'; exit 77")
endif()
set_tests_properties(test_fit PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
if(kiln_python AND TARGET kiln_gather)
    set_target_properties(kiln_gather PROPERTIES EXCLUDE_FROM_ALL OFF)
    add_test(NAME test_gather COMMAND ${kiln_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/tune/test_gather.py $<TARGET_FILE:kiln_gather>)
    set_tests_properties(test_gather PROPERTIES TIMEOUT 120)
endif()
