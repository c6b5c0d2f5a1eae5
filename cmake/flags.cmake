# Warnings and sanitizers of everything that is compiled here. Users of an installed Kiln get none of them.
add_library(kiln_flags INTERFACE)
target_compile_options(kiln_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                            $<$<BOOL:${KILN_WERROR}>:-Werror>)
# The reference's results must not depend on the compiler's liberty to contract a * b + c.
target_compile_options(kiln_flags INTERFACE -ffp-contract=off)
if(KILN_SANITIZE)
    target_compile_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all
                                                -fno-omit-frame-pointer)
    target_link_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE})
endif()
