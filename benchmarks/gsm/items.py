"""From templates to `Item`s: the known question first, then its variants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from variantbench.benchmarks.gsm.apple import read_annotated
from variantbench.benchmarks.gsm.gamma import covariates
from variantbench.benchmarks.gsm.label_notes import row_notes
from variantbench.benchmarks.gsm.numbers import exact_text
from variantbench.benchmarks.gsm.sampler import GENERATOR_VERSION, Instance, Sampler, stream
from variantbench.benchmarks.gsm.template import Template, read_template
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

Group = TypeVar("Group")


def read_folder(folder: Path) -> tuple[tuple[Template, tuple[str, ...]], ...]:
    """All templates of a folder in order of their names, each with the notes of its base question.

    ``*.toml`` are ours, ``*.json`` Apple's. Raises `UserError` if the folder has neither.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix in (".toml", ".json"))
    if not paths:
        raise UserError(f"{folder}: no templates here; a folder with *.toml (ours) or *.json (Apple's) files is needed")
    return tuple(read_any(path) for path in paths)


def read_any(path: Path) -> tuple[Template, tuple[str, ...]]:
    """One template of either form, with the notes of its base question."""
    if path.suffix == ".toml":
        template = read_template(path)
        return template, template.notes
    annotated = read_annotated(path)
    return annotated.template, row_notes(annotated.original_id)


def draw_groups(groups: Sequence[Group], sample: int | None, seed: int) -> list[Group]:
    """`sample` whole groups drawn with the seed, in their own order; all of them where `sample` is None."""
    if sample is None:
        return list(groups)
    if not 1 <= sample <= len(groups):
        raise UserError(f"sample of {sample} templates; 1 to {len(groups)} are allowed")
    below = stream(seed, "sample")
    left = list(range(len(groups)))
    chosen = sorted(left.pop(below(len(left))) for _ in range(sample))
    return [groups[index] for index in chosen]


def check_counts(variants_per_template: int, seed: int) -> None:
    """Refuse counts and seeds that mean nothing."""
    if not 0 <= variants_per_template <= 10_000:
        raise UserError(f"{variants_per_template} variants a template; 0 to 10000 are allowed")
    if not 0 <= seed < 2**63:
        raise UserError(f"seed {seed}; 0 to 2**63 - 1 is allowed")


def instances_of(template: Template, count: int, seed: int, scope: str) -> Iterator[Instance]:
    """The first `count` variants of a template."""
    return itertools.islice(Sampler(template).instances(seed, scope), count)


def item_id(group: str, variant: int) -> str:
    """``0042-base`` or ``0042-v17``."""
    return f"{group}-v{variant}" if variant else f"{group}-base"


def template_items(
    template: Template, base_notes: tuple[str, ...], *, count: int, seed: int, scope: str, benchmark: str
) -> Iterator[Item]:
    """The base item and `count` variants of one template."""
    make = _maker(template, benchmark)
    where = f"{scope} template={template.hash[:12]}"
    yield make(0, template.base.question, template.base.target, base_notes, where)
    where += f" seed={seed} generator={GENERATOR_VERSION}"
    for variant, instance in enumerate(instances_of(template, count, seed, scope), 1):
        yield make(variant, instance.question, exact_text(instance.answer), template.notes, where)


def _maker(template: Template, benchmark: str) -> Callable[[int, str, str, tuple[str, ...], str], Item]:
    def make(variant: int, question: str, target: str, notes: tuple[str, ...], where: str) -> Item:
        return Item(
            id=item_id(template.id, variant),
            benchmark=benchmark,
            group=template.id,
            question=question,
            target=target,
            variant=variant,
            covariates=covariates(question),
            notes=notes,
            source=where,
        )

    return make
