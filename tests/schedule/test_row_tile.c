/* SPDX-License-Identifier: Apache-2.0 */
/* What tiles of short and odd rows are not for. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/bound.h"

static kiln_status prepare_tile(const char *program, const char *outputs, const char *tensors) {
    bound b;
    kiln__prepared prepared;
    setenv("KILN_SCHEDULE", "lanes 8, tile, rows 16, vector 1", 1);
    assert_int_equal(bound_create_outputs(&b, program, outputs, NULL, NULL, tensors), KILN_OK);
    unsetenv("KILN_SCHEDULE");
    const kiln_status status = bound_prepare(&b, 90, &prepared);
    if (!status) kiln__prepared_free(&prepared);
    bound_destroy(&b);
    return status;
}

/* The tile has no place for it, and would be copied over what was stored. */
static void a_value_for_several_columns_is_not_stored_from_a_tile(void **state) {
    (void)state;
    assert_int_equal(prepare_tile("y = x + repeat(r, 7) - sum(x)", "y", "u16[1,113] u32[1,17] u32[1,113]"), KILN_OK);
    assert_int_equal(prepare_tile("y = x + repeat(r, 7) - sum(x); s = repeat(r, 7) * 2", "y,s",
                                  "u16[1,113] u32[1,17] u32[1,113] u32[1,17]"),
                     KILN_E_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_for_several_columns_is_not_stored_from_a_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
