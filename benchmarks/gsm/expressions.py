"""Expressions of the template language: parsed once through a whitelist, evaluated exactly.

The text is parsed with ``ast`` and every node is translated into a closure of ours; nothing is ever handed to ``eval``
or ``exec``. Kinds (number, text, truth) are checked while compiling, so a template cannot fail half-way through a run on
a type. Numbers are ``int`` and ``Fraction``: ``/`` of integers is exact, decimal literals are read as decimals.

Limits keep a hostile template from hanging the reader: length, depth, size of literals, and of powers.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from variantbench.benchmarks.gsm import functions
from variantbench.benchmarks.gsm.functions import InexactError

__all__ = ["Environment", "Expression", "ExpressionError", "InexactError", "Kind", "compile_expression", "parse"]

MAX_LENGTH = 1_000
MAX_DEPTH = 40
MAX_LITERAL = 10**18

Environment = Mapping[str, Any]
Evaluate = Callable[[Environment], Any]


class Kind(Enum):
    """What an expression yields."""

    NUMBER = "number"
    TEXT = "text"
    TRUTH = "truth value"


class ExpressionError(ValueError):
    """An expression that is not in the language; the message says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. `evaluate` takes the values by name and returns an int, Fraction, str or bool.

    It raises ``ZeroDivisionError`` where the arithmetic does, and `InexactError` where a strict expression would lose a
    fraction in ``int()`` or ``//``.
    """

    text: str
    tree: ast.expr
    kind: Kind
    names: frozenset[str]
    evaluate: Evaluate


def parse(text: str) -> ast.expr:
    """The syntax tree of one expression, within the limits of length and depth. Nothing is evaluated."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression of {len(text)} characters; at most {MAX_LENGTH} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"cannot read {text.strip()[:80]!r}: {error.__class__.__name__}") from error
    _check_depth(tree)
    return tree


def compile_expression(text: str, kinds: Mapping[str, Kind], *, strict: bool = False) -> Expression:
    """Compile `text`, in which the names of `kinds` may stand.

    With `strict`, ``int()`` and ``//`` refuse to drop a fraction (`InexactError`) instead of truncating: the right mode
    for final answers, where a truncated value would be a wrong label.
    """
    tree = parse(text)
    kind, evaluate = _Compiler(kinds, strict).visit(tree)
    names = frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in kinds)
    return Expression(text.strip(), tree, kind, names, evaluate)


def _check_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise ExpressionError(f"expression nested deeper than {MAX_DEPTH} levels")


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: functions.divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: functions.power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
Typed = tuple[Kind, Evaluate]


class _Compiler:
    """Turns whitelisted nodes into closures, one method per node type; an unknown node has no method."""

    def __init__(self, kinds: Mapping[str, Kind], strict: bool) -> None:
        self.kinds = kinds
        self.strict = strict

    def visit(self, node: ast.expr) -> Typed:
        method: Callable[[Any], Typed] | None = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise ExpressionError(
                f"{ast.unparse(node)[:60]!r} ({type(node).__name__}) is not allowed; allowed are numbers, texts, names, "
                "arithmetic, comparisons, and/or/not, 'a if c else b' and the functions " + ", ".join(functions.TABLE)
            )
        return method(node)

    def number(self, node: ast.expr) -> Evaluate:
        return self.expect(node, Kind.NUMBER)

    def truth(self, node: ast.expr) -> Evaluate:
        return self.expect(node, Kind.TRUTH)

    def expect(self, node: ast.expr, wanted: Kind) -> Evaluate:
        kind, evaluate = self.visit(node)
        if kind is not wanted:
            raise ExpressionError(f"{ast.unparse(node)[:60]!r} is a {kind.value}; a {wanted.value} is needed here")
        return evaluate

    def visit_constant(self, node: ast.Constant) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return Kind.TRUTH, lambda _: value
        if isinstance(value, str):
            return Kind.TEXT, lambda _: value
        number = exact_literal(value)
        return Kind.NUMBER, lambda _: number

    def visit_name(self, node: ast.Name) -> Typed:
        if node.id not in self.kinds:
            known = ", ".join(sorted(self.kinds)) or "none"
            raise ExpressionError(f"unknown name {node.id!r}; the variables are {known}")
        return self.kinds[node.id], operator.itemgetter(node.id)

    def visit_binop(self, node: ast.BinOp) -> Typed:
        operation = _BINARY.get(type(node.op))
        if operation is None:
            raise ExpressionError(f"operator in {ast.unparse(node)[:60]!r} is not allowed; allowed are + - * / // % **")
        if self.strict and isinstance(node.op, ast.FloorDiv):
            operation = functions.exact_floor_divide
        left, right = self.number(node.left), self.number(node.right)
        return Kind.NUMBER, lambda env: operation(left(env), right(env))

    def visit_unaryop(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return Kind.TRUTH, lambda env: not inner(env)
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise ExpressionError(f"operator in {ast.unparse(node)[:60]!r} is not allowed; allowed are - + not")
        number = self.number(node.operand)
        return Kind.NUMBER, (lambda env: -number(env)) if isinstance(node.op, ast.USub) else number

    def visit_boolop(self, node: ast.BoolOp) -> Typed:
        parts = tuple(self.truth(value) for value in node.values)
        if isinstance(node.op, ast.And):
            return Kind.TRUTH, lambda env: all(part(env) for part in parts)
        return Kind.TRUTH, lambda env: any(part(env) for part in parts)

    def visit_compare(self, node: ast.Compare) -> Typed:
        sides = [node.left, *node.comparators]
        links = tuple(self.link(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False))
        if len(links) == 1:
            return Kind.TRUTH, links[0]
        return Kind.TRUTH, lambda env: all(link(env) for link in links)

    def link(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Evaluate:
        operation = _COMPARE.get(type(op))
        kind, one = self.visit(left)
        if operation is None or (kind is not Kind.NUMBER and operation not in (operator.eq, operator.ne)):
            raise ExpressionError(
                f"comparison of {ast.unparse(left)[:60]!r} is not allowed; numbers take == != < <= > >=, texts == !="
            )
        other = self.expect(right, kind)
        return lambda env: operation(one(env), other(env))

    def visit_ifexp(self, node: ast.IfExp) -> Typed:
        test = self.truth(node.test)
        kind, then = self.visit(node.body)
        other = self.expect(node.orelse, kind)
        return kind, lambda env: then(env) if test(env) else other(env)

    def visit_subscript(self, node: ast.Subscript) -> Typed:
        kind, inner = self.visit(node.value)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if kind is Kind.NUMBER and index == 1:
            return kind, inner  # Apple's `frac[1]`: the number of a (text, number) pair
        if kind is Kind.TEXT and index == 0:
            return kind, lambda env: inner(env)[:1]  # Apple's `day[0]`: the first letter
        raise ExpressionError(f"{ast.unparse(node)[:60]!r}: only number[1] and text[0] can be indexed")

    def visit_call(self, node: ast.Call) -> Typed:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        entry = functions.TABLE.get(name)
        if entry is None or node.keywords or len(node.args) not in entry.arity:
            raise ExpressionError(
                f"call {ast.unparse(node)[:60]!r} is not allowed; allowed are "
                + ", ".join(f"{key} with {_either(value.arity)}" for key, value in functions.TABLE.items())
            )
        call = functions.exact_int if self.strict and name == "int" else entry.call
        arguments = tuple(self.number(argument) for argument in node.args)
        kind = Kind(entry.yields)
        if name == "is_int" and isinstance(node.args[0], ast.BinOp) and isinstance(node.args[0].op, ast.Div):
            # The commonest condition, a ratio that must be whole, needs no fraction to be built.
            arguments, call = (self.number(node.args[0].left), self.number(node.args[0].right)), functions.divides
        if len(arguments) == 1:
            only = arguments[0]
            return kind, lambda env: call(only(env))
        if len(arguments) == 2:
            first, second = arguments
            return kind, lambda env: call(first(env), second(env))
        return kind, lambda env: call(*[argument(env) for argument in arguments])


def exact_literal(value: object) -> int | Fraction:
    """A literal of the source as an exact number: ``0.25`` is one quarter, not the float next to it."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_LITERAL:
        return value
    if isinstance(value, float) and abs(value) <= MAX_LITERAL:
        return Fraction(repr(value))
    raise ExpressionError(f"literal {str(value)[:40]!r} is not allowed; numbers up to {MAX_LITERAL} and texts are")


def _either(arity: tuple[int, ...]) -> str:
    return " or ".join(map(str, arity)) + (" argument" if arity == (1,) else " arguments")
