/* SPDX-License-Identifier: Apache-2.0 */
/* What `kernel` prints of a chip's metrics: the list of them, and the sets of counters. Without a
 * device. */
#ifndef SS_CLI_COMMANDS_KERNEL_METRICS_H
#define SS_CLI_COMMANDS_KERNEL_METRICS_H

#include "base/error.h"

enum ss_kernel_format { SS_KERNEL_TEXT, SS_KERNEL_CSV, SS_KERNEL_JSON };

/* `chip` NULL: an error that lists the chips. */
enum ss_status ss_kernel_print_metrics(const char *chip, enum ss_kernel_format format,
                                       struct ss_error *err);
enum ss_status ss_kernel_print_sets(const char *chip, enum ss_kernel_format format,
                                    struct ss_error *err);

#endif
