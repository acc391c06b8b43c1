/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of all sources: writes their devices, series, ranges and values to tracks of the
 * recording. Outside the windows of a schedule values are remembered but not written. Owned by the
 * recorder's thread. Errors of the writer are sticky in the context.
 */
#ifndef SS_RECORD_SOURCES_SOURCE_METRICS_H
#define SS_RECORD_SOURCES_SOURCE_METRICS_H

#include <stdint.h>

#include "record/processes/context.h"
#include "source/metric.h"

struct ss_record_metrics;

struct ss_record_metrics *ss_record_metrics_new(struct ss_record_context *context);
struct ss_metric_sink ss_record_metrics_sink(struct ss_record_metrics *metrics);
/* With a schedule, call often: a window that has opened begins with the newest values. */
void ss_record_metrics_poll_window(struct ss_record_metrics *metrics, uint64_t now_ns);
void ss_record_metrics_free(struct ss_record_metrics *metrics);

#endif
