"""Writing files so that a kill at any moment leaves the old file or the new one, never half."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from reprise.boundary.errors import UserError


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, data: bytes) -> None:
    """Write a new file and force it to disk; the caller makes it visible by a rename."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_durably(temporary, data)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> UserError:
    """What to tell a user whose disk is full or whose folder is not theirs."""
    reason = error.strerror or str(error)
    return UserError(f"cannot write {path}: {reason}; free some space or choose another --out")


def write_text(path: Path, text: str) -> None:
    """Replace a text file atomically."""
    write_bytes(path, text.encode())


def write_json(path: Path, record: Any) -> None:
    """Replace a JSON file atomically; the same record always gives the same bytes."""
    write_text(path, json.dumps(record, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file, or one line on why there is none."""
    try:
        record: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({type(error).__name__})") from error
    if not isinstance(record, dict):
        raise UserError(f"{path} is not a JSON object")
    return record  # pyright: ignore[reportUnknownVariableType]


def make_folder(folder: Path) -> None:
    """Create a folder, or say why that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def sha256(data: bytes) -> str:
    """The hexadecimal SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()
