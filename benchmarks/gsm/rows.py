"""Items that are stored as rows: Apple's published JSONL, the same from the hub, and anyone's own JSONL.

Our own schema, one JSON object a line; other keys are ignored, so that files of `generate` read back as they are:

    group     text, the template                              variant   whole number, 0 = the known question
    question  text                                            target    the answer: a number, or text as "18", "7/2"
    id        text, optional; "<group>-base" or "<group>-v<variant>" where absent; unique in the file
    notes     list of texts, optional: known troubles

An id and a group are made of letters, digits, ``_``, ``.`` and ``-``, because they become part of case names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from variantbench.benchmarks.gsm.apple import final_answer
from variantbench.benchmarks.gsm.exact import exact_text, parse_number
from variantbench.benchmarks.gsm.gamma import covariates
from variantbench.benchmarks.gsm.items import item_id
from variantbench.benchmarks.gsm.label_notes import row_notes, template_notes
from variantbench.plugins.datatypes import Item
from variantbench.plugins.errors import UserError

Located = tuple[str, Mapping[str, Any]]
_SAFE = re.compile(r"[A-Za-z0-9_.-]+")


def read_jsonl(path: Path) -> Iterator[Located]:
    """The objects of a JSONL file, each with its ``file:line``. Decimals stay text, so nothing is rounded."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=str)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise UserError(f"{path}:{number}: {line.strip()[:60]!r} is no object; one JSON object a line is needed")
        yield f"{path}:{number}", row


def own_items(rows: Iterable[Located], source: str) -> dict[str, list[Item]]:
    """Items of our own schema by group, base first. Raises `UserError` with file and line."""
    groups: dict[str, list[Item]] = {}
    ids: dict[str, str] = {}
    for where, row in rows:
        item = _own_item(where, row, source)
        if item.id in ids:
            raise UserError(f"{where}: id {item.id!r} stands already in {ids[item.id]}; each id may stand once")
        ids[item.id] = where
        groups.setdefault(item.group, []).append(item)
    return {group: sorted(items, key=lambda item: item.variant) for group, items in groups.items()}


def _own_item(where: str, row: Mapping[str, Any], source: str) -> Item:
    group = _field(where, row, "group", str)
    variant = _field(where, row, "variant", int)
    question = " ".join(_field(where, row, "question", str).split())
    name = _field(where, row, "id", str) if "id" in row else item_id(group, variant)
    notes = _field(where, row, "notes", list) if "notes" in row else []
    if variant < 0 or not question:
        raise UserError(
            f"{where}: variant {variant}, question {question[:40]!r}; a variant from 0 and a text are needed"
        )
    for text in (group, name):
        if not _SAFE.fullmatch(text):
            raise UserError(f"{where}: {text!r} cannot be part of a case name; letters, digits, _ . - are allowed")
    if not all(isinstance(note, str) for note in notes):
        raise UserError(f"{where}: notes {notes!r:.60}; a list of texts is needed")
    return _item(name, group, variant, question, _target(where, row), tuple(notes), source)


def _field(where: str, row: Mapping[str, Any], key: str, wanted: type) -> Any:
    value = row.get(key)
    if not isinstance(value, wanted) or isinstance(value, bool):
        found = f"{key!r} is {value!r:.60}" if key in row else f"{key!r} is missing"
        raise UserError(f"{where}: {found}; needed are group, variant (whole number), question and target")
    return value


def _target(where: str, row: Mapping[str, Any]) -> str:
    value = row.get("target")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UserError(f'{where}: \'target\' is {value!r:.60}; a number or text such as "18" or "7/2" is needed')
    try:
        return exact_text(parse_number(str(value)))
    except ValueError as error:
        raise UserError(f'{where}: \'target\': {error}; a number or text such as "18" or "7/2" is needed') from error


def published_items(rows: Iterable[Located], subset: str, source: str) -> dict[str, list[Item]]:
    """Items of Apple's release by template, the original question first. `subset` is symbolic, p1 or p2."""
    groups: dict[str, list[Item]] = {}
    for where, row in rows:
        try:
            group, variant = f"{int(row['id']):04d}", int(row["instance"]) + 1
            if group not in groups:
                groups[group] = [_original(row, group, source)]
            target = final_answer(str(row["answer"]))
            notes = template_notes(f"{subset}/{group}", published=True)
            question = " ".join(str(row["question"]).split())
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UserError(
                f"{where}: not a row of Apple's release ({error!r}); id, instance, question, answer, "
                "original_id, original_question and original_answer are needed"
            ) from error
        groups[group].append(_item(item_id(group, variant), group, variant, question, target, notes, source))
    return {group: sorted(groups[group], key=lambda item: item.variant) for group in sorted(groups)}


def _original(row: Mapping[str, Any], group: str, source: str) -> Item:
    question = " ".join(str(row["original_question"]).split())
    target = final_answer(str(row["original_answer"]))
    return _item(item_id(group, 0), group, 0, question, target, row_notes(int(row["original_id"])), source)


def _item(name: str, group: str, variant: int, question: str, target: str, notes: tuple[str, ...], source: str) -> Item:
    return Item(
        id=name,
        benchmark="gsm",
        group=group,
        question=question,
        target=target,
        variant=variant,
        covariates=covariates(question),
        notes=notes,
        source=source,
    )
