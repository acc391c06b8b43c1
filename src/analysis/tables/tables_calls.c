/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables_calls.h"

#include <stddef.h>

#include "analysis/operators/operators.h"

/* stepscope's own words, then those of torch.profiler's table(sort_by=…). */
const struct ss_table_choice ss_call_sorts[] = {
    {"self", SS_OPERATORS_BY_SELF},
    {"total", SS_OPERATORS_BY_TOTAL},
    {"mean", SS_OPERATORS_BY_MEAN},
    {"calls", SS_OPERATORS_BY_CALLS},
    {"min", SS_OPERATORS_BY_MIN},
    {"p50", SS_OPERATORS_BY_P50},
    {"p95", SS_OPERATORS_BY_P95},
    {"max", SS_OPERATORS_BY_MAX},
    {"step", SS_OPERATORS_BY_STEP},
    {"backward", SS_OPERATORS_BY_BACKWARD},
    {"name", SS_OPERATORS_BY_NAME},
    {"self_cpu_time_total", SS_OPERATORS_BY_SELF},
    {"cpu_time_total", SS_OPERATORS_BY_TOTAL},
    {"cpu_time", SS_OPERATORS_BY_MEAN},
    {"count", SS_OPERATORS_BY_CALLS},
    {"key", SS_OPERATORS_BY_NAME},
    {"self_cpu_memory_usage", SS_OPERATORS_BY_CPU_BYTES},
    {"self_cuda_memory_usage", SS_OPERATORS_BY_DEVICE_BYTES},
    {"flops", SS_OPERATORS_BY_FLOPS},
    {"self_cuda_time_total", SS_OPERATORS_BY_DEVICE_SELF},
    {"cuda_time_total", SS_OPERATORS_BY_DEVICE_TOTAL},
    {"cuda_time", SS_OPERATORS_BY_DEVICE_MEAN},
    {"self_device_time_total", SS_OPERATORS_BY_DEVICE_SELF},
    {"device_time_total", SS_OPERATORS_BY_DEVICE_TOTAL},
    {"device_time", SS_OPERATORS_BY_DEVICE_MEAN},
    {NULL, 0}};

/* Rows are always grouped by name. */
const struct ss_table_choice ss_call_groups[] = {{"name", 0},
                                                 {"process", SS_CALLS_BY_PROCESS},
                                                 {"thread", SS_CALLS_BY_THREAD},
                                                 {"phase", SS_CALLS_BY_PHASE},
                                                 {NULL, 0}};
const struct ss_table_choice ss_key_averages_groups[] = {
    {"name", 0}, {"shapes", SS_CALLS_BY_SHAPES}, {NULL, 0}};
