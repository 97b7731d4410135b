"""Facts about the live page: what is served, to whom, and that it follows the files."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_suite import cell, write_suite
from reprise.cli.main import main
from reprise.pages.watch import Server, Subject, Watch, serve, version
from reprise.pages.write import suite_content


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = write_suite(tmp_path / "s", [cell("pointmaze/u", "smec", 0, 100)])
    found = serve(Watch(Subject([folder], lambda: suite_content([folder]))))
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """A request to a path as it stands, with a host of one's own choice."""
    link = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    link.request(method, path, headers=headers)
    answer = link.getresponse()
    result = answer.status, answer.read()
    link.close()
    return result


def test_the_page_is_served_on_loopback_to_who_has_the_token(server: Server) -> None:
    home = f"/{server.token}/"
    assert server.server_address[0] == "127.0.0.1" and len(server.token) >= 20
    status, page = ask(server, home)
    assert status == 200 and b"A suite by hand" in page and b"connect-src 'self'" in page
    status, body = ask(server, f"{home}content")
    assert status == 200 and set(json.loads(body)) == {"version", "main", "figures"}


def test_everything_else_is_refused(server: Server, tmp_path: Path) -> None:
    home = f"/{server.token}"
    (tmp_path / "s" / "secret.txt").write_text("secret")
    for path in ("/", "/wrong/", home, f"{home}/suite.json", f"{home}/secret.txt",
                 f"{home}/../suite.json", f"{home}/version/", f"//{server.token}x/",
                 f"{home}//etc/passwd"):  # fmt: skip
        assert ask(server, path) == (403, b"no\n"), path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(server, f"{home}/", method) == (403, b"no\n"), method
    assert ask(server, f"{home}/version", Host="evil.example") == (403, b"no\n")
    assert ask(server, f"{home}/version", Host="evil.example:80") == (403, b"no\n")
    port = server.server_address[1]
    assert ask(server, f"{home}/version", Host=f"localhost:{port}")[0] == 200


def test_the_version_changes_with_the_files_and_the_content_with_it(
    server: Server, tmp_path: Path
) -> None:
    path = f"/{server.token}/version"
    before = ask(server, path)
    assert before == ask(server, path)
    now = json.loads(before[1])["version"]
    assert f'data-version="{now}"'.encode() in ask(server, f"/{server.token}/")[1]
    run = tmp_path / "s" / "runs" / "pointmaze-u-smec-s0"
    run.mkdir(parents=True)
    (run / "failure.txt").write_text("OSError: no space\n")
    assert ask(server, path) != before
    assert b"no space" in ask(server, f"/{server.token}/content")[1]


def test_a_page_is_made_once_for_each_state_of_the_files(tmp_path: Path) -> None:
    made: list[int] = []
    (tmp_path / "eval.csv").write_text("step\n")

    def make() -> object:
        made.append(1)
        return object()

    watch = Watch(Subject([tmp_path], make))  # type: ignore[arg-type]
    assert watch.content() is watch.content() and len(made) == 1
    os.utime(tmp_path / "eval.csv", ns=(1, 1))
    watch.content()
    assert len(made) == 2
    (tmp_path / "notes.txt").write_text("not part of a page")
    seen = version([tmp_path])
    (tmp_path / "notes.txt").write_text("still not")
    assert version([tmp_path]) == seen


def test_a_file_that_goes_away_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version([tmp_path])
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # it was there a moment ago
    assert version([tmp_path]) == before


def test_a_page_that_cannot_be_made_is_one_line_and_made_later(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, fine = server.watch._subject.make, [False]

    def make() -> object:
        if not fine[0]:
            raise ValueError("half a\nline")
        return made()

    server.watch._subject = Subject([tmp_path / "s"], make)  # type: ignore[arg-type]
    for name in ("", "content"):
        assert ask(server, f"/{server.token}/{name}") == (
            503, b"not now (ValueError: half a line)\n",
        )  # fmt: skip
    assert capsys.readouterr() == ("", "")
    fine[0] = True
    assert ask(server, f"/{server.token}/")[0] == 200


def test_what_cannot_be_watched_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", str(tmp_path / "nothing")]) == 2
    assert main(["watch"]) == 2
    folder = write_suite(tmp_path / "s", [cell("pointmaze/u", "smec", 0, 100)])
    assert main(["watch", str(folder), "--port", "99999"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and "port is 99999" in lines[2]
