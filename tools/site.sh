#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation as a site, and fails where a link leads nowhere.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/site.sh [options]

Builds the pages of mkdocs.yml and a reference of the C API (tools/reference.py) as a site, with MkDocs and its theme
Material from PyPI. A link to a page, a heading or a
file that is not there ends the build.

  --build-dir DIR  where MkDocs and the site go (default: build/site); the site is DIR/html
  --serve          show the site at http://127.0.0.1:8000 until it is interrupted
  --files          print the files of the checkout that the site is made of, and build nothing
  --help           this text
TEXT
}

# The pages, and the files that they link to: those of git, so that a link to what only lies around is found.
site_files() {
    (cd "$root" && git ls-files --cached --others --exclude-standard -- '*.md' '*.svg' LICENSE licenses examples include \
        kernel_sources packaging cmake python/kiln/onnx_operators.json)
}

dir=$root/build/site
serve=
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --serve) serve=yes; shift ;;
        --files) site_files; exit ;;
        --build-dir)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            dir=$2
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

requirements=$root/tools/site_requirements.txt
if ! cmp -s "$requirements" "$dir/venv/requirements.txt"; then
    need_packages python:ensurepip=python3-venv
    say "Downloading MkDocs and Material from PyPI"
    rm -rf "$dir/venv" && python3 -m venv "$dir/venv" >&2 &&
        "$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2 ||
        die "MkDocs could not be installed in $dir/venv"
    cp "$requirements" "$dir/venv/requirements.txt"
fi

rm -rf "$dir/pages" "$dir/html"
mkdir "$dir/pages"
(cd "$root" && site_files | xargs -d '\n' cp --parents -t "$dir/pages")
python3 "$root/tools/reference.py" "$dir/pages/docs/reference.md" >&2 || die "the reference of the C API has faults"
export KILN_SITE_PAGES=$dir/pages NO_MKDOCS_2_WARNING=1
if [ -n "$serve" ]; then
    exec "$dir/venv/bin/mkdocs" serve --config-file "$root/mkdocs.yml"
fi
# Without --quiet, under which MkDocs would not count its warnings.
"$dir/venv/bin/mkdocs" build --strict --config-file "$root/mkdocs.yml" --site-dir "$dir/html" >"$dir/log" 2>&1 || {
    grep -E "^(WARNING|ERROR)" "$dir/log" >&2 || cat "$dir/log" >&2
    die "the site has faults"
}
say "The site is in $dir/html"
