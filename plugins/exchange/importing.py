"""Foreign answers into the store, as one run that says where it comes from: all of a log, or nothing.

The tool's own verdict is the verdict, in both protocols' columns; `method` and `grader` say whose it is. Items without
a known group are groups of their own. Nothing is left out in silence: `Imported` counts every row.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import ExtractionStatus, FinishReason, Item, Verdict, text_hash
from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.foreign import FORMAT, Entry, ForeignAnswer, LeftOut, Source, Stated
from variantbench.plugins.exchange.formats import AUTO, Reader, reader_of
from variantbench.plugins.exchange.guarded import file_hash, refusing_odd_values
from variantbench.plugins.store import Store, schema
from variantbench.plugins.store.bulk import BulkWriter, bulk_writer
from variantbench.plugins.store.store import now

MATCHED = "gsm"  # the benchmark of questions that were matched to a template
_BATCH = 2_000
_GRADER = 32  # characters of the column
_ODD = re.compile("[\0\ud800-\udfff]")  # no database takes these in a name


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a question belongs, by its text alone."""

    group: str
    variant: int
    item: str


@dataclass(frozen=True, slots=True)
class Choices:
    """How logs are to be read. `place` finds the template of a question; `benchmark` and `format` overrule the log."""

    tool: str = AUTO
    columns: Mapping[str, str] = field(default_factory=dict)
    reading: str = ""
    benchmark: str = ""
    format: str = ""
    model: str = ""
    place: Callable[[str], Placed | None] | None = None
    covariates: Callable[[str], Mapping[str, float]] | None = None


DEFAULT = Choices()


@dataclass(slots=True)
class Count:
    """Right and judged answers of one model, benchmark and format of a file, and what the tool states."""

    right: int = 0
    judged: int = 0
    errors: int = 0
    reading: str = ""
    stated: float | None = None


@dataclass(slots=True)
class Imported:
    """What an import did."""

    run_id: str = ""
    rows: int = 0
    answers: int = 0
    grouped: int = 0
    matched: int = 0
    files: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[tuple[str, str, str, str], Count] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def import_logs(store: Store, paths: Sequence[Path], choices: Choices = DEFAULT) -> Imported:
    """Write the answers of these files as one run. UserError, and nothing is stored, where one cannot be read."""
    if not paths:
        raise UserError("nothing to import: name one log or more")
    done = Imported(run_id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")
    started = now()
    with bulk_writer(store) as writer:
        writer.add(schema.runs, [(done.run_id, started, now(), "complete", "{}")])
        import_ = _Import(writer, done, choices)
        for path in paths:
            import_.file(path)
        if not done.answers:
            raise UserError(f"no answer in {paths[0]}: {_why_none(done)}")
        writer.finish(done.run_id, json.dumps(import_.manifest(), sort_keys=True), done.answers)
    return done


def _why_none(done: Imported) -> str:
    return "; ".join(f"{count:,} left out: {why}" for why, count in done.left_out.most_common(3)) or "it is empty"


class _Import:
    """One import under way."""

    def __init__(self, writer: BulkWriter, done: Imported, choices: Choices) -> None:
        self.writer, self.done, self.choices = writer, done, choices
        self.models: dict[str, str] = {}
        self.prefixes: set[str] = set()
        self.seen: set[int] = set()
        self.tools: set[str] = set()
        self.created = now()

    def file(self, path: Path) -> None:
        """Take one file."""
        reader = reader_of(path, self.choices.tool)
        source = Source(path, self.choices.columns, self.choices.reading)
        digest = file_hash(path)
        with refusing_odd_values(path):
            version = reader.version(source)
        facts = {"name": path.name, "sha256": digest, "tool": reader.name, "version": version}
        self.tools.add(reader.name)
        before = self.done.answers
        entries = self.entries(reader, source)
        while some := list(islice(entries, _BATCH)):
            self.write(some, reader.name, digest)
        with refusing_odd_values(path):
            stated = reader.stated(source)
        self.compare(path, stated)
        self.done.files.append({**facts, "answers": self.done.answers - before})

    def entries(self, reader: Reader, source: Source) -> Iterator[ForeignAnswer]:
        """The answers of a file; what is left out is counted on the way."""
        for entry in _read(reader, source):
            self.done.rows += 1
            if isinstance(entry, LeftOut):
                self.done.left_out[entry.why] += 1
                self.done.examples.setdefault(entry.why, entry.where)
            else:
                yield self.checked(entry, source.path)

    def checked(self, answer: ForeignAnswer, path: Path) -> ForeignAnswer:
        """The answer as the choices want it; UserError where it stands twice or cannot be stored."""
        choices, place = self.choices, None
        if choices.place is not None and answer.variant is None:
            place = choices.place(answer.question)
        changed: dict[str, Any] = {}
        if choices.format and answer.format == FORMAT:
            changed["format"] = choices.format
        if choices.benchmark:
            changed["benchmark"] = choices.benchmark
        if choices.model:
            changed["model"] = choices.model
        if place is not None:
            changed |= {"group": place.group, "variant": place.variant, "item": place.item}
            changed.setdefault("benchmark", MATCHED)
            self.done.matched += 1
        elif not answer.group:
            changed |= {"group": answer.item, "variant": 0}
        elif answer.variant is None:
            changed["variant"] = 0
        self.done.grouped += bool(place or answer.group)
        if choices.covariates is not None and not answer.covariates:
            changed["covariates"] = choices.covariates(answer.question)
        answer = replace(answer, **changed) if changed else answer
        name = _case(answer)
        if _ODD.search(f"{name}{answer.target}{answer.group}{answer.batch}"):
            raise UserError(f"{answer.where}: a name or label holds NUL or half a character: no store takes that")
        if (key := hash(name)) in self.seen:
            raise UserError(
                f"{answer.where}: {answer.item!r} of {answer.benchmark}, {answer.format}, {answer.model} stands twice "
                f"(seed {answer.seed}): remove one, or map a column to seed"
            )
        self.seen.add(key)
        self.count(answer, path)
        return answer

    def count(self, answer: ForeignAnswer, path: Path) -> None:
        """Note how an answer was judged."""
        count = self.done.counts.setdefault((str(path), answer.model, answer.benchmark, answer.format), Count())
        count.reading = answer.reading
        count.errors += answer.verdict is Verdict.ERROR
        count.judged += answer.verdict is not Verdict.ERROR
        count.right += answer.verdict is Verdict.CORRECT
        self.done.answers += 1

    def compare(self, path: Path, stated: Sequence[Stated]) -> None:
        """Put what the tool states beside what was counted, where it states one figure for it."""
        here = [(key, count) for key, count in self.done.counts.items() if key[0] == str(path)]
        for key, count in here:
            found = [one for one in stated if one.reading == count.reading]
            found = [one for one in found if one.benchmark == key[2]] or found
            if len(here) == 1 and found:
                count.stated = found[0].accuracy

    def write(self, answers: Sequence[ForeignAnswer], tool: str, digest: str) -> None:
        """Store some answers."""
        texts, items, completions, records = [], {}, [], []
        for answer in answers:
            identity = self.model(answer.model, tool)
            prefix, suffix = _prompt(answer)
            prefix_hash = _hash(prefix)
            if prefix_hash not in self.prefixes:
                if len(self.prefixes) > 10_000:
                    self.prefixes.clear()
                self.prefixes.add(prefix_hash)
                texts.append((prefix_hash, prefix))
            item = _item_row(answer, f"imported: {tool}")
            items[item[0]] = item
            name = _case(answer)
            key = None
            if answer.finish_reason is not FinishReason.ERROR and answer.verdict is not Verdict.ERROR:
                row = self.completion(answer, identity, prefix_hash, suffix, tool)
                key = text_hash(f"imported {digest} {name} {row}")  # another map of columns gives other completions
                completions.append((key, *row, self.created))
            records.append(_record(self.done.run_id, answer, name, item[0], key, tool))
        self.refuse_other_places(items)
        for table, rows in (
            (schema.texts, texts),
            (schema.items, list(items.values())),
            (schema.completions, completions),
            (schema.records, records),
        ):
            self.writer.add(table, rows)

    def refuse_other_places(self, items: Mapping[str, tuple[Any, ...]]) -> None:
        """UserError where the store holds one of these items as another variant or of another batch."""
        for key, (variant, batch) in self.writer.places(list(items)).items():
            item = items[key]
            if (variant, batch) != (item[4], item[5]):
                raise UserError(
                    f"item {item[1]!r} of {item[2]} is in this store as variant {variant}, batch {batch}; the log says "
                    f"variant {item[4]}, batch {item[5]}: map the columns as before, or give another --store"
                )

    def model(self, name: str, tool: str) -> str:
        """The identity under which a model of a foreign log is kept: its name and the tool are all that is known."""
        if name not in self.models:
            self.models[name] = text_hash(f"imported: {tool} {name}")
            self.writer.add(schema.models, [(self.models[name], name, json.dumps({"imported": tool}))])
        return self.models[name]

    def completion(
        self, answer: ForeignAnswer, identity: str, prefix_hash: str, suffix: str, tool: str
    ) -> tuple[Any, ...]:
        """The row of ``completions`` between its key and the time."""
        settings = _settings(tool, answer.decoding, answer.seed, answer.chat)
        return (
            identity, settings, prefix_hash, suffix, answer.text, answer.finish_reason.value,
            answer.prompt_tokens, answer.new_tokens, tool, "", answer.seconds,
        )  # fmt: skip

    def manifest(self) -> dict[str, Any]:
        """What is known of how the run came about."""
        return {
            "imported": {
                "files": self.done.files,
                "rows": self.done.rows,
                "left_out": dict(self.done.left_out),
                "readings": sorted({count.reading for count in self.done.counts.values()}),
            },
            "grader": ", ".join(sorted(self.tools)),
            "models": [
                {"name": name, "identity": identity, "imported": True} for name, identity in sorted(self.models.items())
            ],
        }


def _read(reader: Reader, source: Source) -> Iterator[Entry]:
    with refusing_odd_values(source.path):  # what is done with an entry is outside: our own faults are not the log's
        yield from reader.read(source)


def _case(answer: ForeignAnswer) -> str:
    seed = f"-s{answer.seed}" if answer.seed else ""
    return f"imported::{answer.benchmark}[{answer.model}-{answer.format}-{answer.item}{seed}]"


_hash = lru_cache(maxsize=256)(text_hash)


@lru_cache(maxsize=256)
def _settings(tool: str, decoding: Any, seed: int, chat: bool) -> str:
    return json.dumps({"engine": tool, "decoding": asdict(decoding), "seed": seed, "chat": chat})


def _prompt(answer: ForeignAnswer) -> tuple[str, str]:
    """What comes before the question, shared by all items of the format, and the rest."""
    place = answer.prefix
    if place < 0 and answer.question:
        place = answer.prompt.rfind(answer.question)
    return ("", answer.prompt) if place < 0 else (answer.prompt[:place], answer.prompt[place:])


def _item_row(answer: ForeignAnswer, source: str) -> tuple[Any, ...]:
    """The row of ``items``, its hash first."""
    item = Item(answer.item, answer.benchmark, answer.group, answer.question, answer.target)
    return (
        item.content_hash, item.id, item.benchmark, item.group, answer.variant, answer.batch, item.question,
        item.target, _as_json(answer.covariates), _as_json(answer.notes), source,
    )  # fmt: skip


def _as_json(value: Mapping[str, float] | tuple[str, ...]) -> str:
    if not value:
        return "[]" if isinstance(value, tuple) else "{}"
    return json.dumps(value, sort_keys=True)


def _record(
    run_id: str, answer: ForeignAnswer, case: str, item_hash: str, key: str | None, tool: str
) -> tuple[Any, ...]:
    grade = (answer.verdict.value, _status(answer).value, answer.value, answer.reading, answer.reason)
    grader = answer.grader or _grader(tool, answer.reading)
    return (run_id, case, grader, answer.model, answer.format, answer.seed, item_hash, key, *grade, *grade, None)


@lru_cache(maxsize=256)
def _grader(tool: str, reading: str) -> str:
    """Whose rules these were, in 32 characters: two runs are compared only if it is the same."""
    name = f"{tool} {reading}"
    return name if len(name) <= _GRADER else f"{name[: _GRADER - 9]} {text_hash(name)[:8]}"


def _status(answer: ForeignAnswer) -> ExtractionStatus:
    if answer.verdict is not Verdict.NO_ANSWER:
        return ExtractionStatus.OK
    if answer.finish_reason is FinishReason.LENGTH:
        return ExtractionStatus.TRUNCATED
    return ExtractionStatus.NO_NUMBER if answer.text.strip() else ExtractionStatus.EMPTY


def summary_lines(done: Imported) -> Iterator[str]:
    """What was imported, what was left out with an example, and whether accuracies are those that the tool states."""
    tools = ", ".join(dict.fromkeys(f"{one['tool']} {one['version']}".strip() for one in done.files))
    yield f"run {done.run_id}: {done.answers:,} of {done.rows:,} rows of {len(done.files)} file(s) imported ({tools})"
    for why, number in done.left_out.most_common():
        yield f"  {number:,} left out: {why}, such as {done.examples[why]}"
    if done.matched:
        yield f"  {done.matched:,} questions matched to a template"
    if done.grouped < done.answers:
        yield f"  {done.answers - done.grouped:,} answers have no known template: each item is a group of its own"
    for (_, model, benchmark, form), count in done.counts.items():
        yield f"  {model}: {benchmark} {form}, {count.reading}: {_share(count)}{_beside(count)}"


def _share(count: Count) -> str:
    share = f"{count.right / count.judged:.4f}" if count.judged else "not judged"
    lost = f", {count.errors:,} errors" if count.errors else ""
    return f"{count.right:,}/{count.judged:,} = {share}{lost}"


def _beside(count: Count) -> str:
    if count.stated is None or not count.judged:
        return ""
    same = abs(count.stated - count.right / count.judged) < 1e-9
    return f"; the tool states {count.stated:.4f}" + ("" if same else ": NOT the same, look at what was left out")
