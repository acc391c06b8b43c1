#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Decoding of CUPTI's records (see bench_cupti.c).
program=$(dirname "$STEPSCOPE")/tests/bench_cupti
if [ ! -x "$program" ]; then
    echo "bench_cupti is not built beside $STEPSCOPE: skipped"
    exit 0
fi
exec "$program"
