"""Both distributions, each in an environment with nothing else: ``python tests/package/check.py``, `tox -e package`.

Builds the sdist and from it the wheel, installs the wheel into a new environment, runs the benchmarks from an unrelated
folder with a scripted model, and does it again with the sdist.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SELECTION = ("--sample=2", "--variants-per-template=1", "--logic-repeats=1", "--sandbox=off")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT], folder)
        venv.create(folder / "clean", with_pip=True)
        python = folder / "clean" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt"]
        for pattern, options in (("*.whl", ()), ("*.tar.gz", ("--force-reinstall", "--no-deps"))):
            [built] = (folder / "dist").glob(pattern)
            run([*pip, *options, built], folder)
            run_benchmarks(python, folder, built.name)


def run_benchmarks(python: Path, folder: Path, name: str) -> None:
    """Ends with an error unless each question of the selection is asked and graded."""
    empty = folder / name.replace(".", "-")
    empty.mkdir()
    (empty / "answers.json").write_text('{"default": "The final answer is 7."}')
    command = ["--pyargs", "variantbench.benchmarks", "--engine=scripted", "--model=answers.json", *SELECTION]
    shown = run([python, "-m", "pytest", *command, "-m", "gsm and text"], empty)
    assert "12 wrong" in shown, shown
    print(f"{name}: {shown.splitlines()[-1].strip('= ')}")
    print(run([python, "-m", "variantbench.plugins.cli", "--version"], empty))


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
