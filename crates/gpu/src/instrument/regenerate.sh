#!/bin/sh
# Makes runtime.ptx from runtime.cu with the given deadheat-gpu program.
set -eu
cd "$(dirname "$0")"
"$1" ptx runtime.cu | grep -v '^[[:space:]]*//' | grep -v '^[[:space:]]*\.\(loc\|file\|section\)' |
  grep -v '^\$L__\(func\|tmp\)' | grep -v '\.global .*\(threadIdx\|blockIdx\|blockDim\|gridDim\)\[1\]' |
  sed 's|//.*||; /^\.\(version\|target\|address_size\)/d; /^\.visible \.entry/,$d' > runtime.ptx
