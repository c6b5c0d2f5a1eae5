#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel as `pip install .` does, installs it in a new environment and uses it there. Downloads from PyPI:
# exit code 77 where that is not reachable. Usage: python/tests/test_wheel.sh; KILN_PYTHON is the interpreter.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${KILN_PYTHON:-python3}
skip() { echo "skipped: $*"; exit 77; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "$python is not Python 3.10 or newer"
"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    skip "$python has no headers"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv" >/dev/null 2>&1 || skip "$python has no module venv"
pip=("$folder/venv/bin/python" -m pip --quiet --disable-pip-version-check)
"${pip[@]}" download --no-deps -d "$folder/probe" scikit-build-core nanobind >/dev/null 2>&1 || skip "PyPI is not reachable"
"${pip[@]}" install numpy pytest

"${pip[@]}" wheel --no-deps -w "$folder" "$root"
wheel=$(echo "$folder"/*.whl)
echo "${wheel##*/}, $(stat -c %s "$wheel") bytes"
"$folder/venv/bin/python" -m zipfile -l "$wheel" | awk 'NR > 1 { print $1 }' >"$folder/files"
case "$wheel" in *-abi3-*) extension=kiln/_core.abi3.so ;; *) extension=$(grep 'kiln/_core[.]cpython' "$folder/files") ;; esac
library=$(grep -x 'kiln/lib/libkiln[.]so[.][0-9.]*' "$folder/files") || { echo "the wheel has no libkiln"; exit 1; }
for file in "$extension" "$library" kiln/py.typed kiln/_core.pyi kiln/onnx_operators.json "kiln/libexec/kiln-${library##*.so.}/kiln-worker" \
    kiln/include/kiln/{kiln,status,tensor}.h; do
    grep -qx "$file" "$folder/files" || { echo "the wheel lacks $file"; cat "$folder/files"; exit 1; }
done
for part in LICENSE xxhash.txt nanobind.txt robin_map.txt; do # of all that is compiled in
    grep -q "[.]dist-info/licenses/.*$part\$" "$folder/files" || { echo "the wheel lacks the licence $part"; exit 1; }
done

"${pip[@]}" install "$wheel"
cd "$folder"
export KILN_CACHE_DIR=$folder/cache
"$folder/venv/bin/python" - "${library#kiln/}" <<'PYTHON'
import pathlib
import sys
import numpy as np
import kiln
print(kiln.info())
assert kiln.run("y = softmax(x)", np.zeros((2, 4))).tolist() == [[0.25] * 4] * 2
library = pathlib.Path(kiln.__file__).parent / sys.argv[1]
assert any(str(library) in line for line in open("/proc/self/maps")), "another libkiln was loaded"
PYTHON
"$folder/venv/bin/python" "$root/python/tests/run.py"
