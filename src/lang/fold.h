/* Constants without a type of their own yet, and operators upon them. */
#ifndef KILN_LANG_FOLD_H
#define KILN_LANG_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lang/ops.h"

/* What a literal, or operators on literals, came to. It has no width: integers are exact in 64 bits, floats are
 * doubles; the type is chosen where it meets a typed value. */
typedef struct kiln__constant {
    kiln__op kind; /* KILN__OP_FLOAT, KILN__OP_INT or KILN__OP_BOOL */
    double f64;    /* FLOAT */
    int64_t i64;   /* INT, BOOL */
} kiln__constant;

kiln__constant kiln__constant_float(double value);
kiln__constant kiln__constant_int(int64_t value);
kiln__constant kiln__constant_bool(bool value);
double kiln__constant_f64(const kiln__constant *constant); /* of any kind */
bool kiln__constant_truth(const kiln__constant *constant); /* not equal 0 */

/* op of constants; false if it is not folded: not an operator on values, integers that overflow, a function better
 * left to the device. */
bool kiln__fold(kiln__op op, const kiln__constant *args, kiln__constant *out);

#endif
