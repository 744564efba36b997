"""The robust protocol for answers that are code: the program in a completion that defines ``solution``.

Covers: fences, prose before and after, a head that the prompt already wrote, a head written again, helpers and imports,
one-line functions, lambdas, defaults and annotations, another name, the next item's function, a tail cut by the length
limit. Does not cover: running it. What the program does is the sandbox's concern, so no string is forbidden.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from variantbench.plugins.datatypes import ExtractionStatus
from variantbench.prompts.segments import own_answer

ENTRY = "solution"
# Longer programs are no answers to a word problem, and the parser takes its time.
_LONGEST = 20_000
_MOST_TRIES = 2


@dataclass(frozen=True, slots=True)
class Function:
    """The program found. `source` defines ``solution`` without arguments where `status` is OK; `why`: what was done."""

    status: ExtractionStatus
    source: str | None = None
    why: str = ""


def robust_function(text: str, *, prefilled: str = "", at_limit: bool = False) -> Function:
    """The program in an answer. `prefilled`: what the prompt held of it. `at_limit`: ended at the length limit."""
    if not text:
        return Function(ExtractionStatus.EMPTY, why="the answer is empty")
    own = own_answer(text, plain=False)
    if own.open_trace:
        return Function(ExtractionStatus.TRUNCATED, why="the reasoning trace never ends")
    if not own.text.strip():
        return Function(ExtractionStatus.EMPTY_AFTER_TRIM, why="only blanks or another question")
    best = Function(ExtractionStatus.NO_FUNCTION, why="no function in the answer")
    for lines, is_last in _candidates(own.text[:_LONGEST], prefilled):
        found = _program(lines, may_be_cut=at_limit and is_last and not own.complete)
        if found.status is ExtractionStatus.OK and not found.why.startswith(_BROKEN):
            return found
        if best.source is None and best.status is ExtractionStatus.NO_FUNCTION:
            best = found
    return best


# Where a program may be.

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")
_HEAD = re.compile(rf"(?:async )?def {ENTRY}\b|{ENTRY}[ \t]*(?::[^=\n]*)?=")
_ANY_HEAD = re.compile(r"(?:async )?def (\w+)[ \t]*\(|(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*lambda\b")
_RETURN = re.compile(r"\s+return\b")


def _candidates(text: str, prefilled: str) -> Iterator[tuple[list[str], bool]]:
    """Texts that may be the program, likeliest first, and whether each is the last thing in the answer."""
    lines, blocks = _fenced(text)
    is_last = not blocks
    repeats_head = _repeats_head(lines)
    body = _joined(prefilled, "\n".join(lines)).split("\n") if prefilled and _is_body(lines) else None
    if body and not repeats_head and lines and _begins_indented(lines) and any(map(_RETURN.match, lines)):
        yield body, is_last
    with_head = [block for block in blocks if _defines(block)]
    if with_head:
        yield with_head[-1], with_head[-1] is blocks[-1] and not _is_closed(text)
    if repeats_head:
        yield textwrap.dedent("\n".join(lines)).split("\n"), is_last
    if _defines(lines):
        yield lines, is_last
    if body:
        yield body, is_last
    for block in blocks:
        if prefilled and block not in with_head and _is_body(block):
            yield _joined(prefilled, "\n".join(block)).split("\n"), False


def _fenced(text: str) -> tuple[list[str], list[list[str]]]:
    """The lines before the first fence, and the blocks between fences; the last one may be open."""
    before: list[str] = []
    blocks: list[list[str]] = []
    inside = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
            if inside:
                blocks.append([])
        elif inside:
            blocks[-1].append(line)
        elif not blocks:
            before.append(line)
    return before, blocks


def _is_closed(text: str) -> bool:
    return sum(1 for line in text.split("\n") if _FENCE.match(line)) % 2 == 0


def _defines(lines: Sequence[str]) -> bool:
    return any(map(_ANY_HEAD.match, lines))


def _first_line(lines: Sequence[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _begins_indented(lines: Sequence[str]) -> bool:
    return _first_line(lines)[:1].isspace()


def _repeats_head(lines: Sequence[str]) -> bool:
    """Whether the text begins with the head, but indented, as if inside the prompt's own."""
    return _begins_indented(lines) and _HEAD.match(_first_line(lines).lstrip()) is not None


def _is_body(lines: Sequence[str]) -> bool:
    """Whether the lines go on inside the function that the prompt began."""
    first = _first_line(lines)
    if not first:
        return False
    if first[0].isspace():
        return True
    lost_one = not first.rstrip().endswith(":") and any(map(_RETURN.match, lines))
    return not _defines(lines) and (lost_one or any(line.startswith("return ") for line in lines))


def _joined(prefilled: str, body: str) -> str:
    """The prompt's head and the body, indented where the model left that out."""
    head = prefilled.rstrip("\n") + "\n"
    lines = body.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first][:1].isspace():
        return head + body
    following = next((line for line in lines[first + 1 :] if line.strip()), "")
    if following[:1].isspace():  # only the first line lost its indentation
        lines[first] = following[: len(following) - len(following.lstrip())] + lines[first]
        return head + "\n".join(lines)
    return head + textwrap.indent("\n".join(lines), "    ")


# From lines to a program.

_BROKEN = "it does not parse"


def _program(lines: list[str], *, may_be_cut: bool) -> Function:
    """The program in the lines, without prose around it."""
    head = next((number for number, line in enumerate(lines) if _HEAD.match(line)), None)
    if head is None:
        head = next((number for number, line in enumerate(lines) if _ANY_HEAD.match(line)), None)
    if head is None:
        return Function(ExtractionStatus.NO_FUNCTION, why="no function in the answer")
    top_level = [
        number
        for number in range(head + 1, len(lines))
        if lines[number].strip() and not lines[number][0].isspace() and lines[number][0] not in ")]}#"
    ]
    above = _parsable_above(lines[:head])
    for end in _ends(lines, head, top_level):
        source = "\n".join([*above, *lines[head:end]]).rstrip() + "\n"
        tree = _parse(source)
        if tree is not None:
            is_tail = may_be_cut and end == len(lines) and not top_level
            return _called(source, tree, may_be_cut=is_tail)
    if may_be_cut and not top_level:
        return Function(ExtractionStatus.TRUNCATED, why="cut off by the length limit")
    end = top_level[0] if top_level else len(lines)
    source = "\n".join([*above, *lines[head:end]]).rstrip() + "\n"
    return Function(ExtractionStatus.OK, source, _BROKEN)


def _ends(lines: list[str], head: int, top_level: list[int]) -> Iterator[int]:
    """Where the program may end: before the next item's function and before prose, else right behind its function."""
    again = next((number for number in top_level if _same_head(lines[head], lines[number])), None)
    limit = len(lines) if again is None else again
    prose = next((number for number in top_level if not _TOP_LEVEL.match(lines[number])), limit)
    yield min(limit, prose)
    if top_level and top_level[0] < min(limit, prose):
        yield top_level[0]


_TOP_LEVEL = re.compile(
    r"(?:async def|def|class|import|from|if|for|while|try|except|finally|else|elif|with|print|@)\b|@|\w+ ?[=(.]"
)


def _same_head(first: str, other: str) -> bool:
    names = [match[1] or match[2] if (match := _ANY_HEAD.match(line)) else None for line in (first, other)]
    return names[0] is not None and names[0] == names[1]


_ABOVE = re.compile(
    r"import \w|from [\w.]+ import\b|(?:async )?def \w|class \w|@\w|[A-Za-z_]\w*[ \t]*(?::[^=\n]*)?=[^=]"
)


def _parsable_above(lines: list[str]) -> list[str]:
    """Imports, helpers and constants above the function; prose above them is dropped."""
    starts = [0, *(number for number, line in enumerate(lines) if _ABOVE.match(line))]
    for start in starts[: _MOST_TRIES + 1]:
        kept = lines[start:]
        if _parse("\n".join(kept)) is not None:
            return kept
    return [line for line in lines if re.match(r"import \w|from [\w.]+ import\b", line)]


def _parse(source: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in what a model wrote are its own affair
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _called(source: str, tree: ast.Module, *, may_be_cut: bool) -> Function:
    """The program with ``solution`` as the name of the function to call."""
    functions = {name: function for node in tree.body for name, function in _functions(node)}
    if ENTRY in functions:
        node = functions[ENTRY]
        if _needs_arguments(node.args):
            return Function(ExtractionStatus.NEEDS_ARGUMENTS, why="the function needs arguments")
        if may_be_cut and not _ends_with_return(node):
            return Function(ExtractionStatus.TRUNCATED, why="cut off by the length limit")
        return Function(ExtractionStatus.OK, source)
    callable_names = [name for name, node in functions.items() if not _needs_arguments(node.args)]
    if len(callable_names) > 1:  # the one that the others only help
        used = {n.id for function in functions.values() for n in ast.walk(function) if isinstance(n, ast.Name)}
        callable_names = [name for name in callable_names if name not in used]
    if len(callable_names) == 1:
        source += f"\n{ENTRY} = {callable_names[0]}\n"
        return Function(ExtractionStatus.OK, source, f"the function is called {callable_names[0]}")
    if functions and not callable_names:
        return Function(ExtractionStatus.NEEDS_ARGUMENTS, why="the function needs arguments")
    return Function(ExtractionStatus.NO_FUNCTION, why=f"no function {ENTRY}, and not one that could be meant")


_Callable = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _functions(node: ast.stmt) -> Iterator[tuple[str, _Callable]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, node
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Lambda) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value


def _needs_arguments(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional > 0 or any(default is None for default in arguments.kw_defaults)


def _ends_with_return(node: _Callable) -> bool:
    """Whether a function that may have been cut is whole: its last statement returns."""
    return not isinstance(node, ast.Lambda) and isinstance(node.body[-1], ast.Return)
