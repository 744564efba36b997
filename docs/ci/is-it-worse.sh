#!/usr/bin/env bash
# Is this checkpoint worse than the baseline?    is-it-worse.sh CHECKPOINT [pytest options]
#
# The first time, the checkpoint becomes the baseline: its run is written to $BASELINE, to be kept beside the code.
# Exit status 0: not worse (or the first time); 10: invalid; 11: regression; 12: inconclusive.
set -euo pipefail
checkpoint=$1
shift
baseline=${BASELINE:-baseline.jsonl.gz}

run=(python -m pytest --pyargs variantbench.benchmarks --model="$checkpoint" -q "$@")
if [ ! -e "$baseline" ]; then
    "${run[@]}"
    variantbench runs export --output "$baseline"
    exit 0
fi
"${run[@]}" --baseline "./$baseline" --stop-early
