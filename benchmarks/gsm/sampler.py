"""Drawing instances of a template: right by construction, reproducible, and uniform.

Distribution. An assignment gives every variable one of the distinct elements of its domain (several names of one
``sample`` get different elements). `Sampler` draws uniformly from the *valid* assignments: those that meet every
condition and have an exact answer. Two assignments may read the same; `instances` skips a question it has already
given, so it draws questions without replacement, each with the weight of the assignments behind it.

Method. Variables that share conditions form a component; components are independent, so each is drawn by itself. Within
one, a rejected draw starts again from nothing, which is plain rejection and hence uniform. Three savings keep it fast
and leave the distribution as it is. A condition is tested as soon as its variables are bound: an early rejection is
still a rejection. An equation linear in a variable gives that variable its value, where the coefficient cannot be zero
and the domain holds each number once: then each draw of the others has at most one solution, and all solutions stay
equally likely (``x % k == 0`` is a test, never an equation to solve). Where hardly any draw is accepted, the valid values
of the first few variables are listed once, and draws start from that list.

Reproducibility. A stream is ``random.Random`` (Mersenne Twister) seeded by the sha256 of (generator version, seed,
set, template id), used only through ``getrandbits``, whose values no Python version changes. The first n instances do
not depend on how many are asked for.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from variantbench.benchmarks.gsm.drawing import Below, Component
from variantbench.benchmarks.gsm.expressions import InexactError
from variantbench.benchmarks.gsm.numbers import Number, normal
from variantbench.benchmarks.gsm.planning import plan
from variantbench.benchmarks.gsm.template import Template
from variantbench.plugins.errors import UserError

GENERATOR_VERSION = 1
MAX_TRIES = 200_000
MAX_REPEATS = 2_000
# A component that accepts fewer than 3 of 500 trial draws has its first steps tabulated.
PROBE_TRIES, PROBE_ACCEPTED = 500, 3


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
        self._components = [self._prepare(Component(steps)) for steps in plan(template)]

    def draw(self, below: Below) -> Instance:
        """One valid instance. Raises `UserError` when 200,000 tries find none."""
        answer = self.template.answer.evaluate
        for _ in range(MAX_REPEATS):
            env: dict[str, Any] = {}
            shown: dict[str, str] = {}
            for component in self._components:
                self._draw_component(component, env, shown, below)
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

    def _prepare(self, component: Component) -> Component:
        below = stream(0, f"probe/{self.template.id}")
        if component.is_checked and component.accepted(PROBE_TRIES, below) < PROBE_ACCEPTED:
            return component.tabulated()
        return component

    def _draw_component(
        self, component: Component, env: dict[str, Any], shown: dict[str, str], below: Below
    ) -> None:
        if not component.draw(env, shown, below, MAX_TRIES):
            raise UserError(
                f"{self.template.path}: no values found in {MAX_TRIES} tries that meet all conditions; widen the domains "
                "or drop a condition"
            )
