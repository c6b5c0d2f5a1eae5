// SPDX-License-Identifier: Apache-2.0
/* Faults on demand: one call of one function fails with a given code. The driver and NVRTC have one record each. */
#ifndef KILN_SOFTWARE_GPU_FAULTS_HPP
#define KILN_SOFTWARE_GPU_FAULTS_HPP

#define SOFTWARE_GPU_EXPORT extern "C" __attribute__((visibility("default")))

/* The code that this call of the function is to fail with, 0 for none. Thread-safe. */
int software_gpu_fault(const char *function);

#endif
