# SPDX-License-Identifier: Apache-2.0
"""What was found on this machine."""
from . import _core
from ._context import default_context, set_default_options
from ._program import forget_runs


class Info(dict):
    """A dictionary, printed as a table."""

    def __str__(self):
        return "\n".join(f"{name:<12}{value}" for name, value in self.items())


def version_text(version):
    return f"{version // 1000}.{version % 1000 // 10}"


def info(context=None):
    """Versions, devices and where each library was found; missing parts have a sentence that says why.

    >>> import kiln
    >>> kiln.info()["kiln"] == kiln.__version__
    True
    """
    context = context or default_context()
    found = context.system_info()
    driver, nvrtc = found["driver_error"], found["nvrtc_error"]
    devices = []
    for ordinal in range(found["device_count"]):
        device = context.device_info(ordinal)
        devices.append(f"{device['name']}, sm_{device['arch']}")
    return Info({
        "kiln": _core.version(),
        "driver": driver or f"{found['driver_path']}, CUDA {version_text(found['driver_version'])}",
        "nvrtc": nvrtc or f"{found['nvrtc_path']}, {'.'.join(map(str, found['nvrtc_version']))}",
        "devices": devices,
        "cache_dir": found["cache_dir"],
    })


def set_cache_dir(path):
    """Where programs that are made from now on keep compiled kernels; "" for nowhere.

    >>> import kiln
    >>> kiln.set_cache_dir("")
    >>> kiln.info()["cache_dir"]
    ''
    """
    set_default_options(cache_dir=path)
    forget_runs()


def set_policy(policy):
    """Whether programs that are made from now on may compile: "compile" or "never_compile"."""
    set_default_options(policy=policy)
    forget_runs()
