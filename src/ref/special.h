/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the C library lacks: erfinv, sigmoid, the normal distribution, Philox. */
#ifndef KILN_REF_SPECIAL_H
#define KILN_REF_SPECIAL_H

#include <stdint.h>

/* The y with erf(y) = x; infinite at -1 and 1, NaN outside. */
double kiln__ref_erfinv(double x);
/* 1 / (1 + exp(-x)) without overflow. */
double kiln__ref_sigmoid(double x);
/* P(X <= x) of the normal distribution, and its density. */
double kiln__ref_normcdf(double x);
double kiln__ref_normpdf(double x);
/* log |gamma(x)|, without the C library's global sign. */
double kiln__ref_lgamma(double x);

/* Philox 4x32-10 of Salmon, Moraes, Dror and Shaw (SC 2011): replaces counter by its random words. */
void kiln__ref_philox(uint32_t counter[4], const uint32_t key[2]);
/* The language's uniform(seed, offset) of an element: in [0, 1), a multiple of 2^-24. */
double kiln__ref_uniform(int64_t seed, int64_t offset, int64_t index);

#endif
