"""Where GSM items come from, as ``--gsm-source`` names it.

    builtin                         the templates of this package (offline)
    apple:PATH[@main|p1|p2]         a checkout of apple/ml-gsm-symbolic: its published instances if they are there, else
                                    instances generated from its templates
    hub[:main|p1|p2][@REVISION]     apple/GSM-Symbolic through `datasets`; without a revision the newest is looked up,
                                    and the items record it
    jsonl:PATH                      anyone's own items; `rows` documents the schema

The base item of p1 and p2 is the original question, as for main, so that the sets can be compared on the same bases.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.items import check_counts, draw_groups, read_folder, template_items
from variantbench.benchmarks.gsm.rows import own_items, published_items, read_jsonl
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError
from variantbench.plugins.telemetry import switch_off

SUBSETS = {"main": "symbolic", "p1": "p1", "p2": "p2"}
HUB_DATASET = "apple/GSM-Symbolic"
HERE = Path(__file__).parent
_ALLOWED = "builtin, apple:PATH[@main|p1|p2], hub[:main|p1|p2][@REVISION] or jsonl:PATH"


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed ``--gsm-source``. `path` is for apple and jsonl, `subset` for apple and hub, `revision` for hub."""

    kind: str
    path: Path | None = None
    subset: str = "main"
    revision: str | None = None


def parse_source(text: str) -> Source:
    """Read the name of a source. Raises `UserError` that lists what is allowed."""
    kind, _, rest = text.partition(":")
    if text == "builtin":
        return Source("builtin")
    if kind == "jsonl" and rest:
        return Source("jsonl", Path(rest))
    if kind == "apple" and rest:
        path, at, subset = rest.rpartition("@")
        if at and subset in SUBSETS:
            return Source("apple", Path(path), subset)
        return Source("apple", Path(rest))
    hub = re.fullmatch(r"hub(?::(main|p1|p2))?(?:@([0-9a-f]{40}))?", text)
    if hub:
        return Source("hub", None, hub[1] or "main", hub[2])
    raise UserError(f"GSM source {text!r} is unknown; allowed are {_ALLOWED}; a hub revision has 40 hexadecimal digits")


def load_items(
    source: str = "builtin", *, variants_per_template: int = 50, seed: int = 0, sample: int | None = None
) -> tuple[Item, ...]:
    """The items of a source: for each template its base, then variants 1 to `variants_per_template`.

    Templates come in a fixed order; `sample` keeps so many whole templates, drawn with the seed. Stored sources give
    the instances they hold: Apple's hold 50 a template, and asking for more is an error.
    """
    check_counts(variants_per_template, seed)
    where = parse_source(source)
    if where.kind == "jsonl":
        assert where.path is not None  # noqa: S101 - parse_source gives one
        groups = own_items(read_jsonl(where.path), f"jsonl:{where.path}")
        if not groups:
            raise UserError(f"{where.path}: no items; one JSON object a line is needed")
        return _stored(groups, variants_per_template, seed, sample, strict=False)
    if where.kind == "hub":
        rows, revision = _hub_rows(where)
        groups = published_items(rows, SUBSETS[where.subset], f"hub:{where.subset}@{revision}")
        return _stored(groups, variants_per_template, seed, sample, strict=True)
    if where.kind == "apple":
        return _apple(where, variants_per_template, seed, sample)
    return _generated(HERE / "templates", "builtin", "gsm", variants_per_template, seed, sample)


def load_easy_items(*, variants_per_template: int = 50, seed: int = 0, sample: int | None = None) -> tuple[Item, ...]:
    """The items of the easy set (one or two steps, small numbers), which is never mixed with the main one."""
    check_counts(variants_per_template, seed)
    return _generated(HERE / "easy", "easy", "easy", variants_per_template, seed, sample)


def _generated(folder: Path, scope: str, benchmark: str, count: int, seed: int, sample: int | None) -> tuple[Item, ...]:
    return tuple(
        item
        for template, notes in draw_groups(read_folder(folder), sample, seed)
        for item in template_items(template, notes, count=count, seed=seed, scope=scope, benchmark=benchmark)
    )


def _stored(
    groups: dict[str, list[Item]], count: int, seed: int, sample: int | None, *, strict: bool
) -> tuple[Item, ...]:
    chosen = draw_groups(list(groups.values()), sample, seed)
    kept = [_first_variants(items, count) for items in chosen]
    for items in kept:
        held = sum(not item.is_base for item in items)
        if strict and held < count:
            raise UserError(f"{count} variants a template wanted, the source holds {held} of {items[0].group}")
    return tuple(item for items in kept for item in items)


def _first_variants(items: list[Item], count: int) -> list[Item]:
    variants = [item for item in items if not item.is_base]
    return [item for item in items if item.is_base] + variants[:count]


def _apple(source: Source, count: int, seed: int, sample: int | None) -> tuple[Item, ...]:
    assert source.path is not None  # noqa: S101 - parse_source gives one
    folder = SUBSETS[source.subset]
    published = source.path / "generated_data" / f"GSM_{folder}.jsonl"
    if published.is_file():
        groups = published_items(read_jsonl(published), folder, f"apple:{source.subset} published")
        return _stored(groups, count, seed, sample, strict=True)
    templates = source.path / "templates" / folder
    if not templates.is_dir():
        raise UserError(
            f"apple:{source.path}: neither generated_data/{published.name} nor templates/{folder}/ is "
            "there; give a checkout of github.com/apple/ml-gsm-symbolic"
        )
    return _generated(templates, f"apple:{source.subset}", "gsm", count, seed, sample)


def _hub_rows(source: Source) -> tuple[Iterator[tuple[str, Any]], str]:
    """The rows of the dataset on the hub and the revision they are of."""
    switch_off()
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise UserError("source 'hub' needs the library datasets: pip install 'variantbench[hub]'") from error
    try:
        revision = source.revision or _newest_revision()
        table = datasets.load_dataset(HUB_DATASET, name=source.subset, split="test", revision=revision)
        return ((f"{HUB_DATASET}[{i}]", dict(row)) for i, row in enumerate(table)), revision
    except Exception as error:  # the libraries' network errors have no common base
        raise UserError(
            f"source 'hub': {HUB_DATASET} cannot be loaded ({type(error).__name__}: {error}); offline, name a "
            f"revision that is in the cache (hub:{source.subset}@REVISION), or use builtin or apple:PATH"
        ) from error


def _newest_revision() -> str:
    hub = importlib.import_module("huggingface_hub")
    return str(hub.HfApi().dataset_info(HUB_DATASET).sha)
