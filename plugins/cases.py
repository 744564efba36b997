"""Cases: one item, asked in one format of one model, as one parametrised pytest case.

A benchmark's test function says with ``@pytest.mark.questions`` where its items come from and how they are asked:

    @pytest.mark.questions(items=gsm_items, formats=("gsm", "simple_nl"))
    def test_gsm(answer):
        assert answer.is_correct

`items` is called with the RunConfig and returns the items in fixed order; `shots`, if given, likewise, and returns the
solved items to show before an item, by batch; `repeats` says how often each question is asked, with seeds 1, 2, ….
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest

from variantbench.plugins.datatypes import Item, Prompt
from variantbench.plugins.errors import UserError
from variantbench.plugins.options import RunConfig
from variantbench.plugins.preflight import preflight
from variantbench.plugins.shards import items_of_shard
from variantbench.prompts.format import Format, load_format, shots_from_items

ItemsOf = Callable[[RunConfig], Sequence[Item]]
ShotsOf = Callable[[RunConfig], Mapping[str, Sequence[Item]]]


@dataclass(frozen=True, slots=True)
class Questions:
    """What the ``questions`` mark of a test function holds."""

    items: ItemsOf
    formats: tuple[str, ...]
    shots: ShotsOf | None = None
    repeats: Callable[[RunConfig], int] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question to one model. `model` is empty when none was given; `seed` is 0 where the question is asked once."""

    id: str
    model: str
    item: Item
    format: Format
    seed: int
    chat: bool
    shots: tuple[Item, ...] = ()

    def prompt(self) -> Prompt:
        """The exact text to be answered."""
        return self.format.render(self.item, shots=shots_from_items(self.shots), seed=self.seed, chat=self.chat)


def case_id(node_id: str) -> str:
    """The case's name in the store: its node id without the folders, which differ between checkouts."""
    path, _, test = node_id.partition("::")
    return f"{path.rpartition('/')[2]}::{test}"  # pytest writes slashes everywhere


def claim_name(node_id: str, names: dict[str, str]) -> None:
    """UserError if a test function of another folder has this one's name in the store; `names` has the others'."""
    other = names.setdefault(case_id(node_id), node_id)
    if other != node_id:
        raise UserError(f"{node_id}: its answers would be stored under the names of {other}: rename one of the two")


def parametrize(metafunc: pytest.Metafunc, run: RunConfig, chat_models: Mapping[str, bool]) -> None:
    """Turn a test function that carries the ``questions`` mark into one case per model, format, item and repeat.

    UserError if a right answer to one of them would not be graded as right.
    """
    mark = metafunc.definition.get_closest_marker("questions")
    if mark is None:
        return
    questions = Questions(*mark.args, **mark.kwargs)
    cases = list(_cases(questions, run, chat_models))
    if run.models or run.preflight:
        preflight(list({case.format.name: case.format for case in cases}.values()), [case.item for case in cases])
    params = [pytest.param(case, id=case.id, marks=_marks(case)) for case in cases]
    metafunc.parametrize("case", params)


def _cases(questions: Questions, run: RunConfig, chat_models: Mapping[str, bool]) -> Iterator[Case]:
    items = items_of_shard(questions.items(run), run.shard_place)
    shots = questions.shots(run) if questions.shots else {}
    repeats = questions.repeats(run) if questions.repeats else 0
    for model in run.models or ("",):
        for form in formats_of(questions, run):
            chat = uses_chat_template(form, run, is_chat_model=chat_models.get(model, False))
            start = f"{model}-{form.name}" if len(run.models) > 1 else form.name
            for item in items:
                own = tuple(shots.get(item.batch or "", ())) if form.item_shots else ()
                if not repeats:
                    yield Case(f"{start}-{item.id}", model, item, form, 0, chat, own)
                for seed in range(1, repeats + 1):
                    yield Case(f"{start}-{item.id}-s{seed}", model, item, form, seed, chat, own)


def formats_of(questions: Questions, run: RunConfig) -> list[Format]:
    """The formats a benchmark is asked in: its own, or those of ``--prompts`` that ask for the same kinds of answer."""
    own = [load_format(name) for name in questions.formats]
    if not run.prompts:
        chosen = own
    else:
        kinds = {form.kind for form in own}
        chosen = [form for form in map(load_format, run.prompts) if form.kind in kinds]
    return [_with_options(form, run) for form in chosen]


def _with_options(form: Format, run: RunConfig) -> Format:
    """The format with the decoding options of the command line in place of its own."""
    changes: dict[str, Any] = {}
    if run.max_new_tokens is not None:
        changes["max_new_tokens"] = run.max_new_tokens
    if run.temperature is not None:
        changes["temperature"] = run.temperature
    return replace(form, decoding=replace(form.decoding, **changes)) if changes else form


def uses_chat_template(form: Format, run: RunConfig, *, is_chat_model: bool) -> bool:
    """Whether the prompt goes through the model's chat template."""
    if run.chat_template == "none":
        return False
    if run.chat_template == "model":
        return is_chat_model
    return form.chat and is_chat_model


def _marks(case: Case) -> tuple[pytest.MarkDecorator, ...]:
    return _cached_marks(
        case.format.name, case.format.kind.value, case.item.batch, case.item.is_base, case.item.benchmark
    )


@lru_cache(maxsize=1024)
def _cached_marks(
    format_name: str, kind: str, batch: str | None, is_base: bool, benchmark: str
) -> tuple[pytest.MarkDecorator, ...]:
    names = [format_mark(format_name), kind]
    names.append(batch.lower() if batch else "base" if is_base else "variants")
    names.append(benchmark)
    return tuple(getattr(pytest.mark, name) for name in names)


def format_mark(name: str) -> str:
    """The mark of a format: its name, but ``gsm_prompt`` for the format that is called as the benchmark."""
    word = "".join(letter if letter.isalnum() else "_" for letter in name)
    return "gsm_prompt" if word == "gsm" else word


def check_prompts(run: RunConfig) -> None:
    """UserError if a name in ``--prompts`` is no format."""
    names = [load_format(name).name for name in run.prompts]
    if len(set(names)) < len(names):
        raise UserError(f"--prompts names a format twice: {', '.join(run.prompts)}; name each once")
