"""What a code answer costs, against a container per answer and `docker exec`: python -m tests.perf.sandbox

Needs Docker. The limits are those of the suite's own promise; the exit status is 1 outside them. `docker run --rm` and
`docker exec` start a bare interpreter there, which is less than most harnesses do.
"""

from __future__ import annotations

import sys

from variantbench.plugins.sandbox.bench import bench, cost_lines
from variantbench.plugins.sandbox.choose import SandboxTask, open_pool

MOST_CPU_MS, LEAST_PER_SECOND, LEAST_OVER_RUN, LEAST_OVER_EXEC = 2.5, 400, 100, 50


def main() -> None:
    """Measure, print, compare with the limits."""
    with open_pool(SandboxTask("docker"), say=lambda line: print(line, file=sys.stderr)) as pool:
        costs = bench(pool, image=pool.details()["image"])
    for line in cost_lines(costs):
        print(line)
    ours, run, execute = costs
    over_run, over_exec = run.cpu_ms / ours.cpu_ms, execute.cpu_ms / ours.cpu_ms
    kept = {
        f"at most {MOST_CPU_MS} ms CPU": ours.cpu_ms <= MOST_CPU_MS,
        f"at least {LEAST_PER_SECOND} answers/s": ours.per_second >= LEAST_PER_SECOND,
        f"at least {LEAST_OVER_RUN} x cheaper than docker run": over_run >= LEAST_OVER_RUN,
        f"at least {LEAST_OVER_EXEC} x cheaper than docker exec": over_exec >= LEAST_OVER_EXEC,
    }
    for promise, holds in kept.items():
        print(f"{'kept  ' if holds else 'BROKEN'} {promise}")
    sys.exit(0 if all(kept.values()) else 1)


if __name__ == "__main__":
    main()
