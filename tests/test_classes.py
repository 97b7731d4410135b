"""Classes are abstract or final, and functions small: what no linter of ours checks."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import reprise
from reprise.core.types import hook

SOURCE = Path(reprise.__file__).parent
LONG, USUAL, ARGUMENTS, ROOMS = 40, 20, 6, 12


@cache
def classes() -> tuple[type, ...]:
    """Every class of the package."""
    names = [found.name for found in pkgutil.walk_packages(reprise.__path__, "reprise.")]
    modules = [importlib.import_module(name) for name in names if "__main__" not in name]
    found = {c for module in modules for c in vars(module).values() if inspect.isclass(c)}
    return tuple(sorted((c for c in found if ours(c)), key=lambda c: (c.__module__, c.__name__)))


def ours(kind: type) -> bool:
    return kind.__module__.startswith("reprise.")


def function(member: Any) -> Any:
    """What is behind a method, a property, a class method."""
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def replaced(kind: type, bases: tuple[type, ...]) -> Iterator[str]:
    """The methods of a class that one of its bases has already made, and not as a hook."""
    for name, member in vars(kind).items():
        if name.startswith("__") or not inspect.isroutine(function(member)):
            continue
        for made in (vars(base)[name] for base in bases if name in vars(base)):
            if not getattr(made, "__isabstractmethod__", False):
                if not hasattr(function(made), "is_hook"):
                    yield f"{kind.__qualname__}.{name}"
                break


def test_a_method_is_abstract_or_final_or_says_that_it_is_a_hook() -> None:
    found = [one for c in classes() for one in replaced(c, tuple(filter(ours, c.__mro__[1:])))]
    assert len(classes()) > 100 and found == []


def test_the_search_for_replaced_methods_finds_them() -> None:
    class Base(ABC):
        @abstractmethod
        def open(self) -> int: ...

        @hook
        def ready(self) -> int:
            return 1

        def fixed(self) -> int:
            return 2

        @property
        def known(self) -> int:
            return 3

    class Child(Base):
        def open(self) -> int:
            return 0

        def ready(self) -> int:
            return 0

        def fixed(self) -> int:
            return 0

        @property
        def known(self) -> int:
            return 0

    found = [name.rpartition(".")[2] for name in replaced(Child, (Base,))]
    assert found == ["fixed", "known"]


def test_every_hook_says_what_it_does_by_itself_and_somebody_replaces_it() -> None:
    hooks = {
        (c, name)
        for c in classes()
        for name, member in vars(c).items()
        if hasattr(function(member), "is_hook") and hasattr(c, "__abstractmethods__")
        if name not in {n for base in c.__mro__[1:] for n in vars(base)}
    }
    assert len(hooks) > 10
    assert [name for c, name in hooks if not function(vars(c)[name]).__doc__] == []
    unused = [
        name
        for c, name in hooks
        if not any(name in vars(k) for k in classes() if c in k.__mro__[1:])
    ]
    assert unused == []


def functions() -> list[ast.FunctionDef]:
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")]
    return [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]


def length(found: ast.FunctionDef) -> int:
    """Lines without the docstring."""
    first, whole = found.body[0], (found.end_lineno or 0) - found.lineno + 1
    documented = ast.get_docstring(found) is not None
    return whole - ((first.end_lineno or 0) - first.lineno + 1 if documented else 0)


def test_functions_are_short() -> None:
    lengths = sorted(map(length, functions()))
    assert len(lengths) > 1_000
    assert lengths[int(0.9 * len(lengths))] <= USUAL and lengths[-1] <= LONG


def test_functions_say_what_they_return_and_take_few_arguments() -> None:
    assert [f.name for f in functions() if f.returns is None] == []
    crowded = {}
    for f in functions():
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
        if len(names) - (names[:1] in (["self"], ["cls"])) > ARGUMENTS:
            crowded[f.name] = names
    assert crowded == {}


def test_there_are_so_many_rooms_and_no_more() -> None:
    entries = {path.name for path in SOURCE.iterdir()}
    rooms = {name for name in entries if not name.startswith("__") and name != "py.typed"}
    assert len(rooms) <= ROOMS, f"{sorted(rooms)}: docs/decisions/0015-rooms.md says why"
