#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What NVTX's calls cost a program (tests/workloads/nvtx/costs.c): without a tool, with one that only
# counts, and through stepscope, without a recording and recorded (rings that forget the oldest). Where
# NVTX's headers are: $NVTX_INCLUDE, the nvidia-nvtx package of this Python, or CUDA.
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../workloads/nvtx
packages=$("$BENCH_PYTHON" -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null)
include=
for folder in "$NVTX_INCLUDE" "$packages"/*/include /usr/local/cuda*/include; do
    if [ -z "$include" ] && [ -f "$folder/nvtx3/nvToolsExt.h" ]; then
        include=$folder
    fi
done
library=$(dirname "$STEPSCOPE")/libstepscope.so
if [ -z "$include" ] || [ ! -e "$library" ] || ! command -v cc >/dev/null; then
    echo "no headers of NVTX, no compiler, or no libstepscope beside $STEPSCOPE: skipped"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -w -I "$include" "$source/costs.c" -o "$folder/costs" -ldl -lpthread || exit 1
cc -O2 -w -shared -fPIC -I "$here/../../src" "$source/trivial.c" -o "$folder/trivial.so" || exit 1
value() { awk -v name="$2" '$1 == name { print $2 }' "$folder/$1"; }

"$folder/costs" > "$folder/none" || exit 1
NVTX_INJECTION64_PATH=$folder/trivial.so "$folder/costs" > "$folder/trivial" || exit 1
NVTX_INJECTION64_PATH=$library "$folder/costs" > "$folder/off" || exit 1
NVTX_INJECTION64_PATH= STEPSCOPE_LOG=error "$STEPSCOPE" record -q --full-rings overwrite \
    -o "$folder/on.pftrace" -- env NVTX_INJECTION64_PATH="$library" "$folder/costs" > "$folder/on" || exit 1
for kind in texts registered coloured mark; do
    printf 'nvtx_%s\t%s\tno tool %s, a tool that counts %s, ours without a recording %s, two clock reads %s ns\n' \
        "$kind" "$(value on $kind)" "$(value none $kind)" "$(value trivial $kind)" \
        "$(value off $kind)" "$(value on clocks)"
done
printf 'nvtx_off\t%s\ta pair of ranges without a recording\n' "$(value off texts)"
