# SPDX-License-Identifier: Apache-2.0
# Compares what libkiln.so exports with the checked-in list, and that list with the public headers; and sees that it can
# be opened at any time.
#   cmake -DROOT=<checkout> -DNM=<nm> -DREADELF=<readelf> -DLIBRARY=<libkiln.so> -P check_symbols.cmake
cmake_minimum_required(VERSION 3.22)
file(STRINGS ${ROOT}/tests/checks/exported_symbols.txt listed)

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} -D ${LIBRARY} failed")
endif()
string(REGEX MATCHALL "[0-9a-f]+ [A-Za-z] [^\n]+" rows "${output}")
list(TRANSFORM rows REPLACE "^[0-9a-f]+ [A-Za-z] " "")
set(exported ${rows})

# A process has little memory for thread-locals of libraries that it opens after its start, and others take from it.
execute_process(COMMAND ${READELF} -dW ${LIBRARY} OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR output MATCHES "STATIC_TLS")
    message(FATAL_ERROR "${LIBRARY} asks for static thread-local memory, or ${READELF} failed")
endif()

set(header "")
file(GLOB headers ${ROOT}/include/kiln/*.h)
foreach(file IN LISTS headers)
    file(READ ${file} text)
    string(APPEND header "${text}")
endforeach()
string(REGEX MATCHALL "KILN_API [^(;]*[ *]kiln_[a-z0-9_]+\\(" declared "${header}")
list(TRANSFORM declared REPLACE ".*[ *](kiln_[a-z0-9_]+)\\($" "\\1")

set(faults "")
foreach(pair IN ITEMS exported:listed listed:exported declared:listed listed:declared)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 these)
    list(GET pair 1 those)
    foreach(symbol IN LISTS ${these})
        if(NOT symbol IN_LIST ${those})
            list(APPEND faults "${symbol} is ${these} and not ${those}")
        endif()
    endforeach()
endforeach()
if(faults)
    list(JOIN faults "\n  " text)
    message(FATAL_ERROR "\n  ${text}\n(listed: in tests/checks/exported_symbols.txt; declared: in include/kiln)")
endif()
