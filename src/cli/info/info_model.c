/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info/info_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/info/info_text_inside.h"
#include "model/files/importer.h"
#include "view/output/text_table.h"

enum { KEY_WIDTH = 18, SHOWN_FILES = 32 };

bool ss_info_is_of_model(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return false;
    }
    const struct ss_importer *row = S_ISREG(status.st_mode) ? ss_importer_of_file(path) : NULL;
    return S_ISDIR(status.st_mode) || (row != NULL && row->kind != SS_INPUT_TRACE) ||
           (row != NULL && ss_import_is_archive(path));
}

/* A recorder that was killed, or still records. */
static bool is_unclosed(const struct ss_model_input *input)
{
    return input->kind == SS_INPUT_TRACE && !input->summary.sealed;
}

const char *ss_info_model_state(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        if (input->skipped.is_cut || is_unclosed(input)) {
            return "cut short";
        }
    }
    for (size_t i = 0; i < model->runs.count; i++) {
        if (model->runs.data[i].missing_count > 0) {
            return "ranks are missing";
        }
    }
    return "complete";
}

/* --- counts ----------------------------------------------------------------------------------- */

struct counts {
    uint64_t ranges, steps, phases, works, marks, values, counters, samples;
    uint64_t begin_ns, end_ns; /* of all events */
};

static void widen(struct counts *counts, uint64_t begin_ns, uint64_t end_ns)
{
    bool is_first = counts->end_ns == 0;
    counts->begin_ns = is_first || begin_ns < counts->begin_ns ? begin_ns : counts->begin_ns;
    counts->end_ns = end_ns > counts->end_ns ? end_ns : counts->end_ns;
}

static struct counts count_rows(const struct ss_model *model)
{
    struct counts counts = {.marks = model->marks.count, .values = model->values.count};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        counts.ranges += track->kind == SS_TRACK_RANGES && track->stream == 0;
        counts.steps += track->kind == SS_TRACK_STEPS;
        counts.phases += track->kind == SS_TRACK_PHASES;
        counts.works += track->stream != 0;
        widen(&counts, range->begin_ns, range->end_ns);
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        widen(&counts, model->marks.data[i].time_ns, model->marks.data[i].time_ns);
    }
    for (size_t i = 1; i < model->tracks.count; i++) {
        counts.counters += model->tracks.data[i].kind == SS_TRACK_COUNTER;
    }
    for (size_t i = 0; i < model->inputs.count; i++) {
        counts.samples += model->inputs.data[i].samples;
    }
    return counts;
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_key(const struct ss_info_style *style, const char *key)
{
    fprintf(ss_stdout(), "  %s%-*s%s", style->dim, KEY_WIDTH, key, style->off);
}

static void print_text(const struct ss_model *model, const struct ss_info_style *style,
                       const char *key, uint32_t string)
{
    if (string != 0) {
        char *clean = ss_info_text_clean(ss_intern_get(&model->strings, string));
        print_key(style, key);
        fprintf(ss_stdout(), "%s\n", clean);
        ss_free(clean);
    }
}

/* How the times of an input lie on the common axis; NULL: there is only one clock, or no times. */
static const char *clock_mapping(const struct ss_model *model, const struct ss_model_input *input)
{
    static const char *const mappings[] = {
        [SS_CLOCK_IS_AXIS] = "the common axis",
        [SS_CLOCK_BY_SHARED_WALL] = "by the wall clock of its machine",
        [SS_CLOCK_BY_WALL] = "by the wall clock, whose error is unknown",
        [SS_CLOCK_FITTED] = NULL};
    const struct ss_model_alignment *alignment = &input->alignment;
    const char *fitted = alignment->ping_bounds == 0                   ? "by collectives"
                         : alignment->ping_bounds == alignment->bounds ? "by pings"
                                                                       : "by pings and collectives";
    bool is_one = model->clock_domains.count <= 2 && !input->alignment.is_fitted &&
                  !input->alignment.is_contradictory;
    return is_one                              ? NULL
           : input->alignment.is_contradictory ? "contradicts its collectives: not aligned"
           : input->alignment.is_fitted
               ? fitted
               : mappings[model->clock_domains.data[input->clock_domain].mapping];
}

/* From the clock to the axis, in all. */
static int64_t clock_offset_ns(const struct ss_model *model, const struct ss_model_input *input)
{
    return (int64_t)((uint64_t)model->clock_domains.data[input->clock_domain].shift_ns +
                     (uint64_t)input->alignment.offset_ns);
}

static uint64_t clock_error_ns(const struct ss_model *model, const struct ss_model_input *input)
{
    return input->alignment.is_fitted ? input->alignment.error_ns
                                      : model->clock_domains.data[input->clock_domain].error_ns;
}

static void print_clock(const struct ss_model *model, const struct ss_model_input *input,
                        const struct ss_info_style *style)
{
    const struct ss_model_alignment *alignment = &input->alignment;
    const char *mapping = clock_mapping(model, input);
    if (mapping == NULL) {
        return;
    }
    print_key(style, "clock");
    fprintf(ss_stdout(), "%s", mapping);
    if (!alignment->is_contradictory && clock_offset_ns(model, input) != 0) {
        fprintf(ss_stdout(), ": offset %+.6f s, within %.1f µs",
                (double)clock_offset_ns(model, input) / 1e9,
                (double)clock_error_ns(model, input) / 1e3);
    }
    if (alignment->is_fitted) {
        fprintf(ss_stdout(), "; drift %+.1f ppm; %zu bounds, %zu segment%s", alignment->drift * 1e6,
                alignment->bounds, alignment->segments, alignment->segments == 1 ? "" : "s");
    }
    fputc('\n', ss_stdout());
}

static void print_runs(const struct ss_model *model, const struct ss_info_style *style)
{
    for (size_t i = 0; i < model->runs.count; i++) {
        const struct ss_model_run *run = &model->runs.data[i];
        print_text(model, style, "run", run->run_id);
        print_text(model, style, "launcher", run->launcher);
        print_key(style, "ranks");
        fprintf(ss_stdout(), "%u", run->found);
        if (run->world_size > 0) {
            fprintf(ss_stdout(), " of %u", run->world_size);
        }
        if (run->expected > 0 && run->expected < run->world_size) {
            fprintf(ss_stdout(), ", of which %u were to be recorded", run->expected);
        }
        fprintf(ss_stdout(), ", in %u file%s\n", run->files, run->files == 1 ? "" : "s");
        if (run->missing_count > 0) {
            print_text(model, style, "missing ranks", run->missing);
        }
        if (run->left_out > 0) {
            print_key(style, "left out");
            fprintf(ss_stdout(), "%u file%s of an earlier run\n", run->left_out,
                    run->left_out == 1 ? "" : "s");
        }
    }
}

static void print_inputs(const struct ss_model *model, const struct ss_info_style *style,
                         bool shows_all)
{
    size_t count = model->inputs.count, hidden = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        bool is_shown = shows_all || i < SHOWN_FILES || is_unclosed(input);
        hidden += !is_shown;
        if (is_shown && (count > 1 || model->runs.count > 0)) {
            print_text(model, style, is_unclosed(input) ? "file, cut short" : "file", input->path);
        }
        if (is_shown) {
            print_clock(model, input, style);
        }
        if (i == 0 || input->tool != model->inputs.data[i - 1].tool) {
            print_text(model, style, "recorded by", input->tool);
        }
        if (is_shown && input->kind == SS_INPUT_IMPORT && input->summary.events == 0 &&
            input->samples == 0) {
            print_key(style, "events");
            fprintf(ss_stdout(), "none, only names\n");
        }
        if (input->skipped.events > 0) {
            print_key(style, "skipped");
            fprintf(ss_stdout(), "%" PRIu64 " events, the first at byte %" PRIu64 ": %s\n",
                    input->skipped.events, input->skipped.first_offset,
                    ss_model_text(model, input->skipped.reason));
        }
    }
    if (hidden > 0) {
        print_key(style, "");
        fprintf(ss_stdout(), "and %zu more files: --all\n", hidden);
    }
}

static void print_counts(const struct ss_model *model, const struct ss_info_style *style)
{
    char text[32];
    struct counts counts = count_rows(model);
    print_key(style, "state");
    fprintf(ss_stdout(), "%s\n", ss_info_model_state(model));
    if (counts.end_ns > counts.begin_ns) {
        print_key(style, "duration");
        fprintf(ss_stdout(), "%.6f s\n", (double)(counts.end_ns - counts.begin_ns) / 1e9);
    }
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {{"work of devices", counts.works}, {"ranges", counts.ranges},
                {"steps", counts.steps},           {"phases", counts.phases},
                {"marks", counts.marks},           {"counter values", counts.values},
                {"samples", counts.samples}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].count > 0) {
            print_key(style, rows[i].what);
            fprintf(ss_stdout(), "%s\n", ss_info_text_grouped(rows[i].count, text));
        }
    }
}

static void print_table(struct ss_text_table *table, const char *title,
                        const struct ss_info_text_options *options,
                        const struct ss_info_style *style)
{
    struct ss_error ignored;
    fprintf(ss_stdout(), "\n%s%s%s\n", style->bold, title, style->off);
    ss_text_table_print(table, ss_stdout(), options->width, options->colour, &ignored);
    ss_text_table_fini(table);
}

/* By process. The caller frees the list. */
static size_t *count_threads(const struct ss_model *model)
{
    size_t *counts = ss_alloc_zero(model->processes.count, sizeof *counts);
    for (size_t i = 1; i < model->threads.count; i++) {
        counts[model->threads.data[i].process]++;
    }
    return counts;
}

static void print_processes(const struct ss_model *model,
                            const struct ss_info_text_options *options,
                            const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {{.title = "PID", .right = true},
                                                    {.title = "RANK", .right = true},
                                                    {.title = "THREADS", .right = true},
                                                    {.title = "NAME", .least = 8}};
    struct ss_text_table table;
    if (model->processes.count < 2) {
        return;
    }
    ss_text_table_init(&table, columns, 4);
    size_t *threads = count_threads(model);
    for (uint32_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        ss_text_table_add_row(&table, NULL);
        if (process->pid >= 0) {
            ss_text_table_putf(&table, 0, NULL, "%d", process->pid);
        }
        if (process->has_rank && process->world_size != 0) {
            ss_text_table_putf(&table, 1, NULL, "%u of %u", process->rank, process->world_size);
        } else if (process->has_rank) {
            ss_text_table_putf(&table, 1, NULL, "%u", process->rank);
        }
        ss_text_table_putf(&table, 2, NULL, "%zu", threads[i]);
        uint32_t name = process->name != 0 ? process->name : process->cmdline;
        ss_text_table_put(&table, 3, ss_intern_get(&model->strings, name), NULL);
    }
    ss_free(threads);
    print_table(&table, "Processes", options, style);
}

/* By device. The caller frees the list. */
static size_t *count_streams(const struct ss_model *model)
{
    size_t *counts = ss_alloc_zero(model->devices.count, sizeof *counts);
    for (size_t i = 1; i < model->streams.count; i++) {
        counts[model->streams.data[i].device]++;
    }
    return counts;
}

static void print_devices(const struct ss_model *model, const struct ss_info_text_options *options,
                          const struct ss_info_style *style)
{
    static const struct ss_text_column columns[] = {{.title = "DEVICE", .right = true},
                                                    {.title = "STREAMS", .right = true},
                                                    {.title = "MEMORY", .right = true},
                                                    {.title = "MODEL", .least = 8}};
    struct ss_text_table table;
    if (model->devices.count < 2) {
        return;
    }
    ss_text_table_init(&table, columns, 4);
    size_t *streams = count_streams(model);
    for (uint32_t i = 1; i < model->devices.count; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        ss_text_table_add_row(&table, NULL);
        if (device->number >= 0) {
            ss_text_table_putf(&table, 0, NULL, "%d", device->number);
        }
        ss_text_table_putf(&table, 1, NULL, "%zu", streams[i]);
        if (device->memory_bytes > 0) {
            ss_text_table_putf(&table, 2, NULL, "%.1f GiB",
                               (double)device->memory_bytes / 1073741824.0);
        }
        ss_text_table_put(&table, 3, ss_intern_get(&model->strings, device->model), NULL);
    }
    ss_free(streams);
    print_table(&table, "Devices", options, style);
}

void ss_info_model_print(const struct ss_model *model, const char *path,
                         const struct ss_info_text_options *options)
{
    struct ss_info_style style = ss_info_style_of(options->colour);
    char *clean = ss_info_text_clean(ss_strview_of(path));
    fprintf(ss_stdout(), "%s%s%s\n", style.bold, clean, style.off);
    ss_free(clean);
    print_runs(model, &style);
    print_inputs(model, &style, options->all_threads);
    print_counts(model, &style);
    print_processes(model, options, &style);
    print_devices(model, options, &style);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *text_json(const struct ss_model *model, uint32_t string)
{
    struct ss_strbuf valid;
    struct ss_strview text = ss_intern_get(&model->strings, string);
    ss_strbuf_init(&valid, 3 * text.length + 1);
    ss_utf8_append_valid(&valid, text.data, text.length);
    json_t *value = json_stringn(valid.data, valid.length);
    ss_strbuf_fini(&valid);
    return value;
}

static json_t *clock_json(const struct ss_model *model, const struct ss_model_input *input)
{
    const struct ss_model_alignment *alignment = &input->alignment;
    const char *mapping = clock_mapping(model, input);
    if (mapping == NULL) {
        return json_null();
    }
    return json_pack("{s:s,s:I,s:I,s:I,s:f,s:I,s:I,s:b}", "mapping", mapping, "offset_ns",
                     (json_int_t)clock_offset_ns(model, input), "fitted_offset_ns",
                     (json_int_t)alignment->offset_ns, "error_ns",
                     (json_int_t)clock_error_ns(model, input), "drift_ppm", alignment->drift * 1e6,
                     "bounds", (json_int_t)alignment->bounds, "segments",
                     (json_int_t)alignment->segments, "is_aligned", !alignment->is_contradictory);
}

static json_t *inputs_json(const struct ss_model *model)
{
    json_t *list = json_array();
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:o,s:I,s:I,s:I,s:b}", "clock", clock_json(model, input), "path",
                      text_json(model, input->path), "tool", text_json(model, input->tool),
                      "events", (json_int_t)input->summary.events, "samples",
                      (json_int_t)input->samples, "skipped_events",
                      (json_int_t)input->skipped.events, "cut", input->skipped.is_cut));
    }
    return list;
}

static json_t *processes_json(const struct ss_model *model)
{
    json_t *list = json_array();
    for (size_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        json_array_append_new(
            list,
            json_pack("{s:i,s:o,s:o,s:o}", "pid", process->pid, "name",
                      text_json(model, process->name), "rank",
                      process->has_rank ? json_integer(process->rank) : json_null(), "world_size",
                      process->world_size != 0 ? json_integer(process->world_size) : json_null()));
    }
    return list;
}

static json_t *devices_json(const struct ss_model *model)
{
    json_t *list = json_array();
    for (size_t i = 1; i < model->devices.count; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        json_array_append_new(list, json_pack("{s:i,s:o,s:I}", "number", device->number, "model",
                                              text_json(model, device->model), "memory_bytes",
                                              (json_int_t)device->memory_bytes));
    }
    return list;
}

static json_t *runs_json(const struct ss_model *model)
{
    json_t *list = json_array();
    for (size_t i = 0; i < model->runs.count; i++) {
        const struct ss_model_run *run = &model->runs.data[i];
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:I}", "run_id", text_json(model, run->run_id),
                      "launcher", text_json(model, run->launcher), "world_size",
                      (json_int_t)run->world_size, "ranks", (json_int_t)run->found, "files",
                      (json_int_t)run->files, "left_out_files", (json_int_t)run->left_out,
                      "missing_ranks", text_json(model, run->missing), "missing_rank_count",
                      (json_int_t)run->missing_count));
    }
    return list;
}

json_t *ss_info_model_to_json(const struct ss_model *model, const char *path)
{
    struct counts counts = count_rows(model);
    json_t *file =
        json_pack("{s:s,s:f,s:o,s:o,s:o}", "state", ss_info_model_state(model), "duration_s",
                  (double)(counts.end_ns - counts.begin_ns) / 1e9, "inputs", inputs_json(model),
                  "processes", processes_json(model), "devices", devices_json(model));
    json_t *rows =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "device_work", (json_int_t)counts.works,
                  "ranges", (json_int_t)counts.ranges, "steps", (json_int_t)counts.steps, "phases",
                  (json_int_t)counts.phases, "marks", (json_int_t)counts.marks, "counter_values",
                  (json_int_t)counts.values, "samples", (json_int_t)counts.samples);
    json_object_set_new(file, "tracks", rows);
    json_object_set_new(file, "runs", runs_json(model));
    json_object_set_new(file, "path", json_string(path));
    return file;
}
