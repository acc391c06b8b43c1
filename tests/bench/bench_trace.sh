#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trace format on a synthetic recording: rates and sizes (see bench_trace.c).
program=$(dirname "$STEPSCOPE")/tests/bench_trace
if [ ! -x "$program" ]; then
    echo "bench_trace is not built beside $STEPSCOPE: skipped"
    exit 0
fi
exec "$program"
