/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with their launches and hardware counters as a Perfetto trace, in the form that the
 * plugin dev.perfetto.GpuCompute of ui.perfetto.dev reads: stages of GPUs of the category COMPUTE,
 * whose extra data have the launch by the names of Nsight Compute; counters of the group COMPUTE,
 * each with a value from the start of its kernel on. Counters have the names that
 * the plugin knows, also where the file has those of the page "details". Only what was measured is
 * written. Of files without times, the kernels lie one behind the other.
 */
#ifndef SS_CLI_READING_COMPUTE_TRACE_H
#define SS_CLI_READING_COMPUTE_TRACE_H

#include "analysis/selection/selection.h"
#include "view/output/sink.h"

/* SS_E_EMPTY: there is no kernel. */
enum ss_status ss_compute_trace_write(const struct ss_selection *selection, struct ss_sink *sink,
                                      struct ss_error *err);

#endif
