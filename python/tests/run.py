# SPDX-License-Identifier: Apache-2.0
"""Runs the package's tests with pytest; exits with 77 where pytest or NumPy is missing."""
import importlib.util
import pathlib
import sys

missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {sys.executable} has no {' and no '.join(missing)}")
    sys.exit(77)

import pytest  # noqa: E402; after the test above

folder = pathlib.Path(__file__).parent
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *sys.argv[1:], str(folder)]))
