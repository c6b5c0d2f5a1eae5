# SPDX-License-Identifier: Apache-2.0
# What test_tool.sh writes files and transcripts with. Sourced where golden, tool, work, wanted, update, failures, current
# and alone are set.
# shellcheck shell=bash

# ---- files ------------------------------------------------------------------------------------------------

# npy FILE DESCR SHAPE [HEX...]: a file of format 1.0 whose data are the bytes given in hexadecimal.
npy() {
    local file=$1 header="{'descr': '$2', 'fortran_order': ${fortran:-False}, 'shape': $3, }" pad digits
    shift 3
    pad=$(( (64 - (10 + ${#header} + 1) % 64) % 64 ))
    header=$(printf '%s%*s' "$header" "$pad" '')
    printf '\x93NUMPY\x01\x00' > "$file"
    printf "\\x$(printf %02x $(( (${#header} + 1) & 255 )))\\x$(printf %02x $(( (${#header} + 1) >> 8 )))" >> "$file"
    printf '%s\n' "$header" >> "$file"
    for digits in "$@"; do printf "$(sed 's/../\\x&/g' <<< "$digits")" >> "$file"; done
}

# The bytes of f32 numbers that the tests use.
f32() {
    local number
    for number in "$@"; do
        case $number in
        0) printf '00000000 ' ;; 0.5) printf '0000003f ' ;; 1) printf '0000803f ' ;; 2) printf '00000040 ' ;;
        3) printf '00004040 ' ;; 4) printf '00008040 ' ;; 5) printf '0000a040 ' ;; 6) printf '0000c040 ' ;;
        8) printf '00000041 ' ;; -1) printf '000080bf ' ;; -2) printf '000000c0 ' ;; -8) printf '000000c1 ' ;;
        *) echo "no bytes for $number" >&2; exit 1 ;;
        esac
    done
}

# show FILE OD-TYPE: the header's dictionary and the values.
show() {
    {
        printf '$ show %s\n' "$1"
        head -c 127 "$1" | tail -c +11 | sed 's/ *$//'
        printf '\n'
        tail -c +129 "$1" | od -An -v -w16 -t "$2" | sed 's/^ *//; s/  */ /g'
    } >> transcript
}

# ---- transcripts ------------------------------------------------------------------------------------------

# Shortens a generated source: each file of kernel_sources/ that it holds word for word is named instead.
fold_sources() {
    awk 'FILENAME != "-" { part[FILENAME] = part[FILENAME] $0 "\n"; next }
         { text = text $0 "\n" }
         END {
             for (file in part) {
                 at = index(text, part[file])
                 name = file
                 sub(/.*\//, "", name)
                 if (at) text = substr(text, 1, at - 1) "[kernel_sources/" name "]\n" substr(text, at + length(part[file]))
             }
             printf "%s", text
         }' "$golden"/../../kernel_sources/*.cuh -
}

# What differs from run to run and from machine to machine is replaced.
normalise() {
    sed -E -e "s#$work#WORK#g; s#${KILN_FAKE_DRIVER:-$work}#FAKE_DRIVER#g; s#${KILN_FAKE_NVRTC:-$work}#FAKE_NVRTC#g" \
        -e 's/[0-9]+ (bytes of (cubin|PTX))/N \1/; s/"(image_bytes|entry_bytes|bytes|removed_bytes|kept_bytes)": [1-9][0-9]*/"\1": N/' \
        -e 's/^(bytes +)[1-9][0-9]*$/\1N/; s/(removed .*, )[1-9][0-9]* bytes/\1N bytes/; s/(removed|kept) ([0-9]+), [1-9][0-9]* bytes/\1 \2, N bytes/g' \
        -e 's/[0-9]+(\.[0-9]+)? ms/N ms/g' \
        -e 's/"(parse|schedule|emit|lookup|compile|load|read|run|kernel|write|compile_ms|created_unix|used_unix)": [0-9.e-]+/"\1": N/' \
        -e 's/kiln [0-9]+\.[0-9]+\.[0-9]+$/kiln VERSION/; s/^(kiln +)[0-9.]+$/\1VERSION/' \
        -e 's/"version": "[0-9.]+"/"version": "VERSION"/' \
        -e 's/ +[0-9]+ +[0-9]+[smhdw]  [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}/  N  AGE  DATE/' \
        -e 's/\b[0-9a-f]{32}\b/KEY/; s/^[0-9a-f]{12}  /KEY  /'
}

transcript() { # transcript NAME: true if it shall run
    current=$1
    : > transcript
    [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]
}

# The command line as one would type it.
spell() {
    local word line=
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_=./:,+-]*|'') line+=" '${word//\'/\'\\\'\'}'" ;;
        *) line+=" $word" ;;
        esac
    done
    line=${line//$'\033'/\\033}
    printf '%s' "${line/ ${alone[*]}/}"
}

try() { # try ARGS...: runs kiln and writes down what it said
    "$tool" "$@" > out 2> err < "${stdin:-/dev/null}"
    local code=$?
    {
        printf '$ kiln%s\n' "$(spell "$@")"
        cat out
        sed 's/^/! /' err
        [ $code -eq 0 ] || printf '= %d\n' $code
    } >> transcript
}

check() { # check: compares, or writes, the current transcript
    local file=$golden/$current.${1:-txt}
    normalise < transcript > "$current"
    if [ $update = yes ]; then
        cp "$current" "$file"
    elif ! diff -u "$file" "$current"; then
        echo "FAILED: $current"
        failures=$((failures + 1))
    else
        echo "passed: $current"
    fi
}
