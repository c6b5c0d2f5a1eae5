# SPDX-License-Identifier: Apache-2.0
# kiln.spdx.json in the build folder: what Kiln's binaries are made of, as SPDX 2.3 has it. With SOURCE_DATE_EPOCH set, the
# same sources and packages give the same bytes.
string(TIMESTAMP kiln_sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC)
set(kiln_sbom_packages "")
set(kiln_sbom_relationships "")

# kiln_sbom_add(<name> <version> <licence> <homepage> <relationship>): a package, and what it is of Kiln:
# DEPENDENCY_OF, TEST_DEPENDENCY_OF.
function(kiln_sbom_add name version licence homepage relationship)
    set(packages "${kiln_sbom_packages},
    {
      \"name\": \"${name}\",
      \"SPDXID\": \"SPDXRef-${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"homepage\": \"${homepage}\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${licence}\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\"
    }")
    set(relationships "${kiln_sbom_relationships},
    {
      \"spdxElementId\": \"SPDXRef-${name}\",
      \"relationshipType\": \"${relationship}\",
      \"relatedSpdxElement\": \"SPDXRef-kiln\"
    }")
    set(kiln_sbom_packages "${packages}" PARENT_SCOPE)
    set(kiln_sbom_relationships "${relationships}" PARENT_SCOPE)
endfunction()

kiln_sbom_add(xxhash "${kiln_xxhash_VERSION}" BSD-2-Clause https://xxhash.com DEPENDENCY_OF)
if(KILN_BUILD_TOOL)
    kiln_sbom_add(jansson "${kiln_jansson_VERSION}" MIT https://github.com/akheron/jansson DEPENDENCY_OF)
endif()
if(KILN_BUILD_TESTS)
    kiln_sbom_add(cmocka "${kiln_cmocka_VERSION}" Apache-2.0 https://cmocka.org TEST_DEPENDENCY_OF)
endif()
configure_file(cmake/kiln.spdx.json.in kiln.spdx.json @ONLY)
