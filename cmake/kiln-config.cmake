# SPDX-License-Identifier: Apache-2.0
# The CMake package of an installed Kiln: find_package(kiln), then link kiln::kiln (shared) or kiln::static;
# kiln_add_pack puts precompiled kernels into a target. COMPONENTS tool and software_gpu say that these must be there.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_tool_targets.cmake OPTIONAL) # a package of its own, in distributions
include(${CMAKE_CURRENT_LIST_DIR}/kiln_software_gpu_targets.cmake OPTIONAL) # and so is this
if(NOT TARGET kiln::kiln) # built as an archive alone
    add_library(kiln::kiln ALIAS kiln::static)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/kiln_add_pack.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_software_gpu.cmake)

set(kiln_missing_tool "kiln's tool is not installed: it is built with KILN_BUILD_TOOL, or is the package kiln")
set(kiln_missing_software_gpu
    "kiln's software GPU is not installed: it is built with KILN_INSTALL_SOFTWARE_GPU, or is the package libkiln-software-gpu")
foreach(component IN LISTS kiln_FIND_COMPONENTS)
    if(TARGET kiln::${component})
        set(kiln_${component}_FOUND TRUE)
    elseif(kiln_FIND_REQUIRED_${component})
        set(kiln_FOUND FALSE)
        set(kiln_NOT_FOUND_MESSAGE "kiln has no component '${component}', only tool and software_gpu")
        if(DEFINED kiln_missing_${component})
            set(kiln_NOT_FOUND_MESSAGE "${kiln_missing_${component}}")
        endif()
    endif()
endforeach()
