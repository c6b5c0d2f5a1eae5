# SPDX-License-Identifier: Apache-2.0
# Run by CPack in the tree that becomes Debian's packages: manual pages are compressed, and each package gets Debian's
# changelog. With SOURCE_DATE_EPOCH set, the same tree gives the same bytes.
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man1/*.1)
file(GLOB folders ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(folder IN LISTS folders)
    file(WRITE ${folder}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Changes are listed in CHANGELOG.md of the source.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    list(APPEND pages ${folder}/changelog)
endforeach()
foreach(page IN LISTS pages)
    execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
