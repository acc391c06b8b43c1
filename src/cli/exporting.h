/* SPDX-License-Identifier: Apache-2.0 */
/* Writes selected samples in any of the formats that a view makes; `export` and `record -f` share
 * it. Main thread only. */
#ifndef SS_CLI_EXPORTING_H
#define SS_CLI_EXPORTING_H

#include "analysis/selection.h"
#include "cli/formats.h"
#include "view/frame_text.h"

struct ss_export_options {
    size_t size;
    enum ss_format format; /* RAW, FLAMEGRAPH, SPEEDSCOPE or CHROME */
    struct ss_frame_style frames;
    bool threads, processes; /* labels; raw and flamegraph */
};

/* Does the format need every sample with its time, not only the totals (ss_model_load)? */
bool ss_export_wants_samples(enum ss_format format);
/* The idle samples that count unless the user says otherwise. */
enum ss_idle_policy ss_export_idle_policy(enum ss_format format);
/* `path` appears only when it is complete; "-" is stdout. `*bytes` may be NULL. */
enum ss_status ss_export_write(const struct ss_selection *selection,
                               const struct ss_export_options *options, const char *path,
                               uint64_t *bytes, struct ss_error *err);

#endif
