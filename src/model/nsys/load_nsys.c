/* SPDX-License-Identifier: Apache-2.0 */
/* Files that `nsys export --type sqlite` and `nsys profile --stats=true` write, by schema versions
 * 3.13 to 3.25; and the reports that they are exported from, which only Nsight Systems reads. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "model/files/importer.h"
#include "model/files/unpacked.h"
#include "model/nsys/nsys_loading.h"

static const char report_magic[] = "NVIDIA Tegra Profiler Report";

/* Tables of events: a file that has none of them is not a recording. */
static const char *const event_tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                           "CUPTI_ACTIVITY_KIND_MEMCPY",
                                           "CUPTI_ACTIVITY_KIND_MEMSET",
                                           "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                           "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                           "CUPTI_ACTIVITY_KIND_RUNTIME",
                                           "NVTX_EVENTS",
                                           "OSRT_API",
                                           "COMPOSITE_EVENTS",
                                           "SAMPLING_CALLCHAINS",
                                           "GPU_METRICS",
                                           "NET_NIC_METRIC",
                                           "MPI_COLLECTIVES_EVENTS",
                                           "MPI_P2P_EVENTS"};

/* --- versions --------------------------------------------------------------------------------- */

/* "2025.3.1" of "2025.3.1.90". */
static void append_version(struct ss_strbuf *tool, struct ss_strview version)
{
    size_t dots = 0, length = 0;
    while (length < version.length && length < 40 && dots < 3) {
        dots += version.data[length++] == '.';
    }
    length -= dots == 3;
    if (length > 0) {
        ss_strbuf_append_char(tool, ' ');
        ss_strbuf_append(tool, version.data, length);
    }
}

/* Both names of the table exist. */
static void read_version(struct ss_nsys_loading *loading, struct ss_strbuf *tool)
{
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};
    static const char *const columns[] = {"name", "value"};
    ss_strbuf_append_text(tool, "Nsight Systems");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct ss_sqlite_rows rows;
        bool has_version = false;
        ss_sqlite_begin(&rows, loading->file, tables[i], columns, 2);
        while (!has_version && ss_sqlite_next(&rows)) {
            has_version =
                ss_strview_equal(ss_sqlite_text(&rows, 0), ss_strview_of("EXPORT_PRODUCT_VERSION"));
            if (has_version) {
                append_version(tool, ss_sqlite_text(&rows, 1));
            }
        }
        ss_sqlite_end(&rows);
        if (has_version) {
            return;
        }
    }
}

/* --- loading ---------------------------------------------------------------------------------- */

static void expect_rows(struct ss_nsys_loading *loading)
{
    for (size_t i = 0; i < sizeof event_tables / sizeof *event_tables; i++) {
        loading->expected_rows += ss_sqlite_last_row(loading->file, event_tables[i]);
    }
}

static enum ss_status check_tables(const struct ss_nsys_loading *loading, struct ss_error *err)
{
    for (size_t i = 0; i < sizeof event_tables / sizeof *event_tables; i++) {
        if (ss_sqlite_has_table(loading->file, event_tables[i])) {
            return SS_OK;
        }
    }
    if (ss_sqlite_has_table_like(loading->file, "rocpd_")) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s is a rocpd database of rocprofv3: record with --output-format pftrace, "
                       "or convert it: rocpd convert -i %s --output-format pftrace",
                       loading->path, loading->path);
    }
    return ss_fail(err, SS_E_FORMAT,
                   ss_sqlite_has_table(loading->file, "StringIds")
                       ? "%s is an export of Nsight Systems without a table of events, such as "
                         "CUPTI_ACTIVITY_KIND_KERNEL or NVTX_EVENTS: nothing was recorded"
                       : "%s is an SQLite file, but no export of Nsight Systems: it has neither "
                         "the table StringIds nor one of events, such as "
                         "CUPTI_ACTIVITY_KIND_KERNEL",
                   loading->path);
}

/* Operators come before the calls that they contain, and the work of devices before the waits. */
static void read_events(struct ss_nsys_loading *loading)
{
    ss_nsys_load_target(loading);
    ss_nsys_load_nvtx(loading);
    ss_nsys_load_calls(loading);
    ss_nsys_load_work(loading);
    ss_nsys_load_metrics(loading);
    ss_nsys_load_messages(loading);
    ss_nsys_ranks_put(&loading->ranks, &loading->rows);
}

static void put_summary(struct ss_nsys_loading *loading)
{
    struct ss_sqlite_reading reading = ss_sqlite_reading(loading->file);
    struct ss_trace_summary summary = {
        .file_bytes = reading.file_bytes,
        .events = loading->events,
        .first_event_ns = loading->events > 0 ? (uint64_t)loading->first_ns : 0,
        .last_event_ns = loading->events > 0 ? (uint64_t)loading->last_ns : 0,
        .sealed = reading.damages == 0};
    struct ss_strbuf tool;
    ss_strbuf_init(&tool, 128);
    read_version(loading, &tool);
    ss_model_builder_import(
        loading->builder, (struct ss_strview){tool.data, tool.length},
        &(struct ss_builder_skipped){.events = loading->skipped,
                                     .reason = loading->skipped > 0 ? loading->skip_reason : NULL,
                                     .is_cut = reading.damages > 0});
    ss_strbuf_fini(&tool);
    if (loading->is_wall && loading->events > 0) {
        struct ss_trace_attribute start = {.key = ss_strview_of("start_realtime_ns"),
                                           .is_integer = true,
                                           .integer = loading->first_ns};
        ss_model_builder_attribute(loading->builder, &start);
    }
    ss_model_builder_summary(loading->builder, &summary);
}

static enum ss_status read_file(struct ss_nsys_loading *loading, struct ss_model_load *request,
                                struct ss_error *err)
{
    SS_TRY(check_tables(loading, err));
    expect_rows(loading);
    read_events(loading);
    if (request->has_steps) { /* samples are selected while they are read */
        SS_TRY(ss_model_builder_select_steps(loading->builder, request, err));
    }
    SS_TRY(ss_nsys_load_samples(loading, err));
    struct ss_sqlite_reading reading = ss_sqlite_reading(loading->file);
    if (loading->events == 0 && reading.first_damage != NULL) {
        return ss_fail(err, SS_E_FORMAT, "%s is damaged, and no event is readable: table %s",
                       loading->path, reading.first_damage);
    }
    put_summary(loading);
    ss_model_builder_end(loading->builder);
    return SS_OK;
}

static void report_skipped(const struct ss_nsys_loading *loading)
{
    struct ss_sqlite_reading reading = ss_sqlite_reading(loading->file);
    if (loading->skipped > 0) {
        ss_log(SS_WARN, "model", "%s: %" PRIu64 " event%s skipped, the first because of: %s",
               loading->path, loading->skipped, loading->skipped == 1 ? "" : "s",
               loading->skip_reason);
    }
    if (reading.first_damage != NULL) {
        ss_log(SS_WARN, "model", "%s: damaged, what follows in a table is missing: %s",
               loading->path, reading.first_damage);
    }
}

static enum ss_status load_database(struct ss_model *model, const struct ss_import_file *file,
                                    struct ss_sqlite_file *database,
                                    const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_model_load request = *load;
    uint64_t base_ns = 0;
    struct ss_nsys_loading *loading = ss_alloc_zero(1, sizeof *loading);
    loading->path = file->path;
    loading->load = load;
    loading->file = database;
    loading->builder = ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, &request,
                                            load->on_axis ? &base_ns : NULL);
    ss_nsys_rows_init(&loading->rows, loading->builder);
    ss_nsys_names_init(&loading->names, database, &loading->rows);
    enum ss_status status = read_file(loading, &request, err);
    if (status == SS_OK && !load->quiet) {
        report_skipped(loading);
    }
    ss_model_builder_free(loading->builder);
    ss_nsys_names_fini(&loading->names);
    ss_nsys_rows_fini(&loading->rows);
    ss_nsys_steps_fini(&loading->steps);
    ss_free(loading);
    return status;
}

/* --- the row ---------------------------------------------------------------------------------- */

static bool is_report(const char *head, size_t length)
{
    return length >= sizeof report_magic - 1 &&
           memcmp(head, report_magic, sizeof report_magic - 1) == 0;
}

/* SQLite reads a file anywhere in it, an archive only from begin to end. */
static enum ss_status open_member(const struct ss_import_file *file,
                                  struct ss_sqlite_file **database, struct ss_error *err)
{
    struct ss_unpacked unpacked;
    bool has_size = file->head_length >= SS_SQLITE_HEAD_BYTES;
    SS_TRY(
        ss_unpacked_init(&unpacked, file, has_size ? ss_sqlite_stated_bytes(file->head) : 0, err));
    enum ss_status status = ss_sqlite_open(unpacked.path, file->path, database, err);
    ss_unpacked_fini(&unpacked);
    return status;
}

static enum ss_status load_nsys(struct ss_model *model, const struct ss_import_file *file,
                                const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_sqlite_file *database;
    if (is_report(file->head, file->head_length)) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s is a report that only Nsight Systems reads; export it: "
                       "nsys export --type sqlite %s",
                       file->path, file->path);
    }
    SS_TRY(file->archive != NULL ? open_member(file, &database, err)
                                 : ss_sqlite_open(file->path, file->path, &database, err));
    ss_sqlite_charge(database, file->budget, file->archive != NULL);
    enum ss_status status = load_database(model, file, database, load, err);
    ss_sqlite_close(database);
    return status;
}

/* The schema begins in the first pages. */
static enum ss_import_match probe_nsys(const char *head, size_t length)
{
    static const char *const names[] = {"StringIds", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS",
                                        "META_DATA_EXPORT", "EXPORT_META_DATA"};
    if (is_report(head, length)) {
        return SS_IMPORT_CERTAIN;
    }
    if (!ss_sqlite_is(head, length)) {
        return SS_IMPORT_NO;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (memmem(head, length, names[i], strlen(names[i])) != NULL) {
            return SS_IMPORT_CERTAIN;
        }
    }
    return SS_IMPORT_LIKELY; /* then its tables decide */
}

const struct ss_importer ss_importer_nsys = {.name = "nsys",
                                             .summary = "SQLite exports of Nsight Systems",
                                             .kind = SS_INPUT_IMPORT,
                                             .probe = probe_nsys,
                                             .load = load_nsys};
