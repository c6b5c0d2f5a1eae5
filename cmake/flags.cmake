# SPDX-License-Identifier: Apache-2.0
# Warnings, hardening and sanitizers of everything that is compiled here. Users of an installed Kiln get none of them.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

add_library(kiln_flags INTERFACE)
target_compile_options(kiln_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                            $<$<BOOL:${KILN_WERROR}>:-Werror>)
# The reference's results must not depend on the compiler's liberty to contract a * b + c.
target_compile_options(kiln_flags INTERFACE -ffp-contract=off)

# What makes faults of memory harder to exploit. Sanitizers find them instead, and see less of checked functions.
if(KILN_HARDEN AND NOT KILN_SANITIZE)
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "kiln_has${flag}" has)
        check_c_compiler_flag(${flag} ${has})
        target_compile_options(kiln_flags INTERFACE $<$<BOOL:${${has}}>:${flag}>)
    endforeach()
    foreach(flag IN ITEMS -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
        string(MAKE_C_IDENTIFIER "kiln_has${flag}" has)
        check_linker_flag(C ${flag} ${has})
        target_link_options(kiln_flags INTERFACE $<$<BOOL:${${has}}>:${flag}>)
    endforeach()
    # Needs an optimiser; a distribution's compiler may have set a level of its own. Level 3 would compute the sizes of
    # objects at run time, in every launch.
    target_compile_options(kiln_flags INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
endif()
if(KILN_SANITIZE)
    target_compile_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all
                                                -fno-omit-frame-pointer)
    target_link_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE})
endif()
