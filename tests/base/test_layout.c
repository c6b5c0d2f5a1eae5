/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of public structs, which programs that are not compiled anew have: docs/abi.md. A line here is changed
 * only where a version breaks the ABI; a struct that grows gets lines for its new fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kiln/kiln.h>

#define FIELD(type, field, place) \
    { #type "." #field, offsetof(type, field), place }
#define SIZE(type, bytes) \
    { "sizeof(" #type ")", sizeof(type), bytes }

static const struct {
    const char *name;
    size_t found, expected;
} layout[] = {
    /* Frozen. */
    SIZE(kiln_tensor, 144),
    FIELD(kiln_tensor, type, 8),
    FIELD(kiln_tensor, rank, 12),
    FIELD(kiln_tensor, sizes, 16),
    FIELD(kiln_tensor, strides, 80),
    SIZE(kiln_scalar, 16),
    FIELD(kiln_scalar, value, 8),
    SIZE(kiln_binding, 152),
    FIELD(kiln_binding, tensor, 8),
    SIZE(kiln_scalar_binding, 24),
    FIELD(kiln_scalar_binding, value, 8),
    SIZE(kiln_pack, 24),
    FIELD(kiln_pack, size, 16),
    SIZE(kiln_host_allocator, 24),
    FIELD(kiln_host_allocator, user, 16),
    SIZE(kiln_device_allocator, 24),
    FIELD(kiln_device_allocator, user, 16),
    SIZE(kiln_problem, 56),
    FIELD(kiln_problem, scalar_count, 32),
    FIELD(kiln_problem, arch, 40),
    FIELD(kiln_problem, options, 48),
    /* May grow at their end. */
    FIELD(kiln_context_options, cache_dir, 8),
    FIELD(kiln_context_options, policy, 32),
    FIELD(kiln_context_options, log, 40),
    FIELD(kiln_context_options, schedule, 56),
    FIELD(kiln_context_options, cache_max_bytes, 64),
    FIELD(kiln_context_options, packs, 72),
    FIELD(kiln_context_options, record_path, 88),
    FIELD(kiln_context_options, loaded_max_count, 96),
    FIELD(kiln_context_options, compile_limit_ms, 112),
    FIELD(kiln_context_options, worker_path, 120),
    FIELD(kiln_context_options, host_allocator, 128),
    FIELD(kiln_context_options, device_allocator, 152),
    FIELD(kiln_context_options, primary_context, 176),
    FIELD(kiln_context_options, device, 180),
    FIELD(kiln_context_options, log_detail, 184),
    FIELD(kiln_context_options, reserved, 188),
    FIELD(kiln_context_options, cache, 192),
    FIELD(kiln_program_options, outputs, 8),
    FIELD(kiln_program_options, axes, 24),
    FIELD(kiln_program_options, all_axes, 40),
    FIELD(kiln_program_options, inputs, 48),
    FIELD(kiln_call_options, policy, 8),
    FIELD(kiln_call_options, dependent_launch, 12),
    FIELD(kiln_call_options, workspace, 16),
    FIELD(kiln_call_options, workspace_bytes, 24),
    FIELD(kiln_cpu_options, precision, 8),
    FIELD(kiln_device_function, source, 16),
    FIELD(kiln_device_function, argument_count, 24),
    FIELD(kiln_device_function, host, 32),
    FIELD(kiln_device_function, user, 40),
    FIELD(kiln_error_info, status, 8),
    FIELD(kiln_error_info, length, 20),
    FIELD(kiln_error_info, message, 32),
    FIELD(kiln_context_stats, from_memory, 8),
    FIELD(kiln_context_stats, compiled, 32),
    FIELD(kiln_context_stats, shapes, 80),
    FIELD(kiln_context_stats, wait_seconds, 96),
    FIELD(kiln_context_stats, prepare_seconds, 104),
    FIELD(kiln_program_stats, launches, 8),
    FIELD(kiln_program_stats, compiled, 48),
    FIELD(kiln_program_stats, loads, 72),
    FIELD(kiln_program_stats, prepare_seconds, 96),
    FIELD(kiln_plan_info, schedule, 8),
    FIELD(kiln_plan_info, arch, 40),
    FIELD(kiln_plan_info, shared_bytes, 56),
    FIELD(kiln_plan_info, origin, 100),
    FIELD(kiln_plan_info, parse_ms, 104),
    FIELD(kiln_plan_info, workspace_bytes, 152),
    FIELD(kiln_plan_info, schedule_origin, 164),
    FIELD(kiln_prepare_options, jobs, 8),
    FIELD(kiln_prepare_options, callback, 16),
    FIELD(kiln_prepare_result, index, 8),
    FIELD(kiln_prepare_result, status, 20),
    FIELD(kiln_prepare_result, error, 24),
    FIELD(kiln_prepare_result, origin, 32),
    FIELD(kiln_prepare_result, ms, 40),
};

static void structs_lie_as_the_abi_has_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof layout / sizeof layout[0]; i++)
        if (layout[i].found != layout[i].expected)
            fail_msg("%s is %zu, expected %zu", layout[i].name, layout[i].found, layout[i].expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(structs_lie_as_the_abi_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
