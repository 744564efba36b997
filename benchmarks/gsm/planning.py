"""The order in which a template's variables are drawn, solved and tested.

Conditions are closed as early as possible, cheapest first (by the number of value combinations they need); see
`sampler` for why none of this changes the distribution.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import Any

from variantbench.benchmarks.gsm.domains import Domain, Draw, Mode
from variantbench.benchmarks.gsm.expressions import Environment, Expression, compile_expression
from variantbench.benchmarks.gsm.template import Template, kinds_of


@dataclass(frozen=True, slots=True)
class Bind:
    """Draw the names of one init line."""

    draw: Draw


@dataclass(frozen=True, slots=True)
class Solve:
    """Give `name` the value at which `gap` (left side minus right side of an equation) is zero."""

    name: str
    domain: Domain
    gap: Callable[[Environment], Any]


@dataclass(frozen=True, slots=True)
class Check:
    """Test a condition."""

    condition: Expression


Step = Bind | Solve | Check


def plan(template: Template) -> tuple[tuple[Step, ...], ...]:
    """The steps of every component of a template: groups of init lines that share no condition with one another."""
    return tuple(_Component(draws, conditions).steps() for draws, conditions in _components(template))


def _components(template: Template) -> list[tuple[list[Draw], list[Expression]]]:
    groups = [({*draw.names}, [draw], list[Expression]()) for draw in template.draws]
    for condition in template.conditions:
        touched = [group for group in groups if group[0] & condition.names]
        if not touched:  # no variable at all: a constant, tested once with the first component
            touched = groups[:1]
        merged = (
            set[str]().union(*(group[0] for group in touched)),
            [draw for group in touched for draw in group[1]],
            [*(c for group in touched for c in group[2]), condition],
        )
        groups = [merged if group is touched[0] else group for group in groups if group not in touched[1:]]
    return [(draws, conditions) for _, draws, conditions in groups]


class _Component:
    """Plans one component: first which equations give which variable, then a greedy order."""

    def __init__(self, draws: list[Draw], conditions: list[Expression]) -> None:
        self.draws = {name: draw for draw in draws for name in draw.names}
        self.kinds = kinds_of(tuple(draws))
        self.pending = list(conditions)
        self.solved: dict[str, Expression] = {}
        self.bound: set[str] = set()
        self.plan: list[Step] = []
        for condition in conditions:
            self.choose_solved(condition)

    def choose_solved(self, condition: Expression) -> None:
        """Let an equation give the largest variable it can, unless that would be circular."""
        sizes = {
            name: len(self.draws[name].domain)
            for name in sorted(condition.names)
            if name not in self.solved and self.solvable(name) and self.gives(condition.tree, name)
        }
        for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
            if all(name not in self.needs([other]) for other in condition.names - {name}):
                self.solved[name] = condition
                return

    def solvable(self, name: str) -> bool:
        """Whether the variable stands alone on its init line and its domain holds each number once."""
        draw = self.draws[name]
        numbers = draw.domain.numbers
        return draw.mode is Mode.SINGLE and numbers is not None and len(set(numbers)) == len(numbers)

    def gives(self, tree: ast.expr, name: str) -> bool:
        match tree:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                shape = self.shape(ast.BinOp(left, ast.Sub(), right), name)
                return shape is Shape.LINEAR
        return False

    def shape(self, node: ast.expr, name: str) -> Shape:
        """How an expression depends on a variable; LINEAR only if the coefficient is provably never zero."""
        match node:
            case ast.Name(id=found) if found == name:
                return Shape.LINEAR
            case _ if not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                return Shape.FREE
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.shape(operand, name)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                shapes = {self.shape(left, name), self.shape(right, name)}
                return Shape.LINEAR if shapes == {Shape.FREE, Shape.LINEAR} else Shape.OTHER
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                factor, rest = (left, right) if self.shape(right, name) is Shape.FREE else (right, left)
                linear = self.shape(factor, name) is Shape.LINEAR and self.never_zero(rest)
                return Shape.LINEAR if linear else Shape.OTHER
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                if self.shape(right, name) is Shape.FREE:
                    return self.shape(left, name)
        return Shape.OTHER

    def never_zero(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return value != 0
            case ast.Name(id=name):
                numbers = self.draws[name].domain.numbers
                return numbers is not None and 0 not in numbers
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                return self.never_zero(left) and self.never_zero(right)
        return False

    def needs(self, names: Iterable[str]) -> set[str]:
        """The unbound names that must be bound before `names` are: themselves, and what solves them."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found or name in self.bound:
                continue
            found.add(name)
            waiting.extend(self.solved[name].names - {name} if name in self.solved else self.draws[name].names)
        return found

    def cost(self, condition: Expression) -> float:
        """The logarithm of the number of combinations to be drawn before a condition can be tested."""
        names = self.needs(condition.names) - self.solved.keys()
        return sum(math.log2(len(self.draws[name].domain)) for name in names)

    def steps(self) -> tuple[Step, ...]:
        while self.pending:
            condition = min(self.pending, key=self.cost)
            if self.needs(condition.names):
                for name in sorted(self.needs(condition.names) - self.solved.keys(), key=self.size):
                    self.bind(name)
            self.settle()
        for name in self.draws:
            self.bind(name)
        return tuple(self.plan)

    def size(self, name: str) -> tuple[int, str]:
        return len(self.draws[name].domain), name

    def bind(self, name: str) -> None:
        if name not in self.bound:
            self.plan.append(Bind(self.draws[name]))
            self.bound |= {*self.draws[name].names}
            self.settle()

    def settle(self) -> None:
        """Solve and test all that has become possible."""
        for name, condition in self.solved.items():
            if name not in self.bound and condition.names - {name} <= self.bound:
                self.plan.append(Solve(name, self.draws[name].domain, self.gap(condition)))
                self.bound.add(name)
                self.pending.remove(condition)
                return self.settle()
        for condition in [c for c in self.pending if c.names <= self.bound]:
            self.plan.append(Check(condition))
            self.pending.remove(condition)
        return None

    def gap(self, condition: Expression) -> Callable[[Environment], Any]:
        assert isinstance(condition.tree, ast.Compare)  # noqa: S101 - chosen by `gives`
        difference = ast.unparse(ast.BinOp(condition.tree.left, ast.Sub(), condition.tree.comparators[0]))
        evaluate = compile_expression(difference, self.kinds).evaluate
        return lambda env: Fraction(evaluate(env))


class Shape(Enum):
    """How an expression depends on one variable."""

    FREE = auto()
    LINEAR = auto()
    OTHER = auto()


