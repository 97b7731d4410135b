"""The bytes of a stranger's file: read once, capped, and named in one printable line."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from reprlib import Repr
from typing import Any

from reprise.boundary.errors import PolicyFileError

LARGEST = 256 * 2**20
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring = 3, 80


def shown(path: Path) -> str:
    """A path for a message: a file's name may hold newlines or terminal codes."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


def brief(value: Any) -> str:
    """Any value from a file for a message: printable and short, however deep or long it is."""
    return _SHORT.repr(value)[:120]


def read(path: Path, largest: int = LARGEST) -> bytes:
    """All bytes of an ordinary file, once: what is checked later is what was read here."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PolicyFileError(f"{shown(path)} cannot be read: it is not an ordinary file")
            if status.st_size > largest:
                raise PolicyFileError(f"{shown(path)} is larger than {_size(largest)}, no policy")
            data = file.read(status.st_size + 1)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise PolicyFileError(f"{shown(path)} cannot be read: {reason}") from error
    except ValueError as error:  # a NUL, or text that is no file name
        raise PolicyFileError(f"{shown(path)} cannot be read: it is not a file's name") from error
    if len(data) != status.st_size:
        raise PolicyFileError(f"{shown(path)} cannot be read: it changed meanwhile")
    return data


def json_object(data: bytes, origin: str) -> dict[str, Any]:
    """The JSON object in some bytes; depth, size of numbers and encoding may all be hostile."""
    try:
        record: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{origin} is not JSON: {type(error).__name__}") from error
    if not isinstance(record, dict):
        raise PolicyFileError(f"{origin} is not a policy: its JSON is not an object")
    return record  # pyright: ignore[reportUnknownVariableType]


def _without_waiting(path: str, flags: int) -> int:
    # Opening a pipe that nobody writes to would never return.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _size(largest: int) -> str:
    return f"{largest >> 20} MB"
