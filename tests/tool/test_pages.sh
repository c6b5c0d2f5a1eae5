#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The generated manual pages have what --help has and no mistakes; the completions complete, in the shells that are here.
#   KILN_TOOL=build/kiln KILN_PAGES=build/pages tests/tool/test_pages.sh        77 where no pages were generated
set -euo pipefail
tool=$(realpath "${KILN_TOOL:?must name the kiln binary}")
[ -n "${KILN_PAGES:-}" ] || { echo "skipped: no pages were generated"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
fault() { echo "test_pages.sh: $*"; failed=1; }
# expect WHAT EXPECTED FOUND
expect() { [ "$2" = "$3" ] || fault "$1: expected '$2', found '$3'"; }

# ---- manual pages -----------------------------------------------------------------------------------------

mapfile -t commands < <("$tool" --help | sed -n '/^commands:/,/^$/s/^  \(.\{12\}\) .*/\1/p' | sed 's/ *$//')
[ ${#commands[@]} -ge 13 ] || fault "--help lists ${#commands[@]} commands"
for command in "${commands[@]}"; do
    page=$KILN_PAGES/kiln-${command// /-}.1
    [ -r "$page" ] || { fault "kiln $command has no page"; continue; }
    grep -q "kiln\\\\-${command// /\\\\-}" "$KILN_PAGES/kiln.1" || fault "kiln.1 lacks kiln-${command// /-}"
    # shellcheck disable=SC2086
    for option in $("$tool" $command --help | grep -o '^  \(-., \)\?--[a-z-]*' | grep -o -- '--[a-z-]*'); do
        grep -q "^\\\\fB.*${option//-/\\\\-}" "$page" || fault "${page##*/} lacks $option"
    done
done
for page in "$KILN_PAGES"/*.1; do
    # A date would differ with each build.
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$page" | grep -v 'missing date' && fault "${page##*/} has mistakes"
    fi
    if command -v groff >/dev/null && command -v man >/dev/null; then
        warnings=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null || true)
        [ -z "$warnings" ] || fault "${page##*/}: $warnings"
    fi
done

# ---- bash -------------------------------------------------------------------------------------------------

mkdir folder
touch a.npy b.npy
# shellcheck disable=SC1091
. "$KILN_PAGES/kiln.bash"
completed() { # completed WORD...: what the last word may become, sorted
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _kiln
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
expect "kiln e" "explain" "$(completed kiln e)"
expect "kiln cache v" "verify" "$(completed kiln cache v)"
expect "kiln run --de" "--device" "$(completed kiln run --de)"
expect "kiln run --device" "auto cpu cuda" "$(completed kiln run --device '')"
expect "kiln run --color=n" "never" "$(completed kiln run --color = n)"
expect "kiln run --color=" "always auto never" "$(completed kiln run --color =)"
expect "kiln run --in x=a" "a.npy" "$(completed kiln run --in x = a)"
expect "kiln run --in x=" "a.npy b.npy folder" "$(completed kiln run --in x =)"
expect "kiln run --cache-dir f" "folder" "$(completed kiln run --cache-dir f)"
expect "kiln run --cache-dir a" "" "$(completed kiln run --cache-dir a)"
expect "kiln compile -o b" "b.npy" "$(completed kiln compile -o b)"
expect "kiln cache prune --max" "--max-size" "$(completed kiln cache prune --max)"
expect "kiln bench --device" "" "$(completed kiln bench --device '')" # a number

# ---- others -----------------------------------------------------------------------------------------------

if command -v zsh >/dev/null; then zsh -n "$KILN_PAGES/_kiln" || fault "zsh does not read _kiln"; fi
if command -v fish >/dev/null; then
    offered() { HOME=$work fish --no-config -c "source '$KILN_PAGES/kiln.fish'; complete -C '$1'" | cut -f 1 | sort | paste -sd ' '; }
    expect "fish: kiln exp" "explain" "$(offered 'kiln exp')"
    expect "fish: kiln run --dev" "--device" "$(offered 'kiln run --dev')"
    expect "fish: kiln run --color n" "never" "$(offered 'kiln run --color n')"
    expect "fish: kiln cache ver" "verify" "$(offered 'kiln cache ver')"
    expect "fish: kiln cache verify --rec" "--recompile" "$(offered 'kiln cache verify --rec')"
fi
exit $failed
