# SPDX-License-Identifier: Apache-2.0
# Every function of the C library that libkiln.a calls fails in test_faults, or is one that cannot fail.
#   cmake -DROOT=<checkout> -DNM=<nm> -DLIBRARY=<libkiln.a> -P check_fault_calls.cmake
cmake_minimum_required(VERSION 3.22)
file(STRINGS ${ROOT}/tests/checks/fault_calls.txt failing)

# Text, numbers, memory that is there already, and what reports a failure itself or has none on Linux. The functions of
# the C locale allocate nothing; eventfd_write of 1 and munmap of one's own pages cannot fail; dlsym's failures have tests
# of their own. Sets of signals and masks are memory that is there already; sigtimedwait of a time of 0 has nothing pending
# as its usual end. What sets attributes refuses only values that do not exist, and the page's size is known to each
# process. shutdown of one's own end of a socketpair refuses only a way that does not exist.
# Where the system knows no descriptors of processes, a worker ends by its closed socket: syscall. A thread that may not
# lower its own priority goes on with what it has: setpriority.
set(harmless
    "^(syscall|setpriority)$"
    "^(kiln|nvrtc|cu[A-Z])" "^_(GLOBAL_OFFSET_TABLE_|_tls_get_addr|_errno_location|_ctype_b_loc|_popcountdi2)$"
    "^__stack_chk_(fail|guard)$" "^__aarch64_(cas|ldadd|swp)[0-9]_[a-z_]+$" "^(__)?(mem(chr|cmp|cpy|move|set)|str(chr|cmp|cpy|cspn|error|len|ncmp|ncpy|rchr|spn|str|tok_r))(_chk)?$" "^(__)?v?f?s?n?printf(_chk)?$" "^(__isoc[0-9]+_)?(sscanf|strto[dl]+_?[l]?|strtoull)$"
    "^a?(sin|cos|tan)h?$" "^(atan2|cbrt|exp|exp2|expm1|erf|erfc|fma|fmax|fmin|fmod|frexp|ldexp|lgamma_r|log|log10|log1p|log2)$"
    "^(ceil|floor|nearbyint|pow|sqrt|tgamma|trunc)$" "^(qsort|bsearch|stderr|dladdr|dlerror|dlclose|dlsym)$"
    "^(newlocale|uselocale|freelocale)$" "^(time|clock_gettime|getpid|geteuid|secure_getenv|sched_yield|sigfillset)$"
    "^pthread_(mutex|cond)_[a-z]+$" "^pthread_(join|sigmask|self|setcancelstate)$" "^(closedir|dirfd|fclose|globfree|munmap|eventfd_write|shutdown)$"
    "^sig(addset|delset|emptyset|ismember|pending|timedwait)$" "^(sysconf|__sched_cpucount|environ|program_invocation_name|_exit)$"
    "^pthread_attr_(destroy|setstacksize)$" "^pthread_condattr_destroy$"
    "^posix_spawn_file_actions_destroy$" "^posix_spawnattr_(destroy|setflags|setsigdefault|setsigmask)$")

execute_process(COMMAND ${NM} -u --format=posix ${LIBRARY} OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} -u ${LIBRARY} failed")
endif()
string(REGEX MATCHALL "[A-Za-z_0-9]+ U" rows "${output}")
list(REMOVE_DUPLICATES rows)
set(faults "")
foreach(row IN LISTS rows)
    string(REPLACE " U" "" name ${row})
    set(known FALSE)
    if(name IN_LIST failing)
        set(known TRUE)
    endif()
    foreach(pattern IN LISTS harmless)
        if(name MATCHES "${pattern}")
            set(known TRUE)
        endif()
    endforeach()
    if(NOT known)
        list(APPEND faults ${name})
    endif()
endforeach()
if(faults)
    list(JOIN faults ", " text)
    message(FATAL_ERROR "libkiln.a calls ${text}: a stand-in in tests/support/faults.c and a line in "
                        "tests/checks/fault_calls.txt are missing, or, where it cannot fail, a line in tests/checks/check_fault_calls.cmake")
endif()
