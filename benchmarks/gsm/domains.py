"""Domains: what a variable of a template may be, read from expressions such as ``sample(names, 2)`` or ``range(2, 9)``.

Apple's forms are all understood (`../shared/data/TEMPLATE-LANGUAGE.md`, 3.1); ours adds `prices(a, b, step)`, whose
amounts print with two decimals. Nothing is evaluated but the functions below. Repetition (``list * 3``),
``shuffle_list`` and ``list`` change nothing, because one element is drawn uniformly from the distinct elements.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from variantbench.benchmarks.gsm import wordlists
from variantbench.benchmarks.gsm.exact import Number, normal, show, show_float, show_money
from variantbench.benchmarks.gsm.expressions import ExpressionError, exact_literal, parse

MAX_SIZE = 100_000


@dataclass(frozen=True, slots=True)
class Domain:
    """The distinct elements of a variable, in order.

    `numbers` is what expressions see (None for words), `texts` what the question shows (None: the number itself).
    At least one of the two is present; both have the same length.
    """

    numbers: Sequence[Number] | None
    texts: Sequence[str] | None

    def __len__(self) -> int:
        elements = self.numbers if self.texts is None else self.texts
        assert elements is not None  # noqa: S101 - one of the two is always present
        return len(elements)

    @property
    def is_number(self) -> bool:
        """Whether expressions see numbers."""
        return self.numbers is not None

    def text(self, index: int) -> str:
        """What the question shows for an element."""
        if self.texts is not None:
            return self.texts[index]
        assert self.numbers is not None  # noqa: S101 - as above
        return show(self.numbers[index])

    def find(self, text: str) -> int | None:
        """The element shown as `text` (case of the first letter apart), or None."""
        wanted = text.strip().casefold()
        return next((i for i in range(len(self)) if self.text(i).casefold() == wanted), None)


class Mode(Enum):
    """How several names share one domain."""

    SINGLE = "one element"
    DISTINCT = "distinct elements"
    SEQUENTIAL = "consecutive elements, wrapping round"


@dataclass(frozen=True, slots=True)
class Draw:
    """One line of a template's init: names that are drawn together. `source` is the line's own text."""

    names: tuple[str, ...]
    domain: Domain
    mode: Mode
    source: str


def read_draw(names: Sequence[str], source: str, *, value: bool = False) -> Draw:
    """Read ``names = source``. `value` (Apple's ``$``) demands numbers. Raises `ExpressionError`."""
    for name in names:
        if not name.isidentifier():
            raise ExpressionError(f"{name!r} is not a variable name; letters, digits and _ are allowed")
    mode, count, tree = _split_sampling(parse(source))
    if count != len(names):
        raise ExpressionError(
            f"{len(names)} names ({', '.join(names)}) for {count} drawn element(s) in {source.strip()!r}"
        )
    domain = _build(tree)
    if value and not domain.is_number:
        raise ExpressionError(f"value variable {names[0]!r} has a domain of words: {source.strip()!r}")
    if count > len(domain):
        raise ExpressionError(f"{count} different elements wanted of {len(domain)} in {source.strip()!r}")
    return Draw(tuple(names), domain, mode, source.strip())


def _split_sampling(tree: ast.expr) -> tuple[Mode, int, ast.expr]:
    name = _call_name(tree)
    if not isinstance(tree, ast.Call) or name not in ("sample", "sample_sequential"):
        return Mode.SINGLE, 1, tree
    if len(tree.args) not in (1, 2) or tree.keywords:
        raise ExpressionError(f"{name} takes a list and, if more than one element is wanted, their number")
    if len(tree.args) == 1:
        return Mode.SINGLE, 1, tree.args[0]
    count = _integers(tree.args[1:], name)[0]
    if count < 1:
        raise ExpressionError(f"{name} of {count} elements; at least 1 is needed")
    return (Mode.SEQUENTIAL if name == "sample_sequential" else Mode.DISTINCT), count, tree.args[0]


def _build(tree: ast.expr) -> Domain:
    """The domain of an expression, its repeated elements dropped."""
    domain = _read(tree)
    if len(domain) == 0:
        raise ExpressionError(f"empty domain {ast.unparse(tree)[:60]!r}")
    if isinstance(domain.numbers, range):
        return domain
    first: dict[str, int] = {}
    for index in range(len(domain)):
        first.setdefault(domain.text(index), index)
    kept = list(first.values())
    return Domain(
        None if domain.numbers is None else tuple(domain.numbers[i] for i in kept),
        None if domain.texts is None else tuple(domain.texts[i] for i in kept),
    )


def _read(tree: ast.expr) -> Domain:
    match tree:
        case ast.Name(id=name):
            return _named(name)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return _listed(elements)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined(_read(left), _read(right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            _integers([right], "*")
            return _read(left)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=ast.Constant(value=int(end)), step=None)):
            domain = _read(value)
            return Domain(domain.numbers and domain.numbers[:end], domain.texts and domain.texts[:end])
        case ast.Call():
            return _called(tree)
    raise ExpressionError(
        f"domain {ast.unparse(tree)[:60]!r} is not understood; allowed are lists, + * [:n], the named lists "
        f"({', '.join([*wordlists.TEXT_LISTS, *wordlists.NUMBER_LISTS])}) and the functions sample, sample_sequential, "
        + ", ".join(_FUNCTIONS)
    )


def _named(name: str) -> Domain:
    if name in wordlists.TEXT_LISTS:
        return Domain(None, wordlists.TEXT_LISTS[name])
    if name in wordlists.NUMBER_LISTS:
        texts, numbers = zip(*wordlists.NUMBER_LISTS[name], strict=True)
        return Domain(numbers, texts)
    raise ExpressionError(
        f"unknown list {name!r}; the lists are {', '.join([*wordlists.TEXT_LISTS, *wordlists.NUMBER_LISTS])}"
    )


def _listed(elements: list[ast.expr]) -> Domain:
    """A literal list: of texts, of numbers, or of (text, number) pairs."""
    if all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in elements):
        return Domain(None, tuple(str(e.value).strip() for e in elements if isinstance(e, ast.Constant)))
    if all(isinstance(e, ast.Constant) for e in elements):
        numbers = tuple(exact_literal(e.value) for e in elements if isinstance(e, ast.Constant))
        return Domain(numbers, None)
    pairs = [_pair(element) for element in elements]
    return Domain(tuple(number for _, number in pairs), tuple(text for text, _ in pairs))


def _pair(element: ast.expr) -> tuple[str, Number]:
    match element:
        case ast.Tuple(elts=[ast.Constant(value=text), ast.Constant(value=number)]):
            return str(text), exact_literal(number)
    raise ExpressionError(f"list element {ast.unparse(element)[:60]!r}; texts, numbers or (text, number) are allowed")


def _joined(left: Domain, right: Domain) -> Domain:
    if left.is_number != right.is_number:
        raise ExpressionError("a list of words and a list of numbers cannot be joined")
    numbers = None if left.numbers is None or right.numbers is None else (*left.numbers, *right.numbers)
    if left.texts is None and right.texts is None:
        return Domain(numbers, None)
    texts = tuple(domain.text(i) for domain in (left, right) for i in range(len(domain)))
    return Domain(numbers, texts)


def _called(tree: ast.Call) -> Domain:
    name = _call_name(tree)
    function = _FUNCTIONS.get(name)
    if function is None or tree.keywords:
        raise ExpressionError(f"domain function {name!r} is not allowed; allowed are {', '.join(_FUNCTIONS)}")
    return function(tree.args)


def _range(arguments: list[ast.expr]) -> Domain:
    bounds = _integers(arguments, "range")
    if len(bounds) not in (2, 3) or (len(bounds) == 3 and bounds[2] < 1):
        raise ExpressionError("range takes (first, end) or (first, end, step), the step at least 1")
    return Domain(_bounded(range(*bounds)), None)


def _random_integers(arguments: list[ast.expr]) -> Domain:
    """Apple's ``np.random.randint(a, b, n)``: n random integers; read as all of [a, b)."""
    return _range(arguments[:2])


def _numbers_within(arguments: list[ast.expr]) -> Domain:
    """Both ends included, shown as English words."""
    low, high = _integers(arguments, "numbers_within")
    if not 0 <= low <= high < 10_000:
        raise ExpressionError(f"numbers_within({low}, {high}): 0 <= first <= last < 10000 is allowed")
    numbers = range(low, high + 1)
    return Domain(tuple(numbers), tuple(wordlists.english(number) for number in numbers))


def _arange(arguments: list[ast.expr]) -> Domain:
    """Decimals from a (included) to b (excluded) in steps of c, shown as Python floats."""
    numbers = _steps(arguments)
    return Domain(numbers, tuple(show_float(number) for number in numbers))


def _prices(arguments: list[ast.expr]) -> Domain:
    """As arange, but shown as amounts: ``3``, ``3.50``."""
    numbers = _steps(arguments)
    return Domain(numbers, tuple(show_money(number) for number in numbers))


def _same(arguments: list[ast.expr]) -> Domain:
    if len(arguments) != 1:
        raise ExpressionError("list, shuffle_list and fix_floats take one list")
    return _read(arguments[0])


_FUNCTIONS = {
    "range": _range,
    "numbers_within": _numbers_within,
    "arange": _arange,
    "np.arange": _arange,
    "frange": _arange,
    "prices": _prices,
    "np.random.randint": _random_integers,
    "list": _same,
    "shuffle_list": _same,
    "fix_floats": _same,
}


def _steps(arguments: list[ast.expr]) -> tuple[Number, ...]:
    values = [_literal(argument) for argument in arguments]
    if len(values) != 3 or values[2] <= 0:
        raise ExpressionError("arange, frange and prices take (first, end, step), the step above 0")
    first, end, step = map(Fraction, values)
    count = _bounded(range(max(0, -((first - end) // step))))
    return tuple(normal(first + i * step) for i in count)


def _bounded(numbers: range) -> range:
    if len(numbers) > MAX_SIZE:
        raise ExpressionError(f"domain of {len(numbers)} elements; at most {MAX_SIZE} are allowed")
    return numbers


def _literal(node: ast.expr) -> Number:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    if isinstance(node, ast.Constant):
        return exact_literal(node.value)
    raise ExpressionError(f"{ast.unparse(node)[:60]!r} is not a plain number")


def _integers(nodes: list[ast.expr], name: str) -> list[int]:
    values = [_literal(node) for node in nodes]
    if any(value.denominator != 1 for value in values):
        raise ExpressionError(f"{name} takes whole numbers")
    return [value.numerator for value in values]


def _call_name(tree: ast.expr) -> str:
    return ast.unparse(tree.func) if isinstance(tree, ast.Call) else ""
