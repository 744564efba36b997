#!/usr/bin/env bash
# Is this checkpoint worse than the baseline?    is-it-worse.sh CHECKPOINT [pytest options]
#
# The first time, the checkpoint becomes the baseline: its run is written to $BASELINE, to be kept beside the code.
# $STORE is the store of all steps, if it is not .variantbench/runs.db.
# Exit status 0: not worse (or the first time); 10: invalid; 11: regression; 12: inconclusive.
set -euo pipefail
checkpoint=$1
shift
baseline=${BASELINE:-baseline.jsonl.gz}
store=(${STORE:+--store "$STORE"})

run=(python -m pytest --pyargs variantbench.benchmarks --model="$checkpoint" "${store[@]}" -q "$@")
if [ ! -e "$baseline" ]; then
    "${run[@]}"
    variantbench runs export "${store[@]}" --output "$baseline"
    exit 0
fi
"${run[@]}" --baseline "./$baseline" --stop-early
