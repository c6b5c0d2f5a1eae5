# SPDX-License-Identifier: Apache-2.0
"""NVRTC from the packages that pip installs: nvidia/*/lib in one of the folders that Python imports from. The library
looks beside the Python that is running, but a user's folder, or an environment's that PATH alone names, Python knows."""
import os
import pathlib
import re
import sys

VERSION = re.compile(r"libnvrtc\.so\.([0-9.]+)$")


def installed_nvrtc(folders=None):
    """The path of the newest one, None where there is none. folders: sys.path, unless given."""
    best = ((), None)
    for folder in sys.path if folders is None else folders:
        for file in sorted((pathlib.Path(folder or ".") / "nvidia").glob("*/lib/libnvrtc.so.*")):
            match = VERSION.match(file.name)
            if match:
                best = max(best, (tuple(int(part) for part in match[1].split(".") if part), str(file)))
    return best[1]


def nvrtc_path():
    """What the context's option gets. What the user chose is left to the library, and so is what Python does not find."""
    chosen = any(os.environ.get(name) for name in ("KILN_NVRTC", "CUDA_HOME", "CUDA_PATH"))
    return None if chosen else installed_nvrtc()
