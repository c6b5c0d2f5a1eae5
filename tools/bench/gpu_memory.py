# SPDX-License-Identifier: Apache-2.0
"""Where tensors of NumPy's arrays lie while a program runs: memory of the first GPU, or the arrays themselves."""
import ctypes
import os
import sys


class HostMemory:
    """For Kiln's reference: the arrays themselves."""

    def copy_in(self, data):
        return data.ctypes.data

    def copy_out(self, address, data):
        pass

    def release(self):
        pass


class GpuMemory:
    """Memory of the first GPU, whose primary context becomes current."""

    def __init__(self, path):
        self.driver, self.taken = ctypes.CDLL(path), []
        context = ctypes.c_void_p()
        self.check(self.driver.cuInit(0))
        self.check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.driver.cuCtxSetCurrent(context))

    def check(self, status):
        if status:
            raise RuntimeError(f"the driver returned {status}")

    def copy_in(self, data):
        address = ctypes.c_uint64()
        self.check(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, data.nbytes))))
        self.taken.append(address)
        self.write(address.value, data)
        return address.value

    def write(self, address, data):
        self.check(self.driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data),
                                               ctypes.c_size_t(data.nbytes)))

    def copy_out(self, address, data):
        self.check(self.driver.cuCtxSynchronize())
        self.check(self.driver.cuMemcpyDtoH_v2(ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address),
                                               ctypes.c_size_t(data.nbytes)))

    def release(self):
        for address in self.taken:
            self.check(self.driver.cuMemFree_v2(address))
        self.taken = []


def open_memory(on_cpu):
    try:
        return HostMemory() if on_cpu else GpuMemory(os.environ.get("KILN_DRIVER", "libcuda.so.1"))
    except (OSError, RuntimeError) as error:
        print(f"skipped: {error}")
        sys.exit(77)
