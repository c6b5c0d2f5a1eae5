# SPDX-License-Identifier: Apache-2.0
"""What tests share. KILN_FAKE_DRIVER, KILN_SOFTWARE_DRIVER and KILN_SOFTWARE_NVRTC name the stand-ins of a build tree;
tests that need one are skipped without it."""
import ctypes
import os

import numpy as np
import pytest

import kiln


def stand_in(name):
    path = os.environ.get(name)
    if not path or not os.path.exists(path):
        pytest.skip(f"{name} names no file")
    return path


@pytest.fixture
def fake_driver():
    """A driver that launches nothing and counts."""
    return stand_in("KILN_FAKE_DRIVER")


class SoftwareGpu:
    """Memory of the software GPU, which is the host's and which only its driver gives."""

    def __init__(self, path):
        self.driver, context = ctypes.CDLL(path), ctypes.c_void_p()
        assert not self.driver.cuInit(0)
        assert not self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        assert not self.driver.cuCtxSetCurrent(context)

    def copy(self, array):
        address = ctypes.c_uint64()
        assert not self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, array.nbytes)))
        memory = (ctypes.c_char * array.nbytes).from_address(address.value)
        own = np.frombuffer(memory, array.dtype).reshape(array.shape)
        own[...] = array
        return own


@pytest.fixture
def software_gpu():
    return SoftwareGpu(stand_in("KILN_SOFTWARE_DRIVER"))


@pytest.fixture
def software_context(software_gpu, tmp_path):
    """A context that runs kernels on the software GPU."""
    return kiln.Context(driver=stand_in("KILN_SOFTWARE_DRIVER"), nvrtc=stand_in("KILN_SOFTWARE_NVRTC"),
                        host_arrays="gpu", cache_dir=tmp_path)
