#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/guide/first-kernel.md followed by the letter in a bare root, as on a new machine: once to the program in C, once to
# the one in Python.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bare_root.sh"

usage() {
    cat <<'TEXT'
usage: tools/try_guide.sh [options] [c] [python]

Makes a bare root of this distribution, puts the working tree into it as ~/kiln, and runs there every block of the first
guide's page that is on the way to a kernel in C, then the same in another root for Python. Nothing is installed but by
the page's own blocks. Prints each block's seconds; the page's own promise is a quarter of an hour. Takes root,
debootstrap, Python and a network.

  --work DIR     where roots are (default: a new folder, which is removed)
  --suite NAME   the distribution's release, for debootstrap (default: this machine's)
  --mirror URL   where debootstrap downloads from (default: its own)
  --help         this text
TEXT
}

work=
suite=
mirror=
ways=()
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --work | --suite | --mirror)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --work) work=$2 ;;
                --suite) suite=$2 ;;
                --mirror) mirror=$2 ;;
            esac
            shift 2 ;;
        c | python) ways+=("$1"); shift ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
[ "${#ways[@]}" -gt 0 ] || ways=(c python)
need_bare_root
has_command python3 || die "python3, which reads the page, is missing"
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work" && work=$(cd "$work" && pwd)

# A network that shows certificates of its own has them in this machine's bundle: pip in the root is told.
settings=()
certificates=${PIP_CERT:-${SSL_CERT_FILE:-}}
[ ! -r "$certificates" ] || settings=(PIP_CERT=/page/certificates.pem)

follow() { # <c|python> <section>...
    local way=$1 section sections=()
    shift
    for section in "$@"; do sections+=(--section "$section"); done
    make_bare_root "$work/$way" "$suite" "$mirror"
    copy_sources "$bare_root/root/kiln"
    mkdir -p "$bare_root/page"
    [ -z "${settings[*]}" ] || cp "$certificates" "$bare_root/page/certificates.pem"
    "$root/tools/follow_page.py" write "$bare_root/page" --page "$root/docs/guide/first-kernel.md" "${sections[@]}"
    rm -rf "$bare_root"/var/lib/apt/lists/* # a distribution's image comes without an index of packages
    say "The way to $way"
    enter on "cd && . /page/session.sh" ${settings[@]+"${settings[@]}"} || true
    "$root/tools/follow_page.py" report "$bare_root/page" || die "the page does not lead to a kernel in $way"
}
for way in "${ways[@]}"; do
    case "$way" in
        c) follow c "1." "2." "3." ;;
        python) follow python "4." ;;
    esac
done
