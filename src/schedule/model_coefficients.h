/* SPDX-License-Identifier: Apache-2.0 */
/* How much of each term is not hidden behind the others: guesses, until tools/tune/fit.py has measurements. */
#ifndef KILN_SCHEDULE_MODEL_COEFFICIENTS_H
#define KILN_SCHEDULE_MODEL_COEFFICIENTS_H

#include "schedule/model.h"

/* clang-format off */
static const double kiln__coefficients[KILN__TERMS] = {
    1,    /* memory */
    1,    /* reread */
    0.3,  /* queue */
    1,    /* ends */
    0.2,  /* pieces */
    0.3,  /* share */
    0.1,  /* late */
    0.3,  /* requests */
    0.3,  /* lines */
    0.5,  /* issue */
    0.5,  /* banks */
    0.3,  /* chain */
    0.2,  /* serial */
    0.5,  /* exchange */
    0.2,  /* alone */
    0.05, /* cluster */
    0.5,  /* tail */
    1,    /* spill */
    0.1,  /* code */
    1,    /* launch */
};
/* clang-format on */

#endif
