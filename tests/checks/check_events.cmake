# SPDX-License-Identifier: Apache-2.0
# Fails where src/ tells the log of an event that the table of docs/observing.md does not have at its level, or where that
# has one that is not told: cmake -DROOT=<checkout> -P check_events.cmake
# Sentences are compared as the page has them, with … for each number or name.
cmake_minimum_required(VERSION 3.22)

# read(<variable> <file>): its text, in which CMake sees no lists.
function(read variable file)
    file(READ ${file} text)
    string(REGEX REPLACE "[;\\[]" "," text "${text}")
    string(REGEX REPLACE "\\]" "," text "${text}")
    set(${variable} "${text}" PARENT_SCOPE)
endfunction()

set(told "")
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/*.c)
foreach(file IN LISTS files)
    read(text ${ROOT}/${file})
    string(REGEX REPLACE "\"[ \n]+\"" "" text "${text}") # a sentence over several lines
    string(REGEX MATCHALL "kiln__(log|disk_tell)\\([^\"{]*\"[^\"]*\"" events "${text}")
    foreach(event IN LISTS events)
        set(level warning) # as kiln__disk_tell
        if(event MATCHES "KILN_LOG_([A-Z]+)")
            string(TOLOWER ${CMAKE_MATCH_1} level)
        endif()
        string(REGEX REPLACE "^[^\"]*\"(.*)\"$" "\\1" sentence "${event}")
        string(REGEX REPLACE "%[0-9.]*(ll|z)?[a-z]" "…" sentence "${sentence}")
        string(REPLACE "….…" "…" sentence "${sentence}") # a version
        if(NOT sentence STREQUAL "…") # another's sentence
            list(APPEND told "${level}: ${sentence}")
        endif()
    endforeach()
endforeach()
list(REMOVE_DUPLICATES told)

read(page ${ROOT}/docs/observing.md)
string(REGEX REPLACE "^.*\n### Events\n" "" page "${page}")
string(REGEX MATCHALL "[|] (error|warning|info|debug) [|] [^*|][^|\n]* [|]" listed "${page}") # but for others' sentences
list(TRANSFORM listed REPLACE "^[|] ([a-z]+) [|] (.*) [|]$" "\\1: \\2")
list(TRANSFORM listed REPLACE "[*]what[*]" "…")

set(faults "")
foreach(event IN LISTS told)
    if(NOT event IN_LIST listed)
        list(APPEND faults "docs/observing.md lacks '${event}'")
    endif()
endforeach()
foreach(event IN LISTS listed)
    if(NOT event IN_LIST told)
        list(APPEND faults "docs/observing.md has '${event}', which src/ does not tell")
    endif()
endforeach()
list(LENGTH told count)
message(STATUS "${count} events")
if(faults OR count EQUAL 0)
    list(JOIN faults "\n  " text)
    message(FATAL_ERROR "\n  ${text}")
endif()
