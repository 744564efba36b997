"""The package as it is installed: what is in it, and that it stays light."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("benchmarks", "plugins", "prompts", "stats")


def test_every_folder_with_python_is_a_listed_package():
    found = {
        "variantbench." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found | {"variantbench.docker.sandbox"}


def test_every_python_file_is_in_a_package():
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), path


def test_every_data_file_is_in_the_globs():
    globs = PROJECT["tool"]["setuptools"]["package-data"]
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.toml"):
            package = "variantbench." + ".".join(path.parent.relative_to(ROOT).parts)
            assert any(path.match(pattern) for pattern in globs.get(package, [])), path


def test_docker_is_no_python_package():
    # it would shadow the PyPI package of that name
    assert not list((ROOT / "docker").rglob("__init__.py"))


def test_every_file_of_the_sandbox_is_in_the_globs():
    globs = PROJECT["tool"]["setuptools"]["package-data"]["variantbench.docker.sandbox"]
    for path in (ROOT / "docker" / "sandbox").iterdir():
        if path.is_file():
            assert any(path.match(pattern) for pattern in globs), path


@pytest.mark.parametrize("module", ["variantbench.plugins.pytest_plugin", "variantbench.plugins.cli"])
def test_the_entry_points_import_nothing_heavy(module):
    heavy = ("torch", "transformers", "numpy", "scipy", "pandas", "sqlalchemy", "statsmodels", "docker")
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_said_without_anything_heavy():
    heavy = ("torch", "transformers", "numpy", "scipy", "pandas", "sqlalchemy", "statsmodels", "docker")
    code = (
        "import sys; from variantbench.plugins.versions import version_lines; list(version_lines()); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_supervisor_imports_no_torch():
    code = "import sys, variantbench.plugins.generation.supervisor; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_dependencies_are_accounted_for():
    accounts = (ROOT / "CONTRIBUTING.md").read_text()
    wanted = [*PROJECT["project"]["dependencies"]]
    for extra, requirements in PROJECT["project"]["optional-dependencies"].items():
        wanted += [] if extra == "demo" else requirements
    for requirement in wanted:
        name = requirement.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip()
        assert f"`{name}`" in accounts, f"{name} has no line in CONTRIBUTING.md"


def test_the_installed_benchmarks_run_from_an_empty_folder(tmp_path):
    script = tmp_path / "answers.json"
    script.write_text('{"default": "The final answer is 7."}')
    folder = tmp_path / "empty"
    folder.mkdir()
    command = [sys.executable, "-m", "pytest", "--pyargs", "variantbench.benchmarks", "--engine=scripted"]
    options = [f"--model={script}", "--sample=2", "--variants-per-template=1", "-k", "test_gsm and base and not code"]
    verdicts = set()
    for mode in ([], ["-n2"], ["-p", "no:xdist"]):
        done = subprocess.run([*command, *options, "--fresh", *mode], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        found = done.stdout[done.stdout.index("answers.json\n  benchmark") :]
        table = re.split(r"report in |slowest step|run 2", found)[0]  # what follows holds times
        assert "gsm       simple_nl" in table
        verdicts.add(table)
    assert len(verdicts) == 1
