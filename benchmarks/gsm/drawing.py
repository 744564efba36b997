"""Running a plan: one component's draws, and the list of its valid beginnings where draws hardly ever succeed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from variantbench.benchmarks.gsm.domains import Domain, Draw, Mode
from variantbench.benchmarks.gsm.expressions import InexactError
from variantbench.benchmarks.gsm.numbers import Number, normal
from variantbench.benchmarks.gsm.planning import Bind, Check, Solve, Step

MAX_TABLE = 30_000

Below = Callable[[int], int]
Env = dict[str, Any]
Shown = dict[str, str]
Run = Callable[[Env, Shown, Below], bool]


class Component:
    """The steps of one component, ready to run. A draw that fails a check starts again from nothing."""

    def __init__(self, steps: Sequence[Step], table: tuple[tuple[Env, Shown], ...] | None = None) -> None:
        self._steps = tuple(steps)
        self._runs = [_runner(step) for step in steps]
        if table is not None:
            self._runs.insert(0, _pick(table))

    @property
    def is_checked(self) -> bool:
        """Whether a draw can fail at all."""
        return not all(isinstance(step, Bind) for step in self._steps)

    def draw(self, env: Env, shown: Shown, below: Below, tries: int) -> bool:
        """Add valid values to `env` and `shown`; False if `tries` draws found none."""
        for _ in range(tries):
            for run in self._runs:
                if not run(env, shown, below):
                    break
            else:
                return True
        return False

    def accepted(self, tries: int, below: Below) -> int:
        """How many of `tries` single draws succeed."""
        return sum(self.draw({}, {}, below, 1) for _ in range(tries))

    def tabulated(self) -> Component:
        """The same distribution, drawn from a list of all valid beginnings (of at most 30,000 raw combinations)."""
        length = self._prefix()
        table = tuple(_beginnings(self._steps[:length], {}, {}))
        return Component(self._steps[length:], table) if length else self

    def _prefix(self) -> int:
        """How many steps to list: up to the last check or solution that the limit of combinations lets in."""
        combinations, length = 1, 0
        for position, step in enumerate(self._steps, 1):
            if isinstance(step, Bind):
                combinations *= sum(1 for _ in itertools.islice(_choices(step.draw), MAX_TABLE + 1))
                if combinations > MAX_TABLE:
                    break
            else:
                length = position
        return length


def _beginnings(steps: Sequence[Step], env: Env, shown: Shown) -> Iterator[tuple[Env, Shown]]:
    """All valid values of the variables of `steps`."""
    if not steps:
        yield dict(env), dict(shown)
        return
    first, rest = steps[0], steps[1:]
    if not isinstance(first, Bind):
        if _runner(first)(env, shown, lambda _: 0):
            yield from _beginnings(rest, env, shown)
        return
    put = _putter(first.draw.domain)
    for indices in _choices(first.draw):
        for name, index in zip(first.draw.names, indices, strict=True):
            put(name, index, env, shown)
        yield from _beginnings(rest, env, shown)


def _choices(draw: Draw) -> Iterator[tuple[int, ...]]:
    """All the ways to choose the elements of one init line, as indices."""
    count, size = len(draw.names), len(draw.domain)
    if draw.mode is Mode.SEQUENTIAL:
        return (tuple((start + i) % size for i in range(count)) for start in range(size))
    return itertools.permutations(range(size), count)


def _pick(table: tuple[tuple[Env, Shown], ...]) -> Run:
    def run(env: Env, shown: Shown, below: Below) -> bool:
        if not table:
            return False
        values, texts = table[below(len(table))]
        env.update(values)
        shown.update(texts)
        return True

    return run


def _runner(step: Step) -> Run:
    match step:
        case Bind(draw=draw):
            return _bind_one(draw.names[0], draw.domain) if draw.mode is Mode.SINGLE else _bind_many(draw)
        case Solve():
            return _solve(step)
        case Check(condition=condition):
            return _check(condition.evaluate)


def _bind_one(name: str, domain: Domain) -> Run:
    size, numbers, texts = len(domain), domain.numbers, domain.texts

    def run(env: Env, shown: Shown, below: Below) -> bool:
        index = below(size)
        if texts is not None:
            shown[name] = texts[index]
        env[name] = shown[name] if numbers is None else numbers[index]
        return True

    return run


def _bind_many(draw: Draw) -> Run:
    put = _putter(draw.domain)
    names, size, sequential = draw.names, len(draw.domain), draw.mode is Mode.SEQUENTIAL

    def run(env: Env, shown: Shown, below: Below) -> bool:
        if sequential:
            start = below(size)
            indices = [(start + i) % size for i in range(len(names))]
        else:
            indices = _distinct(len(names), size, below)
        for name, index in zip(names, indices, strict=True):
            put(name, index, env, shown)
        return True

    return run


def _putter(domain: Domain) -> Callable[[str, int, Env, Shown], None]:
    numbers, texts = domain.numbers, domain.texts

    def put(name: str, index: int, env: Env, shown: Shown) -> None:
        if texts is not None:
            shown[name] = texts[index]
        env[name] = shown[name] if numbers is None else numbers[index]

    return put


def _distinct(count: int, size: int, below: Below) -> list[int]:
    """`count` different indices below `size`, every ordered choice equally likely."""
    chosen: list[int] = []
    while len(chosen) < count:
        index = below(size)
        if index not in chosen:
            chosen.append(index)
    return chosen


def _solve(step: Solve) -> Run:
    name, gap, domain = step.name, step.gap, step.domain
    numbers = domain.numbers or ()
    put = _putter(domain)
    index_of = None if isinstance(numbers, range) else {number: i for i, number in enumerate(numbers)}

    def run(env: Env, shown: Shown, _: Below) -> bool:
        try:
            env[name] = 0
            at_zero = gap(env)
            env[name] = 1
            value = normal(at_zero / (at_zero - gap(env))) if at_zero else 0
        except (ZeroDivisionError, InexactError):
            return False
        index = index_of.get(value) if index_of is not None else _index_in_range(value, numbers)
        if index is None:
            return False
        put(name, index, env, shown)
        return True

    return run


def _index_in_range(value: Number, numbers: Any) -> int | None:
    return numbers.index(value) if isinstance(value, int) and value in numbers else None


def _check(evaluate: Callable[[Env], bool]) -> Run:
    def run(env: Env, shown: Shown, _: Below) -> bool:
        try:
            return evaluate(env)
        except (ZeroDivisionError, InexactError):
            return False

    return run
