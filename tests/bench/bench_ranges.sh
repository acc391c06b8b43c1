#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges in the trace format: rates and sizes on a synthetic training loop (trace_ranges.c).
program=$(dirname "$STEPSCOPE")/tests/trace_ranges
if [ ! -x "$program" ]; then
    echo "trace_ranges is not built beside $STEPSCOPE: skipped"
    exit 0
fi
exec "$program" bench 1000000
