#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages in a bare root without a network: installed, used, upgraded, removed, with nothing left behind.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bare_root.sh"

usage() {
    cat <<'TEXT'
usage: tools/try_packages.sh [options]

Makes packages of this version and of two later ones that do not exist, a patch and a minor version, and a bare root of
this distribution. There it installs, uses, upgrades, removes and purges them, and compares the files that are there
before and after. Only the compiler and CMake are fetched from the network. With lintian installed, its complaints are
those that are known. Takes root, debootstrap, and about three minutes with two processors.

  --work DIR       where packages, roots and builds are (default: a new folder, which is removed)
  --suite NAME     the distribution's release, for debootstrap (default: this machine's)
  --mirror URL     where debootstrap downloads from (default: its own)
  --jobs N         processes to compile with (default: one for each processor)
  --help           this text
TEXT
}

work=
suite=
mirror=
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --work | --suite | --mirror | --jobs)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --work) work=$2 ;;
                --suite) suite=$2 ;;
                --mirror) mirror=$2 ;;
                --jobs) jobs=$2 ;;
            esac
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
need_bare_root
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work" && work=$(cd "$work" && pwd)
began=$SECONDS

number() { sed -n "s/^#define KILN_VERSION_$1 //p" "$root/include/kiln/kiln.h"; }
major=$(number MAJOR) minor=$(number MINOR) patch=$(number PATCH)
now=$major.$minor.$patch
later=$major.$minor.$((patch + 1))
next=$major.$((minor + 1)).0
library=libkiln$major.$minor
next_library=libkiln$major.$((minor + 1))

# ---- packages of three versions ---------------------------------------------------------------------------------

# make_packages <version>: the working tree's sources with that number.
make_packages() {
    local version=$1 sources=$work/sources_$1
    say "Making packages of $version"
    rm -rf "$sources" "$work/packages/$version"
    copy_sources "$sources"
    IFS=. read -r a b c <<<"$version"
    sed -i -e "s/^\(#define KILN_VERSION_MAJOR\) .*/\1 $a/" -e "s/^\(#define KILN_VERSION_MINOR\) .*/\1 $b/" \
        -e "s/^\(#define KILN_VERSION_PATCH\) .*/\1 $c/" "$sources/include/kiln/kiln.h"
    "$sources/tools/package.sh" --out "$work/packages/$version" --build-dir "$work/build_$version" --jobs "$jobs" \
        --contact 'Kiln <packages@kiln.example.org>' >"$work/package_$version.log" 2>&1 ||
        { tail -n 20 "$work/package_$version.log" >&2; die "packages of $version could not be made"; }
}
for version in $now $later $next; do make_packages "$version"; done

# What lintian says of packages that are not the distribution's own, and why it stays: CPack writes maintainer scripts that
# call ldconfig, beside the trigger that is enough, and cannot be told not to.
known='libkiln[0-9.]*: maintscript-calls-ldconfig|bogus-mail-host'
if has_command lintian; then
    say "lintian"
    lintian --allow-root "$work/packages/$now"/*.deb >"$work/lintian.log" 2>&1 || true
    if grep -E '^[EW]:' "$work/lintian.log" | grep -vE "$known" >&2; then die "lintian complains of what is new"; fi
else
    say "lintian is not installed, and left out"
fi

# ---- in the root ------------------------------------------------------------------------------------------------

make_bare_root "$work/root" "$suite" "$mirror"
mkdir -p "$bare_root/packages" && cp -r "$work/packages/." "$bare_root/packages"
cp "$root/docs/example.c" "$bare_root/root"

# The files that packages may leave or take: not dpkg's and apt's records, nor what ldconfig writes anew.
files() {
    enter off "find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root -o -path /packages \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /run \) -prune \
        -o ! -path /etc/ld.so.cache -print | sort" >"$1"
}
same_files() {
    diff "$1" "$2" >&2 || die "$3"
}
# expect <what> <pattern> <command line>: runs it without a network; its output has the pattern.
expect() {
    local output
    output=$(enter off "$3" 2>&1) || die "$1 failed: $output"
    grep -qE -- "$2" <<<"$output" || die "$1: '$2' was expected, and this was printed: $output"
    echo "$1"
}
# refuse <what> <pattern> <command line>: it fails, with the pattern in its output.
refuse() {
    local output
    ! output=$(enter off "$3" 2>&1) || die "$1 was expected to fail, and printed: $output"
    grep -qE -- "$2" <<<"$output" || die "$1: '$2' was expected in: $output"
    echo "$1"
}
# debs <version> <package>...: their files, as a command line has them.
debs() {
    local version=$1 package
    shift
    for package in "$@"; do printf ' /packages/%s/%s_%s_*.deb' "$version" "$package" "$version"; done
}
explain="kiln explain 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90"
compile="kiln compile 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90 -o /tmp/k.cubin"

say "The tool and the library alone"
files "$work/bare"
refuse "the tool without its library is not installed" "kiln depends on $library \(= $now\)" "dpkg -i$(debs "$now" kiln)"
expect "the broken tool is purged" 'Removing kiln|Purging' "dpkg --purge kiln"
expect "apt installs both" 'Setting up kiln' "apt-get install -y --no-install-recommends$(debs "$now" "$library" kiln)"
expect "dpkg finds every file as it was packed" '^$' "dpkg --verify $library kiln; echo"
expect "the tool's version is $now" "$now" "kiln --version"
expect "the tool explains a program" 'phase 0' "$explain"
expect "the tool says that NVRTC is missing" 'NVRTC' "$compile || true"
expect "the loader knows the library" "$library|libkiln.so.$major.$minor " "ldconfig -p"
expect "bash completes commands" '^explain$' \
    ". /usr/share/bash-completion/completions/kiln; complete -p kiln; COMP_WORDS=(kiln expl) COMP_CWORD=1; _kiln; echo \${COMPREPLY[*]}"
expect "zsh and fish have completions" '^there$' \
    "grep -q explain /usr/share/zsh/vendor-completions/_kiln && grep -q explain /usr/share/fish/vendor_completions.d/kiln.fish &&
        echo there"
expect "manual pages are compressed, one for each command" '^[0-9]+ pages$' \
    "commands=\$(kiln --help | sed -n '/^commands:/,/^\$/s/^  \([a-z]*\( [a-z][a-z]*\)\?\)  *[A-Z].*/\1/p') && [ -n \"\$commands\" ] || exit 1
        while read -r command; do
            page=/usr/share/man/man1/kiln-\${command// /-}.1.gz
            gzip -dc \$page | grep -q '^.SH SYNOPSIS' || { echo \"no \$page\"; exit 1; }
        done <<<\"\$commands\"
        echo \$(wc -l <<<\"\$commands\") pages"
expect "apt removes the tool, the library stays" 'Removing kiln' "apt-get remove -y kiln; ldconfig -p | grep libkiln >&2"
expect "apt purges the library" 'Removing' "apt-get purge -y $library"
files "$work/bare_after"
same_files "$work/bare" "$work/bare_after" "the packages left or took files"

say "With a compiler, from the network"
enter on "apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ cmake make pkg-config" \
    >"$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log" >&2; die "g++ and CMake could not be installed in the root"; }
files "$work/tools"

cat >"$bare_root/root/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(example C)
find_package(kiln REQUIRED)
foreach(library kiln static)
    add_executable(by_cmake_${library} example.c)
    target_link_libraries(by_cmake_${library} PRIVATE kiln::${library})
endforeach()
if(NOT TARGET kiln::tool)
    message(FATAL_ERROR "there is no kiln::tool")
endif()
TEXT
result='0.101536 0.167405 0.276004 0.455054'
use_development_files() { # <version>
    expect "a program is built by pkg-config" "$result" \
        "cd && cc example.c \$(pkg-config --cflags --libs kiln) -o by_pkg_config && ./by_pkg_config"
    expect "a program is built with the archive" "$result" \
        "cd && cc example.c \$(pkg-config --cflags --libs kiln-static) -o static_by_pkg_config && ./static_by_pkg_config"
    expect "programs are built by CMake" "$result" \
        "cd && rm -rf out && cmake -S . -B out >/dev/null && cmake --build out >/dev/null && out/by_cmake_static && out/by_cmake_kiln"
    expect "pkg-config tells $1" "^$1\$" "pkg-config --modversion kiln"
}
all=(libkiln-dev kiln libkiln-software-gpu)
expect "all four are installed" 'Setting up libkiln-dev' "apt-get install -y$(debs "$now" "$library" "${all[@]}")"
use_development_files "$now"
expect "kernels are compiled by kiln-worker, where there is a time limit" "kiln-$major.$minor/kiln-worker" \
    "cd && export KILN_COMPILE_LIMIT=20000 KILN_NVRTC=\$(echo /usr/lib/*/kiln-$major.$minor/libkiln_software_nvrtc.so) &&
        $compile && echo /usr/libexec/kiln-$major.$minor/kiln-worker && [ -s /tmp/k.cubin ]"
for name in scores.c test_scores.c CMakeLists.txt; do # the page's project
    mkdir -p "$bare_root/root/scores"
    sed -n "/^\`$name\`:\$/,/^\`\`\`\$/p" "$root/docs/software-gpu.md" | sed '1,3d;$d' >"$bare_root/root/scores/$name"
done
expect "a program's test runs on the software GPU" 'right under five seeds' \
    "cd ~/scores && cmake -S . -B build >/dev/null && cmake --build build >/dev/null && ctest --test-dir build -V"

say "Upgraded to $later"
refuse "the development files alone are not upgraded" "depends on $library|Depends: $library" \
    "apt-get install -y --no-remove$(debs "$later" libkiln-dev)"
expect "all four are upgraded" "Unpacking kiln \($later\) over \($now\)" \
    "apt-get install -y$(debs "$later" "$library" "${all[@]}")"
expect "the tool's version is $later" "$later" "kiln --version"
expect "a program that was built with $now runs" "$result" "cd && ./by_pkg_config"
expect "one library is there" "^/usr/lib/[^/]*/libkiln.so.$later\$" "ls /usr/lib/*/libkiln.so.*.*.*"
use_development_files "$later"

say "Upgraded to $next, whose library has another name"
expect "the later version is installed beside the older library" "Setting up $next_library" \
    "apt-get install -y$(debs "$next" "$next_library" "${all[@]}")"
expect "the tool's version is $next" "$next" "kiln --version"
expect "a program that was built with $now runs" "$result" "cd && ./by_pkg_config"
expect "it uses the older library" "libkiln.so.$major.$minor " "cd && ldd by_pkg_config"
use_development_files "$next"
expect "what is built now uses the newer library" "libkiln.so.$major.$((minor + 1)) " "cd && ldd by_pkg_config"
expect "the older library is removed" "Removing $library" "apt-get remove -y $library"
expect "the newer programs run without it" "$result" "cd && ./by_pkg_config"

say "Purged"
expect "apt purges all" 'Removing' "apt-get purge -y ${all[*]} $next_library $library"
expect "dpkg knows none of them" '^none$' "dpkg -l | grep -E ' (lib)?kiln' || echo none"
files "$work/tools_after"
same_files "$work/tools" "$work/tools_after" "the packages left or took files"
say "Done in $(((SECONDS - began + 59) / 60)) min: the packages install, upgrade and go away"
