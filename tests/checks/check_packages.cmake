# SPDX-License-Identifier: Apache-2.0
# CPack makes three Debian packages: each has its files and no other's, its licence, and what it depends on.
#   cmake -DBUILD=<build folder> -DWORK=<empty folder> -DCPACK=<cpack> -DDPKG=<dpkg-deb> -DVERSION=<Kiln's>
#         -P check_packages.cmake
cmake_minimum_required(VERSION 3.22)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
run("cpack" ${CPACK} --config ${BUILD}/CPackConfig.cmake -G DEB -B ${WORK} -D CPACK_DEBIAN_COMPRESSION_TYPE=none)

set(lib "usr/lib/([a-z0-9_]+-linux-gnu/)?")
set(doc "usr/share/doc")
string(REGEX MATCH "^[0-9]+[.][0-9]+" soversion ${VERSION}) # before 1.0.0 (docs/abi.md)
set(library libkiln${soversion})
set(files_${library} "${lib}libkiln[.]so[.]${soversion}" "${lib}libkiln[.]so[.]${VERSION}" "usr/libexec/kiln/kiln-worker"
    "${doc}/${library}/copyright" "${doc}/${library}/changelog[.]gz")
set(files_libkiln-dev "usr/include/kiln/kiln[.]h" "usr/include/kiln/status[.]h" "usr/include/kiln/tensor[.]h"
    "${lib}libkiln[.]so" "${lib}libkiln[.]a" "${lib}pkgconfig/kiln[.]pc" "${lib}pkgconfig/kiln-static[.]pc"
    "${lib}cmake/kiln/kiln-config[.]cmake" "${lib}cmake/kiln/kiln-config-version[.]cmake"
    "${lib}cmake/kiln/kiln_add_pack[.]cmake" "${lib}cmake/kiln/kiln_targets(-[a-z]+)?[.]cmake"
    "${doc}/libkiln-dev/copyright" "${doc}/libkiln-dev/changelog[.]gz")
set(files_kiln "usr/bin/kiln" "${lib}cmake/kiln/kiln_tool_targets(-[a-z]+)?[.]cmake" "usr/share/man/man1/kiln.*[.]1[.]gz"
    "usr/share/bash-completion/completions/kiln" "usr/share/zsh/(site-functions|vendor-completions)/_kiln"
    "usr/share/fish/vendor_completions.d/kiln.fish" "${doc}/kiln/copyright" "${doc}/kiln/changelog[.]gz")
set(depends_${library} "libc6 [(]>= ")
set(depends_libkiln-dev "${library} [(]= ${VERSION}[)]")
set(depends_kiln "libc6 .*${library} [(]= ${VERSION}[)]|${library} [(]= ${VERSION}[)].*libc6 ")
set(licences_${library} Apache-2.0 BSD-2-Clause)
set(licences_libkiln-dev Apache-2.0 BSD-2-Clause)
set(licences_kiln Apache-2.0 BSD-2-Clause Expat)

foreach(package IN ITEMS ${library} libkiln-dev kiln)
    file(GLOB deb ${WORK}/${package}_${VERSION}_*.deb)
    list(LENGTH deb count)
    if(NOT count EQUAL 1)
        file(GLOB deb RELATIVE ${WORK} ${WORK}/*.deb)
        message(FATAL_ERROR "one ${package}_${VERSION}_*.deb was expected, there is: ${deb}")
    endif()
    run("dpkg-deb -c" ${DPKG} -c ${deb})
    string(REGEX MATCHALL "\n?[^\n]+" lines "${output}")
    set(files "")
    foreach(line IN LISTS lines)
        if(line MATCHES "[.]/([^ ]*[^ /])( -> .*)?$")
            set(file ${CMAKE_MATCH_1})
            if(NOT line MATCHES "^\n?d")
                list(APPEND files ${file})
            endif()
            if(NOT line MATCHES "root/root")
                message(FATAL_ERROR "${package}: not root's: ${line}")
            endif()
        endif()
    endforeach()
    set(left ${files})
    foreach(pattern IN LISTS files_${package})
        set(found ${files})
        list(FILTER found INCLUDE REGEX "^${pattern}$")
        if(NOT found)
            message(FATAL_ERROR "${package} has no ${pattern}:\n${output}")
        endif()
        list(FILTER left EXCLUDE REGEX "^${pattern}$")
    endforeach()
    if(left)
        message(FATAL_ERROR "${package} has files that it should not have: ${left}")
    endif()
    run("dpkg-deb -f" ${DPKG} -f ${deb} Depends)
    if(NOT output MATCHES "${depends_${package}}")
        message(FATAL_ERROR "${package} depends on '${output}', expected '${depends_${package}}'")
    endif()
    run("dpkg-deb -x" ${DPKG} -x ${deb} ${WORK}/${package})
    file(READ ${WORK}/${package}/usr/share/doc/${package}/copyright copyright)
    foreach(licence IN LISTS licences_${package})
        if(NOT copyright MATCHES "\nLicense: ${licence}\n ")
            message(FATAL_ERROR "${package}'s copyright file has no ${licence}")
        endif()
    endforeach()
    list(LENGTH files count)
    message(STATUS "${package}: ${count} files")
endforeach()
