"""Members of a ZIP archive, read from memory under caps; nothing is ever extracted."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib

from reprise.boundary.errors import PolicyFileError

ENTRY = b"PK\x01\x02"
MOST_ENTRIES = 10_000
HIGHEST_RATIO = 100
PIECE = 2**20
ENCRYPTED = 0x1 | 0x40 | 0x2000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MEMBER = re.compile(r"(?!.*(^|/)\.{1,2}(/|$))[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}")
BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, ValueError,
    LookupError, OverflowError,
)  # fmt: skip
"""What `zipfile` raises on damaged bytes."""


class Archive:
    """An archive in memory: all members are checked first, then read one by one."""

    def __init__(self, data: bytes, origin: str) -> None:
        self.origin = origin
        # `zipfile` parses every entry at once, so they are counted before it may begin.
        if data.count(ENTRY) > MOST_ENTRIES:
            raise PolicyFileError(f"{origin}: an archive of over {MOST_ENTRIES} entries is refused")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except BROKEN as error:
            raise PolicyFileError(f"{origin} is not a ZIP archive, or it is damaged") from error
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            if broken := self._broken_rule(info):
                # Its name as it stands in the file: `zipfile` cuts it at a NUL.
                raise PolicyFileError(f"{origin}: member {info.orig_filename!r:.80} {broken}")
            self._members[info.orig_filename] = info

    @property
    def names(self) -> list[str]:
        """Every member."""
        return list(self._members)

    def read(self, name: str, largest: int) -> bytes:
        """The bytes of a member of at most this size; its checksum must fit."""
        info = self._members.get(name)
        if info is None:
            raise PolicyFileError(f"{self.origin} has no member {name!r}")
        if info.file_size > largest:
            size = f"{info.file_size} bytes, over the cap of {largest}"
            raise PolicyFileError(f"{self.origin}: member {name!r} has {size}")
        try:
            with self._zip.open(info) as member:
                # In pieces, because all at once takes three times the room.
                data = b"".join(iter(lambda: member.read(PIECE), b""))
        except BROKEN as error:
            raise PolicyFileError(f"{self.origin}: member {name!r} is damaged") from error
        if len(data) != info.file_size:
            raise PolicyFileError(f"{self.origin}: member {name!r} is truncated")
        return data

    def _broken_rule(self, info: zipfile.ZipInfo) -> str | None:
        rules = {
            "has a name that is not allowed": MEMBER.fullmatch(info.orig_filename) is None,
            "is there twice": info.orig_filename in self._members,
            "is encrypted": info.flag_bits & ENCRYPTED,
            "is a symbolic link": stat.S_ISLNK(info.external_attr >> 16),
            "is compressed in a way that is not allowed": info.compress_type not in METHODS,
            f"is compressed more than {HIGHEST_RATIO} times": (
                info.file_size > HIGHEST_RATIO * max(info.compress_size, 1)
            ),
        }
        return next((rule for rule, broken in rules.items() if broken), None)
