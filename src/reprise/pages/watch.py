"""A page that follows runs or a suite while they are going: on loopback, read only."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reprise.boundary.errors import UserError
from reprise.runs.schema import TABLES

if TYPE_CHECKING:
    from reprise.pages.frame import Content

HOST = "127.0.0.1"
FILES = ("run.json", "manifest.json", *(table.file for table in TABLES), "failure.txt",
         "suite.json", "results.json", "summary.csv")  # fmt: skip
"""What a page is made of: it changes when one of these does."""


class Subject(NamedTuple):
    """What is watched, and how its content is made."""

    folders: Sequence[Path]
    make: Callable[[], Content]


class Made(NamedTuple):
    """A content, and the version of the files that it was made from."""

    version: str
    content: Content


def version(folders: Sequence[Path]) -> str:
    """A name for the state of all files that a page depends on."""
    digest = hashlib.sha256()
    for path, fact in _found(folders):
        digest.update(f"{path}\0{fact.st_mtime_ns}\0{fact.st_size}\n".encode())
    return digest.hexdigest()[:16]


def current(page: Path, folder: Path) -> bool:
    """Whether a page is newer than everything that it was made of."""
    if not page.exists():
        return False
    changed = [fact.st_mtime_ns for _, fact in _found([folder])]
    # A run that was moved here is older than its place among the others.
    changed += [place.stat().st_mtime_ns for place in folder.glob("runs")]
    return page.stat().st_mtime_ns > max(changed, default=0)


def _found(folders: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """The files that a page depends on, as they are now."""
    for folder in folders:
        for home in sorted({folder, *folder.glob("runs/*")}):
            for name in FILES:
                path = home / name
                # A file may go away at any time: asking first whether it is there is no help.
                with suppress(FileNotFoundError, NotADirectoryError):
                    yield path, path.stat()


class Watch:
    """The newest content, made again only if a file has changed since."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self._lock = subject, threading.Lock()
        self._made: Made | None = None

    def version(self) -> str:
        """The state of the files now."""
        return version(self._subject.folders)

    def content(self) -> Made:
        """What the page shows now, and of which state of the files."""
        with self._lock:
            now = self.version()
            if self._made is None or now != self._made.version:
                self._made = Made(now, self._subject.make())
            return self._made


class Server(ThreadingHTTPServer):
    """Serves one page to who knows its address."""

    daemon_threads = True

    def __init__(self, watch: Watch, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.watch, self.token = watch, secrets.token_urlsafe(16)
        names = (HOST, "localhost")
        self.hosts = {f"{name}:{self.server_address[1]}" for name in names}

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, path: str, host: str) -> tuple[str, bytes] | None:
        """The type and bytes of an allowed request, None for all others."""
        home, slash, name = path.removeprefix("/").partition("/")
        # A page of another site that was led here by its own name has that name as its host.
        known = host in self.hosts and secrets.compare_digest(home.encode(), self.token.encode())
        page = _PAGES.get(name) if known and slash else None
        return page(self.watch) if page else None


def serve(watch: Watch, port: int = 0) -> Server:
    """A server on loopback, or one line that says why not."""
    try:
        return Server(watch, port)
    except (OSError, OverflowError) as error:
        raise UserError(f"port is {port}; it cannot be used ({error}): choose another") from None


def _whole(watch: Watch) -> tuple[str, bytes]:
    from reprise.pages.frame import shell

    made = watch.content()
    return "text/html; charset=utf-8", shell(made.content, made.version).encode()


def _version(watch: Watch) -> tuple[str, bytes]:
    return _as_json({"version": watch.version()})


def _content(watch: Watch) -> tuple[str, bytes]:
    made = watch.content()
    found = made.content
    return _as_json({"version": made.version, "main": found.main, "figures": found.figures})


def _as_json(record: Any) -> tuple[str, bytes]:
    return "application/json", json.dumps(record).encode()


_PAGES: dict[str, Callable[[Watch], tuple[str, bytes]]] = {
    "": _whole,
    "version": _version,
    "content": _content,
}


class _Handler(BaseHTTPRequestHandler):
    """GET and nothing else."""

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """The page or one of its two answers; 403 for everything else, 503 if none can be made."""
        try:
            found = self.server.answer(self.path, self.headers.get("Host", ""))
        # Files that are being written may be in any state; the next request may find them whole.
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            return self._send(503, "text/plain; charset=utf-8", f"not now ({why})\n".encode())
        if found is None:
            return self._send(403, "text/plain", b"no\n")
        self._send(200, *found)

    def _refuse(self) -> None:
        self._send(403, "text/plain", b"no\n")

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)),
                   "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
                   "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}  # fmt: skip
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal is for the address alone."""
