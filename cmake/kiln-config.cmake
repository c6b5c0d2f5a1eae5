# SPDX-License-Identifier: Apache-2.0
# The CMake package of an installed Kiln: find_package(kiln), then link kiln::kiln (shared) or kiln::static;
# kiln_add_pack puts precompiled kernels into a target.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_add_pack.cmake)
