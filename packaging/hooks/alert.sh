# shellcheck shell=sh disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# For the hooks beside it: what the alert on standard input says, without jq. Values that could mean something to a shell or a program
# become "".
body=$(cat)
member() { printf '%s' "$body" | sed -n "s/.*\"$1\": *\"\{0,1\}\([A-Za-z0-9_.-]*\)[\",}].*/\1/p" | head -n 1; }
alert=$(member alert) status=$(member status) gpu=$(member gpu_index) uuid=$(member gpu_uuid)
# Words of a list with dots between alert and GPU and "_-_" between entries: values of annotations hold them.
with() { case _-_$1_-_ in *_-_$2_-_*) printf %s "$1" ;; *) printf %s "${1:+$1_-_}$2" ;; esac; }
without() { printf %s "$1" | sed 's/_-_/\n/g' | grep -vxF -e "$2" | sed -e ':a' -e N -e '$!ba' -e 's/\n/_-_/g'; }
