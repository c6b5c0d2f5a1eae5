/* SPDX-License-Identifier: Apache-2.0 */
/* kiln cache export and import: between the disk cache and packs. */
#include <string.h>
#include <time.h>

#include "cache_files.h"
#include "json_output.h"
#include "kernel_names.h"
#include "pack_file.h"

typedef struct transfer {
    const arguments *args;
    kiln__pack_writer writer;
    kiln__disk *disk;
    size_t kernels, records, foreign, damaged, failed, bytes;
} transfer;

static int report(const transfer *t, const char *done) {
    if (arguments_has(t->args, OPTION_JSON)) {
        return json_print(t->args, json_pack("{s:s, s:I, s:I, s:I, s:I}", "file", t->args->operands[0], "kernels",
                                             (json_int_t)t->kernels, "records", (json_int_t)t->records, "foreign",
                                             (json_int_t)t->foreign, "damaged", (json_int_t)t->damaged));
    }
    if (arguments_has(t->args, OPTION_QUIET)) return TOOL_OK;
    printf("%s %zu %s", done, t->kernels, t->kernels == 1 ? "kernel" : "kernels");
    if (t->records) printf(" and %zu tuned %s", t->records, t->records == 1 ? "record" : "records");
    if (t->foreign) printf(", left out %zu of other builds of Kiln", t->foreign);
    if (t->damaged) printf(", left out %zu damaged", t->damaged);
    putchar('\n');
    return TOOL_OK;
}

/* ---- export ---- */

static int export_record(transfer *t, const cache_file *file) {
    static const kiln__nvrtc_version none = {0, 0, ""};
    kiln_status status = kiln__pack_writer_add(&t->writer, file->key, file->found, &none);
    t->records += !status;
    return status ? tool_failed(t->args, status) : TOOL_OK;
}

static int export_file(void *user, const cache_file *file) {
    transfer *t = user;
    kiln__key name;
    kiln__key_view key;
    char build[sizeof((kiln__bundle_row *)NULL)->nvrtc_build] = "";
    if (!file->found) {
        t->damaged++;
        return TOOL_OK;
    }
    if (file->tuned) return export_record(t, file);
    kiln_status status = kernel_name_of_key(file->found->material, file->found->material_size, &name);
    if (status == KILN_E_UNSUPPORTED || status == KILN_E_FORMAT) {
        t->foreign++;
        return TOOL_OK;
    }
    if (!status) {
        (void)kiln__key_decode(file->found->material, file->found->material_size, &key);
        memcpy(build, key.build, key.build_size < sizeof build ? key.build_size : sizeof build - 1);
        const kiln__nvrtc_version nvrtc = {key.nvrtc_major, key.nvrtc_minor, build};
        status = kiln__pack_writer_add(&t->writer, &name, file->found, &nvrtc);
        kiln__key_free(&name);
    }
    return status ? tool_failed(t->args, status) : TOOL_OK;
}

static int export_command(const arguments *args) {
    transfer t = {.args = args};
    if (args->operand_count == 0) return tool_usage(args, "the pack to write was expected");
    int code = cache_open(args, &t.disk);
    if (!code) code = cache_visit_files(args, t.disk, export_file, &t);
    if (!code) {
        kiln_status status = pack_file_save(&t.writer, args->operands[0], &t.bytes);
        if (status) code = tool_failed(args, status);
    }
    t.kernels = t.writer.count - t.records;
    if (!code) code = report(&t, "exported");
    kiln__pack_writer_free(&t.writer);
    kiln__disk_close(t.disk);
    return code;
}

/* ---- import ---- */

static void import_record(transfer *t, const kiln__entry *entry) {
    kiln__key key;
    if (kiln__key_of_material(entry->material, entry->material_size, &key)) {
        t->failed++;
        return;
    }
    const bool put = kiln__disk_put_tuned(t->disk, &key, entry);
    t->records += put;
    t->failed += !put;
    kiln__key_free(&key);
}

static kiln_status import_kernel(transfer *t, const kiln__bundle *pack, uint32_t i) {
    const kiln__bundle_row row = kiln__bundle_row_at(pack, i);
    kiln__entry entry;
    kiln__key key;
    if (!kiln__bundle_entry(pack, i, &entry)) {
        t->damaged++;
        return KILN_OK;
    }
    if (kiln__key_is_record(entry.material, entry.material_size)) {
        import_record(t, &entry);
        return KILN_OK;
    }
    kiln_status status = kernel_key_of_name(entry.material, entry.material_size, row.nvrtc_major, row.nvrtc_minor,
                                            row.nvrtc_build, &key);
    t->foreign += status == KILN_E_UNSUPPORTED || status == KILN_E_FORMAT;
    if (status) return status == KILN_E_MEMORY ? status : KILN_OK;
    entry.facts.created_unix = (int64_t)time(NULL);
    if (kiln__disk_put(t->disk, &key, &entry))
        t->kernels++;
    else
        t->failed++;
    kiln__key_free(&key);
    return KILN_OK;
}

static int import_command(const arguments *args) {
    transfer t = {.args = args};
    kiln__bundle *pack = NULL;
    if (args->operand_count == 0) return tool_usage(args, "the pack to read was expected");
    int code = cache_open(args, &t.disk);
    kiln_status status = code ? KILN_OK : kiln__disk_set_limit(t.disk, 0);
    if (!code && !status) status = kiln__bundle_open(args->operands[0], NULL, 0, &pack);
    for (uint32_t i = 0; pack && i < pack->count && !status; i++) status = import_kernel(&t, pack, i);
    if (!code && !status && t.failed) {
        status = kiln__fail(KILN_E_IO, "%zu kernels cannot be written to the disk cache '%s'", t.failed,
                            kiln__disk_path(t.disk));
    }
    if (status) code = tool_failed(args, status);
    if (!code) code = report(&t, "imported");
    if (!code && t.damaged) code = TOOL_FAILED;
    kiln__bundle_close(pack);
    kiln__disk_close(t.disk);
    return code;
}

static const option_id options[] = {OPTION_CACHE_DIR, OPTION_JSON, OPTION_QUIET,
                                    OPTION_COLOR,     OPTION_HELP, OPTION_COUNT};

const command command_cache_export = {
    .name = "cache export",
    .summary = "Writes the kernels and tuned records of the disk cache to a pack",
    .usage = "PACK [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nKernels that another build of Kiln wrote are left out: this one would never look for them. "
        "docs/packs.md says\n"
        "how packs are used.\n"
        "\nJSON: file, kernels, records (tuned ones), foreign (left out: of another build), damaged (left out).\n"
        "\nexample:\n"
        "  kiln cache export kernels.kpack\n"
        "\nexit codes: 0 done, 1 the work failed, 2 the command line is wrong.\n",
    .run = export_command,
};

const command command_cache_import = {
    .name = "cache import",
    .summary = "Puts the kernels and tuned records of a pack into the disk cache",
    .usage = "PACK [OPTIONS]",
    .options = options,
    .max_operands = 1,
    .details =
        "\nPrograms find the kernels there if their NVRTC is the one that compiled them. Without NVRTC, or with\n"
        "another, give the pack itself to the program (KILN_PACKS).\n"
        "\nJSON: file, kernels, records (tuned ones), foreign (left out: of another build of Kiln), damaged (left "
        "out).\n"
        "\nexample:\n"
        "  kiln cache import kernels.kpack\n"
        "\nexit codes: 0 done, 1 the work failed or the pack is damaged, 2 the command line is wrong.\n",
    .run = import_command,
};
