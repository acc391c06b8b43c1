/* SPDX-License-Identifier: Apache-2.0 */
/* The tracepoints of pairs.c for LTTng-UST, whose headers include this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER stepscope_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./pairs_lttng.h"

#if !defined(PAIRS_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PAIRS_LTTNG_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(stepscope_bench, begin, LTTNG_UST_TP_ARGS(int, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(stepscope_bench, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif
#include <lttng/tracepoint-event.h>
