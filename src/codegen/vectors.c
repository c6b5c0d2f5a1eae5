/* SPDX-License-Identifier: Apache-2.0 */
/* The generated work on an operand's vectors: where they lie, how they are filled and stored, which ones are staged. */
#include <inttypes.h>
#include <string.h>

#include "codegen/emitter.h"
#include "schedule/access.h"

/* The part of a vector that is loaded. */
static const char *spell_loaded(const kiln__emitter *e, int o) {
    return e->schedule->tensors[o].overhangs ? "span.loaded(row)" : "span";
}

/* Whether every vector of the operand is whole and its own: then nothing asks for its part. */
static bool is_plain(const kiln__emitter *e, int o) {
    const kiln_type type = e->problem->operands[o].type;
    return kiln__layout_of(e->schedule) == KILN__LAYOUT_INNER && e->schedule->edges != KILN__EDGES_MASKED &&
           type != KILN_E2M1;
}

/* Whether the operand's vectors may begin at any element of its accesses. */
static bool is_moved(const kiln__emitter *e, int o) {
    const kiln__access *access = &e->schedule->tensors[o];
    if (kiln__schedule_shifts(e->schedule)) return access->shifted;
    return e->schedule->edges == KILN__EDGES_SHIFTED && access->width > 0;
}

/* Where an operand's elements end that may be read beside those of a vector. */
static const char *spell_end(const kiln__emitter *e) { return e->flat ? "row.args.elements" : "KILN_END"; }

static const char *suffix_of(const kiln__emitter *e, int o) {
    if (e->schedule->tensors[o].kind == KILN__ACCESS_WRAPPED) return "_wrapped";
    return e->rows_in_vectors ? "_rows" : "";
}

static void emit_crossing_fetch(const kiln__emitter *e, int o, const char *indent) {
    const char *name = e->name[o];
    if (e->schedule->tensors[o].shifted)
        kiln__write(e, "%skiln_fetch_shifted<%d>(%s, row.%s, %s, span);\n", indent, e->schedule->tensors[o].width, name,
                    name, kiln__spell_crossing(e, o));
    else if (e->schedule->tensors[o].kind == KILN__ACCESS_SAME)
        kiln__write(e, "%skiln_fetch_same(%s, row.%s, %s, span);\n", indent, name, name, kiln__spell_crossing(e, o));
    else
        kiln__write(e, "%skiln_fetch_crossing<%d>(%s, row.%s, %s, %s, span);\n", indent, e->schedule->tensors[o].run,
                    name, name, kiln__spell_crossing(e, o), kiln__spell_run_stride(e, o));
}

static const char *spell_policy(const kiln__emitter *e, int o) {
    return e->schedule->tensors[o].evict_first ? ", row.policy" : "";
}

/* `how` ends the name of the function that fetches whole vectors. */
static void emit_fetch(const kiln__emitter *e, int o, const char *indent, const char *how) {
    const char *name = e->name[o];
    int access = e->schedule->tensors[o].width;
    if (e->problem->operands[o].run && e->problem->any_shape)
        kiln__write(e, "%skiln_fetch_shared<%" PRId64 ">(%s, row, row.%s, row.args.block_%s, col);\n", indent,
                    e->problem->operands[o].run, name, name, name);
    else if (e->problem->any_shape)
        kiln__write(
            e, "%skiln_fetch_any<%d>(%s, row, row.%s, kiln_column_stride(row.args.shape, row.args.strides_%s), col);\n",
            indent, access, name, name, name);
    else if (kiln__access_crosses(&e->schedule->tensors[o]))
        emit_crossing_fetch(e, o, indent);
    else if (is_moved(e, o))
        kiln__write(e, "%skiln_fetch_moved<%d>(%s, row.%s, col, %s, span);\n", indent, access, name, name,
                    spell_end(e));
    else if (e->schedule->tensors[o].shifted)
        kiln__write(e, "%skiln_fetch_shifted<%d>(%s, row.%s, row, col, span);\n", indent, access, name, name);
    else if (access && is_plain(e, o) && !*how)
        kiln__write(e, "%skiln_load<%d>(%s, %s%s);\n", indent, access, name, kiln__spell_vector_address(e, o),
                    spell_policy(e, o));
    else if (access)
        kiln__write(e, "%skiln_fetch%s<%d>(%s, %s, %s%s);\n", indent, how, access, name,
                    kiln__spell_vector_address(e, o), spell_loaded(e, o), spell_policy(e, o));
    else if (e->schedule->tensors[o].run > 1)
        kiln__write(
            e,
            "#pragma unroll\n"
            "%sfor (int j = 0; j < KILN_VECTOR_WIDTH; j += %d)\n%s    if (span.has(j)) kiln_load_run<%d>(%s, j, %s);\n",
            indent, e->schedule->tensors[o].run, indent, e->schedule->tensors[o].run, name,
            kiln__spell_element_address(e, o, NULL));
    else
        kiln__write(e,
                    "#pragma unroll\n"
                    "%sfor (int j = 0; j < %s; ++j) %s.set(j, span.%s(j) ? *(%s) : %s());\n",
                    indent, e->width, name, e->rows_in_vectors ? "reads" : "has",
                    kiln__spell_element_address(e, o, NULL), e->type[o]);
}

void kiln__emit_fetch(const kiln__emitter *e, int o, const char *indent) { emit_fetch(e, o, indent, suffix_of(e, o)); }

void kiln__emit_fetched(const kiln__emitter *e, int o, const char *indent) {
    kiln__write(e, "%s%s %s;\n", indent, e->vector[o], e->name[o]);
    kiln__emit_fetch(e, o, indent);
}

/* Of rows that lie side by side into those whose columns do: when the thread has a line of columns, or the row's last.
 */
static void emit_put_lines(const kiln__emitter *e, int o) {
    const char *name = e->name[o];
    const int64_t line = kiln__column_of(e->schedule)->transpose_width, last = (e->problem->cols - 1) % line;
    kiln__write(
        e, "        const int at_%s = (int)((kiln_u32)col %% KILN_TRANSPOSE_WIDTH);\n        lines_%s[at_%s] = %s;\n",
        name, name, name, name);
    kiln__write(e, "        if (at_%s == KILN_TRANSPOSE_WIDTH - 1", name);
    if (last < line - 1) kiln__write(e, " || (at_%s == %" PRId64 " && col == KILN_COLS - 1)", name, last);
    kiln__write(e,
                ")\n#pragma unroll\n            for (int j = 0; j < KILN_VECTOR_WIDTH; ++j)\n"
                "                if (span.stores(j)) kiln_put_line<%d>(lines_%s, j, %s, at_%s + 1);\n",
                e->schedule->tensors[o].width, name,
                kiln__spell_element_address(e, o, kiln__spell(e, "(col - at_%s)", name)), name);
}

static kiln__ctype computed_type(const kiln__emitter *e, int o) {
    return e->ir->insts[e->ir->outputs[o - e->inputs]].type;
}

/* Whether the output is stored in the type that it is computed in: its vector needs no other to be made of. */
static bool is_stored_as_computed(const kiln__emitter *e, int o) {
    return !strcmp(kiln__cxx_ctype(computed_type(e, o)), e->type[o]);
}

const char *kiln__spell_computed(const kiln__emitter *e, int o) {
    return is_stored_as_computed(e, o) ? kiln__spell(e, "%s.at", e->name[o]) : kiln__spell(e, "y%d", o - e->inputs);
}

void kiln__emit_computed(const kiln__emitter *e, int o) {
    if (is_stored_as_computed(e, o))
        kiln__write(e, "        %s %s;\n", e->vector[o], e->name[o]);
    else
        kiln__write(e, "        %s y%d[%s];\n", kiln__cxx_ctype(computed_type(e, o)), o - e->inputs, e->width);
}

void kiln__emit_put(const kiln__emitter *e, int o) {
    const char *name = e->name[o];
    int access = e->schedule->tensors[o].width;
    if (!is_stored_as_computed(e, o))
        kiln__write(e, "        %s %s;\n        kiln_narrow_vector(y%d, %s);\n", e->vector[o], name, o - e->inputs,
                    name);
    if (e->problem->any_shape)
        kiln__write(
            e, "        kiln_put_any<%d>(%s, row.%s, kiln_column_stride(row.args.shape, row.args.strides_%s), col);\n",
            access, name, name, name);
    else if (kiln__column_of(e->schedule)->tile.rows && e->problem->operands[o].per_element)
        kiln__emit_tile_put(e, o);
    else if (e->schedule->tensors[o].copy_width)
        kiln__write(e, "        kiln_tile_keep(%s, %s, span);\n", name, kiln__spell_tile_place(e, o));
    else if (e->rows_in_vectors && e->schedule->tensors[o].kind == KILN__ACCESS_TRANSPOSED)
        emit_put_lines(e, o);
    else if (kiln__access_crosses(&e->schedule->tensors[o]))
        kiln__write(e, "        kiln_put_crossing(%s, row.%s, %s, %s, span);\n", name, name, kiln__spell_crossing(e, o),
                    kiln__spell_run_stride(e, o));
    else if (is_moved(e, o))
        kiln__write(e, "        kiln_put_moved<%d>(%s, row.%s, col, span);\n", access, name, name);
    else if (access && is_plain(e, o))
        kiln__write(e, "        kiln_store<%d>(%s, %s);\n", access, name, kiln__spell_vector_address(e, o));
    else if (access)
        kiln__write(e, "        kiln_put%s<%d>(%s, %s, span);\n", suffix_of(e, o), access, name,
                    kiln__spell_vector_address(e, o));
    else
        kiln__write(e,
                    "#pragma unroll\n"
                    "        for (int j = 0; j < %s; ++j)\n"
                    "            if (span.%s(j)) *(%s) = %s.get(j);\n",
                    e->width, e->rows_in_vectors ? "stores" : "has", kiln__spell_element_address(e, o, NULL), name);
}

void kiln__emit_put_block(const kiln__emitter *e, int o, const char *value) {
    kiln__write(e, "        if (%s) kiln_narrow(%s, *(%s));\n",
                kiln__spell_run_begins(e, e->problem->operands[o].run, "col"), value,
                kiln__spell_element_address(e, o, "col"));
}

void kiln__emit_put_element(const kiln__emitter *e, int o, const char *in, const char *stores, const char *value) {
    kiln__write(e, "%sif (%s) kiln_narrow(%s, *(%s));\n", in, stores, value, kiln__spell_element_address(e, o, NULL));
}

/* copy: a vector into its place. */
static void emit_shared_copy(const kiln__emitter *e, int o) {
    const char *vector = e->vector[o];
    kiln__write(e,
                "        {\n"
                "            %s *to = reinterpret_cast<%s *>(shared + %d) + slot;\n",
                vector, vector, e->schedule->tensors[o].offset);
    if (e->schedule->tensors[o].width && !is_moved(e, o))
        kiln__write(e, "            kiln_fetch%s_async<%d>(to, %s, %s);\n", suffix_of(e, o),
                    e->schedule->tensors[o].width, kiln__spell_vector_address(e, o), spell_loaded(e, o));
    else {
        kiln__emit_fetched(e, o, "            ");
        kiln__write(e, "            *to = %s;\n", e->name[o]);
    }
    kiln__write(e, "        }\n");
}

/* load_invariants: number I of what all rows share. */
static void emit_load_invariants(const kiln__emitter *e) {
    kiln__write(e, "    template <int I> KILN_MEMBER void load_invariants(const kiln_row &row, kiln_index col, "
                   "const kiln_span &span)\n    {\n");
    for (int i = 0; i < e->staged_invariant.count; i++) {
        kiln__write(e, "        if constexpr (I == %d) {\n", i);
        emit_fetch(e, e->staged_invariant.at[i], "            ", "_early");
        kiln__write(e, "        }\n");
    }
    kiln__write(e, "    }\n");
}

/* copy and recall: a thread's vectors to and from shared memory. */
static void emit_shared_access(const kiln__emitter *e) {
    const kiln__operand_list *list = &e->staged_own;
    kiln__write(e, "    static KILN_MEMBER void copy(unsigned char *shared, int slot, const kiln_row &row, "
                   "kiln_index col, const kiln_span &span)\n"
                   "    {\n");
    for (int i = 0; i < list->count; i++) emit_shared_copy(e, list->at[i]);
    kiln__write(e, "    }\n"
                   "    KILN_MEMBER void recall(const unsigned char *shared, int slot)\n"
                   "    {\n");
    for (int i = 0; i < list->count; i++) {
        const int o = list->at[i];
        kiln__write(e, "        %s = reinterpret_cast<const %s *>(shared + %d)[slot];\n", e->name[o], e->vector[o],
                    e->schedule->tensors[o].offset);
    }
    kiln__write(e, "    }\n");
    if (kiln__row_of(e->schedule)->rows_in_flight) emit_load_invariants(e);
}

/* fill_transposed: of all vectors of a tile, those inputs that lie the other way. */
static void emit_transposing(const kiln__emitter *e) {
    kiln__write(e, "    static KILN_MEMBER void fill_transposed(kiln_staged *staged, const kiln_row &row)\n    {\n"
                   "        const kiln_line line(row);\n");
    for (int o = 0; o < e->inputs; o++) {
        if (e->schedule->tensors[o].kind != KILN__ACCESS_TRANSPOSED) continue;
        const char *name = e->name[o], *step = kiln__spell_run_step(e, o);
        const char *form = e->schedule->tensors[o].shifted ? "_shifted<%d>(lines[j], row.%s, first%s, row, line)"
                                                           : "<%d>(lines[j], row.%s + first%s, line)";
        kiln__write(e,
                    "        {\n            kiln_vector<%s, KILN_STEPS> lines[KILN_VECTOR_WIDTH];\n"
                    "            const kiln_i64 first = kiln_offset_%s(row.args, row.index);\n"
                    "#pragma unroll\n            for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) kiln_fetch",
                    e->type[o], name);
        kiln__write(e, form, e->schedule->tensors[o].width, name, step);
        kiln__write(e,
                    ";\n#pragma unroll\n            for (int k = 0; k < KILN_STEPS; ++k)\n#pragma unroll\n"
                    "                for (int j = 0; j < KILN_VECTOR_WIDTH; ++j) staged[k].%s.set(j, "
                    "lines[j].get(k));\n        }\n",
                    name);
    }
    kiln__write(e, "    }\n");
}

/* load: a vector of each input that stays, but for those that come in other ways; in flight: of the row's own. */
static void emit_load(const kiln__emitter *e) {
    const kiln__operand_list *list = kiln__row_of(e->schedule)->rows_in_flight ? &e->staged_own : &e->staged;
    kiln__write(e, "    KILN_MEMBER void load(const kiln_row &row, kiln_index col, const kiln_span &span)\n    {\n");
    for (int i = 0; i < list->count; i++)
        if (e->schedule->tensors[list->at[i]].kind != KILN__ACCESS_TRANSPOSED)
            kiln__emit_fetch(e, list->at[i], "        ");
    kiln__write(e, "    }\n");
}

static void emit_members(const kiln__emitter *e) {
    for (int i = 0; i < e->staged.count; i++)
        kiln__write(e, "    %s %s;\n", e->vector[e->staged.at[i]], e->name[e->staged.at[i]]);
    for (uint32_t i = 0; i < e->ir->count; i++)
        if (e->kept.value[i])
            kiln__write(e, "    %s v%u[%s]; /* kept for later passes */\n", kiln__cxx_ctype(e->ir->insts[i].type), i,
                        e->width);
}

void kiln__emit_staged(const kiln__emitter *e) {
    const kiln__schedule *s = e->schedule;
    kiln__write(e, "/* One vector of columns of the inputs that stay with the row, as stored. */\n%s {\n",
                s->edges == KILN__EDGES_PEELED ? "template <int N> struct kiln_staged_of" : "struct kiln_staged");
    emit_members(e);
    if (kiln__column_of(s)->tile.rows)
        kiln__emit_tile_outer(e);
    else if (s->staging.kind == KILN__STAGING_TILE)
        kiln__emit_tile_access(e);
    else if (!kiln__row_of(s)->rows_in_flight || s->edges == KILN__EDGES_PEELED)
        emit_load(e);
    if (s->strategy == KILN__TRANSPOSE) emit_transposing(e);
    if (s->staging.kind == KILN__STAGING_SHARED) emit_shared_access(e);
    kiln__write(e, "};\n%s\n",
                s->edges == KILN__EDGES_PEELED ? "typedef kiln_staged_of<KILN_VECTOR_WIDTH> kiln_staged;\n" : "");
}
