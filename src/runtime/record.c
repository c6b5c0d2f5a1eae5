/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each kernel that had to be compiled, or was missing, becomes one line of JSON that `kiln precompile`
 * reads. A line is one appending write, so that any number of processes share a file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scalar.h"
#include "cache/checksum.h"
#include "runtime/context.h"

kiln_status kiln__record_open(kiln_context *context, const char *given) {
    const char *path = given ? given : secure_getenv("KILN_RECORD");
    if (!path || !*path) return KILN_OK;
    char *here = *path != '/' ? getcwd(NULL, 0) : NULL; /* a later chdir does not move the file */
    kiln__text text = {0};
    if (here) kiln__text_printf(&text, "%s/", here);
    free(here);
    kiln__text_puts(&text, path);
    context->record_path = kiln__text_take(&text);
    return context->record_path ? KILN_OK : kiln__out_of_memory();
}

/* Bytes beyond ASCII stand in comments alone and need not be UTF-8: each becomes DEL, which a source shows likewise. */
static void add_string(kiln__text *line, const char *text) {
    kiln__text_puts(line, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            kiln__text_printf(line, "\\%s", c == '"' ? "\"" : "\\");
        else if (c < ' ' || c > '~')
            kiln__text_printf(line, "\\u%04x", c < ' ' ? c : 0x7fu);
        else
            kiln__text_add(line, text, 1);
    }
    kiln__text_puts(line, "\"");
}

/* The range of columns that the call takes a kernel of; cols 0: none. */
typedef struct range {
    int64_t cols, least, most;
} range;

static range range_of(const kiln__call *call) {
    range found = {0, 0, 0};
    kiln__prepared *prepared = kiln__call_takes_range(call) ? malloc(sizeof *prepared) : NULL;
    const kiln__device typical = kiln__device_typical(90); /* no schedule's affair */
    if (prepared && !kiln__prepare_for(call, &typical, 0, prepared)) {
        if (prepared->most_cols) found = (range){prepared->problem.cols, prepared->least_cols, prepared->most_cols};
        kiln__prepared_free(prepared);
    }
    kiln__clear_error();
    free(prepared);
    return found;
}

/* "x=f16[8,64]{128,1}@8": strides where they are not contiguous, alignment in bytes where it is below 16. Columns of a
 * range: "x=f16[8,2..64]". */
static void add_tensor(kiln__text *line, const char *name, const kiln_tensor *tensor, const range *columns) {
    const int alignment = (int)kiln__alignment_of(tensor->data);
    kiln_tensor plain = kiln_tensor_contiguous(NULL, tensor->type, tensor->rank, tensor->sizes);
    bool contiguous = true;
    kiln__text_printf(line, "\"%s=%s[", name, kiln_type_name(tensor->type));
    for (int i = 0; i < tensor->rank; i++)
        contiguous &= tensor->strides[i] == plain.strides[i]; /* of one row, too: its pitch is as of more of them */
    for (int i = 0; i < tensor->rank; i++) {
        if (i + 1 == tensor->rank && columns->cols && tensor->sizes[i] == columns->cols && contiguous)
            kiln__text_printf(line, i ? ",%" PRId64 "..%" PRId64 : "%" PRId64 "..%" PRId64, columns->least,
                              columns->most);
        else if (tensor->sizes[i] < 0)
            kiln__text_puts(line, "*");
        else
            kiln__text_printf(line, i ? ",%" PRId64 : "%" PRId64, tensor->sizes[i]);
    }
    kiln__text_puts(line, "]");
    for (int i = 0; i < tensor->rank && !contiguous; i++)
        kiln__text_printf(line, "%s%" PRId64, i ? "," : "{", tensor->strides[i]);
    if (!contiguous) kiln__text_puts(line, "}");
    if (alignment < 16) kiln__text_printf(line, "@%d", alignment);
    kiln__text_puts(line, "\"");
}

static void add_axes(kiln__text *line, const kiln__axes *axes) {
    if (axes->all) kiln__text_puts(line, ",\"axes\":\"all\"");
    if (axes->all || axes->last) return;
    kiln__text_puts(line, ",\"axes\":[");
    for (int i = 0; i < axes->count; i++) kiln__text_printf(line, i ? ",%d" : "%d", axes->list[i]);
    kiln__text_puts(line, "]");
}

/* The numbers that schedules are chosen by, where they are not those that the architecture alone would give. */
static void add_device(kiln__text *line, const kiln__device *device) {
    const kiln__device typical = kiln__device_typical(device->arch);
    if (memcmp(&typical, device, sizeof typical) == 0) return; /* there is no padding */
    kiln__text_printf(line, ",\"device\":[%d,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", device->sm_count,
                      device->threads_per_sm, device->registers_per_sm, device->shared_per_sm, device->shared_per_block,
                      device->l2_bytes, device->bandwidth);
}

static char *make_line(const kiln__call *call, const kiln__device *device, bool ptx) {
    const kiln_program *program = call->program;
    const kiln_tensor *tensors = call->tensors;
    const kiln_scalar *scalars = call->scalars;
    const kiln__signature *s = &program->signature;
    const range columns = range_of(call);
    kiln__text line = {0};
    kiln__text_puts(&line, "{\"program\":");
    add_string(&line, program->graph->text);
    for (uint32_t i = 0; i < s->output_count; i++)
        kiln__text_printf(&line, "%s\"%s\"", i ? "," : ",\"outputs\":[", program->names[s->input_count + i]);
    kiln__text_puts(&line, "],\"tensors\":[");
    for (uint32_t i = 0; i < s->input_count + s->output_count; i++) {
        if (i) kiln__text_puts(&line, ",");
        add_tensor(&line, program->names[i], &tensors[i], &columns);
    }
    kiln__text_puts(&line, "]");
    for (uint32_t i = 0; i < s->scalar_count; i++)
        kiln__text_printf(&line, "%s\"%s=%s\"", i ? "," : ",\"scalars\":[", kiln_program_scalar_name(program, i),
                          kiln__scalar_type_name(scalars[i].type));
    if (s->scalar_count) kiln__text_puts(&line, "]");
    add_axes(&line, &program->axes);
    kiln__text_printf(&line, ",\"arch\":\"%s_%d\"", ptx ? "compute" : "sm", device->arch);
    add_device(&line, device);
    if (kiln__call_is_programmatic(call, device->arch)) kiln__text_puts(&line, ",\"dependent_launch\":true");
    kiln__text_puts(&line, "}\n");
    return kiln__text_take(&line);
}

/* Whether the line is new to this context; without memory it counts as new. */
static bool remember(kiln_context *context, const char *line, size_t size) {
    uint64_t digest[KILN__CHECKSUM_SIZE / sizeof(uint64_t)];
    kiln__checksum(line, size, (uint8_t *)digest);
    const uint64_t *recorded = (const void *)context->recorded.data;
    for (size_t i = 0; i < context->recorded.size / sizeof *recorded; i++)
        if (recorded[i] == digest[0]) return false;
    kiln__text_add(&context->recorded, (const char *)digest, sizeof *digest);
    return true;
}

/* Appends a line; NULL, or why that failed. A pipe would keep the caller waiting for its reader, or lose what a reader
 * that is killed has not read: a file is expected, or a device such as /dev/null. */
static const char *append(const char *path, const char *line, size_t size) {
    struct stat status;
    const char *fault = NULL;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0 || fstat(fd, &status) != 0)
        fault = errno == ENXIO ? "it is a pipe or socket, expected a file" : strerror(errno);
    else if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
        fault = "it is a pipe or socket, expected a file";
    ssize_t written = fault == NULL ? kiln__file_write(fd, line, size) : (ssize_t)size;
    if (written != (ssize_t)size) {
        fault = strerror(written < 0 ? errno : ENOSPC);
        /* A line that was cut short ends here, so that the next one is whole. */
        if (written > 0 && kiln__file_write(fd, "\n", 1) < 0) fault = strerror(errno);
    }
    if (fd >= 0) close(fd);
    return fault;
}

/* Nobody else waits for the file: the lock is held for what the context remembers alone. */
void kiln__record(const kiln__call *call, const kiln__device *device, bool ptx) {
    const kiln_program *program = call->program;
    kiln_context *context = program->context;
    const bool wanted = context->record_path && !program->graph->calls_own; /* which the tool has not */
    char *line = wanted ? make_line(call, device, ptx) : NULL;
    if (!line) return;
    const size_t size = strlen(line);
    pthread_mutex_lock(&context->lock);
    const bool fresh = remember(context, line, size);
    pthread_mutex_unlock(&context->lock);
    const char *fault = fresh ? append(context->record_path, line, size) : NULL;
    free(line);
    if (fault == NULL && fresh)
        kiln__log(&context->logger, KILN_LOG_INFO, "recorded in '%s': %s", context->record_path, program->graph->text);
    if (fault == NULL) return;
    pthread_mutex_lock(&context->lock);
    const bool told = context->record_told;
    context->record_told = true;
    pthread_mutex_unlock(&context->lock);
    if (!told)
        kiln__log(&context->logger, KILN_LOG_WARNING, "a missing kernel cannot be recorded in '%s': %s",
                  context->record_path, fault);
}
