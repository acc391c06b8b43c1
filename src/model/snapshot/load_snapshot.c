/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of PyTorch's memory (torch.cuda.memory._dump_snapshot), which are pickles: a dict, or
 * before 2.0 the list of segments alone. Read as data: nothing of them runs. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "model/files/importer.h"
#include "model/snapshot/snapshot_rows.h"

enum { MOST_DEVICES = 256, MOST_OPEN_RANGES = 1024 };
static const size_t most_bytes = (size_t)8 << 30; /* a snapshot of 1 GB needs about 6 GiB */
static const uint64_t first_wall_ns =
    UINT64_C(1000000000000000000); /* 2001: an earlier one is none */

/* The head of the file, then what follows it. */
struct source {
    const struct ss_import_file *file;
    size_t at;
    uint64_t bytes;
};

static enum ss_status read_source(void *context, char *buffer, size_t capacity, size_t *got,
                                  struct ss_error *err)
{
    struct source *source = context;
    size_t left = source->file->head_length - source->at;
    if (left > 0) {
        *got = left < capacity ? left : capacity;
        memcpy(buffer, source->file->head + source->at, *got);
        source->at += *got;
    } else {
        SS_TRY(ss_import_read(source->file, buffer, capacity, got, err));
    }
    source->bytes += *got;
    return SS_OK;
}

/* --- content ---------------------------------------------------------------------------------- */

/* More devices than traces: segments name them. */
static uint64_t count_devices(const struct ss_snapshot_rows *rows, struct ss_pickle_value segments,
                              struct ss_pickle_value traces)
{
    uint64_t count = ss_pickle_count(rows->pickle, traces);
    for (size_t i = 0; i < ss_pickle_count(rows->pickle, segments); i++) {
        struct ss_pickle_value segment = ss_pickle_at(rows->pickle, segments, i);
        uint64_t device = ss_snapshot_number(rows, segment, rows->words.device, 0);
        count = device >= count ? device + 1 : count;
    }
    return count;
}

static enum ss_status add_devices(struct ss_snapshot_rows *rows, struct ss_pickle_value segments,
                                  struct ss_pickle_value traces, struct ss_error *err)
{
    uint64_t count = count_devices(rows, segments, traces);
    if (count > MOST_DEVICES) {
        return ss_fail(err, SS_E_FORMAT, "%" PRIu64 " devices", count);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct ss_pickle_value trace = {.type = SS_PICKLE_ABSENT};
        if (i < ss_pickle_count(rows->pickle, traces)) {
            trace = ss_pickle_at(rows->pickle, traces, (size_t)i);
        }
        SS_TRY(ss_snapshot_add_device(rows, i, segments, trace, err));
    }
    return SS_OK;
}

/* Ranges that the program marked and did not end yet. */
struct open_range {
    uint32_t name; /* text of the pickle */
    uint64_t begin_ns;
};

struct open_ranges {
    struct open_range data[MOST_OPEN_RANGES];
    size_t count;
};

static void add_range(struct ss_snapshot_rows *rows, const struct open_range *range,
                      uint64_t end_ns)
{
    struct ss_strview name = ss_intern_get(&rows->pickle->texts, range->name);
    ss_snapshot_add_range(rows, range->begin_ns,
                          end_ns > range->begin_ns ? end_ns : range->begin_ns, name);
}

/* Ends the innermost range of this name, and forgets those within it. */
static void end_range(struct ss_snapshot_rows *rows, struct open_ranges *open, uint32_t name,
                      uint64_t end_ns)
{
    size_t at = open->count;
    while (at > 0 && open->data[at - 1].name != name) {
        at--;
    }
    if (at > 0) {
        add_range(rows, &open->data[at - 1], end_ns);
        open->count = at - 1;
    }
}

/* Each range has an entry for its start and one for its end; what has none ends with the history.
 */
static enum ss_status add_annotations(struct ss_snapshot_rows *rows, struct ss_pickle_value list,
                                      struct ss_error *err)
{
    enum ss_status status = SS_OK;
    const struct ss_snapshot_words *words = &rows->words;
    struct open_ranges *open = ss_alloc_zero(1, sizeof *open);
    for (size_t i = 0; i < ss_pickle_count(rows->pickle, list) && status == SS_OK; i++) {
        struct ss_pickle_value entry = ss_pickle_at(rows->pickle, list, i);
        struct ss_pickle_value name = ss_pickle_get(rows->pickle, entry, words->name);
        struct ss_pickle_value stage = ss_pickle_get(rows->pickle, entry, words->stage);
        uint64_t us = ss_snapshot_number(rows, entry, words->time_us, 0);
        status = ss_snapshot_charge(rows, entry, err);
        if (name.type != SS_PICKLE_TEXT || us == 0 || us > UINT64_MAX / 2000) {
            continue;
        }
        if (ss_snapshot_is(stage, words->START) && open->count < MOST_OPEN_RANGES) {
            open->data[open->count++] = (struct open_range){name.text, us * 1000};
        } else if (ss_snapshot_is(stage, words->END)) {
            end_range(rows, open, name.text, us * 1000);
        }
    }
    while (open->count > 0) {
        add_range(rows, &open->data[--open->count], rows->last_ns);
    }
    ss_free(open);
    return status;
}

static enum ss_status add_content(struct ss_snapshot_rows *rows, struct ss_error *err)
{
    const struct ss_pickle *pickle = rows->pickle;
    struct ss_pickle_value root = pickle->root, segments = root;
    struct ss_pickle_value traces = {.type = SS_PICKLE_ABSENT};
    if (root.type == SS_PICKLE_DICT) {
        segments = ss_pickle_get(pickle, root, rows->words.segments);
        traces = ss_pickle_get(pickle, root, rows->words.device_traces);
    }
    if (segments.type != SS_PICKLE_LIST && traces.type != SS_PICKLE_LIST) {
        return ss_fail(err, SS_E_FORMAT, "it has no segments");
    }
    SS_TRY(add_devices(rows, segments, traces, err));
    if (rows->events == 0) {
        return ss_fail(err, SS_E_FORMAT, "it has no memory in use and no history");
    }
    return rows->has_times
               ? add_annotations(rows,
                                 ss_pickle_get(pickle, root, rows->words.external_annotations), err)
               : SS_OK;
}

/* --- the row ---------------------------------------------------------------------------------- */

static enum ss_status end_rows(struct ss_snapshot_rows *rows, const struct source *source,
                               struct ss_model_load *request, struct ss_error *err)
{
    struct ss_model_builder *builder = rows->builder;
    struct ss_builder_skipped skipped = {0};
    struct ss_trace_summary summary = {.file_bytes = source->bytes,
                                       .events = rows->events,
                                       .first_event_ns = rows->first_ns,
                                       .last_event_ns = rows->last_ns,
                                       .sealed = true};
    if (rows->first_ns >= first_wall_ns) {
        ss_model_builder_wall_clock(builder, 0);
        struct ss_trace_attribute start = {.key = ss_strview_of("start_realtime_ns"),
                                           .is_integer = true,
                                           .integer = (int64_t)rows->first_ns};
        ss_model_builder_attribute(builder, &start);
    }
    ss_model_builder_import(builder,
                            ss_strview_of(rows->has_times
                                              ? "PyTorch's memory snapshot"
                                              : "PyTorch's memory snapshot, without times"),
                            &skipped);
    ss_model_builder_summary(builder, &summary);
    if (request->has_steps) {
        SS_TRY(ss_model_builder_select_steps(builder, request, err));
    }
    ss_model_builder_end(builder);
    return SS_OK;
}

static enum ss_status load_snapshot(struct ss_model *model, const struct ss_import_file *file,
                                    const struct ss_model_load *load, struct ss_error *err)
{
    struct source bytes = {.file = file};
    struct ss_pickle_source source = {read_source, &bytes, file->path, most_bytes};
    struct ss_model_load request = *load;
    struct ss_pickle pickle;
    struct ss_snapshot_rows rows;
    struct ss_error why = {0};
    uint64_t base_ns = 0;
    ss_pickle_init(&pickle);
    enum ss_status status = ss_pickle_read(&pickle, &source, err);
    if (status != SS_OK) {
        ss_pickle_fini(&pickle);
        return status;
    }
    struct ss_model_builder *builder = ss_model_builder_new(
        model, SS_INPUT_IMPORT, file->path, &request, load->on_axis ? &base_ns : NULL);
    ss_snapshot_rows_init(&rows, builder, &pickle, file->budget);
    status = add_content(&rows, &why);
    if (status != SS_OK) {
        ss_fail(err, status, "%s is a pickle, but no snapshot of PyTorch's memory: %s", file->path,
                why.message);
    } else {
        status = end_rows(&rows, &bytes, &request, err);
    }
    ss_snapshot_rows_fini(&rows);
    ss_model_builder_free(builder);
    ss_pickle_fini(&pickle);
    return status;
}

static bool has_text(const char *head, size_t length, const char *text)
{
    return memmem(head, length, text, strlen(text)) != NULL;
}

static enum ss_import_match probe_snapshot(const char *head, size_t length)
{
    bool is_named = has_text(head, length, "segments") || has_text(head, length, "device_traces") ||
                    has_text(head, length, "total_size");
    return !ss_pickle_probe(head, length) ? SS_IMPORT_NO
           : is_named                     ? SS_IMPORT_CERTAIN
                                          : SS_IMPORT_LIKELY;
}

const struct ss_importer ss_importer_snapshot = {
    .name = "snapshot",
    .summary = "snapshots of PyTorch's memory (torch.cuda.memory._dump_snapshot)",
    .kind = SS_INPUT_IMPORT,
    .probe = probe_snapshot,
    .load = load_snapshot};
