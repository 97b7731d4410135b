"""The command line: `reprise COMMAND ...`, each command a dataclass of options read by tyro."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import tyro
from rich.table import Table

from reprise.boundary.errors import UserError, unknown
from reprise.cli.commands import COMMANDS, Command
from reprise.cli.modules import import_asked
from reprise.cli.numbers import NUMBERS
from reprise.runs.terminal import console

Options = TypeVar("Options")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 2 on bad input with one line that says what to do."""
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except UserError as error:
        print(f"reprise: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `reprise tasks list | head`
        return 0


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        return _overview(COMMANDS)
    if argv[0] == "--version":
        print(f"reprise {version('reprise')}")
        return 0
    words = " ".join(argv[:2])
    name = words if words in COMMANDS else argv[0]
    if name not in COMMANDS:
        group = {full: each for full, each in COMMANDS.items() if full.startswith(argv[0] + " ")}
        if group and argv[1:] in (["-h"], ["--help"]):
            return _overview(group)
        raise unknown("command", words if words.startswith(_GROUPS) else name, COMMANDS)
    command: Command = COMMANDS[name]
    rest = import_asked(argv[len(name.split()) :], name)
    return command.run(parse(command.options, rest, f"reprise {name}", command.defaults(rest)))


_GROUPS = tuple({name.partition(" ")[0] + " " for name in COMMANDS if " " in name})


def parse(options: type[Options], argv: list[str], prog: str, default: Any = None) -> Options:
    """Options from arguments; whatever is wrong with them becomes one line."""
    if any(arg in ("-h", "--help") for arg in argv):
        tyro.cli(options, args=["--help"], prog=prog, default=default, registry=NUMBERS)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            known, rest = tyro.cli(
                options, args=argv, prog=prog, default=default, return_unknown_args=True,
                registry=NUMBERS,
            )  # fmt: skip
    except SystemExit:
        raise UserError(_one_line(said.getvalue(), prog)) from None
    if rest:
        raise unknown("option", rest[0], _flags(options, prog, default), f"see `{prog} --help`")
    return known


def _flags(options: type[Any], prog: str, default: Any) -> list[str]:
    """Every option of a command, from its own help."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        tyro.cli(options, args=["--help"], prog=prog, default=default)
    return sorted(set(re.findall(r"--[a-z][\w.-]*", text.getvalue())))


def _one_line(text: str, prog: str) -> str:
    """The gist of a boxed message: what is wrong, without the option's help."""
    words = " ".join(re.sub(r"[╭╮╰╯│]", " ", text).split())
    parts = [part.strip() for part in re.split(r"[─-]{3,}", words) if part.strip()]
    gist = next((part for part in parts[1:] if part), words) if len(parts) > 2 else parts[0]
    return f"{gist} (see `{prog} --help`)"


def _overview(commands: Mapping[str, Command]) -> int:
    screen = console()
    screen.print("reprise", style="bold", end="")
    screen.print(": learn a new task faster from the policies you already have\n")
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, command in commands.items():
        table.add_row(f"reprise {name}", (command.options.__doc__ or "").partition("\n")[0])
    screen.print(table)
    screen.print("\n`reprise COMMAND --help` explains a command and its options.")
    screen.print("With `--import MODULE` your module is imported first, for its environments.")
    return 0
