# SPDX-License-Identifier: Apache-2.0
# What is installed: headers, libraries, tool, pkg-config files, CMake package (kiln::kiln, kiln::static, kiln::tool,
# kiln_add_pack), the software GPU, and the licences of all that is compiled in. Components: library (what programs run
# with), development, tool, software_gpu, licences.
include(CMakePackageConfigHelpers)
set(kiln_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)

install(DIRECTORY include/kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(TARGETS ${kiln_libraries} EXPORT kiln_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS kiln_worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/${kiln_worker_folder} COMPONENT library)
install(EXPORT kiln_targets NAMESPACE kiln:: FILE kiln_targets.cmake DESTINATION ${kiln_package_dir} COMPONENT development)
if(TARGET kiln_tool)
    install(TARGETS kiln_tool EXPORT kiln_tool_targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
    install(EXPORT kiln_tool_targets NAMESPACE kiln:: FILE kiln_tool_targets.cmake DESTINATION ${kiln_package_dir}
            COMPONENT tool)
endif()

# Built for the tests alone, it is installed only by its name: cmake --install build --component software_gpu.
if(TARGET kiln_software_driver)
    set(kiln_software_gpu_dir ${CMAKE_INSTALL_LIBDIR}/${kiln_worker_folder})
    set(all EXCLUDE_FROM_ALL)
    if(KILN_INSTALL_SOFTWARE_GPU)
        set(all "")
    endif()
    set_target_properties(kiln_software_driver PROPERTIES EXPORT_NAME software_driver)
    set_target_properties(kiln_software_nvrtc PROPERTIES EXPORT_NAME software_nvrtc)
    install(TARGETS kiln_software_driver kiln_software_nvrtc EXPORT kiln_software_gpu_targets
            LIBRARY DESTINATION ${kiln_software_gpu_dir} COMPONENT software_gpu ${all})
    install(EXPORT kiln_software_gpu_targets NAMESPACE kiln:: FILE kiln_software_gpu_targets.cmake
            DESTINATION ${kiln_package_dir} COMPONENT software_gpu ${all})
    install(FILES ${PROJECT_SOURCE_DIR}/tests/software_gpu/software_gpu.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln
            COMPONENT software_gpu ${all})
endif()

# Debian's zsh looks for what packages bring in a folder of its own.
if(kiln_pages_dir)
    set(kiln_zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
        set(kiln_zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
    endif()
    install(DIRECTORY ${kiln_pages_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool
            FILES_MATCHING PATTERN "*.1")
    install(FILES ${kiln_pages_dir}/kiln.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME kiln
            COMPONENT tool)
    install(FILES ${kiln_pages_dir}/_kiln DESTINATION ${kiln_zsh_dir} COMPONENT tool)
    install(FILES ${kiln_pages_dir}/kiln.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tool)
endif()

# pkg-config chooses no archive where a shared library lies beside it, not even with --static: kiln-static names it.
file(RELATIVE_PATH kiln_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(kiln_pc_system "-pthread -ldl -lm")
set(kiln_pc_archive "\${libdir}/libkiln.a ${kiln_pc_system}")
if(TARGET kiln)
    set(kiln_pc_libs "-L\${libdir} -lkiln")
    configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
    list(APPEND kiln_pc_files ${PROJECT_BINARY_DIR}/kiln.pc)
endif()
if(TARGET kiln::static)
    set(kiln_pc_libs "${kiln_pc_archive}")
    set(kiln_pc_system "")
    configure_file(cmake/kiln.pc.in kiln-static.pc @ONLY)
    list(APPEND kiln_pc_files ${PROJECT_BINARY_DIR}/kiln-static.pc)
    if(NOT TARGET kiln)
        configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
        list(APPEND kiln_pc_files ${PROJECT_BINARY_DIR}/kiln.pc)
    endif()
endif()
install(FILES ${kiln_pc_files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
write_basic_package_version_file(kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/kiln-config.cmake cmake/kiln_add_pack.cmake cmake/kiln_software_gpu.cmake
              ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
        DESTINATION ${kiln_package_dir} COMPONENT development)

# The texts that go with binaries: Kiln's own, xxHash's, whose header is compiled into the library, jansson's, which is
# linked into the tool.
set(kiln_licences ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/licenses/xxhash.txt)
if(TARGET kiln_tool)
    list(APPEND kiln_licences ${PROJECT_SOURCE_DIR}/licenses/jansson.txt)
endif()
install(FILES ${kiln_licences} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licences)
include(cmake/sbom.cmake)
install(FILES ${PROJECT_BINARY_DIR}/kiln.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licences)
if(PROJECT_IS_TOP_LEVEL AND TARGET kiln)
    include(cmake/package.cmake)
endif()
