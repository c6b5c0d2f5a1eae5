# SPDX-License-Identifier: Apache-2.0
# The scripts of tools/tune. kiln_python is found in checks.cmake.
if(kiln_python)
    add_test(NAME test_fit COMMAND ${kiln_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/tune/test_fit.py)
else()
    add_test(NAME test_fit COMMAND sh -c "echo 'skipped: there is no python3'; exit 77")
endif()
set_tests_properties(test_fit PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
