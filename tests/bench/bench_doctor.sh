#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long doctor takes on this machine.
begin=$(date +%s%N)
"$STEPSCOPE" doctor > /dev/null
end=$(date +%s%N)
printf 'doctor_time\t%s\n' "$(awk -v ns=$((end - begin)) 'BEGIN { printf "%.2f", ns / 1e9 }')"
