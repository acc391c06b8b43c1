#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The host's figures at 2 Hz on a synthetic machine of 128 cores (bench_host.c tells how).
program=$(dirname "$STEPSCOPE")/tests/bench_host
if [ ! -x "$program" ]; then
    echo "bench_host is not built beside $STEPSCOPE: skipped"
    exit 0
fi
exec "$program"
