#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks our own declarations of NVML against NVIDIA's nvml.h, where there is one (it comes with the CUDA toolkit).
# usage: tests/gpu/check_layout.sh [FOLDER_OF_NVML_H]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
abi=$here/../../src/source/nvml/abi.h
folder=${1:-}
if [ -z "$folder" ]; then
    for h in /usr/local/cuda*/targets/*/include/nvml.h /usr/local/cuda*/include/nvml.h /usr/include/nvml.h; do
        [ -f "$h" ] && folder=$(dirname "$h") && break
    done
fi
[ -f "${folder:-.}/nvml.h" ] || { echo "no nvml.h here: install the CUDA toolkit, or name its folder"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Some names are the same in both: ours get another beginning.
sed 's/\bNVML_/OUR_/g; s/\bnvml_/our_/g' "$abi" >"$work/our_abi.h"
${CC:-gcc} -std=gnu17 -fmax-errors=0 -fsyntax-only -I"$folder" -I"$work" "$here/check_layout.c" 2>"$work/errors" || true

differs=$(grep -c 'static assertion failed' "$work/errors" || true)
grep 'static assertion failed' "$work/errors" | sed 's/.*static assertion failed: */differs: /' || true
# A row of which the compiler knows no name of NVIDIA's, or no member, is about another version of the header. One that does not compile for another reason
# compares nothing.
rows=$(grep -nE '^(SIZE|AT|SAME|static_assert)\(' "$here/check_layout.c" | cut -d: -f1)
wrong=$(sed -n 's/^[^:]*check_layout\.c:\([0-9]*\):.*error: \(.*\)/\1 \2/p' "$work/errors" | grep -v 'static assertion failed' || true)
lines() { cut -d' ' -f1 | sort -un | grep -Fx "$rows" || true; }
unknown=$(echo "$wrong" | grep -E "unknown type name .(nvml|NVML_)|.(nvml|NVML_)[A-Za-z0-9_]*.[^a-z]+(undeclared|has no member)" | lines)
broken=$(echo "$wrong" | lines | grep -Fxv "${unknown:-none}" || true)
list() { for line in $2; do echo "$1: $(sed -n "${line}p" "$here/check_layout.c")"; done; }
list "not in this header" "$unknown"
list "does not compile" "$broken"
echo "$folder/nvml.h: $(echo "$rows" | grep -c .) rows, $differs differ, $(echo "$unknown" | grep -c . || true) not in this header, $(echo "$broken" | grep -c . || true) do not compile"
# For the record: numbers that NVIDIA's headers do not agree about.
grep -E 'define NVML_FI_DEV_CLOCKS_EVENT_REASON_(SW_THERM|HW_THERM|HW_POWER)' "$folder/nvml.h" | awk '{print "note:", $2, $3}' || true
[ "$differs" -eq 0 ] && [ -z "$broken" ]
