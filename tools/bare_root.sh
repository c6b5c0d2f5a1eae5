# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the try_*.sh scripts and sourced by them after common.sh: a bare root of this distribution, made by debootstrap,
# in which a command sees nothing of this machine but its kernel, and a network only where it is asked for.

# need_bare_root: a sentence for each thing that is missing.
need_bare_root() {
    [ "$(id -u)" -eq 0 ] || die "making a root of its own and entering it takes root: run it with sudo"
    has_command debootstrap ||
        die "debootstrap, which makes the root, is missing; on Debian and Ubuntu: apt-get install debootstrap"
    unshare --mount --net true 2>/dev/null ||
        die "this machine allows no namespaces of its own (unshare --mount --net), which keep the root apart"
}

# make_bare_root <folder> [suite] [mirror]: what `debootstrap --variant=minbase` makes: apt, no compiler, no Python.
make_bare_root() {
    local folder=$1 suite=${2:-} mirror=${3:-} scripts=/usr/share/debootstrap/scripts script=
    [ -n "$suite" ] || suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$suite" ] || die "/etc/os-release has no VERSION_CODENAME; --suite names the distribution's release"
    # A suite that is newer than this debootstrap: a distribution's newer suites have all one script.
    if [ ! -e "$scripts/$suite" ] && [ -n "$mirror" ]; then
        case "$mirror" in *ubuntu*) script=$scripts/gutsy ;; *) script=$scripts/sid ;; esac
    fi
    say "Making a bare root of $suite in $folder"
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    debootstrap --variant=minbase "$suite" "$folder" ${mirror:+"$mirror"} ${script:+"$script"} >"$folder.log" 2>&1 || {
        tail -n 5 "$folder.log" >&2
        die "debootstrap could not make a root of '$suite'; its log is $folder.log"
    }
    # Ubuntu's images have both components.
    ! grep -q '^ID=ubuntu' "$folder/etc/os-release" || sed -i 's/ main$/ main universe/' "$folder/etc/apt/sources.list"
    bare_root=$folder
}

# enter <on|off> <command line> [NAME=value...]: runs it in the root by bash, with a network or without.
enter() {
    local options=(--mount --pid --fork --kill-child)
    [ "$1" = on ] || options+=(--net)
    # shellcheck disable=SC2016
    unshare "${options[@]}" sh -c '
        mount -t proc proc "$1/proc" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" || exit 1
        folder=$1 command=$2
        shift 2
        exec chroot "$folder" env -i HOME=/root USER=root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" bash -euo pipefail -c "$command"
    ' sh "$bare_root" "$2" "${@:3}" </dev/null
}

# copy_sources <folder>: the files that git knows, as they are in the working tree.
copy_sources() {
    mkdir -p "$1"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 -r ls -d 2>/dev/null |
        tar -c -T - | tar -x -C "$1") || die "the sources could not be copied to $1; this is to run in a git checkout"
}
