/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/exporting.h"

#include "cli/reading/reading.h"

enum ss_status ss_export_write(const struct ss_selection *selection,
                               const struct ss_format_row *format,
                               const struct ss_format_options *options, const char *path,
                               struct ss_export_sizes *sizes, struct ss_error *err)
{
    struct ss_sink sink;
    SS_TRY(ss_sink_open(&sink, path, ss_reading_output_mode(selection->model), err));
    if (ss_format_is_compressed(path)) {
        ss_sink_compress(&sink);
    }
    enum ss_status status = format->write(selection, options, &sink, err);
    if (status != SS_OK) {
        ss_sink_abandon(&sink);
        return status;
    }
    struct ss_export_sizes written = {.plain_bytes = sink.written_bytes};
    status = ss_sink_close_sized(&sink, &written.stored_bytes, err);
    if (sizes != NULL) {
        *sizes = written;
    }
    return status;
}
