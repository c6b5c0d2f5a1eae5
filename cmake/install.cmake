# SPDX-License-Identifier: Apache-2.0
# What is installed: header, libraries, tool, pkg-config file, CMake package (kiln::kiln, kiln::static, kiln::tool,
# kiln_add_pack), and the licences of all that is compiled in.
include(CMakePackageConfigHelpers)
set(kiln_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)

install(DIRECTORY include/kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS kiln kiln_static EXPORT kiln_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kiln_worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/kiln)
install(EXPORT kiln_targets NAMESPACE kiln:: FILE kiln_targets.cmake DESTINATION ${kiln_package_dir})
if(TARGET kiln_tool)
    install(TARGETS kiln_tool EXPORT kiln_targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

file(RELATIVE_PATH kiln_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kiln.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
write_basic_package_version_file(kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/kiln-config.cmake cmake/kiln_add_pack.cmake ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
        DESTINATION ${kiln_package_dir})

# The texts that go with binaries: Kiln's own, xxHash's, whose header is compiled into the library, jansson's, which is
# linked into the tool.
set(kiln_licences ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/licenses/xxhash.txt)
if(TARGET kiln_tool)
    list(APPEND kiln_licences ${PROJECT_SOURCE_DIR}/licenses/jansson.txt)
endif()
install(FILES ${kiln_licences} DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(cmake/sbom.cmake)
install(FILES ${PROJECT_BINARY_DIR}/kiln.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
