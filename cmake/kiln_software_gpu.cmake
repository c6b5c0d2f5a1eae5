# SPDX-License-Identifier: Apache-2.0
# kiln::software_gpu, where the software GPU is installed beside Kiln, and kiln_test_on_software_gpu(<test>...).
if(NOT TARGET kiln::software_driver)
    return()
endif()
add_library(kiln::software_gpu INTERFACE IMPORTED)
target_link_libraries(kiln::software_gpu INTERFACE kiln::kiln ${CMAKE_DL_LIBS})
target_compile_definitions(kiln::software_gpu INTERFACE KILN_SOFTWARE_DRIVER="$<TARGET_FILE:kiln::software_driver>"
                                                        KILN_SOFTWARE_NVRTC="$<TARGET_FILE:kiln::software_nvrtc>")

# What these tests create of Kiln's contexts is on the software GPU, with a cache of compiled kernels in the build folder.
function(kiln_test_on_software_gpu)
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT KILN_DRIVER=$<TARGET_FILE:kiln::software_driver>
                 KILN_NVRTC=$<TARGET_FILE:kiln::software_nvrtc> KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/kiln_software_gpu_cache)
endfunction()
