"""How a file that was right becomes one that is not: as bytes, and as the tree of values that it holds."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

SURROGATE = "\ud83d"
DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP]

# What stands where something else should.
ODD_VALUES = (
    None,
    True,
    0,
    -1,
    7,
    10**30,
    -(10**400),
    0.5,
    1e308,
    math.nan,
    math.inf,
    "",
    " ",
    "x",
    "x" * 5_000,
    "7/0",
    "٣",
    "1e999999",
    "\x00",
    "{question}",
    "{",
    "}",
    "%s",
    "\n",
    "../../etc/passwd",
    SURROGATE,
    [],
    {},
    [None],
    [[]],
    ["x"],
    {"x": 1},
    {"": ""},
    DEEP,
)
ODD_TEXTS = (
    "",
    "\n",
    "\x00",
    "[",
    "{",
    '"',
    "]]",
    "=",
    "#",
    "[[x]]",
    "\\u",
    "\\ud800",
    "NaN",
    "1e999999",
    "-",
    "9" * 5_000,
    "[" * 3_000,
    "{'a':",
    "'''",
    '"""',
    "\ufeff",
    "é",
    "\u2028",
    "(" * 300,
    "9**9**9**9",
    "x.__class__",
    "lambda: 0",
    "range(0, 10**18)",
    "range(5, 2)",
    "sample(range(9), 99)",
    "range(0, 9, 0)",
    "1 // 0",
    "int(1/3)",
)


def spots(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree: the container and the key or index in it."""
    found = []
    open_ends = [tree]
    while open_ends:
        here = open_ends.pop()
        keys = here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        found += [(here, key) for key in keys]
        open_ends += [here[key] for key in keys]
    return found


@st.composite
def changed_tree(draw: st.DrawFn, tree: Any) -> Any:
    """The tree with a few places dropped, replaced, renamed or doubled."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        places = spots(tree)
        if not places:
            return tree
        here, key = places[draw(st.integers(0, len(places) - 1))]
        match draw(st.sampled_from(("replace", "replace", "drop", "rename", "double", "spoil"))):
            case "replace":
                here[key] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
            case "drop":
                del here[key]
            case "rename" if isinstance(here, dict):
                here[draw(st.sampled_from(("x", "", key.upper() if isinstance(key, str) else "K")))] = here.pop(key)
            case "double" if isinstance(here, list):
                here.append(copy.deepcopy(here[key]))
            case "spoil" if isinstance(here[key], str):
                here[key] = draw(spoiled_text(here[key]))
    return tree


@st.composite
def spoiled_text(draw: st.DrawFn, text: str) -> str:
    """The text with a piece cut out and something odd put in its place."""
    start = draw(st.integers(0, len(text)))
    stop = min(len(text), start + draw(st.sampled_from((0, 0, 1, 5, 10**6))))
    return text[:start] + draw(st.sampled_from(ODD_TEXTS) | st.text(max_size=8)) + text[stop:]


@st.composite
def spoiled_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """The bytes with some flipped, some cut off, or something odd put between."""
    data = bytearray(content)
    for _ in range(draw(st.integers(0, 6))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        odd = draw(st.sampled_from(ODD_TEXTS)).encode("utf-8", "surrogatepass") or draw(st.binary(max_size=16))
        place = draw(st.integers(0, len(data)))
        data[place:place] = odd
    if draw(st.integers(0, 3)) == 0:
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data)


def to_toml(tree: dict[str, Any]) -> str:
    """A tree as TOML, tables last; what TOML cannot say is written so that it is no TOML."""
    plain = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{_toml_text(key)} = {_toml_value(value)}" for key, value in plain.items()]
    for name, table in tree.items():
        if isinstance(table, dict):
            lines.append(f"[{_toml_text(name)}]")
            lines += [f"{_toml_text(key)} = {_toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml_text(text: Any) -> str:
    return json.dumps(str(text), ensure_ascii=True)


def _toml_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case float() if math.isnan(value) or math.isinf(value):
            return str(value)
        case list():
            return f"[{', '.join(map(_toml_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{_toml_text(key)} = {_toml_value(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def to_json_lines(rows: list[Any]) -> str:
    """One JSON value a line; surrogates, NaN and infinities as Python writes them."""
    return "".join(json.dumps(row) + "\n" for row in rows)


Dump = Callable[[Any], str]
