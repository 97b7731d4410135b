"""What installed packages add: methods, task families, formats of priors, suites.

A package has an entry point of the group `reprise.plugins`, which names a function. The function
is called once, with a `Registry`, as soon as somebody asks for a list or for a name that reprise
does not have. A package is imported because it is installed, never because a file names it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, NamedTuple, TypeVar

from reprise.boundary.errors import UserError

GROUP = "reprise.plugins"
LOG = logging.getLogger("reprise")
T = TypeVar("T")


class PluginFault(UserError):
    """Something that a plugin does wrong; the message names its package."""


class MethodRow(NamedTuple):
    """A method by name."""

    build: Callable[[int, float], Any]
    """(h, c) -> a `Method`."""
    paper: str
    """Where it is from."""


class Family(NamedTuple):
    """Tasks whose ids begin with the same word."""

    find: Callable[[str], Any]
    """The rest of an id -> a `Task`; a KeyError says that there is none."""
    names: tuple[str, ...]
    """The ones that lists show."""


class Entry(NamedTuple, Generic[T]):
    """Something added, and the package that adds it."""

    package: str
    value: T


class Registry:
    """Where a plugin says what it adds."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.methods: dict[str, MethodRow] = {}
        self.families: dict[str, Family] = {}
        self.formats: dict[str, Callable[[bytes], Any]] = {}
        self.suites: dict[str, Callable[..., Any]] = {}

    def method(self, name: str, build: Callable[[int, float], Any], paper: str = "") -> None:
        """A method: `build(h, c)` returns a `reprise.Method`; `paper` says where it is from."""
        _put(self.methods, name, r"[a-z0-9][a-z0-9./-]*", MethodRow(build, paper))

    def tasks(self, prefix: str, find: Callable[[str], Any], names: Iterable[str] = ()) -> None:
        """A family of tasks: `find(name)` returns the `Task` whose id is `prefix/name`."""
        _put(self.families, prefix, r"[a-z0-9][a-z0-9.-]*", Family(find, tuple(names)))

    def format(self, suffix: str, load: Callable[[bytes], Any]) -> None:
        """A format of priors: `load(data)` returns the policy in the bytes of such a file.

        A policy is what `--trust-code` accepts too: a function from observations (n, obs) to
        actions (n, action) in [-1, 1] with the attributes `obs_dim` and `action_dim`, or an object
        with Stable-Baselines3's `predict`, `observation_space` and `action_space`.
        """
        _put(self.formats, suffix, r"\.[a-z0-9]+", load)

    def suite(self, name: str, build: Callable[..., Any]) -> None:
        """A suite: `build(scale, choice)` returns its cells; its docstring is the title."""
        _put(self.suites, name, r"[a-z0-9][a-z0-9.-]*", build)


def _put(table: dict[str, T], name: str, pattern: str, value: T) -> None:
    if not re.fullmatch(pattern, name):
        raise PluginFault(f"{name!r} is not a name of the form {pattern}")
    if name in table:
        raise PluginFault(f"{name!r} is registered twice")
    table[name] = value


@cache
def installed() -> tuple[Registry, ...]:
    """What every plugin on this machine adds; one that fails is reported and left out."""
    points = sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name))
    return tuple(registry for point in points if (registry := _load(point)) is not None)


def _load(point: EntryPoint) -> Registry | None:
    registry = Registry(_package(point))
    try:
        point.load()(registry)
    except (Exception, SystemExit) as error:
        report(f"plugin {point.name!r} of package {registry.package!r} is left out: {_said(error)}")
        return None
    return registry


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]


def added(
    kind: str, of: Callable[[Registry], Mapping[str, T]], taken: Container[str]
) -> dict[str, Entry[T]]:
    """What plugins add of a kind, by name; a name belongs to whoever had it first."""
    found: dict[str, Entry[T]] = {}
    for registry in installed():
        for name, value in of(registry).items():
            owner = "reprise" if name in taken else found[name].package if name in found else ""
            if owner:
                text = f"{kind} {name!r} of package {registry.package!r} is left out"
                report(f"{text}: {owner} has one of that name; rename it")
            else:
                found[name] = Entry(registry.package, value)
    return found


def call(package: str, what: str, function: Callable[[], Any], kind: type[T]) -> T:
    """The result of a plugin's function, which must be of a kind; its faults become one line."""
    try:
        made = function()
    except (UserError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise PluginFault(f"{what} of package {package!r} failed: {_said(error)}") from error
    if not isinstance(made, kind):
        told = f"returned {type(made).__name__}, not {kind.__name__}"
        raise PluginFault(f"{what} of package {package!r} {told}")
    return made


@cache
def report(text: str) -> None:
    """Say a line on standard error, once; a program may listen to the logger `reprise` instead."""
    LOG.warning("reprise: %s", text)


def _said(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
