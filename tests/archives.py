"""Taking archives apart and putting them together again, rightly or wrongly."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

SB3 = Path(__file__).parent / "fixtures" / "sb3"
Members = dict[str, bytes]


def unzip(data: bytes) -> Members:
    """Every member of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def rezip(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """A sound archive of some members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def fixture(name: str) -> Members:
    """The members of an archive that Stable-Baselines3 wrote."""
    return unzip((SB3 / f"{name}.zip").read_bytes())


def edited(name: str, **changes: Any) -> bytes:
    """Such an archive with other fields in its JSON; "a/b" changes a field of a field."""
    members = fixture(name)
    record = json.loads(members["data"])
    for path, value in changes.items():
        outer, _, inner = path.partition("/")
        if inner:
            record[outer][inner] = value
        else:
            record[outer] = value
    return rezip(members | {"data": json.dumps(record).encode()})


def with_weights(name: str, **changes: bytes) -> bytes:
    """Such an archive with other members in its policy.pth, named without `archive/`."""
    members = fixture(name)
    inner = unzip(members["policy.pth"])
    inner |= {f"archive/{member}": content for member, content in changes.items()}
    return rezip(members | {"policy.pth": rezip(inner)})


def code(name: str) -> bytes:
    """The instructions in such an archive's policy.pth."""
    return unzip(fixture(name)["policy.pth"])["archive/data.pkl"]


class Entry(NamedTuple):
    """A member of a ZIP archive, field by field, so that any of them can lie."""

    name: bytes
    content: bytes
    method: int = 0
    size: int | None = None
    flags: int = 0
    attributes: int = 0
    checksum: int | None = None


def raw_zip(entries: Sequence[Entry], shared: bool = False) -> bytes:
    """An archive of such members; `shared`: all entries point at the first one's bytes."""
    body, directory, number = b"", b"", len(entries) & 0xFFFF
    for entry in entries:
        size = len(entry.content) if entry.size is None else entry.size
        checksum = zlib.crc32(entry.content) if entry.checksum is None else entry.checksum
        sizes = struct.pack("<III", checksum, len(entry.content), size)
        start = struct.pack("<HHHHH", 20, entry.flags, entry.method, 0, 33)
        names = struct.pack("<HH", len(entry.name), 0)
        offset = 0 if shared else len(body)
        if not (shared and body):
            body += b"PK\x03\x04" + start + sizes + names + entry.name + entry.content
        rest = struct.pack("<HHHII", 0, 0, 0, entry.attributes, offset)
        directory += b"PK\x01\x02\x14\x03" + start + sizes + names + rest + entry.name
    end = struct.pack("<HHHHIIH", 0, 0, number, number, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
