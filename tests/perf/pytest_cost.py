"""What a case costs in pytest, beside a bare parametrised test: python tests/perf/pytest_cost.py [cases] [workers]

Both in one run, in processes of their own: collecting, running, the peak memory. The model is a script
that answers at once, so what is left is ours: the questions, the stream, grading, the records, the store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BARE = """
import pytest

@pytest.mark.parametrize("n", range({cases}))
def test_nothing(n):
    pass
"""

OURS = """
import pytest
from variantbench.plugins.datatypes import Item


def items(run):
    return [
        Item(f"{{n // 51:04}}-v{{n % 51}}", "gsm", f"{{n // 51:04}}", f"Question {{n}}: how many?", "7", n % 51)
        for n in range({cases})
    ]


@pytest.mark.questions(items=items, formats=("gsm",))
def test_case(answer):
    assert answer.is_correct
"""


def run(folder: Path, *options: str) -> tuple[float, float, float]:
    """Seconds on the clock, CPU seconds of all processes, and the largest one's peak memory in MB."""
    code = (
        "import json, resource, subprocess, sys, time; before = time.perf_counter(); "
        "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
        "use = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(json.dumps([time.perf_counter() - before, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024, status]))"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    compiles_once = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    out = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=folder,
        env=compiles_once,
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu, memory, status = json.loads(out.stdout)
    assert status == 0, command
    return wall, cpu, memory


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 27_000
    workers = sys.argv[2:] or ["2"]
    with tempfile.TemporaryDirectory() as name:
        bare, ours = Path(name) / "bare", Path(name) / "ours"
        for folder, text in ((bare, BARE), (ours, OURS)):
            folder.mkdir()
            (folder / "test_it.py").write_text(text.format(cases=cases))
            (folder / "pytest.ini").write_text("[pytest]\n")
        (ours / "model.json").write_text('{"default": "There are 9 - 2 = 7 left. The final answer is 7."}')
        model = ["--engine=scripted", f"--model={ours / 'model.json'}", "--batch-size=128"]
        run(ours, *model, "-k", "0000")  # compiles what a first run compiles
        print(
            f"{cases:,} cases                 bare: wall, CPU      ours: wall, CPU       ratio of CPU   our peak memory"
        )
        for label, options in [
            ("collect only", ["--collect-only"]),
            ("run", []),
            *((f"run -n {n}", [f"-n{n}"]) for n in workers),
        ]:
            theirs = run(bare, *options)
            mine = run(ours, *model, *options, *([] if "collect" in label else ["--fresh"]))
            print(
                f"{label:<24} {theirs[0]:8.1f} s {theirs[1]:6.1f} s   {mine[0]:8.1f} s {mine[1]:6.1f} s "
                f"{mine[1] / theirs[1]:12.2f} {mine[2]:16.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
