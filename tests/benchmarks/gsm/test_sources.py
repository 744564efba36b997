from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from variantbench.benchmarks.gsm import load_easy_items, load_items
from variantbench.benchmarks.gsm.sources import Source, parse_source
from variantbench.plugins.errors import UserError

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("builtin", Source("builtin")),
        ("apple:some/path", Source("apple", Path("some/path"))),
        ("apple:some@home/path@p1", Source("apple", Path("some@home/path"), "p1")),
        ("apple:some@home/path", Source("apple", Path("some@home/path"))),
        ("hub", Source("hub")),
        ("hub:p2", Source("hub", None, "p2")),
        (f"hub:p1@{REVISION}", Source("hub", None, "p1", REVISION)),
        (f"hub@{REVISION}", Source("hub", None, "main", REVISION)),
        ("jsonl:a:b.jsonl", Source("jsonl", Path("a:b.jsonl"))),
    ],
)
def test_sources_are_parsed(text: str, source: Source) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize("text", ["", "built-in", "apple", "apple:", "jsonl:", "hub:p3", "hub@main", "builtin:x"])
def test_unknown_sources_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(UserError, match="allowed are builtin, apple:PATH") as error:
        load_items(text)
    assert repr(text) in str(error.value)


# ---- builtin ----


def test_builtin_items_have_the_promised_shape() -> None:
    items = load_items(variants_per_template=3, seed=5)
    assert [item.id for item in items[:5]] == ["0001-base", "0001-v1", "0001-v2", "0001-v3", "0002-base"]
    assert len(items) == 400
    assert len({item.id for item in items}) == 400
    for item in items:
        assert item.benchmark == "gsm"
        assert item.id.startswith(item.group)
        assert item.variant == (0 if item.id.endswith("-base") else int(item.id.rpartition("v")[2]))
        assert math.isfinite(item.covariates["gamma"])
        assert item.target == str(int(item.target))
        assert item.source.startswith("builtin template=")
    assert "seed=5 generator=1" in items[1].source


def test_easy_items_are_a_benchmark_of_their_own() -> None:
    items = load_easy_items(variants_per_template=1)
    assert [item.id for item in items[:2]] == ["e001-base", "e001-v1"]
    assert {item.benchmark for item in items} == {"easy"}
    assert len(items) == 80


def test_the_same_seed_gives_the_same_items_and_another_seed_others() -> None:
    first, again, other = (load_items(variants_per_template=2, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert [item.question for item in first if item.is_base] == [item.question for item in other if item.is_base]
    changed = sum(a.question != b.question for a, b in zip(first, other, strict=True) if not a.is_base)
    assert changed == 200


def test_more_variants_keep_the_first_ones() -> None:
    few, many = (load_items(variants_per_template=n, sample=5) for n in (2, 9))
    assert set(few) <= set(many)


def test_a_sample_draws_whole_templates_with_the_seed() -> None:
    items = load_items(variants_per_template=2, seed=3, sample=10)
    groups = list(dict.fromkeys(item.group for item in items))
    assert len(groups) == 10
    assert groups == sorted(groups)
    assert groups != [f"{n:04d}" for n in range(1, 11)]
    assert all(sum(item.group == group for item in items) == 3 for group in groups)
    assert items == tuple(i for i in load_items(variants_per_template=2, seed=3) if i.group in groups)
    other = load_items(variants_per_template=2, seed=4, sample=10)
    assert groups != list(dict.fromkeys(item.group for item in other))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"sample": 0}, "sample of 0 templates; 1 to 100"),
        ({"sample": 101}, "sample of 101 templates; 1 to 100"),
        ({"variants_per_template": -1}, "-1 variants a template; 0 to 10000"),
        ({"seed": -1}, "seed -1; 0 to"),
    ],
)
def test_counts_that_mean_nothing_are_refused(options: dict[str, int], found: str) -> None:
    with pytest.raises(UserError, match=found):
        load_items("builtin", **options)


def test_bases_alone_can_be_had() -> None:
    assert all(item.is_base for item in load_items(variants_per_template=0))


# ---- jsonl ----

ROWS: list[dict[str, Any]] = [
    {"group": "b", "variant": 1, "question": "What is  2 + 2?", "target": "4"},
    {"group": "a", "variant": 0, "question": "Half of 7?", "target": "7/2", "notes": ["label: none"], "id": "a-base"},
    {"group": "a", "variant": 2, "question": "Two?", "target": 2, "other": "ignored"},
    {"group": "a", "variant": 1, "question": "One?", "target": 1.50},
]


def write_rows(path: Path, rows: list[Any]) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return f"jsonl:{path}"


def test_own_items_are_read(tmp_path: Path) -> None:
    items = load_items(write_rows(tmp_path / "x.jsonl", ROWS))
    assert [(item.id, item.target) for item in items] == [
        ("b-v1", "4"),
        ("a-base", "7/2"),
        ("a-v1", "3/2"),
        ("a-v2", "2"),
    ]
    assert items[0].question == "What is 2 + 2?"
    assert items[1].notes == ("label: none",)
    assert len(load_items(write_rows(tmp_path / "x.jsonl", ROWS), variants_per_template=1)) == 3


def test_decimals_are_read_without_rounding(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"group": "a", "variant": 0, "question": "q", "target": 0.1000000000000000055}\n', encoding="utf-8"
    )
    assert load_items(f"jsonl:{path}")[0].target == "200000000000000011/2000000000000000000"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"group": None}, ":2: 'group' is None"),
        ({"group": "a b"}, ":2: 'a b' cannot be part of a case name"),
        ({"id": "a::b"}, ":2: 'a::b' cannot be part of a case name"),
        ({"variant": "1"}, ":2: 'variant' is '1'"),
        ({"variant": True}, ":2: 'variant' is True"),
        ({"variant": -1}, ":2: variant -1"),
        ({"question": " "}, ":2: variant 0, question ''"),
        ({"target": "four"}, ":2: 'target': not a number: 'four'"),
        ({"target": None}, ":2: 'target' is None"),
        ({"target": True}, ":2: 'target' is True"),
        ({"notes": [1]}, ":2: notes [1]"),
        ({"id": "b-v1"}, ":2: id 'b-v1' stands already in"),
    ],
)
def test_malformed_rows_are_named_with_file_and_line(change: dict[str, Any], found: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(UserError) as error:
        load_items(write_rows(path, [ROWS[0], ROWS[1] | change]))
    assert f"{path}{found}" in str(error.value)


@pytest.mark.parametrize(("text", "found"), [("{", "not JSON"), ("[1]", "is no object"), ("", "no items")])
def test_files_that_are_no_jsonl_are_named(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=found):
        load_items(f"jsonl:{path}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.jsonl"):
        load_items(f"jsonl:{tmp_path / 'gone.jsonl'}")


# ---- apple and hub ----


def published_row(number: int, instance: int) -> dict[str, Any]:
    return {
        "id": number,
        "instance": instance,
        "question": f"What is {instance} + {number}?",
        "answer": f"Add them.\n#### {instance + number}.0",
        "original_id": 288 if number else 1,
        "original_question": f"What is {number}?",
        "original_answer": f"#### 1,00{number}",
    }


PUBLISHED = [published_row(number, instance) for number in (1, 0) for instance in (1, 0)]


def test_a_published_main_set_is_used_when_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "generated_data").mkdir()
    write_rows(tmp_path / "generated_data" / "GSM_symbolic.jsonl", PUBLISHED)
    items = load_items(f"apple:{tmp_path}", variants_per_template=2)
    assert [(item.id, item.target) for item in items] == [
        ("0000-base", "1000"), ("0000-v1", "0"), ("0000-v2", "1"),
        ("0001-base", "1001"), ("0001-v1", "1"), ("0001-v2", "2"),
    ]  # fmt: skip
    assert items[3].notes == ("label: 3 is given, whole flagstones need 4 trucks",)


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neither generated_data/GSM_p1\.jsonl nor templates/p1/ is there"):
        load_items(f"apple:{tmp_path}@p1")


def test_a_row_that_is_not_apples_is_named(tmp_path: Path) -> None:
    (tmp_path / "generated_data").mkdir()
    write_rows(tmp_path / "generated_data" / "GSM_p1.jsonl", [published_row(0, 0) | {"answer": "4"}])
    with pytest.raises(UserError, match=r"GSM_p1\.jsonl:1: not a row of Apple's release .*no line '#### answer'"):
        load_items(f"apple:{tmp_path}@p1")


def hub_module(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the libraries: the loading of `hub` is ours, the network is not."""
    datasets = ModuleType("datasets")
    datasets.load_dataset = load  # type: ignore[attr-defined]  # a stand-in
    hub = ModuleType("huggingface_hub")
    hub.HfApi = lambda: SimpleNamespace(dataset_info=lambda _: SimpleNamespace(sha=REVISION))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


def test_the_hub_is_asked_for_one_revision_which_the_items_record(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load(path: str, **options: str) -> list[dict[str, Any]]:
        asked.append((path, options))
        return PUBLISHED

    hub_module(load, monkeypatch)
    items = load_items("hub:p1", variants_per_template=2)
    assert asked == [("apple/GSM-Symbolic", {"name": "p1", "split": "test", "revision": REVISION})]
    assert {item.source for item in items} == {f"hub:p1@{REVISION}"}
    assert len(items) == 6
    other = "f" * 40
    assert load_items(f"hub@{other}", variants_per_template=1)[0].source == f"hub:main@{other}"


def test_an_unreachable_hub_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    hub_module(load, monkeypatch)
    with pytest.raises(UserError, match=r"cannot be loaded \(ConnectionError: no route\); offline, name a revision"):
        load_items("hub")


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'variantbench\[hub\]'"):
        load_items("hub")
