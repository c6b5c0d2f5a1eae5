# SPDX-License-Identifier: Apache-2.0
# Kiln for vcpkg. To be submitted with a release, where vcpkg_from_github takes the release's archive by its hash.
if(NOT DEFINED ENV{KILN_SOURCE})
    message(FATAL_ERROR "KILN_SOURCE must name a checkout of Kiln")
endif()
set(SOURCE_PATH "$ENV{KILN_SOURCE}")

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tool KILN_BUILD_TOOL)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${features} -DKILN_BUILD_TESTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kiln)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES kiln AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/licenses/xxhash.txt"
                                  "${SOURCE_PATH}/licenses/jansson.txt")
