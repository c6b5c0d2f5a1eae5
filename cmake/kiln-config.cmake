# SPDX-License-Identifier: Apache-2.0
# The CMake package of an installed Kiln: find_package(kiln), then link kiln::kiln (shared) or kiln::static;
# kiln_add_pack puts precompiled kernels into a target.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_tool_targets.cmake OPTIONAL) # a package of its own, in distributions
if(NOT TARGET kiln::kiln) # built as an archive alone
    add_library(kiln::kiln ALIAS kiln::static)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/kiln_add_pack.cmake)
