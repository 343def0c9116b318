#!/bin/sh
# Fuzzes the readers under the address and undefined-behaviour sanitizers.
#   native/fuzz/run.sh [seconds] [seed]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
"${CXX:-g++}" -std=c++17 -O1 -g -ffp-contract=off -pthread \
  -fsanitize=address,undefined -fno-sanitize-recover=all \
  -DOPENSET_BLOCK=48 -DOPENSET_SLACK=8 -o "$binary" "$here/driver.cpp"
"$binary" "${1:-60}" ${2:+"$2"}
