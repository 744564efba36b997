from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from variantbench.benchmarks.gsm import load_items, sources
from variantbench.benchmarks.gsm.generate import generate
from variantbench.plugins.errors import UserError

TEMPLATES = sources.HERE / "templates"


def test_items_are_written_with_their_provenance(tmp_path: Path) -> None:
    output = tmp_path / "items.jsonl"
    assert generate(TEMPLATES, per_template=2, seed=9, output=output) == 300
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 300
    row = rows[1]
    assert (row["id"], row["group"], row["variant"]) == ("0001-v1", "0001", 1)
    source = (TEMPLATES / "0001.toml").read_bytes()
    expected = {"template_sha256": hashlib.sha256(source).hexdigest(), "seed": 9, "generator_version": 1}
    assert row["provenance"] == expected
    assert row["target"] in row["solution"]
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


def test_generated_items_serve_as_a_source(tmp_path: Path) -> None:
    output = tmp_path / "items.jsonl"
    generate(TEMPLATES / "0003.toml", per_template=4, seed=1, output=output)
    items = load_items(f"jsonl:{output}")
    assert [item.id for item in items] == ["0003-base", "0003-v1", "0003-v2", "0003-v3", "0003-v4"]
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [item.target for item in items] == [row["target"] for row in rows]
    assert [dict(item.covariates) for item in items] == [row["covariates"] for row in rows]


def test_the_same_seed_writes_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate(TEMPLATES / "0003.toml", per_template=9, seed=seed, output=tmp_path / name)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_apples_templates_can_be_generated_from(apple: Path, tmp_path: Path) -> None:
    output = tmp_path / "items.jsonl"
    assert generate(apple / "templates" / "p1", per_template=1, seed=1, output=output) == 200


def test_an_error_in_the_midst_leaves_nothing_and_keeps_the_older_file(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    good = (TEMPLATES / "0001.toml").read_text(encoding="utf-8")
    (folder / "a.toml").write_text(good, encoding="utf-8")
    narrow = (
        'topic = "x"\nquestion = "Is it {n}?"\nanswer = "n"\nsolution = "x"\n[init]\nn = "range(1, 4)"\n[base]\nn = 1\n'
    )
    (folder / "b.toml").write_text(narrow, encoding="utf-8")
    output = tmp_path / "items.jsonl"
    output.write_text("older\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"b\.toml: no new question"):
        generate(folder, per_template=5, seed=1, output=output)
    assert output.read_text(encoding="utf-8") == "older\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl", "templates"]


def test_a_solution_without_a_value_is_named_with_the_question(tmp_path: Path) -> None:
    template = tmp_path / "t.toml"
    template.write_text(
        'topic = "x"\nquestion = "Is it {n}?"\nanswer = "n"\nsolution = "{6 / (n - 2)}"\n'
        '[init]\nn = "range(1, 4)"\n[base]\nn = 1\n',
        encoding="utf-8",
    )
    message = r"t\.toml: the solution of variant [12] has no value \(.*\) in 'Is it 2\?'; add a condition"
    with pytest.raises(UserError, match=message):
        generate(template, per_template=2, seed=1, output=tmp_path / "items.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]


@pytest.mark.parametrize(
    ("templates", "output", "per_template", "found"),
    [
        ("gone", "x.jsonl", 1, "gone: no such file or folder"),
        (".", "x.jsonl", 1, "no templates here"),
        ("note.txt", "x.jsonl", 1, r"note\.txt: a template is a \*\.toml"),
        ("0001.toml", "gone/x.jsonl", 1, "cannot be written: No such file"),
        ("0001.toml", "x.jsonl", -1, "-1 variants a template"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    templates: str, output: str, per_template: int, found: str, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("x", encoding="utf-8")
    source = TEMPLATES / templates if templates.endswith(".toml") else tmp_path / templates
    with pytest.raises(UserError, match=found):
        generate(source, per_template=per_template, seed=1, output=tmp_path / output)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
