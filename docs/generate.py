"""The reference pages, made from the code: ``python docs/generate.py`` writes them, ``--check`` says which are old."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Column, Table

from variantbench.plugins import options, pytest_plugin
from variantbench.plugins.cases import format_mark
from variantbench.plugins.cli import variantbench
from variantbench.plugins.store import schema
from variantbench.prompts.format import available_formats, load_format

FOLDER = Path(__file__).parent / "reference"
HEAD = "<!-- Made by docs/generate.py from the code: change that, then run it again. -->\n\n"


class OptionParser:
    """Takes the options as pytest's parser does, in groups of an argparse parser."""

    def __init__(self) -> None:
        self.argparse = argparse.ArgumentParser(prog="pytest", allow_abbrev=False, add_help=False, exit_on_error=False)
        self.groups: dict[str, Any] = {}

    def getgroup(self, name: str) -> OptionParser._Group:
        """The group of that name."""
        group = self.groups.setdefault(name, self.argparse.add_argument_group(name))
        return self._Group(group)

    class _Group:
        def __init__(self, group: Any) -> None:
            self.group = group

        def addoption(self, *names: str, **settings: Any) -> None:
            """One option."""
            self.group.add_argument(*names, **settings)


def option_parser() -> argparse.ArgumentParser:
    """The options that the plugin adds to pytest's own."""
    parser = OptionParser()
    options.add_options(parser)  # type: ignore[arg-type]
    return parser.argparse


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    names = tuple(head)
    lines = [names, ("---",) * len(names), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def code(text: str) -> str:
    """Text as code; nothing where there is none."""
    return f"`{text}`" if text else ""


def options_page() -> str:
    """Every option of the plugin."""
    page = (
        "# Options\n\nWhat the plugin adds to `pytest`. Options of pytest's own (`-k`, `-m`, `-n`, `--lf`, `-x`, …) "
        "work as ever.\n"
    )
    for group in option_parser()._action_groups:  # argparse has no public way to list them
        rows = [
            (code(" ".join([*action.option_strings, action.metavar or ""]).strip()), _help(action))
            for action in group._group_actions
        ]
        if rows:
            page += f"\n## {_sentence(group.title or '')}\n\n{table(('option', 'what it does'), rows)}"
    return page


def _sentence(title: str) -> str:
    words = title.removeprefix("variantbench: ")
    return words[:1].upper() + words[1:]


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def markers_page() -> str:
    """Every mark of a case."""
    lines = [line.partition(": ") for line in pytest_plugin._MARKS]
    own = [(code(name), text) for name, _, text in lines if name.startswith("questions")]
    marks = [(code(name), text) for name, _, text in lines if not name.startswith("questions")]
    formats = [(code(format_mark(name)), load_format(name).title) for name in available_formats()]
    return (
        '# Markers\n\nEvery case carries marks; `-m` selects by them: `-m "gsm and base"`, '
        '`-m "q3 and not few_shot"`.\n\n'
        f"## Of questions\n\n{table(('mark', 'cases'), marks)}\n"
        "## Of prompt formats\n\nA format's mark is its name, also of a format of your own. One is named otherwise, "
        f"since the benchmark has its name: `gsm_prompt`.\n\n{table(('mark', 'format'), formats)}\n"
        f"## For a benchmark of your own\n\n{table(('mark', 'what it does'), own)}"
    )


def cli_page() -> str:
    """Every command with its arguments and options."""
    parts = ["# Commands\n\n" + _paragraph(variantbench.help)]
    parts += [_command(path, command) for path, command in commands(variantbench, ())]
    return "\n".join(parts)


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, by name, with the words that lead to it."""
    for name in sorted(group.commands):
        command = group.commands[name]
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def _command(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(("variantbench", *path)))
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    rows = [(code(names), text.replace("  ", " ")) for names, text in _records(command, context)]
    shown = f"\n{table(('option', 'what it does'), rows)}" if rows else ""
    return f"## {' '.join(path)}\n\n```text\n{usage}\n```\n\n{_paragraph(command.help)}{shown}"


def _records(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None and "--help" not in parameter.opts:
            yield record


def _paragraph(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n")) + "\n"


def schema_page() -> str:
    """Every table of the store."""
    module = schema.__doc__ or ""
    bullets = module[module.index("* ") :].strip().replace("``", "`")
    page = (
        f"# Schema of the store\n\nVersion {schema.CURRENT}. Migrations are in `plugins/store/schema.py`; published "
        f"ones are never edited. What each table is for:\n\n{bullets}\n"
    )
    for stored in schema.metadata.sorted_tables:
        page += f"\n## {stored.name}\n\n{table(('column', 'type', ''), _columns(stored))}"
    return page + f"\n## answers\n\nA view:\n\n```sql\n{schema.ANSWERS_VIEW.strip()}\n```\n"


def _columns(stored: Table) -> Iterator[tuple[str, str, str]]:
    for column in stored.columns:
        yield code(column.name), _type(column), ", ".join(_properties(column))


def _type(column: Column[Any]) -> str:
    kind = column.type
    return "TEXT" if type(kind).__name__ == "AnyText" else str(kind)


def _properties(column: Column[Any]) -> Iterator[str]:
    if column.primary_key:
        yield "primary key"
    yield from (f"refers to `{key.target_fullname}`" for key in column.foreign_keys)
    if column.nullable and not column.primary_key:
        yield "may be null"


PAGES: dict[str, Callable[[], str]] = {
    "options.md": options_page,
    "markers.md": markers_page,
    "cli.md": cli_page,
    "schema.md": schema_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` name those that differ from the code."""
    old = []
    for name, make in PAGES.items():
        path, text = FOLDER / name, HEAD + make()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        old.append(str(path.relative_to(FOLDER.parent.parent)))
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    sys.stdout.write("".join(f"{name}\n" for name in old))
    return int("--check" in arguments and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
