/* SPDX-License-Identifier: Apache-2.0 */
/* Reads manifests line by line. Kernels are told apart by their names, which shapes that differ in rows share. */
#define _GNU_SOURCE
#include "kernel_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "open_shapes.h"
#include "runtime/tuned.h"
#include "tensor_spec.h"

/* Room for one more; NULL without memory. */
static void *grow(void *items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return items;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *larger = realloc(items, more * size);
    if (larger) *capacity = more;
    return larger;
}

static int add_arch(const arguments *args, const char *text, kernel_list *list) {
    listed_arch arch;
    if (tensor_spec_arch(text, &arch.arch, &arch.ptx)) return tool_usage(args, "--arch %s", kiln_last_error());
    if (arch.arch < 80) return tool_usage(args, "--arch '%s': sm_80 or newer was expected", text);
    listed_arch *archs = realloc(list->archs, (list->arch_count + 1) * sizeof *archs);
    if (!archs) return tool_failed(args, kiln__out_of_memory());
    list->archs = archs;
    archs[list->arch_count++] = arch;
    return TOOL_OK;
}

static int read_archs(const arguments *args, kernel_list *list) {
    for (size_t i = 0; i < args->given_count; i++) {
        if (args->given[i].id != OPTION_ARCH) continue;
        char *all = strdup(args->given[i].value), *rest = all, *text;
        int code = all ? TOOL_OK : tool_failed(args, kiln__out_of_memory());
        while (!code && (text = strsep(&rest, ",")) != NULL) code = add_arch(args, text, list);
        free(all);
        if (code) return code;
    }
    return TOOL_OK;
}

static int read_shard(const arguments *args, kernel_list *list) {
    const char *text = arguments_value(args, OPTION_SHARD);
    char after;
    if (!text) return TOOL_OK;
    if (sscanf(text, "%6u/%6u%c", &list->shard, &list->shards, &after) != 2 || list->shard < 1 ||
        list->shard > list->shards) {
        return tool_usage(args, "--shard '%s': I/N with I from 1 to N was expected, 2/8 for example", text);
    }
    return TOOL_OK;
}

int kernel_list_open(const arguments *args, kernel_list *out) {
    *out = (kernel_list){0};
    out->exact = arguments_has(args, OPTION_EXACT);
    int code = read_archs(args, out);
    return code ? code : read_shard(args, out);
}

void kernel_list_free(kernel_list *list) {
    for (size_t i = 0; i < list->line_count; i++) manifest_entry_free(&list->lines[i].entry);
    for (size_t i = 0; i < list->kernel_count; i++) kiln__key_free(&list->kernels[i].name);
    free(list->lines);
    free(list->kernels);
    free(list->archs);
    *list = (kernel_list){0};
}

static void complain(const arguments *args, kernel_list *list, const char *file, size_t number) {
    tool_say(args, "%s:%zu: %s", file, number, kiln_last_error());
    list->faults++;
}

/* ---- lines ---- */

static bool is_blank(const char *line) { return line[strspn(line, " \t\r\n")] == '\0'; }

static int read_lines(const arguments *args, const char *path, FILE *file, kernel_list *list) {
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t size;
    kiln_status status = KILN_OK;
    while (!status && (size = getline(&line, &capacity, file)) >= 0) {
        number++;
        if (is_blank(line)) continue;
        listed_line *lines = grow(list->lines, list->line_count, &list->line_capacity, sizeof *lines);
        if (!lines) {
            status = kiln__out_of_memory();
            break;
        }
        list->lines = lines;
        listed_line *added = &lines[list->line_count];
        *added = (listed_line){.file = path, .number = number};
        kiln_status parsed = manifest_parse(line, (size_t)size, &added->entry);
        if (!parsed)
            list->line_count++;
        else {
            manifest_entry_free(&added->entry);
            if (parsed == KILN_E_MEMORY)
                status = parsed;
            else
                complain(args, list, path, number);
        }
    }
    if (!status && ferror(file))
        status = kiln__fail(KILN_E_IO, "manifest '%s' cannot be read: %s", path, strerror(errno));
    free(line);
    return status ? tool_failed(args, status) : TOOL_OK;
}

int kernel_list_read_lines(const arguments *args, const char *path, kernel_list *list) {
    if (strcmp(path, "-") == 0) return read_lines(args, path, stdin, list);
    FILE *file = fopen(path, "re");
    if (!file)
        return tool_failed(args, kiln__fail(KILN_E_IO, "manifest '%s' cannot be read: %s", path, strerror(errno)));
    int code = read_lines(args, path, file, list);
    fclose(file);
    return code;
}

/* ---- kernels ---- */

/* Each kernel is in one share, which its name alone decides. */
static bool is_in_shard(const kernel_list *list, const kiln__key *name) {
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) number = number << 8 | name->digest[i];
    return list->shards == 0 || number % list->shards == list->shard - 1;
}

static bool is_of_any_shape(const manifest_entry *entry) {
    for (size_t i = 0; i < entry->tensor_count; i++)
        if (open_shapes_any(&entry->tensors[i].tensor, 1)) return true;
    return false;
}

kiln_status kernel_list_bind(const listed_kernel *kernel, kiln_context *context, kiln_program **program,
                             kiln_tensor tensors[KILN_MAX_TENSORS], kiln_scalar scalars[KILN_MAX_SCALARS]) {
    const manifest_entry *entry = &kernel->line->entry;
    kiln_status status = manifest_bind(entry, context, program, tensors, scalars);
    if (!status && kernel->columns) column_range_set(kernel->columns, tensors, entry->tensor_count);
    for (size_t i = 0; !status && kernel->kind == LISTED_SINGLE && i < entry->tensor_count; i++)
        if (tensors[i].sizes[0] == -1) tensors[i].sizes[0] = 1;
    if (status || !is_of_any_shape(entry)) return status;
    open_shapes open;
    open_shapes_settle(tensors, kiln_program_input_count(*program), &open);
    status = open_shapes_outputs(*program, tensors);
    if (status) {
        kiln_program_destroy(*program);
        *program = NULL;
    }
    return status;
}

kiln_policy kernel_list_policy(const listed_kernel *kernel) {
    if (kernel->kind == LISTED_RANGE || (kernel->kind == LISTED_SINGLE && kernel->columns)) return KILN_POLICY_RANGE;
    return kernel->kind == LISTED_ANY_SHAPE ? KILN_POLICY_ANY_SHAPE : KILN_POLICY_COMPILE;
}

static bool has_open_rows(const manifest_entry *entry) {
    bool open = false;
    for (size_t i = 0; i < entry->tensor_count; i++)
        open |= entry->tensors[i].tensor.rank > 0 && entry->tensors[i].tensor.sizes[0] == -1;
    return open;
}

static kiln_status find_record(const kiln__prepared *prepared, const kiln__device *device, uint8_t digest[16]) {
    kiln__key key;
    if (prepared->origin != KILN_SCHEDULE_RECORD) return KILN_OK;
    kiln_status status = kiln__tuned_key(prepared->ir, &prepared->problem, device, &key);
    if (!status) memcpy(digest, key.digest, sizeof key.digest);
    kiln__key_free(&key);
    return status;
}

static kiln_status plan(listed_kernel *kernel, kiln_context *context) {
    const manifest_entry *entry = &kernel->line->entry;
    kiln_program *program = NULL;
    kiln_tensor tensors[KILN_MAX_TENSORS];
    kiln_scalar scalars[KILN_MAX_SCALARS];
    const kiln__device device = manifest_device(entry, kernel->arch);
    kiln__prepared prepared;
    kiln_status status = kernel_list_bind(kernel, context, &program, tensors, scalars);
    if (status) return status;
    const kiln__call call = {.program = program,
                             .tensors = tensors,
                             .scalars = scalars,
                             .policy = kernel_list_policy(kernel),
                             .dependent = entry->dependent};
    status = kiln__program_check_counts(program, tensors, entry->tensor_count, scalars, entry->scalar_count);
    if (!status && kernel->kind == LISTED_ANY_SHAPE)
        status = kiln__prepare_any_shape_for(&call, kernel->arch, &prepared);
    else if (!status)
        status = kiln__prepare_for(&call, &device, 0, &prepared);
    if (!status && kernel_list_policy(kernel) == KILN_POLICY_RANGE) {
        status = column_range_check(entry->program, kernel->columns, prepared.problem.cols, prepared.most_cols);
        if (status) kiln__prepared_free(&prepared);
    }
    if (!status) {
        status = kiln__prepared_name(&prepared, kernel->arch, kernel->ptx, &kernel->name);
        if (!status) status = find_record(&prepared, &device, kernel->record);
        kiln__prepared_free(&prepared);
    }
    kiln_program_destroy(program);
    return status;
}

static int by_name(const void *a, const void *b) {
    const listed_kernel *x = a, *y = b;
    const int order = memcmp(x->name.digest, y->name.digest, sizeof x->name.digest);
    return order ? order : memcmp(x->record, y->record, sizeof x->record);
}

static int by_line(const void *a, const void *b) {
    const listed_kernel *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->arch != y->arch) return x->arch < y->arch ? -1 : 1;
    if (x->ptx != y->ptx) return x->ptx - y->ptx;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : (x->columns > y->columns) - (x->columns < y->columns);
}

/* The sort is not stable, so of equal names the earliest line is sought out, and an open number of rows. */
static void remove_duplicates(kernel_list *list) {
    size_t kept = 0;
    if (list->kernel_count > 1) qsort(list->kernels, list->kernel_count, sizeof *list->kernels, by_name);
    for (size_t i = 0; i < list->kernel_count; i++) {
        listed_kernel *last = kept ? &list->kernels[kept - 1] : NULL;
        if (!last || by_name(last, &list->kernels[i]) != 0) {
            list->kernels[kept++] = list->kernels[i];
            continue;
        }
        if (by_line(&list->kernels[i], last) < 0) {
            last->line = list->kernels[i].line;
            last->kind = list->kernels[i].kind;
            last->columns = list->kernels[i].columns;
        }
        kiln__key_free(&list->kernels[i].name);
    }
    list->kernel_count = kept;
    if (kept > 1) qsort(list->kernels, kept, sizeof *list->kernels, by_line);
}

/* A pinned schedule may not be one for a single row, and not every program has a kernel for any shape. */
static bool may_be_missing(const listed_line *line, listed_kind kind, kiln_status status) {
    return kind == LISTED_SINGLE || (kind == LISTED_ANY_SHAPE && !is_of_any_shape(&line->entry) &&
                                     (status == KILN_E_UNSUPPORTED || status == KILN_E_LIMIT));
}

static int add_kernel(const arguments *args, const listed_line *line, listed_kind kind, int64_t columns,
                      kiln_context *context, const listed_arch *arch, kernel_list *list) {
    listed_kernel *kernels = grow(list->kernels, list->kernel_count, &list->kernel_capacity, sizeof *kernels);
    if (!kernels) return tool_failed(args, kiln__out_of_memory());
    list->kernels = kernels;
    listed_kernel *kernel = &kernels[list->kernel_count];
    *kernel =
        (listed_kernel){.line = line, .kind = kind, .columns = columns, .arch = arch->arch, .ptx = arch->ptx != 0};
    list->request_count += kind == LISTED_USUAL || kind == LISTED_RANGE || is_of_any_shape(&line->entry);
    kiln_status status = plan(kernel, context);
    if (status == KILN_E_MEMORY) return tool_failed(args, status);
    if (status && may_be_missing(line, kind, status)) return TOOL_OK;
    if (status)
        complain(args, list, line->file, line->number);
    else if (is_in_shard(list, &kernel->name))
        list->kernel_count++;
    else
        kiln__key_free(&kernel->name);
    return TOOL_OK;
}

/* For all architectures, of a line that asks for what can be made. */
static int add_kernels(const arguments *args, const listed_line *line, listed_kind kind, int64_t columns,
                       kiln_context *context, kernel_list *list) {
    const listed_arch own = {line->entry.arch, line->entry.ptx};
    const size_t count = list->arch_count ? list->arch_count : 1, faults = list->faults;
    int code = TOOL_OK;
    for (size_t a = 0; a < count && !code && faults == list->faults; a++)
        code = add_kernel(args, line, kind, columns, context, list->arch_count ? &list->archs[a] : &own, list);
    return code;
}

/* One for each range that has some of these columns. */
static int add_ranges(const arguments *args, const listed_line *line, const column_range *of, kiln_context *context,
                      kernel_list *list) {
    const size_t faults = list->faults;
    int code = TOOL_OK;
    for (int64_t n = of->least > 2 ? of->least : 2; n <= of->most && !code && faults == list->faults;
         n = kiln_range_end(n) + 1) {
        code = add_kernels(args, line, LISTED_RANGE, n, context, list);
        if (!code && faults == list->faults && has_open_rows(&line->entry))
            code = add_kernels(args, line, LISTED_SINGLE, n, context, list);
    }
    return code;
}

int kernel_list_read(const arguments *args, kiln_context *context, kernel_list *list) {
    int code = TOOL_OK;
    for (size_t i = 0; i < args->operand_count && !code; i++)
        code = kernel_list_read_lines(args, args->operands[i], list);
    for (size_t i = 0; i < list->line_count && !code; i++) {
        const listed_line *line = &list->lines[i];
        if (list->arch_count == 0 && line->entry.arch < 80) {
            kiln__fail(KILN_E_ARCH, "the line names no architecture from sm_80 on, and there is no --arch");
            complain(args, list, line->file, line->number);
            continue;
        }
        const size_t faults = list->faults;
        if (is_of_any_shape(&line->entry)) {
            code = add_kernels(args, line, LISTED_ANY_SHAPE, 0, context, list);
            continue;
        }
        const column_range range = line->entry.range;
        if (range.most)
            code = add_ranges(args, line, &range, context, list);
        else
            code = add_kernels(args, line, LISTED_USUAL, 0, context, list);
        if (faults < list->faults) continue;
        if (!code && !list->exact) code = add_kernels(args, line, LISTED_ANY_SHAPE, range.most, context, list);
        if (!code && !range.most && has_open_rows(&line->entry))
            code = add_kernels(args, line, LISTED_SINGLE, 0, context, list);
    }
    if (!code) remove_duplicates(list);
    return code;
}
