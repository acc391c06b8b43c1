/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/formats.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "analysis/ranks/rank_heat.h"
#include "analysis/roofline/roofline.h"
#include "cli/reading/compute_trace.h"
#include "trace/rewrite.h"
#include "view/export/chrome.h"
#include "view/export/folded.h"
#include "view/export/kineto.h"
#include "view/export/speedscope.h"
#include "view/flame/flame_svg.h"
#include "view/pictures/heatmap_svg.h"
#include "view/pictures/light_svg.h"
#include "view/pictures/roofline_svg.h"

static const char gzip_ending[] = ".gz";

static enum ss_status write_raw(const struct ss_selection *selection,
                                const struct ss_format_options *options, struct ss_sink *sink,
                                struct ss_error *err)
{
    const struct ss_folded_options how = {.size = sizeof how,
                                          .style = options->frames,
                                          .threads = options->threads,
                                          .processes = options->processes};
    return ss_view_folded(selection, &how, sink, err);
}

static enum ss_status write_flamegraph(const struct ss_selection *selection,
                                       const struct ss_format_options *options,
                                       struct ss_sink *sink, struct ss_error *err)
{
    const struct ss_flame_options how = {
        .size = sizeof how, .style = options->frames, .threads = options->threads};
    return ss_view_flame(selection, NULL, &how, sink, err);
}

static enum ss_status write_speedscope(const struct ss_selection *selection,
                                       const struct ss_format_options *options,
                                       struct ss_sink *sink, struct ss_error *err)
{
    const struct ss_speedscope_options how = {.size = sizeof how, .style = options->frames};
    return ss_view_speedscope(selection, &how, sink, err);
}

static enum ss_status write_chrome(const struct ss_selection *selection,
                                   const struct ss_format_options *options, struct ss_sink *sink,
                                   struct ss_error *err)
{
    const struct ss_chrome_options how = {.size = sizeof how, .style = options->frames};
    return ss_view_chrome(selection, &how, sink, err);
}

static enum ss_status write_kineto_as(const struct ss_selection *selection,
                                      const struct ss_format_options *options, bool for_tensorboard,
                                      struct ss_sink *sink, struct ss_error *err)
{
    const struct ss_kineto_options how = {.size = sizeof how,
                                          .for_tensorboard = for_tensorboard,
                                          .has_span = options->has_span,
                                          .from_ns = options->from_ns,
                                          .to_ns = options->to_ns,
                                          .most_bytes = options->most_bytes};
    return ss_view_kineto(selection, &how, sink, err);
}

static enum ss_status write_kineto(const struct ss_selection *selection,
                                   const struct ss_format_options *options, struct ss_sink *sink,
                                   struct ss_error *err)
{
    return write_kineto_as(selection, options, false, sink, err);
}

static enum ss_status write_tensorboard(const struct ss_selection *selection,
                                        const struct ss_format_options *options,
                                        struct ss_sink *sink, struct ss_error *err)
{
    return write_kineto_as(selection, options, true, sink, err);
}

enum { MOST_FAMILIES = 18, MOST_KERNELS = 200, MOST_PICTURED = 24 };

static enum ss_status write_roofline(const struct ss_selection *selection,
                                     const struct ss_format_options *options, struct ss_sink *sink,
                                     struct ss_error *err)
{
    (void)options;
    struct ss_step_summary training;
    struct ss_table families, kernels;
    const struct ss_steps_options all = {.size = sizeof all};
    ss_step_summary_init(&training, selection, &all);
    ss_roofline_table(
        selection, &training,
        &(struct ss_roofline_options){.grouping = SS_ROOFLINE_BY_FAMILY, .max_rows = MOST_FAMILIES},
        &families);
    ss_roofline_table(
        selection, &training,
        &(struct ss_roofline_options){.grouping = SS_ROOFLINE_BY_KERNEL, .max_rows = MOST_KERNELS},
        &kernels);
    enum ss_status status = ss_view_roofline(&families, &kernels, sink, err);
    ss_table_fini(&families);
    ss_table_fini(&kernels);
    ss_step_summary_fini(&training);
    return status;
}

static enum ss_status write_light(const struct ss_selection *selection,
                                  const struct ss_format_options *options, struct ss_sink *sink,
                                  struct ss_error *err)
{
    (void)options;
    struct ss_table table;
    ss_light_table(selection, &(struct ss_light_options){.max_rows = MOST_PICTURED}, &table);
    enum ss_status status = ss_view_light(&table, sink, err);
    ss_table_fini(&table);
    return status;
}

static enum ss_status write_occupancy(const struct ss_selection *selection,
                                      const struct ss_format_options *options, struct ss_sink *sink,
                                      struct ss_error *err)
{
    (void)options;
    struct ss_table table;
    ss_occupancy_table(selection, &(struct ss_occupancy_options){.max_rows = MOST_PICTURED},
                       &table);
    enum ss_status status = ss_view_occupancy(&table, sink, err);
    ss_table_fini(&table);
    return status;
}

static enum ss_status write_compute(const struct ss_selection *selection,
                                    const struct ss_format_options *options, struct ss_sink *sink,
                                    struct ss_error *err)
{
    (void)options;
    return ss_compute_trace_write(selection, sink, err);
}

static enum ss_status write_heatmap(const struct ss_selection *selection,
                                    const struct ss_format_options *options, struct ss_sink *sink,
                                    struct ss_error *err)
{
    (void)options;
    struct ss_step_summary training;
    struct ss_rank_heat heat;
    const struct ss_steps_options all = {.size = sizeof all};
    ss_step_summary_init(&training, selection, &all);
    ss_rank_heat_init(&heat, selection, &training);
    enum ss_status status = ss_view_heatmap(&heat, sink, err);
    ss_rank_heat_fini(&heat);
    ss_step_summary_fini(&training);
    return status;
}

/* Idle samples: raw excludes them, as py-spy does; chrome shows them all, because waiting is
 * information beside other tracks; the other formats count the wall time of main threads, as
 * `report` and `flame` do. */
const struct ss_format_row ss_formats[] = {
    {.name = "native",
     .aliases = {"pftrace", "perfetto"},
     .endings = {".pftrace", ".perfetto-trace"},
     .help = "everything, for all stepscope commands and ui.perfetto.dev",
     .record = true,
     .is_readable = true},
    {.name = "raw",
     .aliases = {"folded", "collapsed"},
     .endings = {".folded", ".txt", ".raw"},
     .help = "py-spy's folded stacks, one line each",
     .record = true,
     .export = true,
     .is_readable = true,
     .weighs = true,
     .idle = SS_IDLE_NONE,
     .write = write_raw},
    {.name = "flamegraph",
     .aliases = {"flame", "svg"},
     .endings = {".svg"},
     .help = "interactive SVG flame graph",
     .record = true,
     .export = true,
     .weighs = true,
     .idle = SS_IDLE_MAIN,
     .write = write_flamegraph},
    {.name = "speedscope",
     .endings = {".speedscope.json"},
     .help = "JSON for speedscope.app",
     .record = true,
     .export = true,
     .wants_samples = true,
     .weighs = true,
     .idle = SS_IDLE_MAIN,
     .write = write_speedscope},
    {.name = "chrome",
     .aliases = {"chrometrace"},
     .endings = {".json"},
     .help = "Chrome trace events for Perfetto and chrome://tracing",
     .record = true,
     .export = true,
     .wants_samples = true,
     .idle = SS_IDLE_ALL,
     .write = write_chrome},
    {.name = "kineto",
     .aliases = {"hta"},
     .endings = {".pt.trace.json"},
     .help =
         "PyTorch's own format, for HolisticTraceAnalysis and other readers of torch.profiler's "
         "files; one file for each rank",
     .export = true,
     .wants_tracks = true,
     .one_program = true,
     .write = write_kineto},
    {.name = "tensorboard",
     .endings = {".tensorboard"},
     .help = "a folder that TensorBoard's PyTorch profiler plugin shows",
     .export = true,
     .wants_tracks = true,
     .one_program = true,
     .is_folder = true,
     .write = write_tensorboard},
    {.name = "roofline",
     .endings = {".roofline.svg"},
     .help = "SVG of kernels against the peaks of their device, estimated from shapes",
     .export = true,
     .wants_tracks = true,
     .idle = SS_IDLE_MAIN,
     .write = write_roofline},
    {.name = "speed-of-light",
     .aliases = {"sol"},
     .endings = {".sol.svg"},
     .help = "SVG of kernels in percent of the device's peaks, by hardware counters",
     .export = true,
     .wants_tracks = true,
     .idle = SS_IDLE_MAIN,
     .write = write_light},
    {.name = "occupancy",
     .endings = {".occupancy.svg"},
     .help = "SVG of the occupancy of kernels: at most, and achieved",
     .export = true,
     .wants_tracks = true,
     .idle = SS_IDLE_MAIN,
     .write = write_occupancy},
    {.name = "gpu-compute",
     .endings = {".compute.pftrace"},
     .help = "Perfetto trace of kernels, launches and counters for its plugin GPU Compute",
     .export = true,
     .wants_tracks = true,
     .idle = SS_IDLE_MAIN,
     .write = write_compute},
    {.name = "heatmap",
     .endings = {".heatmap.svg"},
     .help = "SVG of ranks by steps: the own time of each, to see which makes the others wait",
     .export = true,
     .wants_tracks = true,
     .idle = SS_IDLE_MAIN,
     .write = write_heatmap},
    {.name = "perfetto-compat",
     .endings = {".compat.pftrace"},
     .help = "Perfetto trace with PerfSample packets, for Perfetto before v58",
     .export = true,
     .idle = SS_IDLE_MAIN,
     .rewrite = ss_trace_export_compat},
    {.name = NULL},
};

const struct ss_format_row *ss_format_native(void)
{
    return &ss_formats[0];
}

bool ss_format_is_native(const struct ss_format_row *format)
{
    return format == ss_format_native();
}

const struct ss_format_row *ss_format_by_name(const char *name)
{
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
        for (int a = 0; a < 4 && row->aliases[a] != NULL; a++) {
            if (strcmp(row->aliases[a], name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

bool ss_format_is_compressed(const char *path)
{
    size_t length = strlen(path), ending = sizeof gzip_ending - 1;
    return length > ending && strcasecmp(path + length - ending, gzip_ending) == 0;
}

const struct ss_format_row *ss_format_by_ending(const char *path)
{
    const struct ss_format_row *best = NULL;
    size_t best_length = 0;
    bool is_compressed = ss_format_is_compressed(path);
    size_t path_length = strlen(path) - (is_compressed ? sizeof gzip_ending - 1 : 0);
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        for (int e = 0; e < 4 && row->endings[e] != NULL; e++) {
            size_t length = strlen(row->endings[e]);
            if (length > best_length && path_length > length &&
                strncasecmp(path + path_length - length, row->endings[e], length) == 0 &&
                (row->write != NULL || !is_compressed)) {
                best = row;
                best_length = length;
            }
        }
    }
    return best;
}

void ss_format_append_names(struct ss_strbuf *out, bool of_record)
{
    size_t count = 0, at = 0;
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        count += of_record ? row->record : row->export;
    }
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        if (of_record ? row->record : row->export) {
            ss_strbuf_append_format(out, "%s%s",
                                    at == 0          ? ""
                                    : at + 1 < count ? ", "
                                                     : " or ",
                                    row->name);
            at++;
        }
    }
}
