"""How long 500,000 rows of lm-eval samples take to import, and how much memory: python tests/perf/import_speed.py

Writes a log as the harness writes it (eight shots before each question, 100 templates of 50 variants and more), imports
it in a process of its own, and fails above 60 s or 1 GB. `--rows N` for another size, `--store URL` for PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS, MEGABYTES = 60, 1_000
SHOTS = "".join(
    f"Question: A shop sells {n} boxes of {n + 3} pens and takes {n} of them back. How many are sold in all?\n"
    f"Answer: {n} boxes of {n + 3} pens are {n * (n + 3)} pens. {n} come back, which leaves {n * (n + 3) - n}. "
    f"#### {n * (n + 3) - n}\n\n"
    for n in range(2, 10)
)


def write_log(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            group, variant = divmod(number, max(1, rows // 100))
            question = (
                f"Mira has {number} beads and buys {variant} bags of {group} beads each. She gives a third of them to "
                f"her brother, loses {group} on the way home and finds {variant} under the bed. How many are there now?"
            )
            target = str(number + variant * group)
            answer = f" Mira starts with {number} beads. {variant} bags of {group} are {variant * group}. #### {target}"
            row = {
                "doc_id": number,
                "doc": {"question": question, "answer": f"#### {target}", "group": f"{group:04}", "variant": variant},
                "target": target,
                "arguments": {
                    "gen_args_0": {
                        "arg_0": f"{SHOTS}Question: {question}\nAnswer:",
                        "arg_1": {"until": ["Question:", "</s>"], "do_sample": False, "temperature": 0.0},
                    }
                },
                "resps": [[answer]],
                "filtered_resps": [target],
                "filter": "strict-match",
                "metrics": ["exact_match"],
                "doc_hash": f"{number:064x}",
                "prompt_hash": f"{number:064x}",
                "target_hash": f"{number:064x}",
                "exact_match": float(number % 3 > 0),
            }
            file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--store")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "samples_beads_2026-11-30T00-00-00.000000.jsonl"
        write_log(log, options.rows)
        store = options.store or str(Path(folder) / "runs.db")
        command = [sys.executable, "-m", "variantbench.plugins.cli", "import", str(log), "--store", store]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        memory = usage.ru_maxrss / 1024
        print(done.stdout, end="")
        print(f"{log.stat().st_size / 1e9:.2f} GB, {options.rows:,} rows: {seconds:.1f} s", end=" ")
        print(f"({usage.ru_utime + usage.ru_stime:.1f} s of CPU), {memory:.0f} MB at most")
        if seconds > SECONDS or memory > MEGABYTES:
            sys.exit(f"more than {SECONDS} s or {MEGABYTES} MB")


if __name__ == "__main__":
    main()
