#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording adds to a call of MPI (tests/workloads/mpi_costs.c, one rank): a collective, and an
# Isend with its Wait. And what 5,000 calls a second take of a core, in the program and the recorder.
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
value() { awk -v name="$2" '$1 == name { print $2 }' "$folder/$1"; }

for abi in mpich openmpi; do
    if ! command -v "mpicc.$abi" >/dev/null || [ ! -e "$(dirname "$STEPSCOPE")/libexec/mpi-$abi.so" ]; then
        echo "no mpicc.$abi, or a stepscope built without its headers: skipped"
        continue
    fi
    "mpicc.$abi" -O2 -w "$here/../workloads/mpi_costs.c" -o "$folder/costs" || exit 1
    "$STEPSCOPE" record -q --no-mpi -o "$folder/t.pftrace" -- "$folder/costs" 2>/dev/null > "$folder/none" || exit 1
    "$STEPSCOPE" record -q -o "$folder/t.pftrace" -- "$folder/costs" 2>/dev/null > "$folder/on" || exit 1
    for kind in collective request; do
        added=$(echo "$(value on $kind) $(value none $kind)" | awk '{ printf "%.1f", $1 - $2 }')
        printf 'mpi_%s_%s\t%s\t%s ns, of which the call itself takes %s\n' \
            "$kind" "$abi" "$added" "$(value on $kind)" "$(value none $kind)"
    done
    "$STEPSCOPE" record -q -o "$folder/t.pftrace" -- "$folder/costs" 5000 10 2>/dev/null || exit 1
    "$STEPSCOPE" record -q --no-mpi -o "$folder/u.pftrace" -- "$folder/costs" 5000 10 2>/dev/null || exit 1
    for one in t u; do
        "$STEPSCOPE" report --format json "$folder/$one.pftrace" 2>/dev/null | "$BENCH_PYTHON" -c '
import json, sys
(one,) = json.load(sys.stdin)["header"]["inputs"]
print("recorder", one["overhead"]["recorder_percent"])' > "$folder/$one"
    done
    share=$(echo "$(value t recorder) $(value u recorder) $(value on collective) $(value none collective)" |
        awk '{ printf "%.3f", $1 - $2 + ($3 - $4) * 5000 / 1e9 * 100 }')
    printf 'mpi_share_%s\t%s\trecorder %s %% of a core, without MPI %s\n' \
        "$abi" "$share" "$(value t recorder)" "$(value u recorder)"
done
