/* SPDX-License-Identifier: Apache-2.0 */
/* A function's nodes compared with those of a graph, from its result downwards: arguments lie before what is made of
 * them, so that each node of the pattern is met once. */
#include "lang/pattern.h"

#define NONE UINT32_MAX

/* Whether the operators are the same, but for arguments and for the domain that a call may have said. */
static bool is_same_operation(const kiln__node *pattern, const kiln__node *found, kiln__match *out) {
    kiln__node a = *pattern, b = *found;
    memset(a.args, 0, sizeof a.args);
    memset(b.args, 0, sizeof b.args);
    if (a.domain == 0 && (kiln__op_runs(a.op) || a.op == KILN__OP_COUNT)) {
        if (out->reduces && out->domain != b.domain) return false;
        out->domain = b.domain;
        out->reduces = true;
        b.domain = 0;
    }
    return kiln__node_equal(&a, &b);
}

static bool bind(const kiln__node *param, uint32_t found, kiln__match *out) {
    const uint32_t at = param->u.param;
    if (out->bound[at]) return out->args[at] == found;
    out->bound[at] = true;
    out->args[at] = found;
    return true;
}

bool kiln__pattern_match(const kiln__pattern *pattern, const kiln__node *nodes, uint32_t node, kiln__match *out) {
    uint32_t found[KILN__MAX_PATTERN];
    *out = (kiln__match){.function = pattern->function};
    if (pattern->count > KILN__MAX_PATTERN || pattern->nodes[pattern->result].op == KILN__OP_PARAM) return false;
    memset(found, 0xff, sizeof found);
    found[pattern->result] = node;
    for (uint32_t i = pattern->count; i-- > 0;) {
        const kiln__node *want = &pattern->nodes[i];
        if (found[i] == NONE) continue;
        if (want->op == KILN__OP_PARAM) {
            if (!bind(want, found[i], out)) return false;
            continue;
        }
        const kiln__node *have = &nodes[found[i]];
        if (!is_same_operation(want, have, out)) return false;
        out->size++;
        for (uint32_t k = 0; k < want->arg_count; k++) {
            uint32_t *arg = &found[want->args[k]];
            if (*arg != NONE && *arg != have->args[k]) return false;
            *arg = have->args[k];
        }
    }
    return true;
}
