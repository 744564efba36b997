"""Drawing instances of a template: right by construction, reproducible, and uniform.

Distribution. An assignment gives every variable one of the distinct elements of its domain (several names of one
``sample`` get different elements). `Sampler` draws uniformly from the *valid* assignments: those that meet every
condition and have an exact answer. Two assignments may read the same; `instances` skips a question it has already
given, so it draws questions without replacement, each with the weight of the assignments behind it.

Method. Variables that share conditions form a component; components are independent, so each is drawn by itself. Within
one, a rejected draw starts again from nothing, which is plain rejection and hence uniform. Two savings keep it fast and
leave the distribution as it is: a condition is tested as soon as its variables are bound (an early rejection is still
a rejection), and an equation linear in a variable gives that variable its value. The latter is used only where the
coefficient cannot be zero and the domain holds each number once: then each draw of the others has at most one solution,
and all solutions stay equally likely. ``x % k == 0`` is a test, never an equation to solve.

Reproducibility. A stream is ``random.Random`` (Mersenne Twister) seeded by the sha256 of (generator version, seed,
set, template id), used only through ``getrandbits``, whose values no Python version changes. The first n instances do
not depend on how many are asked for.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from variantbench.benchmarks.gsm.domains import Domain, Draw, Mode
from variantbench.benchmarks.gsm.expressions import InexactError
from variantbench.benchmarks.gsm.numbers import Number, normal
from variantbench.benchmarks.gsm.planning import Bind, Check, Solve, Step, plan
from variantbench.benchmarks.gsm.template import Template
from variantbench.plugins.errors import UserError

GENERATOR_VERSION = 1
MAX_TRIES = 200_000
MAX_REPEATS = 2_000

Below = Callable[[int], int]
Run = Callable[[dict[str, Any], dict[str, str], Below], bool]


@dataclass(frozen=True, slots=True)
class Instance:
    """One variant: the values, the question as shown, the exact answer."""

    env: dict[str, Any]
    shown: dict[str, str]
    question: str
    answer: Number


def stream(seed: int, scope: str) -> Below:
    """A source of uniform integers below n, the same on every machine for the same (seed, scope)."""
    digest = hashlib.sha256(f"variantbench gsm {GENERATOR_VERSION}/{seed}/{scope}".encode()).digest()
    getrandbits = random.Random(int.from_bytes(digest, "big")).getrandbits  # noqa: S311 - questions, not secrets

    def below(size: int) -> int:
        bits = (size - 1).bit_length()
        value = getrandbits(bits)
        while value >= size:
            value = getrandbits(bits)
        return value

    return below


class Sampler:
    """Draws instances of one template. Building it plans the order of draws; drawing keeps no state."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self._components = [[_runner(step) for step in steps] for steps in plan(template)]

    def draw(self, below: Below) -> Instance:
        """One valid instance. Raises `UserError` when 200,000 tries find none."""
        answer = self.template.answer.evaluate
        for _ in range(MAX_REPEATS):
            env: dict[str, Any] = {}
            shown: dict[str, str] = {}
            for steps in self._components:
                self._draw_component(steps, env, shown, below)
            try:
                value = answer(env)
            except (InexactError, ZeroDivisionError):
                continue
            return Instance(env, shown, self.template.question.render(env, shown), normal(value))
        raise UserError(f"{self.template.path}: {MAX_REPEATS} draws gave no exact answer; add a condition such as is_int(...)")

    def instances(self, seed: int, scope: str) -> Iterator[Instance]:
        """Instances with different questions, none of them the base question, without end."""
        below = stream(seed, f"{scope}/{self.template.id}")
        seen = {self.template.base.question}
        repeats = 0
        while repeats < MAX_REPEATS:
            instance = self.draw(below)
            if instance.question in seen:
                repeats += 1
                continue
            repeats = 0
            seen.add(instance.question)
            yield instance
        raise UserError(
            f"{self.template.path}: no new question in {MAX_REPEATS} draws after {len(seen) - 1} different ones; ask for "
            "fewer variants a template or widen its domains"
        )

    def _draw_component(self, steps: list[Run], env: dict[str, Any], shown: dict[str, str], below: Below) -> None:
        for _ in range(MAX_TRIES):
            for step in steps:
                if not step(env, shown, below):
                    break
            else:
                return
        raise UserError(
            f"{self.template.path}: no values found in {MAX_TRIES} tries that meet all conditions; widen the domains or "
            "drop a condition"
        )


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

    def run(env: dict[str, Any], shown: dict[str, str], below: Below) -> bool:
        index = below(size)
        if texts is not None:
            shown[name] = texts[index]
        env[name] = shown[name] if numbers is None else numbers[index]
        return True

    return run


def _bind_many(draw: Draw) -> Run:
    put = _putter(draw.domain)
    names, size, sequential = draw.names, len(draw.domain), draw.mode is Mode.SEQUENTIAL

    def run(env: dict[str, Any], shown: dict[str, str], below: Below) -> bool:
        if sequential:
            start = below(size)
            indices = [(start + i) % size for i in range(len(names))]
        else:
            indices = _distinct(len(names), size, below)
        for name, index in zip(names, indices, strict=True):
            put(name, index, env, shown)
        return True

    return run


def _putter(domain: Domain) -> Callable[[str, int, dict[str, Any], dict[str, str]], None]:
    numbers, texts = domain.numbers, domain.texts

    def put(name: str, index: int, env: dict[str, Any], shown: dict[str, str]) -> None:
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

    def run(env: dict[str, Any], shown: dict[str, str], below: Below) -> bool:  # noqa: ARG001 - one shape for all steps
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


def _check(evaluate: Callable[[dict[str, Any]], bool]) -> Run:
    def run(env: dict[str, Any], shown: dict[str, str], below: Below) -> bool:  # noqa: ARG001 - one shape for all steps
        try:
            return evaluate(env)
        except (ZeroDivisionError, InexactError):
            return False

    return run
