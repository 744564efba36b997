"""Items from templates to a JSONL file, with their provenance: what `variantbench generate` does.

Each line is an item in the schema of `rows`, plus ``solution`` (the worked solution), ``covariates`` and ``provenance``
(sha256 of the template file, seed, generator version), so the file serves as ``--gsm-source jsonl:PATH``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.exact import exact_text
from variantbench.benchmarks.gsm.expressions import InexactError
from variantbench.benchmarks.gsm.gamma import covariates
from variantbench.benchmarks.gsm.items import check_counts, instances_of, item_id, read_any, read_folder
from variantbench.benchmarks.gsm.sampler import GENERATOR_VERSION
from variantbench.benchmarks.gsm.template import Template
from variantbench.plugins.errors import UserError
from variantbench.plugins.whole import whole_file


def generate(templates: Path, *, per_template: int, seed: int, output: Path) -> int:
    """Write the base and `per_template` variants of every template to `output`; returns the number of items.

    `templates` is one template file or a folder of them, of our form or Apple's. The file appears only when it is
    complete: on any error nothing is left behind and an older file stays as it was. Raises `UserError`.
    """
    check_counts(per_template, seed)
    if not templates.exists():
        raise UserError(
            f"{templates}: no such file or folder; a template (*.toml, *.json) or a folder of them is needed"
        )
    if not templates.is_dir() and templates.suffix not in (".toml", ".json"):
        raise UserError(f"{templates}: a template is a *.toml (ours) or *.json (Apple's) file")
    read = read_folder(templates) if templates.is_dir() else (read_any(templates),)
    rows = (row for template, notes in read for row in _rows(template, notes, per_template, seed))
    return _write(output, rows)


def _rows(template: Template, base_notes: tuple[str, ...], count: int, seed: int) -> Iterator[dict[str, Any]]:
    base = template.base
    yield _row(template, 0, base.question, base.target, base.solution, base_notes, seed)
    for variant, instance in enumerate(instances_of(template, count, seed, "generate"), 1):
        try:
            solution = template.solution.render(instance.env, instance.shown)
        except (ZeroDivisionError, InexactError) as error:
            raise UserError(
                f"{template.path}: the solution of variant {variant} has no value ({error}) in {instance.question!r}; "
                "add a condition that excludes such values"
            ) from error
        target = exact_text(instance.answer)
        yield _row(template, variant, instance.question, target, solution, template.notes, seed)


def _row(
    template: Template,
    variant: int,
    question: str,
    target: str,
    solution: str,
    notes: tuple[str, ...],
    seed: int,
) -> dict[str, Any]:
    return {
        "id": item_id(template.id, variant),
        "group": template.id,
        "variant": variant,
        "question": question,
        "target": target,
        "solution": solution,
        "covariates": covariates(question),
        "notes": list(notes),
        "provenance": {"template_sha256": template.hash, "seed": seed, "generator_version": GENERATOR_VERSION},
    }


def _write(output: Path, rows: Iterator[dict[str, Any]]) -> int:
    """Write rows to `output`, which appears whole or not at all."""
    count = 0
    try:
        with whole_file(output) as part, part.open("w", encoding="utf-8", newline="\n") as file:
            for count, row in enumerate(rows, 1):  # noqa: B007 - the last number is the result
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error.strerror}") from error
    return count
