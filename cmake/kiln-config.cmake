# The CMake package of an installed Kiln: find_package(kiln), then link kiln::kiln (shared) or kiln::static.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/kiln_targets.cmake)
