/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exporting.h"

#include "cli/reading.h"
#include "view/chrome.h"
#include "view/flame_svg.h"
#include "view/folded.h"
#include "view/speedscope.h"

bool ss_export_wants_samples(enum ss_format format)
{
    return format == SS_FORMAT_SPEEDSCOPE || format == SS_FORMAT_CHROME;
}

enum ss_idle_policy ss_export_idle_policy(enum ss_format format)
{
    switch (format) {
    case SS_FORMAT_RAW: /* what py-spy leaves out */
        return SS_IDLE_NONE;
    case SS_FORMAT_CHROME: /* beside other tracks waiting is an answer, not noise */
        return SS_IDLE_ALL;
    default: /* the wall time of main threads, as `report` and `flame` count it */
        return SS_IDLE_MAIN;
    }
}

static enum ss_status write_view(const struct ss_selection *selection,
                                 const struct ss_export_options *options, struct ss_sink *sink,
                                 struct ss_error *err)
{
    switch (options->format) {
    case SS_FORMAT_RAW:
        return ss_view_folded(selection,
                              &(struct ss_folded_options){.size = sizeof(struct ss_folded_options),
                                                          .style = options->frames,
                                                          .threads = options->threads,
                                                          .processes = options->processes},
                              sink, err);
    case SS_FORMAT_FLAMEGRAPH:
        return ss_view_flame(selection, NULL,
                             &(struct ss_flame_options){.size = sizeof(struct ss_flame_options),
                                                        .style = options->frames,
                                                        .threads = options->threads},
                             sink, err);
    case SS_FORMAT_SPEEDSCOPE:
        return ss_view_speedscope(
            selection,
            &(struct ss_speedscope_options){.size = sizeof(struct ss_speedscope_options),
                                            .style = options->frames},
            sink, err);
    case SS_FORMAT_CHROME:
        return ss_view_chrome(selection,
                              &(struct ss_chrome_options){.size = sizeof(struct ss_chrome_options),
                                                          .style = options->frames},
                              sink, err);
    default:
        ss_bug("%s is not made by a view", ss_format_get(options->format)->name);
    }
}

enum ss_status ss_export_write(const struct ss_selection *selection,
                               const struct ss_export_options *options, const char *path,
                               uint64_t *bytes, struct ss_error *err)
{
    struct ss_sink sink;
    SS_TRY(ss_sink_open(&sink, path, ss_reading_output_mode(selection->model), err));
    enum ss_status status = write_view(selection, options, &sink, err);
    if (status != SS_OK) {
        ss_sink_abandon(&sink);
        return status;
    }
    if (bytes != NULL) {
        *bytes = sink.written_bytes;
    }
    return ss_sink_close(&sink, err);
}
