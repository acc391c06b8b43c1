/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_output_convert.h"

#include "cli/export/exporting.h"

bool ss_record_convert_wants_samples(const struct ss_record_output *output)
{
    return output->format->wants_samples;
}

enum ss_status ss_record_convert(const struct ss_record_output *output,
                                 const struct ss_model *model, struct ss_error *err)
{
    /* Idle samples as in py-spy's record, whatever the format. */
    const struct ss_selection_options what = {.size = sizeof what,
                                              .idle = output->idle ? SS_IDLE_ALL : SS_IDLE_NONE,
                                              .gil_only = output->gil_only};
    const struct ss_format_options how = {.frames = {.by_function = output->function_only,
                                                     .no_lines = output->no_lines,
                                                     .full_filenames = output->full_filenames},
                                          .threads = output->threads};
    struct ss_selection selection = {0};
    enum ss_status status = ss_selection_init(&selection, model, &what, err);
    if (status == SS_OK) {
        status = ss_export_write(&selection, output->format, &how, output->output_path, NULL, err);
    }
    ss_selection_fini(&selection);
    return status;
}
