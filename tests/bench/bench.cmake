# SPDX-License-Identifier: Apache-2.0
# The benchmarks: built with the tests, run by hand and by the scripts of tools/.

file(GLOB kiln_benchmarks CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source IN LISTS kiln_benchmarks)
    get_filename_component(name ${source} NAME_WE)
    kiln_add_program(${name} ${source})
endforeach()

# Kiln does not use zstd; bench_pack measures what it would do.
find_path(kiln_zstd_INCLUDE_DIR zstd.h)
find_library(kiln_zstd_LIBRARY zstd)
mark_as_advanced(kiln_zstd_INCLUDE_DIR kiln_zstd_LIBRARY)
if(TARGET bench_pack AND kiln_zstd_INCLUDE_DIR AND kiln_zstd_LIBRARY)
    target_include_directories(bench_pack SYSTEM PRIVATE ${kiln_zstd_INCLUDE_DIR})
    target_link_libraries(bench_pack PRIVATE ${kiln_zstd_LIBRARY})
    target_compile_definitions(bench_pack PRIVATE KILN_HAVE_ZSTD)
endif()

# Cold compiles of drawn programs: far beyond what they take, so that only another kind of slowness fails.
find_program(kiln_python python3)
mark_as_advanced(kiln_python)
if(kiln_python AND TARGET bench_cold)
    add_test(NAME compile_time COMMAND ${kiln_python} ${PROJECT_SOURCE_DIR}/tools/bench/compile_time.py
             --program $<TARGET_FILE:bench_cold> --count 24 --seed 7 --limit 7 18 30)
    set_tests_properties(compile_time PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
