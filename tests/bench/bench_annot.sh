#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What annotations cost (annot_costs.c), and whether any are lost at a million records a second from
# one thread: default rings (1 MiB of 16 B records), which the recorder polls every 1 to 32 ms.
tests=$(dirname "$STEPSCOPE")/tests
if [ ! -x "$tests/annot_costs" ]; then
    echo "annot_costs is not built beside $STEPSCOPE: skipped"
    exit 0
fi
"$tests/annot_costs" || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seconds=${BENCH_SECONDS:-60}
made=$("$STEPSCOPE" record -q -o "$folder/rate.pftrace" -- "$tests/annotated_rate" 1000000 "$seconds")
"$tests/trace_events" "$folder/rate.pftrace" | awk -v made="$made" -v seconds="$seconds" '
    /"is": "source"/ && /"name": "annotations"/ { match($0, /"ref": [0-9]+/); ref = substr($0, RSTART + 7, RLENGTH - 7) }
    /"is": "counts"/ && $0 ~ "\"source\": " ref "," { row = $0 }
    /"is": "event"/ { events++ }
    END {
        match(row, /"seen": [0-9]+/); seen = substr(row, RSTART + 8, RLENGTH - 8)
        match(row, /"dropped": [0-9]+/); dropped = substr(row, RSTART + 11, RLENGTH - 11)
        printf "annot_lost\t%d\t%d made in %d s, %d counted, %d in the trace\n",
            dropped + (made - seen), made, seconds, seen, events
    }'
size=$(wc -c < "$folder/rate.pftrace")
printf 'annot_bytes\t%s\tbytes of trace per range, as written\n' "$(awk -v s="$size" -v m="$made" 'BEGIN { printf "%.2f", s * 2 / m }')"
