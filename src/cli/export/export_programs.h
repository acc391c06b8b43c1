/* SPDX-License-Identifier: Apache-2.0 */
/* Exports in formats that hold one program in a file: a file for each rank. Main thread only. */
#ifndef SS_CLI_EXPORT_EXPORT_PROGRAMS_H
#define SS_CLI_EXPORT_EXPORT_PROGRAMS_H

#include "cli/reading/formats.h"
#include "cli/reading/reading.h"

struct ss_export_programs {
    const struct ss_reading *reading;
    const struct ss_format_row *format;
    const char *output;   /* NULL: beside the input */
    uint64_t split_bytes; /* of folders: a larger file becomes one for each step */
};

/* Loads and writes one input file after the other, so that memory is that of the largest. */
enum ss_status ss_export_programs(const struct ss_arguments *arguments,
                                  const struct ss_export_programs *request, int *exit_status,
                                  struct ss_error *err);

#endif
