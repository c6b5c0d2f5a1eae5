/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for a profiler's library: NVTX clients attach it by NVTX_INJECTION64_PATH. FAKE_PROFILER_REFUSES: it
 * fails to begin. FAKE_PROFILER_LATE: it wants nothing until its enable is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/profiler_api.h"
#include "fake_profiler.h"

static fake_profiler state;
static _Thread_local int depth;

fake_profiler *fake_profiler_state(void);
fake_profiler *fake_profiler_state(void) { return &state; }

static kiln__nvtx_domain create_domain(const char *name) {
    snprintf(state.domain, sizeof state.domain, "%s", name);
    return state.domain;
}

static int push(kiln__nvtx_domain domain, const kiln__nvtx_event *event) {
    const int number = state.pushes++;
    const int fits = event->version == KILN__NVTX_VERSION && event->size == sizeof *event &&
                     event->message_type == KILN__NVTX_MESSAGE_ASCII;
    if (domain != state.domain) state.foreign++;
    if (number < FAKE_PROFILER_MOST)
        snprintf(state.ranges[number], sizeof state.ranges[number], "%*s%s", 2 * depth, "",
                 fits ? event->message : "no event of this version");
    return depth++;
}

static int pop(kiln__nvtx_domain domain) {
    state.pops++;
    if (domain != state.domain) state.foreign++;
    return --depth;
}

static kiln__nvtx_places of_client;

static void enable(int on) {
    *of_client[KILN__NVTX_DOMAIN_CREATE] = on ? (kiln__nvtx_function)create_domain : NULL;
    *of_client[KILN__NVTX_RANGE_PUSH] = on ? (kiln__nvtx_function)push : NULL;
    *of_client[KILN__NVTX_RANGE_POP] = on ? (kiln__nvtx_function)pop : NULL;
}

int InitializeInjectionNvtx2(kiln__nvtx_export *export_table);
int InitializeInjectionNvtx2(kiln__nvtx_export *export_table) {
    const kiln__nvtx_callbacks *callbacks = export_table(KILN__NVTX_TABLE_CALLBACKS);
    const kiln__nvtx_version *version = export_table(KILN__NVTX_TABLE_VERSION);
    kiln__nvtx_places places;
    unsigned count = 0;
    if (!callbacks || !version || version->version != KILN__NVTX_VERSION || export_table(99)) return 0;
    version->tell(KILN__NVTX_VERSION);
    for (int set = 1; set < KILN__NVTX_SETS; set++)
        if (!callbacks->get_set(set, &places, &count) || count == 0) return 0;
    if (callbacks->get_set(0, &places, &count) || callbacks->get_set(KILN__NVTX_SETS, &places, &count)) return 0;
    if (!callbacks->get_set(KILN__NVTX_CORE2, &places, &count) || count <= KILN__NVTX_DOMAIN_CREATE) return 0;
    of_client = places;
    state.enable = enable;
    state.clients++;
    enable(getenv("FAKE_PROFILER_LATE") == NULL);
    return getenv("FAKE_PROFILER_REFUSES") == NULL;
}
