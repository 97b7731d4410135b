"""A corpus of hostile files, made by code: what strangers may send in place of a policy.

Every case names the format it pretends to be, how to write it, and words of the rule by which it
must be refused (`a|b`: one of two). `None` as the rule: the file is sound but for a payload that a
careful reader never looks at, so it is read and nothing happens.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MARK = "HACKED"
"""A file of this name in the working folder means that a payload was executed."""
Write = Callable[[Path], Any]


class Case(NamedTuple):
    """A hostile file."""

    format: str
    write: Write
    rule: str | None


class Bomb:
    """Unpickling it runs a command."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {MARK}",)


PAYLOAD = pickle.dumps(Bomb(), 2)
CASES: dict[str, Case] = {}


def add(format: str, name: str, content: bytes | Write, rule: str | None) -> None:
    """Enter a case; plain content becomes a file."""
    key = f"{format}: {name}"
    assert key not in CASES
    CASES[key] = Case(format, content if callable(content) else put(content), rule)


def put(content: bytes) -> Write:
    """How to write some bytes."""
    return lambda path: path.write_bytes(content)


def later(make: Callable[[], bytes]) -> Write:
    """How to write bytes that are large, and so are made when they are written."""
    return lambda path: path.write_bytes(make())


def objects(path: Path) -> None:
    """An archive of arrays of objects."""
    with path.open("wb") as file:
        np.savez(file, data=np.array([Bomb()], object))


def _linked(target: str) -> Write:
    return lambda path: path.symlink_to(target)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**28 + 1)


for format in ("sb3", "onnx"):
    add(format, "a link to endless zeros", _linked("/dev/zero"), "not an ordinary file")
    add(format, "a link to nowhere", _linked("nowhere"), "no such file")
    add(format, "a link to itself", lambda path: path.symlink_to(path.name), "cannot be read")
    add(format, "a link to the passwords", _linked("/etc/passwd"), "not a")
    add(format, "a pipe", lambda path: os.mkfifo(path), "not an ordinary file")
    add(format, "a folder", lambda path: path.mkdir(), "cannot be read")
    add(format, "over 256 MB", _sparse, "is larger than")
    add(format, "nothing there", lambda path: None, "no such file")
    add(format, "an archive of objects", objects, "not a" if format == "onnx" else "no member")
