/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a selection in a format that is rendered from a model, for `export` and `record -f`. Main
 * thread only. */
#ifndef SS_CLI_EXPORT_EXPORTING_H
#define SS_CLI_EXPORT_EXPORTING_H

#include "analysis/selection/selection.h"
#include "cli/reading/formats.h"

struct ss_export_sizes {
    uint64_t plain_bytes, stored_bytes; /* before and after compression */
};

/* `path` appears only when it is complete; "-" is stdout. `sizes` may be NULL. */
enum ss_status ss_export_write(const struct ss_selection *selection,
                               const struct ss_format_row *format,
                               const struct ss_format_options *options, const char *path,
                               struct ss_export_sizes *sizes, struct ss_error *err);

#endif
