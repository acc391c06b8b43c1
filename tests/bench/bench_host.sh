#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Host metrics at 2 Hz on a synthetic machine of 128 cores (see bench_host.c).
program=$(dirname "$STEPSCOPE")/tests/bench_host
if [ ! -x "$program" ]; then
    echo "bench_host is not built beside $STEPSCOPE: skipped"
    exit 0
fi
exec "$program"
