"""A user's own modules: imported because the command line names them, and for no other reason."""

from __future__ import annotations

import importlib
import os
import re
import sys

from reprise.boundary.errors import UserError

FLAG = "--import"
SPAWNING = ("suite", "continual")
NAMED = re.compile(r"gym/([\w.]+):.+")


def import_asked(argv: list[str], command: str) -> list[str]:
    """Import what `--import MODULE` and `gym/MODULE:ID` name; the arguments without the former."""
    modules, rest = _asked(argv)
    if modules and command in SPAWNING:
        raise UserError(
            f"`{command}` makes its runs in processes of their own, which would not import "
            f"{modules[0]!r}; add your task by a plugin (docs/plugins.md)"
        )
    for name in modules:
        _import(name)
    return rest


def _asked(argv: list[str]) -> tuple[list[str], list[str]]:
    """The modules that some arguments name, and the other arguments."""
    modules: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        flag, joined, name = word.partition("=")
        if flag == FLAG:
            name = name if joined else next(words, "")
            if not name:
                raise UserError(f"{FLAG} needs a module's name, such as {FLAG} my_environments")
            modules.append(name)
        else:
            rest.append(word)
            modules += [found[1]] if (found := NAMED.fullmatch(word)) else []
    return modules, rest


def _import(name: str) -> None:
    """Import a module from what is installed, or else from the current folder."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        importlib.import_module(name)
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"module {name!r} cannot be imported: {said}") from error
