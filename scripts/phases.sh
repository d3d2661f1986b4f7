#!/usr/bin/env bash
# Runs make targets one after the other and tells how long each took; stops at the first that fails.
#
#   scripts/phases.sh setup format lint
set -uo pipefail
cd "$(dirname "$0")/.."
table=""
for phase in "$@"; do
    printf '\n=== %s\n' "$phase"
    begin=$SECONDS
    ${MAKE:-make} --no-print-directory "$phase"
    status=$?
    took=$((SECONDS - begin))
    if [ "$status" -eq 0 ]; then word=passed; else word=FAILED; fi
    table+=$(printf '  %-12s %-7s %3d min %02d s' "$phase" "$word" $((took / 60)) $((took % 60)))$'\n'
    if [ "$status" -ne 0 ]; then
        printf '\n%smake %s runs this part alone.\n' "$table" "$phase"
        exit "$status"
    fi
done
printf '\n%s  all          passed  %3d min %02d s\n' "$table" $((SECONDS / 60)) $((SECONDS % 60))
