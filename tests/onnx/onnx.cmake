# SPDX-License-Identifier: Apache-2.0
# ONNX's own tests of operators, with a package of Python that tools/check.sh downloads: KILN_ONNX names its folder. Included
# by tests/CMakeLists.txt.
set(check_nodes ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python/tree
                ${Python_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/check_nodes.py)
if(TARGET kiln_core)
    add_test(NAME onnx_nodes COMMAND ${check_nodes})
    if(TARGET kiln_software_driver) # a kernel for each case takes long: some of them
        add_test(NAME software_gpu_onnx COMMAND ${check_nodes} --every 4 --driver $<TARGET_FILE:kiln_software_driver>
                                                --nvrtc $<TARGET_FILE:kiln_software_nvrtc>)
        set_tests_properties(software_gpu_onnx PROPERTIES LABELS software_gpu SKIP_RETURN_CODE 77 TIMEOUT 1200)
    endif()
else()
    add_test(NAME onnx_nodes COMMAND sh -c "echo 'skipped: ${kiln_python_missing}'; exit 77")
endif()
set_tests_properties(onnx_nodes PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
