/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under construction: an open hash table from equal ones to one index, growing in an arena. */
#include "lang/nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell_place(const char *text, uint32_t line, uint32_t column) {
    const char *at = text;
    for (uint32_t i = 1; i < line && at != NULL; i++) {
        at = strchr(at, '\n');
        if (at != NULL) at++;
    }
    if (at == NULL || strlen(at) < column - 1) return;
    at += column - 1;
    kiln__error_place(line, column, at, kiln__token_length(at));
}

bool kiln__work_fail(kiln__work *work, uint32_t line, uint32_t column, kiln_status status, const char *format, ...) {
    if (work->status != KILN_OK) return false;
    char sentence[900];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    work->status = kiln__fail(status, "%s%u:%u: %s", work->file, line, column, sentence);
    if (work->text != NULL && *work->file == '\0') tell_place(work->text, line, column);
    return false;
}

void *kiln__work_alloc(kiln__work *work, kiln__arena *arena, size_t count, size_t size) {
    if (work->status != KILN_OK) return NULL;
    void *memory = kiln__arena_alloc(arena, count, size);
    if (memory == NULL) work->status = kiln__out_of_memory();
    return memory;
}

void *kiln__work_copy(kiln__work *work, kiln__arena *arena, const void *items, size_t count, size_t size) {
    void *copy = kiln__work_alloc(work, arena, count, size);
    return copy == NULL ? NULL : memcpy(copy, items, count * size);
}

void *kiln__work_grow(kiln__work *work, kiln__arena *arena, void *items, uint32_t count, uint32_t *capacity,
                      size_t size) {
    if (count < *capacity) return items;
    uint32_t larger = *capacity == 0 ? 16 : *capacity * 2;
    void *grown = kiln__work_alloc(work, arena, larger, size);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, items, count * size);
    *capacity = larger;
    return grown;
}

/* What the union of the node holds: a literal and a pointer 64 bits, others 32 at most. */
static uint64_t payload_of(const kiln__node *node) {
    uint64_t bits = 0;
    if (node->op == KILN__OP_OWN) return (uintptr_t)node->u.own;
    memcpy(&bits, &node->u, kiln__is_literal(node) ? sizeof bits : sizeof node->u.param);
    return bits;
}

bool kiln__node_equal(const kiln__node *a, const kiln__node *b) {
    return a->op == b->op && a->type == b->type && a->arg_count == b->arg_count && a->domain == b->domain &&
           memcmp(a->args, b->args, sizeof a->args) == 0 && payload_of(a) == payload_of(b);
}

static uint32_t hash_node(const kiln__node *node) {
    const uint64_t words[] = {(uint64_t)node->op << 32 | (uint32_t)node->type << 8 | node->arg_count,
                              (uint64_t)node->args[0] << 32 | node->args[1],
                              (uint64_t)node->domain << 32 | node->args[2], payload_of(node)};
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 16);
}

/* The slot that holds the node, or the empty one where it belongs. */
static uint32_t *find_slot(const kiln__nodes *nodes, const kiln__node *node) {
    uint32_t mask = nodes->capacity * 2 - 1, at = hash_node(node) & mask;
    while (nodes->slots[at] != 0 && !kiln__node_equal(&nodes->items[nodes->slots[at] - 1], node)) at = (at + 1) & mask;
    return &nodes->slots[at];
}

static bool make_room(kiln__work *work, kiln__nodes *nodes) {
    if (nodes->count < nodes->capacity) return true;
    kiln__node *items =
        kiln__work_grow(work, &work->scratch, nodes->items, nodes->count, &nodes->capacity, sizeof *items);
    uint32_t *slots = kiln__work_alloc(work, &work->scratch, (size_t)nodes->capacity * 2, sizeof *slots);
    if (slots == NULL) return false;
    nodes->items = items;
    nodes->slots = slots;
    for (uint32_t i = 0; i < nodes->count; i++) *find_slot(nodes, &items[i]) = i + 1;
    return true;
}

uint32_t kiln__nodes_add(kiln__work *work, kiln__nodes *nodes, const kiln__node *node, uint32_t most,
                         const char *what) {
    if (work->status != KILN_OK || !make_room(work, nodes)) return 0;
    uint32_t *slot = find_slot(nodes, node);
    if (*slot != 0) return *slot - 1;
    if (nodes->count == most)
        return kiln__work_fail(work, node->line, node->column, KILN_E_LIMIT, "the program has more than %u %s", most,
                               what);
    nodes->items[nodes->count] = *node;
    *slot = ++nodes->count;
    return nodes->count - 1;
}

int kiln__node_axis(const kiln__node *node, int rank) { return node->u.axis < 0 ? node->u.axis + rank : node->u.axis; }

bool kiln__node_check_axis(kiln__work *work, const kiln__node *node, int rank) {
    int axis = kiln__node_axis(node, rank);
    if (axis >= 0 && axis < rank) return work->status == KILN_OK;
    return kiln__work_fail(work, node->line, node->column, KILN_E_AXIS, "%s(%d): the iteration space has %d axes",
                           kiln__op_describe(node->op)->symbol, node->u.axis, rank);
}

void kiln__nodes_need(const kiln__node *nodes, uint32_t count, bool *needed) {
    for (uint32_t i = count; i-- > 0;)
        for (uint32_t k = 0; needed[i] && k < nodes[i].arg_count; k++) needed[nodes[i].args[k]] = true;
}
